#!/usr/bin/env bash
# Lint, types and every test but those marked `long`; extra arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/check.sh
.venv/bin/pytest -m "not long" --durations=25 "$@"
