"""Critics and clutches of the bundled policy, by name: ``bundled`` or ``bundled:NAME``."""

from __future__ import annotations

from pathlib import Path

from ...errors import UsageError, choices

WEIGHTS = Path(__file__).parents[1] / "weights" / "attc"
"""``critics/<name>/`` and ``clutches/<name>.json``, all for the policy in ``weights/flow``."""

BUNDLED = "bundled"
_SUFFIX = ".json"


def critic_folder(source: str) -> Path:
    """The folder of a critic that ``--critic`` names: ``bundled`` (the relative one), ``bundled:NAME``, or a folder.

    Raises:
        UsageError: no bundled critic has this name.
    """
    name = _bundled_name(source, default="rac")
    if name is None:
        return Path(source).expanduser()
    return WEIGHTS / "critics" / _known(name, [path.name for path in (WEIGHTS / "critics").glob("*")], "critic")


def clutch_file(source: Path) -> Path:
    """The file of a clutch that ``--clutch`` names: ``bundled`` (the critic's), ``bundled:NAME``, or a file.

    Raises:
        UsageError: no bundled clutch has this name.
    """
    name = _bundled_name(str(source), default="critic")
    if name is None:
        return source.expanduser()
    known = [path.stem for path in (WEIGHTS / "clutches").glob(f"*{_SUFFIX}")]
    return WEIGHTS / "clutches" / (_known(name, known, "clutch") + _SUFFIX)


def _bundled_name(source: str, *, default: str) -> str | None:
    head, colon, name = source.partition(":")
    if head != BUNDLED:
        return None
    return name if colon else default


def _known(name: str, known: list[str], what: str) -> str:
    if name not in known:
        raise UsageError(f"there is no bundled {what} {name!r}. {choices(name, sorted(known))}")
    return name
