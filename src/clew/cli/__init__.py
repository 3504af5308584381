"""The plain command line: a thin client of the API. One file per group of commands, imported when it is used."""
