#include "models/lm/lm_batch.h"

#include "kernels/batch.h"

#include <stdlib.h>

/* Sizes for each power of two: fine for tokens, which all layers compute, coarser for rows of the head and for the
 * rest. */
enum { TOKEN_STEPS = 8, ROW_STEPS = 4, COPY_STEPS = 4, KEY_STEPS = 1, SEQUENCE_STEPS = 1 };

void llama_batch_clear(struct llama_batch *b)
{
    b->n_tokens = b->n_seqs = b->n_rows = b->n_copies = 0;
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
    free(b->copied);
    free(b->copies);
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

/* Starts a sequence without tokens. */
static void begin_sequence(struct llama_batch *b, int64_t prefix)
{
    GROW(b->lengths, b->n_seqs, b->cap_lengths);
    GROW(b->row_counts, b->n_seqs, b->cap_row_counts);
    GROW(b->prefix, b->n_seqs, b->cap_prefix);
    GROW(b->copied, b->n_seqs, b->cap_copied);
    b->lengths[b->n_seqs] = b->row_counts[b->n_seqs] = b->copied[b->n_seqs] = 0;
    b->prefix[b->n_seqs++] = (int32_t)prefix;
}

/* Adds a sequence without tokens, whose keys are copies of these rows. */
static void add_copies(struct llama_batch *b, const int32_t *rows, int64_t n)
{
    begin_sequence(b, -1);
    b->copied[b->n_seqs - 1] = (int32_t)n;
    for (int64_t k = 0; k < n; k++) {
        GROW(b->copies, b->n_copies, b->cap_copies);
        b->copies[b->n_copies++] = rows[k];
    }
}

/* Adds tokens [from, to) as a sequence that continues the sequence `prefix` (-1: none). The row that predicts its
 * first token belongs to the prefix. */
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

int llama_text_compare(const void *x, const void *y)
{
    const struct llama_text *a = x, *b = y;

    for (int64_t k = 0; k < a->n && k < b->n; k++)
        if (a->ids[k] != b->ids[k])
            return a->ids[k] < b->ids[k] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

/* Number of tokens that may be shared: the last token before the first target stays the text's own. */
static int64_t shareable(const struct llama_text *t)
{
    int64_t n = 0;
    while (n < t->n && !t->answer[n])
        n++;
    return n > 0 ? n - 1 : 0;
}

int64_t llama_text_common(const struct llama_text *a, const struct llama_text *b)
{
    int64_t n = 0, most = shareable(a), other = shareable(b);

    most = other < most ? other : most;
    while (n < most && a->ids[n] == b->ids[n])
        n++;
    return n;
}

/* Number of texts, from the first on, that begin with the same `least` tokens. *length becomes the length of their
 * common prefix. */
static int64_t group_of(const struct llama_text *texts, int64_t n, int64_t least, int64_t *length)
{
    int64_t count = 1;

    *length = shareable(texts);
    for (; count < n; count++) {
        int64_t same = llama_text_common(texts, &texts[count]);
        if (same < least)
            break;
        *length = same < *length ? same : *length;
    }
    return count;
}

/* A node of the tree: tokens [from, to) that `count` texts share, the row of its first token, and the rows of all
 * tokens from the root to its end. */
struct branch {
    struct llama_text *texts;
    int64_t count, from, to, row;
};

/* Adds the sequence of a node, or of the rest of one text. */
static struct branch add_branch(struct llama_batch *b, struct llama_text *texts, int64_t n, int64_t from, int64_t least,
                                int64_t owner)
{
    struct branch e = { .texts = texts, .from = from, .row = b->n_tokens };

    e.count = group_of(texts, n, from + least, &e.to);
    if (e.count == 1)
        e.to = texts->n;
    add_sequence(b, texts, from, e.to, owner);
    return e;
}

static void count_rows(int32_t *path, const struct branch *e)
{
    for (int64_t k = e->from; k < e->to; k++)
        path[k] = (int32_t)(e->row + k - e->from);
}

/* Adds everything that continues a node, whose keys are those of the newest sequence. Sequences with one prefix lie
 * together. A deeper node that others continue therefore lends copies: the keys of all tokens from the root. */
static void add_below(struct llama_batch *b, const struct branch *node, int64_t least, int32_t *path)
{
    struct branch *branches = xmalloc((size_t)node->count * sizeof *branches);
    int64_t owner = b->n_seqs - 1, n = 0;

    count_rows(path, node);
    for (int64_t at = 0; at < node->count; at += branches[n++].count)
        branches[n] = add_branch(b, node->texts + at, node->count - at, node->to, least, owner);
    for (struct branch *e = branches; e < branches + n; e++) {
        if (e->count == 1)
            continue;
        count_rows(path, e);
        add_copies(b, path, e->to);
        add_below(b, e, least, path);
    }
    free(branches);
}

void llama_batch_add_shared(struct llama_batch *b, struct llama_text *texts, int64_t n, int64_t least)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < n; i++)
        longest = texts[i].n > longest ? texts[i].n : longest;
    int32_t *path = xmalloc((size_t)(longest + 1) * sizeof *path);
    qsort(texts, (size_t)n, sizeof *texts, llama_text_compare);
    for (int64_t at = 0; at < n;) {
        struct branch root = add_branch(b, texts + at, n - at, 0, least, -1);
        if (root.count > 1)
            add_below(b, &root, least, path);
        at += root.count;
    }
    free(path);
}

/* Adds copies of a row that nobody reads, in sequences no longer than the others. */
static void pad_copies(struct llama_batch *b, int64_t copies)
{
    int64_t longest = 1;

    for (int64_t i = 0; i < b->n_seqs; i++)
        longest = b->copied[i] > longest ? b->copied[i] : longest;
    int32_t *row = xcalloc((size_t)longest, sizeof *row);
    for (int64_t left; (left = copies - b->n_copies) > 0;)
        add_copies(b, row, left < longest ? left : longest);
    free(row);
}

/* Adds sequences no longer than the others. */
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
    if (b->n_copies)
        pad_copies(b, batch_bucket(b->n_copies, COPY_STEPS));
    while (b->n_rows < rows)
        add_row(b, b->n_tokens - (rows - b->n_rows), -1);
    for (int64_t seqs = batch_bucket(b->n_seqs, SEQUENCE_STEPS); b->n_seqs < seqs;)
        begin_sequence(b, -1);
}

/* Range of each sequence's keys and of its prefix's keys, and the sequences that continue it. */
struct prefix_spans {
    int32_t *start, *keys, *prefix_start, *prefix_len, *last;
    bool shared;
    int64_t max_keys;
};

/* Copies lie behind the rows of all tokens. */
static struct prefix_spans spans_of(const struct llama_batch *b)
{
    size_t n = (size_t)b->n_seqs;
    int32_t *words = xmalloc(5 * n * sizeof *words);
    struct prefix_spans s = { words, words + n, words + 2 * n, words + 3 * n, words + 4 * n, false, 0 };

    for (int64_t i = 0, at = 0, copy = b->n_tokens; i < b->n_seqs; at += b->lengths[i], copy += b->copied[i++]) {
        int32_t owner = b->prefix[i];
        s.start[i] = (int32_t)(b->copied[i] ? copy : at);
        s.keys[i] = b->copied[i] ? b->copied[i] : b->lengths[i];
        s.prefix_start[i] = owner < 0 ? 0 : s.start[owner];
        s.prefix_len[i] = owner < 0 ? 0 : s.keys[owner];
        s.last[i] = (int32_t)i;
        if (owner >= 0)
            s.last[owner] = (int32_t)i;
        s.shared = s.shared || owner >= 0;
        int64_t keys = s.prefix_len[i] + s.keys[i];
        s.max_keys = keys > s.max_keys ? keys : s.max_keys;
    }
    return s;
}

/* Keys of a sequence are its own tokens, or copies of others. */
static struct causal causal_of(struct ctx *c, const struct llama_batch *b)
{
    struct prefix_spans spans = spans_of(b);
    struct causal s = { .qs = batch_seqs(c, b->lengths, b->n_seqs),
                        .max_keys = batch_bound(c, spans.max_keys, KEY_STEPS) };

    s.key_start = batch_i32(c, spans.start, b->n_seqs);
    s.key_len = batch_i32(c, spans.keys, b->n_seqs);
    if (spans.shared) {
        s.prefix_start = batch_i32(c, spans.prefix_start, b->n_seqs);
        s.prefix_len = batch_i32(c, spans.prefix_len, b->n_seqs);
        s.last = batch_i32(c, spans.last, b->n_seqs);
    }
    ctx_note(c, spans.shared);
    free(spans.start);
    return s;
}

/* Rows that keys come from: all tokens, then the copies; NULL without copies. It stays allocated, since checkpointed
 * blocks read it in the backward. */
static const struct index *keys_of(struct ctx *c, const struct llama_batch *b)
{
    int64_t n = b->n_tokens + b->n_copies;

    if (!b->n_copies)
        return NULL;
    int32_t *rows = xmalloc((size_t)n * sizeof *rows);
    struct index *keys = arena_alloc(c->host, sizeof *keys);

    for (int64_t i = 0; i < n; i++)
        rows[i] = i < b->n_tokens ? (int32_t)i : b->copies[i - b->n_tokens];
    *keys = batch_index(c, rows, n, b->n_tokens);
    free(rows);
    return keys;
}

/* Final hidden states of the wanted rows. */
static struct tensor *hidden_rows(struct ctx *c, const struct llama *net, const struct llama_batch *b)
{
    struct index rows = batch_index(c, b->rows, b->n_rows, b->n_tokens);
    struct llama_input in = { .tokens = batch_index(c, b->ids, b->n_tokens, net->config.vocab_size),
                              .positions = batch_i32(c, b->positions, b->n_tokens),
                              .causal = causal_of(c, b),
                              .keys = keys_of(c, b),
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

static void t5_batch_clear(struct t5_batch *b)
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

static void begin_side(struct token_pack *p)
{
    GROW(p->lengths, p->n_seqs, p->cap_lengths);
    p->lengths[p->n_seqs++] = 0;
}

/* Appends a token to the newest sequence. */
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

    begin_side(&b->source);
    begin_side(&b->answer);
    for (; k < n && !answer[k]; k++)
        push(&b->source, ids[k]);
    for (int32_t last = g->start; k < n; last = ids[k++])
        push_answer(b, last, ids[k]);
}

/* Length of the longest sequence, at least 1. */
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
        begin_side(&b->source);
        begin_side(&b->answer);
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

enum { SHARED_LEAST = 16 /* minimum length of a shared prefix */ };

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
