"""Programs that run another command: no rule allows them, and a deny matches the inner command."""

from __future__ import annotations

import pytest

from clew.engine.rules.decide import decide, validated_pattern
from clew.engine.rules.read_only.safe_commands import SAFE_COMMANDS
from clew.engine.rules.shell.lenient import word_set
from clew.engine.rules.shell.wrappers import WRAPPERS
from clew.model.gates import Asked, Effect, GateKind, Policy, Rule, RuleKind, Scope
from clew.support.errors import BadInput

NAMED = word_set(
    """
    fakeroot tmux screen zellij dtach abduco setpriv bwrap firejail flatpak-spawn valgrind hyperfine nix nix-shell mise
    asdf direnv perf ssh-agent dbus-run-session xvfb-run runcon sg newgrp chpst softlimit prlimit cgexec numactl
    catchsegv rr gdbserver pdsh clusterssh parallel rush rlwrap expect dumb-init tini s6-setuidgid daemonize
    start-stop-daemon faketime proxychains torsocks torify tsocks eatmydata systemd-inhibit dotenv envdir with-contenv
    op infisical doppler chamber aws-vault sops watchexec nodemon entr reflex capsh choom cpulimit setarch linux64
    run-parts openvt logsave sshpass unbuffer ccache xterm gdb kcov bear concurrently nu elvish xonsh
"""
)


def effect(command: str, rule: Effect, pattern: str, policy: Policy = Policy.CAREFUL) -> str:
    made = Rule("01R", rule, RuleKind.COMMAND, pattern, Scope.EVERYWHERE, "", created_at=0)
    asked = Asked(GateKind.COMMAND, command, folder="/nowhere")
    return decide(asked, policy, "/nowhere", [made], 1, "01T").effect.value


@pytest.mark.parametrize("name", sorted(NAMED))
def test_no_rule_allows_a_program_that_runs_another_command(name: str) -> None:
    for command in (f"{name} rm -rf x", f"/usr/bin/{name} rm -rf x", f"bash -lc '{name} rm -rf x'"):
        for pattern in (f"{name} *", f"/usr/bin/{name} *", "*", "? *"):
            assert effect(command, Effect.ALLOW, pattern) == "ask", pattern
    with pytest.raises(BadInput, match="always asked about"):
        validated_pattern(Effect.ALLOW, RuleKind.COMMAND, f"{name} *")


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_deny_matches_the_inner_command_of_such_a_program(name: str) -> None:
    assert effect(f"{name} --option value rm -rf x", Effect.DENY, "rm *", Policy.YOLO) == "deny"


def test_no_program_is_both_safe_and_a_wrapper() -> None:
    assert WRAPPERS.isdisjoint(SAFE_COMMANDS)
