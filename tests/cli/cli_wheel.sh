#!/usr/bin/env bash
# The wheel of the Python package: its contents, its tag, and the same bytes twice.  An unpacked copy passes tests, and loads no
# library from outside the wheel but those of the C and C++ runtime.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

command -v python3 >/dev/null || { echo "no python3" && exit 77; }
data --version | grep -q 'sanitizers ON' && { echo "a wheel has no sanitizers" && exit 77; }
[ -e /usr/share/doc/zlib1g/copyright ] || { echo "the licences of the libraries are not installed" && exit 77; }
export PYTHONDONTWRITEBYTECODE=1
told=(shown said)

for out in first second; do
    run 0 python3 "$root/infer/python/make_wheel.py" "$bin/.." $out
done
wheel=$(echo first/ambit_sql-*.whl)
cmp "$wheel" "second/${wheel##*/}" || complain "two runs make different wheels"
check "the wheel's contents" 0 '^[0-9]+ files, [0-9]+ with code, glibc ' python3 "$root/tests/python/check_wheel.py" "$wheel" site
mkdir run
cd run || exit 1
run 0 env -u AMBIT_LIBRARY -u LD_LIBRARY_PATH PYTHONPATH="$work/site" python3 "$root/tests/python/test_ambit_sql.py" Detect.test_one \
    Tag.test_tags Talk.test_answers
cat >loaded.py <<'END'
import re, ambit_sql
ambit_sql.Detector(threads=1).detect("Show the address.", db="shop.sqlite")
with open("/proc/self/maps") as maps:
    print(*sorted({line.split()[-1] for line in maps if re.search(r"lib(ambit|dnnl|openblas|jansson|gomp|sqlite3)\.so", line)}), sep="\n")
END
run 0 env -u AMBIT_LIBRARY -u LD_LIBRARY_PATH PYTHONPATH="$work/site" python3 loaded.py
grep -q /libambit.so shown || complain "the library is not loaded"
grep -v "^$work/site/" shown && complain "libraries outside the wheel are loaded" "$(cat shown)"
cd ..
check "a folder without a build" 1 '^make_wheel: cmake --install ' python3 "$root/infer/python/make_wheel.py" none third
finish
