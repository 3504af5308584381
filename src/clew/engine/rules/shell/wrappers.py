"""Programs that run another command that is among their arguments. Their own name says nothing about what happens, so
no rule can allow them, and a deny checks the inner command. Data only, in the groups of docs/reference/rules.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_AS_ANOTHER_USER = """
    sudo sudoedit doas su pkexec runuser run0 sg newgrp gosu su-exec setpriv setuidgid capsh runcon newrole sandbox
    aa-exec kdesu gksu gksudo dzdo please
"""
_ON_ANOTHER_SYSTEM = """
    ssh autossh mosh sshpass rsh dbclient pdsh dsh clush pssh parallel-ssh mussh cssh clusterssh csshX ansible chroot
    fakechroot schroot arch-chroot systemd-nspawn unshare nsenter lxc-attach lxc-execute proot bwrap firejail
    flatpak-spawn sandbox-exec minijail0 nsjail toolbox distrobox distrobox-enter wsl arch setarch linux32 linux64 i386
    x86_64 qemu-x86_64 qemu-aarch64 wine wine64 mpirun mpiexec srun sbatch salloc qsub bsub
"""
_AROUND_A_COMMAND = """
    env xargs parallel sem rush pexec nohup time gtime timeout gtimeout multitime nice ionice choom chrt taskset numactl
    prlimit cpulimit cgexec softlimit chpst setsid stdbuf gstdbuf unbuffer script scriptlive watch viddy hwatch flock
    lckdo setlock lockrun chronic ifne systemd-run systemd-inhibit systemd-cat caffeinate taskpolicy busybox toybox at
    batch fakeroot fakeroot-ng pseudo faketime eatmydata rlwrap ledit expect autoexpect openvt logsave run-parts daemon
    daemonize start-stop-daemon nq retry xvfb-run dbus-run-session dbus-launch startx xinit ssh-agent gpg-agent ld.so
    ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 distcc ccache sccache icecc
"""
_TERMINALS = """
    tmux tmate screen byobu zellij dtach abduco ttyd gotty asciinema xterm uxterm rxvt urxvt alacritty kitty wezterm
    foot st konsole gnome-terminal kgx terminator tilix xfce4-terminal x-terminal-emulator ghostty
"""
_SUPERVISORS = """
    tini dumb-init catatonit s6-svscan s6-supervise s6-setuidgid s6-envdir s6-envuidgid s6-applyuidgid s6-softlimit
    s6-setlock s6-setsid s6-sudo s6-notifyoncheck s6-fghack execlineb with-contenv runsv runsvdir envdir envuidgid
    supervise fghack pgrphack argv0 tcpserver tcpsvd udpsvd inetd xinetd foreman forego overmind hivemind honcho goreman
    circusd pm2 forever supervisord
"""
_MEASURING = """
    strace ltrace dtruss dtrace ktrace truss bpftrace perf valgrind heaptrack hyperfine gdb lldb gdbserver lldb-server
    rr catchsegv uftrace operf ocount vtune ncu nsys nvprof instruments xctrace leaks samply flamegraph py-spy memray
    scalene austin kcov checkinstall bear intercept-build scan-build compiledb
"""
_ENVIRONMENTS = """
    nix nix-shell nix-user-chroot guix devbox devenv flox mise rtx asdf direnv shadowenv dotenv dotenvx godotenv env-cmd
    cross-env cross-env-shell envconsul consul-template envchain nvm fnm volta nodenv pyenv rbenv jenv goenv aws-vault
    aws-okta saml2aws granted assume awsume chamber doppler infisical op sops teller summon berglas vaultenv
"""
_PROXIES = "proxychains proxychains4 torsocks torify tsocks socksify usewithtor graftcp"
_WATCHERS = """
    entr watchexec watchman-make nodemon onchange chokidar reflex ptw pytest-watch watchmedo rerun cargo-watch
    concurrently npm-run-all run-s run-p run-pty
"""
_OTHER_SHELLS = "rbash rksh rzsh lksh yash posh sash rc es elvish nu nushell xonsh osh ysh oil ion murex slsh scsh"
_SHELL_BUILTINS = "exec command builtin eval source . - trap coproc alias noglob nocorrect"

_GROUPS = (
    *(_AS_ANOTHER_USER, _ON_ANOTHER_SYSTEM, _AROUND_A_COMMAND, _TERMINALS, _SUPERVISORS, _MEASURING, _ENVIRONMENTS),
    *(_PROXIES, _WATCHERS, _OTHER_SHELLS, _SHELL_BUILTINS),
)
_ALWAYS: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRAPPERS = _words(" ".join(_GROUPS))
INTERPRETERS = _words(
    "python pypy node nodejs deno bun tsx ts-node ruby perl php lua Rscript julia"
)  # they run the script that they are given; a number may follow, as in `python3.11`
FINDERS = frozenset({"find", "gfind", "bfs", "fd", "fdfind"})  # these run a command only with certain options

# These run another command too, if one of these words precedes it (none: always). They have many other uses, so a rule
# may allow them; but a deny checks the inner command.
LAUNCHERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(_words("npx pnpx bunx uvx rushx pnpm yarn yarnpkg bun corepack lima chruby-exec"), _ALWAYS),
        **dict.fromkeys(
            _words("uv rye pdm poetry pipenv hatch pipx conda mamba micromamba rustup heroku"), _words("run")
        ),
        **dict.fromkeys(
            _words("bundle bundler opam stack cabal dune lerna nx lxc incus multipass tox"), _words("exec")
        ),
        **dict.fromkeys(_words("docker podman nerdctl docker-compose podman-compose pixi"), _words("run exec")),
        **dict.fromkeys(_words("kubectl oc"), _words("run exec rsh debug")),
        **dict.fromkeys(_words("npm deno"), _words("exec x")),
        **dict.fromkeys(_words("python pypy"), _words("-m")),
        **dict.fromkeys(_words("vagrant fly flyctl gcloud"), _words("-c -C --command")),
        "git": _words("foreach run -x --exec"),
        "rvm": _words("do exec"),
        "just": _words("-c --command"),
        "make": _words("--eval"),
    }
)

# Options, and words, by which a program of which a rule may allow other uses runs a command or writes a file that it is
# given. Its name promises neither, so no rule allows them.
ASKED_OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "rg": _words("--pre --hostname-bin"),
        **dict.fromkeys(_words("sort gsort"), _words("-o --output --compress-program")),
        "tree": _words("-o"),
    }
)
ASKED_GIT_OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(
            _words("diff log show stash reflog whatchanged range-diff diff-tree diff-index diff-files"),
            _words("--output"),
        ),
        "grep": _words("-O --open-files-in-pager"),
        **dict.fromkeys(_words("fetch pull ls-remote fetch-pack"), _words("--upload-pack")),
        "clone": _words("-u -c --upload-pack --config --template"),
        **dict.fromkeys(_words("push send-pack"), _words("--receive-pack --exec")),
        "archive": _words("--exec"),
        "rebase": _words("-x --exec"),
        "difftool": _words("-x --extcmd"),
        "bisect": _words("run"),
        "submodule": _words("foreach"),
    }
)
