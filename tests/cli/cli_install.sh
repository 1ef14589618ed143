#!/usr/bin/env bash
# What cmake --install puts into a folder runs from there: programs, modules, manual pages, completion.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
prefix=$work

[ -e "$bin/../lib/ambit/libambit_simt.so" ] || { echo "not everything is built, so nothing is installed" && exit 77; }
cmake --install "$bin/.." --prefix "$prefix" >"$prefix/log" 2>&1 || complain "cmake --install: $(tail -n 3 "$prefix/log")"
for program in ambit-data ambit-train ambit-infer; do
    "$prefix/bin/$program" --version >/dev/null || complain "$program does not run"
    cmp "$prefix/share/man/man1/$program.1" <("$bin/$program" man) || complain "$program: not its manual page"
    cmp "$prefix/share/bash-completion/completions/$program" <("$bin/$program" completion bash) ||
        complain "$program: not its completion"
done
for module in "$bin"/../lib/ambit/*.so; do
    [ -n "$(find "$prefix" -path "*/ambit/${module##*/}")" ] || complain "${module##*/} is not installed"
done
"$prefix/bin/ambit-train" doctor --device simt | grep -q '^ready: simt' || complain "the installed simt module does not work"
finish
