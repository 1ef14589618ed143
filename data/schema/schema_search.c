#include "data/schema/schema_search.h"

#include "data/schema/element_name.h"
#include "data/schema/schema.h"
#include "data/schema/schema_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTION_MAX_WORDS = 128, LIKE_CHARS = 4, HOPS = 2, FEW_SHARE = 4 };
static const float COLUMN_WEIGHT = 0.5F, LINK_WEIGHT = 0.5F, GROUP_WEIGHT = 0.6F;
static const float MIN_LIKE = 0.4F, SAME_START = 0.5F; /* minimum similarity of a word of the question and a word of a
                                                          name; similarity of a common start */

/* An occurrence of a word in the name of a table or of one of its columns. */
struct posting {
    int table;
    float weight;
};

struct vocabulary_word {
    struct element_name name; /* the word alone */
    float idf;
    int first, n; /* range of postings */
};

struct schema_search {
    const struct schema *schema;
    struct vocabulary_word *words; /* sorted by hash */
    struct posting *postings;
    int *link_start, *links; /* tables that share a foreign key with a table, in either direction */
    int *group;              /* group of each table, by schema_groups */
    int n_words;
};

/* An occurrence of a word while the index is built. */
struct occurrence {
    uint32_t hash;
    struct posting at;
    struct element_name name;
};

struct occurrences {
    struct occurrence *list;
    int n, cap;
};

/* Reads the next word at *text and advances; false at the end. */
static bool next_word(struct element_name *word, const char **text)
{
    char chars[NAME_MAX_CHARS + 1];

    for (const char *s = *text; *s; s++) {
        int n = 0;
        for (; element_name_letter(*s); s++)
            if (n < NAME_MAX_CHARS)
                chars[n++] = *s;
        chars[n] = 0;
        if (n) {
            *text = s;
            element_name_read(word, chars);
            return true;
        }
    }
    return false;
}

static int count_words(const char *text)
{
    struct element_name word;
    int n = 0;

    while (next_word(&word, &text))
        n++;
    return n;
}

static void add_name(struct occurrences *o, const char *text, int table, float weight)
{
    int n = count_words(text);
    struct element_name word;

    while (next_word(&word, &text)) {
        GROW(o->list, o->n, o->cap);
        o->list[o->n++] =
            (struct occurrence){ .hash = word.words[0], .at = { table, weight / (float)n }, .name = word };
    }
}

static int by_word(const void *x, const void *y)
{
    const struct occurrence *a = x, *b = y;

    if (a->hash != b->hash)
        return (a->hash > b->hash) - (a->hash < b->hash);
    if (a->at.table != b->at.table)
        return (a->at.table > b->at.table) - (a->at.table < b->at.table);
    return (a->at.weight < b->at.weight) - (a->at.weight > b->at.weight);
}

/* Chooses one form to represent all forms of a word, independent of their order. */
static bool goes_first(const struct element_name *a, const struct element_name *b)
{
    if (a->n_chars != b->n_chars)
        return a->n_chars < b->n_chars;
    return memcmp(a->chars, b->chars, (size_t)a->n_chars) < 0;
}

/* Builds the vocabulary, sorted by hash, with the highest weight of each word for each table. */
static void index_words(struct schema_search *x, struct occurrences *o)
{
    int tables = x->schema->n_tables, n = 0;

    if (o->n)
        qsort(o->list, (size_t)o->n, sizeof *o->list, by_word);
    x->words = xmalloc((size_t)o->n * sizeof *x->words + 1);
    x->postings = xmalloc((size_t)o->n * sizeof *x->postings + 1);
    for (int i = 0; i < o->n; i++) {
        const struct occurrence *w = &o->list[i], *last = i ? w - 1 : NULL;
        if (!last || last->hash != w->hash)
            x->words[x->n_words++] = (struct vocabulary_word){ .name = w->name, .first = n };
        struct vocabulary_word *v = &x->words[x->n_words - 1];
        if (goes_first(&w->name, &v->name))
            v->name = w->name;
        if (last && last->hash == w->hash && last->at.table == w->at.table)
            continue;
        v->n++;
        x->postings[n++] = w->at;
    }
    for (int i = 0; i < x->n_words; i++) {
        float of = (float)x->words[i].n;
        x->words[i].idf = logf(1 + ((float)tables - of + 0.5F) / (of + 0.5F));
    }
}

static void read_words(struct schema_search *x)
{
    const struct schema *s = x->schema;
    struct occurrences o = { 0 };

    for (int i = 0; i < s->n_tables; i++)
        add_name(&o, s->tables[i].text, i, 1);
    for (int i = 0; i < s->n_columns; i++)
        add_name(&o, s->columns[i].text, s->columns[i].table, COLUMN_WEIGHT);
    index_words(x, &o);
    free(o.list);
}

/* Counting sort of the foreign keys by either end. */
static void read_links(struct schema_search *x)
{
    const struct schema *s = x->schema;
    int *start = xcalloc((size_t)s->n_tables + 2, sizeof *start);

    x->links = xmalloc(2 * (size_t)s->n_foreign_keys * sizeof *x->links + 1);
    for (int i = 0; i < s->n_foreign_keys; i++) {
        start[s->columns[s->foreign_keys[i].from].table + 2]++;
        start[s->columns[s->foreign_keys[i].to].table + 2]++;
    }
    for (int t = 0; t < s->n_tables; t++)
        start[t + 2] += start[t + 1];
    for (int i = 0; i < s->n_foreign_keys; i++) {
        int a = s->columns[s->foreign_keys[i].from].table, b = s->columns[s->foreign_keys[i].to].table;
        x->links[start[a + 1]++] = b;
        x->links[start[b + 1]++] = a;
    }
    x->link_start = start;
}

struct schema_search *schema_search_open(const struct schema *s)
{
    struct schema_search *x = xcalloc(1, sizeof *x);

    x->schema = s;
    read_words(x);
    read_links(x);
    x->group = schema_groups(s);
    return x;
}

void schema_search_close(struct schema_search *x)
{
    if (!x)
        return;
    free(x->words);
    free(x->postings);
    free(x->link_start);
    free(x->links);
    free(x->group);
    free(x);
}

/* 1 for the same word, 0 if the two are not similar enough. */
static float likeness(const struct element_name *a, const struct element_name *b)
{
    if (a->words[0] == b->words[0])
        return 1;
    if (a->n_chars < LIKE_CHARS || b->n_chars < LIKE_CHARS)
        return 0;
    float like = element_name_trigrams(a, b);
    if (memcmp(a->chars, b->chars, LIKE_CHARS) == 0 && like < SAME_START)
        like = SAME_START;
    return like >= MIN_LIKE ? like : 0;
}

/* One question: how much it mentions each word, and the score of each table. */
struct table_search {
    const struct schema_search *index;
    float *mentioned;             /* [n_words] */
    float *score, *gain, *spread; /* [n_tables]; gain and spread are those of one word */
};

static void take_word(struct table_search *q, const struct element_name *word)
{
    const struct schema_search *x = q->index;

    memset(q->gain, 0, (size_t)x->schema->n_tables * sizeof *q->gain);
    for (int i = 0; i < x->n_words; i++) {
        const struct vocabulary_word *v = &x->words[i];
        float like = likeness(word, &v->name);
        q->mentioned[i] = like > q->mentioned[i] ? like : q->mentioned[i];
        for (int k = v->first; like > 0 && k < v->first + v->n; k++) {
            float gain = like * v->idf * x->postings[k].weight, *max = &q->gain[x->postings[k].table];
            *max = gain > *max ? gain : *max;
        }
    }
}

/* Spreads the gains by one foreign key. */
static void spread(struct table_search *q)
{
    const struct schema_search *x = q->index;

    for (int t = 0; t < x->schema->n_tables; t++) {
        float max = q->gain[t];
        for (int k = x->link_start[t]; k < x->link_start[t + 1]; k++) {
            float gain = LINK_WEIGHT * q->gain[x->links[k]];
            max = gain > max ? gain : max;
        }
        q->spread[t] = max;
    }
    float *spread = q->spread;
    q->spread = q->gain;
    q->gain = spread;
}

/* Counts each word of the question once. */
static void take_question(struct table_search *q, const char *question)
{
    uint32_t seen[QUESTION_MAX_WORDS];
    struct element_name word;
    int n = 0;

    while (n < QUESTION_MAX_WORDS && next_word(&word, &question)) {
        bool again = false;
        for (int i = 0; i < n; i++)
            again |= seen[i] == word.words[0];
        if (again)
            continue;
        seen[n++] = word.words[0];
        take_word(q, &word);
        for (int i = 0; i < HOPS; i++)
            spread(q);
        for (int t = 0; t < q->index->schema->n_tables; t++)
            q->score[t] += q->gain[t];
    }
}

static float largest(const float *x, int n)
{
    float max = 0;

    for (int i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* If all values are 0, their shares are 0. */
static void add_more(struct table_search *q, const float *more)
{
    int n = q->index->schema->n_tables;
    float best = largest(q->score, n), best_more = largest(more, n);

    for (int t = 0; t < n; t++)
        q->score[t] = (best > 0 ? q->score[t] / best : 0) + (best_more > 0 ? more[t] / best_more : 0);
}

static void search_init(struct table_search *q, const struct schema_search *x)
{
    size_t tables = (size_t)x->schema->n_tables;

    *q = (struct table_search){ .index = x, .mentioned = xcalloc((size_t)x->n_words + 1, sizeof *q->mentioned) };
    q->score = xcalloc(tables + 1, sizeof *q->score);
    q->gain = xcalloc(tables + 1, sizeof *q->gain);
    q->spread = xcalloc(tables + 1, sizeof *q->spread);
}

static void search_release(struct table_search *q)
{
    free(q->mentioned);
    free(q->score);
    free(q->gain);
    free(q->spread);
}

/* A table or column in the order of scores.  Tables of the same score are ordered by the score without their group. */
struct search_rank {
    float score, own;
    const char *name;
    int number;
};

static int by_score(const void *x, const void *y)
{
    const struct search_rank *a = x, *b = y;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return a->own != b->own ? (a->own < b->own ? 1 : -1) : strcmp(a->name, b->name);
}

static int word_place(const struct schema_search *x, uint32_t hash)
{
    int low = 0, high = x->n_words;

    while (low < high) {
        int mid = low + (high - low) / 2;
        if (x->words[mid].name.words[0] < hash)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The score of a column's name for the question. */
static float column_score(const struct table_search *q, int column)
{
    const char *text = q->index->schema->columns[column].text;
    int n = count_words(text);
    struct element_name word;
    float score = 0;

    while (next_word(&word, &text)) {
        int i = word_place(q->index, word.words[0]);
        score += q->mentioned[i] * q->index->words[i].idf / (float)n;
    }
    return score;
}

static int first_before(const void *x, const void *y)
{
    const struct search_rank *a = x, *b = y;
    return a->score != b->score ? (a->score < b->score ? 1 : -1) : a->number - b->number;
}

/* Orders columns that are not all kept: keys come first unless they take more than half of n. */
static void rank_columns(const struct table_search *q, struct search_rank *list, int columns, int n)
{
    static const float key_score = 1e6F;
    int keys = 0;

    for (int i = 0; i < columns; i++)
        keys += schema_column_is_key(q->index->schema, list[i].number);
    for (int i = 0; i < columns; i++) {
        bool first = 2 * keys <= n && schema_column_is_key(q->index->schema, list[i].number);
        list[i].score = column_score(q, list[i].number) + (first ? key_score : 0);
    }
    qsort(list, (size_t)columns, sizeof *list, first_before);
}

/* Keeps the n best columns of a table. */
static void keep_columns(const struct table_search *q, int table, int n, bool *kept)
{
    const struct schema *s = q->index->schema;
    const struct schema_table *t = &s->tables[table];
    struct search_rank *list = xmalloc((size_t)t->n_columns * sizeof *list + 1);

    for (int i = 0; i < t->n_columns; i++)
        list[i] = (struct search_rank){ .number = t->first_column + i };
    if (n < t->n_columns)
        rank_columns(q, list, t->n_columns, n);
    for (int i = 0; i < n; i++)
        kept[s->n_tables + list[i].number] = true;
    free(list);
}

/* The tables, best first.  In a small group, each table scores at least a fixed share of the best one. */
static struct search_rank *rank_tables(const struct table_search *q, int max)
{
    const struct schema *s = q->index->schema;
    const int *group = q->index->group;
    int *elements = xcalloc((size_t)s->n_tables + 1, sizeof *elements);
    float *best = xcalloc((size_t)s->n_tables + 1, sizeof *best);
    struct search_rank *list = xmalloc((size_t)s->n_tables * sizeof *list + 1);

    for (int t = 0; t < s->n_tables; t++) {
        int g = group[t];
        elements[g] += 1 + s->tables[t].n_columns;
        best[g] = q->score[t] > best[g] ? q->score[t] : best[g];
    }
    for (int t = 0; t < s->n_tables; t++) {
        bool few = elements[group[t]] <= max / FEW_SHARE;
        float own = q->score[t], min_score = few ? GROUP_WEIGHT * best[group[t]] : 0;
        list[t] = (struct search_rank){ own > min_score ? own : min_score, own, s->tables[t].name, t };
    }
    if (s->n_tables)
        qsort(list, (size_t)s->n_tables, sizeof *list, by_score);
    free(elements);
    free(best);
    return list;
}

static void keep_best(const struct table_search *q, int max, bool *kept)
{
    const struct schema *s = q->index->schema;
    struct search_rank *list = rank_tables(q, max);

    for (int i = 0, left = max; i < s->n_tables && left > 1; i++) {
        int table = list[i].number, share = left < max / 2 ? left : max / 2;
        int columns = s->tables[table].n_columns < share - 1 ? s->tables[table].n_columns : share - 1;
        kept[table] = true;
        keep_columns(q, table, columns, kept);
        left -= 1 + columns;
    }
    free(list);
}

void schema_search_best(const struct schema_search *x, const char *question, const float *more, int max, bool *kept)
{
    const struct schema *s = x->schema;
    int n = s->n_tables + s->n_columns;
    struct table_search q;

    memset(kept, n <= max, (size_t)n);
    if (n <= max)
        return;
    CHECK(max >= 4, "%d elements of a schema hold no table with a column", max);
    search_init(&q, x);
    take_question(&q, question);
    if (more)
        add_more(&q, more);
    keep_best(&q, max, kept);
    search_release(&q);
}

static void add_keys(struct schema_build *b, const struct schema *s, const int *number)
{
    for (int i = 0; i < s->n_columns; i++)
        if (number[i] >= 0 && s->columns[i].primary)
            schema_build_primary(b, number[i]);
    for (int i = 0; i < s->n_foreign_keys; i++) {
        int from = number[s->foreign_keys[i].from], to = number[s->foreign_keys[i].to];
        if (from >= 0 && to >= 0)
            schema_build_foreign_key(b, from, to);
    }
}

void schema_part(struct schema *part, const struct schema *s, const bool *kept)
{
    int *number = xmalloc((size_t)s->n_columns * sizeof *number + 1);
    struct schema_build b;

    schema_build_init(&b, s->db_id);
    for (int t = 0; t < s->n_tables; t++) {
        const struct schema_table *from = &s->tables[t];
        int table = kept[t] ? schema_build_table(&b, from->name, from->text) : -1;
        if (table >= 0)
            schema_build_form(&b, table, from->form);
        for (int i = from->first_column; i < from->first_column + from->n_columns; i++) {
            const struct schema_column *c = &s->columns[i];
            bool wanted = table >= 0 && kept[s->n_tables + i];
            number[i] = wanted ? schema_build_column(&b, table, c->name, c->text, c->type) : -1;
        }
    }
    add_keys(&b, s, number);
    schema_build_finish(&b, part);
    schema_build_release(&b);
    free(number);
}
