#!/usr/bin/env bash
# Evaluates a detector on the hand-written questions of tests/detection, compared with a word-overlap baseline; see
# detection.py.
# usage: detection.sh RUN [choose|final] [OPTION...]      environment: AMBIT_BIN, folder of the programs
set -euo pipefail
run=${1:?usage: detection.sh RUN [choose|final] [OPTION...]} half=${2:-choose}
exec python3 "$(dirname "$0")/detection.py" "$run" --half "$half" "${@:3}"
