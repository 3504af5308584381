"""The web page: its files are in `static`. No build step, and nothing is loaded from other sites."""
