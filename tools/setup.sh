# Sourced by ./run and ./check: functions that install packages and build. Each does nothing if nothing is missing.
# 'A|B' is one package with different names in several releases: the installed name counts, or the first that apt knows.
# Output goes to build/*.log; the terminal shows one line for a step that takes long.
set -o pipefail  # notices a command that fails before a pipe to a function below
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages_build="g++ cmake ninja-build ccache pkg-config libboost-dev nlohmann-json3-dev libsimdjson-dev
  libcli11-dev libexpat1-dev libpcre2-dev libutf8proc-dev flite1-dev libavcodec-dev libavformat-dev libavutil-dev
  libswresample-dev libsonic-dev libseccomp-dev libssl-dev libcurl4-openssl-dev zlib1g-dev"
# Libraries for speech recognition, which the program loads if they are installed.
packages_ears="libpocketsphinx5|libpocketsphinx3 pocketsphinx-en-us
  libwebrtc-audio-processing1|libwebrtc-audio-processing-1-3"
# Packages for tests/real: a separate Python, a recorder, a phonemizer for voices.
packages_real="$packages_ears python3-dev python3-venv alsa-utils espeak-ng libgtest-dev"
packages_check="$packages_ears libgtest-dev python3-dev python3-venv pocketsphinx flite sox curl ffmpeg
  openssl espeak-ng chromium zsh fish haproxy libgrpc++-dev"
packages_tidy="libgtest-dev clang-tidy-14|clang-tidy"
# For tools/package.
packages_package="g++-12 ccache cmake ninja-build nasm pkg-config make xz-utils dpkg-dev python3 ca-certificates"
# For tools/neon_check; on aarch64 neither is needed.
[ "$(uname -m)" = aarch64 ] || packages_check="$packages_check g++-aarch64-linux-gnu qemu-user"

say() { printf '%s\n' "$*" >&2; }
fail() { say "$1"; [ -z "${2:-}" ] || tail -n 25 "$2" >&2; exit 1; }

is_installed() {
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'
}

# name_here A|B...: prints the first of the names that apt knows on this machine; without any, prints the first name.
name_here() {
  local name
  for name in ${1//|/ }; do
    # grep -q would end apt-cache by a broken pipe, which pipefail reports as a failure.
    if apt-cache policy "$name" 2>/dev/null | grep '^  Candidate: [^(]' >/dev/null; then
      echo "$name"
      return
    fi
  done
  echo "${1%%|*}"
}

# missing_packages NAME...: prints the packages that are not installed, one per line.
missing_packages() {
  local package name there
  for package in "$@"; do
    there=
    for name in ${package//|/ }; do
      ! is_installed "$name" || there=yes
    done
    [ -n "$there" ] || echo "$package"
  done
}

# install_packages build|check|ears|real|package|tidy: installs missing Debian packages. Without root and
# sudo it reports the missing packages and how to install them. It then builds with the installed packages (not all
# packages are needed, and libraries may have other sources), provided that a compiler and CMake are installed.
install_packages() {
  local missing=() names=() package list="$packages_build" log="$root/build/packages.log" apt tool
  local interrupted='' on_interrupt
  [ "$1" = check ] && list="$list $packages_check"
  [ "$1" = ears ] && list="$packages_ears"
  [ "$1" = real ] && list="$packages_build $packages_real"
  [ "$1" = package ] && list="$packages_package"
  [ "$1" = tidy ] && list="$packages_build $packages_tidy"
  command -v dpkg-query >/dev/null || {
    say "this system has no Debian packages: install your system's equivalents of these Debian packages: $(echo $list)"
    return 0
  }
  mapfile -t missing < <(missing_packages $list)
  [ ${#missing[@]} -gt 0 ] || return 0
  mkdir -p "$root/build"
  if [ "$(id -u)" = 0 ]; then
    apt=(apt-get)
  elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    apt=(sudo apt-get)
  elif [ "$1" = build ] && [ -f "$root/build/release/build.ninja" ]; then
    return 0  # it was configured without them
  else
    for package in "${missing[@]}"; do names+=("$(name_here "$package")"); done
    say "missing Debian packages, and neither root nor sudo to install them: ${names[*]}"
    say "an administrator installs them with: apt-get install --no-install-recommends ${names[*]}"
    [ -n "$(missing_packages $packages_build)" ] || return 0
    for tool in c++ cmake ninja pkg-config; do command -v $tool >/dev/null || exit 1; done
    say "trying to build with what is there"
    return 0
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt+=(-o APT::Status-Fd=1)
  : >"$log"
  # Ctrl-C ends a download at once; an installation runs to its end, so that no package is half installed.
  on_interrupt=$(trap -p INT)
  trap 'interrupted=yes' INT
  "${apt[@]}" update 2>&1 | show_apt_progress "$log" || [ -n "$interrupted" ] || fail "apt-get update failed" "$log"
  for package in "${missing[@]}"; do names+=("$(name_here "$package")"); done
  [ -n "$interrupted" ] || say "installing ${#names[@]} Debian packages: ${names[*]}"
  [ -n "$interrupted" ] ||
    "${apt[@]}" install -y --no-install-recommends "${names[@]}" 2>&1 | show_apt_progress "$log" ||
    [ -n "$interrupted" ] || fail "apt-get install failed; the log is $log" "$log"
  [ -z "$interrupted" ] || { say "interrupted" && exit 130; }
  eval "${on_interrupt:-trap - INT}"
}

# show_apt_progress LOG: reads apt-get's output with APT::Status-Fd=1, and appends all lines but its states to the log.
# On terminals it shows the step, its percentage, and the remaining time, assuming the present speed.
show_apt_progress() {
  local line step='' percent said='' started left
  trap '' INT  # this function ends with apt-get
  while IFS= read -r line; do
    [[ "$line" =~ ^(dl|pm)status:[^:]*(:[a-z0-9]+)?:([0-9]+)[.,0-9]*: ]] || { echo "$line" >>"$1" && continue; }
    [ -t 2 ] || continue
    [ "$step" = "${BASH_REMATCH[1]}" ] || { step=${BASH_REMATCH[1]} started=$SECONDS left=; }
    percent=$((10#${BASH_REMATCH[3]}))
    [ "$percent" = 0 ] || left=$(((SECONDS - started) * (100 - percent) / percent))
    printf '\r\033[K  %s: %d %%%s' "$([ $step = dl ] && echo fetching || echo installing)" "$percent" \
      "${left:+, $((left / 60)):$(printf %02d $((left % 60))) left}" >&2
    said=yes
  done
  [ -z "$said" ] || printf '\n' >&2
}

# debian_mirror: prints the address of Debian's main archive in apt's configuration, not of the security archive
# or other archives.
debian_mirror() {
  local mirror=${SYRINX_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' \
    2>/dev/null | sed -n 's|/* Debian Debian$||p' | head -n 1)}
  [ -n "$mirror" ] || fail "found no Debian archive in apt's configuration: set SYRINX_DEBIAN_MIRROR to its address"
  echo "$mirror"
}

# make_clients_python: makes an empty Python in build/clients, for the clients of other vendors that tests
# use. $clients_python is its interpreter, or the system's if this fails.
make_clients_python() {
  local log="$root/build/clients.log"
  clients_python="$root/build/clients/bin/python3"
  mkdir -p "$root/build"
  [ -x "$clients_python" ] || python3 -m venv "$root/build/clients" >"$log" 2>&1
  [ -x "$clients_python" ] || clients_python=$(command -v python3)
}

# install_clients: installs missing clients. Offline, uses the installed clients, and the tests of missing
# clients are skipped.
install_clients() {
  local place="$root/build/clients" list="$root/tests/http/clients.txt" log="$root/build/clients.log"
  ! cmp -s "$list" "$place/clients.txt" || return 0
  say "installing the clients of tests/http/clients.txt (the log is build/${log##*/})"
  if "$place/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 \
    -r "$list" >>"$log" 2>&1; then
    cp "$list" "$place/clients.txt"
  else
    say "they could not be installed (offline?): the tests that need them are skipped"
  fi
}

# show_progress FOLDER LOG: prints one line for a build of more than two steps. On terminals adds a counter and the time
# left, assuming that the remaining steps take as long as the earlier ones.
show_progress() {
  local line steps='' said='' started=$SECONDS left
  while IFS= read -r line; do
    [[ "$line" =~ ^@([0-9]+)/([0-9]+)@ ]] && [ "${BASH_REMATCH[2]}" -gt 2 ] || continue
    steps=${BASH_REMATCH[2]}
    [ -n "$said" ] || say "building $steps steps into $1 (the log is $2)"
    said=yes
    [ -t 2 ] && [ "${BASH_REMATCH[1]}" -gt 0 ] || continue
    left=$(((SECONDS - started) * (steps - BASH_REMATCH[1]) / BASH_REMATCH[1]))
    printf '\r  %d of %d, %d:%02d left  ' "${BASH_REMATCH[1]}" "$steps" $((left / 60)) $((left % 60)) >&2
  done
  [ -z "$said" ] || [ ! -t 2 ] || printf '\n' >&2
}

# build DIR TARGET [-DNAME=VALUE...]: configures if needed, then builds changed files. Several files
# are compiled together, so that common headers are read only once.
build() {
  local dir="$root/build/$1" target=$2 log="$root/build/$1.log" option started=$SECONDS
  local stale=no
  shift 2
  set -- -DCMAKE_UNITY_BUILD=ON "$@"
  mkdir -p "$root/build"
  [ -f "$dir/build.ninja" ] || stale=yes
  for option in "$@"; do
    sed 's/^/-D/; s/:[A-Z]*=/=/' "$dir/CMakeCache.txt" 2>/dev/null | grep -xF -- "$option" >/dev/null ||
      stale=yes
  done
  if [ "$stale" = yes ]; then
    say "configuring build/${dir##*/}"
    cmake -S "$root" -B "$dir" -G Ninja "$@" >"$log" 2>&1 ||
      fail "cmake failed; the log is build/${log##*/}" "$log"
  fi
  # Prints nothing if nothing needs building; the check of the file lists counts as two steps.
  { NINJA_STATUS='@%f/%t@' ninja -C "$dir" "$target" 2>&1 || echo '@failed@' 2>/dev/null; } | tee "$log" |
    show_progress "build/${dir##*/}" "build/${log##*/}"
  [ "$(tail -n 1 "$log")" != '@failed@' ] || fail "the build failed; the log is build/${log##*/}" "$log"
  [ $((SECONDS - started)) -lt 5 ] || say "built in $((SECONDS - started)) s"
  local warnings
  warnings=$(grep -c 'warning: ' "$log" || true)
  [ "$warnings" = 0 ] || say "$warnings warnings; the log is build/${log##*/}"
}

# build_program [TARGET]: builds the program alone, or another target. A build folder that was configured with tests
# keeps them.
build_program() {
  local target=${1:-syrinx}
  if [ -f "$root/build/release/build.ninja" ]; then
    build release "$target"
  else
    build release "$target" -DCMAKE_BUILD_TYPE=Release -DSYRINX_TESTS=OFF
  fi
}
