#include "data/synth/rivals.h"

#include "data/schema/element_name.h"
#include "data/synth/wordnet/wordnet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void word_list_read(struct word_list *w, const char *text)
{
    uint32_t words[NAME_MAX_WORDS];
    int n = words_read(text, words, NAME_MAX_WORDS);

    w->n = 0;
    for (int i = 0; i < n; i++)
        word_list_add(w, words[i]);
}

bool word_list_has(const struct word_list *w, uint32_t word)
{
    for (int i = 0; i < w->n; i++)
        if (w->list[i] == word)
            return true;
    return false;
}

void word_list_add(struct word_list *w, uint32_t word)
{
    if (!word_list_has(w, word) && w->n < NAME_MAX_WORDS)
        w->list[w->n++] = word;
}

bool question_words_read(struct cut_question *q, const char *text)
{
    *q = (struct cut_question){ .text = text };
    for (int i = 0; text[i];) {
        int begin = i;
        while (element_name_letter(text[i]))
            i++;
        if (i == begin) {
            i++;
            continue;
        }
        if (q->n == QUESTION_WORDS_MAX)
            return false;
        struct question_word *w = &q->list[q->n++];
        char *word = strndup(text + begin, (size_t)(i - begin));
        *w = (struct question_word){ .begin = begin, .end = i };
        words_read(word, &w->hash, 1);
        free(word);
    }
    return q->n > 0;
}

bool question_joined(const struct cut_question *q, int i, int k)
{
    for (; i < k; i++) {
        int gap = q->list[i].end;
        if (q->list[i + 1].begin != gap + 1 || !strchr(" -_", q->text[gap]))
            return false;
    }
    return true;
}

int question_find(const struct cut_question *q, const uint32_t *words, int n, int from)
{
    for (int i = from; n && i + n <= q->n; i++) {
        int k = 0;
        while (k < n && q->list[i + k].hash == words[k])
            k++;
        if (k == n && question_joined(q, i, i + n - 1))
            return i;
    }
    return -1;
}

bool question_says(const struct cut_question *q, uint32_t word)
{
    for (int i = 0; i < q->n; i++)
        if (q->list[i].hash == word && !q->list[i].out)
            return true;
    return false;
}

/* Adapts "a" or "an" before a removed word to the next remaining word. */
static const char *article(const struct cut_question *q, int i)
{
    const char *text = q->text + q->list[i].begin;
    int n = q->list[i].end - q->list[i].begin, next = i + 1;
    bool is_a = n == 1 && tolower((unsigned char)text[0]) == 'a', is_an = n == 2 && strncasecmp(text, "an", 2) == 0;

    while (next < q->n && q->list[next].out)
        next++;
    if ((!is_a && !is_an) || next == q->n || next == i + 1)
        return NULL;
    bool vowel = strchr("aeiouAEIOU", q->text[q->list[next].begin]) != NULL;
    bool large = isupper((unsigned char)text[0]);
    return vowel ? (large ? "An" : "an") : (large ? "A" : "a");
}

/* Writes one word and the text behind it, up to the next word. Text behind removed words is written too. */
static void write_word(const struct cut_question *q, int i, bool first, FILE *f)
{
    const struct question_word *w = &q->list[i];
    const char *fit = article(q, i);
    bool large = first && isupper((unsigned char)q->text[q->list[0].begin]);

    if (fit)
        fputs(fit, f);
    else {
        putc(large ? toupper((unsigned char)q->text[w->begin]) : q->text[w->begin], f);
        fwrite(q->text + w->begin + 1, 1, (size_t)(w->end - w->begin - 1), f);
    }
    while (i + 1 < q->n && q->list[i + 1].out)
        i++;
    int begin = q->list[i].end, end = i + 1 < q->n ? q->list[i + 1].begin : (int)strlen(q->text);
    fwrite(q->text + begin, 1, (size_t)(end - begin), f);
}

char *question_without(const struct cut_question *q)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    bool first = true;

    CHECK(f, "cannot write to memory");
    fwrite(q->text, 1, (size_t)q->list[0].begin, f);
    for (int i = 0; i < q->n; i++)
        if (!q->list[i].out) {
            write_word(q, i, first, f);
            first = false;
        }
    CHECK(fclose(f) == 0, "cannot write to memory");
    return out;
}

/* Units and yes-or-no words end a name, but no question asks for "the billion". */
static const char *const no_heads[] = { "billion", "million", "f",       "c",      "inches",   "inch",  "mph",
                                        "mib",     "yes",     "no",      "usd",    "km",       "kg",    "cm",
                                        "feet",    "miles",   "mile",    "meters", "percent",  "left",  "half",
                                        "number",  "joined",  "details", "low",    "high",     "max",   "min",
                                        "count",   "flag",    "s",       "proof",  "meetings", "per",   "detail",
                                        "pct",     "am",      "pm",      "other",  "vs",       "total", "class" };

/* Nouns without synonyms, which wordnet.h lacks. */
static const char *const more_nouns[] = {
    "aircraft",  "audience", "balance", "birthdate",   "budget",  "college",     "composer", "distance",
    "employee",  "episode",  "genre",   "governor",    "gross",   "hometown",    "income",   "latitude",
    "longitude", "method",   "name",    "nationality", "page",    "population",  "quota",    "rank",
    "ranking",   "semester", "service", "street",      "summary", "temperature", "value",    "word"
};

/* Modifiers that readers leave out without ambiguity: a total is the default, and first and last names belong together.
 */
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

/* Copies the last word of a text in lower case. Returns false if there is none or it does not fit. */
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
    char word[NAME_MAX_CHARS];

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
    char word[NAME_MAX_CHARS];

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

/* Returns true if the own words distinguish the column for a reader who does not know the schema. */
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

/* Splits the words of a column into those of its table and the rest. */
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

/* Returns false if the rest of the name would begin with a function word: "of birth". */
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
