"""Entry point that tunes garbage collection and skips interpreter teardown, for fast start and exit:
`python -m clew.process.bootstrap clew.daemon.main …`.

Imported modules are never garbage: collecting during imports would cost a command a tenth of its time. At exit the
system frees all memory at once, while Python would free it object by object.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import suppress
from typing import NoReturn

OFTEN = 20_000  # allocations between two collections; a short command makes fewer


def command() -> NoReturn:
    """The installed command `clew`."""
    run("clew.cli.main")


def run(program: str) -> NoReturn:
    _open_standard_streams()
    gc.disable()
    main = importlib.import_module(program).main
    gc.freeze()
    gc.set_threshold(OFTEN)
    gc.enable()
    exit_now(main())


def _open_standard_streams() -> None:
    """Reopen closed stdin/stdout/stderr on /dev/null, so that no other file gets descriptors 0-2."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def exit_now(code: int) -> NoReturn:
    """Flush the output and exit without interpreter teardown: everything else is closed already."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass  # the reader has gone
        except (OSError, ValueError) as error:
            code = code or 1
            with suppress(OSError):
                os.write(2, f"clew: the output cannot be written: {error}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    run(sys.argv[0])
