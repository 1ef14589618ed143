#!/usr/bin/env bash
# Reports the compiler's resource use for every CUDA kernel and the least possible time of each op.  Needs nvcc, but no GPU.
# usage: [BIN=DIR] [JOBS=N] bench/kernels.sh --ptxas [NAME...]
# NAME is a file of kernels/cuda without .cu (default: all files, and the least times of all ops).  BIN is a folder of
# built programs (default: build bench_kernels).
#
# Columns, for each architecture of the module: registers per thread, bytes spilled, shared memory per block, resident
# blocks per multiprocessor, and occupancy.  A + marks dynamic shared memory, which the compiler does not know; the blocks
# are counted without it.  The exit code is 1 if a kernel spills.
#
# With cuobjdump on PATH, also counts instructions of kernels that use tensor cores on sm_90a (sass.awk).  It counts the
# instructions that a warp executes per iteration of the main loop, among them products, matrix loads and copies to
# shared memory.  It also counts instructions per 2 KiB copied (of weights, for few
# rows), and the instructions after the loop.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${1:-}" = --ptxas ] || { echo "usage: bench/kernels.sh --ptxas [NAME...]" >&2; exit 2; }
shift
command -v nvcc >/dev/null || { echo "kernels.sh: no nvcc on PATH" >&2; exit 2; }
names=("$@")
if [ $# = 0 ]; then
    for file in kernels/cuda/*.cu; do names+=("$(basename "$file" .cu)"); done
fi
for name in "${names[@]}"; do
    [ -e "kernels/cuda/$name.cu" ] || { echo "kernels.sh: kernels/cuda/$name.cu not found" >&2; exit 2; }
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Compile with the options of the module, and keep the intermediate files.
compile() {
    mkdir "$out/$1"
    nvcc -O3 -DNDEBUG -DAMBIT_LEAST_DRIVER='""' -std=c++17 -I. -gencode 'arch=compute_80,code=[sm_80,compute_80]' \
        -gencode arch=compute_90a,code=sm_90a -compress-mode=size -Xcompiler -fPIC -Xptxas -v \
        --keep --keep-dir "$out/$1" -c "kernels/cuda/$1.cu" -o "$out/$1.o" >"$out/$1.log" 2>&1 ||
        { cat "$out/$1.log" >&2; return 1; }
}
export -f compile
export out
TIMEFORMAT='%R %U %S'
{ time printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-$(nproc)}" -I NAME bash -c 'compile NAME'; } 2>"$out/time" ||
    { cat "$out/time" >&2; exit 1; }

# First the kernel, its threads and whether it uses dynamic shared memory; then the kernel, architecture and resources.
for name in "${names[@]}"; do
    awk '/\.entry/ { sub(/.*\.entry /, ""); sub(/\(.*/, ""); kernel = $1; threads = 0; more = "-" }
        /\.maxntid/ { threads = $2 + 0 }
        /dynamic_shared/ && kernel { more = "+" }
        /^}/ && kernel { print "ptx", kernel, threads, more; kernel = "" }' "$out/$name/$name.compute_80.ptx"
    awk -v name="$name" -F "'" '/Compiling entry function/ { kernel = $2; arch = $4 }
        /bytes stack frame/ { split($0, n, /[^0-9]+/); spill[arch " " kernel] += n[3] + n[4] }
        /: Used [0-9]+ registers/ {
            match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
            shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART, RLENGTH) + 0 : 0
            print "sass", kernel, name, arch, registers, spill[arch " " kernel] + 0, shared
        }' "$out/$name.log"
done | c++filt -p >"$out/table"

awk '
    # Threads, registers and shared memory limit the resident blocks of a multiprocessor.  A warp allocates registers in
    # units of 256, warps are allocated in units of 4, and every block uses 1 KiB more shared memory.
    function blocks_of(arch, threads, registers, shared,    warps, blocks, by) {
        warps = int((threads + 31) / 32)
        blocks = int(64 / warps)
        by = int(int(65536 / (int((32 * registers + 255) / 256) * 256)) / 4) * 4
        by = int(by / warps)
        blocks = by < blocks ? by : blocks
        by = int((arch == "sm_80" ? 164 : 228) * 1024 / (int((shared + 127) / 128) * 128 + 1024))
        blocks = by < blocks ? by : blocks
        return blocks < 32 ? blocks : 32
    }
    $1 == "ptx" { threads[$2] = $3; more[$2] = $4 == "+" ? "+" : "" }
    $1 == "sass" {
        if (!threads[$2]) {
            print "kernels.sh: " $2 " has no __launch_bounds__" >"/dev/stderr"
            failed = 1
            next
        }
        if (!($2 in file))
            order[++n] = $2
        file[$2] = $3
        blocks = blocks_of($4, threads[$2], $5, $7)
        share = 100 * blocks * threads[$2] / 2048
        row[$2, $4] = sprintf("%5d %6d %7s %6d %5.0f", $5, $6, $7 more[$2], blocks, share)
        spilled += $6 > 0
        low += share < 25
    }
    END {
        printf "%-24s %-44s %7s | %-33s | %s\n", "", "", "", "sm_80", "sm_90a"
        for (i = 0; i < 2; i++)
            head = head sprintf(" | %5s %6s %7s %6s %5s", "regs", "spills", "shared", "blocks", "%")
        printf "%-24s %-44s %7s%s\n", "file", "kernel", "threads", head
        for (i = 1; i <= n; i++)
            printf "%-24s %-44s %7d | %s | %s\n", file[order[i]], order[i], threads[order[i]],
                row[order[i], "sm_80"], row[order[i], "sm_90a"]
        printf "%d kernels, for two architectures: %d spill, %d are below 25 %%\n", n, spilled, low
        exit failed || spilled > 0
    }' <(sed -E 's/ (void )?([a-z_0-9]+(<[^>]*>)?)\([^)]*\)/ \2/; s/, /,/g; s/> >/>>/g' "$out/table") && rc=0 || rc=$?
if command -v cuobjdump >/dev/null; then
    printf '\n%-60s %6s %6s %6s %6s %8s %9s\n' 'instructions of a warp, sm_90a' loop HMMA LDSM LDGSTS 'a 2 KiB' epilogue
    for name in "${names[@]}"; do
        cuobjdump -sass -arch sm_90a "$out/$name.o" | awk -f bench/sass.awk
    done | c++filt | sed -E 's/^(void )?([a-z_0-9]+(<[^>]*>)?)\([^ ]*( [^ ]*)*\) /\2 /; s/, /,/g' |
        awk '{ printf "%-60s %6s %6s %6s %6s %8s %9s\n", $1, $2, $3, $4, $5, $6, $7 }'
else
    echo "no cuobjdump on PATH: instructions are not counted"
fi
read -r wall user system <"$out/time"
printf 'compiled in %s s, %s s of processors\n' "$wall" "$(awk -v a="$user" -v b="$system" 'BEGIN { print a + b }')"
if [ $# = 0 ]; then
    if [ -z "${BIN:-}" ]; then
        cmake --preset release >/dev/null
        cmake --build --preset release -j "$(nproc)" --target bench_kernels | tail -n 1
    fi
    "${BIN:-build/release/bin}/bench_kernels" --floors
fi
exit "$rc"
