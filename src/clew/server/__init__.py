"""The HTTP server: one API for the CLI, the page and other programs, and event streams without gaps."""
