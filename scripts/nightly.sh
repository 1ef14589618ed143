#!/usr/bin/env bash
# Runs the checks that take too long for every change: all tests, every preset, and each fuzz target for five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/test.sh --all
scripts/presets.sh
scripts/test-tsan.sh library
scripts/fuzz.sh 300
