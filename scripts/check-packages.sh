#!/usr/bin/env bash
# Checks Debian packages with lintian, then in a new Debian 12 made by debootstrap.  There the packages are installed, and
# their programs run without a network; with ambit-mpi they also train on two ranks.  A program is built against
# ambit-dev.  Purging the packages must leave no file behind.
# usage: check-packages.sh FOLDER
# FOLDER holds ambit_*.deb, libambit0_*.deb, ambit-dev_*.deb and, optionally, the packages of modules.  Needs root and a
# Debian mirror.
set -euo pipefail

fail() {
    echo "check-packages: $*" >&2
    exit 1
}

[ $# -eq 1 ] || { echo "usage: check-packages.sh FOLDER" >&2; exit 2; }
folder=$(realpath "$1")
cd "$(dirname "$0")/.."
shopt -s nullglob
packages=("$folder"/ambit_*.deb "$folder"/libambit*.deb "$folder"/ambit-*.deb)
[ "${#packages[@]}" -ge 3 ] || fail "$folder: expected ambit_*.deb, libambit0_*.deb and ambit-dev_*.deb there"
[ "$(id -u)" -eq 0 ] || fail "debootstrap and chroot need root"

lintian --allow-root --fail-on error,warning "${packages[@]}"
echo "lintian: no errors, no warnings"

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase bookworm "$root" >"$root.log" || fail "debootstrap: $(tail -n 5 "$root.log")"
rm "$root.log"
mkdir -p "$root/check/packages"
cp "${packages[@]}" "$root/check/packages"
sqlite3 "$root/check/shop.sqlite" "CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, placed_on TEXT,
    billing_address TEXT, shipping_address TEXT); INSERT INTO purchase VALUES (1, '2024-03-01', 'Mill Lane 2', 'Harbour 9')"
cp -r tests/support/consumer scripts/check-packages-inside.sh scripts/demo.yaml "$root/check"

# Install the dependencies of the packages.  No later step uses the network.
mapfile -t needs < <(for p in "${packages[@]}"; do dpkg-deb -f "$p" Depends; done | sed -E 's/\bambit \([^)]*\),? *//')
DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -qq --no-install-recommends satisfy -y "${needs[@]}" openmpi-bin \
    gcc pkg-config >"$root/check/log" 2>&1 || fail "apt-get: $(tail -n 5 "$root/check/log")"
unshare --mount --net --pid --fork --mount-proc="$root/proc" sh -c 'ip link set lo up && exec "$@"' loopback \
    chroot "$root" bash /check/check-packages-inside.sh
