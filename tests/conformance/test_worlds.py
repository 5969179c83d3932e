"""Every world keeps the contract; a new one is added to WORLDS."""

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from thinktwice.envs import World, world_entry
from thinktwice.envs.conformance import check_world
from thinktwice.envs.fakes import FakeEnv
from thinktwice.errors import ContractError

WORLDS = [
    pytest.param("fake", {}, id="fake"),
    pytest.param("libero_object", {"height": 64, "width": 64}, id="libero", marks=pytest.mark.sim),
    pytest.param(
        "libero_goal",
        {"height": 64, "width": 64, "rendering": "fast", "init_states": "fresh"},
        id="libero-fast",
        marks=pytest.mark.sim,
    ),
    pytest.param("libero", {"height": 64, "width": 64, "rendering": "fast"}, id="libero-40", marks=pytest.mark.sim),
    pytest.param("rooms", {"size": 64, "difficulty": "easy"}, id="rooms", marks=pytest.mark.sim),
    pytest.param("r2r", {"routes": 3}, id="r2r"),
]


def open_world(name: str, options: dict[str, Any]) -> World:
    options_class, opener = world_entry(name).load()
    return opener(name, options_class(**options))


@pytest.mark.filterwarnings("ignore:.*observation space.*:UserWarning:gymnasium")  # advice, such as on Box bounds
@pytest.mark.filterwarnings("ignore:.*Box.*precision lowered.*:UserWarning:gymnasium")
@pytest.mark.parametrize(("name", "options"), WORLDS)
def test_a_world_keeps_the_contract(name: str, options: dict[str, Any]) -> None:
    check_world(open_world(name, options))


class Broken(FakeEnv):
    """The fake world with a fault that the check must find."""

    fault = ""
    resets = 0

    def reset(self, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        observation, info = super().reset(**arguments)
        type(self).resets += 1
        if self.fault == "remembers":
            observation["state"] = observation["state"] + np.float32(type(self).resets)
        return observation, info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        if self.fault == "no success":
            del info["is_success"]
        if self.fault == "foreign key":
            observation["pixels"] = observation.pop("images.front")
        return observation, reward, terminated, truncated, info

    def restore_state(self, state: Any) -> None:
        if self.fault != "forgets":
            super().restore_state(state)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no success", "is_success"),
        ("remembers", "depends on what was played before"),
        ("forgets", "lead elsewhere"),
        ("foreign key", "pixels|observation"),
    ],
)
def test_the_check_finds_faults(fault: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = open_world("fake", {})
    monkeypatch.setattr(Broken, "fault", fault)
    monkeypatch.setattr(type(world), "make", lambda self: Broken())
    monkeypatch.setattr("thinktwice.envs.conformance.check_env", lambda env, **_: None)
    with pytest.raises(ContractError, match=words):
        check_world(world)


def test_every_gymnasium_id_is_registered_once() -> None:
    import thinktwice

    thinktwice.register_worlds()
    names = [name for name in gym.registry if name.startswith("thinktwice/")]
    assert "thinktwice/Libero-v0" in names
    assert all(gym.registry[name].entry_point for name in names)


def test_gymnasium_makes_a_world_by_its_id() -> None:
    env = gym.make("thinktwice:thinktwice/Fake-v0")
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert info["is_success"] is False
    env.close()


def test_worlds_pickle_small() -> None:
    for name in ("fake", "libero_object", "libero_90"):
        assert len(pickle.dumps(open_world(name, {}))) < 10_000
