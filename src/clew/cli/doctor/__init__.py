"""The checks of `clew doctor`."""
