"""The RVAS data set: explorations with expressions, actions, subgoals, reasoning, frames and masks, on disk.

``<out>/<split>/<episode>/episode.json`` holds an episode, ``frames/000000.png`` its frames.  An episode's folder
appears whole or not at all, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...envs import Array, EpisodeId, MultiStep
from ...envs.rooms.actions import NAMES
from ...envs.rooms.env import RoomsEnv
from ...envs.rooms.house import Item
from ...envs.rooms.masks import Mask, decode, encode
from ...errors import RecordError
from ...perception.reasoner import Facts
from ...perception.reasoner_rules import agreement
from .teacher import build_teacher

FORMAT = 1


def write_episode(env: MultiStep, episode: EpisodeId, folder: Path) -> bool:
    """Play one episode with the teacher and write it.

    Args:
        env: the rooms, wrapped.
        episode: which.
        folder: where; nothing is done when it exists.

    Returns:
        Whether the episode was written now.
    """
    if folder.exists():
        return False
    rooms = env.unwrapped
    if not isinstance(rooms, RoomsEnv):
        raise RecordError(f"an RVAS data set is made in the rooms, not in {rooms}.")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "frames").mkdir(parents=True)
    steps, metrics = _play(env, rooms, episode, partial / "frames")
    scenario = rooms.scenario
    record = {
        "format": FORMAT,
        "identity": episode.to_json(),
        "expression": scenario.expression,
        "form": scenario.form,
        "query": dataclasses.asdict(scenario.query),
        "target": dataclasses.asdict(rooms.house.by_id[scenario.target]),
        "metrics": metrics,
        "steps": steps,
        "house": rooms.house.to_json(),
    }
    (partial / "episode.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    partial.rename(folder)
    return True


def _play(
    env: MultiStep, rooms: RoomsEnv, episode: EpisodeId, frames: Path
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    from PIL import Image

    agent = build_teacher(rooms)
    observation, info = env.reset(seed=episode.seed, options=episode.options())
    agent.reset(seed=episode.seed)
    told: set[int] = set()
    steps: list[dict[str, Any]] = []
    while "metrics" not in info:
        decision = agent.act(observation)
        index = len(steps)
        Image.fromarray(observation["images.front"]).save(frames / f"{index:06d}.png")
        choice = decision.notes.get("choice")
        steps.append(
            {
                "frame": index,
                "state": [round(float(value), 5) for value in observation["state"]],
                "action": NAMES[int(decision.chunk[0])],
                "subgoal": decision.why,
                "reasoning": _reasoning(rooms, decision.why, told),
                "choice": choice,
                "mask": encode(rooms.instances == rooms.scenario.target),
            }
        )
        observation, _, _, _, info = env.step(decision.chunk)
    return steps, dict(info["metrics"])


def _reasoning(rooms: RoomsEnv, why: str, told: set[int]) -> str:
    """Why this step, and what each candidate that came into view for the first time rules out."""
    scenario, lines = rooms.scenario, [why]
    for index in np.unique(rooms.instances):
        item = rooms.house.by_id.get(int(index))
        if item is None or item.id in told or item.kind not in scenario.query.kinds:
            continue
        told.add(item.id)
        if item.id == scenario.target:
            lines.append(f"The {item.colour} {item.kind} is the one that was meant.")
        else:
            verdict, reason = agreement(scenario.query, _facts(rooms, item))
            ruled = reason if verdict == "reject" else "another place or order was meant"
            lines.append(f"The {item.colour} {item.kind} is ruled out: {ruled}.")
    return " ".join(line if line.endswith(".") else f"{line}." for line in lines)


def _facts(rooms: RoomsEnv, item: Item) -> Facts:
    support = rooms.house.by_id[item.support] if item.support is not None else None
    return Facts(
        kind=item.kind,
        colour=item.colour,
        size=item.size,
        material=item.material,
        room=rooms.house.rooms[item.room].name,
        supports=() if support is None else ((item.relation, support.kind),),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RvasEpisode:
    """One episode of the data set.

    Attributes:
        folder: where it lies.
        record: ``episode.json``.
    """

    folder: Path
    record: Mapping[str, Any]

    @property
    def expression(self) -> str:
        """What was asked."""
        return str(self.record["expression"])

    @property
    def actions(self) -> list[str]:
        """The annotated action of every frame."""
        return [step["action"] for step in self.record["steps"]]

    def frame(self, index: int) -> Array:
        """``uint8[H, W, 3]``.

        Raises:
            RecordError: there is no such frame.
        """
        from PIL import Image

        path = self.folder / "frames" / f"{index:06d}.png"
        if not path.exists():
            raise RecordError(f"{self.folder} has no frame {index}; it has {len(self.record['steps'])}.")
        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB"))

    def mask(self, index: int) -> Mask:
        """``bool[H, W]``, where the target is."""
        return decode(self.record["steps"][index]["mask"])

    def choices(self) -> list[Mapping[str, Any]]:
        """The annotated decisions: options and the index of the right one."""
        return [step["choice"] for step in self.record["steps"] if step["choice"] is not None]


def read_rvas(folder: Path, split: str) -> Iterator[RvasEpisode]:
    """The episodes of one split, in the order of their names.

    Raises:
        RecordError: there is no such data set, or one of its episodes is damaged or of another format.
    """
    home = folder / split
    if not home.is_dir():
        raise RecordError(
            f"there is no split {split!r} at {folder}; write one with: thinktwice rvas-data --out {folder}"
        )
    for path in sorted(p for p in home.iterdir() if p.is_dir() and not p.name.startswith(".")):
        try:
            record = json.loads((path / "episode.json").read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise RecordError(f"{path} is damaged: {error}. Remove it and write the data set again.") from error
        if record.get("format") != FORMAT:
            raise RecordError(f"{path} has format {record.get('format')!r}; this version reads {FORMAT}.")
        yield RvasEpisode(folder=path, record=record)
