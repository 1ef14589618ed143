#include "data/span/heuristic.h"

#include "data/span/heuristic_impl.h"
#include "data/span/spoken.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PART_LIKENESS 0.9

/* A name whose words a run says in part. */
static double likeness(const struct spoken *run, const char *run_text, const struct spoken *name, const char *name_text)
{
    const struct spoken_word *head = spoken_head(name);
    int said = 0, words = 0;

    for (int i = 0; i < run->n; i++)
        if (!run->words[i].filler && !spoken_find(name, run->words[i].stem))
            return spoken_ratio(run_text, name_text);
    for (int i = 0; i < name->n; i++)
        if (!name->words[i].filler) {
            words++;
            said += spoken_find(run, name->words[i].stem) != NULL;
        }
    if (said && said == words)
        return 1;
    return head && spoken_find(run, head->stem) ? PART_LIKENESS : spoken_ratio(run_text, name_text);
}

double heuristic_likeness(const char *run, const char *name)
{
    struct spoken words[2];

    spoken_read(&words[0], run);
    spoken_read(&words[1], name);
    return likeness(&words[0], run, &words[1], name);
}

/* A run of words that is like something. */
struct heuristic_run {
    int start, end;
    double score, common; /* the best; letters that are alike */
    bool is_value;
};

struct heuristic_tagger {
    const struct heuristic *h;
    const struct tag_question *q;
    struct spoken words;
    struct spoken *names; /* [n_columns] */
    bool *said;           /* [n_columns] the question says its table */
    struct heuristic_run *runs;
    int n, cap;
    struct tag_answer *answer;
    int cap_spans;
};

static void add_run(struct heuristic_tagger *t, struct heuristic_run r)
{
    GROW(t->runs, t->n, t->cap);
    t->runs[t->n++] = r;
}

/* The words of a run, text and all. */
static char *read_run(struct spoken *run, const struct heuristic_tagger *t, int first, int last)
{
    const struct spoken_word *a = &t->words.words[first], *b = &t->words.words[last];
    char *text = strndup(t->q->question + a->from, (size_t)(b->to - a->from));

    CHECK(text, "no memory for a run of words");
    spoken_read(run, text);
    return text;
}

/* What a run is like, of each column. */
static double *likenesses(const struct heuristic_tagger *t, int first, int last)
{
    double *of = xmalloc((size_t)(t->q->n_columns + 1) * sizeof *of);
    struct spoken run;
    char *text = read_run(&run, t, first, last);

    for (int c = 0; c < t->q->n_columns; c++)
        of[c] = likeness(&run, text, &t->names[c], t->q->columns[c].name);
    free(text);
    return of;
}

static double greatest(const double *of, int n)
{
    double best = 0;

    for (int i = 0; i < n; i++)
        best = of[i] > best ? of[i] : best;
    return best;
}

static double best_likeness(const struct heuristic_tagger *t, int first, int last)
{
    double *of = likenesses(t, first, last), best = greatest(of, t->q->n_columns);

    free(of);
    return best;
}

/* Of each word the runs that begin there, from the last one on, but those that are more like a name without their first
 * or last word: in "blood type AB" two words say the name. */
static void add_names(struct heuristic_tagger *t)
{
    const struct spoken_word *w = t->words.words;
    double best[HEURISTIC_WORDS + 1] = { 0 },
                                  behind[HEURISTIC_WORDS + 1] = { 0 }; /* of k words from i on, from i + 1 */

    for (int i = t->words.n - 1; i >= 0; i--) {
        memcpy(behind, best, sizeof best);
        for (int k = 1; k <= HEURISTIC_WORDS && i + k <= t->words.n; k++) {
            const struct spoken_word *last = &w[i + k - 1];
            bool bare = w[i].filler || last->filler;
            best[k] = bare ? fmax(best[k - 1], behind[k - 1]) : best_likeness(t, i, i + k - 1);
            if (!bare && best[k] >= t->h->name && best[k] >= best[k - 1] && best[k] >= behind[k - 1])
                add_run(t, (struct heuristic_run){ w[i].start, last->end, best[k], best[k] * (last->end - w[i].start),
                                                   false });
        }
    }
}

static void add_values(struct heuristic_tagger *t)
{
    for (int i = 0; i < t->q->n_values; i++) {
        const struct tag_value *v = &t->q->values[i];
        if (v->score >= t->h->value)
            add_run(t, (struct heuristic_run){ v->start, v->end, v->score, v->score * (v->end - v->start), true });
    }
}

/* More letters first, then what is more alike, names before values. */
static int better(const void *a, const void *b)
{
    const struct heuristic_run *x = a, *y = b;

    if (x->common < y->common || x->common > y->common)
        return x->common < y->common ? 1 : -1;
    if (x->score < y->score || x->score > y->score)
        return x->score < y->score ? 1 : -1;
    return x->is_value != y->is_value ? x->is_value - y->is_value : x->start - y->start;
}

static bool is_free(const struct heuristic_tagger *t, int start, int end)
{
    for (int i = 0; i < t->answer->n_spans; i++)
        if (t->answer->spans[i].start < end && start < t->answer->spans[i].end)
            return false;
    return true;
}

static struct tag_span *add_span(struct heuristic_tagger *t, int start, int end, enum span_label label,
                                 double probability)
{
    struct tag_answer *a = t->answer;

    GROW(a->spans, a->n_spans, t->cap_spans);
    a->spans[a->n_spans] = (struct tag_span){ .start = start, .end = end, .label = label, .probability = probability };
    return &a->spans[a->n_spans++];
}

static int compare(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Of columns that are alike, by name, so that their order in the table does not matter. */
static bool comes_before(const struct tag_question *q, const struct tag_concept *a, const struct tag_concept *b)
{
    const struct span_column *x = &q->columns[a->column], *y = &q->columns[b->column];

    if (a->score < b->score || a->score > b->score)
        return a->score > b->score;
    int table = compare(x->table, y->table);
    return (table ? table : compare(x->name, y->name)) < 0;
}

/* Keeps the list sorted, the best first, and short. */
static void add_concept(struct tag_concept *list, int *n, const struct tag_question *q, struct tag_concept c)
{
    int at = *n;

    while (at > 0 && comes_before(q, &c, &list[at - 1]))
        at--;
    if (at == HEURISTIC_ALTERNATIVES)
        return;
    *n += *n < HEURISTIC_ALTERNATIVES;
    memmove(&list[at + 1], &list[at], (size_t)(*n - 1 - at) * sizeof *list);
    list[at] = c;
}

/* Whether the question says the table of one of those that are as good as the best. */
static bool says_table(const struct heuristic_tagger *t, const double *of, double least)
{
    for (int c = 0; c < t->q->n_columns; c++)
        if (of[c] >= least && t->said[c])
            return true;
    return false;
}

/* Of the columns that are like a run those whose table the question says, if there are any. */
static void add_alternatives(struct heuristic_tagger *t, struct tag_span *s, const double *of, enum tag_kind kind,
                             const char *const *values)
{
    double least = greatest(of, t->q->n_columns) - t->h->margin;
    bool by_table = says_table(t, of, least);

    s->alternatives = xcalloc(HEURISTIC_ALTERNATIVES, sizeof *s->alternatives);
    for (int c = 0; c < t->q->n_columns; c++)
        if (of[c] > 0 && of[c] >= least && (!by_table || t->said[c]))
            add_concept(s->alternatives, &s->n_alternatives, t->q,
                        (struct tag_concept){ kind, c, values ? values[c] : NULL, of[c] });
    if (s->n_alternatives > 1)
        s->label = SPAN_AMB;
}

static void take_name(struct heuristic_tagger *t, const struct heuristic_run *r)
{
    int first = 0, last = 0;

    for (int i = 0; i < t->words.n; i++) {
        first = t->words.words[i].start == r->start ? i : first;
        last = t->words.words[i].end == r->end ? i : last;
    }
    double *of = likenesses(t, first, last);
    add_alternatives(t, add_span(t, r->start, r->end, SPAN_COL, r->score), of, TAG_COLUMN, NULL);
    free(of);
}

/* A number may stand in any column of numbers, which makes no question ambiguous: the best is taken. */
static void keep_first(struct tag_span *s)
{
    s->n_alternatives = s->n_alternatives > 0;
    s->label = SPAN_VAL;
}

static void take_value(struct heuristic_tagger *t, const struct heuristic_run *r)
{
    double *of = xcalloc((size_t)t->q->n_columns + 1, sizeof *of);
    const char **values = xcalloc((size_t)t->q->n_columns + 1, sizeof *values);
    bool number = false;

    for (int i = 0; i < t->q->n_values; i++) {
        const struct tag_value *v = &t->q->values[i];
        if (v->start != r->start || v->end != r->end || v->score <= of[v->column])
            continue;
        of[v->column] = v->score;
        values[v->column] = v->text;
        number |= t->q->columns[v->column].type == COLUMN_NUMBER;
    }
    struct tag_span *s = add_span(t, r->start, r->end, SPAN_VAL, r->score);
    add_alternatives(t, s, of, TAG_VALUE, values);
    if (number)
        keep_first(s);
    free(values);
    free(of);
}

static void take_runs(struct heuristic_tagger *t)
{
    qsort(t->runs, (size_t)t->n, sizeof *t->runs, better);
    for (int i = 0; i < t->n; i++)
        if (is_free(t, t->runs[i].start, t->runs[i].end))
            (t->runs[i].is_value ? take_value : take_name)(t, &t->runs[i]);
}

/* Of the run to the table that it is most like. */
static double likest_table(const struct heuristic_tagger *t, int first, int last)
{
    double best = 0;
    struct spoken run, name;
    char *text = read_run(&run, t, first, last);

    for (int c = 0; c < t->q->n_columns; c++) {
        const char *table = t->q->columns[c].table;
        if (!table || (c && compare(table, t->q->columns[c - 1].table) == 0))
            continue;
        spoken_read(&name, table);
        best = fmax(best, likeness(&run, text, &name, table));
    }
    free(text);
    return best;
}

/* A phrase that is like no name of a column or a table has nothing that it may mean. */
static void take_phrase(struct heuristic_tagger *t, struct noun_phrase p)
{
    double *of = likenesses(t, p.first, p.last), best = greatest(of, t->q->n_columns);
    const struct spoken_word *a = &t->words.words[p.first], *b = &t->words.words[p.last];

    if (fmax(best, likest_table(t, p.first, p.last)) < t->h->unknown) {
        struct tag_span *s = add_span(t, a->start, b->end, SPAN_UNK, 1 - best);
        s->nearest = xcalloc(HEURISTIC_ALTERNATIVES, sizeof *s->nearest);
        for (int c = 0; c < t->q->n_columns; c++)
            if (of[c] > 0)
                add_concept(s->nearest, &s->n_nearest, t->q, (struct tag_concept){ TAG_COLUMN, c, NULL, of[c] });
    }
    free(of);
}

static void take_phrases(struct heuristic_tagger *t)
{
    bool taken[SPOKEN_WORDS];
    struct noun_phrase p = { .last = -1 };

    for (int i = 0; i < t->words.n; i++)
        taken[i] = !is_free(t, t->words.words[i].start, t->words.words[i].end);
    while (noun_phrase_next(&p, t->q->question, &t->words, taken))
        take_phrase(t, p);
}

static int by_place(const void *a, const void *b)
{
    return ((const struct tag_span *)a)->start - ((const struct tag_span *)b)->start;
}

static void read_names(struct heuristic_tagger *t)
{
    struct spoken table;

    spoken_read(&t->words, t->q->question);
    t->names = xmalloc((size_t)(t->q->n_columns + 1) * sizeof *t->names);
    t->said = xcalloc((size_t)t->q->n_columns + 1, sizeof *t->said);
    for (int c = 0; c < t->q->n_columns; c++) {
        spoken_read(&t->names[c], t->q->columns[c].name);
        if (!t->q->columns[c].table)
            continue;
        spoken_read(&table, t->q->columns[c].table);
        t->said[c] = spoken_share(&table, &t->words);
    }
}

void heuristic_tag(struct tag_answer *a, const struct heuristic *h, const struct tag_question *q)
{
    struct heuristic_tagger *t = xcalloc(1, sizeof *t);

    *a = (struct tag_answer){ 0 };
    t->h = h;
    t->q = q;
    t->answer = a;
    read_names(t);
    add_names(t);
    add_values(t);
    take_runs(t);
    if (h->unknown > 0)
        take_phrases(t);
    qsort(a->spans, (size_t)a->n_spans, sizeof *a->spans, by_place);
    free(t->runs);
    free(t->names);
    free(t->said);
    free(t);
}
