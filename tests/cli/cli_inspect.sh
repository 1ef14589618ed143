#!/usr/bin/env bash
# ambit-train inspect: its output, and exit code 6 for every type of damage.
# shellcheck disable=SC2059 # formats that are built
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
gold=$gold/checkpoint/ambit.h5

# expect CODE TEXT ARGUMENTS...: a line of either output holds the text as it stands
expect() {
    run "$1" train inspect "${@:3}"
    cat shown said | grep -qF -- "$2" || complain "inspect ${*:3}" "does not say \"$2\": $(head -n 5 shown)"
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

expect 0 "every checksum holds" "$gold"
expect 0 '"threshold": 0.625' "${gold%/*}"
expect 0 "[33, 7]              ff58e091cb7e2769" "$gold"

for at in 3 17 20 100 512 600 5000 20000 32118; do
    cp "$gold" flipped.h5
    byte=$(od -An -tu1 -j $at -N 1 "$gold")
    printf "\\x$(printf %x $((byte ^ 4)))" | dd of=flipped.h5 bs=1 seek=$at conv=notrunc status=none
    expect 6 flipped.h5 flipped.h5
done
for length in 0 100 511 512 513 9000 32118; do
    head -c $length "$gold" >cut.h5
    expect 6 cut.h5 cut.h5
done
sed '1s/checkpoint 1/checkpoint 9/' "$gold" >newer.h5
expect 6 "expected format version 1, got 9" newer.h5
expect 6 "No such file" nothing.h5
expect 6 "expected ambit.h5 or" .
expect 2 "DIR|FILE"

header='{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
tensors model.safetensors "$header" 12345678
expect 0 "F32   [2]" model.safetensors
expect 0 "1 tensors, 8 bytes" .
tensors model.safetensors "$header" 1234567
expect 6 'tensor "a"' .
head -c 30 model.safetensors >cut.safetensors
expect 6 "header of" cut.safetensors

train inspect "$gold" >/dev/full 2>said
[ $? = 1 ] || complain "a full disk" "is not seen"
finish
