"""A world's or an agent's options as one line, in the words of ``thinktwice rollout``."""

from __future__ import annotations

import shlex
from typing import Any

import tyro

from ...errors import ConfigError


def read_options(line: str, options: type[Any], *, flag: str) -> Any:
    """An instance of an options dataclass.

    Args:
        line: such as ``"--rendering fast --height 128"``; empty for the defaults.
        options: the dataclass.
        flag: which of LeRobot's flags the line was given by, for messages.

    Raises:
        ConfigError: there is no such option, or a value is wrong; tyro has printed which.
    """
    try:
        words = shlex.split(line)
        return tyro.cli(options, prog=f"{flag}=", args=words, config=(tyro.conf.FlagCreatePairsOff,))
    except ValueError as error:
        raise ConfigError(f"{flag}={line!r} cannot be taken apart: {error}.") from error
    except SystemExit as error:
        raise ConfigError(f"{flag}={line!r} does not hold options of thinktwice rollout; see above.") from error
