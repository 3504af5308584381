# For ./clew and ./check: is .venv as it should be, and which Python makes it? Sourced, with $here set to the checkout.
# A later start must cost next to nothing, so nothing here starts a Python unless there is something to install.

ensure() { # ensure clew|dev|lark
    ready "$1" || install "$1"
}

# The install leaves copies of what it was made from. The place is one of them: a venv cannot be moved.
ready() {
    stamp=$here/.venv/ready
    [ -x "$here/.venv/bin/python" ] && [ -x "$here/.venv/bin/clew" ] &&
        [ -f "$stamp/place" ] && read -r place <"$stamp/place" && [ "$place" = "$here" ] &&
        cmp -s "$here/pyproject.toml" "$stamp/pyproject.toml" &&
        cmp -s "$here/requirements/$1.lock" "$stamp/$1.lock"
}

install() {
    python=$(find_python) || exit 1
    "$python" "$here/scripts/install.py" "$1" || exit 1
}

find_python() {
    if [ -n "${CLEW_PYTHON:-}" ]; then
        is_new_enough "$CLEW_PYTHON" || fail "CLEW_PYTHON is $CLEW_PYTHON, which is not a Python 3.11 or newer."
        echo "$CLEW_PYTHON"
        return
    fi
    if of_the_system; then
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    if command -v uv >/dev/null 2>&1; then
        uv python find '>=3.11' 2>/dev/null || { uv python install 3.13 >&2 && uv python find 3.13; }
        return
    fi
    fail 'clew needs Python 3.11 or newer, and there is none on your PATH.' \
        'Install one, or set CLEW_PYTHON to where it is.'
}

# Linux distributions build their Python to be quick; pyenv's, say, takes a third longer for all that clew does. It also
# stays where it is when other versions come and go.
of_the_system() {
    case "$(uname 2>/dev/null):$PATH:" in Linux*:/usr/bin:*) ;; *) return 1 ;; esac
    is_new_enough /usr/bin/python3 && /usr/bin/python3 -c 'import venv, ensurepip' >/dev/null 2>&1 &&
        echo /usr/bin/python3
}

is_new_enough() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Where Python is told to write no bytecode, changed source would be compiled anew at every start.
compile_changed() {
    [ -n "${PYTHONDONTWRITEBYTECODE:-}" ] || return 0
    [ -n "$(find "$here/src" -name '*.py' -newer "$here/.venv/compiled" -print 2>&1 | head -n 1)" ] || return 0
    "$here/.venv/bin/python" -m compileall -q "$here/src" >/dev/null || :
    : >"$here/.venv/compiled"
}

fail() {
    echo "clew: $*" >&2
    exit 1
}
