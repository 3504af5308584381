# For ./check: Debian's packages of the programs that tests use, installed by one apt-get, since two at once would fail
# at each other's lock. Sourced, after `say` is defined. Without Chromium the tests of the page are skipped; without
# strace those of what commands do see it by the files alone; of the other programs they use what is there.

begin_packages() { # while something else is done
    installing=''
    lacking=$(lacking_packages)
    [ -n "$lacking" ] || return 0
    if [ "$(id -u 2>/dev/null)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing$lacking for the tests, by apt-get"
        { install_packages || { apt-get -qq update && install_packages; }; } >.venv/packages.log 2>&1 &
        installing=$!
    fi
}

await_packages() {
    [ -z "$installing" ] || wait "$installing" || say "$lacking could not be installed; .venv/packages.log tells why"
    has_browser || say 'there is no Chromium here, so the tests of the page are skipped: install one, or set CLEW_CHROMIUM'
    command -v strace >/dev/null 2>&1 || say 'there is no strace here, so what commands do is seen by the files alone'
}

lacking_packages() { # as apt-get names them
    has_browser || printf ' chromium'
    for pair in strace:strace rg:ripgrep tree:tree zsh:zsh file:file; do
        command -v "${pair%:*}" >/dev/null 2>&1 || printf ' %s' "${pair#*:}"
    done
}

has_browser() {
    [ -n "${CLEW_CHROMIUM:-}" ] && return
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null 2>&1 && return
    done
    [ -x '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' ]
}

install_packages() { # another apt-get of the system may be at work
    # shellcheck disable=SC2086 # several names
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $lacking
}
