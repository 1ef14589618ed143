#!/usr/bin/env bash
# Sums of gradients where ranks have GPUs, which are fakes here (tests/fake_cuda): NCCL's moves and the host's give the
# same bits; on simt two ranks have the losses of one.
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/ranks.sh
. "$support/ranks.sh"
fake=$(dirname "$bin")/lib/fake_cuda
[ -e "$fake/libambit_cuda.so" ] || fail "no fake CUDA in $fake"
export CUDA_VISIBLE_DEVICES=0

records 0 6 >train.jsonl
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
learn=(infill --data train.jsonl --base model --compute f32 --method full --batch 6 --epochs 2 --max-valid 2 --device)
same() { cmp "$1/ambit.h5" "$2/ambit.h5" || complain "$1 and $2 differ"; }

export AMBIT_MODULE_PATH=$fake
run 0 ranks 2 "${learn[@]}" cuda --out host
grep -q 'gradients go through the host: no libnccl.so.2' said || complain "no NCCL" "not said"
export FAKE_NCCL=1
for n in 2 3; do
    run 0 ranks $n "${learn[@]}" cuda --out "nccl-$n"
    grep -q "$n ranks: .* s spent on sums of gradients on the devices" said || complain "NCCL" "the host has added up"
done
same host nccl-2
run 0 ranks 3 "${learn[@]}" cuda --out nccl-again
same nccl-3 nccl-again


# --- ranks that do not come while NCCL connects them: others do not wait without end
FAKE_NCCL=fail AMBIT_NCCL_TIMEOUT=2 run 0 ranks 2 "${learn[@]}" cuda --out failed
grep -q 'gradients go through the host: NCCL did not connect all ranks within 2 seconds' said || complain "a rank that fails" "not said"
same host failed
FAKE_NCCL=1 AMBIT_NCCL_TIMEOUT=soon expect 2 "AMBIT_NCCL_TIMEOUT: expected seconds from 1 to 86400, got 'soon'" ranks 2 "${learn[@]}" cuda --out new

unset AMBIT_MODULE_PATH
run 0 ranks 2 "${learn[@]}" simt --out simt
run 0 train "${learn[@]}" simt --out simt-alone
paste <(grep -o '"loss":[^,]*' simt/metrics.jsonl) <(grep -o '"loss":[^,]*' simt-alone/metrics.jsonl) | awk -F '[:\t]' '{ d = $2 - $4
    exit !(d < 1e-6 * $2 && d > -1e-6 * $2) } END { exit NR == 0 }' || complain "simt" "other losses than one rank"
finish
