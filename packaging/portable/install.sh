#!/bin/sh
# Copies Syrinx from the unpacked archive into a folder, or removes it from there. It also runs from the
# unpacked folder: bin/syrinx say "Hello."
#   ./install.sh [FOLDER]            /usr/local as root, else ~/.local
#   ./install.sh --remove [FOLDER]
# With systemd and as root: systemctl enable --now syrinx, afterwards.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
remove=
if [ "${1:-}" = --remove ]; then remove=yes && shift; fi
case ${1:-} in -*) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 2 ;; esac
if [ "$(id -u)" = 0 ]; then folder=${1:-/usr/local}; else folder=${1:-$HOME/.local}; fi
files() { (cd "$here" && find bin include lib share ! -type d); }
if [ -n "$remove" ]; then
  files | while read -r name; do rm -f "$folder/$name"; done
  rm -rf "$folder/share/syrinx" "$folder/share/doc/syrinx"
  echo "removed from $folder"
  exit
fi
"$here/bin/syrinx" --version >/dev/null || {
  echo "this machine cannot run the program: it needs Linux and the GNU C library 2.31 or newer" >&2
  exit 1
}
files | while read -r name; do
  mkdir -p "$folder/$(dirname "$name")"
  cp -P "$here/$name" "$folder/$name.new" && mv "$folder/$name.new" "$folder/$name"
done
folder=$(cd "$folder" && pwd)
unit=$folder/lib/systemd/system/syrinx.service
sed "s|^ExecStart=[^ ]*|ExecStart=$folder/bin/syrinx|" "$here/lib/systemd/system/syrinx.service" >"$unit"
echo "installed: $folder/bin/syrinx"
case ":$PATH:" in *":$folder/bin:"*) ;; *) echo "note: $folder/bin is not in PATH" ;; esac
