"""Fixtures of LESA's tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("LP_NUM_THREADS", "1")

from thinktwice.envs.multistep import MultiStep
from thinktwice.envs.rooms.env import RoomsEnv


@pytest.fixture(scope="module")
def lesa_rooms() -> Iterator[MultiStep]:
    env = MultiStep(RoomsEnv(size=128))
    yield env
    env.close()
