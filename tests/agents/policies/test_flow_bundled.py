from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from thinktwice.agents.catalog import build_policy
from thinktwice.agents.conformance import check_policy
from thinktwice.agents.policies.bundled import BundledPolicy, build_bundled
from thinktwice.agents.policy import Look
from thinktwice.envs import check_compatible
from thinktwice.envs.libero.conventions import libero_conventions
from thinktwice.errors import ConfigError, ContractError, ConventionError, UsageError, WeightsError

PIXELS = 24
CONVENTIONS = libero_conventions(("agentview", "wrist"), height=PIXELS, width=PIXELS, rendering="fast")
ENV = gym.Env()
"""Loading needs no world; conventions are checked by whoever builds the agent."""


def observation(task: str = "pick up the milk and place it in the basket") -> dict:
    random = np.random.default_rng(0)
    return {
        "images.agentview": random.integers(0, 255, (PIXELS, PIXELS, 3), np.uint8),
        "images.wrist": random.integers(0, 255, (PIXELS, PIXELS, 3), np.uint8),
        "state": random.normal(size=8).astype(np.float32),
        "task": task,
    }


@pytest.fixture(scope="module")
def original(save_flow: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small checkpoint with random weights; tests read it and never write it."""
    return save_flow(tmp_path_factory.mktemp("checkpoint"), CONVENTIONS, mean=0.5, deviation=2.0)


@pytest.fixture
def policy(original: Path) -> BundledPolicy:
    return build_bundled(f"{original}?device=cpu", ENV)


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    for path in original.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


@pytest.mark.slow
def test_a_new_process_loads_it(original: Path) -> None:
    """LeRobot's registries are filled by imports, which this process has done already."""
    code = (
        "import sys, gymnasium; from thinktwice.agents.catalog import build_policy; "
        "print(build_policy('bundled:' + sys.argv[1], gymnasium.Env()).describe()['sha256'])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(original)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.strip()) == 64


def test_it_keeps_the_contract(policy: BundledPolicy) -> None:
    check_policy(policy, observation(), gym.spaces.Box(-1, 1, (7,), np.float32))


def looks(count: int) -> list[Look]:
    """Different observations, numbers of candidates and seeds."""
    tasks = ("pick up the milk and place it in the basket", "open the middle drawer of the cabinet")
    return [
        Look(
            observation={**observation(tasks[index % 2]), "state": np.full(8, index, np.float32)},
            n=(1, 3, 16, 2)[index % 4],
            seed=index,
        )
        for index in range(count)
    ]


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_a_proposal_does_not_depend_on_who_shared_the_pass(original: Path, batch: int) -> None:
    policy = build_bundled(f"{original}?device=cpu&batch={batch}", ENV)
    asked = looks(6)
    alone = [policy.propose(look.observation, look.n, seed=look.seed) for look in asked]
    for order in ([0, 1, 2, 3, 4, 5], [5, 2], [4, 3, 2, 1, 0]):
        together = policy.propose_many([asked[place] for place in order])
        for place, proposal in zip(order, together, strict=True):
            np.testing.assert_array_equal(proposal.chunks, alone[place].chunks)
            assert proposal.cost.counts() == alone[place].cost.counts()
            for name, value in proposal.features.items():
                np.testing.assert_array_equal(value, alone[place].features[name])


def test_a_shared_pass_changes_the_last_bits_alone(original: Path, policy: BundledPolicy) -> None:
    """The tolerance that the documentation states, in the world's units."""
    for look in looks(4):
        together = build_bundled(f"{original}?device=cpu&batch=4", ENV).propose_many([look])[0]
        alone = policy.propose(look.observation, look.n, seed=look.seed)
        np.testing.assert_allclose(together.chunks, alone.chunks, rtol=0, atol=1e-5)


def test_a_pass_of_several_is_part_of_what_the_policy_is(original: Path, policy: BundledPolicy) -> None:
    several = build_bundled(f"{original}?device=cpu&batch=4", ENV)
    assert several.describe() == {**policy.describe(), "batch": 4}
    check_policy(several, observation(), gym.spaces.Box(-1, 1, (7,), np.float32))
    with pytest.raises(ConfigError, match="batch must be a whole number"):
        build_bundled(f"{original}?batch=0", ENV)


@pytest.mark.parametrize("n", [1, 2, 3, 15, 17, 31])
def test_candidates_do_not_depend_on_how_many_there_are(policy: BundledPolicy, n: int) -> None:
    many = np.asarray(policy.propose(observation(), 33, seed=5).chunks)
    few = np.asarray(policy.propose(observation(), n, seed=5).chunks)
    assert few.shape == (n, 16, 7)
    assert few.dtype == np.float32
    np.testing.assert_array_equal(few, many[:n])
    assert len(np.unique(many[:, 0, 0])) == 33


def test_extending_gives_what_proposing_gives_at_the_cost_of_the_new_ones(policy: BundledPolicy) -> None:
    pair = policy.propose(observation(), 2, seed=5)
    more = policy.extend(pair, 16, seed=5)
    np.testing.assert_array_equal(more.chunks, policy.propose(observation(), 16, seed=5).chunks)
    assert more.cost.counts() == {
        **pair.cost.counts(),
        "prefix_passes": 0,
        "candidates": 14,
        "denoising_steps": 140,
    }
    assert more.features is pair.features
    for n in (2, 1):
        with pytest.raises(ContractError, match="extend"):
            policy.extend(pair, n, seed=5)
    with pytest.raises(ContractError, match="its own"):
        policy.extend(dataclasses.replace(pair, features={}), 4, seed=5)


def test_steps_are_asked_for_and_accounted(original: Path, policy: BundledPolicy) -> None:
    few = build_bundled(f"{original}?steps=3", ENV)
    proposal = few.propose(observation(), 4, seed=0)
    assert proposal.cost.counts() == {
        **policy.propose(observation(), 4, seed=0).cost.counts(),
        "denoising_steps": 12,
    }
    assert few.describe()["denoising_steps"] == 3
    assert not np.array_equal(proposal.chunks, policy.propose(observation(), 4, seed=0).chunks)


def test_actions_are_in_the_worlds_units(policy: BundledPolicy) -> None:
    """The statistics say mean 0.5 and deviation 2: undoing them gives the network's own numbers."""
    checkpoint = policy._checkpoint
    from thinktwice.agents.policies.candidates import candidate_noise

    noise = torch.from_numpy(np.stack([candidate_noise(3, index, (16, 7)) for index in range(2)]))
    batch = checkpoint.preprocessor(policy._batch(observation()))
    with torch.no_grad():
        summary = checkpoint.policy.network.encode_batch(batch).summary
        normalised = checkpoint.policy.network.sample(summary, noise, steps=10)
    np.testing.assert_allclose(
        policy.propose(observation(), 1, seed=3).chunks[0], (normalised[0] * 2 + 0.5).numpy(), atol=1e-5
    )


def test_features_are_named_and_shaped_as_documented(policy: BundledPolicy) -> None:
    features = policy.propose(observation(), 1, seed=0).features
    shapes = {name: value.shape for name, value in features.items()}
    assert shapes == {"summary": (384,), "tokens": (8, 6), "language": (128,), "state": (8,)}
    assert all(value.dtype == np.float32 and np.isfinite(value).all() for value in features.values())
    assert (np.abs(features["tokens"][:, :2]) <= 1).all()


def test_the_velocity_field_leads_to_the_samples(policy: BundledPolicy) -> None:
    proposal = policy.propose(observation(), 1, seed=0)
    points = np.random.default_rng(0).normal(size=(3, 16, 7)).astype(np.float32)
    field = policy.velocity(proposal, points, 0.5)
    assert field.shape == points.shape
    assert not np.allclose(field, policy.velocity(proposal, points, 0.9))


@pytest.mark.parametrize("missing", ["images.wrist", "state", "task"])
def test_a_missing_input_is_named(policy: BundledPolicy, missing: str) -> None:
    seen = {key: value for key, value in observation().items() if key != missing}
    with pytest.raises((ContractError, UsageError), match=r"wrist|state|1 to 20 words"):
        policy.propose(seen, 1, seed=0)


def test_an_image_of_another_size_is_refused(policy: BundledPolicy) -> None:
    seen = observation() | {"images.wrist": np.zeros((32, 32, 3), np.uint8)}
    with pytest.raises(ContractError, match=r"trained with .*wrist of shape \(3, 24, 24\), not \(3, 32, 32\)"):
        policy.propose(seen, 1, seed=0)


def test_an_unknown_word_is_an_error_before_the_first_step(policy: BundledPolicy) -> None:
    with pytest.raises(UsageError, match="piano"):
        policy.propose(observation("pick up the piano"), 1, seed=0)


def test_the_record_tells_which_weights(policy: BundledPolicy, original: Path) -> None:
    import hashlib

    described = policy.describe()
    assert described["sha256"] == hashlib.sha256((original / "model.safetensors").read_bytes()).hexdigest()
    json.dumps(described, allow_nan=False)


def test_foreign_conventions_are_refused(policy: BundledPolicy) -> None:
    for changed, message in (
        (libero_conventions(("agentview",), height=PIXELS, width=PIXELS, rendering="fast"), "'wrist' is missing"),
        (libero_conventions(("agentview", "wrist"), height=96, width=96, rendering="fast"), "height 96"),
        (libero_conventions(("agentview", "wrist"), height=PIXELS, width=PIXELS, rendering="faithful"), "rendering"),
        (dataclasses.replace(CONVENTIONS, control_hz=10.0), "control rate"),
        (
            dataclasses.replace(
                CONVENTIONS,
                action=(*CONVENTIONS.action[:2], dataclasses.replace(CONVENTIONS.action[2], positive="opens")),
            ),
            "positive='opens'",
        ),
    ):
        with pytest.raises(ConventionError, match=message):
            check_compatible(changed, policy.conventions, world_name="world", policy_name=policy.name)
    check_compatible(CONVENTIONS, policy.conventions, world_name="world", policy_name=policy.name)


def test_weights_that_are_not_numbers(copy: Path) -> None:
    tensors = load_file(copy / "model.safetensors")
    tensors["network.into.weight"][0, 0] = float("nan")
    save_file(tensors, copy / "model.safetensors")
    with pytest.raises(WeightsError, match="not finite"):
        build_bundled(str(copy), ENV)


def test_a_truncated_file(copy: Path) -> None:
    path = copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(WeightsError, match="truncated"):
        build_bundled(str(copy), ENV)


def test_missing_weights(copy: Path) -> None:
    tensors = load_file(copy / "model.safetensors")
    del tensors["network.into.weight"]
    save_file(tensors, copy / "model.safetensors")
    with pytest.raises(WeightsError, match=r"network\.into\.weight"):
        build_bundled(str(copy), ENV)


@pytest.mark.parametrize("file", ["policy_preprocessor.json", "policy_postprocessor.json"])
def test_another_mode_of_statistics(copy: Path, file: str) -> None:
    text = (copy / file).read_text()
    assert "MEAN_STD" in text
    (copy / file).write_text(text.replace("MEAN_STD", "QUANTILES"))
    with pytest.raises(WeightsError, match="QUANTILES"):
        build_bundled(str(copy), ENV)


def test_statistics_of_a_mode_that_needs_none(copy: Path) -> None:
    """IDENTITY needs no statistics, so nothing is missing; but it is not how the policy was trained."""
    path = copy / "policy_postprocessor.json"
    path.write_text(path.read_text().replace("MEAN_STD", "IDENTITY"))
    with pytest.raises(WeightsError, match=r"normalise by .*IDENTITY.* was trained with"):
        build_bundled(str(copy), ENV)


def test_a_checkpoint_without_conventions(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"conventions": {}}))
    with pytest.raises(ConventionError, match="does not say which conventions"):
        build_bundled(str(copy), ENV)


def test_cameras_that_do_not_belong_to_the_conventions(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    config["conventions"]["cameras"].pop()
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConventionError, match="reads the cameras"):
        build_bundled(str(copy), ENV)


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        ("nowhere", WeightsError, "no policy checkpoint in nowhere"),
        ("nowhere?step=3", ConfigError, "Did you mean 'steps'"),
        ("nowhere?steps", ConfigError, "key=value"),
    ],
)
def test_arguments_that_make_no_sense(argument: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build_policy(f"bundled:{argument}", ENV)


@pytest.mark.parametrize("steps", ["0", "-1", "three", "2.5"])
def test_steps_that_make_no_sense(original: Path, steps: str) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        build_bundled(f"{original}?steps={steps}", ENV)
