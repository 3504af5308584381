# For ./check: the real Claude Code, for the tests of its runtime. Sourced, with $here set, after `say` is defined.
# It is the version of scripts/claude/package.json (371 MB), in a cache outside of the checkout, which all checkouts
# share. Where it cannot be installed, its tests are skipped, and it is said. CLEW_CLAUDE names another program.

claude_version() { # as package.json pins it
    while read -r name version; do
        [ "$name" != '"@anthropic-ai/claude-code":' ] || echo "$version"
    done <"$here/scripts/claude/package.json" | while IFS='"' read -r _ version _; do echo "$version"; done
}
claude_cache=${XDG_CACHE_HOME:-${HOME:-$here/.venv}/.cache}/clew/claude-code-$(claude_version)

use_claude() { # whatever else is done
    if [ -z "${CLEW_CLAUDE:-}" ] && [ -f "$claude_cache/ready" ]; then
        read -r CLEW_CLAUDE <"$claude_cache/ready"
        export CLEW_CLAUDE
    fi
}

begin_claude() { # while something else is done
    installing_claude=''
    use_claude
    if [ -n "${CLEW_CLAUDE:-}" ] || ! command -v npm >/dev/null 2>&1; then
        return 0
    fi
    say 'installing Claude Code for the tests of its runtime, by npm'
    install_claude >.venv/claude.log 2>&1 &
    installing_claude=$!
}

await_claude() {
    [ -z "$installing_claude" ] || wait "$installing_claude" ||
        say 'Claude Code could not be installed; .venv/claude.log tells why'
    use_claude
    [ -n "${CLEW_CLAUDE:-}" ] || command -v claude >/dev/null 2>&1 ||
        say 'there is no Claude Code here, so the tests of its runtime are skipped: install npm, or set CLEW_CLAUDE'
}

# Two checkouts may do this at once: each installs into a folder of its own, and the last to finish wins.
install_claude() {
    made=$claude_cache.$$
    mkdir -p "$made" && cp scripts/claude/package.json scripts/claude/package-lock.json "$made" &&
        (cd "$made" && npm ci --include=dev --include=optional --ignore-scripts --no-audit --no-fund) &&
        program=$(find_claude "$made/node_modules/@anthropic-ai") && "$program" --version &&
        rm -rf "$claude_cache" && mv "$made" "$claude_cache" &&
        find_claude "$claude_cache/node_modules/@anthropic-ai" >"$claude_cache/ready" && return
    rm -rf "$made"
    return 1
}

# The program is in the package of the platform; the main package would copy it from there by a script.
find_claude() {
    for found in "$1"/claude-code-*/claude; do
        [ -x "$found" ] && "$found" --version >/dev/null 2>&1 && echo "$found" && return
    done
    return 1
}
