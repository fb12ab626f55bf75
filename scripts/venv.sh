#!/bin/sh
# Make sure that .venv in the checkout (or the folder VENV) holds this project with the given extras.
#
#   scripts/venv.sh verify                 what the demo needs
#   scripts/venv.sh test,dev PACKAGE ...   what the tests need; PACKAGEs are installed first, so that
#                                          a chosen build (a CPU-only torch, say) is there already
#
# Versions are those of constraints.txt. A stamp file per set of extras, newer than that file and
# pyproject.toml, says that there is nothing to do.
set -eu
cd "$(dirname "$0")/.."

extras=$1
shift
venv=${VENV:-.venv}
stamp=$venv/.installed-$(echo "$extras" | tr ',' '-')
if [ -x "$venv/bin/python" ] && [ -e "$stamp" ] && [ -z "$(find pyproject.toml constraints.txt -newer "$stamp")" ] &&
    "$venv/bin/python" -c 'import npu_dialect' 2>/dev/null; then
    exit 0
fi

say() { echo "$*" >&2; }
recent='import sys; sys.exit(sys.version_info < (3, 11))'

if ! [ -x "$venv/bin/python" ] || ! "$venv/bin/python" -c "$recent" 2>/dev/null; then
    python=
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$candidate" -c "$recent" 2>/dev/null; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        say "npu-dialect needs Python 3.11 or newer; found: $(${PYTHON:-python3} --version 2>&1 || echo none)."
        say "Install one (Debian 12, Ubuntu 24.04 and newer have it) and name it: make PYTHON=python3.12 ..."
        exit 1
    fi
    # Debian ships venv apart from python3.
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        package=$("$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            say "installing $package"
            DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$package" >/dev/null 2>&1 ||
                { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$package"; } >&2
        else
            say "Python's venv module is missing. Install it: sudo apt-get install $package"
            exit 1
        fi
    fi
    say "creating $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi

install() { "$venv/bin/python" -m pip install -q --disable-pip-version-check -c constraints.txt "$@" >&2; }

say "installing npu-dialect[$extras] into $venv"
for package in "$@"; do
    install "$package"
done
install -e ".[$extras]"
touch "$stamp"
