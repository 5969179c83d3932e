.DEFAULT_GOAL := help
.PHONY: help setup setup-dev rollout test test-long test-unit check bench docs clean

VENV := .venv/bin
OUT ?= runs/first

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## install what running LIBERO needs into .venv (does nothing when nothing changed)
	@scripts/bootstrap.sh

setup-dev:  ## the same with everything that the tests need
	@scripts/bootstrap.sh dev

rollout: setup  ## set up, then run real LIBERO tasks with the bundled policy and write a report
	@scripts/first_rollout.sh $(OUT)

test: setup-dev  ## set up, then lint, types and every test but the longest
	@scripts/test.sh

test-long: setup-dev  ## set up, then the tests that take many minutes each
	@$(VENV)/pytest -m long

test-unit: setup-dev  ## set up, then the quick tests, without a simulator (a good minute)
	@scripts/test_unit.sh

check: setup-dev  ## set up, then lint, format and types
	@scripts/check.sh

BENCHMARKS ?= throughput
bench: setup-dev  ## set up, then ours beside LIBERO, lerobot-eval and vla-eval (or BENCHMARKS="libero_env …")
	@$(VENV)/python -m benchmarks $(BENCHMARKS)

docs: setup-dev  ## set up, then build the documentation into site/, which opens from the disk (warnings are errors)
	@NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict
	@echo "open site/index.html"

clean:  ## remove .venv, caches and build leftovers (never a run folder)
	rm -rf .venv build dist site *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
