"""`python -m clew.process.bootstrap clew.daemon.main …`: runs a program of clew so that it is there, and gone, sooner.

What a program loads stays for as long as it lives: to look for garbage in it costs a command a tenth of its time. And
what it holds at its end the system takes back at once, where Python would take it apart piece by piece.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import suppress
from typing import NoReturn

OFTEN = 20_000  # objects made until garbage is looked for; a short command makes fewer


def command() -> NoReturn:
    """`clew`, as it is installed."""
    run("clew.cli.main")


def run(program: str) -> NoReturn:
    _fill_in()
    gc.disable()
    main = importlib.import_module(program).main
    gc.freeze()
    gc.set_threshold(OFTEN)
    gc.enable()
    exit_now(main())


def _fill_in() -> None:
    """What was closed by whoever began us leads nowhere, and no other file gets its number: the lowest that is free."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def exit_now(code: int) -> NoReturn:
    """Everything that needs to be closed has been, by whoever opened it; what is left is what was said."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass  # who read it has gone
        except (OSError, ValueError) as error:
            code = code or 1
            with suppress(OSError):
                os.write(2, f"clew: the output cannot be written: {error}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    run(sys.argv[0])
