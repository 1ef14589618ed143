#!/usr/bin/env bash
# Checks Debian packages: lintian has nothing to say; in a Debian 12 that debootstrap makes anew they install, their
# programs run without a network, on two ranks too where ambit-mpi is among them, a program of somebody else's is built on
# ambit-dev, and purging leaves no file behind.
# usage: check-packages.sh FOLDER    with ambit_*.deb, ambit-dev_*.deb and perhaps those of modules; as root, with a mirror
set -euo pipefail

fail() {
    echo "check-packages: $*" >&2
    exit 1
}

[ $# -eq 1 ] || { echo "usage: check-packages.sh FOLDER" >&2; exit 2; }
folder=$(realpath "$1")
cd "$(dirname "$0")/.."
shopt -s nullglob
packages=("$folder"/ambit_*.deb "$folder"/ambit-*.deb)
[ "${#packages[@]}" -ge 2 ] || fail "$folder: expected ambit_*.deb and ambit-dev_*.deb there"
[ "$(id -u)" -eq 0 ] || fail "debootstrap and chroot need root"

lintian --allow-root --fail-on error,warning "${packages[@]}"
echo "lintian: no errors, no warnings"

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase bookworm "$root" >"$root.log" || fail "debootstrap: $(tail -n 5 "$root.log")"
rm "$root.log"
mkdir -p "$root/check/packages"
cp "${packages[@]}" "$root/check/packages"
cp -r tests/support/consumer scripts/check-packages-inside.sh scripts/demo.yaml "$root/check"

# What the packages ask for is fetched; from there on nothing is.
mapfile -t needs < <(for p in "${packages[@]}"; do dpkg-deb -f "$p" Depends; done | sed -E 's/\bambit \([^)]*\),? *//')
DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qq --no-install-recommends satisfy -y "${needs[@]}" \
    gcc pkg-config >"$root/check/log" 2>&1 || fail "apt-get: $(tail -n 5 "$root/check/log")"
unshare --mount --net --pid --fork --mount-proc="$root/proc" sh -c 'ip link set lo up && exec "$@"' loopback \
    chroot "$root" bash /check/check-packages-inside.sh
