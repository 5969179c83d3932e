"""Writes the tables of ``docs/conventions.md`` from what the worlds declare.

``python docs/tools/conventions.py`` renews the page; a test compares it, so that page and code cannot differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from thinktwice.envs import Camera, Conventions, DeclaresConventions, Dim
from thinktwice.envs.alfworld.env import AlfworldEnv
from thinktwice.envs.libero.env import LiberoEnv
from thinktwice.envs.r2r.env import R2REnv
from thinktwice.envs.registration import ALFWORLD, LIBERO, R2R, ROOMS, ROS_ARM
from thinktwice.envs.rooms.env import RoomsEnv
from thinktwice.envs.ros import load_robot
from thinktwice.envs.ros.observing import arm_conventions

PAGE = Path(__file__).parents[1] / "conventions.md"
MARK = "<!-- written by docs/tools/conventions.py -->"


def declared() -> dict[str, Conventions]:
    """The conventions of every world as it is made without arguments, by what the page calls it."""
    envs: dict[str, DeclaresConventions] = {
        f"`{LIBERO}`": LiberoEnv(),
        f"`{ALFWORLD}`": AlfworldEnv(),
        f"`{R2R}`": R2REnv(),
        f"`{ROOMS}`": RoomsEnv(),
        f"`{ROOMS}`, `continuous=True`": RoomsEnv(continuous=True),
    }
    robots = {f"`{ROS_ARM}`, `{name}`": arm_conventions(load_robot(name)) for name in ("panda_sim", "libero_sim")}
    return {name: env.conventions for name, env in envs.items()} | robots


def page(text: str) -> str:
    """The page with its tables made anew; what stands before the mark is written by hand."""
    return text.partition(MARK)[0] + MARK + "\n\n" + "\n".join(tables(declared())) + "\n"


def tables(worlds: Mapping[str, Conventions]) -> Iterable[str]:
    """The lines of the tables: all worlds side by side, then the entries of their vectors."""
    yield "## Side by side"
    yield ""
    yield "| world | action | state | images | actions per second |"
    yield "| --- | --- | --- | --- | --- |"
    for name, said in worlds.items():
        rate = f"{said.control_hz:g}" if said.control_hz else "time does not matter"
        yield f"| {name} | {_actions(said)} | {_vector(said.state)} | {_images(said.cameras)} | {rate} |"
    for name, said in worlds.items():
        if said.action or said.state:
            yield from ("", f"## {name}", "", "| | entries | name | unit | frame | representation | a positive value |")
            yield "| --- | --- | --- | --- | --- | --- | --- |"
            yield from _entries("action", said.action)
            yield from _entries("state", said.state)


def _actions(said: Conventions) -> str:
    if said.actions_named:
        return "one of " + ", ".join(f"{index} {name}" for index, name in enumerate(said.actions_named))
    return _vector(said.action) if said.action else "text"


def _vector(dims: tuple[Dim, ...]) -> str:
    return f"`float32[{sum(dim.size for dim in dims)}]`" if dims else "none"


def _images(cameras: tuple[Camera, ...]) -> str:
    return "<br>".join(_image(camera) for camera in cameras) or "none"


def _image(camera: Camera) -> str:
    stands = "upright" if camera.upright else "upside down"
    sides = "mirrored" if camera.mirrored else "not mirrored"
    pixels = f", {camera.rendering}" if camera.rendering else ""
    return f"`images.{camera.name}` {camera.height} × {camera.width}, {stands}, {sides}{pixels}"


def _entries(which: str, dims: tuple[Dim, ...]) -> Iterable[str]:
    first = 0
    for dim in dims:
        last = first + dim.size - 1
        place = f"{first}" if dim.size == 1 else f"{first}–{last}"
        unit = "none" if dim.unit == "1" else dim.unit
        frame = "" if dim.frame == "none" else dim.frame
        yield f"| {which} | {place} | {dim.name} | {unit} | {frame} | {dim.representation} | {dim.positive} |"
        first = last + 1


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
