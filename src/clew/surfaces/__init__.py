"""Places where people, or machines for them, are."""
