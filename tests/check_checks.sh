#!/usr/bin/env bash
# The checks themselves: each must find the violation that is put before it, and pass a tree without one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# expect CHECK FILE CONTENT WORD: the check fails on the file and says WORD; WORD "" means that it passes.
expect() {
    rm -rf "${root:?}"/*
    cp "$here/../.clang-format" "$root"
    mkdir -p "$root"/{kernels,data/{db,sql,base},models/net,train/run,infer/lm,tests/cli,bench}
    printf 'int a;\n' | tee "$root"/{kernels/base.h,kernels/tensor.h,models/net/bert.h,train/run/loop.h} >"$root/data/sql/sql.h"
    printf '%b' "$3" >"$root/$2"
    if output=$(bash "$here/$1.sh" "$root" 2>&1); then found=""; else found=$output; fi
    if [ -z "$4" ] && [ -n "$found" ] || [ -n "$4" ] && [[ "$found" != *"$4"* ]]; then
        printf '%s on %s, expected "%s":\n%s\n' "$1" "$2" "$4" "$output"
        exit 1
    fi
}

body() { printf 'void f(void)\\n{\\n'; for _ in $(seq "$1"); do printf '    g();\\n'; done; printf '}\\n'; }

expect check_layers data/db/a.c '#include "data/sql/sql.h"\n#include "kernels/base.h"\n' ""
expect check_layers data/base/a.c '#include "data/sql/sql.h"\n' "data/sql comes after it"
expect check_layers data/a.c 'int b;\n' "not a folder of the table"
expect check_layers data/db/a.c '#include "kernels/tensor.h"\n' "data may include only"
expect check_layers kernels/a.c '#include "data/sql/sql.h"\n' "kernels may not include"
expect check_layers data/db/a.c '#include "models/net/bert.h"\n' "data may not include"
expect check_layers infer/lm/a.c '#include "train/run/loop.h"\n' "infer may not include"
expect check_layers data/db/a.c '#include "sql.h"\n' "not written from the root"
expect check_layers data/db/a.c '#include "../kernels/base.h"\n' "not written from the root"
expect check_layers train/run/a.c '#include <hdf5.h>\n' "belongs in"

expect check_style data/a.c "$(body 57)" ""
expect check_style data/a.c "$(body 59)" "a function of 61 lines"
expect check_style data/a.h "$(printf 'int a;\\n%.0s' $(seq 301))" "a header of 301 lines"
expect check_style data/a.c "$(printf 'int a;\\n%.0s' $(seq 1201))" "a file of 1201 lines"
expect check_style data/a.c 'CPU_CLONES void f(void);\n' "must be static"
expect check_style data/a.c 'int f(void)\n{\n    return atoi("1");\n}\n' "banned"
expect check_style data/a.c '/* TO''DO: more */\n' "finish it"
expect check_style data/a.c 'const char *p = "/ho''me/me";\n' "one machine"
expect check_style tests/cli/cli_a.sh 'run 0 true\n' "must end with finish"
expect check_style tests/cli/cli_a.sh 'run 0 true\nfinish\n' ""
expect check_style scripts.sh 'true \n' "blanks"
if [[ "$(clang-format --version 2>/dev/null)" == *"version 14."* ]]; then
    expect check_style data/a.c 'int  a;\n' "format.sh"
fi

expect check_names data/sql/sql.c 'struct a {\n    int b;\n};\n' ""
expect check_names data/db/a.c 'int b;\n' "no header of its own name"
expect check_names data/sql/a.c '/* Part of sql.h: what b is. */\nint b;\n' ""
expect check_names data/db/a.c '/* Part of sql.h: what b is. */\nint b;\n' "which is not in its folder"
expect check_names data/sql/sql.c 'struct a {\n    int b;\n};\nstruct a {\n    int c;\n};\n' "struct a is defined in"
for name in not_there 'gone()' 'struct gone' sql/gone.h 'gone_*'; do
    expect check_names data/sql/sql.c "/* It is as $name says. */\nint b;\n" "is nowhere"
done
expect check_names data/sql/sql.c 'const char *b = "in_text"; /* in_text, b(), sql/sql.h, in_* */\n' ""
expect check_names data/sql/sql.c 'const char *b = "--seed: a number wanted";\n' "expected X, got Y"
echo "each check finds what it is for"
