"""A trained checkpoint in half the bytes, as the repository keeps its own.

    python -m thinktwice.agents.training.publish training/flow/policy agents/weights/flow

Weights are stored in float16 and computed with in float32, as before.  The files beside them are copied, and the model
card names the digest of what is stored.  Evaluate what this wrote: it is another checkpoint, if only in the last bits.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import sys
from pathlib import Path

import tyro

from ...errors import ThinkTwiceError, UsageError
from ..policies.bundled import load_flow
from .report import CARD

_WEIGHTS = "model.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Options of publishing."""

    checkpoint: tyro.conf.Positional[Path]
    """The folder ``policy/`` of a training run."""
    out: tyro.conf.Positional[Path]
    """Where to: replaced when it is there."""


def publish(checkpoint: Path, out: Path) -> Path:
    """Write the smaller checkpoint.

    Args:
        checkpoint: of the bundled policy's kind.
        out: a folder, replaced when it is there.

    Returns:
        ``out``.

    Raises:
        WeightsError: the checkpoint is damaged, is of another kind, or has a weight that float16 cannot hold.
        UsageError: the folders are the same one.
    """
    from safetensors.torch import load_file, save_file

    if checkpoint.resolve() == out.resolve():
        raise UsageError(f"{out} cannot be replaced by itself; name another folder.")
    load_flow(checkpoint, device="cpu")
    temporary = out.with_name(f".partial-{out.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.copytree(checkpoint, temporary)
    weights = temporary / _WEIGHTS
    whole = load_file(weights)
    save_file({name: value.half() if value.is_floating_point() else value for name, value in whole.items()}, weights)
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
        sys.stdout.write(f"wrote {publish(options.checkpoint, options.out)}\n")
    except ThinkTwiceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
