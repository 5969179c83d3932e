"""A trained checkpoint in half the bytes, as the repository keeps its own.

    python -m thinktwice.agents.training.publish training/flow/policy agents/weights/flow

Weights are stored in float16 and computed with in float32, as before.  The files beside them are copied, and the model
card names the digest of what is stored.  Evaluate what this wrote: it is another checkpoint, if only in the last bits.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import sys
from pathlib import Path

import tyro

from ...errors import ThinkTwiceError, UsageError
from ..policies.flow.loading import load_flow
from ..policies.lerobot_checkpoint import CONFIG
from .report import CARD

_WEIGHTS = "model.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Options of publishing."""

    checkpoint: tyro.conf.Positional[Path]
    """The folder ``policy/`` of a training run."""
    out: tyro.conf.Positional[Path]
    """Where to: replaced when it is there."""
    steps: int | None = None
    """Euler steps per candidate from now on, chosen on tuning states; as in training when not given."""


def publish(checkpoint: Path, out: Path, *, steps: int | None = None) -> Path:
    """Write the smaller checkpoint.

    Args:
        checkpoint: of the bundled policy's kind.
        out: a folder, replaced when it is there.
        steps: Euler steps per candidate from now on; as in training when None.

    Returns:
        ``out``.

    Raises:
        WeightsError: the checkpoint is damaged, is of another kind, or has a weight that float16 cannot hold.
        UsageError: the folders are the same one, or ``steps`` is less than 1.
    """
    from safetensors.torch import load_file, save_file

    if checkpoint.resolve() == out.resolve():
        raise UsageError(f"{out} cannot be replaced by itself; name another folder.")
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, got {steps}.")
    load_flow(checkpoint, device="cpu")
    temporary = out.with_name(f".partial-{out.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.copytree(checkpoint, temporary)
    weights = temporary / _WEIGHTS
    whole = load_file(weights)
    save_file({name: value.half() if value.is_floating_point() else value for name, value in whole.items()}, weights)
    if steps is not None:
        config = json.loads((temporary / CONFIG).read_text(encoding="utf-8"))
        write = json.dumps({**config, "denoising_steps": steps}, indent=4)
        (temporary / CONFIG).write_text(write + "\n", encoding="utf-8")
    # Loading checks that every weight is finite, which one beyond float16's range is no longer.
    load_flow(temporary, device="cpu")
    card = temporary / CARD
    if card.is_file():
        digests = [hashlib.sha256((folder / _WEIGHTS).read_bytes()).hexdigest() for folder in (checkpoint, temporary)]
        card.write_text(card.read_text().replace(f"`{digests[0]}`", f"`{digests[1]}`, float16 of `{digests[0]}`"))
    shutil.rmtree(out, ignore_errors=True)
    temporary.rename(out)
    return out


def main() -> int:
    """The command; 2 when something is wrong."""
    options = tyro.cli(PublishOptions, description=__doc__)
    try:
        sys.stdout.write(f"wrote {publish(options.checkpoint, options.out, steps=options.steps)}\n")
    except ThinkTwiceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
