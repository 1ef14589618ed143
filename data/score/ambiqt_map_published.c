/* Part of ambiqt_map.h: the mapping as published. */
#include "data/corpora/ambiqt_text.h"
#include "data/score/ambiqt_map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of a query and what each is written as. */
struct rewrite {
    struct ambiqt_words words;
    const char **as;
    struct strings text; /* owns what is new */
};

static void rewrite_start(struct rewrite *r, const char *sql, void (*split)(struct ambiqt_words *w, const char *sql))
{
    *r = (struct rewrite){ 0 };
    split(&r->words, sql);
    r->as = xcalloc((size_t)r->words.n + 1, sizeof *r->as);
    for (int i = 0; i < r->words.n; i++)
        r->as[i] = r->words.items[i];
}

/* The words with single blanks between them; the caller frees. */
static char *rewrite_finish(struct rewrite *r)
{
    size_t size = 1;

    for (int i = 0; i < r->words.n; i++)
        size += strlen(r->as[i]) + 1;
    char *out = xmalloc(size), *to = out;
    for (int i = 0; i < r->words.n; i++) {
        to = i ? mempcpy(to, " ", 1) : to;
        to = mempcpy(to, r->as[i], strlen(r->as[i]));
    }
    *to = 0;
    ambiqt_words_release(&r->words);
    strings_release(&r->text);
    free(r->as);
    return out;
}

/* f(s), s freed. */
static char *then(char *(*f)(const char *s), char *s)
{
    char *out = f(s);
    free(s);
    return out;
}

static char *replace(char *s, const char *old, const char *by)
{
    char *out = text_replace(s, old, by);
    free(s);
    return out;
}

static char *lower(const char *s)
{
    char *out = xstrdup(s);
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return out;
}

/* What stands behind the last "@", without blanks around it; all of s when there is none.  The caller frees. */
static char *behind_at(const char *s)
{
    const char *at = strrchr(s, '@');
    if (!at)
        return xstrdup(s);
    for (at++; isspace((unsigned char)*at); at++)
        continue;
    size_t n = strlen(at);
    while (n && isspace((unsigned char)at[n - 1]))
        n--;
    return strndup(at, n);
}

/* Names as the maps of C and T have them: the old name and the alternative's. */
struct swap {
    char *old, *alternative;
};

static const char *swapped(const struct swap *s, const char *word)
{
    if (strcmp(word, s->alternative) == 0)
        return s->old;
    return strcmp(word, s->old) == 0 ? s->alternative : NULL;
}

static void swap_column(struct rewrite *w, int i, const struct swap *s)
{
    const char *word = w->words.items[i];
    int prefix = ambiqt_has_alias(word) ? 3 : 0;
    char *name = lower(word + prefix);
    const char *other = swapped(s, name);

    free(name);
    if (other)
        w->as[i] = strings_printf(&w->text, "%.*s%s", prefix, word, other);
}

static void swap_table(struct rewrite *w, int i, const struct swap *s)
{
    const char *word = w->words.items[i], *point = strchr(word, '.');

    if (!point || strchr(point + 1, '.')) {
        const char *other = swapped(s, word);
        w->as[i] = other ? other : word;
        return;
    }
    const char *prefix = strings_printf(&w->text, "%.*s", (int)(point - word), word);
    const char *other = swapped(s, prefix);
    if (other)
        w->as[i] = strings_printf(&w->text, "%s%s", other, prefix); /* the published slip */
}

static char *map_name(const char *sql, const char *old, const char *alternative,
                      void (*swap)(struct rewrite *w, int i, const struct swap *s))
{
    struct swap s = { lower(old), lower(alternative) };
    struct rewrite w;

    char *normal = ambiqt_normalize(sql);
    rewrite_start(&w, normal, ambiqt_words_split);
    free(normal);
    for (int i = 0; i < w.words.n; i++)
        swap(&w, i, &s);
    char *out = then(ambiqt_normalize, rewrite_finish(&w)); /* before the names go */
    free(s.old);
    free(s.alternative);
    return out;
}

static char *squeeze(char *s)
{
    static const char *const changes[][2] = {
        { " )", ")" },       { "( ", "(" },       { " ,", "," },       { "count (", "count(" }, { "avg (", "avg(" },
        { "sum (", "sum(" }, { "min (", "min(" }, { "max (", "max(" }, { ") ,", ")," },
    };
    for (int i = 0; i < ARRAY_LEN(changes); i++)
        s = replace(s, changes[i][0], changes[i][1]);
    return s;
}

static char *map_join(const struct ambiqt_record *r, const char *sql)
{
    struct strings text = { 0 };
    char *table = lower(r->table), *column = lower(r->column), *s = ambiqt_normalize(sql);
    const char *joins[] = { strings_printf(&text, "%s as t1 join %s_%s as t2", table, table, column),
                            strings_printf(&text, "%s_%s as t1 join %s as t2", table, column, column) };
    const char *on[] = { strings_printf(&text, " on t1.%s = t2.%s", r->key, r->key),
                         strings_printf(&text, " on t2.%s = t1.%s", r->key, r->key) };
    struct rewrite w;

    for (int j = 0; j < 2; j++)
        for (int o = 0; o < 2; o++)
            s = replace(s, strings_printf(&text, "%s%s", joins[j], on[o]), table);
    rewrite_start(&w, s, ambiqt_words_split);
    for (int i = 0; i < w.words.n; i++)
        w.as[i] = ambiqt_without_alias(w.words.items[i]);
    free(s);
    free(table);
    free(column);
    strings_release(&text);
    return squeeze(rewrite_finish(&w));
}

/* What words of a prediction about aggregates stand for in the gold query; of two entries the later counts. */
struct meanings {
    const char *(*items)[2];
    int n, cap;
    struct strings text;
};

static void mean(struct meanings *m, const char *word, const char *stands_for)
{
    GROW(m->items, m->n, m->cap);
    m->items[m->n][0] = word;
    m->items[m->n++][1] = stands_for;
}

static const char *meaning(const struct meanings *m, const char *word)
{
    for (int i = m->n - 1; i >= 0; i--)
        if (strcmp(m->items[i][0], word) == 0)
            return m->items[i][1];
    return NULL;
}

/* Python's s[from:to]; to -1 is the end less one byte. */
static const char *slice(struct strings *text, const char *s, long from, long to)
{
    long n = (long)strlen(s);
    to = to < 0 ? n + to : to;
    return from < to ? strings_printf(text, "%.*s", (int)(to - from), s + from) : "";
}

/* Where old begins in s, -1 when it does not. */
static long find(const char *s, const char *old)
{
    const char *at = strstr(s, old);
    return at ? at - s : -1;
}

static void mean_word(struct meanings *m, const char *word)
{
    const char *open = strchr(word, '('), *close = strrchr(word, ')');

    if (open) {
        const char *column = slice(&m->text, word, open - word + 1, close ? close - word : -1);
        if (strlen(column) > 2 && column[0] == 't' && column[2] == '.')
            column += 3;
        mean(m, strings_printf(&m->text, "%.*s_%s", (int)(open - word), word, column), strings_keep(&m->text, word));
    } else if (strlen(word) > 2 && word[0] == 't' && word[2] == '.') {
        mean(m, strings_keep(&m->text, word + 3), strings_keep(&m->text, word));
    }
}

static void mean_all(struct meanings *m, const char *gold, const char *new_table)
{
    static const char *const ends[] = { " where ", " group by ", " having " };
    char *normal = ambiqt_normalize(gold), *s = text_replace(normal, ",", " , ");
    long end = -1;
    struct ambiqt_words w;

    free(normal);
    for (int i = 0; i < ARRAY_LEN(ends) && end < 0; i++)
        end = find(s, ends[i]);
    if (strstr(s, "count(*)"))
        mean(m, "number", "count(*)");
    const char *from = slice(&m->text, s, find(s, " from ") + (long)strlen(" from "), end < 0 ? (long)strlen(s) : end);
    mean(m, strings_keep(&m->text, new_table), from);
    if (strstr(s, " having "))
        mean(m, "where", "having");
    ambiqt_words_split_blanks(&w, s);
    for (int i = 0; i < w.n; i++)
        mean_word(m, w.items[i]);
    ambiqt_words_release(&w);
    free(s);
}

/* The first item of the select list without a parenthesis, "" being one too; NULL when all have one. */
static const char *plain_item(struct strings *text, const char *sql)
{
    const char *list = slice(text, sql, find(sql, "select") + (long)strlen("select"), find(sql, "from"));

    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        const char *item = p + strspn(p, " ");
        size_t n = strcspn(item, ",");
        while (n && item[n - 1] == ' ')
            n--;
        if (!memchr(item, '(', n))
            return strings_printf(text, "%.*s", (int)n, item);
    }
    return NULL;
}

/* Two queries of one database are exceptions of the published program. */
static const char *group_column(struct strings *text, const char *gold, const char *sql)
{
    static const char group[] = "group by countrycode";

    if (strstr(gold, group) && !strstr(slice(text, gold, 0, find(gold, " from")), "countrycode"))
        return "countrycode";
    if (strncmp(gold, "select language,", strlen("select language,")) == 0 && strstr(gold, group))
        return "countrycode";
    return plain_item(text, sql);
}

static char *add_group(char *sql, const char *gold)
{
    struct strings text = { 0 };
    const char *column = group_column(&text, gold, sql);
    long at = find(sql, " having ");

    if (column) {
        at = at < 0 ? (long)strlen(sql) : at;
        const char *grouped = strings_printf(&text, "%.*s group by %s%s", (int)at, sql, column, sql + at);
        free(sql);
        sql = ambiqt_normalize(grouped);
    }
    strings_release(&text);
    return sql;
}

static char *map_aggregate(const struct ambiqt_record *r, const char *sql)
{
    struct meanings m = { 0 };
    struct rewrite w;
    char *gold = ambiqt_normalize(r->original), *s = replace(ambiqt_normalize(sql), ",", " , ");

    mean_all(&m, gold, r->new_table);
    rewrite_start(&w, s, ambiqt_words_split_blanks);
    for (int i = 0; i < w.words.n; i++) {
        const char *other = meaning(&m, w.words.items[i]);
        w.as[i] = other ? other : w.words.items[i];
    }
    char *out = add_group(then(ambiqt_normalize, rewrite_finish(&w)), gold);
    free(s);
    free(gold);
    free(m.items);
    strings_release(&m.text);
    return out;
}

struct ambiqt_readings ambiqt_map_published(const struct ambiqt_record *r, const char *prediction)
{
    struct ambiqt_readings out = { 0 };

    for (int i = 0; i < 2 && r->kind == SIA_COLUMN; i++)
        out.sql[i] = then(behind_at, map_name(prediction, r->column, r->names[i], swap_column));
    for (int i = 0; i < 2 && r->kind == SIA_TABLE; i++)
        out.sql[i] = map_name(prediction, r->table, r->names[i], swap_table);
    if (out.sql[0])
        return out;
    out.sql[0] = behind_at(prediction);
    out.sql[1] = r->kind == SIA_JOIN ? map_join(r, out.sql[0]) : map_aggregate(r, out.sql[0]);
    return out;
}

void ambiqt_readings_release(struct ambiqt_readings *r)
{
    free(r->sql[0]);
    free(r->sql[1]);
    *r = (struct ambiqt_readings){ 0 };
}
