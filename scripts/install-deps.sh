#!/usr/bin/env bash
# Installs the packages that build and test ambit on Debian 12, and does nothing if they are all installed.
# usage: install-deps.sh [--lint | --package]
# --lint adds the linters, and clang for its presets.  --package adds the tools that make and check Debian packages.
set -euo pipefail

packages=(
    build-essential cmake ninja-build pkg-config
    libjansson-dev   # JSON
    libhdf5-dev      # checkpoints and the cache of encoder outputs
    libsqlite3-dev   # schemas of SQLite files, execution
    libyaml-dev      # configuration files
    libutf8proc-dev  # Unicode decomposition for tokenizers
    libpcre2-dev     # the regular expressions of byte-level tokenizers
    liblzma-dev zlib1g-dev # record files compressed as .xz and .gz
    libzstd-dev      # record files compressed as .zst
    libcurl4-openssl-dev # client of language-model servers
    wordnet-base     # nouns and their synonyms, compiled in
    libopenblas-dev  # matrix products on any CPU
    libdnnl-dev      # oneDNN: faster matrix products, bf16
    libopenmpi-dev openmpi-bin # training over several ranks
    libmicrohttpd-dev # HTTP server of ambit-infer ask --serve
    libedit-dev # arrow keys and history in dialogues at a terminal
    libcmocka-dev clang-format # tests and style checks
    curl             # HTTP client of the tests
    python3          # tests of the Python package, and its wheel
    sqlite3          # shell that creates databases for tests and examples
)
[ "${1:-}" = --lint ] && packages+=(clang clang-tidy cppcheck libomp-dev shellcheck)
[ "${1:-}" = --package ] && packages+=(debootstrap file git lintian)

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install-deps: run as root, or install sudo; missing: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
