"""The scene VLM: an embedded stand-in for a vision-language model, for tests and for trying things offline.

It sees only what the rendered image shows.  Its description leaves out a seeded part of the small things, and its
answers reveal anything that is visible; it can be told to hallucinate.  So asking helps by construction: a figure
made with it tests the mechanism of an agent and is no evidence for how well the agent works with a real model.
Its "tokens" are words.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..cost import Cost, Stopwatch
from ..envs import Observation, derive_seed
from ..errors import ConfigError
from .llm import Utterance

LIMITS = (
    "embedded scene VLM: sees the segmentation of the rendered image, drops small things from its description by "
    "design and reveals them when asked, so asking helps by construction; a mechanism test, not evidence"
)
"""Printed with every figure that it makes."""

_SMALL, _MEDIUM = 0.004, 0.015
"""Shares of the image below which a thing counts as small, and as medium."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """A thing that an image shows.

    Attributes:
        kind: such as ``"mug"``.
        share: of the image's pixels, in [0, 1].
        furniture: whether it is furniture, which no description leaves out.
        state: ``"open"``, ``"held"`` or empty.
        where: the direction in which it is seen, such as ``"towards go 1"``; empty where the view has only one.
    """

    kind: str
    share: float
    furniture: bool = False
    state: str = ""
    where: str = ""


type Glimpse = Callable[[Observation], Sequence[Seen]]
"""What an observation's image shows.  It raises `ContractError` when it does not know the observation."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SceneVlmOptions:
    """How well the scene VLM sees.

    Attributes:
        miss: the probability that a description leaves out a small thing; for a medium one it is half of that.
        hallucinate: the probability that a description or an answer claims something that is not there.

    Raises:
        ConfigError: a probability outside [0, 1].
    """

    miss: float = 0.6
    hallucinate: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.miss <= 1 and 0 <= self.hallucinate <= 1):
            raise ConfigError(f"miss and hallucinate must lie within [0, 1], got {self}.")


class SceneVlm:
    """A `Perceiver` that reads the segmentation behind the image; see the module's docstring.

    Args:
        glimpse: what an observation shows.
        kinds: every kind that the world knows: what questions may name and hallucinations claim.
        options: how well it sees.
    """

    def __init__(self, glimpse: Glimpse, kinds: Sequence[str], options: SceneVlmOptions) -> None:
        self._glimpse, self._kinds, self._options = glimpse, tuple(sorted(kinds)), options

    @property
    def name(self) -> str:
        """That it is embedded."""
        return "scene (embedded)"

    @property
    def parallel(self) -> int:
        """One: the renderer behind it belongs to its thread."""
        return 1

    def describe_scene(self, observation: Observation, *, seed: int) -> Utterance:
        """See `Perceiver.describe_scene`."""
        watch = Stopwatch()
        with watch("vlm"):
            rng = random.Random(derive_seed(seed, "describe"))  # noqa: S311  not for secrets
            seen = [thing for thing in self._glimpse(observation) if rng.random() >= self._dropped(thing)]
            text = _sentences(seen, self._invented(rng))
        return _utterance("", text, watch)

    def answer(self, observation: Observation, question: str, *, seed: int) -> Utterance:
        """See `Perceiver.answer`.

        A question that names kinds is answered for the first of them; any other gets another description.
        """
        named = [kind for kind in self._kinds if re.search(rf"\b{re.escape(kind)}s?\b", question.lower())]
        watch = Stopwatch()
        with watch("vlm"):
            rng = random.Random(derive_seed(seed, question))  # noqa: S311  not for secrets
            seen = self._glimpse(observation)
            if not named:
                text = _sentences([thing for thing in seen if rng.random() >= self._dropped(thing)], "")
            else:
                kind = max(named, key=len)
                found = [thing for thing in seen if thing.kind == kind]
                claimed = bool(found) or rng.random() < self._options.hallucinate
                places = " and ".join(dict.fromkeys(thing.where for thing in found if thing.where))
                yes = f"Yes, I see {_counted(kind, max(1, len(found)))} {places}".rstrip()
                text = f"{yes}." if claimed else f"No {kind} is visible."
        return _utterance(question, text, watch)

    def describe(self) -> dict[str, Any]:
        """How well it sees, and its limits."""
        return {"perceiver": "scene", **dataclasses.asdict(self._options), "limits": LIMITS}

    def _dropped(self, thing: Seen) -> float:
        if thing.furniture or thing.state == "held" or thing.share >= _MEDIUM:
            return 0.0
        return self._options.miss if thing.share < _SMALL else self._options.miss / 2

    def _invented(self, rng: random.Random) -> str:
        return rng.choice(self._kinds) if rng.random() < self._options.hallucinate and self._kinds else ""


def _sentences(seen: Sequence[Seen], invented: str) -> str:
    sentences: list[str] = []
    for where in dict.fromkeys([thing.where for thing in seen] or [""]):
        here = [thing for thing in seen if thing.where == where]
        things = Counter(thing.kind for thing in here if not thing.furniture and thing.state != "held")
        rooms = Counter(thing.kind for thing in here if thing.furniture)
        subject = f"{where[:1].upper()}{where[1:]} I see".strip()
        sentences.append(f"{subject} {_listed(things)}." if things else f"{subject} no small things.")
        sentences += [f"There is {_listed(rooms)}."] if rooms else []
    sentences += [f"I see a {invented}."] if invented else []
    sentences += [f"The {thing.kind} is open." for thing in seen if thing.state == "open"]
    sentences += [f"I hold the {thing.kind}." for thing in seen if thing.state == "held"]
    return " ".join(sentences)


def _listed(counts: Counter[str]) -> str:
    parts = [_counted(kind, count) for kind, count in sorted(counts.items())]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _counted(kind: str, count: int) -> str:
    return f"a {kind}" if count == 1 else f"{count} {kind}s"


def _utterance(question: str, text: str, watch: Stopwatch) -> Utterance:
    cost = Cost(
        vlm_calls=1, prompt_tokens=len(question.split()), completion_tokens=len(text.split()), seconds=watch.seconds
    )
    return Utterance(text=text, cost=cost)
