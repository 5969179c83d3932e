"""``thinktwice train policy …`` and ``train critic …``: finds the kind of model that is to be trained."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import cast

from ..errors import UsageError, choices

KINDS: Mapping[str, tuple[str, str]] = {
    "policy": (".train_policy", "the flow-matching policy, from demonstrations"),
    "critic": (".train_critic", "a critic that picks among a policy's candidates, from preference pairs"),
}
"""Kind, then module and one line for the help."""


def main(arguments: Sequence[str]) -> int:
    """Train what the first argument names.

    Raises:
        UsageError: it names nothing that can be trained.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        listed = "\n".join(f"  {name:<8} {summary}" for name, (_, summary) in KINDS.items())
        sys.stdout.write(
            f"usage: thinktwice train KIND [options]\n\n{listed}\n\nthinktwice train KIND --help says more.\n"
        )
        return 0
    if arguments[0] not in KINDS:
        raise UsageError(f"there is no model {arguments[0]!r} to train. {choices(arguments[0], KINDS)}")
    module = importlib.import_module(KINDS[arguments[0]][0], __package__)
    return cast("int", module.main(arguments[1:]))
