#include "data/synth/element_style.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 256 };

/* Words and their usual abbreviations. */
static const char *const short_words[][2] = {
    { "account", "acct" },     { "address", "addr" },     { "amount", "amt" },
    { "average", "avg" },      { "billing", "bill" },     { "building", "bldg" },
    { "category", "cat" },     { "customer", "cust" },    { "customers", "custs" },
    { "date", "dt" },          { "department", "dept" },  { "departments", "depts" },
    { "description", "desc" }, { "destination", "dest" }, { "employee", "emp" },
    { "employees", "emps" },   { "estimated", "est" },    { "location", "loc" },
    { "manager", "mgr" },      { "maximum", "max" },      { "minimum", "min" },
    { "number", "no" },        { "organization", "org" }, { "percentage", "pct" },
    { "product", "prod" },     { "quantity", "qty" },     { "reference", "ref" },
    { "scheduled", "sched" },  { "shipping", "ship" },    { "telephone", "tel" },
    { "total", "tot" },        { "transaction", "txn" },  { "transactions", "txns" },
    { "weight", "wt" },        { "original", "orig" },    { "previous", "prev" },
    { "current", "curr" },     { "code", "cd" },          { "administration", "admin" },
};

static bool starts_word(const char *name, size_t i)
{
    if (i == 0 || !isupper((unsigned char)name[i]))
        return false;
    unsigned char before = (unsigned char)name[i - 1], after = (unsigned char)name[i + 1];
    return islower(before) || isdigit(before) || (isupper(before) && islower(after));
}

const char *element_words(struct strings *text, const char *name)
{
    char words[LONGEST] = "";
    size_t n = 0;

    for (size_t i = 0; name[i] && n + 2 < sizeof words; i++) {
        bool gap = name[i] == '_' || name[i] == '-' || isspace((unsigned char)name[i]);
        if ((gap || starts_word(name, i)) && n && words[n - 1] != ' ')
            words[n++] = ' ';
        if (!gap)
            words[n++] = (char)tolower((unsigned char)name[i]);
    }
    n -= n && words[n - 1] == ' ';
    words[n] = 0;
    return strings_keep(text, words);
}

static const char *shortened(const char *word)
{
    for (int i = 0; i < ARRAY_LEN(short_words); i++)
        if (strcmp(short_words[i][0], word) == 0)
            return short_words[i][1];
    return word;
}

static void put_word(FILE *f, const char *word, bool first, enum element_style style)
{
    bool camel = style == STYLE_CAMEL || (style == STYLE_LOWER_CAMEL && !first);

    if (!first && style != STYLE_CAMEL && style != STYLE_LOWER_CAMEL)
        putc('_', f);
    if (style == STYLE_SHORT)
        word = shortened(word);
    for (int i = 0; word[i]; i++)
        putc(style == STYLE_UPPER || (camel && i == 0) ? toupper((unsigned char)word[i]) : word[i], f);
}

const char *element_spell(struct strings *text, const char *words, enum element_style style)
{
    char copy[LONGEST], name[LONGEST], *rest = NULL;
    bool first = true;

    snprintf(copy, sizeof copy, "%s", words);
    FILE *f = fmemopen(name, sizeof name, "w");
    CHECK(f, "cannot write to memory");
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest), first = false)
        put_word(f, word, first, style);
    CHECK(fclose(f) == 0, "a name of %zu characters", strlen(words));
    return strings_keep(text, name);
}

/* Compares the next words, ignoring a plural s. Returns the length of the first one, or 0 if they differ. */
static size_t same_word(const char *a, const char *b)
{
    size_t n = strcspn(a, " "), m = strcspn(b, " "), shorter = n < m ? n : m;

    if (strncmp(a, b, shorter) != 0)
        return 0;
    return n == m || (n == m + 1 && a[m] == 's') || (m == n + 1 && b[n] == 's') ? n : 0;
}

const char *element_own_words(const char *words, const char *table_words)
{
    const char *w = words, *t = table_words;
    size_t n;

    while (*w && *t && (n = same_word(w, t))) {
        w += n + (w[n] == ' ');
        t += strcspn(t, " ");
        t += *t == ' ';
    }
    return *w ? w : words;
}

const char *element_singular(struct strings *text, const char *words)
{
    size_t n = strlen(words);

    if (n >= 6 && strcmp(words + n - 6, "people") == 0)
        return strings_printf(text, "%.*sperson", (int)n - 6, words);
    if (n < 4 || words[n - 1] != 's' || strchr("su", words[n - 2]) || strcmp(words + n - 3, "ies") == 0)
        return n > 4 && strcmp(words + n - 3, "ies") == 0 ? strings_printf(text, "%.*sy", (int)n - 3, words)
                                                          : strings_keep(text, words);
    bool es = n > 5 && (strcmp(words + n - 4, "sses") == 0 || strcmp(words + n - 4, "ches") == 0 ||
                        strcmp(words + n - 4, "shes") == 0 || strcmp(words + n - 4, "uses") == 0);
    return strings_printf(text, "%.*s", (int)n - (es ? 2 : 1), words);
}

const char *element_plural(struct strings *text, const char *words)
{
    static const char *const irregular[][2] = { { "person", "people" },       { "child", "children" },
                                                { "staff", "staff members" }, { "man", "men" },
                                                { "woman", "women" },         { "people", "people" },
                                                { "series", "series" },       { "aircraft", "aircraft" },
                                                { "status", "statuses" } };
    const char *space = strrchr(words, ' '), *last = space ? space + 1 : words;
    size_t n = strlen(words);

    for (int i = 0; i < ARRAY_LEN(irregular); i++)
        if (strcmp(last, irregular[i][0]) == 0)
            return strings_printf(text, "%.*s%s", (int)(last - words), words, irregular[i][1]);
    if (n > 2 && words[n - 1] == 's' && !strchr("su", words[n - 2])) /* already a plural, such as "details" */
        return strings_keep(text, words);
    if (n > 1 && words[n - 1] == 'y' && !strchr("aeiou", words[n - 2]))
        return strings_printf(text, "%.*sies", (int)n - 1, words);
    bool hiss = n > 1 && (strchr("sxz", words[n - 1]) || (words[n - 1] == 'h' && strchr("cs", words[n - 2])));
    return strings_printf(text, "%s%s", words, hiss ? "es" : "s");
}
