"""The fixed policy: a small ACT with random weights, saved as LeRobot saves it."""

from __future__ import annotations

from pathlib import Path

SIZES = {
    "chunk_size": 16,
    "n_action_steps": 8,
    "dim_model": 128,
    "n_heads": 4,
    "dim_feedforward": 256,
    "n_encoder_layers": 2,
    "n_vae_encoder_layers": 2,
}
"""It looks once in 8 steps, as the vision-language-action models do that LIBERO is used for."""


def save_act(folder: Path, *, pixels: int) -> Path:
    """Save the policy, with the seed 0.

    Args:
        folder: a new one.
        pixels: of its two images.
    """
    import torch
    from lerobot.configs import FeatureType, PolicyFeature
    from lerobot.policies.factory import get_policy_class, make_policy_config, make_pre_post_processors

    image = PolicyFeature(type=FeatureType.VISUAL, shape=(3, pixels, pixels))
    inputs = {
        "observation.images.image": image,
        "observation.images.image2": image,
        "observation.state": PolicyFeature(type=FeatureType.STATE, shape=(8,)),
    }
    outputs = {"action": PolicyFeature(type=FeatureType.ACTION, shape=(7,))}
    torch.manual_seed(0)
    config = make_policy_config(
        "act",
        device="cpu",
        input_features=inputs,
        output_features=outputs,
        pretrained_backbone_weights=None,
        push_to_hub=False,
        **SIZES,
    )
    policy = get_policy_class(config.type)(config)
    statistics = {}
    for name, feature in {**inputs, **outputs}.items():
        shape = (3, 1, 1) if len(feature.shape) == 3 else feature.shape
        # Small actions: an arm that keeps close to where it began meets the same physics in every runner.
        std = torch.full(shape, 0.3 if name == "action" else 1.0)
        statistics[name] = {"mean": torch.zeros(shape), "std": std}
    for part in (policy, *make_pre_post_processors(config, dataset_stats=statistics)):
        part.save_pretrained(folder)
    return folder
