#include "data/schema/mention.h"

#include "data/schema/element_name.h"

#include <stdlib.h>
#include <string.h>

enum { QUESTION_MAX_WORDS = 128 };

/* The content words of a question. */
struct question_words {
    uint32_t list[QUESTION_MAX_WORDS];
    int n;
};

/* The content words of a name, and which of them the question mentions. */
struct mentioned_name {
    uint32_t words[NAME_MAX_WORDS];
    bool mentioned[NAME_MAX_WORDS];
    int n;
    bool phrase;
};

static bool among(const uint32_t *words, int n, uint32_t word)
{
    for (int i = 0; i < n; i++)
        if (words[i] == word)
            return true;
    return false;
}

/* Removes words that connect others but name nothing. */
static int drop_glue(uint32_t *words, int n)
{
    static const char *const glue[] = { "a", "an", "the", "of", "in", "on", "at", "to", "for", "by", "and", "or" };
    uint32_t hashes[ARRAY_LEN(glue)];
    int kept = 0;

    for (size_t i = 0; i < ARRAY_LEN(glue); i++)
        hashes[i] = word_hash(glue[i]);
    for (int i = 0; i < n; i++)
        if (!among(hashes, ARRAY_LEN(glue), words[i]))
            words[kept++] = words[i];
    return kept;
}

static bool contains_phrase(const uint32_t *words, int n, const uint32_t *phrase, int k)
{
    for (int i = 0; k && i + k <= n; i++)
        if (memcmp(words + i, phrase, (size_t)k * sizeof *phrase) == 0)
            return true;
    return false;
}

static void read_name(struct mentioned_name *name, const char *text, const struct question_words *question)
{
    int kept = 0, n = drop_glue(name->words, words_read(text, name->words, NAME_MAX_WORDS));

    name->phrase = contains_phrase(question->list, question->n, name->words, n);
    for (int i = 0; i < n; i++)
        if (!among(name->words, kept, name->words[i]))
            name->words[kept++] = name->words[i];
    name->n = kept;
    for (int i = 0; i < kept; i++)
        name->mentioned[i] = among(question->list, question->n, name->words[i]);
}

/* The caller frees. */
static struct mentioned_name *read_names(const struct schema *s, const char *question, struct question_words *w)
{
    struct mentioned_name *names = xcalloc((size_t)s->n_tables + (size_t)s->n_columns, sizeof *names);

    w->n = drop_glue(w->list, words_read(question, w->list, QUESTION_MAX_WORDS));
    for (int i = 0; i < s->n_tables; i++)
        read_name(&names[i], s->tables[i].text, w);
    for (int i = 0; i < s->n_columns; i++)
        read_name(&names[s->n_tables + i], s->columns[i].text, w);
    return names;
}

/* Number of words, and how many of them the question mentions. */
struct word_count {
    int mentioned, all;
};

static float share(struct word_count t)
{
    return t.all ? (float)t.mentioned / (float)t.all : 0;
}

/* Counts the words of a that b shares and those that only a has. */
static void compare(const struct mentioned_name *a, const struct mentioned_name *b, struct word_count *shared,
                    struct word_count *own)
{
    *shared = *own = (struct word_count){ 0 };
    for (int i = 0; i < a->n; i++) {
        struct word_count *t = among(b->words, b->n, a->words[i]) ? shared : own;
        t->all++;
        t->mentioned += a->mentioned[i];
    }
}

static void put(float *out, int more, float a, float b)
{
    out[more] = a > b ? a : b;
    out[more + 1] = a > b ? b : a;
}

static float all_of(const struct mentioned_name *a)
{
    struct word_count all, none;
    compare(a, a, &all, &none);
    return share(all);
}

static const struct mentioned_name *table_of(const struct schema *s, const struct mentioned_name *names, int node)
{
    return &names[schema_table_of(s, node)];
}

static void describe(const struct schema *s, const struct mentioned_name *names, const struct schema_pair *p,
                     float *out)
{
    const struct mentioned_name *u = &names[p->u], *v = &names[p->v];
    struct word_count shared, own_u, own_v;

    compare(v, u, &shared, &own_v);
    compare(u, v, &shared, &own_u);
    out[MENTION_SHARED] = share(shared);
    put(out, MENTION_OWN_MORE, share(own_u), share(own_v));
    put(out, MENTION_ALL_MORE, all_of(u), all_of(v));
    put(out, MENTION_PHRASE_MORE, u->phrase, v->phrase);
    put(out, MENTION_TABLE_MORE, all_of(table_of(s, names, p->u)), all_of(table_of(s, names, p->v)));
}

void mention_features(const struct schema *s, const char *question, const struct schema_pair *pairs, int n, float *out,
                      int stride)
{
    struct question_words words;
    struct mentioned_name *names = read_names(s, question, &words);

    for (int i = 0; i < n; i++)
        describe(s, names, &pairs[i], out + (size_t)i * (size_t)stride);
    free(names);
}

/* The largest of several values with its owner, and the largest of the other owners' values. */
struct top_share {
    float first, second;
    int who;
};

static void best_add(struct top_share *b, float share, int who)
{
    if (who == b->who) {
        b->first = share > b->first ? share : b->first;
    } else if (share > b->first) {
        b->second = b->first;
        b->first = share;
        b->who = who;
    } else if (share > b->second) {
        b->second = share;
    }
}

static float best_but(const struct top_share *b, int who)
{
    return b->who == who ? b->second : b->first;
}

/* The context of each element.  It has the largest shares among the columns of each table and among the tables of each
 * group.  It also counts the elements of a group that have each word of the question. */
struct surroundings {
    const struct schema *schema;
    const struct question_words *question;
    const int *group; /* NULL: all tables form one group */
    struct top_share *columns, *by_table;
    int *holders; /* [groups * words] */
};

static int group_of(const struct surroundings *a, int node)
{
    return a->group ? a->group[schema_table_of(a->schema, node)] : 0;
}

static int *holders_of(const struct surroundings *a, int node)
{
    return a->holders + (size_t)group_of(a, node) * (size_t)a->question->n;
}

static void count_holders(const struct surroundings *a, int node, const struct mentioned_name *name)
{
    int *holders = holders_of(a, node);
    for (int i = 0; i < a->question->n; i++)
        holders[i] += among(name->words, name->n, a->question->list[i]);
}

static void look_around(struct surroundings *a, const struct mentioned_name *names, const float *share)
{
    const struct schema *s = a->schema;
    size_t tables = (size_t)s->n_tables;

    a->columns = xcalloc(tables, sizeof *a->columns);
    a->by_table = xcalloc(tables, sizeof *a->by_table);
    a->holders = xcalloc(tables * (size_t)a->question->n + 1, sizeof *a->holders);
    for (int i = 0; i < s->n_tables + s->n_columns; i++) {
        count_holders(a, i, &names[i]);
        best_add(&a->by_table[group_of(a, i)], share[i], schema_table_of(s, i));
        if (i >= s->n_tables)
            best_add(&a->columns[schema_table_of(s, i)], share[i], i);
    }
}

static void surroundings_release(struct surroundings *a)
{
    free(a->columns);
    free(a->by_table);
    free(a->holders);
}

static bool has_namesake(const struct surroundings *a, int node, const struct mentioned_name *name)
{
    const int *holders = holders_of(a, node);
    for (int i = 0; i < a->question->n; i++)
        if (holders[i] > 1 && among(name->words, name->n, a->question->list[i]))
            return true;
    return false;
}

void mention_elements(const struct schema *s, const int *group, const char *question, float *out)
{
    struct question_words words;
    struct mentioned_name *names = read_names(s, question, &words);
    int n = s->n_tables + s->n_columns;
    float *share = xmalloc((size_t)n * sizeof *share);
    struct surroundings around = { .schema = s, .question = &words, .group = group };

    for (int i = 0; i < n; i++)
        share[i] = all_of(&names[i]);
    look_around(&around, names, share);
    for (int i = 0; i < n; i++, out += ELEMENT_MENTIONS) {
        out[ELEMENT_ALL] = share[i];
        out[ELEMENT_ANY] = share[i] > 0;
        out[ELEMENT_PHRASE] = names[i].phrase;
        out[ELEMENT_TABLE] = share[schema_table_of(s, i)];
        out[ELEMENT_IS_TABLE] = i < s->n_tables;
        out[ELEMENT_NEIGHBOUR] = best_but(&around.columns[schema_table_of(s, i)], i);
        out[ELEMENT_ELSEWHERE] = best_but(&around.by_table[group_of(&around, i)], schema_table_of(s, i));
        out[ELEMENT_NAMESAKE] = has_namesake(&around, i, &names[i]);
    }
    surroundings_release(&around);
    free(share);
    free(names);
}
