/* Attention over pages.  tests/support/op_test.h describes the checks. */
#include "tests/support/op_test.h"

#include "tests/support/paged_case.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

/* Groupings, and the head sizes with fast kernels; rows that are aligned to 2, 4, 8 and 16 bytes; scales; biases of
 * short and long reach; caps.  Windows of one key, within a chunk, across chunks, and over all of them. */
static const struct {
    int heads, groups, dim;
    float scale;
    int reach; /* of biases, 0: none */
    float cap;
    int window;
} forms[] = {
    { 2, 1, 64, 0, 0, 0, 0 },        { 8, 1, 8, 0.7f, 1, 0, 0 },     { 4, 1, 24, 0, 0, 0, 0 },
    { 2, 2, 128, 0.25f, 300, 0, 0 }, { 1, 1, 256, 0, 70, 0, 0 },     { 2, 1, 7, 1, 5, 0, 0 },
    { 4, 2, 72, 0.1f, 0, 0, 0 },     { 3, 1, 1, 0, 0, 0, 0 },        { 2, 1, 64, 0, 0, 0.9f, 65 },
    { 2, 1, 128, 0.3f, 0, 2, 0 },    { 2, 1, 256, 0.2f, 0, 5, 300 }, { 4, 2, 24, 0, 0, 0, 1 },
    { 4, 2, 26, 0.5f, 3, 1.5f, 33 }, { 2, 2, 64, 0, 0, 0, 700 },
};
enum { FORMS = ARRAY_LEN(forms), QUERIES_MOST = 9, SHARED = 4 };
enum { SEEN, ROW, TABLE }; /* arrays of integers */

/* Most keys of the table, which few of the sizes have. */
static int32_t longest(const struct op_test *t)
{
    return t->cols > 1000 ? 1025 : 330;
}

/* Each query has a row of its own, or all have one; all share the keys of the first pages. */
static void setup(struct op_test *t, bool one_row)
{
    static const int32_t lengths[] = { 1025, 321, 63, 64, 0, 65, 257, 256, 1 };
    int form = t->variant % FORMS;
    int32_t n = (int32_t)(t->rows < QUERIES_MOST ? t->rows : QUERIES_MOST), keys = longest(t);
    int32_t *seen = op_ints(t, n, 0, 1), *row = op_ints(t, n, 0, 1), rows = one_row || !n ? 1 : n;
    int32_t *table = op_ints(t, rows * keys, 0, 1), cache = keys + (rows - 1) * (keys - SHARED * PAGE_KEYS) + 5;

    paged_shuffle(table, rows, keys, SHARED * PAGE_KEYS, cache);
    for (int32_t i = 0; i < n; i++) {
        seen[i] = lengths[i] < keys ? lengths[i] : keys;
        row[i] = one_row ? 0 : i;
    }
    op_matrix(t, n, (int64_t)forms[form].heads * forms[form].dim, 1);
    op_matrix(t, cache, (int64_t)forms[form].groups * forms[form].dim, 1);
    op_matrix(t, cache, (int64_t)forms[form].groups * forms[form].dim, 1);
    if (forms[form].reach)
        op_vector(t, forms[form].heads * (2 * forms[form].reach + 1), 1);
    for (int i = 0; i < t->n_in; i++)
        t->in[i].constant = true;
}

static void own_setup(struct op_test *t)
{
    setup(t, false);
}

static void one_setup(struct op_test *t)
{
    setup(t, true);
}

static struct paged_case case_of(const struct op_test *t)
{
    int32_t keys = longest(t);

    return (struct paged_case){ t->n_ints[SEEN], t->n_ints[TABLE] / keys, keys, t->ints[SEEN],
                                t->ints[ROW],    t->ints[TABLE] };
}

/* Whether units without queries are added; their blocks take simt longer than all others. */
static bool is_loose(const struct op_test *t)
{
    return test_all() ? t->cols % 2 : t->rows == 33 && t->variant < 3;
}

static struct tensor *run(struct ctx *c, struct op_test *t, enum paged_layout layout, int64_t size)
{
    int form = t->variant % FORMS;
    struct attention_form f = { .heads = forms[form].heads,
                                .groups = forms[form].groups,
                                .scale = forms[form].scale,
                                .cap = forms[form].cap,
                                .window = forms[form].window };
    struct paged_case k = case_of(t);
    bool recording = c->recording;

    c->recording = false;
    if (forms[form].reach)
        f.bias = op_reshape(c, t->x[3], 2, (int64_t[]){ f.heads, 2 * forms[form].reach + 1 });
    struct paged p = paged_of(c, &k, layout, size, is_loose(t));
    struct tensor *y = op_paged_attention(c, t->x[0], t->x[1], t->x[2], &p, &f);
    c->recording = recording;
    return y;
}

static struct tensor *run_whole(struct ctx *c, struct op_test *t)
{
    return run(c, t, PAGED_WHOLE, 0);
}

static struct tensor *run_pages(struct ctx *c, struct op_test *t)
{
    return run(c, t, PAGED_PAGES, 0);
}

static struct tensor *run_shared(struct ctx *c, struct op_test *t)
{
    return run(c, t, PAGED_SHARED, SHARED);
}

static struct tensor *run_together(struct ctx *c, struct op_test *t)
{
    return run(c, t, PAGED_TOGETHER, QUERIES_MOST);
}

/* One head of one query over n keys; bias: of distance 0. */
static void attend(double *y, const double *q, const double *k, const double *v, const int32_t *rows, int64_t n,
                   int64_t stride, int form, const double *bias)
{
    int dim = forms[form].dim, reach = forms[form].reach;
    double *e = xmalloc((size_t)(n + 1) * sizeof *e), sum = 0;
    double scale = forms[form].scale > 0 ? (double)forms[form].scale : 1 / sqrt(dim), cap = (double)forms[form].cap;
    int64_t first = forms[form].window && n > forms[form].window ? n - forms[form].window : 0;

    for (int64_t j = first; j < n; j++) {
        double score = 0;
        for (int d = 0; d < dim; d++)
            score += q[d] * k[rows[j] * stride + d];
        score = cap > 0 ? cap * tanh(scale * score / cap) : scale * score;
        sum += e[j] = exp(score + (reach ? bias[j - (n - 1) < -reach ? -reach : j - (n - 1)] : 0));
    }
    for (int64_t j = first; j < n; j++)
        for (int d = 0; d < dim; d++)
            y[d] += e[j] / sum * v[rows[j] * stride + d];
    free(e);
}

static void reference(const struct op_test *t, double *const *x, double *y)
{
    int form = t->variant % FORMS, heads = forms[form].heads, groups = forms[form].groups, dim = forms[form].dim;
    int reach = forms[form].reach;
    struct paged_case k = case_of(t);

    for (int64_t i = 0; i < k.queries; i++)
        for (int h = 0; h < heads; h++) {
            int64_t q = (i * heads + h) * dim, group = (int64_t)(h / (heads / groups)) * dim;
            const double *bias = reach ? x[3] + h * (2 * reach + 1) + reach : NULL;
            attend(y + q, x[0] + q, x[1] + group, x[2] + group, k.table + k.row[i] * k.keys, k.seen[i],
                   (int64_t)groups * dim, form, bias);
        }
}

static const struct op_row rows[] = {
    { "paged_attention_whole", own_setup, run_whole, reference, .variants = FORMS },
    { "paged_attention_pages", own_setup, run_pages, reference, .variants = FORMS },
    { "paged_attention_shared", own_setup, run_shared, reference, .variants = FORMS },
    { "paged_attention_together", one_setup, run_together, reference, .variants = FORMS },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
