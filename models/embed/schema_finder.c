#include "models/embed/schema_finder.h"

#include <stdlib.h>
#include <string.h>

/* Columns of a piece: that fit in what small encoders read. */
enum { PIECE = 40, TABLES_AT_ONCE = 256 };

struct schema_finder {
    const struct schema *schema;
    struct schema_search *search;
    float *vectors; /* [tables, width], NULL without an encoder */
    int64_t width;
};

/* Texts of some tables, one table's after the other's. */
struct table_texts {
    char **list;
    int n, cap;
};

/* Takes text. */
static void add(struct table_texts *t, char *text)
{
    GROW(t->list, t->n, t->cap);
    t->list[t->n++] = text;
}

static size_t piece_length(const struct schema *s, int table, int first, int end)
{
    size_t n = strlen(s->tables[table].text) + 1;

    for (int i = first; i < end; i++)
        n += 2 + strlen(s->columns[i].text);
    return n;
}

/* "name: column, column" */
static char *piece(const struct schema *s, int table, int first, int end)
{
    char *text = xmalloc(piece_length(s, table, first, end)), *at = stpcpy(text, s->tables[table].text);

    for (int i = first; i < end; i++)
        at = stpcpy(stpcpy(at, i == first ? ": " : ", "), s->columns[i].text);
    return text;
}

static int pieces_of(const struct schema *s, int table)
{
    return (s->tables[table].n_columns + PIECE - 1) / PIECE;
}

static void add_table(struct table_texts *t, const struct schema *s, int table)
{
    int first = s->tables[table].first_column, end = first + s->tables[table].n_columns;

    add(t, piece(s, table, 0, 0));
    for (; first < end; first += PIECE)
        add(t, piece(s, table, first, end < first + PIECE ? end : first + PIECE));
}

/* of [width] = the mean of the first vector and of the mean of the others; which is as good as any multiple. */
static void join(float *of, const float *vectors, int others, int64_t width)
{
    for (int64_t c = 0; c < width; c++) {
        double sum = 0;
        for (int i = 1; i <= others; i++)
            sum += (double)vectors[i * width + c];
        of[c] = (float)((double)vectors[c] + (others ? sum / others : 0));
    }
}

static int embed_some(struct schema_finder *f, struct sentence_encoder *e, int first, int end, struct error *err)
{
    const struct schema *s = f->schema;
    struct table_texts t = { 0 };

    for (int i = first; i < end; i++)
        add_table(&t, s, i);
    float *vectors = xmalloc((size_t)t.n * (size_t)f->width * sizeof *vectors), *at = vectors;
    int rc = sentence_encoder_embed(e, vectors, (const char *const *)t.list, t.n, err);
    for (int i = first; rc == 0 && i < end; i++) {
        join(f->vectors + i * f->width, at, pieces_of(s, i), f->width);
        sentence_vector_normalise(f->vectors + i * f->width, f->width);
        at += (1 + pieces_of(s, i)) * f->width;
    }
    for (int i = 0; i < t.n; i++)
        free(t.list[i]);
    free(t.list);
    free(vectors);
    return rc;
}

static int embed_tables(struct schema_finder *f, struct sentence_encoder *e, struct error *err)
{
    int n = f->schema->n_tables, rc = 0;

    f->width = sentence_encoder_width(e);
    f->vectors = xmalloc((size_t)n * (size_t)f->width * sizeof *f->vectors + 1);
    for (int i = 0; rc == 0 && i < n; i += TABLES_AT_ONCE)
        rc = embed_some(f, e, i, i + TABLES_AT_ONCE < n ? i + TABLES_AT_ONCE : n, err);
    return rc;
}

struct schema_finder *schema_finder_open(const struct schema *s, struct sentence_encoder *e, struct error *err)
{
    struct schema_finder *f = xcalloc(1, sizeof *f);

    f->schema = s;
    f->search = schema_search_open(s);
    if (!e || embed_tables(f, e, err) == 0)
        return f;
    schema_finder_close(f);
    return NULL;
}

void schema_finder_close(struct schema_finder *f)
{
    if (!f)
        return;
    schema_search_close(f->search);
    free(f->vectors);
    free(f);
}

/* [tables] */
static float *worths(const struct schema_finder *f, const float *vector)
{
    float *worth = xmalloc((size_t)f->schema->n_tables * sizeof *worth + 1);

    for (int t = 0; t < f->schema->n_tables; t++) {
        double sum = 0;
        for (int64_t c = 0; c < f->width; c++)
            sum += (double)f->vectors[t * f->width + c] * (double)vector[c];
        worth[t] = sum > 0 ? (float)sum : 0;
    }
    return worth;
}

void schema_finder_best(const struct schema_finder *f, const char *question, const float *vector, int most, bool *kept)
{
    CHECK(!vector == !f->vectors, "a question has a vector where the tables have them, and only there");
    float *worth = vector ? worths(f, vector) : NULL;

    schema_search_best(f->search, question, worth, most, kept);
    free(worth);
}
