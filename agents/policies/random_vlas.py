"""LeRobot's real π0, π0.5 and SmolVLA classes with random weights, built offline: for tests and to measure cost.

What such a policy does is meaningless; its code, shapes and cost are the real ones.  ``full`` has the published sizes,
``tiny`` is small enough for a test.  The published configurations and tokenisers of the language models behind them
live on a hub, so the sizes stand here: PaliGemma's come from LeRobot itself, SmolVLM2's from its model card
(``HuggingFaceTB/SmolVLM2-500M-Video-Instruct``, ``config.json``).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, Literal
from unittest import mock

type Kind = Literal["pi0", "pi05", "smolvla"]
type Size = Literal["tiny", "full"]

_TOKENS = 12
_TINY_VOCABULARY = 64
_SMOLVLM: dict[str, dict[str, Any]] = {
    "full": {
        "text_config": {
            "model_type": "llama",
            "hidden_size": 960,
            "intermediate_size": 2560,
            "num_hidden_layers": 32,
            "num_attention_heads": 15,
            "num_key_value_heads": 5,
            "head_dim": 64,
            "vocab_size": 49280,
        },
        "vision_config": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 512},
        "scale_factor": 4,
    },
    "tiny": {
        "text_config": {
            "model_type": "llama",
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "vocab_size": _TINY_VOCABULARY,
        },
        "vision_config": {
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 64,
        },
        "scale_factor": 2,
    },
}


def build_random_vla(kind: Kind, size: Size, *, device: str = "cpu", bfloat16: bool = False, seed: int = 0) -> Any:
    """A ``PreTrainedPolicy`` in evaluation mode with random weights.

    It reads two cameras, ``observation.images.agentview`` and ``.wrist``, an 8-dimensional state and words, and gives
    7-dimensional actions, as in LIBERO.

    Args:
        kind: the family.
        size: ``full`` for the published sizes (π0 and π0.5 have over three billion parameters), ``tiny`` for tests.
        device: torch device to build it on.
        bfloat16: in this precision rather than float32.
        seed: of the weights.
    """
    import torch
    from lerobot.configs.types import FeatureType, PolicyFeature

    pixels = 224 if size == "full" else 28
    visual = PolicyFeature(type=FeatureType.VISUAL, shape=(3, pixels, pixels))
    features: dict[str, Any] = {
        "input_features": {
            "observation.images.agentview": visual,
            "observation.images.wrist": visual,
            "observation.state": PolicyFeature(type=FeatureType.STATE, shape=(8,)),
        },
        "output_features": {"action": PolicyFeature(type=FeatureType.ACTION, shape=(7,))},
        "device": device,
    }
    if size == "tiny":
        features |= {"chunk_size": 6, "n_action_steps": 6, "max_state_dim": 10, "max_action_dim": 9}
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(seed)
        policy = _smolvla(size, features) if kind == "smolvla" else _pi(kind, size, features, bfloat16=bfloat16)
        if bfloat16 and kind == "smolvla":
            policy.model.vlm_with_expert.to(torch.bfloat16)  # LeRobot loads its language model so
    return policy.to(device).eval()


def random_observation(policy: Any, *, seed: int = 0) -> dict[str, Any]:
    """What a pre-processor would give such a policy for one look: noise of the right shapes, batch size one."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    config = policy.config
    batch = {key: torch.rand(1, *feature.shape, generator=generator) for key, feature in config.input_features.items()}
    tokens = torch.randint(0, _TINY_VOCABULARY, (1, _TOKENS), generator=generator)
    present = torch.arange(_TOKENS)[None] < _TOKENS - 2  # padded, as most instructions are
    batch |= {"observation.language.tokens": tokens, "observation.language.attention_mask": present}
    return {key: value.to(config.device) for key, value in batch.items()}


def _pi(kind: Kind, size: Size, features: dict[str, Any], *, bfloat16: bool) -> Any:
    from lerobot.policies.factory import get_policy_class, make_policy_config

    features["dtype"] = "bfloat16" if bfloat16 else "float32"
    if size == "tiny":
        features |= {"image_resolution": (28, 28), "num_inference_steps": 3}
    policy_class: Any = get_policy_class(kind)
    module = sys.modules[policy_class.__module__]
    with _small_gemma(module) if size == "tiny" else contextlib.nullcontext():
        return policy_class(make_policy_config(kind, **features))


@contextlib.contextmanager
def _small_gemma(module: Any) -> Generator[None]:
    """LeRobot fixes the sizes of PaliGemma in its code; while this lasts it builds the same classes smaller."""
    vlm = module.GemmaConfig(width=32, depth=2, mlp_dim=32, num_heads=8, num_kv_heads=1, head_dim=16)
    expert = module.GemmaConfig(width=16, depth=2, mlp_dim=16, num_heads=8, num_kv_heads=1, head_dim=16)
    paligemma, mapping = module.PaliGemmaForConditionalGenerationWithPiGemma, module.CONFIG_MAPPING

    def small_vision(config: Any) -> Any:
        vision, text = config.vision_config, config.text_config
        vision.hidden_size, vision.intermediate_size, vision.num_hidden_layers = 16, 16, 1
        vision.num_attention_heads, vision.projection_dim = 2, text.hidden_size
        text.vocab_size = _TINY_VOCABULARY
        return paligemma(config)

    def small_gemma(**sizes: Any) -> Any:
        return mapping["gemma"](**sizes | {"vocab_size": _TINY_VOCABULARY})

    with mock.patch.multiple(
        module,
        get_gemma_config=lambda variant: vlm if variant == "gemma_2b" else expert,
        PaliGemmaForConditionalGenerationWithPiGemma=small_vision,
        CONFIG_MAPPING={"paligemma": mapping["paligemma"], "gemma": small_gemma},
    ):
        yield


def _smolvla(size: Size, features: dict[str, Any]) -> Any:
    from lerobot.policies.smolvla import smolvlm_with_expert as module
    from lerobot.policies.smolvla.configuration_smolvla import SmolVLAConfig
    from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy
    from transformers import SmolVLMConfig

    if size == "tiny":
        features |= {"num_vlm_layers": 2, "num_steps": 3, "resize_imgs_with_padding": (64, 64)}
    config = SmolVLMConfig(**_SMOLVLM[size])
    tokens = SimpleNamespace(fake_image_token_id=1, global_image_token_id=2)
    with (
        mock.patch.object(module.AutoConfig, "from_pretrained", return_value=config),
        mock.patch.object(module.AutoProcessor, "from_pretrained", return_value=SimpleNamespace(tokenizer=tokens)),
    ):
        return SmolVLAPolicy(SmolVLAConfig(**features))
