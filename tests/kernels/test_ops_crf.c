/* The CRF's log Z against sums over taggings in double.  tests/support/op_test.h describes the checks. */
#include "tests/support/op_test.h"

#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* Bits of a variant. */
enum { BARRED = 1, LIMITED = 2, VARIANTS = 4, LONGEST = 70, MOST_TOKENS = 300 };

static int64_t tokens_of(const struct op_test *t)
{
    return t->rows < MOST_TOKENS ? t->rows : MOST_TOKENS;
}

/* Fewer where there are many tokens: differences cost their product twice. */
static int64_t tags_of(const struct op_test *t)
{
    int64_t most = t->rows > 100 ? 7 : CRF_TAGS_MAX;
    return t->cols < most ? t->cols : most;
}

/* Tag 0 may stand everywhere, so that there always is a tagging. */
static void crf_setup(struct op_test *t)
{
    int64_t tags = tags_of(t), tokens = tokens_of(t);

    op_matrix(t, tokens, tags, 2);
    op_vector(t, (tags + 2) * tags, 1);
    op_lengths(t, tokens, LONGEST);
    int32_t *allowed = op_ints(t, tokens, 0, INT32_MAX), *barred = op_ints(t, tags + 2, 0, INT32_MAX);
    for (int64_t i = 0; i < tokens; i++)
        allowed[i] = t->variant & LIMITED ? allowed[i] | 1 : -1;
    for (int64_t i = 0; i < tags + 2; i++)
        barred[i] = t->variant & BARRED ? barred[i] & ~1 : 0;
}

static struct tensor *run_log_z(struct ctx *c, struct op_test *t)
{
    int64_t tags = tags_of(t);
    struct seqs s = batch_seqs(c, t->ints[0], t->n_ints[0]);
    struct crf m = { .weights = t->x[1] };

    m.weights->ndim = 2;
    m.weights->shape[0] = tags + 2;
    m.weights->shape[1] = tags;
    if (t->variant & BARRED)
        m.forbidden = batch_i32(c, t->ints[2], tags + 2);
    return op_crf_log_z(c, t->x[0], t->variant & LIMITED ? batch_i32(c, t->ints[1], tokens_of(t)) : NULL, &s, &m);
}

static double log_add(double a, double b)
{
    double most = fmax(a, b);
    return most == -INFINITY ? most : most + log(exp(a - most) + exp(b - most));
}

struct chain {
    const double *e, *w;
    const int32_t *allowed, *barred;
    int64_t tags;
};

static double weight(const struct chain *h, int64_t row, int64_t tag)
{
    return (uint32_t)h->barred[row] >> tag & 1 ? -INFINITY : h->w[row * h->tags + tag];
}

static double log_z(const struct chain *h, int64_t from, int64_t to)
{
    double at[CRF_TAGS_MAX], next[CRF_TAGS_MAX], sum = -INFINITY;

    for (int64_t t = from; t < to; t++) {
        for (int64_t j = 0; j < h->tags; j++) {
            next[j] = t == from ? weight(h, h->tags, j) : -INFINITY;
            for (int64_t i = 0; t > from && i < h->tags; i++)
                next[j] = log_add(next[j], at[i] + weight(h, i, j));
            next[j] += (uint32_t)h->allowed[t] >> j & 1 ? h->e[t * h->tags + j] : -INFINITY;
        }
        memcpy(at, next, sizeof at);
    }
    for (int64_t j = 0; j < h->tags; j++)
        sum = log_add(sum, at[j] + weight(h, h->tags + 1, j));
    return sum;
}

static void crf(const struct op_test *t, double *const *x, double *y)
{
    struct chain h = { x[0], x[1], t->ints[1], t->ints[2], tags_of(t) };
    int64_t at = 0;

    for (int64_t i = 0; i < t->n_ints[0]; at += t->ints[0][i++])
        if (t->ints[0][i])
            y[i] = log_z(&h, at, at + t->ints[0][i]);
}

static const struct op_row rows[] = {
    { "crf_log_z", crf_setup, run_log_z, crf, .variants = VARIANTS, .f32_only = true },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
