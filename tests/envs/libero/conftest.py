"""Shared LIBERO environments: a simulator takes seconds to build, so tests that can share one do."""

from collections.abc import Iterator

import pytest

from thinktwice.envs.libero.env import LiberoEnv


@pytest.fixture(scope="session")
def blind_env() -> Iterator[LiberoEnv]:
    """An environment without cameras, and so without a GL context."""
    env = LiberoEnv(cameras=())
    yield env
    env.close()
