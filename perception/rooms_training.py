"""Train the default perception on rendered rooms of the training split.

``python -m thinktwice.perception.rooms_training --out FOLDER`` renders looks into houses of the training split, trains
the network on crops of them, measures it on houses of the validation split, and writes ``rooms.safetensors`` and
``rooms.json``.  Everything follows from the seed.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from safetensors.torch import save_file
from torch import Tensor, nn

from ..envs import Array, derive_seed
from ..envs.rooms.env import SPLITS
from ..envs.rooms.generate import generate_house
from ..envs.rooms.house import House
from ..envs.rooms.kinds import COLOURS
from ..envs.rooms.layout import DIFFICULTIES
from ..envs.rooms.motion import PITCH_LIMITS, TILT
from ..envs.rooms.occupancy import centre, floor_map
from ..envs.rooms.render import Renderer
from ..envs.rooms.scene import OPEN_ANGLE, build_scene
from .rooms_network import CLASSES, SIZE, RoomsNetwork, network_input
from .rooms_vocabulary import KINDS

_CROP = 96
_IGNORED = 255
_BLIND = 0.25
"""Share of crops that are trained without depth, so that recorded video can be segmented too."""
_CONSOLE = Console()
_CARD = """# The rooms' segmenter

A U-Net of depthwise separable convolutions with heads for {kinds} kinds and {colours} colours (`rooms_network.py`).
Closed vocabulary: it knows the kinds of `thinktwice/Rooms-v0` and nothing else.

* Input: RGB, inverse depth and height above the floor at 192 x 192; also RGB alone, which a quarter of the crops had.
* Data: {looks} looks into each of {houses} houses of the training split, rendered by the library; two in three at an
  object from 0.6 to 3 m. No test house was looked at, and validation houses only for the figures below.
* Command, from the repository's root:
  `python -m thinktwice.perception.rooms_training --out perception/trained {flags}`
* Trained on a CPU; license: the library's.

Held-out figures, on {held_out} houses of the validation split, per pixel at half resolution, with depth:

| figure | value |
| --- | --- |
{figures}
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of the training command."""

    out: Path
    """Folder for the weights and their card's figures."""
    houses: int = 160
    """Training houses to render."""
    looks: int = 24
    """Looks into each."""
    steps: int = 6000
    """Optimiser steps."""
    batch: int = 16
    """Crops per step."""
    held_out: int = 24
    """Validation houses to measure on."""
    seed: int = 0
    """Of looks, crops and initial weights."""
    threads: int = 1
    """CPU threads."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Looks:
    """Rendered looks: ``float16[N, 5, S, S]`` inputs, ``uint8[N, S, S]`` kinds and colours (255: no instance)."""

    inputs: Array
    kinds: Array
    colours: Array


def render_looks(split: str, houses: int, looks: int, seed: int) -> Looks:
    """Look into houses: two looks in three at an object from 0.6 to 3 m, the others anywhere."""
    inputs, kinds, colours = list[Array](), list[Array](), list[Array]()
    for index in range(houses):
        house = generate_house(SPLITS[split] + index, list(DIFFICULTIES)[index % 3])
        for image, depth, instances, pitch in _look_around(house, looks, derive_seed("looks", split, seed, index)):
            kind, colour = _tables(house)
            inputs.append(network_input(image, depth, pitch).astype(np.float16))
            kinds.append(kind[instances])
            colours.append(colour[instances])
        if index % 20 == 0:
            _CONSOLE.print(f"rendered {index + 1} of {houses} houses")
    return Looks(inputs=np.stack(inputs), kinds=np.stack(kinds), colours=np.stack(colours))


def _tables(house: House) -> tuple[Array, Array]:
    """Kind and colour class by instance id."""
    kind = np.zeros(len(house.items) + 1, np.uint8)
    colour = np.full(len(house.items) + 1, _IGNORED, np.uint8)
    names = list(COLOURS)
    for item in house.items:
        kind[item.id] = 1 + KINDS.index(item.kind)
        colour[item.id] = names.index(item.colour)
    return kind, colour


def _look_around(house: House, looks: int, seed: int) -> Iterator[tuple[Array, Array, Array, float]]:
    rng = np.random.default_rng(seed)
    scene = build_scene(house, SIZE)
    renderer = Renderer(scene, SIZE)
    floor = floor_map(house)
    cells = np.argwhere(floor.navigable)
    places = np.array([centre((int(r), int(c))) for r, c in cells])
    for address in scene.hinges.values():
        scene.data.qpos[address] = OPEN_ANGLE * float(rng.random() < 0.5)
    objects = house.objects()
    for turn in range(looks):
        yaw, pitch = float(rng.uniform(-math.pi, math.pi)), float(rng.integers(-3, 2)) * TILT
        spot = places[int(rng.integers(len(places)))]
        if turn % 3 and objects:
            item = objects[int(rng.integers(len(objects)))]
            gap = np.hypot(places[:, 0] - item.x, places[:, 1] - item.y)
            near = np.flatnonzero((gap > 0.6) & (gap < 3.0))
            if len(near):
                spot = places[near[int(rng.integers(len(near)))]]
                yaw = math.atan2(item.y - spot[1], item.x - spot[0]) + float(rng.uniform(-0.5, 0.5))
                pitch = min(max(float(rng.integers(-2, 1)) * TILT, PITCH_LIMITS[0]), PITCH_LIMITS[1])
        frame = renderer.look(float(spot[0]), float(spot[1]), yaw, pitch, size=SIZE)
        yield frame.image, frame.depth, frame.instances, pitch
    renderer.close()


def crops(looks: Looks, options: TrainingOptions, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """One batch of crops: mirrored, brightened, without depth now and then; most contain something."""
    inputs, kinds, colours = list[Array](), list[Array](), list[Array]()
    for _ in range(options.batch):
        index = int(rng.integers(len(looks.kinds)))
        row, column = (int(n) for n in rng.integers(0, SIZE - _CROP + 1, 2))
        small = np.argwhere(looks.kinds[index] > 24)
        if len(small) and rng.random() < 0.7:
            at = small[int(rng.integers(len(small)))] - rng.integers(16, _CROP - 16, 2)
            row, column = (int(n) for n in np.clip(at, 0, SIZE - _CROP))
        window = np.s_[..., row : row + _CROP, column : column + _CROP]
        x = looks.inputs[index][window].astype(np.float32)
        x[:3] = (x[:3] + 1) * rng.uniform(0.85, 1.15) - 1
        if rng.random() < _BLIND:
            x[3:] = 0
        step = -1 if rng.random() < 0.5 else 1
        inputs.append(x[..., ::step])
        kinds.append(looks.kinds[index][window][..., ::step])
        colours.append(looks.colours[index][window][..., ::step])
    return (
        torch.from_numpy(np.ascontiguousarray(np.stack(inputs))),
        torch.from_numpy(np.stack(kinds)[:, ::2, ::2].astype(np.int64)),
        torch.from_numpy(np.stack(colours)[:, ::2, ::2].astype(np.int64)),
    )


def train(looks: Looks, options: TrainingOptions) -> RoomsNetwork:
    """AdamW with a one-cycle rate on cross entropies of kind and colour, rare kinds weighted up."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(options.seed)
    network = RoomsNetwork()
    counts = np.bincount(looks.kinds[::4].ravel(), minlength=CLASSES) + 1.0
    weights = torch.tensor(np.clip((counts.sum() / counts) ** 0.35 / 8, 0.2, 2.0), dtype=torch.float32)
    kind_loss = nn.CrossEntropyLoss(weight=weights)
    colour_loss = nn.CrossEntropyLoss(ignore_index=_IGNORED)
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=6e-3, total_steps=options.steps)
    began, mean = time.monotonic(), 0.0
    for step in range(options.steps):
        inputs, kinds, colours = crops(looks, options, rng)
        kind, colour = network(inputs)
        loss = kind_loss(kind, kinds) + 0.3 * colour_loss(colour, colours)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        mean = 0.98 * mean + 0.02 * float(loss.detach())
        if step % 200 == 0:
            _CONSOLE.print(f"step {step} of {options.steps}: loss {mean:.3f}, {time.monotonic() - began:.0f} s")
            save(network, options.out)
    return network.eval()


def save(network: RoomsNetwork, out: Path) -> None:
    """Write the weights, also in mid-training, so that a killed run leaves something to look at."""
    out.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, out / "rooms.safetensors")


def measure(network: RoomsNetwork, looks: Looks) -> dict[str, float]:
    """Pixel figures on held-out houses: mean IoU over kinds that occur, and accuracies inside instances."""
    confusion = np.zeros((CLASSES, CLASSES), np.int64)
    right = total = 0
    with torch.inference_mode():
        for inputs, kinds, colours in zip(
            looks.inputs, looks.kinds[:, ::2, ::2], looks.colours[:, ::2, ::2], strict=True
        ):
            kind, colour = network(torch.from_numpy(inputs.astype(np.float32))[None])
            guess = kind[0].argmax(0).numpy()
            np.add.at(confusion, (kinds.ravel().astype(np.int64), guess.ravel()), 1)
            known = colours != _IGNORED
            right += int((colour[0].argmax(0).numpy()[known] == colours[known]).sum())
            total += int(known.sum())
    hit = np.diag(confusion).astype(float)
    union = confusion.sum(0) + confusion.sum(1) - hit
    present = confusion.sum(1) > 0
    objects = present & (np.arange(CLASSES) > 24)
    return {
        "pixel_accuracy": float(hit.sum() / confusion.sum()),
        "instance_pixel_accuracy": float(hit[1:].sum() / max(confusion[1:].sum(), 1)),
        "mean_iou": float((hit[present] / union[present]).mean()),
        "mean_iou_objects": float((hit[objects] / union[objects]).mean()),
        "colour_pixel_accuracy": right / max(total, 1),
        "looks": float(len(looks.kinds)),
    }


def write_card(folder: Path) -> None:
    """Write the model card, README.md, from the options and figures in rooms.json."""
    record = json.loads((folder / "rooms.json").read_text(encoding="utf-8"))
    options = record["options"]
    flags = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in options.items() if name != "out")
    figures = "\n".join(f"| {name.replace('_', ' ')} | {value:.3f} |" for name, value in record["held_out"].items())
    text = _CARD.format(flags=flags, figures=figures, kinds=len(KINDS), colours=len(COLOURS), **options)
    (folder / "README.md").write_text(text, encoding="utf-8")


def main() -> None:
    """The training command."""
    options = tyro.cli(TrainingOptions, description=__doc__)
    began = time.monotonic()
    network = train(render_looks("train", options.houses, options.looks, options.seed), options)
    figures = measure(network, render_looks("val", options.held_out, 12, options.seed))
    save(network, options.out)
    card = {
        "options": {**dataclasses.asdict(options), "out": options.out.name},
        "held_out": figures,
        "minutes": round((time.monotonic() - began) / 60, 1),
    }
    (options.out / "rooms.json").write_text(json.dumps(card, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    write_card(options.out)
    _CONSOLE.print(figures)


if __name__ == "__main__":
    main()
