#!/usr/bin/env bash
# The part of check-packages.sh that runs inside a minimal Debian without a network.  /check/packages holds the packages;
# their dependencies are installed.
set -euo pipefail
cd /check
export LC_ALL=C.UTF-8 OMP_NUM_THREADS=2

fail() {
    echo "check-packages: $*" >&2
    exit 1
}

listing() { find / -xdev \( -path /proc -o -path /check -o -path /var/lib/dpkg -o -path /var/log \) -prune -o -printf '%y %p\n' | sort; }

# asks CODE TEXT COMMAND...: runs COMMAND, and expects the exit code CODE and output that matches TEXT.
asks() {
    local code=$1 text=$2 got=0
    shift 2
    "$@" >said 2>&1 </dev/null || got=$?
    [ "$got" -eq "$code" ] || fail "$*: exit code $got, expected $code: $(head -n 5 said)"
    grep -qE -- "$text" said || fail "$*: does not say \"$text\": $(head -n 5 said)"
}

before=$(listing)
dpkg -i packages/*.deb >said 2>&1 || fail "dpkg -i: $(tail -n 5 said)"
# The story of the quick start: from the packages to a clarified question, without a parser.
ask=(ambit-infer ask --db shop.sqlite --question 'Show the address of each purchase.')
printf '2\n\n' | "${ask[@]}" >said 2>&1 || fail "${ask[*]}: $(head -n 5 said)"
for text in 'Rewritten question: Show the purchase.shipping_address of each purchase.' '        Harbour 9'; do
    grep -qxF "$text" said || fail "${ask[*]}: does not say \"$text\": $(cat said)"
done
echo "packages: a question clarified after $SECONDS s"
[ "$SECONDS" -le 120 ] || fail "expected a clarified question within 120 s"

version=$(dpkg-query -W -f '${Version}' ambit)
for program in ambit-data ambit-train ambit-infer; do
    asks 0 "^$program $version " "$program" --version
    asks 0 '^usage: ' "$program" --help
done
asks 0 '^ready: cpu' ambit-train doctor --device cpu
asks 0 '^ready: simt' ambit-train doctor --device simt
if [ -n "$(find packages -name 'ambit-cuda_*')" ]; then
    asks 4 'libcublasLt' ambit-train doctor --device cuda
fi

asks 0 '' ambit-data practice -o data --seed 1
asks 0 '' ambit-train gatekeeper --data data --config demo.yaml --out model --seed 1
asks 0 '^    \[library\] ' ambit-infer detect --db data/db/library.sqlite --format text --question 'How many members are there?'
head -n 20 data/test.jsonl >questions.jsonl
asks 0 '' ambit-infer detect --model model --schema data/tables.json questions.jsonl --out found.jsonl
[ "$(wc -l <found.jsonl)" -eq 20 ] || fail "detect answered $(wc -l <found.jsonl) of 20 questions"
if [ -n "$(find packages -name 'ambit-mpi_*')" ]; then
    learn=(ambit-train gatekeeper --data data --config demo.yaml --epochs 1 --seed 1 --device cpu --out ranks)
    asks 0 '2 ranks share each batch' mpirun --allow-run-as-root --oversubscribe -n 2 "${learn[@]}"
    asks 0 'ambit checkpoint 1' ambit-train inspect ranks
fi

read -ra flags < <(pkg-config --cflags --libs ambit)
gcc -o program consumer/main.c "${flags[@]}"
for device in cpu simt; do
    asks 0 "^$device: -4, 5 7 9$" ./program $device
done

dpkg --purge ambit-cuda ambit-mpi ambit-dev libambit0 ambit >said 2>&1 || fail "dpkg --purge: $(cat said)"
left=$(diff <(echo "$before") <(listing)) || fail "purging left or took: $left"
echo "packages: installed, run, built on and purged"
