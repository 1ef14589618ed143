#!/usr/bin/env bash
# What takes too long for every change: all tests, and five minutes for each fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/test.sh --all
scripts/fuzz.sh 300
