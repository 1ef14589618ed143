#include "data/natural/rivals.h"

#include "data/ambiguate/wordnet/wordnet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units and yes-or-no words end a name, but nobody asks for "the billion". */
static const char *const no_heads[] = { "billion", "million", "f",       "c",      "inches",   "inch",  "mph",
                                        "mib",     "yes",     "no",      "usd",    "km",       "kg",    "cm",
                                        "feet",    "miles",   "mile",    "meters", "percent",  "left",  "half",
                                        "number",  "joined",  "details", "low",    "high",     "max",   "min",
                                        "count",   "flag",    "s",       "proof",  "meetings", "per",   "detail",
                                        "pct",     "am",      "pm",      "other",  "vs",       "total", "class" };
/* Nouns that the table of wordnet.h lacks, since it has only those with synonyms. */
static const char *const more_nouns[] = {
    "aircraft",  "audience", "balance", "birthdate",   "budget",  "college",     "composer", "distance",
    "employee",  "episode",  "genre",   "governor",    "gross",   "hometown",    "income",   "latitude",
    "longitude", "method",   "name",    "nationality", "page",    "population",  "quota",    "rank",
    "ranking",   "semester", "service", "street",      "summary", "temperature", "value",    "word"
};
/* Modifiers that a reader leaves out without a doubt: a total is the plain thing, and first and last names are one. */
static const char *const weak_modifiers[] = { "first",  "last",    "middle", "family",  "given", "full",  "short",
                                              "long",   "total",   "all",    "overall", "sum",   "other", "main",
                                              "parent", "1",       "2",      "3",       "l",     "f",     "m",
                                              "pct",    "percent", "num",    "number",  "count", "of",    "in",
                                              "to",     "login",   "super" };

static bool among(uint32_t word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (word_hash(words[i]) == word)
            return true;
    return false;
}

/* The n-th last word of a text, in lower case; false where it has none or it does not fit. */
static bool last_word(const char *text, char *out, size_t size)
{
    size_t end = strlen(text);

    while (end > 0 && !element_name_letter(text[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && element_name_letter(text[begin - 1]))
        begin--;
    if (begin == end || end - begin >= size)
        return false;
    for (size_t i = begin; i < end; i++)
        out[i - begin] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    out[end - begin] = 0;
    return true;
}

uint32_t head_word(const char *text)
{
    char word[NAME_MAX_LETTERS];

    return last_word(text, word, sizeof word) ? word_hash(word) : 0;
}

static bool is_noun(const char *word)
{
    int low = 0, high = wordnet_n_nouns;

    while (low < high) {
        int middle = low + (high - low) / 2, order = strcmp(wordnet_nouns[middle].noun, word);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool can_be_head(const char *text)
{
    char word[NAME_MAX_LETTERS];

    if (!last_word(text, word, sizeof word) || among(word_hash(word), no_heads, ARRAY_LEN(no_heads)))
        return false;
    size_t n = strlen(word);
    if (is_noun(word) || among(word_hash(word), more_nouns, ARRAY_LEN(more_nouns)))
        return true;
    if (n < 4 || word[n - 1] != 's')
        return false;
    word[n - 1] = 0;
    return is_noun(word);
}

static void split(const struct word_list *of, const struct word_list *other, struct word_list *shared,
                  struct word_list *own)
{
    shared->n = own->n = 0;
    for (int i = 0; i < of->n; i++) {
        struct word_list *to = word_list_has(other, of->list[i]) ? shared : own;
        to->list[to->n++] = of->list[i];
    }
}

static bool has_digit(const char *text)
{
    return strpbrk(text, "0123456789") != NULL;
}

/* The own words tell the column from its rival for a reader who does not know the schema. */
static bool own_words_count(const struct word_list *own, const char *table)
{
    struct word_list name;
    bool all_of_table = true;

    word_list_read(&name, table);
    for (int i = 0; i < own->n; i++) {
        if (among(own->list[i], weak_modifiers, ARRAY_LEN(weak_modifiers)))
            return false;
        all_of_table = all_of_table && word_list_has(&name, own->list[i]);
    }
    return own->n > 0 && !all_of_table;
}

static bool read_of_one_table(struct rival_pair *r, const struct schema *s)
{
    const struct schema_column *x = &s->columns[r->columns[0]], *y = &s->columns[r->columns[1]];
    struct word_list names[2], shared;

    word_list_read(&names[0], x->text);
    word_list_read(&names[1], y->text);
    split(&names[0], &names[1], &r->shared, &r->own[0]);
    split(&names[1], &names[0], &shared, &r->own[1]);
    r->owners[0] = x->text;
    r->owners[1] = y->text;
    const char *table = s->tables[x->table].text;
    return own_words_count(&r->own[0], table) && own_words_count(&r->own[1], table);
}

/* The words of a column that its table's name lacks, and those of the table. */
static void take_apart(struct word_list *core, struct word_list *table, const struct schema *s, int column)
{
    struct word_list name, words, both;

    word_list_read(&name, s->columns[column].text);
    word_list_read(&words, s->tables[s->columns[column].table].text);
    split(&name, &words, &both, core);
    split(&words, core, &both, table);
}

static bool read_of_two_tables(struct rival_pair *r, const struct schema *s)
{
    struct word_list cores[2];

    for (int k = 0; k < 2; k++) {
        if (schema_column_is_key(s, r->columns[k]))
            return false;
        take_apart(&cores[k], &r->own[k], s, r->columns[k]);
        r->owners[k] = s->tables[s->columns[r->columns[k]].table].text;
    }
    struct word_list only;
    split(&cores[0], &cores[1], &r->shared, &only);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < r->own[k].n; i++)
            if (word_list_has(&r->own[1 - k], r->own[k].list[i]))
                return false;
    return only.n == 0 && cores[1].n == cores[0].n && word_list_has(&r->shared, r->head) && r->own[0].n && r->own[1].n;
}

/* The rest of the name would begin with a word that joins others: "of birth". */
static bool begins_well(const struct word_list *shared)
{
    static const char *const glue[] = { "of", "per",  "in",  "by", "to", "for", "on",
                                        "at", "from", "and", "or", "s",  "with" };

    return shared->n > 0 && !among(shared->list[0], glue, ARRAY_LEN(glue));
}

bool rivals_read(struct rival_pair *r, const struct schema *s, int a, int b)
{
    const struct schema_column *x = &s->columns[a], *y = &s->columns[b];

    *r = (struct rival_pair){ .columns = { a, b }, .head = head_word(x->text), .apart = x->table != y->table };
    if (a == b || x->type != y->type || r->head != head_word(y->text) || !can_be_head(x->text) || has_digit(x->text) ||
        has_digit(y->text))
        return false;
    return (r->apart ? read_of_two_tables(r, s) : read_of_one_table(r, s)) && begins_well(&r->shared);
}

const char *words_among(struct strings *text, const char *name, const struct word_list *words)
{
    char out[256] = "";
    size_t n = 0;

    for (const char *p = name; *p;) {
        size_t k = 0;
        while (element_name_letter(p[k]))
            k++;
        uint32_t hash = 0;
        char *word = strndup(p, k);
        if (k)
            words_read(word, &hash, 1);
        if (k && word_list_has(words, hash) && n + k + 2 < sizeof out)
            n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", n ? " " : "", word);
        free(word);
        p += k ? k : 1;
    }
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return strings_keep(text, out);
}

bool column_has_words(const struct schema *s, int column, const struct word_list *words)
{
    struct word_list name;

    word_list_read(&name, s->columns[column].text);
    for (int i = 0; i < words->n; i++)
        if (!word_list_has(&name, words->list[i]))
            return false;
    return true;
}

bool tables_joined(const struct schema *s, int a, int b)
{
    for (int k = 0; k < s->n_foreign_keys; k++) {
        int x = s->columns[s->foreign_keys[k].from].table, y = s->columns[s->foreign_keys[k].to].table;
        if ((x == a && y == b) || (x == b && y == a))
            return true;
    }
    return false;
}
