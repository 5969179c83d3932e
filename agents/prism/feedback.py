"""Which part of a world's text an agent may read that has to look for itself."""

from __future__ import annotations

import re

from ...envs import Observation
from ...errors import ContractError

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_REVEALS = re.compile(r"\byou see\b", re.IGNORECASE)


def plain_feedback(text: str) -> str:
    """A world's text without the sentences that list what is there to be seen.

    >>> plain_feedback("You open the fridge 1. The fridge 1 is open. In it, you see a egg 1, and a pan 2.")
    'You open the fridge 1. The fridge 1 is open.'
    """
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)]
    return " ".join(sentence for sentence in sentences if sentence and not _REVEALS.search(sentence))


def read_choices(observation: Observation) -> tuple[str, ...]:
    """The admissible actions.

    Raises:
        ContractError: the world offers none: it is no text world.
    """
    choices = observation.get("choices")
    if not choices:
        raise ContractError(
            "this agent chooses among admissible actions, and the observation offers none; "
            f"it has {sorted(observation)}. Play it in alfworld or r2r."
        )
    return tuple(choices)
