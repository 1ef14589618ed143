#include "data/synth/synonym_finder.h"

#include "data/sql/sql_lex.h"
#include "data/synth/wordnet/wordnet.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 12, MAX_NAME = 64 };

/* Usual abbreviations of columns, and plain words whose first sense in WordNet is not the one that columns mean;
 * sorted. */
static const struct wordnet_noun column_words[] = {
    { "acc", "account" },       { "addr", "address" },         { "age", "years" },        { "amt", "amount" },
    { "avg", "average" },       { "cat", "category" },         { "dept", "department" },  { "desc", "description" },
    { "dob", "date_of_birth" }, { "emp", "employee" },         { "fk", "foreign_key" },   { "fname", "first_name" },
    { "gender", "sex" },        { "id", "identifier number" }, { "info", "information" }, { "lat", "latitude" },
    { "lname", "last_name" },   { "loc", "location" },         { "long", "longitude" },   { "max", "maximum" },
    { "mgr", "manager" },       { "min", "minimum" },          { "name", "title label" }, { "no", "number" },
    { "num", "number" },        { "org", "organization" },     { "pct", "percent" },      { "phone", "telephone" },
    { "qty", "quantity" },      { "ref", "reference" },        { "sex", "gender" },       { "tel", "telephone" },
    { "temp", "temperature" },  { "type", "kind category" },   { "weight", "mass" },      { "yr", "year" },
};

/* The search for two names: candidates are tried in turn. */
struct synonym_search {
    const struct schema *schema;
    int table, column;
    struct strings *text;
    struct synonym_pair *pair;
    int n, n_wordnet;
    char whole[MAX_NAME]; /* the name's words with underscores between them */
    char words[MAX_WORDS][MAX_NAME];
    int n_words;
};

static const char *look_up(const struct wordnet_noun *nouns, int n, const char *word)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(nouns[middle].noun, word);
        if (order == 0)
            return nouns[middle].synonyms;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_taken(const struct synonym_search *m, const char *name)
{
    if (m->column < 0)
        return schema_table_find(m->schema, name) >= 0;
    return schema_column_find(m->schema, m->table, name) >= 0;
}

static void offer(struct synonym_search *m, const char *name, bool wordnet)
{
    if (m->n == 2 || is_taken(m, name) || sql_word_use(name) != SQL_NOT_KEYWORD ||
        (m->n == 1 && strcmp(name, m->pair->names[0]) == 0))
        return;
    m->pair->names[m->n] = m->pair->written[m->n] = strings_keep(m->text, name);
    m->n++;
    m->n_wordnet += wordnet;
}

/* Forms the singular by the common rules of English. Returns false if the word is no plural. */
static bool singular(char *out, const char *word)
{
    size_t n = strlen(word);

    if (n < 4 || n >= MAX_NAME || word[n - 1] != 's' || word[n - 2] == 's' || word[n - 2] == 'u')
        return false;
    memcpy(out, word, n + 1);
    out[n - 1] = 0;
    if (n > 4 && strcmp(word + n - 3, "ies") == 0)
        memcpy(out + n - 3, "y", 2);
    else if (n > 4 && word[n - 2] == 'e' && strchr("sxzh", word[n - 3]))
        out[n - 2] = 0;
    return true;
}

static void make_plural(char *word)
{
    size_t n = strlen(word);
    const char *ending = "s";

    if (word[n - 1] == 'y' && n > 1 && !strchr("aeiou", word[n - 2])) {
        n--;
        ending = "ies";
    } else if (strchr("sxz", word[n - 1]) || (n > 1 && word[n - 1] == 'h' && strchr("cs", word[n - 2]))) {
        ending = "es";
    }
    memcpy(word + n, ending, strlen(ending) + 1);
}

/* Offers the name with words[at] replaced by each synonym. */
static void offer_each(struct synonym_search *m, const char *synonyms, int at, bool plural, bool wordnet)
{
    while (*synonyms) {
        char name[MAX_NAME * (MAX_WORDS + 1)] = "", word[MAX_NAME];
        size_t n = strcspn(synonyms, " ");
        if (n + 4 < sizeof word) {
            memcpy(word, synonyms, n);
            word[n] = 0;
            if (plural)
                make_plural(word);
            char *to = name;
            for (int i = 0; i < m->n_words; i++)
                to = stpcpy(stpcpy(to, i ? "_" : ""), i == at ? word : m->words[i]);
            offer(m, name, wordnet);
        }
        synonyms += n + (synonyms[n] == ' ');
    }
}

/* Replaces one word by its synonyms or its expansion. */
static void offer_word(struct synonym_search *m, int at)
{
    char one[MAX_NAME];
    const char *found = look_up(column_words, ARRAY_LEN(column_words), m->words[at]);

    if (found)
        offer_each(m, found, at, false, false);
    if ((found = look_up(wordnet_nouns, wordnet_n_nouns, m->words[at])))
        offer_each(m, found, at, false, m->n_words == 1);
    else if (singular(one, m->words[at]) && (found = look_up(wordnet_nouns, wordnet_n_nouns, one)))
        offer_each(m, found, at, true, m->n_words == 1);
}

/* Offers the synonyms of the whole name, which WordNet writes with underscores. */
static void offer_whole(struct synonym_search *m)
{
    const char *found = look_up(wordnet_nouns, wordnet_n_nouns, m->whole);

    for (size_t n; found && *found; found += n + (found[n] == ' ')) {
        char name[MAX_NAME];
        n = strcspn(found, " ");
        if (n >= sizeof name)
            continue;
        memcpy(name, found, n);
        name[n] = 0;
        offer(m, name, true);
    }
}

/* Offers names with the table as qualifier, or "record" and "entry" for a table. */
static void offer_qualified(struct synonym_search *m)
{
    const char *table = m->schema->tables[m->table].name;

    if (m->column >= 0) {
        offer(m, strings_printf(m->text, "%s_%s", table, m->whole), false);
        offer(m, strings_printf(m->text, "%s_of_%s", m->whole, table), false);
    } else {
        offer(m, strings_printf(m->text, "%s_record", m->whole), false);
        offer(m, strings_printf(m->text, "%s_entry", m->whole), false);
    }
}

/* Splits the element's natural name into words. Returns false if it has characters that need quotes in SQL. */
static bool split(struct synonym_search *m, const char *text)
{
    size_t n = 0, length = 0;

    for (const char *p = text; *p; p++) {
        bool gap = *p == ' ' || *p == '_';
        if (!gap && !(isalnum((unsigned char)*p) && (unsigned char)*p < 128))
            return false;
        if (gap && length)
            m->n_words++;
        length = gap ? 0 : length + 1;
        if (gap)
            continue;
        if (m->n_words == MAX_WORDS || n + 2 >= sizeof m->whole)
            return false;
        if (length == 1 && n)
            m->whole[n++] = '_';
        m->whole[n++] = m->words[m->n_words][length - 1] = (char)tolower((unsigned char)*p);
    }
    m->n_words += length > 0;
    return m->n_words > 0 && !isdigit((unsigned char)m->whole[0]);
}

/* Generates two names for a column, or for the table if column is -1. No neighbour and no keyword has them; text keeps
 * them. The source is SYNONYM_WORDNET if WordNet has both for the whole name. Returns false if there are not two. */
static bool synonym_make(struct strings *text, struct synonym_pair *pair, const struct schema *s, int table, int column)
{
    struct synonym_search m = { .schema = s, .table = table, .column = column, .text = text, .pair = pair };

    if (!split(&m, column < 0 ? s->tables[table].text : s->columns[column].text))
        return false;
    offer(&m, m.whole, false); /* free if the name abbreviates its words */
    if (m.n_words > 1)
        offer_whole(&m);
    offer_word(&m, m.n_words - 1);
    for (int i = 0; i < m.n_words - 1; i++)
        offer_word(&m, i);
    offer_qualified(&m);
    pair->source = m.n_wordnet == 2 ? SYNONYM_WORDNET : SYNONYM_MORPHOLOGY;
    return m.n == 2;
}

const char *synonym_source_name(enum synonym_source s)
{
    static const char *const names[] = { NULL, "file", "model", "wordnet", "morphology", "modifier" };
    return names[s];
}

static bool find_in_file(const struct synonyms *from, struct synonym_pair *pair, const char *db_id, const char *table,
                         const char *column)
{
    const char *const *names = synonyms_find(from, db_id, table, column);
    const char *const *written = synonyms_written(from, db_id, table, column);

    if (!names)
        return false;
    for (int k = 0; k < 2; k++) {
        pair->names[k] = names[k];
        pair->written[k] = written[k];
    }
    return true;
}

bool synonym_finder_find(struct synonym_finder *f, struct synonym_pair *pair, const struct schema *s, const char *table,
                         const char *column)
{
    const struct synonyms *from = column ? f->columns : f->tables;

    if (from) {
        bool found = find_in_file(from, pair, s->db_id, table, column);
        pair->source = f->by_model ? SYNONYM_MODEL : SYNONYM_FILE;
        return found;
    }
    int t = schema_table_find(s, table), c = t >= 0 && column ? schema_column_find(s, t, column) : -1;
    if (t < 0 || (column && c < 0))
        return false;
    return synonym_make(&f->text, pair, s, t, c);
}

void synonym_finder_release(struct synonym_finder *f)
{
    strings_release(&f->text);
}
