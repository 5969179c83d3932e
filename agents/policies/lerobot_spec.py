"""What the user says about a LeRobot checkpoint: where it is, and what its numbers and images mean.

A checkpoint's files give names and sizes.  They do not say which of a world's cameras a name means, whether the images
were mirrored, or what a positive gripper value does.  That is declared in a ``thinktwice.yaml`` beside the weights, and
any part of it can be given in the policy's argument, which wins:

```yaml
cameras:
  image: {camera: agentview, mirrored: true}
  image2: wrist
conventions: {action: […], state: […], control_hz: 20}   # the fields of thinktwice.envs.Conventions
history: repeat
any_size: false
```

``lerobot:PATH?images.image=agentview:mirrored&images.image2=wrist&history=repeat&device=cpu``
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ...envs import Conventions
from ...errors import ConfigError, choices

FILE = "thinktwice.yaml"
_IMAGES = "images."
_OPTIONS = ("any_size", "device", "features", "history", "revision")


class CameraSource(BaseModel):
    """Which of the world's cameras an image of the checkpoint is, and how the checkpoint saw it in training.

    Attributes:
        camera: the world's camera: the observation's key is ``images.<camera>``.
        mirrored: left and right were exchanged, as in LeRobot's and openpi's LIBERO data.
        upright: rows ran from the top of the scene.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    camera: str = Field(min_length=1)
    mirrored: bool = False
    upright: bool = True


class Declaration(BaseModel):
    """What ``thinktwice.yaml`` and the argument declare.

    Attributes:
        cameras: by the checkpoint's own image name (``observation.images.<name>``).
        conventions: ``action``, ``state`` and ``control_hz`` as trained; None when nothing is declared.
        history: ``"repeat"`` accepts a checkpoint that wants several past observations by giving it the present one as
            many times.  It was trained to read motion from them, so this is never done without being asked for.
        any_size: accept images of another size than the checkpoint's, because its processor or model resizes them.
        device: torch device; None for the checkpoint's own, or the best that is present.
        features: how many tokens of the prefix are exposed to critics (π0, π0.5, SmolVLA); 0 for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    cameras: dict[str, CameraSource] = Field(default_factory=dict[str, CameraSource])
    conventions: Conventions | None = None
    history: Literal["repeat"] | None = None
    any_size: bool = False
    device: str | None = None
    features: int = Field(default=0, ge=0)

    @field_validator("cameras", mode="before")
    @classmethod
    def _short_cameras(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: _camera(source) if isinstance(source, str) else source for name, source in value.items()}

    @field_validator("conventions", mode="before")
    @classmethod
    def _plain_conventions(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        unknown = set(value) - {"action", "state", "control_hz"}
        if unknown:
            raise ValueError(f"{sorted(unknown)} cannot be declared here: declare action, state and control_hz")
        return Conventions.from_json(value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """The argument of ``lerobot:…``, taken apart.

    Attributes:
        target: a folder or a hub id.
        revision: the hub revision, or None for the default branch.
        options: what the argument declares beside it, in the form of the file.
    """

    target: str
    revision: str | None
    options: Mapping[str, Any]


def parse_spec(argument: str) -> Spec:
    """Take ``TARGET?key=value&…`` apart.

    Raises:
        ConfigError: no target, or a key that does not exist or is given twice.
    """
    target, _, query = argument.partition("?")
    if not target:
        raise ConfigError("lerobot needs a checkpoint: --policy lerobot:PATH or lerobot:ORG/NAME.")
    options: dict[str, Any] = {}
    cameras: dict[str, Any] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise ConfigError(f"{argument!r}: after the '?' there must be key=value&key=value ({error}).") from error
    for key, value in pairs:
        if not key.startswith(_IMAGES) and key not in _OPTIONS:
            raise ConfigError(f"lerobot has no option {key!r}. {choices(key, [*_OPTIONS, 'images.NAME'])}")
        into, name = (cameras, key.removeprefix(_IMAGES)) if key.startswith(_IMAGES) else (options, key)
        if name in into:
            raise ConfigError(f"lerobot option {key!r} is given twice.")
        into[name] = value
    if cameras:
        options["cameras"] = cameras
    return Spec(target=target, revision=options.pop("revision", None), options=options)


def read_declaration(folder: Path, options: Mapping[str, Any]) -> Declaration:
    """The declaration beside a checkpoint, with the argument's options over it.

    Raises:
        ConfigError: the file cannot be read, or it or the options hold an unknown key or a value of a wrong type.
    """
    path = folder / FILE
    said: Any = {}
    if path.exists():
        try:
            said = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"{path} cannot be read: {error}.") from error
        if not isinstance(said, dict):
            raise ConfigError(f"{path} must hold keys and values, not {type(said).__name__}.")
    cameras = {**(said.get("cameras") or {}), **options.get("cameras", {})}
    try:
        return Declaration.model_validate({**said, **options, "cameras": cameras})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        known = choices(where, Declaration.model_fields) if first["type"] == "extra_forbidden" else ""
        raise ConfigError(f"{path} and the policy's argument: {where}: {first['msg']}. {known}".rstrip()) from error


def _camera(text: str) -> dict[str, Any]:
    """``"agentview:mirrored"`` in the form of the file."""
    name, *flags = text.split(":")
    unknown = set(flags) - {"mirrored", "upside-down"}
    if unknown:
        raise ValueError(f"a camera is NAME, NAME:mirrored or NAME:upside-down, not {text!r}")
    return {"camera": name, "mirrored": "mirrored" in flags, "upright": "upside-down" not in flags}
