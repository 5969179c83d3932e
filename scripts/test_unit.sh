#!/usr/bin/env bash
# The quick tests, in two processes at once; extra arguments go to pytest.
#
# Importing torch takes longer than most areas' tests, so the areas that need it share one process; tests of documents and
# layout only balance the two.  LeRobot's own classes take seconds each to build: `make test` has those.
set -uo pipefail
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
heavy=(
  tests/agents/attc tests/agents/pairs tests/agents/policies tests/agents/training
  tests/critics tests/perception tests/docs tests/foundation
)
quick=(.venv/bin/pytest -q -m "not sim and not slow and not long")

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${quick[@]}" "${heavy[@]}" "$@" >"$log" 2>&1 &
"${quick[@]}" tests --ignore=tests/agents/lerobot "${heavy[@]/#/--ignore=}" "$@"
others=$?
wait $!
learning=$?
cat "$log"
exit $((others || learning))
