/* The table of ops.  tests/support/op_test.h describes the checks, and how to add an op. */
#include "tests/support/op_test.h"

#include "tests/support/reference.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t at_least(int64_t x, int64_t low)
{
    return x < low ? low : x;
}

static void two_matrices(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 2);
    op_matrix(t, t->rows, t->cols, 2);
}

static void one_matrix(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 4);
}

static struct tensor *run_add(struct ctx *c, struct op_test *t)
{
    return op_add(c, t->x[0], t->x[1]);
}

static void add(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->in[0].n; i++)
        y[i] = x[0][i] + x[1][i];
}

static struct tensor *run_activation(struct ctx *c, struct op_test *t)
{
    return op_activation(c, t->x[0], (enum activation)t->variant);
}

static void activation(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->in[0].n; i++)
        y[i] = reference_activation(x[0][i], (enum activation)t->variant);
}

/* To the other type and back: the loss is one rounding to bf16. */
static struct tensor *run_cast(struct ctx *c, struct op_test *t)
{
    return op_cast(c, t->x[0], t->variant ? BF16 : F32);
}

static void copy(const struct op_test *t, double *const *x, double *y)
{
    memcpy(y, x[0], (size_t)t->in[0].n * sizeof *y);
}

/* Every activation with a bias, then no bias, then a frozen weight, then outputs in whole packs of the CUDA kernels.
 * There a thread has two rows, so bf16 has an even number of rows. */
enum { LINEAR_NO_BIAS = ACT_SIGMOID + 1, LINEAR_FROZEN, LINEAR_PACKS, LINEAR_VARIANTS };

static void linear_setup(struct op_test *t)
{
    int64_t outputs = t->variant == LINEAR_PACKS ? 40 : t->rows % 2 ? 37 : 16;

    if (t->variant == LINEAR_PACKS && t->dtype == BF16)
        t->rows += t->rows % 2;
    op_matrix(t, t->rows, t->cols, 1);
    op_param(t, outputs, t->cols, 2.0 / (double)at_least(t->cols / 16, 1));
    if (t->variant == LINEAR_FROZEN)
        op_constant(t);
    if (t->variant != LINEAR_NO_BIAS)
        op_vector(t, outputs, 1);
}

static struct tensor *run_linear(struct ctx *c, struct op_test *t)
{
    enum activation act = t->variant < LINEAR_NO_BIAS ? (enum activation)t->variant : ACT_GELU;

    t->x[1]->frozen = t->variant == LINEAR_FROZEN;
    return op_linear(c, t->x[0], t->x[1], t->variant == LINEAR_NO_BIAS ? NULL : t->x[2], act);
}

static void linear(const struct op_test *t, double *const *x, double *y)
{
    enum activation act = t->variant < LINEAR_NO_BIAS ? (enum activation)t->variant : ACT_GELU;
    int64_t rows = t->rows, outputs = t->in[1].shape[0];

    for (int64_t i = 0; i < rows * outputs && t->variant != LINEAR_NO_BIAS; i++)
        y[i] = x[2][i % outputs];
    reference_matmul(y, x[0], false, x[1], true, rows, outputs, t->cols);
    for (int64_t i = 0; i < rows * outputs; i++)
        y[i] = reference_activation(y[i], act);
}

/* Terms of a sum; of many the last part, where they are cut into parts, is a single one. */
static int64_t matmul_terms(const struct op_test *t)
{
    return t->cols > 1000 ? 1153 : t->cols;
}

/* Bit 0 of the variant transposes a, bit 1 b. */
static void matmul_setup(struct op_test *t)
{
    int64_t n = t->rows % 2 ? 31 : 16, terms = matmul_terms(t);

    op_matrix(t, t->variant & 1 ? terms : t->rows, t->variant & 1 ? t->rows : terms, 1);
    op_matrix(t, t->variant & 2 ? n : terms, t->variant & 2 ? terms : n, 1);
}

static struct tensor *run_matmul(struct ctx *c, struct op_test *t)
{
    return op_matmul(c, t->x[0], t->variant & 1, t->x[1], t->variant & 2);
}

static void matmul(const struct op_test *t, double *const *x, double *y)
{
    reference_matmul(y, x[0], t->variant & 1, x[1], t->variant & 2, t->rows, t->in[1].shape[t->variant & 2 ? 0 : 1],
                     matmul_terms(t));
}

/* Variant n sums n + 1 tables of different heights; the last has one row, asked for by every id. */
static int64_t table_rows(int table)
{
    return (int64_t[]){ 97, 40, 2, 1 }[table];
}

static void embed_setup(struct op_test *t)
{
    for (int i = 0; i <= t->variant; i++) {
        op_param(t, table_rows(i), t->cols, 1);
        op_ints(t, t->rows, 0, (int32_t)table_rows(i));
    }
}

static struct tensor *run_embed(struct ctx *c, struct op_test *t)
{
    struct index ids[4];

    for (int i = 0; i <= t->variant; i++)
        ids[i] = batch_index(c, t->ints[i], t->rows, table_rows(i));
    return op_embed(c, t->x, ids, t->variant + 1);
}

static void embed(const struct op_test *t, double *const *x, double *y)
{
    for (int i = 0; i <= t->variant; i++)
        for (int64_t r = 0; r < t->rows; r++)
            for (int64_t j = 0; j < t->cols; j++)
                y[r * t->cols + j] += x[i][t->ints[i][r] * t->cols + j];
}

/* rows ids out of two thirds as many rows; variant 1: out of a parameter */
static int64_t gather_rows(const struct op_test *t)
{
    return at_least(t->rows * 2 / 3, 1);
}

static void gather_setup(struct op_test *t)
{
    (t->variant ? op_param : op_matrix)(t, gather_rows(t), t->cols, 1);
    op_ints(t, t->rows, 0, (int32_t)gather_rows(t));
}

static struct tensor *run_gather(struct ctx *c, struct op_test *t)
{
    struct index i = batch_index(c, t->ints[0], t->rows, gather_rows(t));
    return op_gather(c, t->x[0], &i);
}

static void gather(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t r = 0; r < t->rows; r++)
        memcpy(y + r * t->cols, x[0] + t->ints[0][r] * t->cols, (size_t)t->cols * sizeof *y);
}

static void scatter_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 1);
    op_ints(t, t->rows, 0, (int32_t)gather_rows(t));
}

static struct tensor *run_scatter(struct ctx *c, struct op_test *t)
{
    struct ctx recording = *c;
    recording.recording = true; /* so that the index tells who asks for each row */
    struct index i = batch_index(&recording, t->ints[0], t->rows, gather_rows(t) + 3);
    return op_scatter(c, t->x[0], &i, gather_rows(t) + 3);
}

static void scatter(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t j = 0; j < t->cols; j++)
            y[t->ints[0][r] * t->cols + j] += x[0][r * t->cols + j];
}

/* Variant 1 has rows in whole packs of the CUDA kernels, of up to three packs a lane. */
static void norm_columns(struct op_test *t)
{
    static const int64_t cols[] = { 768, 264, 520, 512, 760 };

    if (t->variant)
        t->cols = cols[t->cols % ARRAY_LEN(cols)];
}

static void layer_norm_setup(struct op_test *t)
{
    norm_columns(t);
    two_matrices(t);
    op_vector(t, t->cols, 1);
    op_vector(t, t->cols, 1);
}

static struct tensor *run_layer_norm(struct ctx *c, struct op_test *t)
{
    return op_layer_norm(c, t->x[0], t->x[1], t->x[2], t->x[3], 1e-5f);
}

static void layer_norm(const struct op_test *t, double *const *x, double *y)
{
    reference_layer_norm(y, x[0], x[1], x[2], x[3], t->rows, t->cols, 1e-5f);
}

static void plain_norm_setup(struct op_test *t)
{
    norm_columns(t);
    one_matrix(t);
    op_vector(t, t->cols, 1);
    op_vector(t, t->cols, 1);
}

static struct tensor *run_plain_norm(struct ctx *c, struct op_test *t)
{
    return op_layer_norm(c, t->x[0], NULL, t->x[1], t->x[2], 1e-5f);
}

static void plain_norm(const struct op_test *t, double *const *x, double *y)
{
    reference_layer_norm(y, x[0], NULL, x[1], x[2], t->rows, t->cols, 1e-5f);
}

static struct tensor *run_dropout(struct ctx *c, struct op_test *t)
{
    return op_dropout(c, t->x[0], 0.3f);
}

static void dropout(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t j = 0; j < t->cols; j++)
            y[r * t->cols + j] = x[0][r * t->cols + j] * reference_keep(t->rng, t->site, r, j, 0.3f);
}

/* Head sizes with their own kernels first, then the other types: odd, even, multiples of a vector, beyond 128.  Last
 * come sequence lengths around the ends of tiles, a long sequence among short ones, and one sequence of all rows. */
enum form { FORM_PLAIN, FORM_DROPOUT, FORM_BIAS /* with a scale and dropout */ };
enum lengths { LENGTHS_MIXED, LENGTHS_EDGES, LENGTHS_ONE };
static const struct {
    int width;
    enum form form;
    enum lengths lengths;
} heads[] = {
    { 32, FORM_PLAIN, LENGTHS_MIXED },    { 64, FORM_PLAIN, LENGTHS_MIXED },   { 128, FORM_PLAIN, LENGTHS_MIXED },
    { 32, FORM_DROPOUT, LENGTHS_MIXED },  { 64, FORM_DROPOUT, LENGTHS_MIXED }, { 128, FORM_DROPOUT, LENGTHS_MIXED },
    { 32, FORM_BIAS, LENGTHS_MIXED },     { 64, FORM_BIAS, LENGTHS_MIXED },    { 128, FORM_BIAS, LENGTHS_MIXED },
    { 1, FORM_DROPOUT, LENGTHS_MIXED },   { 7, FORM_BIAS, LENGTHS_MIXED },     { 20, FORM_PLAIN, LENGTHS_MIXED },
    { 26, FORM_BIAS, LENGTHS_MIXED },     { 40, FORM_DROPOUT, LENGTHS_MIXED }, { 72, FORM_BIAS, LENGTHS_MIXED },
    { 80, FORM_PLAIN, LENGTHS_MIXED },    { 96, FORM_DROPOUT, LENGTHS_MIXED }, { 160, FORM_BIAS, LENGTHS_MIXED },
    { 256, FORM_DROPOUT, LENGTHS_MIXED }, { 64, FORM_DROPOUT, LENGTHS_EDGES }, { 24, FORM_BIAS, LENGTHS_EDGES },
    { 7, FORM_BIAS, LENGTHS_ONE },
};

static int32_t *attention_lengths(struct op_test *t, int64_t longest)
{
    static const int32_t edges[] = { 0, 1, 31, 33, 63, 64, 65, 127, INT32_MAX };
    enum lengths kind = heads[t->variant].lengths;
    if (kind == LENGTHS_MIXED)
        return op_lengths(t, t->rows, longest);

    int64_t n = kind == LENGTHS_ONE ? 1 : ARRAY_LEN(edges), left = t->rows;
    int32_t *lengths = op_ints(t, n, 0, 1);
    for (int64_t i = 0; i < n; i++, left -= lengths[i - 1]) {
        int32_t edge = kind == LENGTHS_ONE ? INT32_MAX : edges[i];
        lengths[i] = edge < left ? edge : (int32_t)left;
    }
    return lengths;
}

/* Few for time's sake, and of the narrow ones more than simt takes in one launch of the backward. */
static int heads_of(const struct op_test *t)
{
    if (heads[t->variant].width > 128 || heads[t->variant].lengths)
        return 1;
    return heads[t->variant].width < 8 ? 4 : 2;
}

static struct reference_attention attention_of(const struct op_test *t, bool fused)
{
    struct reference_attention a = { .q_lengths = t->ints[0],
                                     .k_lengths = t->ints[fused ? 0 : 1],
                                     .n = t->n_ints[0],
                                     .heads = heads_of(t),
                                     .dim = heads[t->variant].width,
                                     .fused = fused,
                                     .p = heads[t->variant].form == FORM_PLAIN ? 0 : 0.2f,
                                     .rng = t->rng,
                                     .site = t->site };

    a.scale = 1 / sqrt(a.dim);
    if (heads[t->variant].form == FORM_BIAS) {
        a.scale = 0.75f / sqrtf((float)a.dim);
        a.reach = 5 + a.dim % 2;
    }
    return a;
}

/* All the rows of few forms, for time's sake: plain ones, the ends of tiles, one long sequence with itself. */
static void fewer_rows(struct op_test *t, bool fused)
{
    enum lengths lengths = heads[t->variant].lengths;

    if (t->rows > 1000 && t->variant > 2 && lengths != LENGTHS_EDGES && !(fused && lengths == LENGTHS_ONE))
        t->rows = 385;
}

/* The bias table is the last input. */
static void bias_setup(struct op_test *t, bool fused)
{
    struct reference_attention a = attention_of(t, fused);

    if (a.reach)
        op_f32(t, a.heads, 2 * a.reach + 1, 1);
}

static struct tensor *run_attention(struct ctx *c, struct op_test *t, bool fused)
{
    struct reference_attention a = attention_of(t, fused);
    struct seqs qs = batch_seqs(c, a.q_lengths, a.n), ks = batch_seqs(c, a.k_lengths, a.n);
    struct attention_form form = { .heads = a.heads, .p = a.p };

    if (a.reach) {
        form.scale = (float)a.scale;
        form.bias = t->x[t->n_in - 1];
    }
    return op_attention(c, t->x[0], t->x[fused ? 0 : 1], &qs, &ks, &form);
}

static void attention(const struct op_test *t, double *const *x, double *y, bool fused)
{
    struct reference_attention a = attention_of(t, fused);

    a.q = x[0];
    a.kv = x[fused ? 0 : 1];
    a.bias = a.reach ? x[t->n_in - 1] : NULL;
    reference_attention(y, &a);
}

static void self_attention_setup(struct op_test *t)
{
    struct reference_attention a = attention_of(t, true);

    fewer_rows(t, true);
    op_matrix(t, t->rows, 3 * a.heads * a.dim, 1);
    attention_lengths(t, at_least(t->cols, 40));
    bias_setup(t, true);
}

static struct tensor *run_self_attention(struct ctx *c, struct op_test *t)
{
    return run_attention(c, t, true);
}

static void self_attention(const struct op_test *t, double *const *x, double *y)
{
    attention(t, x, y, true);
}

/* Every second key sequence is longer than its queries, the others may be empty; or they are the lengths of others. */
static void cross_attention_setup(struct op_test *t)
{
    struct reference_attention a = attention_of(t, false);
    fewer_rows(t, false);
    int32_t *queries = attention_lengths(t, 20), *keys = op_ints(t, t->n_ints[0], 0, 40);
    int64_t total = 0, n = t->n_ints[0];

    for (int64_t i = 0; i < n; i++) {
        keys[i] = heads[t->variant].lengths ? queries[n - 1 - i] : i % 2 ? queries[i] + 1 : keys[i] / 2;
        total += keys[i];
    }
    op_matrix(t, t->rows, a.heads * a.dim, 1);
    op_matrix(t, total, 2 * a.heads * a.dim, 1);
    bias_setup(t, false);
}

static struct tensor *run_cross_attention(struct ctx *c, struct op_test *t)
{
    return run_attention(c, t, false);
}

static void cross_attention(const struct op_test *t, double *const *x, double *y)
{
    attention(t, x, y, false);
}

static const struct op_row rows[] = {
    { "add", two_matrices, run_add, add, .variants = 1, .same_twice = true },
    { "activation", one_matrix, run_activation, activation, .variants = ACT_SIGMOID + 1 },
    { "cast", one_matrix, run_cast, copy, .variants = 2 },
    { "linear", linear_setup, run_linear, linear, .variants = LINEAR_VARIANTS },
    { "matmul", matmul_setup, run_matmul, matmul, .variants = 4 },
    { "embed", embed_setup, run_embed, embed, .variants = 4 },
    { "gather", gather_setup, run_gather, gather, .variants = 2 },
    { "scatter", scatter_setup, run_scatter, scatter, .variants = 1 },
    { "layer_norm", layer_norm_setup, run_layer_norm, layer_norm, .variants = 2, .same_twice = true },
    { "layer_norm_plain", plain_norm_setup, run_plain_norm, plain_norm, .variants = 2 },
    { "dropout", one_matrix, run_dropout, dropout, .variants = 1 },
    { "attention_self", self_attention_setup, run_self_attention, self_attention, .variants = ARRAY_LEN(heads) },
    { "attention_cross", cross_attention_setup, run_cross_attention, cross_attention, .variants = ARRAY_LEN(heads) },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
