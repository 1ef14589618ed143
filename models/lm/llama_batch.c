#include "models/lm/llama_batch.h"

#include "kernels/batch.h"

#include <stdlib.h>

/* Sizes for each power of two: of what every layer computes, of what the output matrix does, of what costs nothing. */
enum { TOKEN_STEPS = 8, ROW_STEPS = 4, KEY_STEPS = 1, SEQUENCE_STEPS = 1 };

void llama_batch_clear(struct llama_batch *b)
{
    b->n_tokens = b->n_seqs = b->n_rows = 0;
}

void llama_batch_release(struct llama_batch *b)
{
    free(b->ids);
    free(b->positions);
    free(b->lengths);
    free(b->rows);
    free(b->targets);
    free(b->row_counts);
    free(b->prefix);
    *b = (struct llama_batch){ 0 };
}

static void add_token(struct llama_batch *b, int32_t id, int64_t position)
{
    GROW(b->ids, b->n_tokens, b->cap_ids);
    GROW(b->positions, b->n_tokens, b->cap_positions);
    b->ids[b->n_tokens] = id;
    b->positions[b->n_tokens++] = (int32_t)position;
}

static void add_row(struct llama_batch *b, int64_t row, int32_t target)
{
    GROW(b->rows, b->n_rows, b->cap_rows);
    GROW(b->targets, b->n_rows, b->cap_targets);
    b->rows[b->n_rows] = (int32_t)row;
    b->targets[b->n_rows++] = target;
}

/* Without tokens yet. */
static void begin_sequence(struct llama_batch *b, int64_t prefix)
{
    GROW(b->lengths, b->n_seqs, b->cap_lengths);
    GROW(b->row_counts, b->n_seqs, b->cap_row_counts);
    GROW(b->prefix, b->n_seqs, b->cap_prefix);
    b->lengths[b->n_seqs] = b->row_counts[b->n_seqs] = 0;
    b->prefix[b->n_seqs++] = (int32_t)prefix;
}

/* Tokens from `from` on, as a sequence of its own that goes on from the sequence `prefix` (-1: from nothing).  The row
 * before the first of them is not this sequence's. */
static void add_sequence(struct llama_batch *b, const struct llama_text *t, int64_t from, int64_t to, int64_t prefix)
{
    int64_t rows = b->n_rows;

    begin_sequence(b, prefix);
    for (int64_t k = from; k < to; k++) {
        add_token(b, t->ids[k], k);
        if (k > from && t->answer[k])
            add_row(b, b->n_tokens - 2, t->ids[k]);
    }
    b->lengths[b->n_seqs - 1] = (int32_t)(to - from);
    b->row_counts[b->n_seqs - 1] = (int32_t)(b->n_rows - rows);
}

void llama_batch_add(struct llama_batch *b, const int32_t *ids, const uint8_t *answer, int64_t n)
{
    add_sequence(b, &(struct llama_text){ ids, answer, n }, 0, n, -1);
}

static int by_ids(const void *x, const void *y)
{
    const struct llama_text *a = x, *b = y;

    for (int64_t k = 0; k < a->n && k < b->n; k++)
        if (a->ids[k] != b->ids[k])
            return a->ids[k] < b->ids[k] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

/* Tokens that may be shared: those before the last one that predicts nothing, which stays the text's own. */
static int64_t shareable(const struct llama_text *t)
{
    int64_t n = 0;
    while (n < t->n && !t->answer[n])
        n++;
    return n > 0 ? n - 1 : 0;
}

static int64_t common(const struct llama_text *a, const struct llama_text *b, int64_t most)
{
    int64_t n = 0;
    while (n < most && n < b->n && a->ids[n] == b->ids[n])
        n++;
    return n;
}

/* How many texts from the first on begin with the same `least` tokens; *length becomes all that these have in common.
 */
static int64_t group_of(const struct llama_text *texts, int64_t n, int64_t least, int64_t *length)
{
    int64_t count = 1, most = shareable(texts);

    *length = most;
    for (; count < n; count++) {
        int64_t own = shareable(&texts[count]), same = common(texts, &texts[count], own < most ? own : most);
        if (same < least)
            break;
        *length = same < *length ? same : *length;
    }
    return count;
}

void llama_batch_add_shared(struct llama_batch *b, struct llama_text *texts, int64_t n, int64_t least)
{
    qsort(texts, (size_t)n, sizeof *texts, by_ids);
    for (int64_t at = 0, count, length; at < n; at += count) {
        int64_t owner = b->n_seqs;
        count = group_of(texts + at, n - at, least, &length);
        if (count == 1) {
            add_sequence(b, &texts[at], 0, texts[at].n, -1);
            continue;
        }
        add_sequence(b, &texts[at], 0, length, -1);
        for (int64_t i = 0; i < count; i++)
            add_sequence(b, &texts[at + i], length, texts[at + i].n, owner);
    }
}

/* Sequences no longer than the others. */
static void pad_tokens(struct llama_batch *b, int64_t tokens)
{
    int64_t longest = 1;

    for (int64_t i = 0; i < b->n_seqs; i++)
        longest = b->lengths[i] > longest ? b->lengths[i] : longest;
    while (b->n_tokens < tokens) {
        begin_sequence(b, -1);
        for (; b->lengths[b->n_seqs - 1] < longest && b->n_tokens < tokens; b->lengths[b->n_seqs - 1]++)
            add_token(b, 0, b->lengths[b->n_seqs - 1]);
    }
}

void llama_batch_pad(struct llama_batch *b)
{
    int64_t rows = batch_bucket(b->n_rows, ROW_STEPS);

    pad_tokens(b, batch_bucket(b->n_tokens, TOKEN_STEPS));
    while (b->n_rows < rows)
        add_row(b, b->n_tokens - (rows - b->n_rows), -1);
    for (int64_t seqs = batch_bucket(b->n_seqs, SEQUENCE_STEPS); b->n_seqs < seqs;)
        begin_sequence(b, -1);
}

/* Where each sequence's keys and its prefix's lie, and which sequences go on from it. */
struct prefix_spans {
    int32_t *start, *prefix_start, *prefix_len, *last;
    bool shared;
    int64_t max_keys;
};

static struct prefix_spans spans_of(const struct llama_batch *b)
{
    size_t n = (size_t)b->n_seqs;
    int32_t *words = xmalloc(4 * n * sizeof *words);
    struct prefix_spans s = { words, words + n, words + 2 * n, words + 3 * n, false, 0 };

    for (int64_t i = 0, at = 0; i < b->n_seqs; at += b->lengths[i++]) {
        int32_t owner = b->prefix[i];
        s.start[i] = (int32_t)at;
        s.prefix_start[i] = owner < 0 ? 0 : s.start[owner];
        s.prefix_len[i] = owner < 0 ? 0 : b->lengths[owner];
        s.last[i] = (int32_t)i;
        if (owner >= 0)
            s.last[owner] = (int32_t)i;
        s.shared = s.shared || owner >= 0;
        int64_t keys = s.prefix_len[i] + b->lengths[i];
        s.max_keys = keys > s.max_keys ? keys : s.max_keys;
    }
    return s;
}

/* Sequences of one batch are their own keys. */
static struct causal causal_of(struct ctx *c, const struct llama_batch *b)
{
    struct prefix_spans spans = spans_of(b);
    struct causal s = { .qs = batch_seqs(c, b->lengths, b->n_seqs),
                        .max_keys = batch_bound(c, spans.max_keys, KEY_STEPS) };

    s.key_start = batch_i32(c, spans.start, b->n_seqs);
    s.key_len = batch_i32(c, b->lengths, b->n_seqs);
    if (spans.shared) {
        s.prefix_start = batch_i32(c, spans.prefix_start, b->n_seqs);
        s.prefix_len = batch_i32(c, spans.prefix_len, b->n_seqs);
        s.last = batch_i32(c, spans.last, b->n_seqs);
    }
    ctx_note(c, spans.shared);
    free(spans.start);
    return s;
}

/* Final hidden states of the rows. */
static struct tensor *hidden_rows(struct ctx *c, const struct llama *net, const struct llama_batch *b)
{
    struct index rows = batch_index(c, b->rows, b->n_rows, b->n_tokens);
    struct llama_input in = { .tokens = batch_index(c, b->ids, b->n_tokens, net->config.vocab_size),
                              .positions = batch_i32(c, b->positions, b->n_tokens),
                              .causal = causal_of(c, b),
                              .rows = &rows };

    return llama_forward(c, net, &in);
}

struct tensor *llama_batch_logits(struct ctx *c, const struct llama *net, const struct llama_batch *b)
{
    return op_linear_logits(c, hidden_rows(c, net, b), net->head.w, &net->head.lora, net->config.logit_cap);
}

struct tensor *llama_batch_nll(struct ctx *c, const struct llama *net, const struct llama_batch *b)
{
    struct tensor *targets = batch_i32(c, b->targets, b->n_rows);

    return op_linear_nll(c, hidden_rows(c, net, b), net->head.w, &net->head.lora, targets, net->config.logit_cap);
}
