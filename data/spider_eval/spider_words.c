/* Part of spider_sql.h: the words of a query. */
#include "data/spider_eval/spider_sql.h"
#include "data/util/strings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The peer splits with NLTK's Treebank rules after it has put keys in the place of quoted strings.  A key is a word
 * like any other: letters that touch it make it an unknown word.
 */
struct literals {
    struct strings keys;
    char **values; /* of each key */
    int cap;
};

/* Text that grows; room is made for the longest replacement of one byte. */
struct buffer {
    char *s;
    size_t n, cap;
};

static void put(struct buffer *b, const char *s, size_t n)
{
    if (b->n + n + 1 > b->cap) {
        b->cap = 2 * (b->n + n + 64);
        b->s = xrealloc(b->s, b->cap);
    }
    memcpy(b->s + b->n, s, n);
    b->s[b->n += n] = 0;
}

/* A blank, the byte, a blank. */
static void put_apart(struct buffer *b, char c)
{
    put(b, (const char[]){ ' ', c, ' ' }, 3);
}

static void add_literal(struct literals *l, struct buffer *b, const char *start, const char *begin, const char *end)
{
    char key[64];

    snprintf(key, sizeof key, "__val_%td_%td__", begin - start, end - start);
    GROW(l->values, l->keys.n, l->cap);
    l->values[l->keys.n] = strndup(begin, (size_t)(end - begin) + 1);
    strings_add(&l->keys, key);
    put(b, key, strlen(key));
}

/* b is s with single quotes made double and keys for strings.  -1 when a quote is left open. */
static int take_literals(struct literals *l, struct buffer *b, char *s)
{
    for (char *p = s; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    put(b, "", 0);
    for (const char *p = s; *p; p++) {
        const char *end = *p == '"' ? strchr(p + 1, '"') : p;
        if (!end)
            return -1;
        if (end > p)
            add_literal(l, b, s, p, end);
        else
            put(b, p, 1);
        p = end;
    }
    return 0;
}

/* A point at the end, or before closing brackets at the end, and after something other than a point. */
static const char *final_point(const char *s)
{
    size_t n = strlen(s);

    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    while (n && strchr("])}>\"", s[n - 1]))
        n--;
    return n > 1 && s[n - 1] == '.' && s[n - 2] != '.' ? s + n - 1 : NULL;
}

static void separate(struct buffer *b, const char *s)
{
    const char *point = final_point(s);

    for (const char *p = s; *p; p++) {
        if (strchr(":,", *p) && !isdigit((unsigned char)p[1])) { /* takes the byte behind it along */
            put_apart(b, *p);
            if (p[1] && strchr(":,", p[1]))
                put(b, ++p, 1);
        } else if (strchr(";@#$%&?![](){}<>", *p)) {
            put_apart(b, *p);
        } else if (p[0] == '-' && p[1] == '-') {
            put(b, " -- ", 4);
            p++;
        } else if (p == point) {
            put(b, " .", 2);
        } else {
            put(b, p, 1);
        }
    }
}

static void cut(struct spider_words *w, struct buffer *b, const struct literals *l)
{
    char *state = NULL;

    for (char *p = b->s; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (char *p = strtok_r(b->s, " \t\n\r\v\f", &state); p; p = strtok_r(NULL, " \t\n\r\v\f", &state)) {
        int value = strings_find(&l->keys, p);
        GROW(w->items, w->n, w->cap);
        w->items[w->n++] = xstrdup(value >= 0 ? l->values[value] : p);
    }
}

/* "!" "=" are one word. */
static void join_operators(struct spider_words *w)
{
    int n = 0;

    for (int i = 0; i < w->n; i++) {
        char *last = n ? w->items[n - 1] : NULL;
        if (last && strcmp(w->items[i], "=") == 0 && last[0] && !last[1] && strchr("!<>", last[0])) {
            free(w->items[i]);
            w->items[n - 1] = strndup((const char[]){ last[0], '=', 0 }, 2);
            free(last);
        } else {
            w->items[n++] = w->items[i];
        }
    }
    w->n = n;
}

int spider_words_split(struct spider_words *w, const char *sql)
{
    struct literals l = { 0 };
    struct buffer keyed = { 0 }, apart = { 0 };
    char *copy = xstrdup(sql);

    *w = (struct spider_words){ 0 };
    int rc = take_literals(&l, &keyed, copy);
    if (rc == 0) {
        put(&apart, "", 0);
        separate(&apart, keyed.s);
        cut(w, &apart, &l);
        join_operators(w);
    }
    for (int i = 0; i < l.keys.n; i++)
        free(l.values[i]);
    free(l.values);
    strings_release(&l.keys);
    free(keyed.s);
    free(apart.s);
    free(copy);
    return rc;
}

void spider_words_release(struct spider_words *w)
{
    for (int i = 0; i < w->n; i++)
        free(w->items[i]);
    free(w->items);
    *w = (struct spider_words){ 0 };
}
