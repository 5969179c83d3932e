"""N candidates from one prefix, on LeRobot's real π0, π0.5 and SmolVLA classes with random weights, small."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from thinktwice.agents.policies.candidates import candidate_noise
from thinktwice.agents.policies.lerobot_samplers import SeededSampler, make_sampler
from thinktwice.agents.policies.random_vlas import build_random_vla, random_observation
from thinktwice.agents.policies.shared_prefix import FAMILIES, SharedPrefixSampler, fan_out

TOLERANCE = 2e-5
"""Float32 at another batch size rounds differently; chunks here are about 3."""


@pytest.fixture(scope="module", params=FAMILIES)
def vla(request: pytest.FixtureRequest) -> Any:
    return build_random_vla(request.param, "tiny")


def test_candidates_of_one_prefix_equal_separate_calls_with_the_same_noises(vla: Any) -> None:
    observation = random_observation(vla)
    shared, cost = make_sampler(vla).sample(observation, 5, seed=3)
    shape = (vla.config.chunk_size, vla.config.max_action_dim)
    for index in range(5):
        vla.reset()
        noise = torch.from_numpy(candidate_noise(3, index, shape))[None]
        with torch.inference_mode():
            alone = vla.predict_action_chunk(dict(observation), noise=noise)
        torch.testing.assert_close(shared[index], alone[0], atol=TOLERANCE, rtol=0)
    assert (shared[0] - shared[1]).abs().max() > 100 * TOLERANCE
    assert (cost.prefix_passes, cost.denoising_steps, cost.candidates) == (1, 15, 5)


def test_more_candidates_change_nothing_and_what_was_seen_before_changes_nothing(vla: Any) -> None:
    sampler = make_sampler(vla)
    one, _ = sampler.sample(random_observation(vla), 1, seed=7)
    sampler.sample(random_observation(vla, seed=1), 2, seed=8)
    many, _ = sampler.sample(random_observation(vla), 18, seed=7)
    assert torch.equal(one, many[:1])
    other, _ = sampler.sample(random_observation(vla, seed=1), 1, seed=7)
    assert not torch.allclose(one, other, atol=TOLERANCE, rtol=0)


def test_the_observation_is_encoded_once(vla: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []
    embed_prefix = vla.model.embed_prefix
    monkeypatch.setattr(vla.model, "embed_prefix", lambda *args, **kw: encoded.append(1) or embed_prefix(*args, **kw))
    make_sampler(vla).sample(random_observation(vla), 16, seed=0)
    assert len(encoded) == 1


def test_the_policy_is_left_as_it_was_also_after_an_error(vla: Any) -> None:
    with pytest.raises(RuntimeError, match="on purpose"), fan_out(vla.model, [(0, 2)]):
        raise RuntimeError("on purpose")
    assert "denoise_step" not in vars(vla.model)


def test_a_compiled_model_is_sampled_one_by_one(vla: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_sampler(vla), SharedPrefixSampler)
    monkeypatch.setattr(vla.config, "compile_model", True)
    assert isinstance(make_sampler(vla), SeededSampler)
