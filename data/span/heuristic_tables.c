/* Part of heuristic.h: which tables a question names, and where. */
#include "data/span/heuristic_impl.h"

#include <stdlib.h>
#include <string.h>

double heuristic_said(const struct spoken *run, const struct spoken *name)
{
    const struct spoken_word *head = spoken_head(name);
    int said = 0, words = 0;

    for (int i = 0; i < run->n; i++)
        if (!run->words[i].filler && !spoken_find(name, run->words[i].stem))
            return 0;
    for (int i = 0; i < name->n; i++)
        if (!name->words[i].filler) {
            words++;
            said += spoken_find(run, name->words[i].stem) != NULL;
        }
    if (said && said == words)
        return 1;
    return head && spoken_find(run, head->stem) ? PART_LIKENESS : 0;
}

static bool same_table(const struct span_column *a, const struct span_column *b)
{
    const char *x = a->sql_table ? a->sql_table : a->table, *y = b->sql_table ? b->sql_table : b->table;
    return x && y ? strcmp(x, y) == 0 : x == y;
}

/* The last word of a run from word `first` on that all are of the name, and how many of its words that says. */
static int run_of_name(const struct spoken *words, int first, const struct spoken *name, int *said)
{
    struct spoken run;
    int last = first - 1;

    run.n = 0;
    for (int i = first; i < words->n; i++) {
        const struct spoken_word *w = &words->words[i];
        bool repeated = !w->filler && spoken_find(&run, w->stem);
        if (repeated || (!w->filler && !spoken_find(name, w->stem)))
            break;
        run.words[run.n++] = *w;
        last = w->filler ? last : i;
        *said += !w->filler;
    }
    return last;
}

static void add_named(struct heuristic_words *w, struct named_table named)
{
    GROW(w->named, w->n_named, w->cap_named);
    w->named[w->n_named++] = named;
}

static void find_table(struct heuristic_words *w, int column)
{
    const struct spoken *name = &w->tables[column];
    const struct spoken_word *head = spoken_head(name);
    struct spoken run;
    int wanted = 0;

    for (int i = 0; i < name->n; i++)
        wanted += !name->words[i].filler;
    for (int i = 0; head && i < w->words.n; i++) {
        int said = 0, last = w->words.words[i].filler ? -1 : run_of_name(&w->words, i, name, &said);
        if (last < i)
            continue;
        spoken_part(&run, &w->words, i, last);
        if (said == wanted || spoken_find(&run, head->stem))
            add_named(w, (struct named_table){ column, i, last, said == wanted });
        i = last;
    }
}

/* "order items" names no table "orders" by the way. */
static void drop_parts(struct heuristic_words *w)
{
    int kept = 0;

    for (int i = 0; i < w->n_named; i++) {
        const struct named_table *a = &w->named[i];
        bool part = false;
        for (int k = 0; k < w->n_named && !part; k++) {
            const struct named_table *b = &w->named[k];
            bool over = b->whole && b->first <= a->first && a->last <= b->last;
            part = over && (b->last - b->first > a->last - a->first || !a->whole);
        }
        w->named[i].column = part ? -1 : a->column;
    }
    for (int i = 0; i < w->n_named; i++)
        if (w->named[i].column >= 0)
            w->named[kept++] = w->named[i];
    w->n_named = kept;
}

void heuristic_words_init(struct heuristic_words *w, const struct tag_question *q)
{
    size_t n = (size_t)q->n_columns + 1;

    *w = (struct heuristic_words){ .q = q };
    spoken_read(&w->words, q->question);
    w->names = xcalloc(n, sizeof *w->names);
    w->tables = xcalloc(n, sizeof *w->tables);
    w->table_of = xcalloc(n, sizeof *w->table_of);
    for (int c = 0; c < q->n_columns; c++) {
        spoken_read(&w->names[c], q->columns[c].name);
        w->table_of[c] = c && same_table(&q->columns[c], &q->columns[c - 1]) ? w->table_of[c - 1] : c;
        if (w->table_of[c] != c || !q->columns[c].table)
            continue;
        spoken_read(&w->tables[c], q->columns[c].table);
        find_table(w, c);
    }
    drop_parts(w);
}

void heuristic_words_release(struct heuristic_words *w)
{
    free(w->names);
    free(w->tables);
    free(w->table_of);
    free(w->named);
    *w = (struct heuristic_words){ 0 };
}

/* Between a name and its table: "the cities OF ALL employees", "customers WITH THEIR city". */
static bool binds(const struct spoken_word *w)
{
    static const char *const binding[] = { "all", "any", "each",  "every", "its", "it",
                                           "my",  "our", "their", "these", "thi", "those" };

    for (int i = 0; i < ARRAY_LEN(binding); i++)
        if (strcmp(w->stem, binding[i]) == 0)
            return true;
    return w->filler && strcmp(w->stem, "and") != 0 && strcmp(w->stem, "or") != 0;
}

static bool is_beside(const struct spoken *words, const struct named_table *t, int first, int last)
{
    int from = t->first > last ? last + 1 : t->last + 1, to = t->first > last ? t->first : first;
    bool beside = t->first > last || t->last < first;

    for (int i = from; i < to && beside; i++)
        beside = binds(&words->words[i]);
    return beside;
}

enum table_rank heuristic_table_rank(const struct heuristic_words *w, int column, int first, int last)
{
    enum table_rank rank = TABLE_UNNAMED;

    for (int i = 0; i < w->n_named; i++) {
        const struct named_table *t = &w->named[i];
        if (t->column != w->table_of[column])
            continue;
        enum table_rank here = is_beside(&w->words, t, first, last) ? TABLE_BESIDE
                               : t->whole                           ? TABLE_NAMED
                                                                    : TABLE_HINTED;
        rank = here > rank ? here : rank;
    }
    return rank;
}
