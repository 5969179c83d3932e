"""Benchmarks: each module measures one thing beside the library it compares to."""
