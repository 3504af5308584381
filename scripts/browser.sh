# For ./check: a Chromium for the tests of the page. Sourced, after `say` is defined.
# Where there is none and none can be installed, those tests are skipped, and it is said.

begin_browser() { # while something else is done
    installing=''
    has_browser && return
    if [ "$(id -u 2>/dev/null)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say 'installing Chromium for the tests of the page, by apt-get'
        { install_browser || { apt-get -qq update && install_browser; }; } >.venv/browser.log 2>&1 &
        installing=$!
    fi
}

await_browser() {
    [ -z "$installing" ] || wait "$installing" || say 'Chromium could not be installed; .venv/browser.log tells why'
    has_browser || say 'there is no Chromium here, so the tests of the page are skipped: install one, or set CLEW_CHROMIUM'
}

has_browser() {
    [ -n "${CLEW_CHROMIUM:-}" ] && return
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null 2>&1 && return
    done
    [ -x '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' ]
}

install_browser() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
}
