#include "models/lm/lm_batch.h"

enum { SHARED_LEAST = 16 /* tokens that are worth a sequence of their own */ };

void lm_batch_clear(struct lm_batch *b)
{
    llama_batch_clear(&b->texts);
    t5_batch_clear(&b->pairs);
}

void lm_batch_release(struct lm_batch *b)
{
    llama_batch_release(&b->texts);
    t5_batch_release(&b->pairs);
}

void lm_batch_add(struct lm_batch *b, const struct llama_model *m, struct llama_text *texts, int64_t n, bool shared)
{
    if (shared && !m->seq2seq) {
        llama_batch_add_shared(&b->texts, texts, n, SHARED_LEAST);
        return;
    }
    for (const struct llama_text *t = texts; t < texts + n; t++)
        if (m->seq2seq)
            t5_batch_add(&b->pairs, &m->t5.config, t->ids, t->answer, t->n);
        else
            llama_batch_add(&b->texts, t->ids, t->answer, t->n);
}

void lm_batch_pad(struct lm_batch *b, const struct llama_model *m)
{
    if (m->seq2seq)
        t5_batch_pad(&b->pairs);
    else
        llama_batch_pad(&b->texts);
}

int64_t lm_batch_tokens(const struct lm_batch *b)
{
    return b->texts.n_tokens + b->pairs.source.n_tokens + b->pairs.answer.n_tokens;
}

/* A batch has texts or pairs, never both. */
int64_t lm_batch_rows(const struct lm_batch *b)
{
    return b->texts.n_rows + b->pairs.answer.n_tokens;
}

const int32_t *lm_batch_row_counts(const struct lm_batch *b)
{
    return b->pairs.answer.n_seqs ? b->pairs.answer.lengths : b->texts.row_counts;
}

struct tensor *lm_batch_logits(struct ctx *c, const struct llama_model *m, int adapter, const struct lm_batch *b)
{
    return m->seq2seq ? t5_batch_logits(c, &m->t5, &b->pairs)
                      : llama_batch_logits(c, llama_model_net(m, adapter), &b->texts);
}

struct tensor *lm_batch_nll(struct ctx *c, const struct llama_model *m, int adapter, const struct lm_batch *b)
{
    return m->seq2seq ? t5_batch_nll(c, &m->t5, &b->pairs) : llama_batch_nll(c, llama_model_net(m, adapter), &b->texts);
}
