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
    for source in "$root/${program#ambit-}"/cmd/cmd_*.c; do
        command=$(basename "$source" .c)
        command=${command#cmd_}
        cmp "$prefix/share/man/man1/$program-$command.1" <("$bin/$program" man "$command") ||
            complain "$program $command: not its manual page"
    done
    while read -r shell script; do
        cmp "$prefix/share/$script" <("$bin/$program" completion "$shell") || complain "$program: not its completion for $shell"
    done <<END
bash bash-completion/completions/$program
zsh zsh/site-functions/_$program
fish fish/vendor_completions.d/$program.fish
END
done
for module in "$bin"/../lib/ambit/*.so; do
    [ -n "$(find "$prefix" -path "*/ambit/${module##*/}")" ] || complain "${module##*/} is not installed"
done
"$prefix/bin/ambit-train" doctor --device simt | grep -q '^ready: simt' || complain "the installed simt module does not work"
finish
