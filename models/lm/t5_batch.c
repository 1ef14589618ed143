#include "models/lm/t5_batch.h"

#include "kernels/batch.h"

#include <stdlib.h>

/* Sizes for each power of two, of what costs much and of what costs nothing. */
enum { TOKEN_STEPS = 8, SEQUENCE_STEPS = 1 };

void t5_batch_clear(struct t5_batch *b)
{
    b->source.n_tokens = b->source.n_seqs = b->answer.n_tokens = b->answer.n_seqs = 0;
}

static void pack_release(struct token_pack *p)
{
    free(p->ids);
    free(p->lengths);
}

void t5_batch_release(struct t5_batch *b)
{
    pack_release(&b->source);
    pack_release(&b->answer);
    free(b->targets);
    *b = (struct t5_batch){ 0 };
}

static void begin_sequence(struct token_pack *p)
{
    GROW(p->lengths, p->n_seqs, p->cap_lengths);
    p->lengths[p->n_seqs++] = 0;
}

/* A token of the newest sequence. */
static void push(struct token_pack *p, int32_t id)
{
    GROW(p->ids, p->n_tokens, p->cap_ids);
    p->ids[p->n_tokens++] = id;
    p->lengths[p->n_seqs - 1]++;
}

static void push_answer(struct t5_batch *b, int32_t id, int32_t target)
{
    GROW(b->targets, b->answer.n_tokens, b->cap_targets);
    b->targets[b->answer.n_tokens] = target;
    push(&b->answer, id);
}

void t5_batch_add(struct t5_batch *b, const struct t5_config *g, const int32_t *ids, const uint8_t *answer, int64_t n)
{
    int64_t k = 0;

    begin_sequence(&b->source);
    begin_sequence(&b->answer);
    for (; k < n && !answer[k]; k++)
        push(&b->source, ids[k]);
    for (int32_t last = g->start; k < n; last = ids[k++])
        push_answer(b, last, ids[k]);
}

/* No longer than the others, or one. */
static int64_t longest_of(const struct token_pack *p)
{
    int64_t longest = 1;

    for (int64_t i = 0; i < p->n_seqs; i++)
        longest = p->lengths[i] > longest ? p->lengths[i] : longest;
    return longest;
}

void t5_batch_pad(struct t5_batch *b)
{
    int64_t sources = batch_bucket(b->source.n_tokens, TOKEN_STEPS), most_source = longest_of(&b->source);
    int64_t answers = batch_bucket(b->answer.n_tokens, TOKEN_STEPS), most_answer = longest_of(&b->answer);
    int64_t seqs = batch_bucket(b->source.n_seqs, SEQUENCE_STEPS);

    while (b->source.n_tokens < sources || b->answer.n_tokens < answers || b->source.n_seqs < seqs) {
        begin_sequence(&b->source);
        begin_sequence(&b->answer);
        for (int64_t k = 0; k < most_source && b->source.n_tokens < sources; k++)
            push(&b->source, 0);
        for (int64_t k = 0; k < most_answer && b->answer.n_tokens < answers; k++)
            push_answer(b, 0, -1);
    }
}

static struct t5_tokens tokens_of(struct ctx *c, const struct t5 *net, const struct token_pack *p)
{
    return (struct t5_tokens){ .ids = batch_index(c, p->ids, p->n_tokens, net->config.vocab_size),
                               .seqs = batch_seqs(c, p->lengths, p->n_seqs) };
}

static struct tensor *final_states(struct ctx *c, const struct t5 *net, const struct t5_batch *b)
{
    struct t5_tokens source = tokens_of(c, net, &b->source), answer = tokens_of(c, net, &b->answer);

    return t5_decode(c, net, &answer, &source, t5_encode(c, net, &source));
}

struct tensor *t5_batch_logits(struct ctx *c, const struct t5 *net, const struct t5_batch *b)
{
    return op_linear_logits(c, final_states(c, net, b), net->head, NULL, 0);
}

struct tensor *t5_batch_nll(struct ctx *c, const struct t5 *net, const struct t5_batch *b)
{
    struct tensor *targets = batch_i32(c, b->targets, b->answer.n_tokens);

    return op_linear_nll(c, final_states(c, net, b), net->head, NULL, targets, 0);
}
