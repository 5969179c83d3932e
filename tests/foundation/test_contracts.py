"""Observations, chunks, conventions and identities refuse what is wrong and say why."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from gymnasium import spaces

from thinktwice.envs import (
    Camera,
    Conventions,
    Dim,
    EpisodeId,
    check_chunk,
    check_compatible,
    check_observation,
    derive_seed,
    lerobot_key,
    to_lerobot,
)
from thinktwice.errors import ContractError, ConventionError, IdentityError

IMAGE = np.zeros((4, 6, 3), np.uint8)
GOOD = {
    "images.front": IMAGE,
    "depth.front": np.ones((4, 6), np.float32),
    "state": np.zeros(8, np.float32),
    "task": "pick up the mug",
    "text": "You see a desk.",
    "choices": ("look", "go to desk 1"),
}


def test_the_scheme_is_accepted() -> None:
    check_observation(GOOD)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("images.front", IMAGE.astype(np.float32), r"uint8\[H, W, 3\], got float32\[4, 6, 3\]"),
        ("images.front", IMAGE.transpose(2, 0, 1), r"uint8\[3, 4, 6\]"),
        ("images.front", [[0]], "not list"),
        ("depth.front", np.full((4, 6), np.nan, np.float32), "not finite"),
        ("state", np.zeros(8), r"float64\[8\]"),
        ("task", 3, "must be a str"),
        ("choices", ["look"], "tuple of str"),
        ("pixels", IMAGE, "outside the scheme"),
    ],
)
def test_anything_else_is_refused_by_name(key: str, value: object, words: str) -> None:
    with pytest.raises(ContractError, match=words) as caught:
        check_observation({**GOOD, key: value})
    assert key in str(caught.value)


def test_lerobot_names() -> None:
    assert lerobot_key("images.wrist") == "observation.images.wrist"
    assert set(to_lerobot(GOOD)) == {"observation.images.front", "observation.state", "task"}


BOX = spaces.Box(-1, 1, (7,), np.float32)


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        (np.zeros((0, 7)), "non-empty"),
        (np.zeros(7), r"float32\[T, 7\], got float64\[7\]"),
        (np.zeros((2, 6)), r"float32\[T, 7\]"),
        (np.full((1, 7), np.nan), "not finite"),
        (np.full((1, 7), np.inf), "not finite"),
        ("go north", "non-empty sequence"),
        ([["a"] * 7], r"float32\[T, 7\]"),
    ],
)
def test_bad_chunks_are_refused(chunk: object, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        check_chunk(chunk, BOX)


def test_chunks_of_other_spaces() -> None:
    check_chunk([2, 0], spaces.Discrete(3))
    with pytest.raises(ContractError, match="not in the world's action space"):
        check_chunk([3], spaces.Discrete(3))
    with pytest.raises(ContractError, match="non-empty"):
        check_chunk("3", spaces.Discrete(3))
    check_chunk(np.full((1, 7), 3.0), BOX)  # a policy may overshoot: each world limits actions as it documents


GRIPPER = Dim(name="gripper", size=1, unit="1", frame="eef", representation="absolute", positive="closes")
MOVE = Dim(name="position", size=3, unit="0.05 m", frame="base", representation="delta")
WORLD = Conventions(
    action=(MOVE, GRIPPER),
    state=(Dim(name="position", size=3, unit="m", frame="base", representation="absolute"),),
    cameras=(Camera(name="wrist", height=128, width=128, rendering="fast"),),
    control_hz=20.0,
)


def compatible(policy: Conventions | None) -> None:
    check_compatible(WORLD, policy, world_name="the world", policy_name="the policy")


def test_the_same_conventions_or_none_are_compatible() -> None:
    compatible(None)
    compatible(WORLD)
    compatible(Conventions(cameras=(Camera(name="wrist", height=0, width=0),)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"action": (MOVE, dataclasses.replace(GRIPPER, positive="opens"))}, "positive='closes'.*positive='opens'"),
        ({"action": (dataclasses.replace(MOVE, unit="m"), GRIPPER)}, "unit='0.05 m'.*unit='m'"),
        ({"action": (MOVE,)}, r"\['position', 'gripper'\]"),
        ({"control_hz": 30.0}, "20.0 Hz.*30.0 Hz"),
        ({"cameras": (Camera(name="front", height=0, width=0),)}, "'front' is missing.*wrist"),
        ({"cameras": (Camera(name="wrist", height=224, width=0),)}, "height 128.*224"),
        ({"cameras": (Camera(name="wrist", height=0, width=0, upright=False),)}, "upright=True.*upright=False"),
        ({"cameras": (Camera(name="wrist", height=0, width=0, rendering="faithful"),)}, "rendering fast.*faithful"),
        ({"state": (dataclasses.replace(WORLD.state[0], frame="world"),)}, "frame='base'.*frame='world'"),
    ],
)
def test_every_mismatch_is_named(change: dict[str, object], words: str) -> None:
    with pytest.raises(ConventionError, match=words):
        compatible(dataclasses.replace(WORLD, **change))


def test_all_mismatches_come_at_once() -> None:
    wrong = dataclasses.replace(WORLD, control_hz=10.0, cameras=(Camera(name="front", height=0, width=0),))
    with pytest.raises(ConventionError) as caught:
        compatible(wrong)
    assert str(caught.value).count("\n  - ") == 2


def test_conventions_survive_json() -> None:
    assert Conventions.from_json(json.loads(json.dumps(WORLD.to_json()))) == WORLD
    with pytest.raises(ConventionError, match="cannot be read"):
        Conventions.from_json({"cameras": [{"name": "wrist", "hight": 3}]})


EPISODE = EpisodeId(world="thinktwice/Libero-v0", task="libero_object/0", init_state=3, seed=17)


def test_identities_survive_json_and_name_files() -> None:
    assert EpisodeId.from_json(json.loads(json.dumps(EPISODE.to_json()))) == EPISODE
    others = [
        dataclasses.replace(EPISODE, **change) for change in ({"seed": 18}, {"init_state": None}, {"task": "a/b c"})
    ]
    keys = {episode.key for episode in [EPISODE, *others]}
    assert len(keys) == 4
    assert all("/" not in key and " " not in key and len(key) < 120 for key in keys)


@pytest.mark.parametrize("change", [{"seed": "3"}, {"seed": None}, {"init_state": 1.5}, {"color": "red"}, {"task": 3}])
def test_a_broken_identity_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(IdentityError, match="not an episode identity"):
        EpisodeId.from_json({**EPISODE.to_json(), **change})


@pytest.mark.slow
def test_derived_seeds_are_the_same_in_every_process() -> None:
    code = "from thinktwice.envs import derive_seed; print(derive_seed(0, 'libero_object/0', 3))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{derive_seed(0, 'libero_object/0', 3)}\n".encode()}


def test_derived_seeds_do_not_collide() -> None:
    seeds = {derive_seed(run, task, index) for run in range(20) for task in range(20) for index in range(20)}
    assert len(seeds) == 8000
    assert derive_seed(1, 23) != derive_seed(12, 3)
