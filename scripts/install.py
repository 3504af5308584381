"""Makes .venv as `requirements/NAME.lock` says, and puts clew itself into it. Run by ./clew and ./check; stdlib only.

`.venv/ready` holds copies of what the install was made from and is written last: whatever was interrupted is not ready,
and is made again. The lock is on the checkout's folder, and the installers inherit it: it ends with the last of them,
however they end.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
VENV = HERE / ".venv"
READY = VENV / "ready"
PYTHON = VENV / "bin" / "python"
CLEW = VENV / "bin" / "clew"
LARK = VENV / "lark"  # what only one test of `./check --all` needs, and not beside ours: it wants older packages


def main(name: str) -> int:
    began = time.monotonic()
    try:
        with only_one() as lock:
            if not is_ready(name):
                install_by_any(name, lock)
                say(f"ready in {time.monotonic() - began:.1f} s")
    except subprocess.CalledProcessError as error:
        return fail(
            f"the install failed: {Path(error.cmd[0]).name} ended with {error.returncode}; its words are above."
        )
    except OSError as error:
        return fail(f"the install failed: {error}")
    except KeyboardInterrupt:
        return fail("the install was interrupted; the next start begins it again.")
    return 0


def say(words: str) -> None:
    print(f"clew: {words}", file=sys.stderr, flush=True)


def fail(words: str) -> int:
    say(words)
    return 1


@contextmanager
def only_one() -> Iterator[int]:
    lock = os.open(HERE, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another install in this folder")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def sources(name: str) -> dict[str, bytes]:
    """What `.venv/ready` has to hold. Everything in clew.lock is in dev.lock too."""
    locks = ["clew.lock"] if name == "clew" else ["clew.lock", f"{name}.lock"]
    files = [HERE / "pyproject.toml", *(HERE / "requirements" / lock for lock in locks)]
    return {"place": f"{HERE}\n".encode(), **{file.name: file.read_bytes() for file in files}}


def is_ready(name: str) -> bool:
    return is_whole() and all(stamped(file) == content for file, content in sources(name).items())


def stamped(file: str) -> bytes | None:
    path = READY / file
    return path.read_bytes() if path.exists() else None


def install_by_any(name: str, lock: int) -> None:
    """uv where there is one; where it fails (a mirror that only pip is told of, say), venv and pip."""
    uv = shutil.which("uv")
    try:
        return install(name, Installer(lock, uv))
    except subprocess.CalledProcessError:
        if not uv:
            raise
    say("uv could not do it; trying venv and pip")
    if name != LARK.name:
        shutil.rmtree(READY, ignore_errors=True)
    return install(name, Installer(lock, None))


def install(name: str, installer: Installer) -> None:
    if name == LARK.name:
        install_beside(installer)
        return
    made_from = sources(name)
    if not is_whole() or not installer.can_use_venv():
        installer.make_venv()
    if not is_ready("clew"):  # the dev packages alone disturb nothing that is in use
        shutil.rmtree(READY, ignore_errors=True)
    installer.install_packages(HERE / "requirements" / f"{name}.lock")
    if not is_ready("clew"):
        installer.install_clew()
    tell_if_without_codex()
    READY.mkdir(exist_ok=True)
    for file, content in made_from.items():
        (READY / file).write_bytes(content)


def install_beside(installer: Installer) -> None:
    """Into a folder in .venv, which stays as it is."""
    lock = HERE / "requirements" / "lark.lock"
    shutil.rmtree(LARK, ignore_errors=True)
    installer.install_packages(lock, "--target", str(LARK))
    shutil.copy(lock, READY)


def is_whole() -> bool:
    """An earlier install came to its end, here, with a Python that is still there."""
    return PYTHON.exists() and CLEW.exists() and stamped("place") == f"{HERE}\n".encode()


class Installer:
    def __init__(self, lock: int, uv: str | None) -> None:
        self.lock = lock
        self.uv = uv

    def can_use_venv(self) -> bool:
        """A venv that uv made has no pip."""
        return bool(self.uv) or (VENV / "bin" / "pip").exists()

    def make_venv(self) -> None:
        shutil.rmtree(READY, ignore_errors=True)
        say(f"making .venv with {'uv' if self.uv else 'venv and pip'}, Python {sys.version.split()[0]}")
        if self.uv:
            self.run(self.uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(VENV))
        else:
            require_venv()
            self.run(sys.executable, "-m", "venv", "--clear", str(VENV))

    def install_packages(self, lock: Path, *more: str) -> None:
        size = "" if has_codex() else " (with Codex some 150 MB to fetch)"
        say(f"installing the packages of {lock.relative_to(HERE)}{size}")
        self.pip("--require-hashes", "--no-deps", *more, "-r", str(lock))

    def install_clew(self) -> None:
        say("installing clew itself")
        self.pip("--no-deps", "--no-build-isolation", "-e", str(HERE))
        self.run(str(PYTHON), "-m", "compileall", "-q", str(HERE / "src"))
        (VENV / "compiled").touch()

    def pip(self, *arguments: str) -> None:
        if self.uv:
            command = [self.uv, "pip", "install", "--quiet", "--python", str(PYTHON), "--compile-bytecode"]
            command += ["--reinstall-package", "clew"]  # as pip does: what the checkout says may have changed
        else:
            command = [str(PYTHON), "-m", "pip", "install", "-qq", "--compile", "--disable-pip-version-check"]
        self.run(*command, *arguments)

    def run(self, *command: str) -> None:
        """What they print goes to stderr, so that `./clew … --json` stays clean on its first use too."""
        environ = {**os.environ, "PIP_USER": "0", "PIP_NO_INPUT": "1", "UV_NO_PROGRESS": "1"}
        subprocess.run(command, check=True, stdout=sys.stderr, env=environ, pass_fds=(self.lock,), cwd=HERE)


def require_venv() -> None:
    if any(importlib.util.find_spec(module) is None for module in ("venv", "ensurepip")):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise OSError(
            f"{sys.executable} comes without venv. On Debian and Ubuntu: apt install python{version}-venv"
            " (or python3-venv). Or put uv on your PATH, or set CLEW_PYTHON to another Python."
        )


def has_codex() -> bool:
    return any(VENV.glob("lib/python*/site-packages/codex_cli_bin"))


def tell_if_without_codex() -> None:
    if not has_codex():
        say("there is no Codex package for this platform: install Codex yourself, clew finds it on your PATH")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
