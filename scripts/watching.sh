# For ./check: the programs that the tests in tests/execution run and watch with. Sourced, after `say` is defined.
# If some cannot be installed, those tests go on without them: what is not there is not run, and without strace they
# see what a command did by the files alone.

begin_programs() { # while something else is done
    fetching=''
    lacking=$(lacking_programs)
    [ -n "$lacking" ] || return 0
    if [ "$(id -u 2>/dev/null)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing$lacking for the tests of what commands do, by apt-get"
        { install_programs || { apt-get -qq update && install_programs; }; } >.venv/programs.log 2>&1 &
        fetching=$!
    fi
}

await_programs() {
    [ -z "$fetching" ] || wait "$fetching" || say "$lacking could not be installed; .venv/programs.log tells why"
    command -v strace >/dev/null 2>&1 || say 'there is no strace here, so what commands do is seen by the files alone'
}

lacking_programs() { # as apt-get names them
    for pair in strace:strace rg:ripgrep tree:tree zsh:zsh file:file; do
        command -v "${pair%:*}" >/dev/null 2>&1 || printf ' %s' "${pair#*:}"
    done
}

install_programs() { # the browser may be installed at the same moment
    # shellcheck disable=SC2086 # several names
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $lacking
}
