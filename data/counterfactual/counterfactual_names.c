/* Part of counterfactual.h: what the two columns are called that stand where one was. */
#include "data/counterfactual/counterfactual_names.h"

#include "data/ambiguate/synonym_finder.h"
#include "data/counterfactual/counterfactual_impl.h"
#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>

enum { DRAWS = 12, SYNONYMS_ONE_IN = 5, MODIFIER_WORDS = 2, MODIFIER_LETTERS = 24 };

/* Those that fit most names of a type. */
static const struct modifier_pair general[] = {
    { -1, COLUMN_NUMBER, { "home", "away" } },       { -1, COLUMN_NUMBER, { "minimum", "maximum" } },
    { -1, COLUMN_NUMBER, { "first", "second" } },    { -1, COLUMN_NUMBER, { "planned", "actual" } },
    { -1, COLUMN_NUMBER, { "gross", "net" } },       { -1, COLUMN_NUMBER, { "previous", "current" } },
    { -1, COLUMN_NUMBER, { "opening", "closing" } }, { -1, COLUMN_NUMBER, { "expected", "final" } },
    { -1, COLUMN_NUMBER, { "our", "opponent" } },    { -1, COLUMN_TIME, { "start", "end" } },
    { -1, COLUMN_TIME, { "first", "last" } },        { -1, COLUMN_TIME, { "planned", "actual" } },
    { -1, COLUMN_TIME, { "arrival", "departure" } }, { -1, COLUMN_TIME, { "original", "revised" } },
    { -1, COLUMN_TEXT, { "home", "away" } },         { -1, COLUMN_TEXT, { "our", "opponent" } },
    { -1, COLUMN_TEXT, { "first", "second" } },      { -1, COLUMN_TEXT, { "primary", "secondary" } },
    { -1, COLUMN_TEXT, { "former", "current" } },    { -1, COLUMN_TEXT, { "official", "local" } },
    { -1, COLUMN_TEXT, { "old", "new" } },           { -1, COLUMN_TEXT, { "original", "alternative" } },
};

/* What stands before the head, which ends the name: "home " of "home team".  NULL where that is nothing or long. */
static const char *modifier_of(struct header_pool *p, const char *name, const struct spoken *words,
                               const struct spoken_word *head)
{
    if (!head || head != &words->words[words->n - 1] || words->n < 2 || words->n > 1 + MODIFIER_WORDS ||
        head->from > MODIFIER_LETTERS || strchr(name, '\n'))
        return NULL;
    return strings_printf(&p->text, "%.*s", words->words[words->n - 2].to - words->words[0].from,
                          name + words->words[0].from);
}

static void add_pair(struct header_pool *p, const char *head, const char *a, const char *b, enum column_type type)
{
    int before = p->seen.n;

    if (strings_add(&p->seen, strings_printf(&p->text, "%s\x1f%s\x1f%s\x1f%d", head, a, b, (int)type)) < before)
        return;
    GROW(p->items, p->n, p->cap);
    p->items[p->n++] = (struct modifier_pair){ strings_add(&p->heads, head), type, { a, b } };
}

void header_pool_add(struct header_pool *p, const char *const *names, const enum column_type *types, int n)
{
    const char **modifiers = xcalloc((size_t)n + 1, sizeof *modifiers), **heads = xcalloc((size_t)n + 1, sizeof *heads);

    for (int i = 0; i < n; i++) {
        struct spoken words;
        spoken_read(&words, names[i]);
        const struct spoken_word *head = spoken_head(&words);
        modifiers[i] = modifier_of(p, names[i], &words, head);
        heads[i] = modifiers[i] ? strings_keep(&p->text, head->stem) : NULL;
        for (int j = 0; heads[i] && j < i; j++)
            if (heads[j] && types[i] == types[j] && strcmp(heads[i], heads[j]) == 0 &&
                strcmp(modifiers[i], modifiers[j]) != 0)
                add_pair(p, heads[i], modifiers[j], modifiers[i], types[i]);
    }
    free(modifiers);
    free(heads);
}

void header_pool_release(struct header_pool *p)
{
    strings_release(&p->heads);
    strings_release(&p->seen);
    strings_release(&p->text);
    free(p->items);
    *p = (struct header_pool){ 0 };
}

/* The n-th pair of the pool for this head and type, where n is drawn; NULL when there are none. */
static const struct modifier_pair *draw_from(struct rng *rng, const struct modifier_pair *items, int n, int head,
                                             enum column_type type)
{
    int fit = 0;

    for (int i = 0; i < n; i++)
        fit += items[i].head == head && items[i].type == type;
    int left = fit ? (int)rng_below(rng, (uint32_t)fit) : 0;
    for (int i = 0; i < n && fit; i++)
        if (items[i].head == head && items[i].type == type && left-- == 0)
            return &items[i];
    return NULL;
}

static bool draw_modified(struct counterfactual *c, enum column_type type, const char *spoken, const char *names[2])
{
    struct spoken words;

    spoken_read(&words, spoken);
    const struct spoken_word *head = spoken_head(&words);
    int number = head ? strings_find(&c->pool.heads, head->stem) : -1;
    const struct modifier_pair *pair =
        number >= 0 && rng_below(&c->rng, 4) ? draw_from(&c->rng, c->pool.items, c->pool.n, number, type) : NULL;
    if (!pair)
        pair = draw_from(&c->rng, general, ARRAY_LEN(general), -1,
                         type == COLUMN_NUMBER || type == COLUMN_TIME ? type : COLUMN_TEXT);
    for (int k = 0; k < 2; k++)
        names[k] = strings_printf(&c->text, "%s %s", pair->words[k], spoken);
    return true;
}

void synonym_pool_fill(struct counterfactual *c)
{
    struct synonym_pool *p = &c->listed;

    for (int t = 0; t < c->n_tables; t++)
        for (int i = 0; i < c->tables[t].n_columns; i++) {
            const struct asked_column *column = &c->tables[t].columns[i];
            if (!column->synonyms)
                continue;
            GROW(p->items, p->n, p->cap);
            p->items[p->n++] = (struct listed_pair){ strings_add(&p->names, counterfactual_plain(c, column->name)),
                                                     c->tables[t].group, column->synonyms };
        }
}

void synonym_pool_release(struct synonym_pool *p)
{
    synonyms_release(&p->dictionary);
    strings_release(&p->names);
    free(p->items);
    *p = (struct synonym_pool){ 0 };
}

/* Whether the pair may name a column of the table: it is of its own databases, or of those for training. */
static bool pair_fits(const struct counterfactual *c, const struct listed_pair *pair, const struct asked_table *t,
                      int name)
{
    return pair->name == name && (pair->group == t->group || c->fold[pair->group] == FOLD_TRAIN);
}

/* Two other words for it, as the dictionary has them for a column of the same name. */
static bool draw_listed(struct counterfactual *c, const struct asked_table *t, int column, const char *names[2])
{
    const struct synonym_pool *p = &c->listed;
    int name = strings_find(&p->names, counterfactual_plain(c, t->columns[column].name)), fit = 0;

    for (int i = 0; i < p->n && name >= 0; i++)
        fit += pair_fits(c, &p->items[i], t, name);
    int left = fit ? (int)rng_below(&c->rng, (uint32_t)fit) : 0;
    for (int i = 0; i < p->n && fit; i++)
        if (pair_fits(c, &p->items[i], t, name) && left-- == 0)
            for (int k = 0; k < 2; k++)
                names[k] = counterfactual_blanks(c, p->items[i].names[k]);
    return fit > 0;
}

/* Two other words for it, as WordNet has them. */
static bool draw_synonyms(struct counterfactual *c, const struct asked_table *t, int column, const char *names[2])
{
    struct synonym_finder finder = { 0 };
    struct synonym_pair pair;
    struct schema_build b;
    struct schema s;

    schema_build_init(&b, "table");
    int table = schema_build_table(&b, "table", NULL);
    for (int i = 0; i < t->n_columns; i++)
        schema_build_column(&b, table, t->columns[i].name, t->columns[i].name, t->columns[i].type);
    schema_build_finish(&b, &s);
    bool found =
        synonym_finder_find(&finder, &pair, &s, "table", t->columns[column].name) && pair.source == SYNONYM_WORDNET;
    for (int k = 0; k < 2 && found; k++)
        names[k] = counterfactual_blanks(c, pair.names[k]);
    synonym_finder_release(&finder);
    schema_release(&s);
    return found;
}

/* No column is called so, nor said so by a question beyond the words that name the old one. */
static bool name_is_free(const struct asked_table *t, int column, const char *spoken, const char *const questions[2],
                         const char *name)
{
    struct spoken new_words, said, question;

    spoken_read(&new_words, name);
    spoken_read(&said, spoken);
    for (int i = 0; i < t->n_columns; i++)
        if (spoken_ratio(t->columns[i].name, name) > (i == column ? 0.99 : 0.9))
            return false;
    for (int k = 0; k < 2; k++) {
        spoken_read(&question, questions[k]);
        for (int i = 0; i < new_words.n; i++)
            if (!spoken_find(&said, new_words.words[i].stem) && spoken_find(&question, new_words.words[i].stem))
                return false;
    }
    return new_words.n > 0;
}

/* Half of them from a dictionary, where there is one. */
static bool draw_names(struct counterfactual *c, const struct asked_table *t, int column, const char *spoken,
                       const char *names[2])
{
    if (c->listed.n && rng_below(&c->rng, 2) && draw_listed(c, t, column, names))
        return true;
    return rng_below(&c->rng, SYNONYMS_ONE_IN) == 0 ? draw_synonyms(c, t, column, names)
                                                    : draw_modified(c, t->columns[column].type, spoken, names);
}

bool counterfactual_names(struct counterfactual *c, const struct asked_table *t, int column, const char *spoken,
                          const char *const questions[2], const char *names[2])
{
    for (int i = 0; i < DRAWS; i++) {
        bool drawn = draw_names(c, t, column, spoken, names);
        if (drawn && name_is_free(t, column, spoken, questions, names[0]) &&
            name_is_free(t, column, spoken, questions, names[1]) && spoken_ratio(names[0], names[1]) < 0.95)
            return true;
    }
    return false;
}
