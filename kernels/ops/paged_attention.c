/*
 * Attention of decoding over a paged cache. It has no record. Partial results are scratch, as large as the host's cut
 * of the work says.
 */
#include "kernels/ops/attention_form.h"

static void check_words(const char *what, const struct tensor *t, int64_t n)
{
    CHECK(t->dtype == I32 && tensor_size(t) == n, "paged_attention: %lld %s of %s, expected %lld of i32",
          (long long)tensor_size(t), what, dtype_name(t->dtype), (long long)n);
}

static void check_paged(const struct paged *p, int64_t queries)
{
    CHECK(p->table->dtype == I32 && p->table->ndim == 2, "paged_attention: a table of %s, expected I32 [rows, keys]",
          dtype_name(p->table->dtype));
    check_words("seen", p->seen, queries);
    check_words("words of units", p->units, p->n_units * PAGED_WORDS);
    check_words("parts", p->parts, queries + 1);
    CHECK(!p->whole || p->n_parts == 0, "paged_attention: %lld parts of whole queries", (long long)p->n_parts);
    CHECK(p->n_parts >= 0 && p->max_queries >= 0 && p->max_pages >= 0,
          "paged_attention: %lld parts, units of %lld queries and %lld pages", (long long)p->n_parts,
          (long long)p->max_queries, (long long)p->max_pages);
}

struct tensor *op_paged_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                  const struct paged *p, const struct attention_form *form)
{
    struct attention_form whole = attention_form_whole("paged_attention", form, q);
    const struct attention_form *f = &whole;

    CHECK(!c->recording, "paged_attention has no backward; causal_attention has");
    attention_form_check("paged_attention", f, q, k, v);
    check_paged(p, q->shape[0]);
    /* A captured step depends on these numbers: they are part of its shape. */
    ctx_note(c, p->max_queries);
    ctx_note(c, p->max_pages);
    ctx_note(c, p->whole);
    struct tensor *y = tensor_like(c, q);
    size_t mark = arena_mark(c->step);
    struct tensor *partial = tensor_new2(c, F32, p->n_parts, tensor_cols(q) + 2 * f->heads);
    RUN(c, paged_attention, y, partial, q, k, v, p, f);
    arena_reset(c->step, mark);
    return y;
}

/* Rows of a group that the kernels take at once if some queries have partial results. */
enum { UNIT_ROWS = 32 };

int64_t paged_unit_queries(int heads, int groups)
{
    int64_t each = heads / groups;
    return each < UNIT_ROWS ? UNIT_ROWS / each : 1;
}

/* Blocks of few pages fill a device, two or more for each multiprocessor.  Blocks of many pages store less. */
enum { BLOCKS = 264 };

int64_t paged_unit_pages(int64_t pages, int groups)
{
    int64_t most = 1;

    while (2 * most * BLOCKS <= pages * groups)
        most *= 2;
    return most;
}
