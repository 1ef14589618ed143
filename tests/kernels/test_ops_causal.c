/* Causal attention.  tests/support/op_test.h describes the checks. */
#include "tests/support/op_test.h"

#include "tests/support/reference.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All groupings, and the head sizes with fast kernels; rows that are aligned to 2, 4, 8 and 16 bytes; scales; biases of
 * short and long reach.  Caps that bend every score or only the largest.  Windows of one key, of a few, across tiles,
 * and longer than most sequences; and combinations of all these. */
static const struct {
    int heads, groups, dim;
    float scale;
    int reach; /* of biases, 0: none */
    float cap;
    int window;
} forms[] = {
    { 2, 2, 64, 0, 0, 0, 0 },        { 2, 1, 128, 0, 0, 0, 0 },      { 4, 1, 24, 0, 0, 0, 0 },
    { 8, 1, 8, 0.7f, 1, 0, 0 },      { 7, 1, 32, 0, 0, 0, 0 },       { 1, 1, 256, 0, 0, 0, 0 },
    { 4, 2, 72, 0.1f, 0, 0, 0 },     { 2, 2, 64, 0.25f, 90, 0, 0 },  { 1, 1, 1, 0, 0, 0, 0 },
    { 2, 1, 7, 1, 5, 0, 0 },         { 2, 1, 20, 0, 0, 0, 0 },       { 4, 2, 26, 0.5f, 3, 0, 0 },
    { 1, 1, 40, 0, 0, 0, 0 },        { 1, 1, 80, 0, 0, 0, 0 },       { 2, 2, 96, 0.2f, 12, 0, 0 },
    { 1, 1, 160, 0.1f, 2000, 0, 0 }, { 2, 1, 64, 0, 0, 0.9f, 33 },   { 2, 1, 128, 0.3f, 0, 2, 65 },
    { 2, 1, 256, 0, 0, 5, 7 },       { 4, 2, 24, 0, 0, 0, 1 },       { 3, 1, 40, 0.5f, 0, 1, 0 },
    { 4, 2, 26, 0.5f, 3, 1.5f, 5 },  { 2, 2, 64, 0.25f, 90, 0, 31 }, { 1, 1, 72, 0, 0, 0, 127 },
};
enum { FORMS = ARRAY_LEN(forms) };

/* The fields of struct causal for each sequence, each field as an array of its own. */
enum { QUERIES, KEY_START, KEY_LEN, PREFIX_START, PREFIX_LEN, LAST, FIELDS };

/* ints[0]: FIELDS numbers of each sequence */
static const int32_t *sequence(const struct op_test *t, int64_t s)
{
    return t->ints[0] + s * FIELDS;
}

static int64_t sequences(const struct op_test *t)
{
    return t->n_ints[0] / FIELDS;
}

static struct causal causal_of(struct ctx *c, const struct op_test *t, bool prefixes)
{
    int64_t n = sequences(t);
    int32_t *field = xmalloc((size_t)(n * FIELDS + 1) * sizeof *field);
    struct causal a = { 0 };

    for (int64_t s = 0; s < n; s++) {
        int64_t keys = sequence(t, s)[KEY_LEN] + sequence(t, s)[PREFIX_LEN];
        a.max_keys = keys > a.max_keys ? keys : a.max_keys;
        for (int f = 0; f < FIELDS; f++)
            field[f * n + s] = sequence(t, s)[f];
    }
    a.qs = batch_seqs(c, field, n);
    a.key_start = batch_i32(c, field + KEY_START * n, n);
    a.key_len = batch_i32(c, field + KEY_LEN * n, n);
    if (prefixes) {
        a.prefix_start = batch_i32(c, field + PREFIX_START * n, n);
        a.prefix_len = batch_i32(c, field + PREFIX_LEN * n, n);
        a.last = batch_i32(c, field + LAST * n, n);
    }
    free(field);
    return a;
}

static struct tensor *run(struct ctx *c, struct op_test *t, bool prefixes)
{
    struct causal a = causal_of(c, t, prefixes);
    int form = t->variant % FORMS;
    struct attention_form f = { .heads = forms[form].heads,
                                .groups = forms[form].groups,
                                .scale = forms[form].scale,
                                .cap = forms[form].cap,
                                .window = forms[form].window };
    if (forms[form].reach)
        f.bias = op_reshape(c, t->x[3], 2, (int64_t[]){ f.heads, 2 * forms[form].reach + 1 });
    return op_causal_attention(c, t->x[0], t->x[1], t->x[2], &a, &f);
}

static struct tensor *run_plain(struct ctx *c, struct op_test *t)
{
    return run(c, t, false);
}

static struct tensor *run_prefixed(struct ctx *c, struct op_test *t)
{
    return run(c, t, true);
}

/* One head of one query over the `n` keys whose rows are listed, the last at its own place; bias: of distance 0. */
static void attend(double *y, const double *q, const double *k, const double *v, const int64_t *rows, int64_t n,
                   int64_t stride, int form, const double *bias)
{
    int dim = forms[form].dim, reach = forms[form].reach;
    double *e = xmalloc((size_t)n * sizeof *e), sum = 0, scale = forms[form].scale > 0 ? forms[form].scale : 0;
    double cap = (double)forms[form].cap;
    int64_t first = forms[form].window && n > forms[form].window ? n - forms[form].window : 0;

    for (int64_t j = first; j < n; j++) {
        double score = reference_dot(q, k + rows[j] * stride, dim);
        score = scale > 0 ? scale * score : score / sqrt(dim);
        if (cap > 0)
            score = cap * tanh(score / cap);
        if (reach)
            score += bias[j - (n - 1) < -reach ? -reach : j - (n - 1)];
        sum += e[j] = exp(score);
    }
    for (int64_t j = first; j < n; j++)
        reference_add(y, e[j] / sum, v + rows[j] * stride, dim);
    free(e);
}

static void reference(const struct op_test *t, double *const *x, double *y)
{
    int form = t->variant % FORMS, heads = forms[form].heads, groups = forms[form].groups, dim = forms[form].dim;
    int reach = forms[form].reach;
    int64_t row = 0, stride = (int64_t)groups * dim;

    for (int64_t s = 0; s < sequences(t); s++) {
        const int32_t *a = sequence(t, s);
        int64_t *keys = xmalloc((size_t)(a[PREFIX_LEN] + a[KEY_LEN]) * sizeof *keys), n = 0;
        for (int32_t j = 0; j < a[PREFIX_LEN]; j++)
            keys[n++] = a[PREFIX_START] + j;
        for (int32_t j = 0; j < a[KEY_LEN]; j++)
            keys[n++] = a[KEY_START] + j;
        for (int32_t i = 0; i < a[QUERIES]; i++, row++)
            for (int h = 0; h < heads; h++) {
                int64_t q = (row * heads + h) * dim, group = (int64_t)(h / (heads / groups)) * dim;
                const double *bias = reach ? x[3] + h * (2 * reach + 1) + reach : NULL;
                attend(y + q, x[0] + q, x[1] + group, x[2] + group, keys, n - a[QUERIES] + 1 + i, stride, form, bias);
            }
        free(keys);
    }
}

static void inputs(struct op_test *t, int64_t queries, int64_t keys)
{
    int form = t->variant % FORMS;

    op_matrix(t, queries, (int64_t)forms[form].heads * forms[form].dim, 1);
    op_matrix(t, keys, (int64_t)forms[form].groups * forms[form].dim, 1);
    op_matrix(t, keys, (int64_t)forms[form].groups * forms[form].dim, 1);
    if (forms[form].reach)
        op_vector(t, forms[form].heads * (2 * forms[form].reach + 1), 1);
}

/* Of some forms, sequences of several tiles of keys and rows; the others would take long. */
static bool of_tiles(const struct op_test *t)
{
    return t->variant < 2 || forms[t->variant % FORMS].window > 30;
}

static int64_t longest(const struct op_test *t)
{
    int64_t least = of_tiles(t) && t->rows > 1000 ? t->variant < 2 ? 300 : 150 : 40;
    return t->cols > least ? t->cols : least;
}

/* Sequences of the packed rows, as a training step has them; all the rows of one form alone, and fewest where no
 * sequence is of several tiles, for time's sake. */
static void pack(struct op_test *t)
{
    int64_t most = longest(t);

    if (t->rows > 1000 && t->variant)
        t->rows = of_tiles(t) ? 385 : 193;
    int32_t *fields = op_ints(t, (t->rows + 2) * FIELDS, 0, 1), *lengths = op_lengths(t, t->rows, most), row = 0;

    for (int64_t s = 0; s < t->n_ints[1]; row += lengths[s++])
        memcpy(fields + s * FIELDS, (int32_t[FIELDS]){ lengths[s], row, lengths[s], 0, 0, (int32_t)s },
               FIELDS * sizeof *fields);
    t->n_ints[0] = t->n_ints[1] * FIELDS;
}

static void plain_setup(struct op_test *t)
{
    pack(t);
    inputs(t, t->rows, t->rows);
}

/* Every fourth sequence is the prefix of the two or three that follow; the first of all is empty. */
static void share(struct op_test *t)
{
    int32_t *fields = t->ints[0], n = (int32_t)sequences(t);

    for (int32_t s = 0; s < n; s++) {
        int32_t owner = s - s % 4, *a = fields + s * FIELDS, *shared = fields + owner * FIELDS;
        if (s == owner || s % 16 == 7)
            continue;
        a[PREFIX_START] = shared[KEY_START];
        a[PREFIX_LEN] = shared[KEY_LEN];
        shared[LAST] = s;
    }
}

static void prefixed_setup(struct op_test *t)
{
    pack(t);
    share(t);
    inputs(t, t->rows, t->rows);
}

/* The same, every other prefix without queries; one that nobody has as his prefix too. */
static void path_setup(struct op_test *t)
{
    int64_t queries = 0;

    pack(t);
    share(t);
    for (int64_t s = 0; s < sequences(t); s++) {
        int32_t *a = t->ints[0] + s * FIELDS;
        if (s % 8 == 4 || s % 32 == 7)
            a[QUERIES] = 0;
        queries += a[QUERIES];
    }
    inputs(t, queries, t->rows);
}

/* Caches: a few queries over the ends of runs of keys, in any order and with others between, the first of the longest;
 * nothing is recorded. */
static void cache_setup(struct op_test *t)
{
    int32_t n = (int32_t)(t->rows < 64 ? t->rows : 64), *fields = op_ints(t, (n + 1) * FIELDS, 0, 4), end = 5;
    int64_t queries = 0;

    for (int32_t s = n - 1; s >= 0; s--) {
        int32_t *a = fields + s * FIELDS, prefix = a[PREFIX_LEN], more = (int32_t)(op_uniform(t) * (double)longest(t));
        a[QUERIES] = s % 3 ? 1 : a[QUERIES];
        a[KEY_START] = end;
        a[KEY_LEN] = s ? a[QUERIES] + more : (int32_t)longest(t);
        a[PREFIX_START] = s % 2 ? 0 : end;
        a[PREFIX_LEN] = s ? prefix * a[KEY_LEN] / 4 : 0;
        end += a[KEY_LEN] + 2;
        queries += a[QUERIES];
    }
    t->n_ints[0] = (int64_t)n * FIELDS;
    inputs(t, queries, end + longest(t) + 4);
    for (int i = 0; i < t->n_in; i++)
        t->in[i].constant = true;
}

static const struct op_row rows[] = {
    { "causal_attention", plain_setup, run_plain, reference, .variants = FORMS },
    { "causal_attention_prefixed", prefixed_setup, run_prefixed, reference, .variants = FORMS },
    { "causal_attention_path", path_setup, run_prefixed, reference, .variants = FORMS },
    { "causal_attention_cache", cache_setup, run_prefixed, reference, .variants = FORMS },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
