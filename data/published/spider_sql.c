#include "data/published/spider_sql.h"

#include "data/base/strings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words of a query. */

/* The published program replaces quoted strings by keys and splits with NLTK's rules for words. A key is a word like
 * any other: letters that touch it make it an unknown word. */
struct literals {
    struct strings keys;
    char **values; /* of each key */
    int cap;
};

/* A growing text, with room for the longest replacement of one byte. */
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

/* Writes a blank, the byte and a blank. */
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

/* Copies s with double quotes, and keys for strings. -1 if a quote is left open. */
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

/* The final point: at the end, or before closing brackets at the end, and not after a point. */
static const char *final_point(const char *s)
{
    size_t n = strlen(s);

    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    while (n && strchr("])}> ", s[n - 1]))
        n--;
    return n > 1 && s[n - 1] == '.' && s[n - 2] != '.' ? s + n - 1 : NULL;
}

/* The length of the string of the list at s, or 0. */
static size_t starts_with(const char *s, const char *const *list)
{
    size_t n = 0;

    for (int i = 0; list[i] && !n; i++)
        n = strncmp(s, list[i], strlen(list[i])) == 0 ? strlen(list[i]) : 0;
    return n;
}

/* Quotation marks and dashes beyond ASCII, and Unicode's white space. */
static const char *const marks[] = { "\u00ab", "\u00bb", "\u2018", "\u2019", "\u201c", "\u201d",
                                     "\u201e", "\u2012", "\u2013", "\u2014", "\u2015", NULL };
static const char *const spaces[] = { "\xc2\x85", "\xc2\xa0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                      "\u2004",   "\u2005",   "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                      "\u2028",   "\u2029",   "\u202f", "\u205f", "\u3000", NULL };

/* Writes the run of the byte apart, and returns its length. */
static size_t put_run(struct buffer *b, const char *p)
{
    size_t n = strspn(p, (const char[]){ *p, 0 });

    put(b, " ", 1);
    put(b, p, n);
    put(b, " ", 1);
    return n;
}

/* Writes the piece at p, apart from its neighbours if NLTK splits there. Returns the length of the piece. */
static size_t put_piece(struct buffer *b, const char *p, const char *point)
{
    size_t mark = starts_with(p, marks), space = starts_with(p, spaces);

    if (strchr(":,", *p) && !isdigit((unsigned char)p[1])) { /* takes the next byte along */
        put_apart(b, *p);
        if (!p[1] || !strchr(":,", p[1]))
            return 1;
        put(b, p + 1, 1);
        return 2;
    }
    if (*p == '`' || (p[0] == '.' && p[1] == '.'))
        return put_run(b, p);
    if (mark || (p[0] == '-' && p[1] == '-')) {
        put(b, " ", 1);
        put(b, p, mark ? mark : 2);
        put(b, " ", 1);
        return mark ? mark : 2;
    }
    if (space)
        put(b, " ", 1);
    else if (strchr(";@#$%&?!*[](){}<>", *p))
        put_apart(b, *p);
    else
        put(b, p == point ? " ." : p, p == point ? 2 : 1);
    return space ? space : 1;
}

static void separate(struct buffer *b, const char *s)
{
    const char *point = final_point(s);

    while (*s)
        s += put_piece(b, s, point);
}

static void cut(struct spider_words *w, struct buffer *b, const struct literals *l)
{
    static const char blanks[] = " \t\n\r\v\f\x1c\x1d\x1e\x1f";
    char *state = NULL;

    for (char *p = b->s; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (char *p = strtok_r(b->s, blanks, &state); p; p = strtok_r(NULL, blanks, &state)) {
        int value = strings_find(&l->keys, p);
        GROW(w->items, w->n, w->cap);
        w->items[w->n++] = xstrdup(value >= 0 ? l->values[value] : p);
    }
}

/* Joins "!" "=" to one word. */
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

enum { MAX_DEPTH = 200 }; /* of nested queries; the published limit depends on Python */

static const char *const clauses[] = { "select", "from",      "where", "group",  "order",
                                       "limit",  "intersect", "union", "except", NULL };
static const char *const joins[] = { "join", "on", "as", NULL };
static const char *const operators[] = { "not", "between", "=",    ">",  "<",      ">=", "<=",
                                         "!=",  "in",      "like", "is", "exists", NULL };
static const char *const arithmetic[] = { "none", "-", "+", "*", "/", NULL };
static const char *const aggregates[] = { "none", "max", "min", "count", "sum", "avg", NULL };
static const char *const sets[] = { "intersect", "union", "except", NULL };

struct spider_alias {
    const char *name, *stands_for;
};

struct parser {
    struct spider_tree *tree;
    const struct schema *schema;
    char *const *words;
    int at, n, depth;
    struct spider_alias *aliases;
    int n_aliases, cap_aliases;
};

/* The tables for bare column names of a query. */
struct tables_in_scope {
    int *items, n, cap;
};

static int place(const char *const *list, const char *word)
{
    for (int i = 0; word && list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return i;
    return -1;
}

/* NULL after the end. */
static const char *word(const struct parser *p)
{
    return p->at < p->n ? p->words[p->at] : NULL;
}

static bool is(const struct parser *p, const char *s)
{
    return p->at < p->n && strcmp(p->words[p->at], s) == 0;
}

static bool take(struct parser *p, const char *s)
{
    bool found = is(p, s);
    p->at += found;
    return found;
}

static bool at_clause(const struct parser *p)
{
    return place(clauses, word(p)) >= 0;
}

static bool at_end_of_clause(const struct parser *p)
{
    return at_clause(p) || is(p, ")") || is(p, ";");
}

/* Collects each "X as Y" of the text; the last of several counts. False if an alias is the name of a table. */
static bool scan_aliases(struct parser *p)
{
    for (int i = 0; i < p->n; i++) {
        if (strcmp(p->words[i], "as") != 0)
            continue;
        if (i + 1 == p->n || schema_table_find(p->schema, p->words[i + 1]) >= 0)
            return false;
        GROW(p->aliases, p->n_aliases, p->cap_aliases);
        p->aliases[p->n_aliases++] = (struct spider_alias){ p->words[i + 1], i ? p->words[i - 1] : "" };
    }
    return true;
}

/* The table of a name or an alias, or -1. */
static int find_table(const struct parser *p, const char *name)
{
    for (int i = p->n_aliases - 1; i >= 0; i--)
        if (strcmp(p->aliases[i].name, name) == 0)
            return schema_table_find(p->schema, p->aliases[i].stands_for);
    return schema_table_find(p->schema, name);
}

static int find_qualified(const struct parser *p, const char *name, const char *point)
{
    if (strchr(point + 1, '.'))
        return -1;
    char *prefix = strndup(name, (size_t)(point - name));
    int table = find_table(p, prefix);
    free(prefix);
    return table < 0 ? -1 : schema_column_find(p->schema, table, point + 1);
}

static bool parse_column_name(struct parser *p, int *column, const struct tables_in_scope *from)
{
    const char *name = word(p), *point = name ? strchr(name, '.') : NULL;

    *column = SPIDER_ALL;
    if (!name)
        return false;
    p->at++;
    if (strcmp(name, "*") == 0)
        return true;
    *column = -1;
    if (point)
        *column = find_qualified(p, name, point);
    for (int i = 0; !point && i < from->n && *column < 0; i++)
        *column = schema_column_find(p->schema, from->items[i], name);
    return *column >= 0;
}

static bool parse_column(struct parser *p, struct spider_column *c, const struct tables_in_scope *from)
{
    bool block = take(p, "(");

    *c = (struct spider_column){ 0 };
    int aggregate = place(aggregates, word(p));
    if (aggregate >= 0) {
        p->at++;
        c->aggregate = aggregate;
        if (!take(p, "("))
            return false;
        c->distinct = take(p, "distinct");
        return parse_column_name(p, &c->column, from) && take(p, ")"); /* a block stays open */
    }
    c->distinct = take(p, "distinct");
    return parse_column_name(p, &c->column, from) && (!block || take(p, ")"));
}

static bool parse_unit(struct parser *p, struct spider_unit *u, const struct tables_in_scope *from)
{
    bool block = take(p, "(");

    *u = (struct spider_unit){ 0 };
    if (!parse_column(p, &u->columns[0], from))
        return false;
    int op = place(arithmetic, word(p));
    if (op >= 0) {
        p->at++;
        u->op = op;
        u->binary = true;
        if (!parse_column(p, &u->columns[1], from))
            return false;
    }
    return !block || take(p, ")");
}

static struct spider_sql *parse_query(struct parser *p);

/* Copies a number without the underscores between its digits, as Python reads it; the caller frees. NULL if s is not
 * such a word. */
static char *number_text(const char *s, const char *letters)
{
    char *text = xcalloc(strlen(s) + 1, 1), *to = text;
    bool good = *s;

    for (const char *p = s; *p && good; p++) {
        good =
            *p == '_' ? p > s && isdigit((unsigned char)p[-1]) && isdigit((unsigned char)p[1]) : !!strchr(letters, *p);
        if (*p != '_')
            *to++ = *p;
    }
    if (good)
        return text;
    free(text);
    return NULL;
}

/* Accepts the syntax of Python's float(). */
static bool parse_number(const char *s, double *out)
{
    char *text = s ? number_text(s, "0123456789.+-einfaty") : NULL, *end = text;

    if (text)
        *out = strtod(text, &end);
    bool good = text && end > text && !*end;
    free(text);
    return good;
}

/* Reads a column as a value. It extends over words up to a comma, a parenthesis, "and", a clause or a join, which are
 * ignored. An opening parenthesis before it belongs to it, the closing one does not. */
static bool parse_value_column(struct parser *p, int start, struct spider_value *v, const struct tables_in_scope *from)
{
    int n = p->n, end = p->at;

    while (end < n && strcmp(p->words[end], ",") != 0 && strcmp(p->words[end], ")") != 0 &&
           strcmp(p->words[end], "and") != 0 && place(clauses, p->words[end]) < 0 && place(joins, p->words[end]) < 0)
        end++;
    p->at = start;
    p->n = end;
    v->kind = SPIDER_COLUMN;
    bool ok = parse_column(p, &v->column, from);
    p->at = end;
    p->n = n;
    return ok;
}

static bool parse_value(struct parser *p, struct spider_value *v, const struct tables_in_scope *from)
{
    int start = p->at;
    bool block = take(p, "(");

    *v = (struct spider_value){ 0 };
    if (is(p, "select")) {
        v->kind = SPIDER_QUERY;
        v->query = parse_query(p);
        if (!v->query)
            return false;
    } else if (word(p) && strchr(word(p), '"')) {
        v->kind = SPIDER_STRING;
        v->text = word(p);
        p->at++;
    } else if (parse_number(word(p), &v->number)) {
        v->kind = SPIDER_NUMBER;
        p->at++;
    } else if (!parse_value_column(p, start, v, from)) {
        return false;
    }
    return !block || take(p, ")");
}

static bool parse_condition(struct parser *p, struct spider_term *c, const struct tables_in_scope *from)
{
    *c = (struct spider_term){ 0 };
    if (!parse_unit(p, &c->unit, from))
        return false;
    c->negated = take(p, "not");
    c->op = place(operators, word(p));
    if (c->op < 0)
        return false;
    p->at++;
    if (!parse_value(p, &c->values[0], from))
        return false;
    return c->op != SPIDER_BETWEEN || (take(p, "and") && parse_value(p, &c->values[1], from));
}

static void add_term(struct spider_conditions *list, struct spider_term term)
{
    GROW(list->items, list->n, list->cap);
    list->items[list->n++] = term;
}

static bool parse_conditions(struct parser *p, struct spider_conditions *list, const struct tables_in_scope *from)
{
    while (p->at < p->n) {
        struct spider_term c;
        if (!parse_condition(p, &c, from))
            return false;
        add_term(list, c);
        if (at_end_of_clause(p) || place(joins, word(p)) >= 0)
            break;
        if (take(p, "and"))
            add_term(list, (struct spider_term){ .kind = SPIDER_AND });
        else if (take(p, "or"))
            add_term(list, (struct spider_term){ .kind = SPIDER_OR });
    }
    return true;
}

static bool parse_select(struct parser *p, struct spider_sql *s, const struct tables_in_scope *from)
{
    if (!take(p, "select"))
        return false;
    s->distinct = take(p, "distinct");
    while (p->at < p->n && !at_clause(p)) {
        struct spider_item item = { .aggregate = place(aggregates, word(p)) };
        if (item.aggregate >= 0)
            p->at++;
        else
            item.aggregate = SPIDER_NO_AGGREGATE;
        if (!parse_unit(p, &item.unit, from))
            return false;
        GROW(s->select, s->n_select, s->cap_select);
        s->select[s->n_select++] = item;
        take(p, ",");
    }
    return true;
}

static bool parse_source(struct parser *p, struct spider_source *source, struct tables_in_scope *from)
{
    *source = (struct spider_source){ .table = -1 };
    if (is(p, "select")) {
        source->query = parse_query(p);
        return source->query;
    }
    take(p, "join");
    source->table = word(p) ? find_table(p, word(p)) : -1;
    if (source->table < 0)
        return false;
    p->at++;
    if (is(p, "as"))
        p->at += 2;
    GROW(from->items, from->n, from->cap);
    from->items[from->n++] = source->table;
    return true;
}

static bool parse_on(struct parser *p, struct spider_conditions *on, const struct tables_in_scope *from)
{
    if (on->n)
        add_term(on, (struct spider_term){ .kind = SPIDER_AND });
    return parse_conditions(p, on, from);
}

static bool parse_from(struct parser *p, struct spider_sql *s, struct tables_in_scope *from)
{
    while (p->at < p->n && !is(p, "from"))
        p->at++;
    if (!take(p, "from"))
        return false;
    while (p->at < p->n) {
        struct spider_source source;
        bool block = take(p, "(");
        if (!parse_source(p, &source, from))
            return false;
        GROW(s->from, s->n_from, s->cap_from);
        s->from[s->n_from++] = source;
        if ((take(p, "on") && !parse_on(p, &s->on, from)) || (block && !take(p, ")")))
            return false;
        if (at_end_of_clause(p))
            break;
    }
    return true;
}

static bool parse_group(struct parser *p, struct spider_sql *s, const struct tables_in_scope *from)
{
    if (!take(p, "group"))
        return true;
    if (!take(p, "by"))
        return false;
    while (p->at < p->n && !at_end_of_clause(p)) {
        struct spider_column c;
        if (!parse_column(p, &c, from))
            return false;
        GROW(s->group, s->n_group, s->cap_group);
        s->group[s->n_group++] = c;
        if (!take(p, ","))
            break;
    }
    return true;
}

/* One direction for all items: the last one. */
static bool parse_order(struct parser *p, struct spider_sql *s, const struct tables_in_scope *from)
{
    if (!take(p, "order"))
        return true;
    s->ordered = true;
    if (!take(p, "by"))
        return false;
    while (p->at < p->n && !at_end_of_clause(p)) {
        struct spider_unit u;
        if (!parse_unit(p, &u, from))
            return false;
        GROW(s->order, s->n_order, s->cap_order);
        s->order[s->n_order++] = u;
        if (take(p, "desc"))
            s->descending = true;
        else if (take(p, "asc"))
            s->descending = false;
        if (!take(p, ","))
            break;
    }
    return true;
}

/* Accepts the syntax of Python's int(). */
static bool parse_limit(struct parser *p, struct spider_sql *s)
{
    if (!take(p, "limit"))
        return true;
    char *number = word(p) ? number_text(word(p), "0123456789+-") : NULL, *end = number;
    if (number)
        s->limit = strtoll(number, &end, 10);
    s->limited = number && end > number && !*end;
    free(number);
    p->at++;
    return s->limited;
}

static bool parse_set(struct parser *p, struct spider_sql *s)
{
    int which = place(sets, word(p));

    if (which < 0)
        return true;
    p->at++;
    return (s->sets[which] = parse_query(p));
}

/* Parses the tables first, which resolve column names, then the select list, then the clauses after the tables. */
static bool parse_clauses(struct parser *p, struct spider_sql *s, struct tables_in_scope *from)
{
    bool block = take(p, "(");
    int start = p->at;

    if (!parse_from(p, s, from))
        return false;
    int end = p->at;
    p->at = start;
    if (!parse_select(p, s, from))
        return false;
    p->at = end;
    if (take(p, "where") && !parse_conditions(p, &s->where, from))
        return false;
    if (!parse_group(p, s, from) || (take(p, "having") && !parse_conditions(p, &s->having, from)))
        return false;
    if (!parse_order(p, s, from) || !parse_limit(p, s))
        return false;
    while (take(p, ";"))
        continue;
    if (block && !take(p, ")"))
        return false;
    while (take(p, ";"))
        continue;
    return parse_set(p, s);
}

static struct spider_sql *parse_query(struct parser *p)
{
    struct spider_tree *t = p->tree;
    struct tables_in_scope from = { 0 };

    if (p->depth == MAX_DEPTH)
        return NULL;
    GROW(t->nodes, t->n, t->cap);
    struct spider_sql *s = t->nodes[t->n++] = xcalloc(1, sizeof *s);
    p->depth++;
    bool ok = parse_clauses(p, s, &from);
    p->depth--;
    free(from.items);
    return ok ? s : NULL;
}

void spider_tree_parse(struct spider_tree *t, const struct schema *schema, const char *sql)
{
    *t = (struct spider_tree){ 0 };
    if (spider_words_split(&t->words, sql))
        return;
    struct parser p = { .tree = t, .schema = schema, .words = t->words.items, .n = t->words.n };
    if (scan_aliases(&p))
        t->top = parse_query(&p);
    free(p.aliases);
}

void spider_tree_release(struct spider_tree *t)
{
    for (int i = 0; i < t->n; i++) {
        struct spider_sql *s = t->nodes[i];
        free(s->select);
        free(s->from);
        free(s->on.items);
        free(s->where.items);
        free(s->having.items);
        free(s->group);
        free(s->order);
        free(s);
    }
    free(t->nodes);
    spider_words_release(&t->words);
    *t = (struct spider_tree){ 0 };
}
