#!/usr/bin/env bash
# Lint, types and every test but those marked `long`; extra arguments go to pytest.
#
# Each area has a process of its own: simulators, ROS and planners load native libraries that were never made to
# share one, and a crash in one area then hides nothing of the others.
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/check.sh || exit 1

areas=(
  "tests/foundation tests/conformance tests/scripts"
  "tests/rollouts"
  "tests/envs/libero"
  "tests/envs/alfworld tests/envs/r2r"
  "tests/envs/rooms tests/perception"
  "tests/envs/ros"
  "tests/agents/experts tests/agents/policies tests/agents/lerobot tests/agents/training"
  "tests/critics tests/agents/pairs"
  "tests/agents/lesa tests/agents/navigation tests/agents/prism"
)
failed=()
for area in "${areas[@]}"; do
  echo "== $area"
  # shellcheck disable=SC2086
  .venv/bin/pytest -q -m "not long" --durations=5 $area "$@" || failed+=("$area")
done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "every area passed"
