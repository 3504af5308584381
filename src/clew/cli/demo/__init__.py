"""`clew demo`: one thread of work on a temporary home, whose daemon is killed in the middle of a turn.

`stage` sets up the home and its helpers, `story` runs the steps, `words` has the texts. It uses the API like any
client.
"""
