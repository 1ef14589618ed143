#!/usr/bin/env bash
# Writes ambit-VERSION.tar.gz of a commit.  The archive is reproducible: the same commit always gives the same bytes.
# usage: source-archive.sh [FOLDER [COMMIT]]    default: build and HEAD
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build} commit=${2:-HEAD}

version=$(git show "$commit:CMakeLists.txt" | sed -n 's/^project(ambit VERSION \([0-9.]*\) .*/\1/p')
[ -n "$version" ] || { echo "source-archive: CMakeLists.txt of $commit: expected a line project(ambit VERSION ...)" >&2; exit 1; }
archive=$folder/ambit-$version.tar.gz
mkdir -p "$folder"
trap 'rm -f "$archive.tmp"' EXIT
git -c tar.umask=0022 archive --format=tar --prefix="ambit-$version/" "$commit" | gzip -9n >"$archive.tmp"
mv "$archive.tmp" "$archive"
echo "$archive"
