"""MuJoCo, imported with a software GL backend unless the user chose one."""

from __future__ import annotations

import importlib
import os
from typing import Any


def import_mujoco() -> Any:
    """The ``mujoco`` module; it picks its GL backend at import, so ``MUJOCO_GL`` must stand before.

    It is typed as Any because its compiled half has no type information.
    """
    os.environ.setdefault("MUJOCO_GL", "egl")
    return importlib.import_module("mujoco")
