#!/usr/bin/env bash
# Makes a release in out/VERSION: the source archive, the Debian packages and their SHA-256 sums.  First it checks that the
# checkout is clean, that CHANGELOG.md and CITATION.cff name the version and the same date, and that all tests pass.  The
# script creates no tag and uploads nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

refuse() {
    echo "release: $*" >&2
    exit 1
}

version=$(sed -n 's/^project(ambit VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ -z "$(git status --porcelain)" ] || refuse "the checkout is not clean: $(git status --porcelain | head -n 3 | tr '\n' ' ')"
heading=$(grep -m 1 '^## \[' CHANGELOG.md)
[[ $heading =~ ^"## [$version] - "([0-9]{4}-[0-9]{2}-[0-9]{2})$ ]] ||
    refuse "CHANGELOG.md: expected its first heading to be \"## [$version] - YEAR-MONTH-DAY\", got \"$heading\""
day=${BASH_REMATCH[1]}
grep -qx "version: $version" CITATION.cff || refuse "CITATION.cff: expected \"version: $version\""
grep -qx "date-released: $day" CITATION.cff || refuse "CITATION.cff: expected \"date-released: $day\", as CHANGELOG.md says"
out=out/$version
[ ! -e "$out" ] || refuse "$out is there: remove it to make the release again"

scripts/test.sh --all
scripts/install-deps.sh --package
cmake --preset package
cmake --build --preset package -j "$(nproc)"
made=build/release-$version
rm -rf "$made"
scripts/source-archive.sh "$made"
cpack --preset package -B "$PWD/$made/cpack"
mv "$made"/cpack/*.deb "$made"
rm -r "$made/cpack"
scripts/check-packages.sh "$made"
(cd "$made" && sha256sum -- * >SHA256SUMS)
mkdir -p out
mv "$made" "$out"
echo "$out:"
cat "$out/SHA256SUMS"
echo "next: git tag -a v$version, and upload the files"
