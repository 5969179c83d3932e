"""The words that the policy knows: those of LIBERO's 130 instructions to begin with, and an error for every other."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ....errors import UsageError, choices

_WORDS = """
alphabet and at back basket bbq between black book both bottle bottom bowl box butter cabinet caddy center cheese
chocolate close compartment cookie cream drawer dressing from front frying in inside it juice ketchup left microwave
middle milk moka mug next of off on open orange pan pick place plate pot pots pudding push put rack ramekin red
right salad sauce shelf soup stack stove table the them to tomato top tray turn under up white wine wooden yellow
"""

LIBERO_WORDS = tuple(_WORDS.split())
"""Every word of the instructions of LIBERO's five suites, sorted.  A test compares it with them."""

PADDING = 0
"""The token of no word; the vocabulary's words are 1, 2, …"""

_WORD = re.compile(r"[a-z0-9]+")


def words_of(text: str) -> list[str]:
    """The words of an instruction in order; case and punctuation do not matter.

    >>> words_of("Pick up the milk.")
    ['pick', 'up', 'the', 'milk']
    """
    return _WORD.findall(text.lower())


def encode_instruction(
    text: str, vocabulary: Sequence[str], *, length: int, trained: Collection[str] | None = None
) -> list[int]:
    """The instruction as tokens, padded to a length.

    Args:
        text: the instruction.
        vocabulary: the known words in the order of their tokens.
        length: how many tokens to return.
        trained: the words that occurred in training; None to accept the whole vocabulary.

    Raises:
        UsageError: a word is unknown, there is none, or there are more than ``length``.
    """
    tokens = {word: token for token, word in enumerate(vocabulary, start=1) if trained is None or word in trained}
    words = words_of(text)
    for word in words:
        if word not in tokens:
            raise UsageError(
                f"the policy was not trained with the word {word!r} of the instruction {text!r}. "
                f"{choices(word, sorted(tokens), limit=200)}"
            )
    if not words or len(words) > length:
        raise UsageError(f"an instruction must have 1 to {length} words, and {text!r} has {len(words)}.")
    return [tokens[word] for word in words] + [PADDING] * (length - len(words))
