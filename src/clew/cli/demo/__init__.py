"""The first minute: one thread of work on a throw-away home, a daemon that is killed under it, and what becomes of it.

`stage` is what stands around it, `story` what happens, `words` what is said. All of it is a client like any other.
"""
