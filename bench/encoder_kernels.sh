#!/usr/bin/env bash
# Prints the speed of bench_encoder for each batch size, then the time of each kernel of one batch.  Needs a GPU, and
# Nsight Compute (ncu) for the kernels.
# usage: [BIN=DIR] bench/encoder_kernels.sh HF_DIR PAIRS TOKENS...
# HF_DIR and PAIRS are those of bench_encoder.  Each TOKENS is the maximum number of tokens in a batch; the kernels are
# those of a batch of the first.  BIN is a folder of built programs.
#
# Columns: the total time of the launches of a kernel with one grid, their number, and their share of the batch.  Then
# follow the share of the device's memory rate, instructions per cycle and scheduler, and the kernel.  The rates are means
# over the launches.  Times do not include the gaps between kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 3 ] || { echo "usage: bench/encoder_kernels.sh HF_DIR PAIRS TOKENS..." >&2; exit 2; }
program=("${BIN:-build/release/bin}/bench_encoder" "$1" "$2" cuda bf16 score)
shift 2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export OMP_WAIT_POLICY=passive # the program would restart itself, and ncu would lose it

for tokens in "$@"; do
    printf '%s\n' "tokens $tokens" run run run run run "write $out/logits" | "${program[@]}" >"$out/times"
    awk -v tokens="$tokens" -v pairs="$(wc -l <"$out/logits")" '
        NR > 2 && $1 > 0 && (!best || $1 < best) { best = $1 }
        END { printf "%6d tokens a batch: %8.0f pairs/s\n", tokens, pairs / best }' "$out/times"
done
command -v ncu >/dev/null || { echo "encoder_kernels.sh: no ncu on PATH, so kernels are not measured" >&2; exit 0; }

# Each batch is one upload, so launches / uploads is the number of launches of a batch.
printf '%s\n' "tokens $1" counts run counts | "${program[@]}" >"$out/counts"
read -r launches _ uploads _ < <(tail -n 1 "$out/counts")
metrics=gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
metrics+=,smsp__inst_executed.avg.per_cycle_elapsed
printf '%s\n' "tokens $1" run run |
    ncu --csv --page raw --print-units base --clock-control none --cache-control none --metrics "$metrics" \
        --launch-skip "$launches" --launch-count $((launches / uploads)) "${program[@]}" >"$out/profile" 2>&1 ||
    { tail -n 5 "$out/profile" >&2; exit 1; }
awk '
    # Splits a line of quoted values with commas between them.
    function values(line, v,    n, i) {
        n = split(substr(line, 2, length(line) - 2), v, /","/)
        for (i = 1; i <= n; i++)
            if (v[i] ~ /^[0-9.,]+$/)
                gsub(/,/, "", v[i])
        return n
    }
    /^"ID"/ { for (i = values($0, head); i; i--) column[head[i]] = i }
    /^"[0-9]+"/ {
        values($0, v)
        name = v[column["Kernel Name"]] " " v[column["Grid Size"]] " " v[column["Block Size"]]
        launches[name]++
        time[name] += v[column["gpu__time_duration.sum"]] / 1000
        total += v[column["gpu__time_duration.sum"]] / 1000
        memory[name] += v[column["dram__throughput.avg.pct_of_peak_sustained_elapsed"]]
        issued[name] += v[column["smsp__inst_executed.avg.per_cycle_elapsed"]]
    }
    END {
        for (name in time)
            printf "%9.1f us %3d launches %5.1f %% %5.1f %% of memory %5.2f issued  %s\n", time[name], launches[name],
                100 * time[name] / total, memory[name] / launches[name], issued[name] / launches[name], name | "sort -rn"
        close("sort -rn")
        printf "%9.1f us in all\n", total
    }' "$out/profile"
