#!/usr/bin/env bash
# Lint, types and every test but those marked `long`; extra arguments go to pytest.
#
# Each area has a process of its own: simulators, ROS and planners load native libraries that were never made to
# share one, and a crash in one area then hides nothing of the others.  Two areas run at a time (JOBS=1 for one), and
# each prints when it is done.  ROS begins and goes first on the processor: it mostly waits, and its watchdogs measure
# time.
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/check.sh || exit 1

areas=(
  "tests/envs/ros"
  "tests/rollouts"
  "tests/envs/libero"
  "tests/agents/experts tests/agents/policies tests/agents/lerobot tests/agents/training"
  "tests/foundation tests/conformance tests/scripts tests/docs"
  "tests/envs/alfworld tests/envs/r2r"
  "tests/envs/rooms tests/perception"
  "tests/critics tests/agents/pairs tests/agents/attc"
  "tests/agents/lesa tests/agents/navigation tests/agents/prism tests/agents/serving"
)

export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

run_area() {
  local area=$1 log began=$SECONDS niceness=10
  [ "$area" = tests/envs/ros ] && niceness=0
  log=$logs/$(tr '/ ' '__' <<<"$area")
  shift
  # shellcheck disable=SC2086
  nice -n $niceness .venv/bin/pytest -q -m "not long" --durations=5 $area "$@" >"$log" 2>&1 || echo "$area" >>"$logs/failed"
  printf '== %s (%d s)\n%s\n' "$area" $((SECONDS - began)) "$(cat "$log")"
}

for area in "${areas[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n; done
  run_area "$area" "$@" &
done
wait
if [ -e "$logs/failed" ]; then
  sed 's/^/failed: /' "$logs/failed"
  exit 1
fi
echo "every area passed in $SECONDS s"
