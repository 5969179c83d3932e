"""The configuration of the flow-matching policy, as LeRobot's registry knows it: ``--policy.type=thinktwice_flow``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lerobot.configs import NormalizationMode, PreTrainedConfig
from lerobot.optim import AdamWConfig, CosineDecayWithWarmupSchedulerConfig

from .network import Sizes
from .vocabulary import LIBERO_WORDS


@PreTrainedConfig.register_subclass("thinktwice_flow")
@dataclass
class FlowConfig(PreTrainedConfig):
    """A small vision-language-action policy that matches a flow from noise to action chunks.

    LeRobot requires a mutable dataclass here.

    Attributes:
        chunk_size: actions predicted at once.
        n_action_steps: how many of them ``select_action`` executes before the next look.
        denoising_steps: Euler steps from noise to a chunk.
        vocabulary: the words of the instructions, in the order of their tokens.
        trained_words: those that occurred in training; the others are refused too.  None where it is not recorded, as
            by ``lerobot-train``.
        max_words: words of the longest instruction.
        conventions: what the numbers and cameras meant in training (`thinktwice.envs.Conventions` as plain data);
            empty for a checkpoint of ``lerobot-train``, which does not record them.
        rotation_start: where the state's axis-angle rotation begins (3 in LIBERO); None when it has none.
        channels: of the image features.
        blocks: residual blocks of each camera's encoder.
        keypoints: places that each camera's encoder looks at.
        language_width: of the instruction's embedding.
        prefix_width: of the encoded observation.
        head_width: of the action head.
        head_blocks: residual blocks of the action head.
        bfloat16: run the image encoders in bfloat16 (faster on CPUs with AMX or AVX512-BF16, right on all).
        keyframe_weight: weight of foreseeing where the gripper next opens or closes, in training batches that say so.
        noise_samples: noises per encoded observation in training: the head is far cheaper than the encoders.
        action_floor: the least standard deviation that an action entry is divided by, so that entries which hardly
            ever move are not blown up.
        optimizer_lr: for ``lerobot-train``.
        optimizer_weight_decay: for ``lerobot-train``.
    """

    chunk_size: int = 16
    n_action_steps: int = 8
    denoising_steps: int = 10
    vocabulary: list[str] = field(default_factory=lambda: list(LIBERO_WORDS))
    trained_words: list[str] | None = None
    max_words: int = 20
    conventions: dict[str, Any] = field(default_factory=dict[str, Any])
    rotation_start: int | None = 3
    channels: int = 64
    blocks: int = 3
    keypoints: int = 32
    language_width: int = 128
    prefix_width: int = 384
    head_width: int = 384
    head_blocks: int = 5
    bfloat16: bool = True
    keyframe_weight: float = 0.5
    noise_samples: int = 8
    action_floor: float = 0.1
    normalization_mapping: dict[str, NormalizationMode] = field(
        default_factory=lambda: {
            "VISUAL": NormalizationMode.IDENTITY,
            "STATE": NormalizationMode.MEAN_STD,
            "ACTION": NormalizationMode.MEAN_STD,
        }
    )
    optimizer_lr: float = 1e-3
    optimizer_weight_decay: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.n_action_steps <= self.chunk_size:
            raise ValueError(f"n_action_steps must be 1 to {self.chunk_size} (chunk_size), not {self.n_action_steps}")
        if self.denoising_steps < 1 or self.noise_samples < 1:
            raise ValueError("denoising_steps and noise_samples must be at least 1")

    def validate_features(self) -> None:
        """Raise ValueError unless there are cameras, a state and an action."""
        self.sizes()

    def sizes(self) -> Sizes:
        """What the network is built from.

        Raises:
            ValueError: there is no camera, no state or no action.
        """
        state, action = self.robot_state_feature, self.action_feature
        present = {"observation.images.*": self.image_features, "observation.state": state, "action": action}
        if state is None or action is None or not self.image_features:
            missing = ", ".join(name for name, found in present.items() if not found)
            raise ValueError(f"thinktwice_flow needs {missing} among its features")
        return Sizes(
            cameras=tuple(self.image_features),
            state=state.shape[0],
            action=action.shape[0],
            chunk_size=self.chunk_size,
            words=len(self.vocabulary),
            max_words=self.max_words,
            channels=self.channels,
            blocks=self.blocks,
            keypoints=self.keypoints,
            language_width=self.language_width,
            prefix_width=self.prefix_width,
            head_width=self.head_width,
            head_blocks=self.head_blocks,
            bfloat16=self.bfloat16,
        )

    def get_optimizer_preset(self) -> AdamWConfig:
        """What ``lerobot-train`` optimises with."""
        return AdamWConfig(lr=self.optimizer_lr, weight_decay=self.optimizer_weight_decay, betas=(0.9, 0.95))

    def get_scheduler_preset(self) -> CosineDecayWithWarmupSchedulerConfig:
        """How ``lerobot-train`` schedules the learning rate."""
        return CosineDecayWithWarmupSchedulerConfig(
            num_warmup_steps=200,
            num_decay_steps=20_000,
            peak_lr=self.optimizer_lr,
            decay_lr=self.optimizer_lr * 0.03,
        )

    @property
    def observation_delta_indices(self) -> None:
        """The present observation alone."""
        return

    @property
    def action_delta_indices(self) -> list[int]:
        """The present action and those after it."""
        return list(range(self.chunk_size))

    @property
    def reward_delta_indices(self) -> None:
        """No rewards."""
        return
