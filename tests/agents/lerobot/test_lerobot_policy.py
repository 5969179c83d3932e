"""What a LeRobot checkpoint proposes, against LeRobot's own path from observation to action."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from lerobot.configs import PreTrainedConfig
from lerobot.policies.factory import get_policy_class, make_pre_post_processors
from lerobot.policies.utils import prepare_observation_for_inference

from thinktwice.agents.conformance import check_policy
from thinktwice.agents.policies.lerobot import build_lerobot
from thinktwice.agents.policy import Policy
from thinktwice.envs import Array, Observation, check_compatible, derive_seed
from thinktwice.errors import ContractError, ConventionError

KINDS = ["act", "diffusion", "vqbet"]


def lerobot_says(folder: Path, look: Observation, *, steps: int, seed: int) -> Array:
    """The actions of LeRobot's own loop while the world stands still: ``float32[steps, 7]``."""
    config = PreTrainedConfig.from_pretrained(folder)
    config.pretrained_backbone_weights = None
    policy = get_policy_class(config.type).from_pretrained(folder, config=config)
    before, after = make_pre_post_processors(config, pretrained_path=str(folder))
    policy.reset()
    actions = []
    with torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(seed)
        for _ in range(steps):
            raw = {
                "observation.images.agentview": look["images.agentview"].copy(),
                "observation.images.wrist": look["images.wrist"].copy(),
                "observation.state": look["state"].copy(),
            }
            batch = before(prepare_observation_for_inference(raw, torch.device("cpu"), task=look["task"]))
            actions.append(after(policy.select_action(batch))[0].numpy())
    return np.stack(actions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options", "steps"), [("act", "", 6), ("diffusion", "", 5), ("diffusion2", "?history=repeat", 5)]
)
def test_the_reflex_is_what_lerobot_itself_would_do(
    kind: str,
    options: str,
    steps: int,
    saved_checkpoint: Callable[[str], Path],
    shaped_world: gym.Env[Any, Any],
    look: Observation,
) -> None:
    folder = saved_checkpoint(kind)
    chunk = build_lerobot(f"{folder}{options}", shaped_world).propose(look, 1, seed=7).chunks[0]
    expected = lerobot_says(folder, look, steps=steps, seed=derive_seed(7, 0))
    assert chunk.shape == (steps, 7)
    assert chunk.dtype == np.float32
    np.testing.assert_allclose(chunk, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints_keep_the_policys_contract(
    kind: str, saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any], look: Observation
) -> None:
    check_policy(build_lerobot(str(saved_checkpoint(kind)), shaped_world), look, shaped_world.action_space)


@pytest.mark.slow
def test_diffusion_candidates_differ_and_follow_the_seed(
    saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any], look: Observation
) -> None:
    policy = build_lerobot(str(saved_checkpoint("diffusion")), shaped_world)
    first = policy.propose(look, 2, seed=1)
    assert not np.allclose(first.chunks[0], first.chunks[1])
    assert not np.allclose(first.chunks, policy.propose(look, 2, seed=2).chunks)
    assert (first.cost.prefix_passes, first.cost.denoising_steps, first.cost.candidates) == (2, 6, 2)


def test_act_has_one_answer_and_says_so(
    saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any], look: Observation
) -> None:
    policy = build_lerobot(str(saved_checkpoint("act")), shaped_world)
    proposal = policy.propose(look, 3, seed=1)
    np.testing.assert_array_equal(proposal.chunks[0], proposal.chunks[2])
    assert (proposal.cost.prefix_passes, proposal.cost.candidates) == (1, 3)
    assert policy.describe()["sampler"]["kind"] == "deterministic"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_torchs_global_generator_is_left_alone(
    kind: str, saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any], look: Observation
) -> None:
    folder = saved_checkpoint(kind)
    before = torch.random.get_rng_state()
    build_lerobot(str(folder), shaped_world).propose(look, 2, seed=5)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_proposal_keeps_no_memory_and_changes_no_observation(
    saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any], look: Observation
) -> None:
    policy = build_lerobot(f"{saved_checkpoint('diffusion2')}?history=repeat", shaped_world)
    saved = copy.deepcopy(dict(look))
    first = policy.propose(look, 1, seed=3).chunks
    policy.propose({**look, "state": look["state"] + 1, "images.wrist": look["images.wrist"] // 2}, 1, seed=4)
    np.testing.assert_array_equal(policy.propose(look, 1, seed=3).chunks, first)
    for key, value in saved.items():
        np.testing.assert_array_equal(look[key], value)


def test_images_that_were_mirrored_in_training_are_mirrored_here(
    saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any], look: Observation
) -> None:
    folder = saved_checkpoint("act")
    declared = build_lerobot(
        f"{folder}?images.agentview=agentview:mirrored&images.wrist=wrist:upside-down", shaped_world
    )
    by_hand = {
        **look,
        "images.agentview": look["images.agentview"][:, ::-1].copy(),
        "images.wrist": look["images.wrist"][::-1].copy(),
    }
    plain = build_lerobot(str(folder), shaped_world)
    chunk = declared.propose(look, 1, seed=0).chunks
    np.testing.assert_array_equal(chunk, plain.propose(by_hand, 1, seed=0).chunks)
    assert not np.array_equal(chunk, plain.propose(look, 1, seed=0).chunks)


def test_other_camera_names_are_mapped_by_the_argument_or_the_file(
    tmp_path: Path, shaped_world: gym.Env[Any, Any], look: Observation, saved_checkpoint: Callable[[str], Path]
) -> None:
    folder = tmp_path / "libero_names"
    renamed_checkpoint(saved_checkpoint("act"), folder)
    with pytest.raises(ConventionError, match=r"reads the image 'image'.*agentview, wrist.*images\.image=CAMERA"):
        build_lerobot(str(folder), shaped_world)
    by_argument = build_lerobot(f"{folder}?images.image=agentview&images.image2=wrist", shaped_world)
    (folder / "thinktwice.yaml").write_text("cameras: {image: agentview, image2: {camera: wrist}}\n")
    by_file = build_lerobot(str(folder), shaped_world)
    expected = build_lerobot(str(saved_checkpoint("act")), shaped_world).propose(look, 1, seed=0).chunks
    np.testing.assert_array_equal(by_argument.propose(look, 1, seed=0).chunks, expected)
    np.testing.assert_array_equal(by_file.propose(look, 1, seed=0).chunks, expected)


def renamed_checkpoint(source: Path, folder: Path) -> None:
    """The same checkpoint under the image names of LeRobot's LIBERO data."""
    from safetensors.torch import load_file, save_file

    folder.mkdir()
    for path in source.iterdir():
        if "processor_step" in path.name:
            tensors = load_file(path)
            named = {
                k.replace("agentview", "image").replace("images.wrist", "images.image2"): v for k, v in tensors.items()
            }
            save_file(named, folder / path.name)
        elif path.suffix == ".json":
            text = path.read_text().replace("images.agentview", "images.image").replace("images.wrist", "images.image2")
            (folder / path.name).write_text(text)
        else:
            (folder / path.name).write_bytes(path.read_bytes())


def test_the_record_says_what_nobody_declared(
    checkpoint_copy: Callable[[str], Path], shaped_world: gym.Env[Any, Any]
) -> None:
    folder = checkpoint_copy("act")
    described = build_lerobot(str(folder), shaped_world).describe()
    assert described["undeclared"] == ["action", "state", "control_hz", "camera orientation"]
    assert described["normalization"]["ACTION"] == "MEAN_STD"
    assert len(described["sha256"]) == 64
    (folder / "thinktwice.yaml").write_text(
        "cameras: {agentview: agentview, wrist: wrist}\n"
        "conventions:\n"
        "  action: [{name: all, size: 7, unit: '1', frame: eef, representation: delta}]\n"
        "  state: [{name: all, size: 8, unit: '1', frame: base, representation: absolute}]\n"
        "  control_hz: 20\n"
    )
    policy = build_lerobot(str(folder), shaped_world)
    assert policy.describe()["undeclared"] == []
    agree(policy, shaped_world)


def test_foreign_conventions_are_refused_by_the_common_check(
    checkpoint_copy: Callable[[str], Path], shaped_world: gym.Env[Any, Any]
) -> None:
    folder = checkpoint_copy("act")
    (folder / "thinktwice.yaml").write_text(
        "conventions: {action: [{name: all, size: 7, unit: '1', frame: eef, representation: delta, positive: opens}]}\n"
    )
    with pytest.raises(ConventionError, match="positive='opens'"):
        agree(build_lerobot(str(folder), shaped_world), shaped_world)


def test_another_image_size_is_refused_unless_it_is_accepted(
    checkpoint_copy: Callable[[str], Path], shaped_world: gym.Env[Any, Any]
) -> None:
    folder = checkpoint_copy("act")
    config = folder / "config.json"
    config.write_text(config.read_text().replace("64", "96"))
    with pytest.raises(ConventionError, match="height 64, the policy expects 96"):
        agree(build_lerobot(str(folder), shaped_world), shaped_world)
    agree(build_lerobot(f"{folder}?any_size=true", shaped_world), shaped_world)


def agree(policy: Policy, world: Any) -> None:
    check_compatible(world.conventions, policy.conventions, world_name="world", policy_name=policy.name)


def test_bad_calls_are_contract_errors(
    saved_checkpoint: Callable[[str], Path], shaped_world: gym.Env[Any, Any], look: Observation
) -> None:
    policy = build_lerobot(str(saved_checkpoint("act")), shaped_world)
    assert isinstance(policy, Policy)
    with pytest.raises(ContractError, match="at least one candidate"):
        policy.propose(look, 0, seed=0)
    with pytest.raises(ContractError, match=r"needs \['observation.images.wrist'\]"):
        policy.propose({key: value for key, value in look.items() if key != "images.wrist"}, 1, seed=0)
