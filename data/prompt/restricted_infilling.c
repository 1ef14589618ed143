#include "data/prompt/restricted_infilling.h"

#include "data/corpora/ambiqt_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n\v\f\r";

/* Collects the token of a text at a given position. */
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

/* A column after "t1." begins with the fourth token ("_t 1 . name"), as in the published program. */
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

/* Whether the last word after the last "|" and "@" is "t", one character and a point. */
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

/* token -1: none */
static void force(double *row, int n_vocabulary, int token)
{
    for (int i = 0; i < n_vocabulary; i++)
        row[i] = i == token ? 1 : -INFINITY;
}

static void infilling_apply(const struct infilling_rules *r, enum infilling_decision d, double *row, int n_vocabulary)
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

/* Whether the text of a beam of n_tokens tokens is needed for the decision. */
static bool infilling_reads(const struct infilling_rules *r, int n_tokens)
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

/* The beam search, which scores as transformers' BeamSearchScorer does. */

struct infilling_candidate {
    double sum;
    int beam;
    int32_t token;
};

/* Beams of one length, and the finished answers. */
struct infilling_beams {
    const struct infilling_search *s;
    int32_t **ids, **next; /* [beams][max_length] of this step and the next */
    double *sums;          /* [beams] */
    int n, length;
    double *rows;                       /* [beams, n_vocabulary] */
    enum infilling_decision *decisions; /* [beams] */
    struct infilling_candidate *best;   /* [2 beams] best candidates of the step, in order */
    int n_best;
    struct infilling_answer *answers; /* [beams] */
    int n_answers;
};

static int32_t **new_beams(const struct infilling_search *s)
{
    int32_t **ids = xmalloc((size_t)s->beams * sizeof *ids);
    for (int i = 0; i < s->beams; i++)
        ids[i] = xmalloc((size_t)s->max_length * sizeof **ids);
    return ids;
}

static void free_beams(int32_t **ids, int n)
{
    for (int i = 0; i < n; i++)
        free(ids[i]);
    free(ids);
}

static void begin(struct infilling_beams *b, const struct infilling_search *s)
{
    size_t n = (size_t)s->beams;

    *b = (struct infilling_beams){ .s = s, .ids = new_beams(s), .next = new_beams(s), .n = s->beams, .length = 1 };
    b->sums = xmalloc(n * sizeof *b->sums);
    b->rows = xmalloc(n * (size_t)s->n_vocabulary * sizeof *b->rows);
    b->decisions = xmalloc(n * sizeof *b->decisions);
    b->best = xmalloc(2 * n * sizeof *b->best);
    b->answers = xmalloc(n * sizeof *b->answers);
    for (int i = 0; i < s->beams; i++) {
        b->ids[i][0] = s->start;
        b->sums[i] = i ? -1e9 : 0;
    }
}

/* Frees everything except the answers. */
static void end(struct infilling_beams *b)
{
    free_beams(b->ids, b->s->beams);
    free_beams(b->next, b->s->beams);
    free(b->sums);
    free(b->rows);
    free(b->decisions);
    free(b->best);
}

static int restrict_rows(struct infilling_beams *b)
{
    const struct infilling_search *s = b->s;

    if (s->scores(s->user, b->rows, (const int32_t *const *)b->ids, b->n, b->length))
        return -1;
    for (int i = 0; i < b->n; i++) {
        char *text = infilling_reads(s->rules, b->length) ? s->decode(s->user, b->ids[i], b->length) : NULL;
        double *row = b->rows + (int64_t)i * s->n_vocabulary;
        b->decisions[i] = infilling_restrict(s->rules, text, b->length, row, s->n_vocabulary);
        free(text);
    }
    return 0;
}

/* Inserts a candidate in order, after its equals. */
static void rank_candidate(struct infilling_beams *b, struct infilling_candidate c)
{
    int at = b->n_best, most = 2 * b->s->beams;

    if (at == most && c.sum <= b->best[at - 1].sum)
        return;
    b->n_best += at < most;
    at -= at == most;
    for (; at && c.sum > b->best[at - 1].sum; at--)
        b->best[at] = b->best[at - 1];
    b->best[at] = c;
}

static void find_best(struct infilling_beams *b)
{
    const double *row = b->rows;

    b->n_best = 0;
    for (int i = 0; i < b->n; i++, row += b->s->n_vocabulary)
        for (int32_t token = 0; token < b->s->n_vocabulary; token++)
            if (row[token] > -INFINITY)
                rank_candidate(b, (struct infilling_candidate){ b->sums[i] + row[token], i, token });
}

/* Drops the worst answer; of equals, the earliest. */
static void drop_worst(struct infilling_beams *b)
{
    int at = --b->n_answers;

    while (at && b->answers[at - 1].score == b->answers[b->n_answers].score)
        at--;
    free(b->answers[at].ids);
    memmove(b->answers + at, b->answers + at + 1, (size_t)(b->n_answers - at) * sizeof *b->answers);
}

/* Adds the text of a beam to the answers if it is good enough. */
static void finish(struct infilling_beams *b, int beam, double sum)
{
    struct infilling_answer a = { .n = b->length - 1, .score = sum / b->length };
    bool full = b->n_answers == b->s->beams;

    if (full && a.score <= b->answers[b->n_answers - 1].score)
        return;
    if (full)
        drop_worst(b);
    a.ids = xmalloc((size_t)b->length * sizeof *a.ids);
    memcpy(a.ids, b->ids[beam] + 1, (size_t)a.n * sizeof *a.ids);
    int at = b->n_answers++;
    for (; at && a.score > b->answers[at - 1].score; at--)
        b->answers[at] = b->answers[at - 1];
    b->answers[at] = a;
}

/* Splits the best candidates into finished answers and beams of the next step. */
static void share_out(struct infilling_beams *b)
{
    const struct infilling_search *s = b->s;
    int n = 0;

    for (int rank = 0; rank < b->n_best && n < s->beams; rank++) {
        const struct infilling_candidate *c = b->best + rank;
        if (c->token == s->end) {
            if (rank < s->beams)
                finish(b, c->beam, c->sum);
            continue;
        }
        memcpy(b->next[n], b->ids[c->beam], (size_t)b->length * sizeof **b->ids);
        b->next[n][b->length] = c->token;
        b->sums[n++] = c->sum;
    }
    b->n = n;
}

/* Whether no later answer can be better. */
static bool settled(const struct infilling_beams *b)
{
    return b->n_best && b->n_answers == b->s->beams && b->answers[b->n_answers - 1].score >= b->best[0].sum / b->length;
}

/* Returns 1 if the search is over. */
static int step(struct infilling_beams *b)
{
    const struct infilling_search *s = b->s;
    int n_decisions = b->n;

    if (restrict_rows(b))
        return -1;
    find_best(b);
    share_out(b);
    int32_t **ids = b->next;
    b->next = b->ids;
    b->ids = ids;
    bool over = settled(b);
    b->length++;
    if (s->seen)
        s->seen(s->user, b->decisions, n_decisions, (const int32_t *const *)b->ids, b->sums, b->n);
    return over;
}

int infilling_run(struct infilling_answer **answers, const struct infilling_search *s)
{
    struct infilling_beams b;
    int rc = 0;

    begin(&b, s);
    while (rc == 0 && b.n && b.length < s->max_length)
        rc = step(&b);
    for (int i = 0; rc == 0 && i < b.n; i++)
        finish(&b, i, b.sums[i]);
    end(&b);
    *answers = b.answers;
    if (rc >= 0)
        return b.n_answers;
    for (int i = 0; i < b.n_answers; i++)
        free(b.answers[i].ids);
    free(b.answers);
    *answers = NULL;
    return -1;
}
