"""Prompts are Markdown files beside the code, so that a person can read and change them."""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path

from ...errors import ConfigError


def fill_prompt(package: str, name: str, folder: Path | None = None, **values: object) -> str:
    """A prompt with its ``{fields}`` filled in.

    Args:
        package: where ``prompts/<name>.md`` lies by default.
        name: the file's name without its ending.
        folder: a user's own folder of prompts, looked at first.
        values: the fields.

    Raises:
        ConfigError: the prompt has a field that is not known.
    """
    own = folder / f"{name}.md" if folder is not None else None
    text = own.read_text(encoding="utf-8") if own is not None and own.is_file() else _packaged(package, name)
    try:
        return text.format(**values).strip()
    except (KeyError, IndexError, ValueError) as error:
        raise ConfigError(
            f"the prompt {name}.md has a field {error} that is not known. It may use: {', '.join(sorted(values))}; "
            "write {{ and }} for braces."
        ) from error


@functools.cache
def _packaged(package: str, name: str) -> str:
    return (resources.files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")
