/* Part of schema_ask.h: what templates say of a schema's elements. */
#include "data/natural/schema_ask_impl.h"

#include "data/natural/element_style.h"
#include "data/natural/wording.h"
#include "data/rewrite/sql_edit.h"
#include "data/schema/element_name.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *asking_printf(struct asking *a, const char *fmt, ...)
{
    char *text = NULL;
    va_list list;

    va_start(list, fmt);
    CHECK(vasprintf(&text, fmt, list) >= 0, "cannot format a question");
    va_end(list);
    const char *kept = strings_keep(a->out->text, text);
    free(text);
    return kept;
}

int asking_count(const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

const char *asking_one(struct asking *a, int table)
{
    return element_singular(a->out->text, a->s->tables[table].text);
}

const char *asking_many(struct asking *a, int table)
{
    return element_plural(a->out->text, asking_one(a, table));
}

const char *asking_own(const struct schema *s, int column)
{
    return element_own_words(s->columns[column].text, s->tables[s->columns[column].table].text);
}

static const char *name_of(struct asking *a, const char *name)
{
    return sql_written_name(a->out->text, name);
}

const char *asking_column(struct asking *a, int column)
{
    return name_of(a, a->s->columns[column].name);
}

const char *asking_table(struct asking *a, int table)
{
    return name_of(a, a->s->tables[table].name);
}

const char *asking_element(struct asking *a, int column)
{
    return asking_printf(a, "%s.%s", a->s->tables[a->s->columns[column].table].name, a->s->columns[column].name);
}

/* Tables whose names a template can say. */
bool asking_can_say(const struct schema *s, int table)
{
    static const char *const ends[] = { " of", " in", " to", " by", " on", " info", " history", " data" };
    const char *text = s->tables[table].text, *last = strrchr(text, ' ');

    for (int i = 0; last && i < ARRAY_LEN(ends); i++)
        if (strcmp(last, ends[i]) == 0)
            return false;
    return asking_count(text) <= ASKING_WORDS && strncmp(text, "ref", 3) != 0 && strncmp(text, "sqlite", 6) != 0 &&
           !strchr(text, '.');
}

/* The column of the table with those own words; -1: none; -2: none, but others with the same last word. */
int asking_holder(const struct schema *s, int table, const char *own)
{
    const struct schema_table *t = &s->tables[table];
    const char *last = strrchr(own, ' ') ? strrchr(own, ' ') + 1 : own;
    int found = -1;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *words = asking_own(s, c), *word = strrchr(words, ' ') ? strrchr(words, ' ') + 1 : words;
        if (strcmp(words, own) == 0)
            return c;
        if (strcmp(word, last) == 0 || strncmp(words, last, strlen(last)) == 0)
            found = -2;
    }
    return found;
}

/* The column by which rows are told apart in a result. */
int asking_label(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const char *own = asking_own(s, c);
        if (strcmp(own, "name") == 0 || strcmp(own, "title") == 0)
            return c;
    }
    return t->n_columns ? t->first_column : -1;
}

/* Opens a group: from here on the same random numbers come for every schema. */
const char *asking_open(struct asking *a, const char *kind, const char *x, const char *y)
{
    const char *group = asking_printf(a, "%s/%s/%s", kind, x, y);

    a->rng = (struct rng){ .seed = word_hash(kind) * UINT64_C(0x9E3779B97F4A7C15) ^
                                   ((uint64_t)word_hash(x) << 32 | word_hash(y)) };
    return group;
}

/* The pattern with its first letter in upper case, in a style that the group draws. */
static const char *styled(struct asking *a, const char *text)
{
    char *copy = strdup(text);

    CHECK(copy, "no memory for a question");
    copy[0] = (char)toupper((unsigned char)copy[0]);
    const char *kept = wording_restyle(a->out->text, copy, &a->rng);
    free(copy);
    return kept;
}

/* The text of the pattern, in which %c stands for the column's words, %t for the table and %s for the tables. */
/* "a area" becomes "an area"; takes the text and returns one that the caller frees. */
static char *with_articles(char *text)
{
    char *out = xmalloc(2 * strlen(text) + 1);
    size_t n = 0;

    for (const char *p = text; *p; p++) {
        out[n++] = *p;
        if (*p == 'a' && p > text && p[-1] == ' ' && p[1] == ' ' && p[2] && strchr("aeioAEIO", p[2]))
            out[n++] = 'n';
    }
    out[n] = 0;
    free(text);
    return out;
}

const char *asking_fill(struct asking *a, const char *pattern, const char *column, const char *one, const char *many)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    for (; *pattern; pattern++)
        if (*pattern == '%' && pattern[1]) {
            pattern++;
            fputs(*pattern == 'c' ? column : *pattern == 't' ? one : many, f);
        } else {
            putc(*pattern, f);
        }
    CHECK(fclose(f) == 0, "cannot write to memory");
    text = with_articles(text);
    const char *kept = styled(a, text);
    free(text);
    return kept;
}

const char *asking_draw(struct asking *a, const char *const *list, int n)
{
    return list[rng_below(&a->rng, (uint32_t)n)];
}
