"""What stands after the colon of a ``--policy`` value: ``TARGET?key=value&key=value``."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl

from ...errors import ConfigError, choices


def split_argument(policy: str, argument: str, known: Collection[str]) -> tuple[str, dict[str, str]]:
    """The target and the options.

    Args:
        policy: the policy's name, for errors.
        argument: what stands after the colon.
        known: the options that there are.

    Raises:
        ConfigError: an option is unknown, or it is not written as key=value.
    """
    target, _, query = argument.partition("?")
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError as error:
        raise ConfigError(f"{policy}:{argument}: after the '?' there must be key=value&key=value ({error}).") from error
    for key in options:
        if key not in known:
            raise ConfigError(f"{policy} has no option {key!r}. {choices(key, known)}")
    return target, options
