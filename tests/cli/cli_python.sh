#!/usr/bin/env bash
# The Python package on the library of this build: doctests and tests/python/test_ambit_sql.py, with the system's Python.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

command -v python3 >/dev/null || { echo "no python3" && exit 77; }
data --version | grep -q 'sanitizers ON' && { echo "Python would have to preload the sanitizers" && exit 77; }
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/infer/python AMBIT_LIBRARY=$bin/../lib/libambit.so.0

run 0 python3 -W error "$root/tests/python/test_ambit_sql.py"
grep -c ' \.\.\. ok$' said | awk '{ exit $1 < 20 }' || complain "fewer than 20 tests passed" "$(cat said)"
AMBIT_LIBRARY=/no/such.so check "a missing library" 1 \
    '^ImportError: /no/such.so cannot be loaded: .*; install ambit or a wheel, or set AMBIT_LIBRARY$' \
    python3 -c 'import ambit_sql; ambit_sql.Detector()'
# The environment of a host that has chosen how its threads wait stays its choice.
OMP_WAIT_POLICY=active run 0 python3 -c 'import os, ambit_sql; ambit_sql.version(); assert os.environ["OMP_WAIT_POLICY"] == "active"'
finish
