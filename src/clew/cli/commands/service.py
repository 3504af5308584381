"""`clew service`: a file for the service manager of the system, which starts the daemon at login and keeps it running.

It writes the file and says what to do next; only `--enable` calls the service manager.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from clew.cli.language import phrase, sentence
from clew.cli.output import Out, json_option
from clew.support.errors import ClewError, Refused
from clew.support.home import Home

UNIT = "clew.service"
LABEL = "clew.daemon"
OURS = "written by `clew service install`"
STOP = 40  # seconds for the daemon to stop, including the grace of its turns


@dataclass(frozen=True, slots=True)
class Service:
    """The file of a service manager, its path, and the commands that load and unload it."""

    file: Path
    text: str
    enable: tuple[tuple[str, ...], ...]
    forget: tuple[tuple[str, ...], ...]
    links: tuple[Path, ...] = ()  # created when the service is enabled


@click.command("service", short_help="Start the daemon at login, by systemd or launchd.")
@click.argument("action", type=click.Choice(["install", "remove"]))
@click.option("--print", "only_print", is_flag=True, help="Only print the file and its path.")
@click.option("--enable", is_flag=True, help="Also load it in the service manager, if there is one.")
@json_option
@click.pass_obj
def service_command(out: Out, action: str, only_print: bool, enable: bool) -> None:
    """Start the daemon at login and keep it running: `install` writes a systemd user unit or a launchd agent for `clew
    up --foreground`, `remove` deletes it. Neither starts or stops anything without --enable.
    """
    home = Home.find()
    service = launchd(home, os.environ) if sys.platform == "darwin" else systemd(home, os.environ)
    if only_print:
        _print(out, service)
        return
    changed = _install(service) if action == "install" else _remove(service)
    steps = service.enable if action == "install" else service.forget
    if enable and (changed or action == "install"):
        _run(steps)
        steps = ()
    _print_result(out, service, action, changed, steps, _is_up(home))


def _print(out: Out, service: Service) -> None:
    if out.as_json:
        out.json({"file": str(service.file), "text": service.text})
        return
    out.say(phrase("cli_setup.file_would_be", file=service.file))
    print(service.text, end="")


def systemd(home: Home, environ: Mapping[str, str]) -> Service:
    folder = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
    variables = "\n".join(f"Environment={_quoted(f'{name}={value}')}" for name, value in _variables(home, environ))
    text = f"""\
# {OURS}; `clew service remove` deletes it
[Unit]
Description=clew: a durable home for the work of coding agents
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=exec
{variables}
ExecStart={" ".join(_quoted(word).replace("$", "$$") for word in _command())}
Restart=on-failure
RestartSec=1
KillMode={_kill_mode(home)}
TimeoutStopSec={STOP}

[Install]
WantedBy=default.target
"""
    reload = ("systemctl", "--user", "daemon-reload")
    enable = ("systemctl", "--user", "enable", "--now", UNIT)
    link = folder / "default.target.wants" / UNIT
    return Service(folder / UNIT, text, (reload, enable), (reload,), (link,))


def _kill_mode(home: Home) -> str:
    """A kept agent must survive a crash of the daemon. A daemon that is stopped ends it by itself."""
    from clew.config import settings
    from clew.daemon.assemble import own_runtimes

    try:
        runtimes, _ = own_runtimes("service", settings.load(home.config), keeps=home)
        keeps = any(runtime.can.outlives for runtime in runtimes.values())
    except ClewError:
        keeps = False
    return "process" if keeps else "mixed"


def launchd(home: Home, environ: Mapping[str, str]) -> Service:
    import plistlib

    file = Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    output = str(home.logs / "daemon.out")
    agent = {
        "Label": LABEL,
        "ProgramArguments": _command(),
        "EnvironmentVariables": dict(_variables(home, environ)),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ExitTimeOut": STOP,
        "StandardOutPath": output,
        "StandardErrorPath": output,
    }
    first, *rest = plistlib.dumps(agent).decode().splitlines(keepends=True)
    domain = f"gui/{os.getuid()}"
    enable = ("launchctl", "bootstrap", domain, str(file))
    forget = ("launchctl", "bootout", f"{domain}/{LABEL}")
    return Service(file, "".join([first, f"<!-- {OURS} -->\n", *rest]), (enable,), (forget,))


def _command() -> list[str]:
    return [sys.executable, "-P", "-m", "clew.process.bootstrap", "clew.cli.main", "up", "--foreground"]


def _variables(home: Home, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    from clew.config import plugins

    names = ("PATH", *plugins.environment())  # a service manager passes on hardly any
    kept = [(name, environ[name]) for name in names if environ.get(name)]
    return [("CLEW_HOME", str(home.root)), *kept]


def _quoted(text: str) -> str:
    """Quote a value for systemd: `%` would begin a specifier, and a backslash an escape."""
    if "\n" in text:
        raise Refused(sentence("cli_setup.no_line_break", line=f"{text.splitlines()[0]!r}"))
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _install(service: Service) -> bool:
    """Write the file; False if it exists already with the same text."""
    if _written(service) == service.text:
        return False
    service.file.parent.mkdir(parents=True, exist_ok=True)
    draft = service.file.with_name(f".{service.file.name}.draft")
    draft.write_text(service.text, encoding="utf-8")
    draft.replace(service.file)
    return True


def _remove(service: Service) -> bool:
    if _written(service) is None:
        return False
    for path in (service.file, *service.links):
        path.unlink(missing_ok=True)
    return True


def _written(service: Service) -> str | None:
    """The text of the existing file, if any. Raises Refused for a file that clew did not write."""
    try:
        text = service.file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(sentence("cli_setup.file_unreadable", file=service.file, error=error)) from error
    if OURS not in text:
        raise Refused(sentence("cli_setup.file_not_ours", file=service.file))
    return text


def _run(steps: tuple[tuple[str, ...], ...]) -> None:
    import shutil
    import subprocess

    for step in steps:
        if not shutil.which(step[0]):
            raise ClewError(sentence("cli_setup.not_installed", program=step[0]))
        done = subprocess.run(step, capture_output=True, text=True, errors="replace")
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split()) or phrase(
                "cli_setup.exit_code", returncode=done.returncode
            )
            raise ClewError(sentence("cli_setup.step_failed", command=" ".join(step), why=said))


def _is_up(home: Home) -> bool:
    from clew.process.start import is_answering

    return is_answering(home)


def _print_result(
    out: Out, service: Service, action: str, changed: bool, steps: tuple[tuple[str, ...], ...], is_up: bool
) -> None:
    then = [" ".join(step) for step in steps] if changed or action == "install" else []
    if then and is_up:
        then = ["clew down", *then]  # the running daemon holds the store
    words = {"install": ("written", "unchanged"), "remove": ("removed", phrase("cli_setup.not_found"))}[action][
        not changed
    ]
    out.result({"file": str(service.file), "changed": changed, "next": then}, f"{words}: {service.file}")
    for line in then:
        out.say(phrase("cli_setup.next", after=line))
    if action == "install" and sys.platform == "linux":
        out.hint(phrase("cli_setup.linger"))
