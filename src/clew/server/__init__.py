"""The HTTP side: the same API for the CLI, the page and outsiders, and a stream that never has a gap."""
