"""Reading frames, the controller on a recording, and the segment command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from thinktwice.agents.lesa.states import State
from thinktwice.agents.lesa.video import VideoAgent
from thinktwice.envs import Array, Observation
from thinktwice.envs.rooms.masks import decode
from thinktwice.errors import UsageError
from thinktwice.perception import Detection
from thinktwice.perception.reasoner_rules import RuleReasoner
from thinktwice.perception.video import frame_names, read_frames
from thinktwice.scripts import segment

SIDE = 48


def picture(column: int | None, colour: tuple[int, int, int] = (200, 0, 0)) -> Array:
    image = np.full((SIDE, SIDE, 3), 255, np.uint8)
    if column is not None:
        image[10:20, column : column + 10] = colour
    return image


class Patches:
    """Calls red patches mugs: red ones, and blue ones blue mugs."""

    name = "patches"

    def detect(self, observation: Observation, queries: Sequence[str], *, camera: str) -> list[Detection]:
        image = observation[f"images.{camera}"]
        found: list[Detection] = []
        for name, channel in (("red", 0), ("blue", 2)):
            mask = (image[..., channel] == 200) & (image[..., 2 - channel] == 0)
            if mask.any() and "mug" in queries:
                found.append(Detection(label=f"{name} mug", score=0.9, box=np.zeros(4, np.float32), mask=mask))
        return found


def write(folder: Path, frames: Sequence[Array]) -> Path:
    folder.mkdir()
    for index, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"{index:03d}.png")
    return folder


def test_frames_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = write(tmp_path / "frames", [picture(column) for column in (3, 9, 15)])
    assert frame_names(folder) == ["000.png", "001.png", "002.png"]
    frames = list(read_frames(folder))
    assert [int(np.argwhere(frame[15, :, 1] == 0)[0, 0]) for frame in frames] == [3, 9, 15]


def test_frames_of_mixed_sizes_are_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "frames", [picture(3), np.zeros((20, 30, 3), np.uint8)])
    with pytest.raises(UsageError, match=r"one size: the first is 48x48, 001\.png is 30x20"):
        list(read_frames(folder))


@pytest.mark.parametrize("name", ["broken.mp4", "broken.gif"])
def test_a_corrupt_video_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"this is no video" * 100)
    with pytest.raises(UsageError, match="cannot be read as a video"):
        frame_names(tmp_path / name)


def test_a_corrupt_image_no_images_and_no_folder_are_errors(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(UsageError, match=r"a\.png cannot be read as an image"):
        list(read_frames(tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no images"):
        frame_names(tmp_path / "empty")
    with pytest.raises(UsageError, match="no folder or video"):
        frame_names(tmp_path / "missing")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match="no video that can be read"):
        frame_names(tmp_path / "notes.txt")


def run(frames: Sequence[Array], expression: str = "the red mug") -> tuple[VideoAgent, dict[int, Array]]:
    kept: dict[int, Array] = {}

    def port(mask: Array, *, frame: int | None = None) -> None:
        assert frame is not None
        kept[frame] = mask

    agent = VideoAgent(Patches(), RuleReasoner(), expression, port=port)
    for frame in frames:
        agent.watch({"images.front": frame})
    return agent, kept


def test_the_frames_before_the_verdict_are_revised() -> None:
    agent, masks = run([picture(None), picture(3), picture(5), picture(7)])
    assert not masks[0].any()
    assert all((masks[i] == (picture(c)[..., 1] == 0)).all() for i, c in ((1, 3), (2, 5), (3, 7)))
    assert agent.track.revised == 2
    assert [call["frame"] for call in agent.calls] == [0, 2]
    assert agent.state is State.APPROACH


def test_another_colour_is_not_segmented_and_costs_no_call() -> None:
    agent, masks = run([picture(3, (0, 0, 200))] * 5)
    assert not any(mask.any() for mask in masks.values())
    assert len(agent.calls) == 1


def test_a_track_that_leaves_for_long_is_verified_anew() -> None:
    frames = [picture(3)] * 3 + [picture(None)] * 12 + [picture(30)] * 3
    agent, masks = run(frames)
    assert not masks[8].any()
    assert masks[17].any()
    assert len(agent.calls) == 3


def test_the_command_writes_masks_and_an_overlay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(segment, "build_segmenter", lambda _: Patches())
    folder = write(tmp_path / "frames", [picture(column) for column in (3, 5, 7, 9)])
    arguments = ["--frames", str(folder), "--expression", "the red mug", "--out", str(tmp_path / "out")]
    assert segment.main(arguments) == 0
    result: dict[str, Any] = json.loads((tmp_path / "out" / "masks.json").read_text())
    assert [entry["name"] for entry in result["frames"]] == ["000.png", "001.png", "002.png", "003.png"]
    assert decode(result["frames"][0]["mask"]).sum() == 100
    assert result["cost"]["vlm_calls"] == 2
    assert len(list(read_frames(tmp_path / "out" / "overlay.mp4"))) == 4
    assert "4 of 4 frames" in capsys.readouterr().out
    arguments[3] = "the blue bowl"
    assert segment.main(arguments) == 1


def test_the_command_refuses_an_unknown_expression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "build_segmenter", lambda _: Patches())
    folder = write(tmp_path / "frames", [picture(3)])
    with pytest.raises(UsageError, match="refers to"):
        segment.main(["--frames", str(folder), "--expression", "the spaceship"])
