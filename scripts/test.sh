#!/usr/bin/env bash
# Every test, the quick ones first so that a broken build says so early.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/check.sh
.venv/bin/pytest
