#!/usr/bin/env bash
# Lint, format and types: what `make check` runs and `make test` begins with.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/pyright
