#include "data/plan/restricted_infilling.h"

#include "data/corpora/ambiqt_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n\v\f\r";

/* Adds the pieces of texts at a given place. */
struct first_pieces {
    struct infilling_ids *out;
    infilling_encode_fn *encode;
    void *user;
};

static void add_piece(const struct first_pieces *f, const char *text, int place)
{
    struct infilling_ids pieces = { 0 };

    f->encode(f->user, text, &pieces);
    if (place < pieces.n) {
        GROW(f->out->items, f->out->n, f->out->cap);
        f->out->items[f->out->n++] = pieces.items[place];
    }
    free(pieces.items);
}

/* Behind "t1." a column begins with the fourth piece: "_t 1 . name", as published. */
static void add_column(const struct first_pieces *f, const char *column)
{
    char *aliased = NULL;

    CHECK(asprintf(&aliased, "t1.%s", column) >= 0, "no memory for a column's name");
    add_piece(f, column, 0);
    if (strcmp(column, "*") != 0)
        add_piece(f, aliased, 3);
    free(aliased);
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_distinct(struct infilling_ids *ids)
{
    int n = 0;

    if (ids->n)
        qsort(ids->items, (size_t)ids->n, sizeof *ids->items, by_number);
    for (int i = 0; i < ids->n; i++)
        if (!n || ids->items[n - 1] != ids->items[i])
            ids->items[n++] = ids->items[i];
    ids->n = n;
}

int infilling_whitelist(struct infilling_ids *out, const char *schema, bool columns, bool tables,
                        infilling_encode_fn *encode, void *user, struct error *err)
{
    const struct first_pieces f = { .out = out, .encode = encode, .user = user };
    struct template_names names;

    int rc = template_names_as_written(&names, schema, err);
    for (int i = 0; rc == 0 && tables && i < names.tables.n; i++)
        add_piece(&f, names.tables.items[i], 0);
    for (int i = 0; rc == 0 && columns && i < names.columns.n; i++)
        add_column(&f, names.columns.items[i]);
    sort_distinct(out);
    template_names_release(&names);
    return rc;
}

static const char *behind_last(const char *text, int c)
{
    const char *p = strrchr(text, c);
    return p ? p + 1 : text;
}

static const char *behind_first(const char *text, int c)
{
    const char *p = strchr(text, c);
    return p ? p + 1 : text;
}

/* The last word of what stands behind the last "|" and "@" is "t", one character and a point. */
static bool ends_in_alias(const char *text)
{
    const char *out = behind_last(behind_last(text, '|'), '@'), *end = out + strlen(out);

    while (end > out && strchr(blanks, end[-1]))
        end--;
    const char *word = end;
    while (word > out && word[-1] != ' ')
        word--;
    int characters = 0;
    for (const char *p = word; p < end; p++)
        characters += ((unsigned char)*p & 0xc0) != 0x80;
    return characters == 3 && word[0] == 't' && end[-1] == '.';
}

static bool begins(const char *text, const char *with, size_t n)
{
    return strncmp(text, with, n) == 0;
}

static enum infilling_decision decide_by_template(const struct infilling_rules *r, const char *text,
                                                  const char *template)
{
    const char *last = strrchr(template, ' ');
    size_t n = strlen(template);
    bool joins = strstr(r->template, " join ") != NULL;

    if (!begins(r->template, template, last ? (size_t)(last - template) : 0))
        return INFILLING_KILL;
    if (joins && r->branch_columns && ends_in_alias(text))
        return INFILLING_BRANCH;
    if (!n || !begins(r->template, template, n))
        return INFILLING_FORCE;
    const char *rest = r->template + n;
    rest += strspn(rest, blanks);
    bool column = !joins && r->branch_columns && begins(rest, "column", strlen("column"));
    bool table = r->branch_tables && begins(rest, "table", strlen("table"));
    return column || table ? INFILLING_BRANCH : INFILLING_FORCE;
}

enum infilling_decision infilling_decide(const struct infilling_rules *r, const char *text, int n_tokens)
{
    if (n_tokens >= r->unrestricted_from)
        return INFILLING_LEAVE;
    char *template = sql_template(r->names, behind_first(behind_first(text, '|'), '@'), SQL_TEMPLATE_INFERENCE);
    enum infilling_decision d = decide_by_template(r, text, template);
    free(template);
    return d;
}

static void keep_whitelist(const struct infilling_rules *r, double *row, int n_vocabulary)
{
    for (int i = 0, w = 0; i < n_vocabulary; i++) {
        bool kept = w < r->n_whitelist && r->whitelist[w] == i;
        w += kept;
        row[i] = kept ? row[i] : -INFINITY;
    }
}

static int find_greatest(const double *row, int n_vocabulary)
{
    int greatest = 0;
    for (int i = 1; i < n_vocabulary; i++)
        greatest = row[i] > row[greatest] ? i : greatest;
    return greatest;
}

/* token -1: none. */
static void force(double *row, int n_vocabulary, int token)
{
    for (int i = 0; i < n_vocabulary; i++)
        row[i] = i == token ? 1 : -INFINITY;
}

void infilling_apply(const struct infilling_rules *r, enum infilling_decision d, double *row, int n_vocabulary)
{
    if (d == INFILLING_BRANCH)
        keep_whitelist(r, row, n_vocabulary);
    else if (d != INFILLING_LEAVE)
        force(row, n_vocabulary, d == INFILLING_FORCE ? find_greatest(row, n_vocabulary) : -1);
}

static bool is_listed(const struct infilling_rules *r, int32_t token)
{
    return r->n_whitelist &&
           bsearch(&token, r->whitelist, (size_t)r->n_whitelist, sizeof *r->whitelist, by_number) != NULL;
}

bool infilling_reads(const struct infilling_rules *r, int n_tokens)
{
    return r->template && n_tokens >= r->n_prefix && n_tokens < r->unrestricted_from;
}

enum infilling_decision infilling_restrict(const struct infilling_rules *r, const char *text, int n_tokens, double *row,
                                           int n_vocabulary)
{
    enum infilling_decision d = INFILLING_FORCE;

    if (n_tokens < r->n_prefix) {
        force(row, n_vocabulary, r->prefix[n_tokens]);
        return d;
    }
    if (r->template)
        d = infilling_decide(r, text, n_tokens);
    else if (is_listed(r, find_greatest(row, n_vocabulary)))
        d = INFILLING_BRANCH;
    infilling_apply(r, d, row, n_vocabulary);
    return d;
}

char *infilling_clean_up(char *text)
{
    static const char *const changes[][2] = {
        { " .", "." },     { " ?", "?" },   { " !", "!" },   { " ,", "," },     { " ' ", "'" },
        { " n't", "n't" }, { " 'm", "'m" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };

    for (int i = 0; i < ARRAY_LEN(changes); i++) {
        char *changed = text_replace(text, changes[i][0], changes[i][1]);
        free(text);
        text = changed;
    }
    return text;
}

char *infilling_statement(const struct infilling_rules *r, const char *text)
{
    char *sql = ambiqt_normalize(behind_first(text, '|')), *template;

    template = sql_template(r->names, sql, SQL_TEMPLATE_INFERENCE);
    if (strcmp(template, r->template) != 0) {
        free(sql);
        sql = NULL;
    }
    free(template);
    return sql;
}
