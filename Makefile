.DEFAULT_GOAL := help
.PHONY: help setup rollout test test-unit check bench clean

VENV := .venv/bin
OUT ?= runs/first

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## install everything into .venv (does nothing when nothing changed)
	@scripts/bootstrap.sh

rollout: setup  ## set up, then run real LIBERO tasks with the bundled agent and write a report (a few minutes)
	@scripts/first_rollout.sh $(OUT)

test: setup  ## set up, then every test (lint and types too)
	@scripts/test.sh

test-unit: setup  ## set up, then the tests that need no simulator (about a minute)
	@$(VENV)/pytest -m "not sim and not slow"

check: setup  ## set up, then lint, format and types
	@scripts/check.sh

BENCHMARKS ?= libero_env
bench: setup  ## set up, then benchmarks beside the libraries they compare to (BENCHMARKS="libero_env …")
	@$(VENV)/python -m benchmarks $(BENCHMARKS)

clean:  ## remove .venv, caches and build leftovers (never a run folder)
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
