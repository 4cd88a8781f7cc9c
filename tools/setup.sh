# Sourced by ./run and ./check: packages and builds, each a no-op when nothing is missing.
# Output goes to build/*.log; the terminal shows one line for a step that takes time.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages_build="g++ cmake ninja-build ccache pkg-config libboost-dev nlohmann-json3-dev libsimdjson-dev
  libcli11-dev libpcre2-dev libutf8proc-dev flite1-dev"
packages_check="libgtest-dev python3 pocketsphinx pocketsphinx-en-us flite sox curl"

say() { printf '%s\n' "$*" >&2; }
fail() { say "$1"; [ -z "${2:-}" ] || tail -n 25 "$2" >&2; exit 1; }

# install_packages build|check: Debian packages that are not there yet.
install_packages() {
  local missing=() package list="$packages_build"
  [ "$1" = check ] && list="$list $packages_check"
  for package in $list; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local apt=(apt-get) log="$root/build/packages.log"
  mkdir -p "$root/build"
  [ "$(id -u)" = 0 ] || apt=(sudo apt-get)
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${apt[@]}" update >"$log" 2>&1 || fail "apt-get update failed" "$log"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 ||
    fail "apt-get install failed; the log is $log" "$log"
}

# build NAME [cmake options]: configures once, then builds what changed into build/NAME.
build() {
  local dir="$root/build/$1" log="$root/build/$1.log" started=$SECONDS
  shift
  mkdir -p "$root/build"
  if [ ! -f "$dir/build.ninja" ]; then
    cmake -S "$root" -B "$dir" -G Ninja "$@" >"$log" 2>&1 || fail "cmake failed; the log is $log" "$log"
  fi
  local todo
  todo=$(ninja -C "$dir" -n ${targets:-all} 2>/dev/null | grep -c '^\[' || true)
  [ "$todo" -le 2 ] || say "building $todo steps into ${dir#"$root"/} (the log is ${log#"$root"/})"
  if [ -t 2 ]; then
    # shellcheck disable=SC2086
    NINJA_STATUS='  %f of %t, %e s ' ninja -C "$dir" ${targets:-all} 2>&1 | tee "$log" |
      grep --line-buffered -oE '^  [0-9]+ of [0-9]+, [0-9.]+ s' | while read -r line; do
        printf '\r  %s ' "$line" >&2
      done || true
    [ "$todo" -le 2 ] || printf '\n' >&2
    # shellcheck disable=SC2086
    ninja -C "$dir" ${targets:-all} >>"$log" 2>&1 || fail "the build failed; the log is $log" "$log"
  else
    # shellcheck disable=SC2086
    ninja -C "$dir" ${targets:-all} >"$log" 2>&1 || fail "the build failed; the log is $log" "$log"
  fi
  [ "$todo" -le 2 ] || say "built in $((SECONDS - started)) s"
}

# The program alone when only it is asked for; the tests build the rest.
build_release() { targets=syrinx build release -DCMAKE_BUILD_TYPE=Release -DSYRINX_TESTS=OFF; }
