#!/usr/bin/env bash
# Training over ranks on two machines: two network namespaces joined by a pair of virtual Ethernet devices.  The losses are
# those of one rank, the bits those of ranks on one machine, and bytes go over the wire.  Skipped without the permission to
# make namespaces.
# usage: cli_ranks_network.sh
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
# shellcheck source=tests/support/lm_records.sh
. "$support/lm_records.sh"
# shellcheck source=tests/support/ranks.sh
. "$support/ranks.sh"

here=here$$ there=there$$
# Kills mpirun and its daemons in the namespaces.
end_network() {
    local process
    for process in $(ip netns pids "$here" 2>/dev/null) $(ip netns pids "$there" 2>/dev/null); do kill -KILL "$process" 2>/dev/null; done
}
close_network() { end_network; ip netns del "$here" 2>/dev/null; ip netns del "$there" 2>/dev/null; }
skip() {
    echo "$*"
    exit 77
}
# join NAMESPACE DEVICE ADDRESS
join() { ip link set "$2" netns "$1" && ip -n "$1" addr add "$3/24" dev "$2" && ip -n "$1" link set lo up && ip -n "$1" link set "$2" up; }

command -v ip >/dev/null || skip "no ip (iproute2)"
trap 'close_network; rm -rf "$work" "$work.mpi"' EXIT
{ ip netns add $here && ip netns add $there && ip link add "va$$" type veth peer name "vb$$"; } 2>log ||
    skip "no network namespaces: $(head -n 1 log)"
join $here "va$$" 10.77.31.1 || fail "cannot join the first namespace"
join $there "vb$$" 10.77.31.2 || fail "cannot join the second namespace"

# on HOST COMMAND...: in its namespace and under its name.  A daemon clears the folder of its host as it starts, so two
# machines of one name and one /tmp now and then end each other.
cat >on <<'SH'
#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0" && exec sh -c "$1"' "$host" "$*"
SH
chmod +x on
sent() { ip netns exec $here cat "/sys/class/net/va$$/statistics/tx_bytes"; }
# across N ARGUMENTS...: half of the ranks in each namespace
across() {
    ./on "$here" mpirun --bind-to none --mca plm_rsh_agent "$work/on" --mca btl tcp,self \
        --mca oob_tcp_if_include 10.77.31.0/24 --mca btl_tcp_if_include 10.77.31.0/24 \
        --host "$here:$(($1 / 2)),$there:$(($1 / 2))" -n "$1" "$bin/ambit-train" "${@:2}"
}
losses() { grep -o '"loss":[^,}]*' "$1/metrics.jsonl" | cut -d : -f 2; }
near() {
    paste <(losses "$1") <(losses "$2") | awk 'NF != 2 { bad = 1 } { d = $1 - $2; if (d < 0) d = -d; if (d > 1e-6 * $1) bad = 1 }
        END { exit bad || NR == 0 }' || complain "losses of $1 and $2"
}
same() { cmp "$1/ambit.h5" "$2/ambit.h5" || complain "$1 and $2 differ"; }

records 0 40 >train.jsonl
records 100 108 >valid.jsonl
cp -r "$gold/llama/base" model && cp "$gold/bpe/llama/tokenizer.json" model
whole=(infill --device cpu --compute f32 --data train.jsonl --valid valid.jsonl --base model --batch 8 --tokens 200 --eval-every 5
    --schedule constant --method full)
run 0 train "${whole[@]}" --epochs 2 --out one
for n in 2 4; do
    before=$(sent)
    run 0 across $n "${whole[@]}" --epochs 2 --out "across-$n"
    grep -q "$n ranks share each batch" said || complain "$n ranks" "not said"
    # with two ranks all that rank 0 sends goes over the wire
    least=$(sed -nE 's/.*ranks: .* ([0-9.]+) MiB sent by each.*/\1/p' said)
    awk -v got=$(($(sent) - before)) -v least="$least" 'BEGIN { exit !(least > 1 && got > least * 1048576) }' ||
        complain "$n ranks" "$(($(sent) - before)) bytes went over the wire, $least MiB were told"
    near one "across-$n"
    run 0 ranks $n "${whole[@]}" --epochs 2 --out "local-$n"
    same "local-$n" "across-$n"
    run 0 across $n "${whole[@]}" --epochs 2 --shard-optimizer --out "again-$n"
    same "local-$n" "again-$n"
done

finish
