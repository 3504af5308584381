# For ./clew link: puts a link to this checkout's launcher on the PATH. Sourced, with $here set to the checkout.

link() { # link [FOLDER]
    folder=${1:-$HOME/.local/bin}
    case $folder in
        -*)
            echo 'usage: ./clew link [FOLDER]: put a link to this clew into FOLDER, by default ~/.local/bin' >&2
            return 2
            ;;
    esac
    target=$folder/clew
    if [ -e "$target" ] && [ ! "$target" -ef "$here/clew" ]; then
        echo "clew: $target is another program. Remove it, or name another folder: ./clew link FOLDER" >&2
        return 1
    fi
    mkdir -p "$folder" && ln -sf "$here/clew" "$target" || return 1
    echo "$target"
    case :$PATH: in
        *:"$folder":*) echo 'next: cd your-project && clew run "what does this repo do?"' >&2 ;;
        *) echo "clew: $folder is not on your PATH. Add it: export PATH=\"$folder:\$PATH\"" >&2 ;;
    esac
}
