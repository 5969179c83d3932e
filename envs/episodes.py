"""The identity of an episode, and how it is handed to ``reset``."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import IdentityError


@dataclasses.dataclass(frozen=True, kw_only=True, order=True)
class EpisodeId:
    """Everything that decides an episode besides the agent.

    It does not depend on batch size, worker count, order or earlier episodes: a world that is reset with
    it shows the same first observation in any process.

    Attributes:
        world: the gymnasium id, such as ``"thinktwice/Libero-v0"``.
        task: the world's name of the task, such as ``"libero_object/0"``, a game file's hash, or a house split.
        init_state: the stored initial state (LIBERO: 0 to 49); None when the seed draws a fresh placement.
        seed: the episode's own seed: of everything that the world draws, and of the agent's `reset`.
    """

    world: str
    task: str
    init_state: int | None
    seed: int

    @property
    def key(self) -> str:
        """A short name that is safe in file names and equal for equal identities."""
        text = f"{self.task}-{'fresh' if self.init_state is None else self.init_state}-{self.seed}"
        safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in text)
        digest = hashlib.sha256(repr(self).encode()).hexdigest()[:8]
        return f"{safe[-100:]}-{digest}"

    def options(self) -> dict[str, Any]:
        """The ``options`` of ``env.reset(seed=id.seed, options=id.options())``."""
        return {"task": self.task, "init_state": self.init_state}

    def to_json(self) -> dict[str, Any]:
        """Plain data, read back by `from_json`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> EpisodeId:
        """The inverse of `to_json`.

        Raises:
            IdentityError: a field is missing, unknown or of a wrong type.
        """
        try:
            return _READER.validate_json(json.dumps(data), strict=True, extra="forbid")
        except ValidationError as error:
            raise IdentityError(f"not an episode identity: {data!r} ({error.errors()[0]['msg']}).") from error


_READER = TypeAdapter(EpisodeId)


def derive_seed(*parts: object) -> int:
    """A 63-bit seed from any parts, equal in every process and independent of PYTHONHASHSEED.

    Used wherever one seed must give many that do not overlap: a run's seed and an episode's place in it,
    an episode's seed and a decision's index.

    >>> derive_seed(0, "libero_object/0", 3) == derive_seed(0, "libero_object/0", 3)
    True
    """
    digest = hashlib.sha256("\x1f".join(repr(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
