#include "data/db/dump.h"

#include "data/base/strings.h"
#include "data/sql/sql_lex.h"
#include "data/sql/sql_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct sql_token;

struct dump_column {
    const char *name;
    struct sql_span type, collation; /* empty if not given */
    bool primary, unique;
    bool lost;             /* defined by no CREATE */
    bool integers, others; /* types of its values */
};

enum dump_key_kind { KEY_PRIMARY, KEY_UNIQUE, KEY_FOREIGN };

/* A constraint of the table: its columns are names[first .. first + n). */
struct dump_key {
    enum dump_key_kind kind;
    int first, n;
};

struct dump_table {
    const char *name;
    struct dump_column *columns;
    struct dump_key *keys;
    int n, cap, n_keys, keys_cap;
    bool rows; /* an INSERT names all its columns */
};

struct dump {
    const char *text;
    struct sql_token *tokens;
    int at; /* next token */
    struct dump_table *tables;
    int n, cap;
    const char **names; /* of keys */
    int n_names, names_cap;
    struct strings pool;
    char *inserts;
    size_t inserts_size;
    FILE *out; /* writes to inserts, then the script */
    struct error *err;
};

/* --- Writing the script --- */

/* Returns NULL if the table has no such column. Names are compared like in SQLite. */
static struct dump_column *find_column(const struct dump_table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcasecmp(t->columns[i].name, name) == 0)
            return &t->columns[i];
    return NULL;
}

/* Adds a column unless the table has one of that name. */
static void add_column(struct dump_table *t, struct dump_column c)
{
    if (find_column(t, c.name))
        return;
    GROW(t->columns, t->n, t->cap);
    t->columns[t->n++] = c;
}

static void put_name(struct dump *d, const char *name)
{
    putc('"', d->out);
    for (; *name; name++) {
        if (*name == '"')
            putc('"', d->out);
        putc(*name, d->out);
    }
    putc('"', d->out);
}

/* Writes a blank and a span of the dump's text, or nothing if the span is empty. */
static void put_span(struct dump *d, struct sql_span s)
{
    if (s.end > s.begin)
        fprintf(d->out, " %.*s", s.end - s.begin, d->text + s.begin);
}

static void add_lost_columns(struct dump *d, struct dump_table *t)
{
    for (int k = 0; k < t->n_keys && !t->rows; k++)
        for (int i = 0; i < t->keys[k].n; i++)
            add_column(t, (struct dump_column){ .name = d->names[t->keys[k].first + i] });
}

static void put_column(struct dump *d, const struct dump_column *c, bool *primary)
{
    put_name(d, c->name);
    put_span(d, c->type);
    if (c->lost && c->integers && !c->others)
        fputs(" INTEGER", d->out);
    put_span(d, c->collation);
    if (c->primary && !*primary)
        fputs(" PRIMARY KEY", d->out);
    if (c->unique)
        fputs(" UNIQUE", d->out);
    *primary |= c->primary;
}

/* A key is kept only if all its columns exist. */
static bool is_whole(const struct dump *d, const struct dump_table *t, struct dump_key key)
{
    for (int i = 0; i < key.n; i++)
        if (!find_column(t, d->names[key.first + i]))
            return false;
    return key.n > 0 && key.kind != KEY_FOREIGN;
}

static void put_key(struct dump *d, struct dump_key key)
{
    fputs(key.kind == KEY_PRIMARY ? ", PRIMARY KEY (" : ", UNIQUE (", d->out);
    for (int i = 0; i < key.n; i++) {
        fputs(i ? ", " : "", d->out);
        put_name(d, d->names[key.first + i]);
    }
    putc(')', d->out);
}

static void put_table(struct dump *d, struct dump_table *t)
{
    bool primary = false;
    add_lost_columns(d, t);
    if (t->n == 0)
        return;
    fputs("CREATE TABLE ", d->out);
    put_name(d, t->name);
    fputs(" (", d->out);
    for (int i = 0; i < t->n; i++) {
        fputs(i ? ", " : "", d->out);
        put_column(d, &t->columns[i], &primary);
    }
    for (int k = 0; k < t->n_keys; k++)
        if (is_whole(d, t, t->keys[k]) && !(primary && t->keys[k].kind == KEY_PRIMARY)) {
            put_key(d, t->keys[k]);
            primary |= t->keys[k].kind == KEY_PRIMARY;
        }
    fputs(");\n", d->out);
}

/* Writes CREATE TABLE for all tables. */
static void put_tables(struct dump *d)
{
    for (int i = 0; i < d->n; i++)
        put_table(d, &d->tables[i]);
}

/* --- Reading the dump --- */

/* A part between commas: the tokens first .. end. */
struct token_range {
    int first, end;
};

static int kind(const struct dump *d, int i)
{
    return d->tokens[i].kind;
}

static int complain(struct dump *d, int token, const char *what)
{
    int line = 1;
    for (int i = 0; i < d->tokens[token].begin; i++)
        line += d->text[i] == '\n';
    return error_set(d->err, EXIT_CODE_DATA, "dump, line %d: %s", line, what);
}

static struct sql_span span_of(const struct dump *d, struct token_range p)
{
    return p.first < p.end ? (struct sql_span){ d->tokens[p.first].begin, d->tokens[p.end - 1].end }
                           : (struct sql_span){ 0 };
}

/* Returns the text of a part as a name, without quotes if it is one quoted token. */
static const char *name_of(struct dump *d, struct token_range p)
{
    struct sql_span s = span_of(d, p);
    int n = s.end - s.begin;
    char *name = xmalloc((size_t)n + 1), open = n ? d->text[s.begin] : 0, *end = name;
    bool quoted = p.end == p.first + 1 && n >= 2 && strchr("\"'`[", open);

    for (int i = quoted; i < n - quoted; i++) {
        *end++ = d->text[s.begin + i];
        i += quoted && open != '[' && d->text[s.begin + i] == open; /* doubled quotes become single */
    }
    *end = '\0';
    const char *kept = strings_keep(&d->pool, name);
    free(name);
    return kept;
}

static struct dump_table *find_table(struct dump *d, const char *name)
{
    for (int i = 0; i < d->n; i++)
        if (strcasecmp(d->tables[i].name, name) == 0)
            return &d->tables[i];
    GROW(d->tables, d->n, d->cap);
    d->tables[d->n] = (struct dump_table){ .name = name };
    return &d->tables[d->n++];
}

/* Takes the next part, which ends at a comma or right parenthesis of its level, or at the end of the statement. */
static struct token_range next_part(struct dump *d, int end)
{
    struct token_range p = { d->at, d->at };
    int depth = 0;

    for (; p.end < end; p.end++) {
        int k = kind(d, p.end);
        if (depth == 0 && (k == TOKEN_COMMA || k == TOKEN_RIGHT_PAREN))
            break;
        depth += (k == TOKEN_LEFT_PAREN) - (k == TOKEN_RIGHT_PAREN);
    }
    d->at = p.end;
    return p;
}

/* Skips a comma. Returns false at other tokens, and skips a right parenthesis. */
static bool more_parts(struct dump *d, int end)
{
    if (d->at >= end)
        return false;
    return kind(d, d->at++) == TOKEN_COMMA;
}

static bool is_word(int k)
{
    return k == TOKEN_NAME || k >= TOKEN_KEYWORD;
}

static bool ends_type(int k)
{
    switch (k) {
    case WORD_CONSTRAINT:
    case WORD_PRIMARY:
    case WORD_NOT:
    case WORD_NULL:
    case WORD_UNIQUE:
    case WORD_CHECK:
    case WORD_DEFAULT:
    case WORD_COLLATE:
    case WORD_REFERENCES:
    case WORD_GENERATED:
    case WORD_AS:
    case WORD_ON:
    case WORD_AUTOINCREMENT:
        return true;
    default:
        return false;
    }
}

/* Returns the end of a type: words, and numbers in closed parentheses, as in "DECIMAL (10, 2)". */
static int type_end(const struct dump *d, struct token_range p)
{
    int i = p.first;
    while (i < p.end && is_word(kind(d, i)) && !ends_type(kind(d, i)))
        i++;
    if (i == p.first || i == p.end || kind(d, i) != TOKEN_LEFT_PAREN)
        return i;
    for (int k = i + 1; k < p.end && kind(d, k) != TOKEN_LEFT_PAREN; k++)
        if (kind(d, k) == TOKEN_RIGHT_PAREN)
            return k + 1;
    return i;
}

static void read_definition(struct dump *d, struct dump_table *t, struct token_range p)
{
    struct dump_column c = { .name = name_of(d, (struct token_range){ p.first, p.first + 1 }) };
    struct token_range type = { p.first + 1, p.end };

    type.end = type_end(d, type);
    c.type = span_of(d, type);
    for (int i = type.end; i < p.end; i++) {
        c.primary |= kind(d, i) == WORD_PRIMARY;
        c.unique |= kind(d, i) == WORD_UNIQUE;
        if (kind(d, i) == WORD_COLLATE && i + 1 < p.end && kind(d, i + 1) == TOKEN_NAME)
            c.collation = span_of(d, (struct token_range){ i, i + 2 });
    }
    add_column(t, c);
}

/* Reads the parenthesised columns after PRIMARY KEY, UNIQUE or FOREIGN KEY. */
static void read_key(struct dump *d, struct dump_table *t, enum dump_key_kind which, struct token_range p)
{
    struct dump_key key = { which, d->n_names, 0 };
    int after = d->at;

    for (d->at = p.first; d->at < p.end && kind(d, d->at) != TOKEN_LEFT_PAREN;)
        d->at++;
    d->at++;
    do {
        struct token_range name = next_part(d, p.end);
        if (name.first == name.end)
            break;
        GROW(d->names, d->n_names, d->names_cap);
        d->names[d->n_names++] = name_of(d, (struct token_range){ name.first, name.first + 1 });
        key.n++;
    } while (more_parts(d, p.end));
    d->at = after;
    GROW(t->keys, t->n_keys, t->keys_cap);
    t->keys[t->n_keys++] = key;
}

static void read_item(struct dump *d, struct dump_table *t, struct token_range p)
{
    if (p.first < p.end && kind(d, p.first) == WORD_CONSTRAINT)
        p.first += 2;
    if (p.first >= p.end)
        return;
    switch (kind(d, p.first)) {
    case WORD_PRIMARY:
        read_key(d, t, KEY_PRIMARY, p);
        break;
    case WORD_UNIQUE:
        read_key(d, t, KEY_UNIQUE, p);
        break;
    case WORD_FOREIGN:
        read_key(d, t, KEY_FOREIGN, p);
        break;
    case WORD_CHECK:
        break;
    default:
        read_definition(d, t, p);
    }
}

/* Reads [schema .] name. */
static const char *read_table_name(struct dump *d, int end)
{
    if (d->at + 2 < end && kind(d, d->at + 1) == TOKEN_DOT)
        d->at += 2;
    if (d->at >= end)
        return NULL;
    d->at++;
    return name_of(d, (struct token_range){ d->at - 1, d->at });
}

/* Reads the rest of CREATE TABLE. */
static int read_create(struct dump *d, int end)
{
    int start = d->at;
    if (kind(d, d->at) == WORD_IF)
        d->at += 3; /* IF NOT EXISTS */
    const char *name = read_table_name(d, end);
    if (!name || d->at >= end || kind(d, d->at++) != TOKEN_LEFT_PAREN)
        return complain(d, start, "CREATE TABLE, expected a name and its columns in parentheses");
    struct dump_table *t = find_table(d, name);
    do
        read_item(d, t, next_part(d, end));
    while (more_parts(d, end));
    return 0;
}

/* Records whether a value is an integer; NULL is ignored. */
static void see_value(const struct dump *d, struct dump_column *c, struct token_range p)
{
    if (p.first < p.end && kind(d, p.first) == TOKEN_MINUS)
        p.first++;
    struct sql_span s = span_of(d, p);
    if (p.end != p.first + 1 || kind(d, p.first) == WORD_NULL)
        return;
    bool whole = strspn(d->text + s.begin, "0123456789") == (size_t)(s.end - s.begin);
    c->integers |= whole;
    c->others |= !whole;
}

/* Reads ( value, value ), ( ... after VALUES. columns[i] belongs to the i-th value. */
static void see_values(struct dump *d, struct dump_table *t, int end)
{
    while (d->at < end) {
        if (kind(d, d->at++) != TOKEN_LEFT_PAREN)
            continue;
        int i = 0;
        do {
            struct token_range p = next_part(d, end);
            if (i < t->n)
                see_value(d, &t->columns[i++], p);
        } while (more_parts(d, end));
    }
}

/* Reorders the table's columns like the list, and adds new ones. */
static void take_columns(struct dump *d, struct dump_table *t, int end)
{
    struct dump_table old = *t;
    t->columns = NULL;
    t->n = t->cap = 0;
    fputs(" (", d->out);
    do {
        const char *name = name_of(d, next_part(d, end)), *before = t->n ? ", " : "";
        const struct dump_column *known = find_column(&old, name);
        fputs(before, d->out);
        put_name(d, name);
        add_column(t, known ? *known : (struct dump_column){ .name = name, .lost = true });
    } while (more_parts(d, end));
    putc(')', d->out);
    for (int i = 0; i < old.n; i++)
        add_column(t, old.columns[i]);
    free(old.columns);
}

/* Reads the rest of INSERT. */
static int read_insert(struct dump *d, int end)
{
    int start = d->at;
    while (d->at < end && kind(d, d->at++) != WORD_INTO)
        ;
    const char *name = read_table_name(d, end);
    if (!name || d->at >= end)
        return complain(d, start, "INSERT, expected INTO, a name and VALUES");
    struct dump_table *t = find_table(d, name);
    fputs("INSERT INTO ", d->out);
    put_name(d, name);
    if (kind(d, d->at) == TOKEN_LEFT_PAREN) {
        d->at++;
        take_columns(d, t, end);
        t->rows = true;
    }
    if (d->at >= end || kind(d, d->at) != WORD_VALUES)
        return complain(d, start, "INSERT, expected VALUES");
    put_span(d, span_of(d, (struct token_range){ d->at, end }));
    fputs(";\n", d->out);
    see_values(d, t, end);
    return 0;
}

static bool starts_line(const struct dump *d, int i)
{
    int begin = d->tokens[i].begin;
    return begin == 0 || d->text[begin - 1] == '\n';
}

/* CREATE TEMP ... */
static bool is_temporary(const struct dump *d, int i)
{
    return kind(d, i) == WORD_CREATE && (kind(d, i + 1) == WORD_TEMP || kind(d, i + 1) == WORD_TEMPORARY);
}

/* A statement ends at its semicolon. If the semicolon was lost, it ends before a line that starts with CREATE or
 * INSERT. */
static int statement_end(const struct dump *d, int i)
{
    int first = i, second = i + 1 + is_temporary(d, i);
    bool trigger = kind(d, i) == WORD_CREATE && kind(d, second) == WORD_TRIGGER;
    for (; kind(d, i) != TOKEN_END; i++) {
        if (kind(d, i) == TOKEN_SEMICOLON && (!trigger || kind(d, i - 1) == WORD_END))
            break;
        if (!trigger && i > first && (kind(d, i) == WORD_CREATE || kind(d, i) == WORD_INSERT) && starts_line(d, i))
            break;
    }
    return i;
}

static int read_statement(struct dump *d, int end)
{
    int k = kind(d, d->at), second = d->at + 1 + is_temporary(d, d->at);
    if (k == WORD_CREATE && second < end && kind(d, second) == WORD_TABLE) {
        d->at = second + 1;
        return read_create(d, end);
    }
    return k == WORD_INSERT ? read_insert(d, end) : 0;
}

static int read_statements(struct dump *d)
{
    while (kind(d, d->at) != TOKEN_END) {
        int end = statement_end(d, d->at);
        if (read_statement(d, end))
            return -1;
        d->at = end + (kind(d, end) == TOKEN_SEMICOLON);
    }
    return 0;
}

static void release(struct dump *d)
{
    for (int i = 0; i < d->n; i++) {
        free(d->tables[i].columns);
        free(d->tables[i].keys);
    }
    free(d->tables);
    free(d->names);
    free(d->tokens);
    free(d->inserts);
    strings_release(&d->pool);
}

static FILE *memory_stream(char **text, size_t *size)
{
    FILE *f = open_memstream(text, size);
    CHECK(f, "no memory stream");
    return f;
}

/* At the very end of a text, SQLite reads a slash and a star as operators. With text after them, they open a comment.
 */
static bool opens_comment(const struct dump *d, int n)
{
    return n > 2 && kind(d, n - 3) == TOKEN_SLASH && kind(d, n - 2) == TOKEN_STAR &&
           d->tokens[n - 3].end == d->tokens[n - 2].begin && !d->text[d->tokens[n - 2].end];
}

char *dump_repair(const char *dump, struct error *err)
{
    struct dump d = { .text = dump, .err = err };
    char *script = NULL;
    size_t size = 0;
    int n, rc = -1;

    d.tokens = sql_lex(dump, &n);
    d.out = memory_stream(&d.inserts, &d.inserts_size);
    if (kind(&d, n - 1) == TOKEN_ILLEGAL || opens_comment(&d, n))
        complain(&d, n - 1, "holds what no SQL has, or a quote or comment that is never closed");
    else
        rc = read_statements(&d);
    fclose(d.out);
    if (rc == 0) {
        d.out = memory_stream(&script, &size);
        put_tables(&d);
        fputs(d.inserts, d.out);
        fclose(d.out);
    }
    release(&d);
    return script;
}
