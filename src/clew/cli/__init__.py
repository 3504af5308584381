"""The command line: a thin client of the API. One module per group of commands, imported on use."""
