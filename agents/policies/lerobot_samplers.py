"""How each family of LeRobot policies draws N candidate chunks: one class per way of sampling.

Each candidate has its own seed, derived from the call's and the candidate's place, and its own forward pass at batch
size one.  So the first ``m`` of ``n`` candidates are bit for bit those of a call with ``m``, where a batched matrix
product would round differently.  π0, π0.5 and SmolVLA encode the observation once instead: `shared_prefix`.
``predict_action_chunk`` is called, never the queueing ``select_action``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...cost import Cost
from ...envs import derive_seed
from ...errors import WeightsError
from .shared_prefix import FAMILIES, SharedPrefixSampler

if TYPE_CHECKING:
    from torch import Tensor

_DETERMINISTIC = ("act",)
"""ACT decodes from a zero latent at inference (policies/act/modeling_act.py): it has one chunk for one observation."""

_QUEUED = ("vqbet", "multi_task_dit")
"""Their ``predict_action_chunk`` reads the observation queues that ``select_action`` fills."""

_REFUSED = {
    "tdmpc": "it plans from its own previous plan, so a chunk is no function of the observation",
    "lingbot_va": "it carries video latents from one chunk to the next",
    "gaussian_actor": "it gives single actions, not chunks",
}


class Sampler(Protocol):
    """Draws candidates from one prepared observation."""

    def sample(self, batch: dict[str, Any], n: int, *, seed: int) -> tuple[Tensor, Cost]:
        """``float[n, T, A]`` in the policy's normalised units, and what drawing them cost.

        Args:
            batch: what the checkpoint's pre-processor gave: tensors of batch size one.
            n: how many.
            seed: equal seeds give equal candidates; torch's global generators are left as they were.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Plain data for the record."""
        ...


def make_sampler(policy: Any) -> Sampler:
    """The sampler of a policy's family.

    Raises:
        WeightsError: the policy keeps state between chunks or has no chunks.
    """
    kind = policy.config.type
    if kind in _REFUSED:
        raise WeightsError(f"a {kind!r} checkpoint cannot be used here: {_REFUSED[kind]}.")
    if kind in _DETERMINISTIC:
        return DeterministicSampler(policy)
    if kind in FAMILIES and not policy.config.compile_model:
        return SharedPrefixSampler(policy, steps=_denoising_steps(policy))
    return SeededSampler(policy, queued=kind in _QUEUED)


class DeterministicSampler:
    """One forward pass; all N candidates are equal, because the policy has one answer.

    Args:
        policy: a ``PreTrainedPolicy`` in evaluation mode.
    """

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def sample(self, batch: dict[str, Any], n: int, *, seed: int) -> tuple[Tensor, Cost]:  # noqa: ARG002  # the contract
        """The one chunk, ``n`` times, for one pass."""
        import torch

        with torch.inference_mode():
            chunk = self._policy.predict_action_chunk(dict(batch))
        return chunk.expand(n, *chunk.shape[1:]), Cost(prefix_passes=1, candidates=n)

    def describe(self) -> dict[str, Any]:
        """Kind, and that candidates do not differ."""
        return {"kind": "deterministic", "note": "all candidates of one observation are equal"}


class SeededSampler:
    """One forward pass per candidate under torch generators seeded for that candidate.

    This covers every policy that draws its noise from torch's global generators, also those that draw again in each
    denoising step (DDPM), where handing over the initial noise would not be enough.

    Args:
        policy: a ``PreTrainedPolicy`` in evaluation mode.
        queued: fill its observation queues before each pass.
    """

    def __init__(self, policy: Any, *, queued: bool) -> None:
        self._policy = policy
        self._queued = queued
        self._steps = _denoising_steps(policy)

    def sample(self, batch: dict[str, Any], n: int, *, seed: int) -> tuple[Tensor, Cost]:
        """``n`` independent draws."""
        import torch

        chunks: list[Tensor] = []
        for index in range(n):
            with torch.inference_mode(), torch.random.fork_rng(devices=range(torch.cuda.device_count())):
                torch.manual_seed(derive_seed(seed, index))
                self._policy.reset()
                chunks.append(self._policy.predict_action_chunk(self._inputs(batch)))
        return torch.cat(chunks), Cost(prefix_passes=n, denoising_steps=n * self._steps, candidates=n)

    def _inputs(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A copy, because policies write into their batch; stacked along a time axis where the family expects one."""
        import torch
        from lerobot.policies.utils import populate_queues
        from lerobot.utils.constants import ACTION, OBS_IMAGES, OBS_PREFIX

        config = self._policy.config
        inputs = {key: value for key, value in batch.items() if key != ACTION}  # the pre-processor puts None there
        if self._queued:
            if config.image_features:
                inputs[OBS_IMAGES] = torch.stack([batch[key] for key in config.image_features], dim=-4)
            self._policy._queues = populate_queues(self._policy._queues, inputs)
        elif config.type == "diffusion":
            for key, value in batch.items():
                if key.startswith(OBS_PREFIX):
                    inputs[key] = value.unsqueeze(1).expand(-1, config.n_obs_steps, *value.shape[1:])
        return inputs

    def describe(self) -> dict[str, Any]:
        """Kind and denoising steps per candidate."""
        return {"kind": "seeded", "denoising_steps": self._steps}


def _denoising_steps(policy: Any) -> int:
    """Integration steps per candidate; 0 where the policy has no denoiser or does not say."""
    config = policy.config
    names = ("num_inference_steps", "num_steps", "num_inference_timesteps", "num_integration_steps")
    for name in names:
        steps = getattr(config, name, None)
        if isinstance(steps, int):
            return steps
    steps = getattr(config, "num_train_timesteps", 0)  # diffusion without num_inference_steps runs all of them
    return steps if isinstance(steps, int) else 0
