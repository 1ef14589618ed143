#include "models/llama_batch.h"

#include "kernels/batch.h"

#include <stdlib.h>

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

void llama_batch_add(struct llama_batch *b, const int32_t *ids, const uint8_t *answer, int64_t n)
{
    int64_t rows = b->n_rows;

    for (int64_t k = 0; k < n; k++) {
        add_token(b, ids[k], k);
        if (k > 0 && answer[k])
            add_row(b, b->n_tokens - 2, ids[k]);
    }
    GROW(b->lengths, b->n_seqs, b->cap_lengths);
    GROW(b->row_counts, b->n_seqs, b->cap_row_counts);
    b->lengths[b->n_seqs] = (int32_t)n;
    b->row_counts[b->n_seqs++] = (int32_t)(b->n_rows - rows);
}

/* Sequences of one batch are their own keys. */
static struct causal causal_of(struct ctx *c, const struct llama_batch *b)
{
    int32_t *starts = xmalloc((size_t)b->n_seqs * sizeof *starts);
    struct causal s = { .qs = batch_seqs(c, b->lengths, b->n_seqs) };

    for (int64_t i = 0, at = 0; i < b->n_seqs; at += b->lengths[i++])
        starts[i] = (int32_t)at;
    s.key_start = batch_i32(c, starts, b->n_seqs);
    s.key_len = batch_i32(c, b->lengths, b->n_seqs);
    s.max_keys = s.qs.max_len; /* which batch_seqs has noted */
    free(starts);
    return s;
}

struct tensor *llama_batch_nll(struct ctx *c, const struct llama *net, const struct llama_batch *b)
{
    struct index rows = batch_index(c, b->rows, b->n_rows, b->n_tokens);
    struct llama_input in = { .tokens = batch_index(c, b->ids, b->n_tokens, net->config.vocab_size),
                              .positions = batch_i32(c, b->positions, b->n_tokens),
                              .causal = causal_of(c, b),
                              .rows = &rows };
    struct tensor *targets = batch_i32(c, b->targets, b->n_rows);

    return op_linear_nll(c, llama_forward(c, net, &in), net->head.w, &net->head.lora, targets);
}
