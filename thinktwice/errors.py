"""Every error that thinktwice raises on purpose, in one tree.

```
ThinkTwiceError
├── UsageError            what was asked for does not exist or does not make sense
│   ├── ConfigError       a configuration file or value (unknown key, wrong type)
│   └── IdentityError     an episode, task or init state that does not exist
├── ConventionError       a policy and a world disagree about frames, units, signs or cameras
├── ContractError         a policy, gate, critic, agent or world broke its contract
├── MissingDependency     an optional package is not installed (names the command that installs it)
├── WeightsError          weights are missing, truncated, not finite, or belong to something else
├── RecordError           a run folder cannot be read, written, resumed or compared
└── WorldError            the simulator or robot failed: an error of the episode, never a task failure
    └── ModelError        a language or vision model gave no usable answer within its retries
```

A message says what is wrong, the value, the choices and the fix.  `choices` builds the part that
suggests the nearest valid name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ThinkTwiceError(Exception):
    """The base of every error raised on purpose; the command line prints these without a traceback."""


class UsageError(ThinkTwiceError):
    """What was asked for does not exist or does not make sense."""


class ConfigError(UsageError):
    """A configuration file or value is wrong."""


class IdentityError(UsageError):
    """An episode, task or init state that does not exist."""


class ConventionError(ThinkTwiceError):
    """A policy and a world disagree about frames, units, signs, cameras or rates."""


class ContractError(ThinkTwiceError):
    """A policy, gate, critic, agent or world broke its contract."""


def install_line(extra: str) -> str:
    """What a person types, in a clone of the repository, to install an optional part."""
    return f"pip install -c constraints.txt -e '.[{extra}]'"


class MissingDependency(ThinkTwiceError):
    """An optional package is missing.

    Args:
        package: what could not be imported.
        purpose: what it is needed for.
        install: the command that installs it.
    """

    def __init__(self, package: str, *, purpose: str, install: str) -> None:
        super().__init__(f"{purpose} needs {package}, which is not installed. Install it with: {install}")
        self.package = package
        self.install = install

    def __reduce__(self) -> tuple[object, ...]:
        # The default reduction calls the class with the message alone, which fails when a worker
        # process sends the error to its parent.
        return (_rebuild_missing, (self.package, str(self), self.install))


def _rebuild_missing(package: str, message: str, install: str) -> MissingDependency:
    error = MissingDependency(package, purpose="", install=install)
    error.args = (message,)
    return error


class WeightsError(ThinkTwiceError):
    """Weights are missing, truncated, not finite, or belong to something else."""


class RecordError(ThinkTwiceError):
    """A run folder cannot be read, written, resumed or compared."""


class WorldError(ThinkTwiceError):
    """A simulator or robot failed.  It is an error of the episode and never a failure of the task."""


class ModelError(WorldError):
    """A language or vision model gave no usable answer within its retries."""


def choices(value: object, valid: Iterable[object], *, limit: int = 12) -> str:
    """The tail of an error message: a suggestion when one is near, and the valid values.

    Args:
        value: what was given.
        valid: everything that would have been accepted.
        limit: at most this many valid values are listed.

    >>> choices("libero_objects", ["libero_object", "libero_goal"])
    "Did you mean 'libero_object'? Choose from: libero_object, libero_goal."
    """
    names = [str(name) for name in valid]
    near = difflib.get_close_matches(str(value), names, n=1)
    listed = ", ".join(names[:limit]) + (f", … ({len(names)} in all)" if len(names) > limit else "")
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{hint}Choose from: {listed}."


def require(condition: bool, message: str) -> None:
    """Raise `ContractError` with the message, a sentence without its full stop, unless the condition holds."""
    if not condition:
        raise ContractError(f"{message}.")
