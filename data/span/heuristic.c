#include "data/span/heuristic.h"

#include "data/span/heuristic_words.h"
#include "data/span/span_count.h"
#include "data/span/spoken.h"
#include "data/span/tag_source.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Indices of words. */
struct noun_phrase {
    int first, last;
};

/* Noun phrases. */

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

#define IS_IN(word, list) (bsearch(word, list, sizeof(list) / sizeof *(list), sizeof *(list), compare_words) != NULL)

/* Words of questions that name nothing, as sorted stems. */
static const char *const common[] = {
    "about",   "above",         "after",   "against", "all",        "along",     "also",     "am",      "among",
    "any",     "ascending",     "average", "be",      "became",     "become",    "been",     "before",  "begin",
    "below",   "best",          "between", "both",    "but",        "came",      "can",      "come",    "common",
    "contain", "corresponding", "could",   "count",   "descending", "different", "display",  "doe",     "during",
    "each",    "earliest",      "either",  "equal",   "ever",       "every",     "exactly",  "fewest",  "find",
    "first",   "following",     "found",   "gave",    "get",        "give",      "given",    "go",      "got",
    "greater", "greatest",      "had",     "has",     "have",       "having",    "he",       "her",     "high",
    "higher",  "highest",       "his",     "i",       "if",         "include",   "into",     "it",      "kind",
    "larger",  "largest",       "last",    "latest",  "least",      "less",      "like",     "list",    "long",
    "longest", "low",           "lower",   "lowest",  "made",       "make",      "many",     "maximum", "me",
    "minimum", "more",          "most",    "much",    "my",         "new",       "no",       "not",     "number",
    "off",     "old",           "older",   "oldest",  "one",        "only",      "order",    "other",   "our",
    "out",     "over",          "play",    "please",  "return",     "same",      "second",   "see",     "she",
    "should",  "show",          "shown",   "since",   "smaller",    "smallest",  "some",     "sort",    "still",
    "such",    "sum",           "take",    "tell",    "than",       "that",      "their",    "them",    "there",
    "these",   "they",          "thi",     "third",   "those",      "time",      "together", "took",    "top",
    "total",   "two",           "type",    "under",   "until",      "up",        "us",       "use",     "used",
    "very",    "was",           "we",      "were",    "while",      "whom",      "whose",    "will",    "win",
    "within",  "without",       "won",     "would",   "you",        "youngest",  "your"
};

/* Words before a noun phrase. */
static const char *const openers[] = { "a",    "all",   "an",  "any",   "at",   "average", "by",   "each", "every",
                                       "for",  "from",  "her", "his",   "how",  "in",      "it",   "many", "more",
                                       "much", "no",    "of",  "on",    "our",  "s",       "some", "than", "that",
                                       "the",  "their", "thi", "total", "what", "which",   "with", "your" };

static bool is_verb(const char *stem, size_t n)
{
    return n > 4 && (strcmp(stem + n - 2, "ed") == 0 || strcmp(stem + n - 3, "ing") == 0);
}

static bool is_content(const struct spoken_word *w, const char *question)
{
    return !w->filler && !isdigit((unsigned char)question[w->from]) && strlen(w->stem) > 1 && !IS_IN(w->stem, common);
}

static bool is_opened(const struct spoken *words, int first)
{
    return first > 0 && (IS_IN(words->words[first - 1].stem, openers) || IS_IN(words->words[first - 1].stem, common));
}

/* Whether a quotation, a bracket or a clause boundary separates two words. */
static bool is_parted(const char *question, const struct spoken_word *a, const struct spoken_word *b)
{
    for (int i = a->to; i < b->from; i++)
        if (strchr("\"`,;:()[]", question[i]) || strncmp(question + i, "\xe2\x80\x9c", 3) == 0)
            return true;
    return false;
}

static int phrase_end(const struct spoken *words, int first, const char *question, const bool *taken)
{
    int last = first;

    while (last + 1 < words->n && !taken[last + 1] && is_content(&words->words[last + 1], question)) {
        const char *stem = words->words[last + 1].stem;
        if (is_verb(stem, strlen(stem)) || is_parted(question, &words->words[last], &words->words[last + 1]))
            break;
        last++;
    }
    return last;
}

/* Finds the next noun phrase after p, which starts with last = -1. It consists of free words after an article, a
 * preposition, a superlative or the like, up to a verb or a common word. It must not precede taken words. False at the
 * end. */
static bool noun_phrase_next(struct noun_phrase *p, const char *question, const struct spoken *words, const bool *taken)
{
    for (int i = p->last + 1; i < words->n; i++) {
        if (taken[i] || !is_content(&words->words[i], question) || !is_opened(words, i))
            continue;
        p->first = i;
        p->last = i = phrase_end(words, i, question, taken);
        if (i + 1 == words->n || !taken[i + 1]) /* otherwise it describes a taken word */
            return true;
    }
    return false;
}

/* The similarity of a run of words and a name, by words or by letters. */
static double likeness(const struct spoken *run, const char *run_text, const struct spoken *name, const char *name_text)
{
    double said = heuristic_said(run, name);
    return said > 0 ? said : spoken_ratio(run_text, name_text);
}

double heuristic_likeness(const char *run, const char *name)
{
    struct spoken words[2];

    spoken_read(&words[0], run);
    spoken_read(&words[1], name);
    return likeness(&words[0], run, &words[1], name);
}

/* A run of words that is similar to something. */
struct heuristic_run {
    int start, end;
    double score, common; /* of the best; common letters */
    bool is_value;
    const struct tag_concept *number; /* the column of a number; NULL for other runs */
};

struct heuristic_tagger {
    const struct heuristic *h;
    const struct tag_question *q;
    struct heuristic_words words;
    struct tag_concept *numbers; /* [n_numbers] */
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

/* Reads a run as words and text. */
static char *read_run(struct spoken *run, const struct heuristic_tagger *t, int first, int last)
{
    const struct spoken_word *a = &t->words.words.words[first], *b = &t->words.words.words[last];
    char *text = strndup(t->q->question + a->from, (size_t)(b->to - a->from));

    CHECK(text, "no memory for a run of words");
    spoken_read(run, text);
    return text;
}

/* The similarity of a run to each column. */
static double *likenesses(const struct heuristic_tagger *t, int first, int last)
{
    double *of = xmalloc((size_t)(t->q->n_columns + 1) * sizeof *of);
    struct spoken run;
    char *text = read_run(&run, t, first, last);

    for (int c = 0; c < t->q->n_columns; c++)
        of[c] = likeness(&run, text, &t->words.names[c], t->q->columns[c].name);
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

/* The highest similarity of the run to a table. */
static double likest_table(const struct heuristic_tagger *t, int first, int last)
{
    double best = 0;
    struct spoken run;
    char *text = read_run(&run, t, first, last);

    for (int c = 0; c < t->q->n_columns; c++)
        if (t->words.table_of[c] == c && t->q->columns[c].table)
            best = fmax(best, likeness(&run, text, &t->words.tables[c], t->q->columns[c].table));
    free(text);
    return best;
}

/* Whether the run names a table rather than a column. Either it is more similar to a table than to any column. Or it
 * is a table name, and similar only to columns of tables that the question does not name. */
static bool names_table(const struct heuristic_tagger *t, int first, int last, double column)
{
    double table = likest_table(t, first, last);
    bool named = false;

    for (int i = 0; i < t->words.n_named && column < 1; i++) { /* "level" of "stock levels" */
        const struct named_table *n = &t->words.named[i];
        if (n->whole && n->first <= first && last <= n->last)
            return true;
    }
    if (table < 1 || column < 1)
        return table > column;
    double *of = likenesses(t, first, last);
    for (int c = 0; c < t->q->n_columns && !named; c++)
        named = of[c] >= column && heuristic_table_rank(&t->words, c, first, last) > TABLE_UNNAMED;
    free(of);
    return !named;
}

/* Whether the number only counts: "more than 1 room" names no "feature 1". A year may name a column. */
static bool is_small_number(const struct heuristic_tagger *t, int first, int last)
{
    for (int i = 0; i < t->q->n_numbers && first == last; i++)
        if (t->q->numbers[i].start == t->words.words.words[first].start)
            return !t->q->numbers[i].plain_year;
    return false;
}

/* Adds the runs that begin at each word, from the last word on. A run is omitted if it is more similar to a name
 * without its first or last word: in "blood type AB" two words form the name. */
static void add_names(struct heuristic_tagger *t)
{
    const struct spoken_word *w = t->words.words.words;
    double best[HEURISTIC_WORDS + 1] = { 0 }, behind[HEURISTIC_WORDS + 1] = { 0 }; /* of k words from i, from i + 1 */

    for (int i = t->words.words.n - 1; i >= 0; i--) {
        memcpy(behind, best, sizeof best);
        for (int k = 1; k <= HEURISTIC_WORDS && i + k <= t->words.words.n; k++) {
            const struct spoken_word *last = &w[i + k - 1];
            bool bare = w[i].filler || last->filler;
            best[k] = bare ? fmax(best[k - 1], behind[k - 1]) : best_likeness(t, i, i + k - 1);
            if (!bare && best[k] >= t->h->name && best[k] >= best[k - 1] && best[k] >= behind[k - 1] &&
                !names_table(t, i, i + k - 1, best[k]) && (best[k] >= 1 || !is_small_number(t, i, i + k - 1)))
                add_run(t, (struct heuristic_run){ .start = w[i].start,
                                                   .end = last->end,
                                                   .score = best[k],
                                                   .common = best[k] * (last->end - w[i].start) });
        }
    }
}

/* Whether the words of a value are a number, which heuristic_number handles. */
static bool is_number(const struct heuristic_tagger *t, const struct tag_value *v)
{
    struct plain_number number;

    if (t->q->columns[v->column].type == COLUMN_NUMBER && plain_number_read(&number, v->text))
        return true;
    for (int i = 0; i < t->q->n_numbers; i++)
        if (v->start < t->q->numbers[i].end && t->q->numbers[i].start < v->end &&
            v->end - v->start <= t->q->numbers[i].end - t->q->numbers[i].start)
            return true;
    return false;
}

static void add_values(struct heuristic_tagger *t)
{
    for (int i = 0; i < t->q->n_values; i++) {
        const struct tag_value *v = &t->q->values[i];
        if (v->score >= t->h->value && !is_number(t, v))
            add_run(t, (struct heuristic_run){ .start = v->start,
                                               .end = v->end,
                                               .score = v->score,
                                               .common = v->score * (v->end - v->start),
                                               .is_value = true });
    }
}

static void add_numbers(struct heuristic_tagger *t)
{
    for (int i = 0; i < t->q->n_numbers; i++) {
        const struct said_number *n = &t->q->numbers[i];
        if (heuristic_number(&t->numbers[i], &t->words, i))
            add_run(t, (struct heuristic_run){ .start = n->start,
                                               .end = n->end,
                                               .score = t->numbers[i].score,
                                               .common = t->numbers[i].score * (n->end - n->start),
                                               .is_value = true,
                                               .number = &t->numbers[i] });
    }
}

/* Orders by common letters, then by similarity; names precede values. */
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

/* Orders equal columns by name, independent of the table's order. */
static bool comes_before(const struct tag_question *q, const struct tag_concept *a, const struct tag_concept *b)
{
    const struct span_column *x = &q->columns[a->column], *y = &q->columns[b->column];

    if (a->score < b->score || a->score > b->score)
        return a->score > b->score;
    int table = compare(x->table, y->table);
    return (table ? table : compare(x->name, y->name)) < 0;
}

/* Inserts into a sorted list of bounded length. */
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

/* The best rank of a table among the columns that the run fits well enough. */
static enum table_rank best_rank(const struct heuristic_tagger *t, const double *of, double least, int first, int last)
{
    enum table_rank best = TABLE_UNNAMED;

    for (int c = 0; c < t->q->n_columns; c++)
        if (of[c] >= least) {
            enum table_rank rank = heuristic_table_rank(&t->words, c, first, last);
            best = rank > best ? rank : best;
        }
    return best;
}

/* Keeps the columns whose tables the question names best, if any. */
static void keep_named(const struct heuristic_tagger *t, double *of, double enough, int first, int last)
{
    double best = greatest(of, t->q->n_columns), least = fmax(enough, fmin(best, PART_LIKENESS));
    enum table_rank rank = best_rank(t, of, least, first, last);

    if (rank < TABLE_NAMED) { /* a table's head word decides only among the best */
        least = best - t->h->margin;
        rank = best_rank(t, of, least, first, last);
    }
    for (int c = 0; c < t->q->n_columns && rank; c++)
        if (of[c] < least || heuristic_table_rank(&t->words, c, first, last) < rank)
            of[c] = 0;
}

/* Keeps columns that preceding words name: "whose home city is Paris" excludes the office city. */
static void keep_said(const struct heuristic_tagger *t, double *of, int first)
{
    double *said = xcalloc((size_t)t->q->n_columns + 1, sizeof *said);

    for (int c = 0; c < t->q->n_columns; c++)
        said[c] = of[c] > 0 ? heuristic_said_before(&t->words, c, first) : 0;
    double best = greatest(said, t->q->n_columns);
    for (int c = 0; c < t->q->n_columns; c++)
        of[c] = said[c] < best ? 0 : of[c];
    free(said);
}

/* Prefers a key of its own table: "the id of the product" is not a foreign key. */
static void keep_key(const struct heuristic_tagger *t, double *of)
{
    double best = greatest(of, t->q->n_columns);
    int key = -1, keys = 0;

    for (int c = 0; c < t->q->n_columns; c++)
        if (of[c] >= best && t->q->columns[c].is_key) {
            key = c;
            keys++;
        }
    for (int c = 0; c < t->q->n_columns && keys == 1; c++)
        of[c] = c == key ? of[c] : 0;
}

static void find_words(const struct heuristic_tagger *t, int start, int end, int *first, int *last)
{
    *first = *last = 0;
    for (int i = 0; i < t->words.words.n; i++) {
        *first = t->words.words.words[i].start == start ? i : *first;
        *last = t->words.words.words[i].end == end ? i : *last;
    }
}

static void add_alternatives(struct heuristic_tagger *t, struct tag_span *s, const double *of, enum tag_kind kind,
                             const char *const *values)
{
    double least = greatest(of, t->q->n_columns) - t->h->margin;

    s->alternatives = xcalloc(HEURISTIC_ALTERNATIVES, sizeof *s->alternatives);
    for (int c = 0; c < t->q->n_columns; c++)
        if (of[c] > 0 && of[c] >= least)
            add_concept(s->alternatives, &s->n_alternatives, t->q,
                        (struct tag_concept){ kind, c, values ? values[c] : NULL, of[c] });
    if (s->n_alternatives > 1)
        s->label = SPAN_AMB;
}

static void take_name(struct heuristic_tagger *t, const struct heuristic_run *r)
{
    int first, last;

    find_words(t, r->start, r->end, &first, &last);
    double *of = likenesses(t, first, last);
    keep_named(t, of, t->h->name, first, last);
    keep_key(t, of);
    add_alternatives(t, add_span(t, r->start, r->end, SPAN_COL, r->score), of, TAG_COLUMN, NULL);
    free(of);
}

static void take_number(struct heuristic_tagger *t, const struct heuristic_run *r)
{
    struct tag_span *s = add_span(t, r->start, r->end, SPAN_VAL, r->score);

    s->alternatives = xcalloc(HEURISTIC_ALTERNATIVES, sizeof *s->alternatives);
    s->alternatives[s->n_alternatives++] = *r->number;
}

static void take_text(struct heuristic_tagger *t, const struct heuristic_run *r)
{
    double *of = xcalloc((size_t)t->q->n_columns + 1, sizeof *of);
    const char **values = xcalloc((size_t)t->q->n_columns + 1, sizeof *values);
    int first, last;

    for (int i = 0; i < t->q->n_values; i++) {
        const struct tag_value *v = &t->q->values[i];
        if (v->start != r->start || v->end != r->end || v->score <= of[v->column] || is_number(t, v))
            continue;
        of[v->column] = v->score;
        values[v->column] = v->text;
    }
    find_words(t, r->start, r->end, &first, &last);
    keep_named(t, of, t->h->value, first, last);
    keep_said(t, of, first);
    add_alternatives(t, add_span(t, r->start, r->end, SPAN_VAL, r->score), of, TAG_VALUE, values);
    free(values);
    free(of);
}

static void take_run(struct heuristic_tagger *t, const struct heuristic_run *r)
{
    if (r->number)
        take_number(t, r);
    else
        (r->is_value ? take_text : take_name)(t, r);
}

static void take_runs(struct heuristic_tagger *t)
{
    if (t->n)
        qsort(t->runs, (size_t)t->n, sizeof *t->runs, better);
    for (int i = 0; i < t->n; i++)
        if (is_free(t, t->runs[i].start, t->runs[i].end))
            take_run(t, &t->runs[i]);
}

/* Marks a phrase that is similar to no name as UNK. */
static void take_phrase(struct heuristic_tagger *t, struct noun_phrase p)
{
    double *of = likenesses(t, p.first, p.last), best = greatest(of, t->q->n_columns);
    const struct spoken_word *a = &t->words.words.words[p.first], *b = &t->words.words.words[p.last];

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

    for (int i = 0; i < t->words.words.n; i++)
        taken[i] = !is_free(t, t->words.words.words[i].start, t->words.words.words[i].end);
    while (noun_phrase_next(&p, t->q->question, &t->words.words, taken))
        take_phrase(t, p);
}

static int by_place(const void *a, const void *b)
{
    return ((const struct tag_span *)a)->start - ((const struct tag_span *)b)->start;
}

void heuristic_tag(struct tag_answer *a, const struct heuristic *h, const struct tag_question *q)
{
    struct heuristic_tagger *t = xcalloc(1, sizeof *t);

    *a = (struct tag_answer){ 0 };
    t->h = h;
    t->q = q;
    t->answer = a;
    heuristic_words_init(&t->words, q);
    t->numbers = xcalloc((size_t)q->n_numbers + 1, sizeof *t->numbers);
    add_names(t);
    add_values(t);
    add_numbers(t);
    take_runs(t);
    if (h->unknown > 0)
        take_phrases(t);
    if (a->n_spans)
        qsort(a->spans, (size_t)a->n_spans, sizeof *a->spans, by_place);
    heuristic_words_release(&t->words);
    free(t->numbers);
    free(t->runs);
    free(t);
}

/* Tuning the thresholds. */

/* The values of each threshold; thresholds are tuned one after the other, ROUNDS times. */
enum { ROUNDS = 2, STEPS = 6 };
static const struct {
    size_t at;
    double values[STEPS];
} grid[] = {
    { offsetof(struct heuristic, name), { 0.75, 0.8, 0.85, 0.9, 0.95, 1 } },
    { offsetof(struct heuristic, unknown), { 0, 0.3, 0.4, 0.5, 0.6, 0.7 } },
    { offsetof(struct heuristic, margin), { 0, 0.02, 0.05, 0.1, 0.15, 0.2 } },
    { offsetof(struct heuristic, value), { 0.82, 0.86, 0.9, 0.95, 0.98, 1 } },
};

/* A record as a question, with its values. */
struct tuned_question {
    struct tag_question ask;
    struct tag_source source;
    struct tag_matches values;
};

static double goodness(const struct heuristic *h, const struct tuned_question *q, const struct span_record *r, int n)
{
    struct span_counts c = { 0 };

    for (int i = 0; i < n; i++) {
        struct tag_answer a;
        heuristic_tag(&a, h, &q[i].ask);
        span_count(&c, &r[i], &a);
        tag_answer_release(&a);
    }
    double f1 = span_f1(c.label[COUNT_PROBLEM].exact, c.label[COUNT_PROBLEM].gold, c.label[COUNT_PROBLEM].exact,
                        c.label[COUNT_PROBLEM].tagged);
    double alarms = c.answerable ? (double)c.alarmed / (double)c.answerable : 0;
    return (isnan(f1) ? 0 : f1) - 2 * alarms;
}

static double tune(struct heuristic *h, const struct tuned_question *q, const struct span_record *records, int n)
{
    double best = goodness(h, q, records, n);

    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < ARRAY_LEN(grid); t++)
            for (int k = 0; k < STEPS; k++) {
                struct heuristic tried = *h;
                memcpy((char *)&tried + grid[t].at, &grid[t].values[k], sizeof(double));
                double reached = goodness(&tried, q, records, n);
                if (reached > best) {
                    best = reached;
                    *h = tried;
                }
            }
    return best;
}

double heuristic_tune(struct heuristic *h, const struct span_record *records, int n)
{
    struct tuned_question *q = xcalloc((size_t)n + 1, sizeof *q);

    for (int i = 0; i < n; i++) {
        tag_source_of(&q[i].source, records[i].columns, records[i].n_columns);
        q[i].ask = tag_source_ask(&q[i].source, records[i].question, &q[i].values);
    }
    double best = tune(h, q, records, n);
    for (int i = 0; i < n; i++) {
        tag_matches_release(&q[i].values);
        tag_source_close(&q[i].source);
    }
    free(q);
    return best;
}
