"""How clew was installed, and what follows from it: where a newer version comes from, how it is installed, and how the
former one is put back. Nothing here asks the network unless `clew update` is run."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from clew.cli.commands.update.tools import ToolFailed, output_of
from clew.support import version as version_file
from clew.support.errors import Refused
from clew.support.version import __version__
from clew.texts.catalogue import say

Say = Callable[[str], None]


class Found(Struct, frozen=True):
    """The installed version, and the newest one."""

    now: str
    to: str

    @property
    def is_newer(self) -> bool:
        return self.now != self.to


class Install(Protocol):
    """One way of installing clew."""

    @property
    def kind(self) -> str: ...
    @property
    def launcher(self) -> Path:
        """The command `clew`: after an update, of the new version."""
        ...

    def find(self, tell: Say) -> Found:
        """Look for a newer version. Changes nothing that runs."""
        ...

    def prepare(self, tell: Say) -> None:
        """Raise Refused if it cannot be updated, and keep what is needed to go back. The daemon still runs."""
        ...

    def update(self, found: Found, tell: Say) -> None: ...
    def go_back(self) -> None: ...
    def forget(self) -> None:
        """Remove what was kept to go back."""
        ...


def installed() -> Install:
    """How the running clew was installed."""
    package = _package()
    checkout = package.parents[1]
    if package.parent.name == "src" and (checkout / ".git").exists() and (checkout / "clew").is_file():
        return Clone(checkout)
    prefix = Path(sys.prefix)
    for tool in TOOLS:
        if (prefix / tool.receipt).exists():
            return Tooled(tool, prefix)
    raise Refused(say("update.unknown_install", folder=str(package.parent)))


def _package() -> Path:
    """The folder of the running package."""
    return Path(version_file.__file__).resolve().parents[1]


class Clone(Struct):
    """A git checkout with its own launcher, which installs what the new version needs."""

    folder: Path
    kind: str = "clone"
    _before: str = ""

    @property
    def launcher(self) -> Path:
        return self.folder / "clew"

    def find(self, tell: Say) -> Found:
        tell(say("update.checking", what="git fetch"))
        self._upstream()
        self._git("fetch", "--quiet")
        return Found(self._named("HEAD"), self._named("@{upstream}") if self._is_behind() else self._named("HEAD"))

    def prepare(self, tell: Say) -> None:
        changed = [line[3:] for line in self._git("status", "--porcelain", "-uno").splitlines()]
        if changed:
            raise Refused(say("update.dirty", folder=str(self.folder), files=", ".join(changed[:3])))
        if self._git("rev-list", "@{upstream}..HEAD").strip():
            raise Refused(say("update.diverged", folder=str(self.folder)))
        self._before = self._git("rev-parse", "HEAD").strip()

    def update(self, found: Found, tell: Say) -> None:
        tell(say("update.updating", version=found.to, what="git merge"))
        self._git("merge", "--quiet", "--ff-only", "@{upstream}")
        self._forget_bytecode()

    def go_back(self) -> None:
        self._git("reset", "--quiet", "--keep", self._before)
        self._forget_bytecode()

    def _forget_bytecode(self) -> None:
        """Python takes bytecode for that of a file with the same size and second of change: two versions of one file
        may have both."""
        for folder in list(_package().rglob("__pycache__")):
            shutil.rmtree(folder, ignore_errors=True)

    def forget(self) -> None:
        pass

    def _upstream(self) -> None:
        try:
            self._git("rev-parse", "--abbrev-ref", "@{upstream}")
        except ToolFailed:
            raise Refused(say("update.detached", folder=str(self.folder))) from None

    def _is_behind(self) -> bool:
        return bool(self._git("rev-list", "HEAD..@{upstream}").strip())

    def _named(self, revision: str) -> str:
        """The version with its commit, since most commits do not change the version."""
        file = self._git("show", f"{revision}:src/clew/support/version.py")
        commit = self._git("rev-parse", "--short", revision).strip()
        return f"{_version_in(file)} ({commit})"

    def _git(self, *words: str) -> str:
        return output_of(["git", *words], self.folder)


class Tool(Struct, frozen=True):
    """A program that installs commands into environments of their own."""

    name: str
    receipt: str  # the file that it leaves in an environment
    outdated: tuple[str, ...]  # prints the packages with newer versions as JSON; {python} is that of the environment
    upgrade: tuple[str, ...]


TOOLS = (
    Tool(
        "uv",
        "uv-receipt.toml",
        ("pip", "list", "--outdated", "--format", "json", "--python", "{python}"),
        ("tool", "upgrade", "clew", "--reinstall-package", "clew"),
    ),
    Tool(
        "pipx",
        "pipx_metadata.json",
        ("runpip", "clew", "list", "--outdated", "--format", "json"),
        ("upgrade", "clew"),
    ),
)


class Tooled(Struct):
    """An environment that uv or pipx made. To go back, the whole environment is kept beside it meanwhile."""

    tool: Tool
    prefix: Path
    now: str = field(default_factory=lambda: __version__)

    @property
    def kind(self) -> str:
        return self.tool.name

    @property
    def launcher(self) -> Path:
        return self.prefix / "bin" / "clew"

    @property
    def _copy(self) -> Path:
        return self.prefix.with_name(f"{self.prefix.name}.before-update")

    def find(self, tell: Say) -> Found:
        source = _source()
        tell(say("update.checking", what=source or self.tool.name))
        if source is not None:
            return Found(self.now, _newest_in(Path(source) / "src" / "clew") or self.now)
        command = [word.format(python=self.prefix / "bin" / "python") for word in self.tool.outdated]
        listed = json.loads(self._run(*command) or "[]")
        newest = [each["latest_version"] for each in listed if each.get("name") == "clew"]
        return Found(self.now, newest[0] if newest else self.now)

    def prepare(self, tell: Say) -> None:
        self._program()
        tell(say("update.copying", path=str(self._copy)))
        self.forget()
        shutil.copytree(self.prefix, self._copy, symlinks=True)

    def update(self, found: Found, tell: Say) -> None:
        tell(say("update.updating", version=found.to, what=self.tool.name))
        self._run(*self.tool.upgrade)

    def go_back(self) -> None:
        shutil.rmtree(self.prefix, ignore_errors=True)
        self._copy.rename(self.prefix)

    def forget(self) -> None:
        shutil.rmtree(self._copy, ignore_errors=True)

    def _run(self, *words: str) -> str:
        return output_of([self._program(), *words])

    def _program(self) -> str:
        program = shutil.which(self.tool.name)
        if program is None:
            raise Refused(say("update.no_tool", tool=self.tool.name))
        return program


def _source() -> str | None:
    """The folder that clew was installed from; None if it came from an index. See PEP 610."""
    try:
        text = metadata.distribution("clew").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    url = str(json.loads(text).get("url", "")) if text else ""
    return url.removeprefix("file://") if url.startswith("file://") else None


def _newest_in(package: Path) -> str | None:
    """The version of the source in a folder, if it differs from what is installed: most changes there do not change
    the number of the version."""
    ours = _package()
    try:
        if _digest(package) == _digest(ours):
            return None
        number = _version_in((package / "support" / "version.py").read_text(encoding="utf-8"))
    except OSError:
        return None
    return number if number != __version__ else say("update.changed_source", version=number)


def _digest(package: Path) -> bytes:
    found = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            found.update(f"{path.relative_to(package)}\0".encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.digest()


def _version_in(text: str) -> str:
    return text.partition('__version__ = "')[2].partition('"')[0]
