"""The reasoner's contract: what a large model is asked now and then, and what it answers.

Three questions exist: what is meant, where to look next, and whether this is it.  `RuleReasoner` answers them from
tables, offline and at once; `reasoner_mllm` asks a multimodal language model.  Both see the same `Facts` and `Option`s.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from ..cost import Cost
from ..envs import Array
from ..envs.rooms.queries import Query

type Verdict = Literal["accept", "reject", "unsure"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a candidate; empty fields are unknown.

    Attributes:
        kind: what it is.
        colour: likewise.
        size: likewise.
        material: likewise.
        room: the room that it seems to be in.
        supports: (relation, kind of furniture) pairs that hold for it.
        place: its place from the left among its kind on that furniture, 0 where it is alone or unknown.
        distance: metres from which it was seen best.
    """

    kind: str
    colour: str = ""
    size: str = ""
    material: str = ""
    room: str = ""
    supports: tuple[tuple[str, str], ...] = ()
    place: int = 0
    distance: float = 0.0

    def describe(self) -> str:
        """One line for a prompt or a trace."""
        words = " ".join(w for w in (self.size, self.colour, self.material, self.kind) if w)
        where = ", ".join(f"{relation} the {kind}" for relation, kind in self.supports)
        room = f"in the {self.room}" if self.room else ""
        place = f"number {self.place} from the left" if self.place else ""
        return ", ".join(
            part for part in (f"a {words}", place, where, room, f"seen from {self.distance:.1f} m") if part
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Option:
    """Somewhere to look next.

    Attributes:
        name: an open-set action, such as ``"Move to the frontier 3.1 m to the left"`` or ``"Open the fridge"``.
        distance: metres to go.
        size: of a frontier, its length in metres; of a container, 0.
        room: the room that it seems to be in or lead out of, or empty.
        container: the kind of container that would be opened, or empty.
        spot: where one would walk to, (x, y) in the odometry frame: for oracles and pictures.
    """

    name: str
    distance: float
    size: float = 0.0
    room: str = ""
    container: str = ""
    spot: tuple[float, float] = (0.0, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply[T]:
    """An answer, why, and what it cost."""

    value: T
    why: str
    cost: Cost


@runtime_checkable
class Reasoner(Protocol):
    """Answers the three questions; pure given its arguments."""

    @property
    def name(self) -> str:
        """What a record calls it, such as ``"rules"``."""
        ...

    def understand(self, expression: str) -> Reply[Query]:
        """What the expression means.

        Raises:
            UsageError: the expression is empty, or nothing known is meant by it.
            ModelError: the model gave no usable answer.
        """
        ...

    def rank(self, expression: str, goal: Query, options: Sequence[Option], image: Array | None) -> Reply[list[float]]:
        """A value per option, larger is better.

        Args:
            expression: as the person said it.
            goal: what it means.
            options: at least one.
            image: ``uint8[H, W, 3]``, the present view, or None.
        """
        ...

    def verify(self, expression: str, goal: Query, facts: Facts, image: Array | None) -> Reply[Verdict]:
        """Whether a candidate is what the expression means."""
        ...
