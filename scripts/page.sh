# For ./check: ESLint and TypeScript for the JavaScript of the page. Sourced, after `say` is defined.
# They run on Node, which need not be there: without it this step is skipped, and ./check says so. CLEW_NO_SKIPS makes
# that a failure.

page_tools=scripts/page-lint

begin_page_tools() { # while something else is done
    installing_page_tools=''
    if ! has_node || has_page_tools; then
        return 0
    fi
    say 'installing ESLint and TypeScript for the JavaScript of the page, by npm'
    install_page_tools >.venv/page-lint.log 2>&1 &
    installing_page_tools=$!
}

check_page() {
    if ! has_node; then
        skip_page 'there is no Node with npm here'
        return
    fi
    [ -z "$installing_page_tools" ] || wait "$installing_page_tools" || :
    if ! has_page_tools; then
        skip_page 'ESLint and TypeScript could not be installed (.venv/page-lint.log tells why)'
        return
    fi
    say 'eslint'
    "$page_tools/node_modules/.bin/eslint" --config "$page_tools/eslint.config.js" src/clew/server/page/static "$page_tools"
    say 'tsc'
    node "$page_tools/api_types.js"
    "$page_tools/node_modules/.bin/tsc" --project "$page_tools"
}

skip_page() { # skip_page WHY
    say "$1, so the JavaScript of the page is not checked"
    [ -z "${CLEW_NO_SKIPS:-}" ] || exit 1
}

has_node() {
    command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1
}

# The install leaves a copy of the lock that it was made from.
has_page_tools() {
    cmp -s "$page_tools/package-lock.json" "$page_tools/node_modules/ready"
}

install_page_tools() {
    (cd "$page_tools" && npm ci --include=dev --ignore-scripts --no-audit --no-fund --prefer-offline) &&
        cp "$page_tools/package-lock.json" "$page_tools/node_modules/ready"
}
