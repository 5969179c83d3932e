#!/usr/bin/env bash
# What `make rollout` runs after the set-up: real LIBERO tasks, recorded, with videos and a report.
# Calling it again continues a run that was interrupted, and shows one that is finished.
#
#   scripts/first_rollout.sh [FOLDER]      default: runs/first
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/first}

resume=()
if [ -f "$out/run.yaml" ]; then resume=(--resume); fi
echo "Playing 16 episodes of 8 LIBERO tasks with the bundled policy, then filming them; some minutes on two cores."
.venv/bin/thinktwice rollout libero --tasks 0,6,10,11,20,23,30,34 --episodes 2 --init-states reporting \
  --agent reflex --seed 0 --workers 2 --video all --out "$out" "${resume[@]}"
