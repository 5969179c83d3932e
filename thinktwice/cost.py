"""The ledger: what a decision cost, in units that add up over decisions, episodes and runs."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cost:
    """What was spent.  Costs add up with ``+`` and ``Cost.total``.

    Attributes:
        prefix_passes: observation encodings (vision-language prefixes) computed.
        denoising_steps: integration steps of the action head, counted per candidate.
        candidates: action chunks sampled.
        comparisons: ordered pairs scored by a critic.
        llm_calls: calls of a language model (decision).
        vlm_calls: calls of a vision-language model (perception).
        prompt_tokens: tokens sent to both.
        completion_tokens: tokens received from both.
        seconds: wall seconds by stage, such as ``{"prefix": 0.01, "critic": 0.002}``.
    """

    prefix_passes: int = 0
    denoising_steps: int = 0
    candidates: int = 0
    comparisons: int = 0
    llm_calls: int = 0
    vlm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])

    COUNTS: ClassVar[tuple[str, ...]] = (
        "prefix_passes",
        "denoising_steps",
        "candidates",
        "comparisons",
        "llm_calls",
        "vlm_calls",
        "prompt_tokens",
        "completion_tokens",
    )

    def __add__(self, other: Cost) -> Cost:
        seconds = dict(self.seconds)
        for stage, spent in other.seconds.items():
            seconds[stage] = seconds.get(stage, 0.0) + spent
        counts = {name: getattr(self, name) + getattr(other, name) for name in self.COUNTS}
        return Cost(**counts, seconds=seconds)

    @classmethod
    def total(cls, costs: Iterable[Cost]) -> Cost:
        """The sum of any number of costs; the sum of none is the zero cost."""
        result = cls()
        for cost in costs:
            result = result + cost
        return result

    def counts(self) -> dict[str, int]:
        """Everything but the seconds: the part that is equal when an episode is repeated."""
        return {name: getattr(self, name) for name in self.COUNTS}

    def to_json(self) -> dict[str, Any]:
        """A dictionary that JSON can hold, read back by `from_json`."""
        return {**self.counts(), "seconds": dict(self.seconds)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cost:
        """The inverse of `to_json`; missing counts are zero."""
        counts = {name: int(data.get(name, 0)) for name in cls.COUNTS}
        return cls(**counts, seconds={str(k): float(v) for k, v in data.get("seconds", {}).items()})


class Stopwatch:
    """Collects wall seconds by stage.

    >>> watch = Stopwatch()
    >>> with watch("prefix"):
    ...     pass
    >>> list(watch.seconds)
    ['prefix']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Generator[None]:
        """Add the time spent in the ``with`` block to a stage, also when the block raises."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
