from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.configs.parser import load_plugin
from lerobot.policies.factory import get_policy_class, make_policy_config, make_pre_post_processors
from scipy.spatial.transform import Rotation

from thinktwice.agents.policies.flow.configuration_flow import FlowConfig
from thinktwice.agents.policies.flow.modeling_flow import FlowPolicy
from thinktwice.agents.policies.flow.rotation import canonical_rotation
from thinktwice.agents.policies.flow.vocabulary import LIBERO_WORDS, PADDING, encode_instruction, words_of
from thinktwice.errors import UsageError

PIXELS = 24


def small_config(**settings) -> FlowConfig:
    camera = PolicyFeature(FeatureType.VISUAL, (3, PIXELS, PIXELS))
    given = {
        "device": "cpu",
        "channels": 8,
        "blocks": 1,
        "keypoints": 4,
        "head_width": 32,
        "head_blocks": 2,
        "noise_samples": 2,
        "input_features": {
            "observation.images.agentview": camera,
            "observation.images.wrist": camera,
            "observation.state": PolicyFeature(FeatureType.STATE, (8,)),
        },
        "output_features": {"action": PolicyFeature(FeatureType.ACTION, (7,))},
    }
    return FlowConfig(**(given | settings))


@pytest.fixture
def policy() -> FlowPolicy:
    torch.manual_seed(0)
    made = FlowPolicy(small_config())
    # A new head answers zero whatever it sees; these weights let every part speak.
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return made.eval()


def batch(count: int, *, task: str = "pick up the milk and place it in the basket") -> dict:
    torch.manual_seed(1)
    return {
        "observation.images.agentview": torch.rand(count, 3, PIXELS, PIXELS),
        "observation.images.wrist": torch.rand(count, 3, PIXELS, PIXELS),
        "observation.state": torch.randn(count, 8),
        "observation.language.tokens": torch.tensor([encode_instruction(task, LIBERO_WORDS, length=20)] * count),
    }


def test_lerobot_finds_the_plugin_by_its_package_and_type() -> None:
    load_plugin("thinktwice.agents.policies.flow")
    assert get_policy_class("thinktwice_flow") is FlowPolicy
    assert isinstance(make_policy_config("thinktwice_flow", device="cpu"), FlowConfig)


def test_it_is_small() -> None:
    camera = PolicyFeature(FeatureType.VISUAL, (3, 96, 96))
    features = {f"observation.images.{name}": camera for name in ("agentview", "wrist")}
    features["observation.state"] = PolicyFeature(FeatureType.STATE, (8,))
    whole = FlowConfig(
        device="cpu", input_features=features, output_features={"action": PolicyFeature(FeatureType.ACTION, (7,))}
    )
    assert sum(parameter.numel() for parameter in FlowPolicy(whole).parameters()) < 10e6


def test_sampling_integrates_the_velocity_field(policy: FlowPolicy) -> None:
    """The sampler computes modulations ahead; plain Euler steps on the public velocity must give the same."""
    with torch.no_grad():
        summary = policy.network.encode_batch(batch(1)).summary
        noise = torch.randn(3, 16, 7)
        sampled = policy.network.sample(summary, noise, steps=5)
        chunks = noise
        for step in range(5):
            time = torch.full((3,), 1 - step / 5)
            chunks = chunks - policy.network.velocity(chunks, time, summary.expand(3, -1)) / 5
        several = policy.network.sample(summary.repeat(3, 1), noise, steps=5)
    torch.testing.assert_close(sampled, chunks, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(several, chunks, atol=1e-5, rtol=1e-5)
    assert (sampled - noise).abs().max() > 1e-3


@pytest.mark.slow
def test_the_network_learns_a_chunk_that_the_language_decides() -> None:
    torch.manual_seed(0)
    policy = FlowPolicy(small_config(chunk_size=2, n_action_steps=1, bfloat16=False))
    words = ("stack the left bowl on the right bowl", "stack the right bowl on the left bowl")
    one, other = batch(16, task=words[0]), batch(16, task=words[1])
    both = {key: torch.cat([one[key], other[key]]) for key in one}
    both["action"] = torch.cat([torch.full((16, 2, 7), 1.0), torch.full((16, 2, 7), -1.0)])
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    for _ in range(120):
        loss, _ = policy.forward(both)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    policy.eval()
    chunks = [policy.predict_action_chunk({k: v[:1] for k, v in seen.items()}, num_steps=5) for seen in (one, other)]
    assert chunks[0].mean() > 0.5
    assert chunks[1].mean() < -0.5


def test_padding_does_not_train(policy: FlowPolicy) -> None:
    seen = batch(2)
    actions = torch.randn(2, 16, 7)
    padding = torch.zeros(2, 16, dtype=torch.bool)
    padding[:, 4:] = True
    losses = []
    for tail in (0.0, 100.0):
        changed = actions.clone()
        changed[:, 4:] = tail
        torch.manual_seed(2)
        seen |= {"action": changed, "action_is_pad": padding}
        # The noise added to padded entries reaches the head's input; its output there must not be judged.
        losses.append(policy.forward(seen)[0].item())
    assert all(math.isfinite(loss) for loss in losses)
    assert losses[1] < 50


def test_noise_and_steps_are_taken_from_the_call(policy: FlowPolicy) -> None:
    seen, noise = batch(2), torch.randn(2, 16, 7)
    first = policy.predict_action_chunk(seen, noise=noise, num_steps=3)
    assert torch.equal(first, policy.predict_action_chunk(seen, noise=noise, num_steps=3))
    assert not torch.equal(first, policy.predict_action_chunk(seen, noise=noise, num_steps=10))
    alone = policy.predict_action_chunk({k: v[:1] for k, v in seen.items()}, noise=noise[:1], num_steps=3)
    torch.testing.assert_close(first[:1], alone, atol=1e-2, rtol=1e-2)


def test_select_action_executes_a_chunk_before_the_next_look(policy: FlowPolicy) -> None:
    noise = torch.randn(1, 16, 7)
    chunk = policy.predict_action_chunk(batch(1), noise=noise)
    policy.reset()
    actions = [policy.select_action(batch(1), noise=noise) for _ in range(8)]
    torch.testing.assert_close(torch.stack(actions, dim=1), chunk[:, :8])
    policy.reset()
    assert torch.equal(policy.select_action(batch(1), noise=noise), chunk[:, 0])


@pytest.mark.parametrize("missing", ["observation.state", "observation.images.agentview"])
def test_features_that_it_cannot_do_without(missing: str) -> None:
    config = small_config()
    kept = {key: value for key, value in config.input_features.items() if key != missing}
    if missing.startswith("observation.images"):
        kept.pop("observation.images.wrist")
    config.input_features = kept
    with pytest.raises(ValueError, match=missing.rsplit(".", maxsplit=1)[0].replace(".", r"\.")):
        FlowPolicy(config)


@pytest.mark.parametrize("settings", [{"n_action_steps": 17}, {"denoising_steps": 0}, {"noise_samples": 0}])
def test_impossible_configurations(settings) -> None:
    with pytest.raises(ValueError, match="must be"):
        small_config(**settings)


def test_the_vocabulary_is_that_of_all_130_instructions() -> None:
    from thinktwice.envs.libero.suites import STEP_CAPS, suite_tasks

    tasks = [task for suite in STEP_CAPS for task in suite_tasks(suite)]
    assert len(tasks) == 130
    words = {word for task in tasks for word in words_of(task.language)}
    assert sorted(words) == list(LIBERO_WORDS)
    rows = [encode_instruction(task.language, LIBERO_WORDS, length=20) for task in tasks]
    assert all(len(row) == 20 and row[0] != PADDING for row in rows)


def test_unknown_and_untrained_words_are_errors() -> None:
    with pytest.raises(UsageError, match=r"'piano' .*Choose from"):
        encode_instruction("pick up the piano", LIBERO_WORDS, length=20)
    with pytest.raises(UsageError, match=r"'stove'"):
        encode_instruction("turn on the stove", LIBERO_WORDS, length=20, trained={"turn", "on", "the"})
    with pytest.raises(UsageError, match="1 to 3 words"):
        encode_instruction("turn on the stove", LIBERO_WORDS, length=3)
    with pytest.raises(UsageError, match="has 0"):
        encode_instruction(" ", LIBERO_WORDS, length=3)
    assert encode_instruction("Turn ON the stove!", LIBERO_WORDS, length=6) == encode_instruction(
        "turn on the stove", LIBERO_WORDS, length=6
    )


def test_one_rotation_has_one_spelling() -> None:
    random = np.random.default_rng(0)
    rotations = Rotation.random(200, rng=random)
    first = torch.from_numpy(rotations.as_rotvec()).float()
    angle = first.norm(dim=1, keepdim=True)
    second = first * (1 - 2 * torch.pi / angle)
    spelled = [
        canonical_rotation(torch.cat([torch.zeros(200, 3), r, torch.ones(200, 2)], dim=1), 3) for r in (first, second)
    ]
    torch.testing.assert_close(spelled[0], spelled[1], atol=1e-3, rtol=1e-3)
    back = Rotation.from_rotvec(spelled[0][:, 3:6].double().numpy())
    assert (back * rotations.inv()).magnitude().max() < 1e-3
    assert (spelled[0][:, 3] >= 0).all()
    assert torch.equal(spelled[0][:, 6:], torch.ones(200, 2))


def test_a_hand_that_looks_down_does_not_jump() -> None:
    """Around a half turn, axis-angle flips its sign between neighbouring poses."""
    down = Rotation.from_euler("x", 180, degrees=True)
    near = [Rotation.from_euler("y", angle, degrees=True) * down for angle in np.linspace(-2, 2, 9)]
    vectors = torch.from_numpy(np.stack([rotation.as_rotvec() for rotation in near])).float()
    spelled = canonical_rotation(vectors, 0)
    assert (spelled[1:] - spelled[:-1]).norm(dim=1).max() < 0.1


def test_the_processors_survive_saving(tmp_path) -> None:
    config = small_config(trained_words=["milk", "the"])
    statistics = {
        "observation.state": {"mean": torch.ones(8), "std": torch.full((8,), 2.0)},
        "action": {"mean": torch.zeros(7), "std": torch.tensor([0.5] * 6 + [1e-4])},
    }
    pre, post = make_pre_post_processors(config, dataset_stats=statistics)
    pre.save_pretrained(tmp_path)
    post.save_pretrained(tmp_path)
    pre, post = make_pre_post_processors(config, pretrained_path=str(tmp_path))
    state = torch.tensor([0.0, 0, 0, 3.0, 0, 0, 0, 0])
    images = {f"observation.images.{name}": torch.zeros(3, PIXELS, PIXELS) for name in ("agentview", "wrist")}
    seen = pre({**images, "observation.state": state, "task": "the milk"})
    torch.testing.assert_close(seen["observation.state"], (state - 1)[None] / 2)
    assert seen["observation.language.tokens"].shape == (1, 20)
    # The floor of the action's deviations is part of the checkpoint.
    torch.testing.assert_close(post(torch.ones(1, 7)), torch.tensor([[0.5] * 6 + [0.1]]))
    with pytest.raises(UsageError, match="bowl"):
        pre({**images, "observation.state": state, "task": "the bowl"})
