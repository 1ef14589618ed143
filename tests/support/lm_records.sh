# shellcheck shell=bash
# Sourced by cli_*.sh: conversations for a small language model.

# Records $1 to $2, of 20 to 140 tokens, whose answers follow from the question.
records() {
    local i n
    for ((i = $1; i < $2; i++)); do
        n=$(printf 'word%d ' $(seq 1 $((1 + i * 7 % 23))))
        printf '{"id":"%d","prompt":"Question %d about %s:","completion":" Answer %d, %s."}\n' $i $i "$n" $((i % 5)) "${n:0:$((5 + i % 30))}"
    done
}
