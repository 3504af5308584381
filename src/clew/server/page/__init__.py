"""The page: files for a browser, in `static`. No build step, and nothing that comes from elsewhere."""
