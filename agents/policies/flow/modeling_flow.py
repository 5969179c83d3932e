"""The flow-matching policy as LeRobot calls it; numbers are normalised, see ``processor_flow``."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch
from lerobot.policies.pretrained import PreTrainedPolicy
from lerobot.utils.constants import ACTION
from torch import Tensor
from torch.nn import functional

from .configuration_flow import FlowConfig
from .network import FlowNetwork

ACTION_PADDING = "action_is_pad"
"""LeRobot's key of the mask ``bool[B, T]``: True where a chunk reaches beyond its episode.

Our trainer also sets it where an expert's label answers to something that could not be foreseen."""


KEYFRAME = "keyframe"
"""Our trainer's key of ``float32[B, 3]``: from the hand to where the gripper next opens or closes, in decimetres."""


class FlowPolicy(PreTrainedPolicy):
    """A small flow-matching vision-language-action policy.

    Args:
        config: sizes and features.
        kwargs: what LeRobot's factory hands to every policy (data set statistics and metadata); not needed here.
    """

    config_class = FlowConfig  # pyright: ignore[reportAssignmentType]  LeRobot annotates it as None
    name = "thinktwice_flow"  # pyright: ignore[reportAssignmentType]  LeRobot annotates it as None

    def __init__(self, config: FlowConfig, **kwargs: Any) -> None:  # noqa: ARG002  LeRobot's factory passes more
        super().__init__(config)
        self.config: FlowConfig = config
        self.network = FlowNetwork(config.sizes())
        self._queue: deque[Tensor] = deque()

    def get_optim_params(self) -> Any:
        """All parameters, with one learning rate."""
        return self.parameters()

    def reset(self) -> None:
        """Forget the rest of the chunk that ``select_action`` was executing."""
        self._queue.clear()

    def forward(self, batch: dict[str, Any]) -> tuple[Tensor, dict[str, float]]:
        """The flow-matching loss.

        Args:
            batch: as the pre-processor made it, with ``action`` ``float32[B, T, A]`` and perhaps `ACTION_PADDING` and
                `KEYFRAME`.

        Returns:
            The mean squared error of the velocity over what is not padding, in training with the weighted error of the
            foreseen keyframe, and its parts as floats.
        """
        actions: Tensor = batch[ACTION]
        kept = (
            ~batch[ACTION_PADDING] if ACTION_PADDING in batch else torch.ones_like(actions[:, :, 0], dtype=torch.bool)
        )
        repeats = self.config.noise_samples
        encoded = self.network.encode_batch(batch).summary
        summary = encoded.repeat_interleave(repeats, dim=0)
        actions = actions.repeat_interleave(repeats, dim=0)
        kept = kept.repeat_interleave(repeats, dim=0)[:, :, None]
        noise = torch.randn_like(actions)
        time = torch.rand(len(actions), device=actions.device)
        mixed = time[:, None, None] * noise + (1 - time[:, None, None]) * actions
        with torch.autocast(actions.device.type, dtype=torch.bfloat16, enabled=self.config.bfloat16):
            velocity = self.network.velocity(mixed, time, summary)
        error = functional.mse_loss(velocity.float(), noise - actions, reduction="none")
        loss = (error * kept).sum() / (kept.sum() * actions.shape[-1]).clamp(min=1)
        parts = {"loss": loss.item()}
        if self.training and self.config.keyframe_weight and KEYFRAME in batch:
            aim = functional.smooth_l1_loss(self.network.keyframe(encoded), batch[KEYFRAME])
            loss = loss + self.config.keyframe_weight * aim
            parts["keyframe"] = aim.item()
        return loss, parts

    def predict_action_chunk(self, batch: dict[str, Any], **kwargs: Any) -> Tensor:
        """One chunk per observation.

        Args:
            batch: as the pre-processor made it.
            kwargs: ``noise`` ``float32[B, T, A]``, drawn when missing, and ``num_steps``, by default the
                configuration's ``denoising_steps``.

        Returns:
            ``float32[B, T, A]``, normalised.
        """
        steps = kwargs.get("num_steps") or self.config.denoising_steps
        with torch.no_grad():
            prefix = self.network.encode_batch(batch)
            noise = kwargs.get("noise")
            if noise is None:
                noise = torch.randn(len(prefix.summary), *self.network.chunk_shape, device=prefix.summary.device)
            return self.network.sample(prefix.summary, noise, steps=steps)

    def select_action(self, batch: dict[str, Any], **kwargs: Any) -> Tensor:
        """The next action ``float32[B, A]`` of the present chunk; a new chunk when ``n_action_steps`` are done."""
        if not self._queue:
            chunk = self.predict_action_chunk(batch, **kwargs)[:, : self.config.n_action_steps]
            self._queue.extend(chunk.transpose(0, 1))
        return self._queue.popleft()
