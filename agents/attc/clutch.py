"""The clutch file: a gate's threshold, calibrated on rollouts of one checkpoint and bound to it.

What is much doubt for one policy is little for another, and for the same policy with other Euler steps.  So the file
says which policy it was measured on, and using it with another is an error.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ...errors import ConfigError, WeightsError
from .gates import CRITIC
from .measures import MEASURES, MeasureSettings

FORMAT = 1

_SAMPLING = ("sha256", "denoising_steps", "chunk_size", "sampler", "normalization")
"""What decides a policy's candidates, of what it says of itself: the weights, and how it samples."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Clutch:
    """A calibrated gate.

    Attributes:
        measure: which doubt, with the weights of the metric.
        threshold: deliberate above it; in the measure's unit.
        policy: the fingerprint of the policy that it belongs to.
        target: what was asked for, such as ``{"percentile": 80}``.
        rate: the share of the calibration's decisions that are above the threshold.
        episodes: how many it was calibrated on.
        decisions: the same.
        quantiles: the doubt's quantiles on them, by ``"0.05"`` and so on.
    """

    measure: MeasureSettings
    threshold: float
    policy: Mapping[str, Any]
    target: Mapping[str, Any]
    rate: float
    episodes: int
    decisions: int
    quantiles: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])

    def check_policy(self, described: Mapping[str, Any], *, source: str) -> None:
        """Raise `ConfigError`, naming what differs, unless the policy is the one that the clutch was calibrated on.

        Args:
            described: what the policy says of itself (`Policy.describe`).
            source: where the clutch comes from, for the message.
        """
        ours = policy_fingerprint(described)
        differing = [name for name in sorted({*ours, *self.policy}) if ours.get(name) != self.policy.get(name)]
        if differing:
            listed = "; ".join(f"{name}: {self.policy.get(name)!r} there, {ours.get(name)!r} now" for name in differing)
            raise ConfigError(
                f"the clutch {source} was calibrated on another policy ({listed}). A threshold means nothing for "
                "another checkpoint or sampler: record rollouts with --gate NAME --observe and calibrate on them."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data, read back by `from_json`."""
        return {"format": FORMAT, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, text: str) -> Clutch:
        """The inverse of `to_json`, from the text of a file.

        Raises:
            ValueError: it is no JSON of this format, or a field is missing, unknown or of a wrong kind.
            ConfigError: the metric's weights make no sense.
        """
        data = json.loads(text)
        found = data.pop("format", None) if isinstance(data, dict) else None
        if found != FORMAT:
            raise ValueError(f"its format is {found!r}, not {FORMAT}")
        clutch = _READER.validate_json(json.dumps(data), strict=True, extra="forbid")
        if not math.isfinite(clutch.threshold):
            raise ValueError(f"its threshold is {clutch.threshold}")
        if clutch.measure.name not in (*MEASURES, CRITIC):
            raise ValueError(f"there is no gate {clutch.measure.name!r}")
        return clutch


_READER = TypeAdapter(Clutch)


def policy_fingerprint(described: Mapping[str, Any]) -> dict[str, Any]:
    """What decides a policy's candidates: weights and sampler; all it says where it has no weights.

    Args:
        described: what a policy says of itself (`Policy.describe`).
    """
    if described.get("sha256"):
        return {name: described[name] for name in _SAMPLING if name in described}
    return dict(described)


def load_clutch(path: Path) -> Clutch:
    """Read a clutch file.

    Raises:
        WeightsError: it is missing, damaged or of another format.
    """
    try:
        return Clutch.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WeightsError(
            f"the clutch {path} cannot be read: {error.strerror or error}. Make one: thinktwice calibrate --help"
        ) from error
    except (ValueError, ConfigError) as error:
        raise WeightsError(f"the clutch {path} is damaged: {error}. Calibrate again.") from error
