"""Benchmarks. They compare clew with a baseline in one run, as ratios, and are not part of `./check`."""
