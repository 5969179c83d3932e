"""The trained segmenter's plumbing, with random weights: its quality is measured by the training command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from thinktwice.envs.rooms.kinds import COLOURS
from thinktwice.errors import WeightsError
from thinktwice.perception.conformance import check_perception
from thinktwice.perception.rooms_network import SIZE, RoomsNetwork, network_input
from thinktwice.perception.rooms_trained import RoomsSegmenter
from thinktwice.perception.rooms_vocabulary import KINDS


def observation(size: int = 64, *, depth: bool = True) -> dict[str, object]:
    rng = np.random.default_rng(0)
    seen: dict[str, object] = {
        "images.front": rng.integers(0, 255, (size, size, 3)).astype(np.uint8),
        "state": np.zeros(5, np.float32),
    }
    return seen | ({"depth.front": np.full((size, size), 2.0, np.float32)} if depth else {})


def constant(kind: str, colour: str) -> RoomsNetwork:
    """A network that says one kind and one colour everywhere."""
    network = RoomsNetwork()
    with torch.no_grad():
        network.kind.weight.zero_()
        network.colour.weight.zero_()
        network.kind.bias[1 + KINDS.index(kind)] = 20
        network.colour.bias[list(COLOURS).index(colour)] = 20
    return network


@pytest.mark.parametrize("size", [64, 192, 256])
def test_it_follows_the_contract_at_any_size(size: int) -> None:
    check_perception(RoomsSegmenter(constant("mug", "red")), observation(size), ["mug", "unicorn"], camera="front")


def test_kind_and_colour_make_the_label_and_other_queries_find_nothing() -> None:
    segmenter = RoomsSegmenter(constant("mug", "red"))
    found = segmenter.detect(observation(), ["mug"], camera="front")
    assert [d.label for d in found] == ["red mug"]
    assert found[0].mask is not None
    assert found[0].mask.all()
    assert segmenter.detect(observation(), ["bowl"], camera="front") == []


def test_colour_alone_is_enough() -> None:
    segmenter = RoomsSegmenter(constant("mug", "red"))
    assert len(segmenter.detect(observation(depth=False), ["mug"], camera="front")) == 1


def test_a_jump_in_depth_separates_two_of_a_kind() -> None:
    seen = observation(SIZE)
    depth = np.full((SIZE, SIZE), 2.0, np.float32)
    depth[:, SIZE // 2 :] = 4.0
    segmenter = RoomsSegmenter(constant("mug", "red"))
    assert len(segmenter.detect(seen | {"depth.front": depth}, ["mug"], camera="front")) == 2


def test_height_above_the_floor_is_an_input() -> None:
    image = np.zeros((SIZE, SIZE, 3), np.uint8)
    channels = network_input(image, np.full((SIZE, SIZE), 2.0, np.float32), 0.0)
    assert channels.shape == (5, SIZE, SIZE)
    assert channels[4, SIZE // 2, 0] == pytest.approx(1.25, abs=0.02)
    assert channels[4, 0, 0] > 2.5
    assert (network_input(image, None, 0.0)[3:] == 0).all()


def test_missing_damaged_and_foreign_weights_are_errors(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no weights at"):
        RoomsSegmenter.load(tmp_path / "none.safetensors")
    (tmp_path / "cut.safetensors").write_bytes(b"12345")
    with pytest.raises(WeightsError, match="damaged"):
        RoomsSegmenter.load(tmp_path / "cut.safetensors")
    save_file({"x": torch.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(WeightsError, match="another network"):
        RoomsSegmenter.load(tmp_path / "other.safetensors")
    state = {name: value.contiguous() for name, value in RoomsNetwork().state_dict().items()}
    state["kind.bias"][0] = float("nan")
    save_file(state, tmp_path / "nan.safetensors")
    with pytest.raises(WeightsError, match="finite"):
        RoomsSegmenter.load(tmp_path / "nan.safetensors")
