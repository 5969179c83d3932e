"""Other runners of LIBERO and ours, each by its own command, for `benchmarks.throughput`."""

from __future__ import annotations
