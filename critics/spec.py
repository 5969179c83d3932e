"""What a learned critic is made of and what it reads: plain data that lies beside its weights."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from ..errors import ConfigError, WeightsError, choices

type Kind = Literal["relative", "scalar", "action-only", "regression"]
KINDS: tuple[Kind, ...] = ("relative", "scalar", "action-only", "regression")
"""The Relative Action Critic, and its controls.

* ``relative`` reads both candidates and their difference, and compares them in view of the observation.
* ``scalar`` scores each candidate by itself; a preference is the logistic of two scores' difference (Bradley and Terry
  1952).
* ``action-only`` compares as ``relative`` does, without any observation: it can use what the candidates show alone.
* ``regression`` compares nothing: it predicts what the expert would do and prefers the candidate nearer to that.
"""

type FeatureKind = Literal["vector", "tokens", "image"]

MASK = ".mask"
"""``<name>.mask`` ``bool[K]`` among the features says which of the K tokens of ``<name>`` count."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Feature:
    """One thing that the critic attends to.

    Attributes:
        name: its key in `CriticContext.features`, or of the observation for an image (``images.<camera>``).
        kind: ``vector`` ``float32[W]``, ``tokens`` ``float32[K, W]`` or ``image`` ``uint8[H, W, 3]``.
        shape: of one observation's value.
        masked: whether ``<name>.mask`` says which tokens count.
    """

    name: str
    kind: FeatureKind
    shape: tuple[int, ...]
    masked: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class CriticSpec:
    """The architecture.

    Attributes:
        kind: which critic.
        chunk: T, actions of a candidate.
        action: A, entries of an action.
        state: S, entries of proprioception; 0 for a world without.
        features: what it attends to; ignored by ``action-only``.
        horizon: how many of a candidate's actions it reads, counted from the first.
        width: of every token.
        layers: blocks of the trunk.
        heads: of every attention.
        queries: learnable query tokens that gather the features.
        dropout: in training.
        reference: whether it also predicts what the expert that labelled would do, and sees how far each candidate is
            from that; ``action-only`` never does, ``regression`` always.

    Raises:
        ConfigError: a size makes no sense.
    """

    kind: Kind
    chunk: int
    action: int
    state: int
    features: tuple[Feature, ...]
    horizon: int
    width: int = 128
    layers: int = 3
    heads: int = 4
    queries: int = 8
    dropout: float = 0.1
    reference: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"there is no critic {self.kind!r}. {choices(self.kind, KINDS)}")
        for name in ("chunk", "action", "horizon", "width", "layers", "heads", "queries"):
            if getattr(self, name) < 1:
                raise ConfigError(f"a critic's {name} must be at least 1, got {getattr(self, name)}.")
        if self.horizon > self.chunk:
            raise ConfigError(f"a critic of chunks of {self.chunk} actions cannot read {self.horizon} of them.")
        if self.width % self.heads:
            raise ConfigError(f"a critic's width must be a multiple of its heads, got {self.width} and {self.heads}.")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout must be at least 0 and less than 1, got {self.dropout}.")

    @property
    def attends(self) -> tuple[Feature, ...]:
        """The features that the critic reads."""
        return () if self.kind == "action-only" else self.features

    @property
    def predicts(self) -> bool:
        """Whether it predicts what the expert would do."""
        return self.kind == "regression" or (self.reference and self.kind != "action-only")

    def to_json(self) -> dict[str, Any]:
        """Plain data, read back by `from_json`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> CriticSpec:
        """The inverse of `to_json`.

        Raises:
            WeightsError: it describes no critic of this version.
        """
        try:
            return _READER.validate_python(data)
        except (ValidationError, ConfigError) as error:
            raise WeightsError(f"this describes no critic: {str(error).splitlines()[0]} ({data!r}).") from error


_READER = TypeAdapter(CriticSpec)
