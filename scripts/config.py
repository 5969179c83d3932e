"""YAML files behind a command line: the file gives the defaults, and what stands on the line overrides it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import tyro
import yaml

from ..errors import ConfigError, ContractError, choices
from ..rollouts.config import check_values


def read_config(path: Path) -> dict[str, Any]:
    """The options in a YAML file: a flat mapping of the command line's own names, dashes or underscores.

    Raises:
        ConfigError: the file is missing, is not YAML, or is no flat mapping.
    """
    try:
        with path.open(encoding="utf-8") as file:
            content = yaml.safe_load(file)
    except OSError as error:
        raise ConfigError(f"the configuration {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the configuration {path} is not text: {error}.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"the configuration is not YAML: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(
            f"the configuration {path} must hold lines like 'episodes: 20', not a {type(content).__name__}."
        )
    named = {str(key).replace("-", "_"): value for key, value in cast("dict[object, Any]", content).items()}
    if len(named) != len(cast("dict[object, Any]", content)):
        raise ConfigError(
            f"the configuration {path} gives an option twice, once with dashes and once with underscores."
        )
    return named


def sections[T](values: Mapping[str, Any], classes: Mapping[str, type[Any]], source: str) -> dict[str, Any]:
    """One default instance of each options class, made of the values that belong to it.

    A field that has neither a value nor a default is left for the command line, which asks for it.

    Args:
        values: option names and their values.
        classes: the options classes by what a person calls them, such as ``"world libero_object"``.
        source: where the values come from, for messages.

    Raises:
        ConfigError: a name belongs to no class, or a value has a wrong type.
        ContractError: two classes share a field, so that its flag would be ambiguous.
    """
    owners: dict[str, str] = {}
    for whose, options in classes.items():
        for field in dataclasses.fields(options):
            if field.name in owners:
                raise ContractError(f"{whose} and {owners[field.name]} both have an option {field.name!r}.")
            owners[field.name] = whose
    for name in values:
        if name not in owners:
            raise ConfigError(f"{source} has an unknown option {name!r}. {choices(name, owners, limit=40)}")
    return {
        whose: _default({name: value for name, value in values.items() if owners[name] == whose}, options, whose)
        for whose, options in classes.items()
    }


def _default(values: Mapping[str, Any], options: type[Any], whose: str) -> Any:
    checked = check_values(values, options, whose)
    for field in dataclasses.fields(options):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in checked:
            checked[field.name] = tyro.MISSING
    return options(**checked)


def identifier(name: str) -> str:
    """The name of a world or an agent as part of a Python name."""
    return "".join(character if character.isalnum() else "_" for character in name)
