"""A plugin of another package brings all that clew's own have: settings, set-up dialogue, checks of `clew doctor`,
completion and HTTP routes. The real command line and daemon use them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from clew.config import plugins
from clew.config.plugins import BUILT_IN, RUNTIMES, SURFACES
from tests.cli.test_completion import completed
from tests.config.test_plugins import install
from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew
from tests.helpers.paths import ROOT

SURFACE = """
from collections.abc import Mapping
from dataclasses import dataclass

from clew.plugin_api import Connected, Conversation, Field, Finding, HttpReply, HttpRoute, Inbound, Name, Plugin
from clew.plugin_api import Receipt, Secret, SurfaceCan


@dataclass(frozen=True)
class Settings:
    secret: Secret
    allow: tuple[str, ...] = ()
    home: str | None = None


class Dialogue:
    SURFACE = "pager"
    FIELDS = (Field("secret", "The secret of the pager", secret=True), Field("home", "Its number"))

    async def check(values):
        return Connected("pager " + values["home"], "Page it.")


class Pager:
    name, trouble, can = "pager", "", SurfaceCan(chat=True)

    def __init__(self, config):
        self.config, self.inbox = config, None

    def resolve(self, address):
        return Conversation(self.name, address or self.config.home)

    async def run(self, inbox):
        import asyncio

        self.inbox = inbox
        await asyncio.Event().wait()

    async def send(self, outgoing):
        return Receipt(outgoing.conversation, "1")

    async def open_thread(self, parent, title):
        return None

    async def close(self):
        pass

    async def page(self, request):
        if request.headers.get("x-pager") != self.config.secret:
            return HttpReply(401)
        number, text = request.parameters["number"], request.body.decode()
        inbound = Inbound(Conversation(self.name, number), "page 1", "Ann", text, sender_id="ann")
        accepted = await self.inbox.accept(inbound)
        return HttpReply(202, accepted.fate.value.encode(), {"X-Page": number}, "text/plain")


def make(config):
    return None if config is None else Pager(config)


def checks(config, port):
    yield Finding("pager", True, f"number {config.home}, port {port}", None if port else "set a port")


def routes(surface):
    return [HttpRoute("/{number}", surface.page, summary="Page a person", max_body=100)]


PLUGIN = Plugin(
    make=make, settings=Settings, connecting=lambda: Dialogue, checks=checks, routes=routes,
    targets=lambda config: [f"pager:{config.home}"],
)


@dataclass(frozen=True)
class Desk:
    floor: int


class Desks:
    name, trouble, can = "desks", "", SurfaceCan()

    async def run(self, inbox):
        pass

    async def close(self):
        pass


DESKS = Plugin(
    make=lambda config: Desks(), settings=Mapping[Name, Desk], names=lambda config: [f"desks:{name}" for name in config]
)
"""
RUNTIME = """
from clew.plugin_api import Health, HealthState, Login, Plugin, ProgramInfo, RuntimeCan, RuntimeTrouble, Unable, say


class Flown(RuntimeTrouble):
    code, unable = "owl_flown", Unable.MISSING


class Owl:
    can = RuntimeCan()

    def __init__(self, name):
        self.name = name

    async def look(self):
        if self.name == "barn-owl":
            raise asleep()
        if self.name == "snow-owl":
            raise Flown("The snow owl has flown. Call it.", "Call it.")
        return ProgramInfo("1.2", "/usr/bin/owl", True)

    async def open(self, seat):
        raise asleep()

    async def health(self):
        return Health(HealthState.HEALTHY)

    async def close(self):
        pass


def asleep():
    return RuntimeTrouble(say("plugins.owl.asleep", name=say("plugins.owl.barn")))


def login(config, name):
    return Login(("sh", "-c", f'echo {name} "$OWL_HOME"'), {"OWL_HOME": "/nest"}) if name == "barn-owl" else None


OWLS = ("barn-owl", "snow-owl", "wood-owl")
PLUGIN = Plugin(
    make=lambda: {name: Owl(name) for name in OWLS}, names=lambda config: OWLS, environment=("OWL_HOME",), login=login,
    sentences={"asleep": ("{name} sleeps. Wake it.", "{name}在睡觉。请叫醒它。"), "barn": ("The barn owl", "仓鸮")},
)
"""
TABLE = '[surfaces.pager]\nsecret = "s3cret"\nhome = "17"\nallow = ["ann"]\n'


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    site = tmp_path / "site"
    site.mkdir()
    surfaces = {"pager": "pagerpost:PLUGIN", "desks": "pagerpost:DESKS"}
    install(site, "pagerpost", SURFACES, surfaces, SURFACE)
    install(site, "owlpost", RUNTIMES, {"owl": "owlpost:PLUGIN"}, RUNTIME)
    install(site, "brokenpost", SURFACES, {"broken": "brokenpost:PLUGIN"}, "raise RuntimeError('no paper')")
    with Clew(tmp_path / "home", env={"PYTHONPATH": f"{site}:{ROOT / 'src'}"}) as clew:
        yield clew


@pytest.mark.process
def test_its_settings_are_checked_shown_and_changed(clew: Clew) -> None:
    clew.configure(f"{SCRIPTED}{TABLE}[surfaces.desks.reception]\nfloor = 2\n")
    found = {each["key"]: each["value"] for each in clew.json("config", "get")}
    assert (found["surfaces.pager.home"], found["surfaces.pager.secret"]) == ("17", "[secret]")
    assert found["surfaces.desks.reception.floor"] == 2
    clew("config", "set", "surfaces.desks.kitchen.floor", "3")
    wrong = clew.run("config", "set", "surfaces.desks.kitchen.floor", "high")
    assert wrong.code == 1 and "surfaces.desks.kitchen.floor must be a whole number" in wrong.err
    for text, words in (
        ("[surfaces.pager]\n", "surfaces.pager needs `secret`"),
        ("[surfaces]\ndesks = []\n", "surfaces.desks must be a table of names, such as [surfaces.desks.NAME]"),
        ("[surfaces.pagr]\n", "surfaces.pagr is not a setting: did you mean `pager`?"),
    ):
        clew.configure(text)
        told = clew.run("config", "check")
        assert told.code == 1 and words in told.out, told


@pytest.mark.process
def test_its_dialogue_sets_it_up(clew: Clew) -> None:
    clew.configure(SCRIPTED)
    done = clew.run("connect", "pager", "--set", "secret=s3cret", "--set", "home=17", "--no-wait")
    assert done.code == 0 and "pager is connected as pager 17" in done.out + done.err, done
    assert "pager" in [row["name"] for row in clew.json("surfaces")]
    assert "these can: feishu, pager, telegram." in clew.run("connect", "desks").err


@pytest.mark.process
def test_its_checks_are_part_of_doctor_and_its_runtimes_are_tried(clew: Clew) -> None:
    clew.configure(f'{SCRIPTED}{TABLE}[surfaces.webhook.ci]\nsecret = "x"\n[surfaces.desks.reception]\nfloor = 2\n')
    found = {each["check"]: each for each in clew.run("doctor", "--json").json}
    assert (found["pager"]["detail"], found["pager"]["todo"]) == ("number 17, port None", "set a port")
    assert found["webhook"]["todo"].startswith("webhooks can only send; set `port`")
    assert found["surfaces"]["detail"] == "local, desks:reception, pager, webhook:ci"
    assert found["wood-owl"]["detail"] == "1.2, /usr/bin/owl, starts and is logged in"
    assert (found["barn-owl"]["ok"], found["barn-owl"]["detail"]) == (None, "The barn owl sleeps. Wake it.")
    assert (found["snow-owl"]["detail"], found["snow-owl"]["todo"]) == ("available: not installed", "Call it.")
    rows = {each["name"]: each["health"] for each in clew.json("runtimes", "--all")}
    assert (rows["snow-owl"], rows["barn-owl"]) == ("missing", "trouble")
    clew.configure('[threads]\nruntime = "barn-owl"\n')
    assert not {each["check"]: each for each in clew.run("doctor", "--json").json}["barn-owl"]["ok"]
    assert clew.run("config", "check").code == 0


@pytest.mark.process
def test_its_sentences_are_said_in_both_languages(clew: Clew) -> None:
    clew.configure(SCRIPTED)
    english, chinese = ({"LC_ALL": locale} for locale in ("C.UTF-8", "zh_CN.UTF-8"))
    for language, said in ((english, "The barn owl sleeps. Wake it."), (chinese, "仓鸮在睡觉。请叫醒它。")):
        assert said in clew.run("doctor", env=language).out  # the check runs in the command itself
        failed = clew.run("run", "--runtime", "barn-owl", "hello", env=language)  # the daemon says it
        assert failed.code == 1 and said in failed.err + failed.out, failed


@pytest.mark.process
def test_a_sentence_without_a_language_is_a_trouble_that_doctor_shows(clew: Clew, tmp_path: Path) -> None:
    code = 'from clew.plugin_api import Plugin\nPLUGIN = Plugin(make=list, sentences={"one": ("{a} is one", "{b}")})'
    install(tmp_path / "site", "halfpost", RUNTIMES, {"half": "halfpost:PLUGIN"}, code)
    clew.configure(SCRIPTED)
    assert "its sentence one must be a pair, English and Chinese" in clew.run("doctor").out


@pytest.mark.process
def test_its_variables_are_passed_to_a_service_and_its_login_is_run(clew: Clew) -> None:
    clew.configure(SCRIPTED)
    unit = clew.run("service", "install", "--print", env={"OWL_HOME": "/owls", "CODEX_HOME": "/c", "OTHER": "x"}).out
    assert all(text in unit for text in ("OWL_HOME", "/owls", "CODEX_HOME")) and "OTHER" not in unit
    assert clew.run("login", "barn-owl").out == "barn-owl /nest\n"
    assert "Log in with wood-owl's own program" in clew.run("login", "wood-owl").err


@pytest.mark.process
def test_completion_offers_its_chats_targets_and_runtimes(clew: Clew) -> None:
    telegram = '[surfaces.telegram]\ntoken = "x"\nhome = "42"\n[surfaces.feishu]\napp_secret = "x"\n'
    clew.configure(f"{SCRIPTED}{TABLE}{telegram}")
    assert completed(clew, "clew start --notify ", 3) == ["local", "pager:17", "telegram"]
    assert completed(clew, "clew handoff 01 ", 3) == ["pager", "telegram"]
    assert completed(clew, "clew ping wood", 2) == ["wood-owl"]
    assert completed(clew, "clew connect ", 2) == ["feishu", "pager", "telegram"]
    assert completed(clew, "clew config get surfaces.pager.", 3) == [
        "surfaces.pager.secret",
        "surfaces.pager.allow",
        "surfaces.pager.home",
    ]


@pytest.mark.process
def test_its_routes_are_served_without_the_token_of_clew(clew: Clew) -> None:
    clew.configure(f"{SCRIPTED}{TABLE}[http]\nport = 0\n")
    clew.up()
    address = clew.json("status")["daemon"]["http"]
    with httpx.Client(base_url=address, timeout=TIMEOUT) as client:
        page = client.post("/surfaces/pager/17", content="!text hi", headers={"X-Pager": "s3cret"})
        assert (page.status_code, page.text, page.headers["x-page"]) == (202, "turn", "17")
        assert client.post("/surfaces/pager/17", content="!text hi").status_code == 401
        large = client.post("/surfaces/pager/17", content="x" * 101, headers={"X-Pager": "s3cret"})
        assert (large.status_code, large.json()["code"]) == (413, "too_large")
        assert client.get("/api/threads").status_code == 401
        token = {"Authorization": f"Bearer {clew('token').strip()}"}
        described = client.get("/openapi.json", headers=token).json()["paths"]
    assert described["/surfaces/pager/{number}"]["post"]["summary"] == "Page a person"
    assert "/surfaces/webhook/{name}" in described


def test_only_a_runtime_knows_the_variables_of_its_agent() -> None:
    source, own = ROOT / "src" / "clew", ("runtimes", "texts", "cli/commands/codex.py")
    paths = [path for path in source.rglob("*.py") if not any(path.is_relative_to(source / each) for each in own)]
    assert plugins.environment() == ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME"]
    named = re.compile("|".join(f"[\"']{name}[\"']" for name in plugins.environment()))
    assert {path.name for path in paths if named.search(path.read_text(encoding="utf-8"))} == set()


IMPORTED = """
import sys
import clew.daemon.main
from pathlib import Path
from clew.config import settings
from clew.daemon.assemble import assemble
from clew.process.scan import Marks
from clew.support.clock import SystemClock
from clew.support.home import Home
config = settings.parse(sys.argv[2], "config.toml")
assemble(config, SystemClock(), Home(Path(sys.argv[1])), Marks("s", "i"), lambda outgoing: False)
print(*(name for name in sys.modules if name.startswith("clew.")))
"""
READ = "import sys; from clew.config import settings; settings.parse(sys.argv[1], 'x'); print(*sys.modules)"


def imported(code: str, *args: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def below(modules: set[str], package: str) -> set[str]:
    return {name.removeprefix(f"{package}.").partition(".")[0] for name in modules if name.startswith(f"{package}.")}


@pytest.mark.process
def test_a_daemon_imports_no_surface_or_agent_that_is_not_configured(tmp_path: Path) -> None:
    plain = imported(IMPORTED, str(tmp_path), "")
    assert below(plain, "clew.surfaces.telegram") == below(plain, "clew.surfaces.feishu") == {"settings"}
    assert below(plain, "clew.testing") == {"scripted_plugin"}
    assert not below(plain, "clew.runtimes.acp") & {"session", "connection", "open_session", "client", "approvals"}
    used = imported(IMPORTED, str(tmp_path), '[surfaces.telegram]\ntoken = "x"\n')
    assert "clew.surfaces.telegram.surface" in used and "clew.surfaces.feishu.surface" not in used


@pytest.mark.process
def test_reading_settings_imports_no_heavy_parts_and_no_package_metadata() -> None:
    text = """
    [runtimes.codex]
    model = "x"
    [runtimes.acp.goose]
    command = ["goose", "acp"]
    [runtimes.scripted]
    enabled = true
    [surfaces.telegram]
    token = "x"
    [surfaces.feishu]
    app_id = "cli_1"
    [surfaces.webhook.ci]
    secret = "x"
    """
    found = {name for name in imported(READ, text) if name.startswith(("clew.runtimes.", "clew.surfaces."))}
    allowed = {value.partition(":")[0] for group in BUILT_IN.values() for value in group.values()}
    settings = {name for name in found if name.endswith(".settings")}
    assert found - settings - allowed == {"clew.runtimes.acp.agents"}
    assert "importlib.metadata" not in imported(READ, text)
