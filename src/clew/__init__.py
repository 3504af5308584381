"""clew: a durable home for the work of coding agents."""

__version__ = "0.1.0"
