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
echo "Playing 9 episodes of 3 LIBERO tasks with the scripted expert, then filming them; some minutes on two cores."
.venv/bin/thinktwice rollout libero_object --tasks 0,2,5 --episodes 3 --agent reflex --policy expert \
  --rendering fast --seed 0 --workers 2 --video all --out "$out" "${resume[@]}"
