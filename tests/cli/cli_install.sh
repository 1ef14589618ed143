#!/usr/bin/env bash
# What cmake --install puts into a folder runs from there: programs, modules, manual pages, completion.
set -u
bin=$(realpath "${AMBIT_BIN:-build/release/bin}")
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
failed=0

fail() {
    echo "$*"
    failed=1
}

[ -e "$bin/../lib/ambit/libambit_simt.so" ] || { echo "not everything is built, so nothing is installed" && exit 77; }
cmake --install "$bin/.." --prefix "$prefix" >"$prefix/log" 2>&1 || fail "cmake --install: $(tail -n 3 "$prefix/log")"
for program in ambit-data ambit-train ambit-infer; do
    "$prefix/bin/$program" --version >/dev/null || fail "$program does not run"
    cmp "$prefix/share/man/man1/$program.1" <("$bin/$program" man) || fail "$program: not its manual page"
    cmp "$prefix/share/bash-completion/completions/$program" <("$bin/$program" completion bash) ||
        fail "$program: not its completion"
done
for module in "$bin"/../lib/ambit/*.so; do
    [ -n "$(find "$prefix" -path "*/ambit/${module##*/}")" ] || fail "${module##*/} is not installed"
done
"$prefix/bin/ambit-train" doctor --device simt | grep -q '^ready: simt' || fail "the installed simt module does not work"
[ $failed = 0 ] && echo "programs, modules, manual pages and completion are installed"
exit $failed
