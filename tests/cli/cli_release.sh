#!/usr/bin/env bash
# The scripts of a release: one version everywhere, the same bytes of the source archive twice, and the checks of release.sh.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
version=$(sed -n 's/^project(ambit VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")

[ -e "$root/.git" ] || { echo "not a checkout of git" && exit 77; }
for program in data train infer; do
    "$program" --version | head -n 1 | grep -qF "ambit-$program $version " || complain "ambit-$program: its version is not $version"
done
grep -qx "version: $version" "$root/CITATION.cff" || complain "CITATION.cff: its version is not $version"
grep -q "^## \[$version\] - " "$root/CHANGELOG.md" || complain "CHANGELOG.md does not have $version"

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org

# checkout FOLDER UMASK: makes a checkout of one commit, with the sources that the scripts of a release read, and a few others.
checkout() {
    (
        umask "$2"
        mkdir "$1"
        git -C "$root" ls-files -co --exclude-standard -z -- '*.md' '*.cff' CMakeLists.txt .gitattributes .gitignore LICENSE cmake scripts data/base | tar -C "$root" --null --ignore-failed-read -T - -c 2>/dev/null | tar -C "$1" -x
        cd "$1" && git init -q && git add -A &&
            GIT_AUTHOR_DATE='2026-01-31T12:00:00Z' GIT_COMMITTER_DATE='2026-01-31T12:00:00Z' git commit -qm sources
    ) || fail "no checkout"
}
checkout one 022
checkout two 077
run 0 one/scripts/source-archive.sh "$work/archives"
archive=archives/ambit-$version.tar.gz
mv "$archive" first.tar.gz || fail "source-archive.sh wrote no $archive"
git -C two config tar.umask user
(umask 077 && cd two && scripts/source-archive.sh "$work/archives") >shown 2>said || complain "source-archive.sh in another checkout"
cmp first.tar.gz "$archive" || complain "the archive of another checkout has other bytes"
tar -xf first.tar.gz
commit=$(git -C one log -1 --format='%H %ct')
[ "$(cat "ambit-$version/cmake/commit.txt")" = "$commit" ] || complain "the archive does not know its commit"
diff -r -x .git -x commit.txt one "ambit-$version" || complain "the archive is not the commit"
run 128 one/scripts/source-archive.sh "$work/archives" no-such-commit
cat >commit.cmake <<'END'
set(CMAKE_SOURCE_DIR ${source})
include(${source}/cmake/Commit.cmake)
message("${AMBIT_COMMIT} ${AMBIT_COMMIT_DATE} ${AMBIT_COMMIT_MAIL_DATE}")
END
cmake -D source="$PWD/ambit-$version" -P commit.cmake >shown 2>said
grep -qx "${commit:0:12} 2026-01-31 Sat, 31 Jan 2026 12:00:00 +0000" said || complain "a build of the archive does not know its commit"

# refused TEXT: release.sh says it and makes nothing
refused() {
    run 1 one/scripts/release.sh
    grep -qF -- "$1" said || complain "release.sh does not say \"$1\""
    [ -z "$(ls -d one/out one/build 2>/dev/null)" ] || complain "release.sh refuses and still makes something"
}
# committed FILE EXPRESSION: FILE changed so
committed() {
    sed -i "$2" "one/$1"
    git -C one commit -q --allow-empty -am "$1"
}
echo >>one/README.md
refused "release: the checkout is not clean:  M README.md"
git -C one checkout -q README.md
touch one/new
refused "release: the checkout is not clean: ?? new"
rm one/new
committed CHANGELOG.md "s/^## \[$version\].*/## [$version] - unreleased/"
refused "expected its first heading to be \"## [$version] - YEAR-MONTH-DAY\", got \"## [$version] - unreleased\""
committed CHANGELOG.md "s/^## \[$version\].*/## [9.9.9] - 2026-01-31/"
refused "got \"## [9.9.9] - 2026-01-31\""
committed CHANGELOG.md "s/^## \[9.9.9\].*/## [$version] - 2026-01-31/"
committed CITATION.cff '/^date-released:/d'
refused 'release: CITATION.cff: expected "date-released: 2026-01-31"'
committed CITATION.cff "s/^version:.*/version: 9.9.9/"
refused "release: CITATION.cff: expected \"version: $version\""
committed CITATION.cff "s/^version:.*/version: $version\ndate-released: 2026-01-31/"
mkdir -p "one/out/$version"
run 1 one/scripts/release.sh
grep -qF "release: out/$version is there" said || complain "release.sh would write over a release"
rm -r one/out

# A release with stand-ins for suite, build and packages: the order of the calls, and the files that are left.
mkdir stand-ins
for script in test install-deps check-packages; do
    printf '#!/bin/sh\necho %s "$@" >>"%s/calls"\n[ ! -e "%s/%s-fails" ]\n' $script "$work" "$work" $script >one/scripts/$script.sh
done
# shellcheck disable=SC2016 # cpack's own
printf '#!/bin/sh\necho cpack >>"%s/calls"\nmkdir -p "$4" && echo package >"$4/ambit_%s_amd64.deb"\n' "$work" "$version" >stand-ins/cpack
printf '#!/bin/sh\necho cmake >>"%s/calls"\n' "$work" >stand-ins/cmake
chmod +x stand-ins/*
git -C one commit -qam "stand-ins"
touch check-packages-fails
run 1 env PATH="$work/stand-ins:$PATH" one/scripts/release.sh
[ ! -e one/out ] || complain "a release is left whose packages are not good"
rm check-packages-fails calls
run 0 env PATH="$work/stand-ins:$PATH" one/scripts/release.sh
[ "$(tr '\n' ' ' <calls)" = "test --all install-deps --package cmake cmake cpack check-packages build/release-$version " ] || complain "release.sh called" "$(cat calls)"
(cd "one/out/$version" && sha256sum --quiet --strict -c SHA256SUMS) || complain "SHA256SUMS is wrong"
[ "$(cd "one/out/$version" && echo *)" = "SHA256SUMS ambit-$version.tar.gz ambit_${version}_amd64.deb" ] || complain "a release holds" "$(ls "one/out/$version")"
finish
