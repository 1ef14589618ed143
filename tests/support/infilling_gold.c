#include "tests/support/infilling_gold.h"

#include "data/base/json.h"
#include "data/corpora/ambiqt_text.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char blank[] = "\xe2\x96\x81"; /* the mark of SentencePiece */

static int integer(const json_t *o, const char *field)
{
    const json_t *v = json_object_get(o, field);
    assert_true(json_is_integer(v));
    return (int)json_integer_value(v);
}

static const char *string(const json_t *o, const char *field)
{
    const char *s = json_string_value(json_object_get(o, field));
    assert_non_null(s);
    return s;
}

static struct infilling_case read_case(const struct infilling_gold *g, const json_t *o)
{
    return (struct infilling_case){
        .gold = g,
        .name = string(o, "name"),
        .schema = string(o, "schema"),
        .template = string(o, "template"),
        .branch_columns = json_is_true(json_object_get(o, "branch_columns")),
        .branch_tables = json_is_true(json_object_get(o, "branch_tables")),
        .beams = integer(o, "beams"),
        .max_length = integer(o, "max_length"),
        .unrestricted_from = integer(o, "unrestricted_from"),
        .guides = json_object_get(o, "guides"),
        .whitelist = json_object_get(o, "whitelist"),
        .steps = json_object_get(o, "steps"),
        .answers = json_object_get(o, "answers"),
        .kept = json_object_get(o, "kept"),
    };
}

static void read_noise(struct infilling_gold *g, const json_t *tables)
{
    const json_t *noise = json_object_get(tables, "noise"), *row, *x;
    size_t i, k;

    g->boost = json_number_value(json_object_get(tables, "boost"));
    g->n_rows = (int)json_array_size(noise);
    g->noise = xcalloc((size_t)g->n_rows * (size_t)g->n_pieces, sizeof *g->noise);
    json_array_foreach(noise, i, row)
    {
        assert_int_equal(json_array_size(row), g->n_pieces);
        json_array_foreach(row, k, x) g->noise[i * (size_t)g->n_pieces + k] = json_number_value(x);
    }
}

void infilling_gold_read(struct infilling_gold *g)
{
    struct error err = { 0 };
    const json_t *pieces, *cases, *o;
    size_t i;

    *g = (struct infilling_gold){ .file = json_read_file("tests/gold/infilling.json", &err) };
    if (!g->file)
        fail_msg("%s", err.text);
    pieces = json_object_get(g->file, "pieces");
    cases = json_object_get(g->file, "cases");
    g->n_pieces = (int)json_array_size(pieces);
    g->pieces = xcalloc((size_t)g->n_pieces + 1, sizeof *g->pieces);
    json_array_foreach(pieces, i, o) g->pieces[i] = json_string_value(o);
    g->start = integer(g->file, "start");
    g->end = integer(g->file, "end");
    g->unknown = integer(g->file, "unknown");
    read_noise(g, json_object_get(g->file, "tables"));
    g->cases = xcalloc(json_array_size(cases) + 1, sizeof *g->cases);
    json_array_foreach(cases, i, o) g->cases[g->n_cases++] = read_case(g, o);
}

void infilling_gold_release(struct infilling_gold *g)
{
    free(g->pieces);
    free(g->noise);
    free(g->cases);
    json_decref(g->file);
}

/* The longest piece that the text begins with; of equal ones there is none. */
static int find_piece(const struct infilling_gold *g, const char *text)
{
    int best = -1;

    for (int i = 0; i < g->n_pieces; i++)
        if (strncmp(text, g->pieces[i], strlen(g->pieces[i])) == 0 &&
            (best < 0 || strlen(g->pieces[i]) > strlen(g->pieces[best])))
            best = i;
    return best;
}

void infilling_gold_encode(void *user, const char *text, struct infilling_ids *out)
{
    const struct infilling_gold *g = user;
    char *marked = text_replace(text, " ", blank), *whole = NULL;

    assert_true(asprintf(&whole, "%s%s", blank, marked) >= 0);
    for (const char *p = whole; *p; p += strlen(g->pieces[out->items[out->n - 1]])) {
        int piece = find_piece(g, p);
        if (piece < 0)
            fail_msg("no piece begins \"%s\"", p);
        GROW(out->items, out->n, out->cap);
        out->items[out->n++] = piece;
    }
    free(whole);
    free(marked);
}

char *infilling_gold_decode(void *user, const int32_t *ids, int n)
{
    const struct infilling_gold *g = ((const struct infilling_case *)user)->gold;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (int i = 0; i < n; i++)
        if (ids[i] != g->start && ids[i] != g->end && ids[i] != g->unknown)
            fputs(g->pieces[ids[i]], out);
    assert_int_equal(fclose(out), 0);
    char *spaced = text_replace(text, blank, " "), *first = xstrdup(spaced + (*spaced == ' '));
    free(text);
    free(spaced);
    return infilling_clean_up(first);
}

/* A guide's id at a place, the start token standing before it; -1 behind its end. */
static int guide_id(const struct infilling_case *c, const json_t *guide, int at)
{
    const json_t *id = json_array_get(guide, (size_t)at - 1);
    return at == 0 ? c->gold->start : id ? (int)json_integer_value(id) : -1;
}

/* The last n ids of a prefix with the token behind them stand in a guide. */
static bool stands(const struct infilling_case *c, const int32_t *prefix, int length, int n, int token)
{
    const json_t *guide;
    size_t i;

    json_array_foreach(c->guides, i, guide)
    {
        for (int at = 0; at + n <= (int)json_array_size(guide); at++) {
            int same = 0;
            while (same < n && guide_id(c, guide, at + same) == prefix[length - n + same])
                same++;
            if (same == n && guide_id(c, guide, at + n) == token)
                return true;
        }
    }
    return false;
}

static void fill_row(const struct infilling_case *c, double *row, const int32_t *prefix, int length)
{
    const struct infilling_gold *g = c->gold;
    uint32_t h = 0;
    double top = -INFINITY, sum = 0;

    for (int i = 0; i < length; i++)
        h = 31 * h + (uint32_t)prefix[i] + 7;
    for (int token = 0; token < g->n_pieces; token++) {
        int n = length < 5 ? length : 5;
        while (n && !stands(c, prefix, length, n, token))
            n--;
        row[token] = g->noise[h % (uint32_t)g->n_rows * (uint32_t)g->n_pieces + (uint32_t)token] + g->boost * n;
        top = fmax(top, row[token]);
    }
    for (int token = 0; token < g->n_pieces; token++)
        sum += exp(row[token] - top);
    for (int token = 0; token < g->n_pieces; token++)
        row[token] -= top + log(sum);
}

int infilling_gold_scores(void *user, double *rows, const int32_t *const *beams, int n, int length)
{
    const struct infilling_case *c = user;

    for (int i = 0; i < n; i++)
        fill_row(c, rows + (int64_t)i * c->gold->n_pieces, beams[i], length);
    return 0;
}
