"""The commands that the lenient parser finds, for deny rules; and the tables of both parsers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.engine.rules.shell.lenient import always_asked_part, always_asks, possible_commands
from clew.engine.rules.shell.strict import parse_commands

PLAIN = {
    "ls": ("ls",),
    "  ls   -la  ": ("ls", "-la"),
    "pytest -q tests/engine": ("pytest", "-q", "tests/engine"),
    "/bin/bash -lc 'pytest -q'": ("pytest", "-q"),
    "bash -lc pwd": ("pwd",),
    "sh -c 'ls a'": ("ls", "a"),
    "zsh -lc 'ls a'": ("ls", "a"),
    "/usr/bin/bash -c 'ls a'": ("ls", "a"),
    "/bin/bash -lc \"echo 'a b'\"": ("echo", "a b"),
    "bash -lc \"bash -c 'ls -la'\"": ("ls", "-la"),
    '/bin/bash -lc \'git commit -m "it\'"\'s done\\""': ("git", "commit", "-m", "it's done"),
    "echo 'a;b' 'x $y' '`z`' '*' '~'": ("echo", "a;b", "x $y", "`z`", "*", "~"),
    'grep "a b" "c;d|e>f(g)*"': ("grep", "a b", "c;d|e>f(g)*"),
    "pre'f'\"i\"x --opt='a b'": ("prefix", "--opt=a b"),
    "echo ''": ("echo", ""),
    "echo 你好 été": ("echo", "你好", "été"),
    "pip install a==1.0 --index-url=https://x:1/y,z@v+%20": (
        *("pip", "install", "a==1.0", "--index-url=https://x:1/y,z@v+%20"),
    ),
}

NOT_PLAIN = [
    *("", " ", "''", '""', "'' ls", "\t", "\n"),
    *("ls;rm x", "ls ; rm x", "ls&&rm x", "ls || rm x", "ls | sh", "ls & rm x", "ls &", "ls\nrm x", "ls\r\nrm x"),
    *("ls $(rm x)", "ls `rm x`", 'ls "$(rm x)"', 'ls "`rm x`"', "$(echo rm) x", "`echo rm` x"),
    *("ls $HOME", "ls ${HOME}", 'ls "$HOME"', "ls$IFS-la", "ls${IFS}-la", "$IFS", "ls $'a'", 'ls $"a"', "ls $((1+1))"),
    *("cat <<EOF\nx\nEOF", "cat <<< x", "cat < x", "ls > x", "ls 2>&1", "ls >> x", "ls &> x", "ls >| x", "ls>x"),
    *("diff <(ls) <(ls)", "tee >(sh)", "(ls)", "{ ls; }", "{ls,-la}", "echo {a,b}", "f() { ls; }"),
    *("ls *", "ls a?", "ls [ab]", "ls ~", "ls ~/x", "ls ~root", "ls a~", "ls @(a)", "echo !!", "! ls", 'echo "a!b"'),
    *("A=b ls", "A=b", "A+=b ls", "a[0]=1 ls", "'A=b' ls", "ls =sh", "PATH=. ls", "IFS=x ls"),
    *("ls # comment", "ls #", "#ls", "ls a#b", "l\\s", "ls \\\n-la", "ls a\\ b", 'ls "a\\b"', 'ls "a\\"b"', "ls \\"),
    *("ls 'a", 'ls "a', "ls '", "'", '"', "ls 'a''b'", "ls ''''"),
    *("ls\u00a0-la", "ls\u3000x", "ls\u2003x", "ls '\u00a0'", "ls \u200bx", "ls\u2028rm", "ls \u202ex", "ls \ufeffx"),
    *("ls\x00x", "ls \x1b[0m", "ls '\x07'", "ls \x7f", "ls \x85rm", "ls\tx", "ls '\t'", "ls \udcffx", "ls \ue000"),
    *(
        "if ls",
        "while ls",
        "for x in a",
        "case x in",
        "time ls",
        "[[ a",
        "coproc ls",
        "function f",
        "do ls",
        "select x",
    ),
    *("^a^b", "ls %(x)", "ls a|b", "ls a&", "ls;", ";ls", "ls)", "[ -f x ]", "ls <x", "ls }", "ls {"),
    *("bash -lc 'ls; rm x'", "bash -lc 'ls $(rm x)'", 'bash -lc "ls \\$HOME"', "bash -lc 'ls\nrm x'", "bash -lc ''"),
    *("bash -lc 'A=b ls'", "bash -lc \"bash -c 'ls > x'\""),
    *("bash -lc ls > x", "bash -lc 'ls' & rm x", "A=b bash -lc ls", "bash -lc\u00a0ls", "bash -lc \u2028ls"),
]

ALWAYS_ASKS = [
    *("env ls", "env A=b ls", "/usr/bin/env ls", "sudo ls", "sudo -u root ls", "xargs rm", "xargs -n1 ls", "eval ls"),
    *("exec ls", "source x", ". x", "nohup ls", "timeout 5 ls", "nice ls", "command ls", "builtin ls", "doas ls"),
    *("find . -exec rm x", "find . -execdir rm", "find . -ok rm", "find . -okdir rm", "find . -delete", "busybox rm x"),
    *("find . -fprint x", "find . -fprint0 x", "find . -fprintf x y", "find . -fls x", "fd -x rm", "fd --exec rm"),
    *("bash", "bash x.sh", "./bash -c ls", "bash -x -c ls", "bash -lc ls extra", "bash -ic ls", "sh -s", "fish -c ls"),
    'bash -lc \'bash -c "bash -c \\"ls\\""\'',
    *("bash --rcfile x -c ls", "/tmp/bash -lc ls", "bin/sh -c ls", "bash -c 'bash -c \"bash -c ls\"'", "ssh host ls"),
    *("rg --pre bash . x.md", "rg -n --pre=./x y", "rg --hostname-bin ./x y", "sort -o x y", "sort -uox y"),
    *("sort y --output=x", "sort --out x y", "sort --compress-prog=./x y", "tree -o x", "tree -ao x"),
    *("git grep -O./x y", "git grep -nO./x y", "git grep --open-files-in-pager=./x y", "git -C . grep --open=./x y"),
    *("git log -1 --output=x", "git --no-pager diff --output x", "git show --outp=x", "git stash show --output=x"),
    *(
        "git fetch --upload-pack=./x .",
        "git pull --upload-pack ./x .",
        "git ls-remote --upload=./x .",
        "git bisect run x",
    ),
    *("git clone -u ./x . y", "git clone --upload-pack=./x . y", "git clone -c core.fsmonitor=./x . y"),
    *("git push --receive-pack=./x .", "git push --exec=./x .", "git archive --remote=. --exec=./x HEAD"),
    *("git rebase -x ./x HEAD~1", "git rebase --exec ./x HEAD~1", "git difftool -yx ./x", "git difftool --extcmd=./x"),
    *("git bisect run x", "git submodule foreach ./x", "git submodule --quiet foreach ./x"),
]


def test_ordinary_programs_do_not_always_ask() -> None:
    for command in (
        *("ls -la", "pytest -q", "find . -name x", "git status", "python x.py", "environment x"),
        *(
            "rg -n --pretty x",
            "rg -o pre",
            "sort -k1,1 -u x",
            "tree -L 2 --noreport",
            "git log --oneline -5",
            "git fetch",
        ),
        *(
            "git diff --output-indicator-new=x",
            "git grep -n --or x",
            "git clean -fdx",
            "git push -u origin x",
            "sort --",
        ),
        *("git fetch -p origin", "git rebase main", "git submodule update --init", "git commit -m x", "git clone x y"),
    ):
        assert not always_asks(tuple(command.split())), command


def test_what_always_asks_is_named_with_its_option() -> None:
    assert always_asked_part(("xargs", "rm")) == "xargs"
    assert always_asked_part(("rg", "--pre=./x", "y")) == "rg --pre"
    assert always_asked_part(("/usr/bin/sort", "-uox", "y")) == "sort -o"
    assert always_asked_part(("git", "log", "--output", "x")) == "git --output"
    assert always_asked_part(("ls",)) is None


INNER = [
    *("rm -rf x", "ls; rm -rf x", "ls && rm -rf x", "ls|rm -rf x", "ls & rm -rf x", "ls\nrm -rf x", "(rm -rf x)"),
    *(
        "echo $(rm -rf x)",
        "echo `rm -rf x`",
        'echo "$(rm -rf x)"',
        'echo "`rm -rf x`"',
        'echo "a $(echo "b"; rm -rf x)"',
    ),
    *("$(echo $(rm -rf x))", 'echo "$(case a in a) rm -rf x;; esac)"', "rm -rf x 2>&1", "rm 2>/dev/null -rf x"),
    *(
        ">out rm -rf x",
        "A=b rm -rf x",
        "A=b C='d e' rm -rf x",
        "r\\m -rf x",
        "r''m -rf x",
        "'rm' -rf x",
        '"rm" "-rf" x',
    ),
    *("rm${IFS}-rf${IFS}x", "rm$IFS-rf x", "{rm,-rf,x}", "$'\\x72m' -rf x", "$'\\162m' -rf x", "rm \\\n-rf x"),
    *("sudo rm -rf x", "sudo -u root -E rm -rf x", "env A=b rm -rf x", "env -i -u X rm -rf x", "env -S 'rm -rf x'"),
    *("nohup rm -rf x &", "time rm -rf x", "time -p rm -rf x", "exec rm -rf x", "command rm -rf x", "eval 'rm -rf x'"),
    *("eval rm -rf x", "timeout -k 5 10 rm -rf x", "sudo env A=b nohup rm -rf x", "doas rm -rf x", "busybox rm -rf x"),
    *("bash -c 'rm -rf x'", "bash -lc 'ls; rm -rf x'", "sudo bash -c 'ls && rm -rf x'", "sh -x -c 'rm -rf x'"),
    *(
        'bash -lc "bash -c \'sh -c \\"rm -rf x\\"\'"',
        "bash <<< 'rm -rf x'",
        "bash <<EOF\nrm -rf x\nEOF",
        "ls #\nrm -rf x",
    ),
    *("if true; then rm -rf x; fi", "for i in a; do rm -rf x; done", "while rm -rf x; do :; done", "! rm -rf x"),
    *(
        "f() { rm -rf x; }; f",
        "{ rm -rf x; }",
        "diff <(rm -rf x) y",
        "tee >(rm -rf x)",
        "a=$(rm -rf x)",
        "${a:-$(rm -rf x)}",
    ),
    *("rm $(true) -rf x", "rm `true` -rf x", "case a in a) rm -rf x;; esac", "env --split-string='rm -rf x'"),
    *("ssh host 'rm -rf x'", "su -c 'rm -rf x'", "watch -n 1 'rm -rf x'", "coproc rm -rf x", "ls 'a\nb'; rm -rf x"),
    "find . -name y -exec rm -rf x",
    *("function f { rm -rf x; }; f", "function f() { rm -rf x; }; f", "function f\n{\nrm -rf x\n}\nf"),
    *("$a rm -rf x", '"$@" rm -rf x', "${a:-} rm -rf x", "$* rm -rf x", "$a sudo rm -rf x", "$a $b rm -rf x"),
    *("${a:-rm} -rf x", "${a:-rm -rf x}", "a=${b:-c d} rm -rf x", "a=${b:-${c} d} rm -rf x", "{,} rm -rf x"),
    *("<<<x rm -rf x", "<<<'a b' rm -rf x", "{fd}>o rm -rf x", "{fd}<o rm -rf x"),
    *("{rm,-rf} x", "sudo {rm,-rf} x", "=rm -rf x", "ls; =rm -rf x"),
    *("env -S'rm -rf x'", "env -Srm -rf x", "env -iS'rm -rf x'", "su -c'rm -rf x'"),
    *("coproc c { rm -rf x; }", "repeat 1 rm -rf x", "repeat 2 { rm -rf x }", "if [[ a ]] rm -rf x"),
    *("if [[ a ]] { rm -rf x }", "mapfile -C 'rm -rf x' -c 1 y", "readarray -C 'rm -rf x' y", "compgen -C 'rm -rf x'"),
    *("set -- rm -rf x; $@", "echo 'rm -rf x' | sh", "echo rm -rf x | sudo bash", "echo -n rm -rf x|sh -s"),
    *(
        "printf 'ls\\nrm -rf x\\n' | bash",
        "printf 'rm -rf x' |& zsh",
        "source <(echo rm -rf x)",
        ". <(echo 'rm -rf x')",
    ),
    *(
        "cat > notes.md <<'EOF'\nThe user's name\nEOF\nrm -rf x",
        "cat <<A <<-'B' > notes.md\nit's a\nA\n5\" wide\n\tB\nrm -rf x",
        "cat <<\\EOF\n# it's\nEOF\nrm -rf x",
        "ls # the user's name\nrm -rf x",
        'ls;# say "\nrm -rf x',
        "bash <<'EOF'\n# it's\nrm -rf x\nEOF",
        "bash <<'EOF'\necho it's\nrm -rf x\nEOF",
        "ssh host <<'EOF'\nit's\nrm -rf x\nEOF",
        "cat <<'EOF' | sudo sh\nit's\nrm -rf x\nEOF",
        "cat <<EOF\nit's $(rm -rf x)\nEOF",
        "cat <<EOF\nit's `rm -rf x`\nEOF",
        'git commit -m "$(cat <<\'EOF\'\n5" wide\nEOF\n)"; rm -rf x',
        "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\" # it's\nrm -rf x",
        "echo a\\\n#b; rm -rf x",
        "echo $((1 <<2)); rm -rf x\n2",
        "cat <<EOF\nit is not closed\nrm -rf x",
        'echo "$(echo "x # y")"; rm -rf x',
    ),
    *("alias a='rm -rf x'; a", 'alias a="rm -rf x"\na', "alias -g b=c a='ls; rm -rf x'", "alias a=ls b='rm -rf x'; b"),
]


@pytest.mark.parametrize("command", INNER, ids=repr)
def test_a_command_is_found_wherever_it_is_hidden(command: str) -> None:
    assert any(words[:3] == ("rm", "-rf", "x") for words in possible_commands(command)), possible_commands(command)


SAID = ["grep -r rm . | head", "grep -rl rm . | xargs cat", "git add . && echo rm x", "echo 'rm x' | tee bash.txt"]
SAID += ["cat > notes.md <<'EOF'\nrm x\nEOF", "ls # rm x", "cat <<EOF\nit's\nrm x\nEOF\nls"]


@pytest.mark.parametrize(
    "command", ["echo 'rm -rf x'", 'git commit -m "rm -rf x"', "grep rm x", "find rm -name x", *SAID]
)
def test_text_that_is_not_run_is_not_taken_for_a_command(command: str) -> None:
    assert not any(words[0] == "rm" for words in possible_commands(command))


def test_the_shell_around_a_command_is_not_a_command_itself() -> None:
    assert possible_commands("/bin/bash -lc 'ls -la'") == [("ls", "-la")]


NASTY = (
    *("${", "{a,", "{,", "{a,b}", "{a,b} ", "$a ", "<<<x ", "a | sh ", "{ ", "'' ", "repeat ", "${a:-", "env -S'a b' "),
    *("sudo ", "$(", '"$(', "bash -c 'a b' ", "a;", "'", "(", "`a", "{", "a\\", "\\'\"", '"`', "<<<", "env 'x y' "),
    *("# ", "#\n", "<<a\n", "a <<a\na\n", "<<'", "<<-\n"),
    *("|", "| a", "echo 'a b' | sh;", ". ", "=", "=a "),
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", NASTY)
def test_every_command_is_parsed_in_bounded_time(piece: str) -> None:
    command = piece * (50_000 // len(piece))
    assert possible_commands(command) is not None
    assert parse_commands(command) is None or always_asks(piece.split()[:1])


ANY = st.text(st.characters(exclude_categories=()))
SHELLISH = st.text(st.sampled_from("ab -='\"$`\\;&|<>(){}[]*?~!#\n\t/.,:@%+^é"), max_size=30)


@given(ANY | SHELLISH)
def test_any_text_gives_commands_that_each_have_a_program(command: str) -> None:
    assert all(words for words in possible_commands(command))
