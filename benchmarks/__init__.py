"""Measurements. Not tests: they compare side by side in one run, as ratios, and belong to no check."""
