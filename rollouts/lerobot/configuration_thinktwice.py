"""The configuration of an agent as a LeRobot policy: ``--policy.type=thinktwice``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lerobot.configs import PreTrainedConfig

from ...errors import UsageError


@PreTrainedConfig.register_subclass("thinktwice")
@dataclass
class ThinktwiceConfig(PreTrainedConfig):
    """Any agent of this library, which requires a mutable dataclass here.

    Attributes:
        agent: its name, such as ``attc``.
        options: its options as ``thinktwice rollout`` takes them, such as
            ``--policy bundled:FOLDER --gate always --selector medoid --candidates 16``.
        world: the world whose observations it is given, such as ``libero_object``.
        world_options: the world's options; images' sizes are the environment's where they are not given.
        cameras: which of the world's cameras the environment's images are, where their names differ:
            ``image=agentview:mirrored,image2=wrist:mirrored`` for LeRobot's own LIBERO.
        seed: of the episodes of environments that do not say their seed; ours do.
        device: where LeRobot puts its batches.  The agent's networks choose for themselves (``?device=…``).
    """

    agent: str = "reflex"
    options: str = ""
    world: str = "libero_object"
    world_options: str = ""
    cameras: str = ""
    seed: int = 0
    device: str | None = "cpu"

    def validate_features(self) -> None:
        """The agent and the environment are compared when the policy is built."""

    def get_optimizer_preset(self) -> Any:
        """Refused: LeRobot cannot train an agent.

        Raises:
            UsageError: always.
        """
        raise UsageError("LeRobot cannot train an agent; train the policy it acts by (thinktwice train policy).")

    def get_scheduler_preset(self) -> None:
        """None, since it is not trained."""
        return

    @property
    def observation_delta_indices(self) -> None:
        """The present observation alone."""
        return

    @property
    def action_delta_indices(self) -> None:
        """No labels: it is not trained."""
        return

    @property
    def reward_delta_indices(self) -> None:
        """No rewards."""
        return
