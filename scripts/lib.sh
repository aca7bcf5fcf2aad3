# Helpers that the scripts share: sourced, never run. Every script works from the project's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 # so that another checkout of the same files compiles nothing again

say() { printf '== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# timed WHAT COMMAND...: runs the command and says how long it took, also when it failed.
timed() {
  local what=$1 begun=$SECONDS status=0
  shift
  say "$what"
  "$@" || status=$?
  local outcome=done
  [ "$status" -eq 0 ] || outcome="failed (exit $status)"
  say "$what: $outcome in $((SECONDS - begun)) s"
  return "$status"
}

# need PACKAGE...: installs those that are not installed, with apt-get.
need() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this is not a Debian system; install by other means what Debian calls: $*"
  local installed missing=() as_root=()
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' | sed -n 's/^ii  *//p')
  for package in "$@"; do
    grep -qx -- "$package" <<<"$installed" || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "run as root, or install sudo: missing are ${missing[*]}"
    as_root=(sudo DEBIAN_FRONTEND=noninteractive)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get -qq -o Acquire::Retries=3 update
  "${as_root[@]}" apt-get -qq -y -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}" \
    >/dev/null || die "apt-get could not install ${missing[*]}"
}

# build PRESET TARGET...: configures once, then builds. CMake looks again by itself when a file appears.
build() {
  local preset=$1
  shift
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" --log-level=WARNING
  cmake --build "build/$preset" --target "$@"
}
