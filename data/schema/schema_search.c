#include "data/schema/schema_search.h"

#include "data/schema/element_name.h"
#include "data/schema/schema.h"
#include "data/schema/schema_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTION_MAX_WORDS = 128, LIKE_LETTERS = 4, HOPS = 2, FEW_SHARE = 4 };
static const float COLUMN_WORTH = 0.5F, LINK_WORTH = 0.5F, GROUP_WORTH = 0.6F;
static const float LEAST_LIKE = 0.4F, SAME_START = 0.5F; /* how like a word of the question a name's word must be */

/* That a word stands in the name of a table, or of a column of it. */
struct posting {
    int table;
    float worth;
};

struct vocabulary_word {
    struct element_name name; /* of the word alone */
    float idf;
    int first, n; /* postings */
};

struct schema_search {
    const struct schema *schema;
    struct vocabulary_word *words; /* by hash */
    struct posting *postings;
    int *link_start, *links; /* the tables that a table shares a foreign key with, either way */
    int *group;              /* of each table, by schema_groups */
    int n_words;
};

/* A word of some name. */
struct occurrence {
    uint32_t hash;
    struct posting at;
    struct element_name name;
};

struct occurrences {
    struct occurrence *list;
    int n, cap;
};

/* The next word at *text, on which it moves on; false when there is none. */
static bool next_word(struct element_name *word, const char **text)
{
    char letters[NAME_MAX_LETTERS + 1];

    for (const char *s = *text; *s; s++) {
        int n = 0;
        for (; element_name_letter(*s); s++)
            if (n < NAME_MAX_LETTERS)
                letters[n++] = *s;
        letters[n] = 0;
        if (n) {
            *text = s;
            element_name_read(word, letters);
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

static void add_name(struct occurrences *o, const char *text, int table, float worth)
{
    int n = count_words(text);
    struct element_name word;

    while (next_word(&word, &text)) {
        GROW(o->list, o->n, o->cap);
        o->list[o->n++] = (struct occurrence){ .hash = word.words[0], .at = { table, worth / (float)n }, .name = word };
    }
}

static int by_word(const void *x, const void *y)
{
    const struct occurrence *a = x, *b = y;

    if (a->hash != b->hash)
        return (a->hash > b->hash) - (a->hash < b->hash);
    if (a->at.table != b->at.table)
        return (a->at.table > b->at.table) - (a->at.table < b->at.table);
    return (a->at.worth < b->at.worth) - (a->at.worth > b->at.worth);
}

/* Of the forms of one word the same one stands for it in whatever order they come. */
static bool goes_first(const struct element_name *a, const struct element_name *b)
{
    if (a->n_letters != b->n_letters)
        return a->n_letters < b->n_letters;
    return memcmp(a->letters, b->letters, (size_t)a->n_letters) < 0;
}

/* The words by hash, each with the most that it is worth to each table. */
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
        add_name(&o, s->columns[i].text, s->columns[i].table, COLUMN_WORTH);
    index_words(x, &o);
    free(o.list);
}

/* A counting sort of the foreign keys by either end. */
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

/* 1 for the same word, 0 where the two have too little in common. */
static float likeness(const struct element_name *a, const struct element_name *b)
{
    if (a->words[0] == b->words[0])
        return 1;
    if (a->n_letters < LIKE_LETTERS || b->n_letters < LIKE_LETTERS)
        return 0;
    float like = element_name_trigrams(a, b);
    if (memcmp(a->letters, b->letters, LIKE_LETTERS) == 0 && like < SAME_START)
        like = SAME_START;
    return like >= LEAST_LIKE ? like : 0;
}

/* One question: how much it says of each word, and what each table is worth. */
struct table_search {
    const struct schema_search *index;
    float *said;                  /* [n_words] */
    float *worth, *gain, *spread; /* [n_tables]; the latter two of one word */
};

static void take_word(struct table_search *q, const struct element_name *word)
{
    const struct schema_search *x = q->index;

    memset(q->gain, 0, (size_t)x->schema->n_tables * sizeof *q->gain);
    for (int i = 0; i < x->n_words; i++) {
        const struct vocabulary_word *v = &x->words[i];
        float like = likeness(word, &v->name);
        q->said[i] = like > q->said[i] ? like : q->said[i];
        for (int k = v->first; like > 0 && k < v->first + v->n; k++) {
            float gain = like * v->idf * x->postings[k].worth, *most = &q->gain[x->postings[k].table];
            *most = gain > *most ? gain : *most;
        }
    }
}

/* To the tables one key further. */
static void spread(struct table_search *q)
{
    const struct schema_search *x = q->index;

    for (int t = 0; t < x->schema->n_tables; t++) {
        float most = q->gain[t];
        for (int k = x->link_start[t]; k < x->link_start[t + 1]; k++) {
            float gain = LINK_WORTH * q->gain[x->links[k]];
            most = gain > most ? gain : most;
        }
        q->spread[t] = most;
    }
    float *spread = q->spread;
    q->spread = q->gain;
    q->gain = spread;
}

/* Each word of the question once. */
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
            q->worth[t] += q->gain[t];
    }
}

static float largest(const float *x, int n)
{
    float most = 0;

    for (int i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Where no table is worth anything, none has a share. */
static void add_more(struct table_search *q, const float *more)
{
    int n = q->index->schema->n_tables;
    float best = largest(q->worth, n), best_more = largest(more, n);

    for (int t = 0; t < n; t++)
        q->worth[t] = (best > 0 ? q->worth[t] / best : 0) + (best_more > 0 ? more[t] / best_more : 0);
}

static void search_init(struct table_search *q, const struct schema_search *x)
{
    size_t tables = (size_t)x->schema->n_tables;

    *q = (struct table_search){ .index = x, .said = xcalloc((size_t)x->n_words + 1, sizeof *q->said) };
    q->worth = xcalloc(tables + 1, sizeof *q->worth);
    q->gain = xcalloc(tables + 1, sizeof *q->gain);
    q->spread = xcalloc(tables + 1, sizeof *q->spread);
}

static void search_release(struct table_search *q)
{
    free(q->said);
    free(q->worth);
    free(q->gain);
    free(q->spread);
}

/* A table or a column in the order of worth; of tables that are worth the same the one that is worth more by itself. */
struct search_rank {
    float worth, own;
    const char *name;
    int number;
};

static int by_worth(const void *x, const void *y)
{
    const struct search_rank *a = x, *b = y;
    if (a->worth != b->worth)
        return a->worth < b->worth ? 1 : -1;
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

/* What the question says of a column's name. */
static float column_worth(const struct table_search *q, int column)
{
    const char *text = q->index->schema->columns[column].text;
    int n = count_words(text);
    struct element_name word;
    float worth = 0;

    while (next_word(&word, &text)) {
        int i = word_place(q->index, word.words[0]);
        worth += q->said[i] * q->index->words[i].idf / (float)n;
    }
    return worth;
}

static int first_before(const void *x, const void *y)
{
    const struct search_rank *a = x, *b = y;
    return a->worth != b->worth ? (a->worth < b->worth ? 1 : -1) : a->number - b->number;
}

/* Where not all columns of the list are kept: keys go before others unless they take more than half of n. */
static void rank_columns(const struct table_search *q, struct search_rank *list, int columns, int n)
{
    static const float key_worth = 1e6F;
    int keys = 0;

    for (int i = 0; i < columns; i++)
        keys += schema_column_is_key(q->index->schema, list[i].number);
    for (int i = 0; i < columns; i++) {
        bool first = 2 * keys <= n && schema_column_is_key(q->index->schema, list[i].number);
        list[i].worth = column_worth(q, list[i].number) + (first ? key_worth : 0);
    }
    qsort(list, (size_t)columns, sizeof *list, first_before);
}

/* n of a table's columns, its best. */
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

/* The tables, the best first; of a group of few elements each is worth a share of the best at least. */
static struct search_rank *rank_tables(const struct table_search *q, int most)
{
    const struct schema *s = q->index->schema;
    const int *group = q->index->group;
    int *elements = xcalloc((size_t)s->n_tables + 1, sizeof *elements);
    float *best = xcalloc((size_t)s->n_tables + 1, sizeof *best);
    struct search_rank *list = xmalloc((size_t)s->n_tables * sizeof *list + 1);

    for (int t = 0; t < s->n_tables; t++) {
        int g = group[t];
        elements[g] += 1 + s->tables[t].n_columns;
        best[g] = q->worth[t] > best[g] ? q->worth[t] : best[g];
    }
    for (int t = 0; t < s->n_tables; t++) {
        bool few = elements[group[t]] <= most / FEW_SHARE;
        float own = q->worth[t], least = few ? GROUP_WORTH * best[group[t]] : 0;
        list[t] = (struct search_rank){ own > least ? own : least, own, s->tables[t].name, t };
    }
    if (s->n_tables)
        qsort(list, (size_t)s->n_tables, sizeof *list, by_worth);
    free(elements);
    free(best);
    return list;
}

static void keep_best(const struct table_search *q, int most, bool *kept)
{
    const struct schema *s = q->index->schema;
    struct search_rank *list = rank_tables(q, most);

    for (int i = 0, left = most; i < s->n_tables && left > 1; i++) {
        int table = list[i].number, share = left < most / 2 ? left : most / 2;
        int columns = s->tables[table].n_columns < share - 1 ? s->tables[table].n_columns : share - 1;
        kept[table] = true;
        keep_columns(q, table, columns, kept);
        left -= 1 + columns;
    }
    free(list);
}

void schema_search_best(const struct schema_search *x, const char *question, const float *more, int most, bool *kept)
{
    const struct schema *s = x->schema;
    int n = s->n_tables + s->n_columns;
    struct table_search q;

    memset(kept, n <= most, (size_t)n);
    if (n <= most)
        return;
    CHECK(most >= 4, "%d elements of a schema hold no table with a column", most);
    search_init(&q, x);
    take_question(&q, question);
    if (more)
        add_more(&q, more);
    keep_best(&q, most, kept);
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
