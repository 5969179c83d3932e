#!/usr/bin/env bash
# Sets up .venv with everything pinned in constraints.txt.  Safe to repeat: when nothing changed it does nothing.
#
#   scripts/bootstrap.sh            what running LIBERO needs
#   scripts/bootstrap.sh dev        everything that the tests need: ALFWorld, ROS, a small language model, a browser
#   PYTHON=/path/to/python3.12 …    use this interpreter
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:-base}

say() { printf '\033[1m[setup]\033[0m %s\n' "$*"; }
fail() { printf '[setup] %s\n' "$@" >&2; exit 1; }

is_312() { [ -x "$(command -v "$1" 2>/dev/null)" ] && "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null; }

find_python() {
  if [ -n "${PYTHON:-}" ]; then
    is_312 "$PYTHON" || fail "PYTHON=$PYTHON is not a Python 3.12 with venv. Unset it or point it at one."
    echo "$PYTHON"; return
  fi
  local candidate
  # pyenv's shims answer only for the selected version, so its versions are looked at directly.
  for candidate in python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3.12 \
      "${UV_PYTHON_INSTALL_DIR:-$HOME/.local/share/uv/python}"/cpython-3.12*/bin/python3.12 \
      /usr/local/bin/python3.12 /opt/homebrew/bin/python3.12 python3 python; do
    if is_312 "$candidate"; then echo "$candidate"; return; fi
  done
  fail "No Python 3.12 (with its venv module) was found. Install one of these ways, then run this again:" \
    "  Debian or Ubuntu:  apt-get install python3.12 python3.12-venv" \
    "  pyenv:             pyenv install 3.12" \
    "  uv:                uv python install 3.12" \
    "or say where it is:  PYTHON=/path/to/python3.12 make rollout"
}

# Software OpenGL for MuJoCo's offscreen rendering, and what OpenCV links against.
DEBIAN_PACKAGES="libegl1 libgl1-mesa-dri libosmesa6 libgl1 libgles2 libglib2.0-0"
# ALFWorld's planner and parser are built from source; the report is looked at in a real browser.
if [ "$kind" = dev ]; then DEBIAN_PACKAGES="$DEBIAN_PACKAGES g++ make chromium"; fi
system_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing="" name
  for name in $DEBIAN_PACKAGES; do
    # libglib2.0-0 is called libglib2.0-0t64 on newer releases.
    case "$(dpkg-query -W -f '${Status}\n' "$name" "${name}t64" 2>/dev/null || true)" in
      *"install ok installed"*) ;;
      *) missing="$missing $name" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  local as_root=""
  if [ "$(id -u)" != 0 ]; then
    if sudo -n true 2>/dev/null; then as_root="sudo -n"; else
      say "Rendering needs Debian packages that are missing. Run this, then call me again:"
      say "  sudo apt-get install -y --no-install-recommends$missing"
      return 0
    fi
  fi
  say "installing Debian packages:$missing"
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

fingerprint() { { cat pyproject.toml constraints.txt scripts/bootstrap.sh; pwd; } | sha256sum | cut -d' ' -f1; }

stamp=.venv/.thinktwice-setup
done_before=$(cat "$stamp" 2>/dev/null || true)
if [ -x .venv/bin/thinktwice ]; then
  # The packages of `dev` include those of `base`.
  case "$done_before" in
    "dev $(fingerprint)" | "$kind $(fingerprint)") exit 0 ;;
    "dev "*) kind=dev ;;
  esac
fi

system_packages
if ! is_312 .venv/bin/python; then
  python=$(find_python)
  say "making .venv with $("$python" --version) ($python)"
  rm -rf .venv
  "$python" -m venv .venv
fi
target=.
if [ "$kind" = dev ]; then target=".[dev]"; fi
say "installing pinned packages into .venv (about 9.5 GB with torch; one to fifteen minutes)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv ||
  fail "pip could not install uv into .venv; see the error above. Is a package index reachable?"
UV_PYTHON_DOWNLOADS=never .venv/bin/uv pip install --quiet --python .venv/bin/python -c constraints.txt -e "$target"
if [ "$kind" = dev ]; then
  # The peers that serving is tested with.  openpi-client asks for numpy<2, which its code does not need.
  .venv/bin/uv pip install --quiet --python .venv/bin/python -c constraints.txt --no-deps openpi-client openpi-server
fi
echo "$kind $(fingerprint)" > "$stamp"
say "ready. Try: .venv/bin/thinktwice doctor"
