"""``python -m benchmarks [NAME …]``: list the benchmarks, or run some."""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
from pathlib import Path

HELPERS = {"__init__", "__main__", "machine"}


def main() -> int:
    """Run what the command line names."""
    folder = Path(__file__).parent
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem not in HELPERS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks by name.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="; ".join(names))
    chosen = parser.parse_args().names
    if not chosen:
        for name in names:
            docstring = ast.get_docstring(ast.parse((folder / f"{name}.py").read_text())) or ""
            sys.stdout.write(f"{name:<20} {docstring.splitlines()[0]}\n")
        return 0
    unknown = [name for name in chosen if name not in names]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(names)}")
    for name in chosen:
        importlib.import_module(f"{__package__}.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
