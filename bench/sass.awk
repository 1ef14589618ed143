# Counts the instructions that a warp executes in each kernel with tensor-core products, from `cuobjdump -sass`.
#
# The main loop is the shortest loop among those with the most products (HMMA).  All its instructions count; inner loops
# count once.  The epilogue is the shortest path from the main loop to the kernel's end among the paths with the most
# 16-byte stores.  A loop on this path counts once.
#
# Instructions per 2 KiB are per 2 KiB that the main loop copies.  few_rows_kernel also copies rows of x there, so its
# instructions are per 2 KiB of weights: with ROWS rows, 2 KiB of weights make ROWS / 2 products.
function number(hex)
{
    sub(/^0x/, "", hex)
    sub(/^0+/, "", hex)
    return hex == "" ? "0" : hex
}

# Returns the target instruction of a branch; 0 if it is no branch or its target is elsewhere.
function target(i)
{
    if (text[i] !~ /BRA/ || !match(text[i], /0x[0-9a-f]+/))
        return 0
    return at[number(substr(text[i], RSTART, RLENGTH))]
}

function better(stores, steps, i)
{
    return !(i in best_steps) || stores > best_stores[i] || (stores == best_stores[i] && steps < best_steps[i])
}

function take(i, next_one,    stores, steps)
{
    if (!(next_one in best_steps))
        return
    stores = best_stores[next_one] + (text[i] ~ /STG\.E\.128/)
    steps = best_steps[next_one] + 1
    if (better(stores, steps, i)) {
        best_stores[i] = stores
        best_steps[i] = steps
    }
}

function epilogue(from,    i, to)
{
    split("", best_steps)
    split("", best_stores)
    for (i = n; i >= from; i--) {
        if (text[i] ~ /EXIT/) {
            best_stores[i] = 0
            best_steps[i] = 1
        }
        to = target(i)
        if (to > i)
            take(i, to)
        if (text[i] ~ /^@/ || text[i] ~ /BRA[^ ]* (!?U?P|UR)/ || (!to && text[i] !~ /EXIT/))
            take(i, i + 1)
    }
    return best_steps[from]
}

function count(from, to, word,    i, sum)
{
    for (i = from; i <= to; i++)
        sum += text[i] ~ word
    return sum + 0
}

# The 2 KiB that the main loop copies, or the 2 KiB of weights that it multiplies.
function parts(products, copies)
{
    if (match(kernel, /few_rows_kernelILi[0-9]+E/))
        return 2 * products / substr(kernel, RSTART + 18, RLENGTH - 19)
    return copies / 4
}

function report(    i, to, products, most, first, last, copies)
{
    for (i = 1; i <= n; i++) {
        to = target(i)
        if (!to || to > i)
            continue
        products = count(to, i, "HMMA")
        if (products > most || (products && products == most && i - to < last - first)) {
            first = to
            last = i
            most = products
        }
    }
    if (!last)
        return
    copies = count(first, last, "LDGSTS")
    printf "%s %d %d %d %d %s %d\n", kernel, last - first + 1, count(first, last, "HMMA"), count(first, last, "LDSM"),
        copies, copies ? sprintf("%.0f", (last - first + 1) / parts(most, copies)) : "-", epilogue(last + 1)
}

/Function : / {
    report()
    kernel = $NF
    n = 0
    split("", at)
}

/^ +\/\*[0-9a-f]+\*\/ / {
    line = $0
    sub(/^ +\/\*/, "", line)
    address = line
    sub(/\*.*/, "", address)
    sub(/^[0-9a-f]+\*\/ +/, "", line)
    sub(/;.*/, "", line)
    at[number(address)] = ++n
    text[n] = line
}

END {
    report()
}
