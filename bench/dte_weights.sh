#!/usr/bin/env bash
# Measures the sensitivity of a tagger to the weights of its losses, as in DTE's figures 4 and 5.  Makes one training for each
# weight of grounding, and one for each weight of the tags.  The other weights are 1.  Each training is an arm of bench/dte_weak.sh,
# whose table has the differences to the first arm, the paper's weights.
# usage: WIKISQL=DIR WTQ=DIR ENCODER=HF_DIR bench/dte_weights.sh OUT
# Weights, with defaults: GROUNDING="0 0.25 0.5 2 4", TAGS="0.25 0.5 2 4".  ARM=spans in place of sql is faster.
# Sizes, with defaults: STEPS=300 of 32 records, SEEDS=1, TEST=1000 test records, VALID=200, JOBS=2.
# Existing files in OUT are kept, and interrupted training is resumed.
set -euo pipefail
arm=${ARM:-sql}
arms=$arm
for weight in ${GROUNDING-0 0.25 0.5 2 4}; do arms+=" $arm+grounding-weight=$weight"; done
for weight in ${TAGS-0.25 0.5 2 4}; do arms+=" $arm+tags-weight=$weight"; done
ARMS=$arms STEPS=${STEPS:-300} SEEDS=${SEEDS:-1} TEST=${TEST:-1000} VALID=${VALID:-200} \
    exec "$(dirname "$0")/dte_weak.sh" "$@"
