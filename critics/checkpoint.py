"""A critic on disk: ``critic.json`` and ``critic.safetensors``, no pickle, bound to one policy checkpoint."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import WeightsError
from .learned import Binding, LearnedCritic
from .spec import CriticSpec

if TYPE_CHECKING:
    from .network import CriticNetwork

FORMAT = 1
CONFIG, WEIGHTS = "critic.json", "critic.safetensors"


def save_critic(network: CriticNetwork, folder: Path, *, binding: Binding) -> LearnedCritic:
    """Write a critic; each file appears whole or not at all.

    Args:
        network: trained.
        folder: made when missing.
        binding: where it comes from; the weights' hash is filled in.

    Returns:
        The critic as it would be loaded.

    Raises:
        WeightsError: a weight is not finite, or the files cannot be written.
    """
    from safetensors.torch import save

    _check_finite(network, folder)
    weights = save({name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()})
    digest = hashlib.sha256(weights).hexdigest()
    bound = Binding(
        policy_sha256=binding.policy_sha256, policy=binding.policy, sha256=digest, training=binding.training
    )
    config = {
        "format": FORMAT,
        "spec": network.spec.to_json(),
        "policy": bound.policy,
        "policy_sha256": bound.policy_sha256,
        "sha256": digest,
        "training": dict(bound.training),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in ((WEIGHTS, weights), (CONFIG, (json.dumps(config, indent=2) + "\n").encode())):
            temporary = folder / f".partial-{name}"
            temporary.write_bytes(content)
            temporary.replace(folder / name)
    except OSError as error:
        raise WeightsError(f"the critic cannot be written into {folder}: {error.strerror or error}.") from error
    return LearnedCritic(network.eval(), bound)


def load_critic(path: str | Path, policy_sha256: str | None, *, device: str = "cpu") -> LearnedCritic:
    """Load a critic for a policy.

    Args:
        path: the folder that `save_critic` wrote.
        policy_sha256: of the weights of the policy whose candidates it shall judge, as the policy's ``describe`` gives
            it; None for a policy without weights.
        device: torch device.

    Raises:
        WeightsError: a file is missing, truncated or of another checkpoint, a weight is missing or not finite, or the
            critic was trained on another policy's candidates.
    """
    folder = Path(path).expanduser()
    config = _read_config(folder)
    if config["policy_sha256"] != policy_sha256:
        raise WeightsError(
            f"the critic in {folder} judges candidates of {config['policy']!r} with weights "
            f"{_short(config['policy_sha256'])}, and this policy's weights are {_short(policy_sha256)}. A critic knows "
            "the mistakes of one checkpoint: train one for this policy (thinktwice train critic), or use that policy."
        )
    return open_critic(folder, device=device)


def open_critic(folder: Path, *, device: str = "cpu") -> LearnedCritic:
    """Load a critic whatever policy it belongs to, to look at it.  To use it, call `load_critic`.

    Raises:
        WeightsError: as `load_critic`, the policy aside.
    """
    config = _read_config(folder)
    spec = CriticSpec.from_json(config["spec"])
    tensors = _read_weights(folder / WEIGHTS, config["sha256"])
    import torch

    from .network import CriticNetwork

    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        network = CriticNetwork(spec)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise WeightsError(f"{folder / WEIGHTS} does not fit {CONFIG}: {_brief(error)}") from error
    _check_finite(network, folder)
    binding = Binding(
        policy_sha256=config["policy_sha256"],
        policy=config["policy"],
        sha256=config["sha256"],
        training=config["training"],
    )
    return LearnedCritic(network.to(device).eval(), binding)


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise WeightsError(f"there is no critic in {folder}: it has no {CONFIG}. Train one: thinktwice train critic.")
    try:
        config = json.loads(path.read_text())
        form = config["format"]
        missing = [name for name in ("spec", "policy", "policy_sha256", "sha256", "training") if name not in config]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"{path} is truncated or describes no critic: {error}.") from error
    if form != FORMAT:
        raise WeightsError(f"{path} has critic format {form!r}; this version reads {FORMAT}.")
    if missing:
        raise WeightsError(f"{path} lacks {', '.join(missing)}.")
    return config


def _read_weights(path: Path, digest: str) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        content = path.read_bytes()
        tensors = load(content)
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{path} is missing, truncated or no safetensors file: {_brief(error)}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise WeightsError(
            f"{path} has the hash {_short(found)} and {CONFIG} names {_short(digest)}: the files are of different "
            "critics. Copy the whole folder again."
        )
    return tensors


def _check_finite(network: CriticNetwork, folder: Path) -> None:
    broken = [name for name, value in network.state_dict().items() if not bool(value.isfinite().all())]
    if broken:
        raise WeightsError(
            f"the critic of {folder} holds weights that are not finite (NaN or infinity), in {broken[0]!r} and "
            f"{len(broken)} in all."
        )


def _short(digest: str | None) -> str:
    return "none" if digest is None else f"{digest[:12]}…"


def _brief(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
