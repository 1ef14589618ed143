#!/usr/bin/env bash
# ambit-train inspect: what it prints, and exit code 6 for every kind of damage.
# shellcheck disable=SC2059 # formats that are built
set -u
inspect() { "${AMBIT_BIN:-build/release/bin}/ambit-train" inspect "$@"; }
gold=tests/gold/checkpoint/ambit.h5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect CODE TEXT ARGUMENTS...: the exit code, and a line of output or error that holds the text
expect() {
    local code=$1 text=$2 got
    shift 2
    inspect "$@" >"$work/out" 2>&1
    got=$?
    if [ $got != "$code" ] || ! grep -qF -- "$text" "$work/out"; then
        echo "inspect $*: exit code $got, wanted $code and \"$text\":"
        head -n 5 "$work/out"
        failed=1
    fi
}

u64() { # a number as 8 bytes, lowest first
    local n=$1
    for _ in 1 2 3 4 5 6 7 8; do
        printf "\\x$(printf %x $((n & 255)))"
        n=$((n >> 8))
    done
}
tensors() { # FILE HEADER DATA
    { u64 ${#2}; printf '%s%s' "$2" "$3"; } >"$1"
}

expect 0 "every checksum holds" $gold
expect 0 '"threshold": 0.625' tests/gold/checkpoint
expect 0 "[33, 7]              ff58e091cb7e2769" $gold

for at in 3 17 20 100 512 600 5000 20000 32118; do
    cp $gold "$work/flipped.h5"
    byte=$(od -An -tu1 -j $at -N 1 $gold)
    printf "\\x$(printf %x $((byte ^ 4)))" | dd of="$work/flipped.h5" bs=1 seek=$at conv=notrunc status=none
    expect 6 "$work/flipped.h5" "$work/flipped.h5"
done
for length in 0 100 511 512 513 9000 32118; do
    head -c $length $gold >"$work/cut.h5"
    expect 6 "$work/cut.h5" "$work/cut.h5"
done
sed '1s/checkpoint 1/checkpoint 9/' $gold >"$work/newer.h5"
expect 6 "format version 9, this program reads 1" "$work/newer.h5"
expect 6 "No such file" "$work/nothing.h5"
expect 6 "neither ambit.h5 nor" "$work"
expect 2 "DIR|FILE"

header='{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
tensors "$work/model.safetensors" "$header" 12345678
expect 0 "F32   [2]" "$work/model.safetensors"
expect 0 "1 tensors, 8 bytes" "$work"
tensors "$work/model.safetensors" "$header" 1234567
expect 6 'tensor "a"' "$work"
head -c 30 "$work/model.safetensors" >"$work/cut.safetensors"
expect 6 "header of" "$work/cut.safetensors"

inspect $gold >/dev/full 2>"$work/out"
[ $? = 1 ] || { echo "a full disk is not seen"; failed=1; }
exit $failed
