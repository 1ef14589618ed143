#!/usr/bin/env bash
# An installed folder works: programs, modules, manual pages and completion.  Other programs build with the kernels
# library and with libambit, found by CMake and by pkg-config.
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
diff -r "$root/models/detector" "$prefix/share/ambit/detector" || complain "the detector is not installed"
sqlite3 shop.sqlite <"$root/scripts/demo.sql"
"$prefix/bin/ambit-infer" detect --device cpu --db shop.sqlite --question "Show the email of each customer." --format text 2>log |
    grep -q '^    \[shop\] ' || complain "the installed detector does not answer" "$(tail -n 3 log)"
"$prefix/bin/ambit-train" doctor --device simt | grep -q '^ready: simt' || complain "the installed simt module does not work"

# built HOW COMMAND...: the consumer computes on the cpu and in the installed module
built() {
    local how=$1
    shift
    "$@" >log 2>&1 || complain "a consumer is not built by $how" "$(tail -n 5 log)"
    for device in cpu simt; do
        run 0 env AMBIT_MODULE_PATH="$modules" ./consumer $device
        grep -qx "$device: -4, 5 7 9" shown || complain "the consumer built by $how on $device" "$(cat shown)"
    done
    # shellcheck disable=SC2016 # the $ are the inner shell's
    run 0 bash -c 'echo 2 | LD_LIBRARY_PATH="$0" ./asker shop.sqlite "Show the email." "$1" "$2"' "$(dirname "$modules")" \
        "SELECT email FROM customer" "SELECT full_name FROM customer"
    grep -q '^prediction: .*"db_id":"shop"' shown || complain "the asker built by $how does not detect" "$(cat shown)"
    grep -q '^state: .*"best":"SELECT full_name FROM customer"' shown || complain "the asker built by $how does not ask" "$(cat shown)"
    rm -f consumer asker
}
by_cmake() {
    cmake -G Ninja -S "$support/consumer" -B by-cmake -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build by-cmake && mv by-cmake/consumer by-cmake/asker .
}
by_pkg_config() {
    local flags
    read -ra flags < <(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ambit.pc)") pkg-config --cflags --libs ambit)
    for header in "$prefix"/include/ambit/kernels/*.h; do
        echo "#include \"kernels/${header##*/}\"" | cc -std=gnu11 -Wall -Werror -fsyntax-only "${flags[@]}" -x c - || return 1
    done
    cc -std=c11 -o consumer "$support/consumer/main.c" "${flags[@]}" || return 1
    read -ra flags < <(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name libambit.pc)") pkg-config --cflags --libs libambit)
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -o asker "$root/examples/15-libambit.c" "${flags[@]}" &&
        echo '#include <ambit.h>' | c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "${flags[@]}" -x c++ -
}
"$prefix/bin/ambit-data" --version | grep -q 'sanitizers ON' && finish # which a consumer would need too
modules=$(dirname "$(find "$prefix" -name libambit_simt.so)")
exported=$(nm -D --defined-only "$prefix"/lib*/libambit.so "$prefix"/lib/*/libambit.so 2>/dev/null | awk '$2 == "T" { print $3 }' | sort)
declared=$(grep -o 'ambit_[a-z_]*(' "$prefix/include/ambit.h" | tr -d '(' | sort -u | grep -vx ambit_log_fn) # not empty
[ "$exported" = "$declared" ] ||
    complain "libambit exports other functions than ambit.h declares" "$(diff <(echo "$exported") <(echo "$declared"))"
built CMake by_cmake
built pkg-config by_pkg_config
for asked in 0.0 9.0; do
    sed "s/find_package(ambit/& $asked/" "$support/consumer/CMakeLists.txt" >CMakeLists.txt
    run 1 cmake -G Ninja -S . -B refused -DCMAKE_PREFIX_PATH="$prefix"
    grep -q "requested version \"$asked\"" said || complain "find_package(ambit $asked) does not name the requested version"
done
finish
