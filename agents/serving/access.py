"""Who may use a server: the token of servers and clients."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import UsageError

_LEAST = 16
"""Characters of a token; a shorter one can be guessed over a network."""


def read_token(path: Path) -> str:
    """The token in a file, whose surrounding white space does not count.

    Raises:
        UsageError: the file cannot be read, or holds something else than one long word.
    """
    try:
        token = path.expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token file {path} cannot be read: {error}.") from error
    if not re.fullmatch(rf"[!-~]{{{_LEAST},}}", token):
        raise UsageError(
            f"the token file {path} must hold one word of at least {_LEAST} printable ASCII characters. Make one with: "
            f"openssl rand -hex 32 > {path}"
        )
    return token


def authorization(token: str) -> str:
    """The ``Authorization`` header that openpi-client sends for its ``api_key``."""
    return f"Api-Key {token}"
