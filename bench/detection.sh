#!/usr/bin/env bash
# How good a detector is on the hand-written questions of tests/detection, beside a baseline that only compares words; see detection.py.
# usage: detection.sh RUN [choose|final] [OPTION...]      AMBIT_BIN says where the programs are.
set -euo pipefail
run=${1:?usage: detection.sh RUN [choose|final] [OPTION...]} half=${2:-choose}
exec python3 "$(dirname "$0")/detection.py" "$run" --half "$half" "${@:3}"
