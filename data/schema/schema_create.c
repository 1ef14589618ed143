#include "data/schema/schema_create.h"

#include "data/base/compression.h"
#include "data/base/log.h"
#include "data/base/strings.h"
#include "data/schema/schema_build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Tokens.  A quoted name or text spans its quotes. */

enum token_kind { TOKEN_WORD, TOKEN_NAME, TOKEN_TEXT, TOKEN_NUMBER, TOKEN_SIGN };

struct create_token {
    enum token_kind kind;
    size_t at, n;
    int64_t line;
};

struct create_range {
    size_t at, n;
};

struct scan {
    const char *text, *name; /* name opens messages */
    size_t n, at;
    int64_t line;
    bool backslash;              /* a backslash in '...' escapes, as in MySQL */
    struct create_range comment; /* contents of the last block comment; n = 0: none in this statement */
};

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static char byte_at(const struct scan *s, size_t at)
{
    return at < s->n ? s->text[at] : '\0';
}

static bool starts_line(const struct scan *s)
{
    return s->at == 0 || s->text[s->at - 1] == '\n';
}

/* Moves to `to` and counts lines. */
static void move(struct scan *s, size_t to)
{
    for (; s->at < to; s->at++)
        s->line += s->text[s->at] == '\n';
}

static void skip_line(struct scan *s)
{
    const char *end = memchr(s->text + s->at, '\n', s->n - s->at);

    move(s, end ? (size_t)(end - s->text) + 1 : s->n);
}

/* -1 if the comment does not end. */
static int skip_comment(struct scan *s, struct error *err)
{
    const char *from = s->text + s->at + 2;
    const char *end = s->n - s->at >= 4 ? memmem(from, s->n - s->at - 2, "*/", 2) : NULL;

    if (!end)
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld: the comment is not closed by */", s->name,
                         (long long)s->line);
    s->comment = (struct create_range){ s->at + 2, (size_t)(end - from) };
    move(s, (size_t)(end - s->text) + 2);
    return 0;
}

/* Skips blanks, comments and lines of commands of psql or MySQL.  -1 with err. */
static int skip_blanks(struct scan *s, struct error *err)
{
    while (s->at < s->n) {
        char c = s->text[s->at];
        if (isspace((unsigned char)c))
            move(s, s->at + 1);
        else if ((c == '-' && byte_at(s, s->at + 1) == '-') || ((c == '\\' || c == '#') && starts_line(s)))
            skip_line(s);
        else if (c != '/' || byte_at(s, s->at + 1) != '*')
            return 0;
        else if (skip_comment(s, err))
            return -1;
    }
    return 0;
}

/* The place behind a quoted text or name; 0 if it does not end.  A doubled quote is part of it. */
static size_t quoted_end(const struct scan *s, size_t at, char quote, bool backslash)
{
    for (at++; at < s->n; at++) {
        bool escapes = backslash && s->text[at] == '\\';
        if (escapes || (s->text[at] == quote && byte_at(s, at + 1) == quote))
            at++;
        else if (s->text[at] == quote)
            return at + 1;
    }
    return 0;
}

/* Length of the tag $...$ at a place; 0 if there is none. */
static size_t dollar_tag(const struct scan *s, size_t at)
{
    size_t n = 1;

    while (at + n < s->n && is_word_byte(s->text[at + n]))
        n++;
    return byte_at(s, at + n) == '$' && !isdigit((unsigned char)byte_at(s, at + 1)) ? n + 1 : 0;
}

/* The place behind $tag$...$tag$; 0 if it does not end. */
static size_t dollar_end(const struct scan *s, size_t at, size_t tag)
{
    const char *from = s->text + at + tag;
    const char *end = memmem(from, s->n - at - tag, s->text + at, tag);

    return end ? (size_t)(end - s->text) + tag : 0;
}

/* Tells whether a bracket opens a name, as in [order id], and not a subscript, as in integer[3]. */
static bool opens_name(const struct scan *s)
{
    char before = s->at ? s->text[s->at - 1] : ' ', after = byte_at(s, s->at + 1);

    return !is_word_byte(before) && before != ']' && before != ')' && before != '"' && is_word_byte(after) &&
           !isdigit((unsigned char)after);
}

static size_t word_end(const struct scan *s, size_t at)
{
    while (at < s->n && (is_word_byte(s->text[at]) || s->text[at] == '$'))
        at++;
    return at;
}

/* Finds kind and end of the token at the scan's place; the end is 0 if a quote is not closed. */
static size_t token_end(const struct scan *s, enum token_kind *kind)
{
    char c = s->text[s->at];
    size_t tag = c == '$' ? dollar_tag(s, s->at) : 0;

    *kind = c == '\'' || tag ? TOKEN_TEXT : TOKEN_NAME;
    if (c == '\'')
        return quoted_end(s, s->at, c, s->backslash);
    if (tag)
        return dollar_end(s, s->at, tag);
    if (c == '"' || c == '`')
        return quoted_end(s, s->at, c, false);
    if (c == '[' && opens_name(s))
        return quoted_end(s, s->at, ']', false);
    *kind = isdigit((unsigned char)c) ? TOKEN_NUMBER : is_word_byte(c) ? TOKEN_WORD : TOKEN_SIGN;
    if (tolower((unsigned char)c) == 'e' && byte_at(s, s->at + 1) == '\'') {
        *kind = TOKEN_TEXT;
        return quoted_end(s, s->at + 1, '\'', true);
    }
    return *kind == TOKEN_SIGN ? s->at + 1 : word_end(s, s->at);
}

/* Returns 1 and the next token, 0 at the end, or -1 with err. */
static int next_token(struct scan *s, struct create_token *t, struct error *err)
{
    if (skip_blanks(s, err))
        return -1;
    if (s->at >= s->n)
        return 0;
    *t = (struct create_token){ .at = s->at, .line = s->line };
    size_t end = token_end(s, &t->kind);
    if (!end)
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld: the text or name that begins with %c is not closed",
                         s->name, (long long)s->line, s->text[s->at]);
    t->n = end - s->at;
    move(s, end);
    return 1;
}

/* The schema while it is read.  Names belong to `names`. */

struct column {
    const char *name;
    enum column_type type;
    bool primary, derived; /* derived: the type is that of the columns of this name */
};

struct create_table {
    const char *name;
    enum table_form form;
    struct column *columns;
    int n, cap;
    bool gone;          /* dropped, a partition, or a part of a virtual table */
    bool in_apostrophe; /* its name was written as '...' */
};

struct create_names {
    const char **items;
    int n, cap;
};

struct key {
    int table;
    const char *target;
    struct create_names from, to; /* to.n = 0: the primary key of the target */
    int64_t line;
};

struct reader {
    struct scan scan;
    struct create_token *tokens; /* of the statement */
    int n, cap, at;
    struct strings names, ids; /* ids: names of tables in lower case, numbered like the tables */
    struct create_table *tables;
    int n_tables, tables_cap, n_columns;
    struct key *keys;
    int n_keys, keys_cap;
};

static int64_t line_of(const struct reader *r)
{
    int last = r->n - 1;
    return r->n ? r->tokens[r->at < last ? r->at : last].line : r->scan.line;
}

static int __attribute__((format(printf, 3, 4))) fail(const struct reader *r, struct error *err, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return error_set(err, EXIT_CODE_DATA, "%s: line %lld: %s", r->scan.name, (long long)line_of(r), text);
}

/* The token at a distance from the current one; NULL behind the statement. */
static const struct create_token *ahead(const struct reader *r, int distance)
{
    return r->at + distance < r->n ? &r->tokens[r->at + distance] : NULL;
}

static bool is_word(const struct reader *r, const struct create_token *t, const char *word)
{
    return t && t->kind == TOKEN_WORD && strlen(word) == t->n && strncasecmp(r->scan.text + t->at, word, t->n) == 0;
}

static bool is_one_of(const struct reader *r, const struct create_token *t, const char *const *words)
{
    for (; *words; words++)
        if (is_word(r, t, *words))
            return true;
    return false;
}

static bool is_sign(const struct reader *r, const struct create_token *t, char sign)
{
    return t && t->kind == TOKEN_SIGN && r->scan.text[t->at] == sign;
}

static bool take_word(struct reader *r, const char *word)
{
    bool found = is_word(r, ahead(r, 0), word);
    r->at += found;
    return found;
}

static bool take_words(struct reader *r, const char *first, const char *second)
{
    bool found = is_word(r, ahead(r, 0), first) && is_word(r, ahead(r, 1), second);
    r->at += 2 * found;
    return found;
}

static bool take_sign(struct reader *r, char sign)
{
    bool found = is_sign(r, ahead(r, 0), sign);
    r->at += found;
    return found;
}

static void take_not_exists(struct reader *r)
{
    if (take_words(r, "if", "not"))
        take_word(r, "exists");
}

static bool is_name(const struct create_token *t)
{
    return t && t->kind <= TOKEN_TEXT;
}

/* Copies a token without quotes; a doubled quote becomes one.  NULL with err if it is too long or not UTF-8. */
static const char *name_of(struct reader *r, const struct create_token *t, struct error *err)
{
    const char *from = r->scan.text + t->at;
    bool quoted = t->kind != TOKEN_WORD;
    char text[CREATE_MAX_NAME + 1], quote = quoted ? from[t->n - 1] : 0;
    size_t n = 0;

    for (size_t i = quoted; i < t->n - quoted; i++) {
        if (n == CREATE_MAX_NAME) {
            fail(r, err, "expected a name of at most %d bytes", CREATE_MAX_NAME);
            return NULL;
        }
        text[n++] = from[i];
        i += quoted && from[i] == quote;
    }
    text[n] = '\0';
    json_t *valid = n ? json_string(text) : NULL;
    json_decref(valid);
    if (valid)
        return strings_keep(&r->names, text);
    fail(r, err, "expected a name in UTF-8, got %s", n ? "other bytes" : "an empty one");
    return NULL;
}

static int expected_name(const struct reader *r, const char *what, struct error *err)
{
    const struct create_token *t = ahead(r, 0);

    return t ? fail(r, err, "expected %s, got '%.*s'", what, (int)(t->n < 60 ? t->n : 60), r->scan.text + t->at)
             : fail(r, err, "expected %s, got the end of the statement", what);
}

/* Reads [schema.]name and returns the name, or NULL with err. */
static const char *take_name(struct reader *r, const char *what, struct error *err)
{
    while (is_name(ahead(r, 0)) && is_sign(r, ahead(r, 1), '.'))
        r->at += 2;
    if (!is_name(ahead(r, 0))) {
        expected_name(r, what, err);
        return NULL;
    }
    const char *name = name_of(r, ahead(r, 0), err);
    r->at++;
    return name;
}

static void name_list_add(struct create_names *l, const char *name)
{
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = name;
}

/* Moves behind the parenthesis that closes the one before the cursor. */
static void skip_parens(struct reader *r)
{
    int depth = 1;

    for (; r->at < r->n && depth; r->at++)
        depth += is_sign(r, &r->tokens[r->at], '(') - is_sign(r, &r->tokens[r->at], ')');
}

/* Moves to the comma or parenthesis that ends an item. */
static void skip_item(struct reader *r)
{
    for (; r->at < r->n && !is_sign(r, ahead(r, 0), ',') && !is_sign(r, ahead(r, 0), ')'); r->at++)
        if (is_sign(r, ahead(r, 0), '(')) {
            r->at++;
            skip_parens(r);
            r->at--;
        }
}

/* Reads "(a, b DESC, c(10))": the first name of each item. */
static int take_names(struct reader *r, struct create_names *l, struct error *err)
{
    if (!take_sign(r, '('))
        return expected_name(r, "'(' and names of columns", err);
    do {
        const char *name = take_name(r, "the name of a column", err);
        if (!name)
            return -1;
        name_list_add(l, name);
        skip_item(r);
    } while (take_sign(r, ','));
    return take_sign(r, ')') ? 0 : expected_name(r, "')'", err);
}

static char *lower(const char *name)
{
    char *copy = xstrdup(name);

    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

/* Number of the table of this name, or -1. */
static int find_table(const struct reader *r, const char *name)
{
    char *id = lower(name);
    int table = strings_find(&r->ids, id);

    free(id);
    return table >= 0 && !r->tables[table].gone ? table : -1;
}

static int find_column(const struct create_table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcasecmp(t->columns[i].name, name) == 0)
            return i;
    return -1;
}

/* Adds a table or takes the place of a dropped one.  Returns its number, or -1 with err. */
static int add_table(struct reader *r, const char *name, enum table_form form, struct error *err)
{
    char *id = lower(name);
    int table = strings_find(&r->ids, id);

    if (table >= 0 && !r->tables[table].gone) {
        free(id);
        return fail(r, err, "the table %s is created twice; expected one schema, such as pg_dump --schema=NAME writes",
                    name);
    }
    if (table < 0 && r->n_tables == CREATE_MAX_TABLES) {
        free(id);
        return fail(r, err, "expected at most %d tables", CREATE_MAX_TABLES);
    }
    if (table < 0) {
        table = strings_add(&r->ids, id);
        GROW(r->tables, r->n_tables, r->tables_cap);
        r->n_tables++;
    } else {
        free(r->tables[table].columns);
    }
    free(id);
    r->tables[table] = (struct create_table){ .name = name, .form = form };
    return table;
}

static int add_column(struct reader *r, int table, struct column c, struct error *err)
{
    struct create_table *t = &r->tables[table];

    if (find_column(t, c.name) >= 0)
        return fail(r, err, "the table %s has two columns %s", t->name, c.name);
    if (t->n == CREATE_MAX_TABLE_COLUMNS || r->n_columns == CREATE_MAX_COLUMNS)
        return fail(r, err, "expected at most %d columns of a table and %d of all", CREATE_MAX_TABLE_COLUMNS,
                    CREATE_MAX_COLUMNS);
    GROW(t->columns, t->n, t->cap);
    t->columns[t->n++] = c;
    r->n_columns++;
    return 0;
}

/* Copies the columns of another table, without those that are there. */
static int copy_columns(struct reader *r, int table, const char *from, struct error *err)
{
    int source = find_table(r, from);

    if (source < 0 || source == table)
        return fail(r, err, "expected a table that was created before, got %s", from);
    for (int i = 0; i < r->tables[source].n; i++) {
        struct column c = r->tables[source].columns[i];
        c.primary = false;
        if (find_column(&r->tables[table], c.name) < 0 && add_column(r, table, c, err))
            return -1;
    }
    return 0;
}

/* The type of a declaration in any dialect. */
static enum column_type type_of(const char *declared)
{
    static const struct {
        const char *word;
        enum column_type type;
    } others[] = {
        { "interval", COLUMN_TIME }, { "point", COLUMN_OTHERS },  { "enum", COLUMN_TEXT },
        { "serial", COLUMN_NUMBER }, { "money", COLUMN_NUMBER },  { "string", COLUMN_TEXT },
        { "bit", COLUMN_OTHERS },    { "struct", COLUMN_OTHERS }, { "map", COLUMN_OTHERS },
    };

    for (int i = 0; i < ARRAY_LEN(others); i++)
        if (strcasestr(declared, others[i].word))
            return others[i].type;
    return column_type_of(declared);
}

/* Reads the words of a type up to a constraint; contents of parentheses do not belong to it. */
static enum column_type take_type(struct reader *r)
{
    static const char *const ends[] = {
        "constraint",    "primary", "not",        "null",      "unique", "check",
        "default",       "collate", "references", "generated", "as",     "auto_increment",
        "autoincrement", "comment", "on",         "identity",  NULL
    };
    char declared[256] = "";
    size_t n = 0;

    for (const struct create_token *t;
         (t = ahead(r, 0)) && !is_one_of(r, t, ends) && !is_sign(r, t, ',') && !is_sign(r, t, ')');) {
        r->at++;
        if (is_sign(r, t, '('))
            skip_parens(r);
        else if (is_sign(r, t, '.'))
            n = 0; /* the word before is a schema */
        else if (is_name(t) && n + t->n + 2 < sizeof declared)
            n += (size_t)snprintf(declared + n, sizeof declared - n, "%s%.*s", n ? " " : "", (int)t->n,
                                  r->scan.text + t->at);
    }
    declared[n] = '\0';
    return type_of(declared);
}

/* Reads "REFERENCES table [(columns)]" behind the word. */
static int take_reference(struct reader *r, struct key *k, struct error *err)
{
    k->line = line_of(r);
    k->target = take_name(r, "the table of a foreign key", err);
    if (!k->target || (is_sign(r, ahead(r, 0), '(') && take_names(r, &k->to, err)))
        return -1;
    if (r->n_keys == CREATE_MAX_KEYS)
        return fail(r, err, "expected at most %d foreign keys", CREATE_MAX_KEYS);
    return 0;
}

static void key_release(struct key *k)
{
    free(k->from.items);
    free(k->to.items);
}

/* Takes the key if rc is 0, else releases it.  Returns rc. */
static int add_key(struct reader *r, struct key *k, int rc)
{
    if (rc) {
        key_release(k);
        return rc;
    }
    GROW(r->keys, r->n_keys, r->keys_cap);
    r->keys[r->n_keys++] = *k;
    return 0;
}

static int take_column_key(struct reader *r, int table, const char *column, struct error *err)
{
    struct key k = { .table = table };

    name_list_add(&k.from, column);
    return add_key(r, &k, take_reference(r, &k, err));
}

static int take_column(struct reader *r, int table, struct error *err)
{
    struct column c = { .name = take_name(r, "a column or a constraint", err) };

    if (!c.name)
        return -1;
    c.type = take_type(r);
    if (add_column(r, table, c, err))
        return -1;
    struct column *made = &r->tables[table].columns[r->tables[table].n - 1];
    while (ahead(r, 0) && !is_sign(r, ahead(r, 0), ',') && !is_sign(r, ahead(r, 0), ')')) {
        if (take_words(r, "primary", "key"))
            made->primary = true;
        else if (take_word(r, "references")) {
            if (take_column_key(r, table, c.name, err))
                return -1;
        } else if (take_sign(r, '('))
            skip_parens(r);
        else
            r->at++;
    }
    return 0;
}

static int take_primary_key(struct reader *r, int table, struct error *err)
{
    struct create_names l = { 0 };
    int rc;

    while (ahead(r, 0) && !is_sign(r, ahead(r, 0), '(')) /* CLUSTERED, USING BTREE */
        r->at++;
    rc = take_names(r, &l, err);
    for (int i = 0; i < l.n && rc == 0; i++) {
        int c = find_column(&r->tables[table], l.items[i]);
        if (c < 0)
            rc = fail(r, err, "the primary key of %s names the column %s, which it does not have",
                      r->tables[table].name, l.items[i]);
        else
            r->tables[table].columns[c].primary = true;
    }
    free(l.items);
    return rc;
}

static int take_foreign_key(struct reader *r, int table, struct error *err)
{
    struct key k = { .table = table };
    int rc;

    if (is_name(ahead(r, 0))) /* MySQL's name of the index */
        r->at++;
    rc = take_names(r, &k.from, err);
    if (rc == 0 && !take_word(r, "references"))
        rc = expected_name(r, "REFERENCES", err);
    return add_key(r, &k, rc ? rc : take_reference(r, &k, err));
}

/* Tells whether the item is an index or a constraint that names no key: UNIQUE, CHECK, EXCLUDE, KEY of MySQL. */
static bool is_other_constraint(const struct reader *r)
{
    static const char *const always[] = { "unique", "check", "fulltext", "spatial", NULL };
    static const char *const index[] = { "key", "index", NULL };
    const struct create_token *t = ahead(r, 0), *next = ahead(r, 1), *inner = ahead(r, 3);
    bool named = is_name(next) && is_sign(r, ahead(r, 2), '(') && inner && inner->kind <= TOKEN_NAME;

    return is_one_of(r, t, always) ||
           (is_word(r, t, "exclude") && (is_word(r, next, "using") || is_sign(r, next, '('))) ||
           (is_word(r, t, "period") && is_word(r, next, "for")) ||
           (is_one_of(r, t, index) && (is_sign(r, next, '(') || named));
}

/* Reads a column or a constraint, and moves to its end. */
static int take_element(struct reader *r, int table, struct error *err)
{
    static const char *const kinds[] = { "primary", "foreign", "unique", "check", NULL };
    int rc = 0;

    if (take_word(r, "constraint") && !is_one_of(r, ahead(r, 0), kinds) && ahead(r, 0))
        r->at++;
    if (take_words(r, "primary", "key"))
        rc = take_primary_key(r, table, err);
    else if (take_words(r, "foreign", "key"))
        rc = take_foreign_key(r, table, err);
    else if (take_word(r, "like")) {
        const char *from = take_name(r, "the table of LIKE", err);
        rc = from ? copy_columns(r, table, from, err) : -1;
    } else if (!is_other_constraint(r))
        rc = take_column(r, table, err);
    skip_item(r);
    return rc;
}

static int take_elements(struct reader *r, int table, struct error *err)
{
    do {
        if (take_element(r, table, err))
            return -1;
    } while (take_sign(r, ','));
    return take_sign(r, ')') ? 0 : expected_name(r, "',' or ')'", err);
}

/* Reads INHERITS (a, b), and WITHOUT ROWID. */
static int take_table_options(struct reader *r, int table, struct error *err)
{
    struct create_names parents = { 0 };
    int rc = 0;

    for (; r->at < r->n && rc == 0; r->at++) {
        if (is_word(r, ahead(r, 0), "without") && is_word(r, ahead(r, 1), "rowid"))
            r->tables[table].form = TABLE_WITHOUT_ROWID;
        if (is_word(r, ahead(r, 0), "inherits") && is_sign(r, ahead(r, 1), '(')) {
            r->at++;
            rc = take_names(r, &parents, err);
            r->at--;
        }
    }
    for (int i = 0; i < parents.n && rc == 0; i++)
        rc = copy_columns(r, table, parents.items[i], err);
    free(parents.items);
    return rc;
}

static void left_out(const struct reader *r, const char *what, const char *name, const char *why)
{
    log_warn("%s: line %lld: the %s %s is left out: %s", r->scan.name, (long long)line_of(r), what, name, why);
}

static int take_table(struct reader *r, struct error *err)
{
    take_not_exists(r);
    const struct create_token *first = ahead(r, 0);
    bool in_apostrophe = first && first->kind == TOKEN_TEXT;
    const char *name = take_name(r, "the name of a table", err);

    if (!name)
        return -1;
    if (is_word(r, ahead(r, 0), "partition"))
        return 0;
    bool like = take_word(r, "like");
    if (!like && !take_sign(r, '(')) {
        left_out(r, "table", name, "its columns are not listed");
        return 0;
    }
    int table = add_table(r, name, TABLE_PLAIN, err);
    if (table < 0)
        return -1;
    r->tables[table].in_apostrophe = in_apostrophe;
    if (like) {
        const char *from = take_name(r, "the table of LIKE", err);
        return from ? copy_columns(r, table, from, err) : -1;
    }
    return take_elements(r, table, err) || take_table_options(r, table, err) ? -1 : 0;
}

/* Views. */

/* The name of an item of a select list: its alias or its column; NULL if it has none. */
static const struct create_token *item_name(const struct reader *r, int begin, int end)
{
    static const char *const words[] = { "end", "null", "true", "false", NULL };
    static const char *const operators[] = {
        "not", "and", "or", "is", "like", "ilike", "in", "glob", "div", "mod", NULL
    };
    const struct create_token *last = end > begin ? &r->tokens[end - 1] : NULL;
    const struct create_token *before = end > begin + 1 ? &r->tokens[end - 2] : NULL;

    if (!last || last->kind > TOKEN_NAME || is_one_of(r, last, words))
        return NULL;
    bool plain = !before || is_sign(r, before, '.');
    bool alias = before && !is_one_of(r, before, operators) && (before->kind != TOKEN_SIGN || is_sign(r, before, ')'));
    return plain || alias ? last : NULL;
}

/* The place of the first SELECT outside parentheses, behind DISTINCT; -1: none. */
static int find_select(const struct reader *r)
{
    int depth = 0;

    for (int i = r->at; i < r->n; i++) {
        depth += is_sign(r, &r->tokens[i], '(') - is_sign(r, &r->tokens[i], ')');
        if (depth == 0 && is_word(r, &r->tokens[i], "select"))
            return i + 1 + (i + 1 < r->n && is_word(r, &r->tokens[i + 1], "distinct"));
    }
    return -1;
}

/* Adds the names of a select list.  Returns whether every item has one. */
static bool select_names(struct reader *r, struct create_names *l)
{
    static const char *const ends[] = {
        "from", "union", "except", "intersect", "where", "order", "limit", "with", NULL
    };
    int begin = find_select(r), depth = 0;
    struct error ignored;

    for (int i = begin; begin >= 0 && i <= r->n; i++) {
        const struct create_token *t = i < r->n ? &r->tokens[i] : NULL;
        bool end = !t || (depth == 0 && is_one_of(r, t, ends));
        if (t)
            depth += is_sign(r, t, '(') - is_sign(r, t, ')');
        if (!end && (depth || !is_sign(r, t, ',')))
            continue;
        const struct create_token *last = item_name(r, begin, i);
        const char *name = last ? name_of(r, last, &ignored) : NULL;
        if (!name)
            return false;
        name_list_add(l, name);
        if (end)
            return true;
        begin = i + 1;
    }
    return false;
}

/* Adds the names that sqlite3 .schema writes behind a view or virtual table: a comment "name(a,b)". */
static bool comment_names(struct reader *r, const char *name, struct create_names *l)
{
    struct reader inner = { .scan = { .text = r->scan.text, .name = r->scan.name, .line = r->scan.line } };
    struct error ignored = { 0 };
    struct create_token t;
    bool good = r->scan.comment.n > 0;

    inner.scan.at = r->scan.comment.at;
    inner.scan.n = r->scan.comment.at + r->scan.comment.n;
    while (good && next_token(&inner.scan, &t, &ignored) > 0) {
        GROW(inner.tokens, inner.n, inner.cap);
        inner.tokens[inner.n++] = t;
    }
    const char *of = good ? take_name(&inner, "a name", &ignored) : NULL;
    good = of && strcasecmp(of, name) == 0 && take_names(&inner, l, &ignored) == 0 && inner.at == inner.n;
    for (int i = 0; i < l->n; i++)
        l->items[i] = strings_keep(&r->names, l->items[i]);
    strings_release(&inner.names);
    free(inner.tokens);
    return good;
}

static int add_view(struct reader *r, const char *name, enum table_form form, const struct create_names *l,
                    struct error *err)
{
    int table = add_table(r, name, form, err), rc = table < 0 ? -1 : 0;

    for (int i = 0; i < l->n && rc == 0; i++)
        rc = add_column(r, table, (struct column){ .name = l->items[i], .derived = true }, err);
    return rc;
}

/* Reads a view or a virtual table. */
static int take_view(struct reader *r, bool is_virtual, struct error *err)
{
    struct create_names l = { 0 };
    int rc = 0;

    take_not_exists(r);
    const char *name = take_name(r, "the name of a view", err);
    if (!name)
        return -1;
    bool fts = is_virtual && is_word(r, ahead(r, 0), "using") && is_word(r, ahead(r, 1), "fts5");
    bool named = is_sign(r, ahead(r, 0), '(') ? take_names(r, &l, err) == 0 : comment_names(r, name, &l);
    if (!named && !is_virtual) {
        l.n = 0;
        named = select_names(r, &l);
    }
    if (named)
        rc = add_view(r, name, fts ? TABLE_FTS5 : is_virtual ? TABLE_VIRTUAL : TABLE_VIEW, &l, err);
    else
        left_out(r, is_virtual ? "virtual table" : "view", name, "its columns have no names in the text");
    free(l.items);
    return rc;
}

static int take_create(struct reader *r, struct error *err)
{
    static const char *const kinds[] = { "or",       "replace", "temp",     "temporary",    "global",    "local",
                                         "unlogged", "foreign", "external", "materialized", "recursive", NULL };

    while (is_one_of(r, ahead(r, 0), kinds))
        r->at++;
    if (take_words(r, "virtual", "table"))
        return take_view(r, true, err);
    if (take_word(r, "view"))
        return take_view(r, false, err);
    return take_word(r, "table") ? take_table(r, err) : 0;
}

/* Reads an action of ALTER TABLE.  Actions that change names or columns are errors, since the schema would be wrong. */
static int take_action(struct reader *r, int table, struct error *err)
{
    static const char *const changes[] = { "rename", "drop", "change", NULL };

    if (take_words(r, "attach", "partition")) {
        const char *name = take_name(r, "the name of a partition", err);
        int part = name ? find_table(r, name) : -1;
        if (part >= 0)
            r->tables[part].gone = true;
        return name ? 0 : -1;
    }
    if (is_one_of(r, ahead(r, 0), changes) && !is_word(r, ahead(r, 1), "constraint"))
        return fail(r, err,
                    "expected the final schema, as pg_dump or sqlite3 .schema writes it, got ALTER TABLE %s ...",
                    r->tables[table].name);
    if (!take_word(r, "add"))
        return 0;
    if (take_word(r, "column"))
        take_not_exists(r);
    return take_element(r, table, err);
}

static int take_alter(struct reader *r, struct error *err)
{
    if (!take_word(r, "table") && !take_words(r, "foreign", "table"))
        return 0;
    take_words(r, "if", "exists");
    take_word(r, "only");
    const char *name = take_name(r, "the name of a table", err);
    int table = name ? find_table(r, name) : -1;
    if (table < 0)
        return name ? 0 : -1; /* of a view, a sequence or a table that is left out */
    do {
        if (take_action(r, table, err))
            return -1;
        skip_item(r);
    } while (take_sign(r, ','));
    return 0;
}

static int take_drop(struct reader *r, struct error *err)
{
    if (!take_word(r, "table") && !take_word(r, "view") && !take_words(r, "materialized", "view"))
        return 0;
    take_words(r, "if", "exists");
    do {
        const char *name = take_name(r, "the name of a table", err);
        int table = name ? find_table(r, name) : -1;
        if (!name)
            return -1;
        if (table >= 0)
            r->tables[table].gone = true;
    } while (take_sign(r, ','));
    return 0;
}

/* Skips the rows behind COPY ... FROM stdin, up to the line "\.". */
static void skip_rows(struct scan *s)
{
    skip_line(s);
    while (s->at < s->n && !(byte_at(s, s->at) == '\\' && byte_at(s, s->at + 1) == '.'))
        skip_line(s);
    skip_line(s);
}

/* Reads the tokens of a statement, or only its end if it is none of those that are understood.  Returns 1, 0 at the end
 * of the text, or -1 with err. */
static int take_statement(struct reader *r, struct error *err)
{
    static const char *const kinds[] = { "create", "alter", "drop", NULL };
    bool copies = false, rows = false, kept = false;
    struct create_token t;
    int rc;

    r->n = r->at = 0;
    r->scan.comment.n = 0;
    for (int i = 0; (rc = next_token(&r->scan, &t, err)) > 0 && !is_sign(r, &t, ';'); i++) {
        if (i == 0) {
            r->scan.comment.n = 0;
            kept = is_one_of(r, &t, kinds);
            copies = is_word(r, &t, "copy");
        }
        rows |= copies && is_word(r, &t, "stdin");
        if (!kept)
            continue;
        if (r->n == CREATE_MAX_TOKENS)
            return fail(r, err, "expected a statement of at most %d words and signs", CREATE_MAX_TOKENS);
        GROW(r->tokens, r->n, r->cap);
        r->tokens[r->n++] = t;
    }
    if (rows && rc > 0)
        skip_rows(&r->scan);
    return rc < 0 ? -1 : rc > 0 || r->n;
}

static int take_all(struct reader *r, struct error *err)
{
    int rc;

    while ((rc = take_statement(r, err)) > 0) {
        bool create = take_word(r, "create"), alter = !create && take_word(r, "alter");
        bool drop = !create && !alter && take_word(r, "drop");
        if ((create && take_create(r, err)) || (alter && take_alter(r, err)) || (drop && take_drop(r, err)))
            return -1;
    }
    return rc;
}

/* The finished schema. */

/* SQLite's own tables, and those in which a virtual table keeps its contents. */
static void drop_internal(struct reader *r)
{
    for (int i = 0; i < r->n_tables; i++) {
        struct create_table *t = &r->tables[i];
        const char *mark = strrchr(t->name, '_');
        char *owner = mark ? strndup(t->name, (size_t)(mark - t->name)) : NULL;
        int table = owner ? find_table(r, owner) : -1;
        bool part = t->in_apostrophe && table >= 0 && r->tables[table].form >= TABLE_VIRTUAL;
        t->gone |= part || strncasecmp(t->name, "sqlite_", 7) == 0;
        free(owner);
    }
}

/* Types of the columns of tables by name in lower case; COLUMN_TEXT if they differ. */
struct name_types {
    struct strings names;
    enum column_type *types;
    int cap;
};

static void collect_types(struct name_types *n, const struct reader *r)
{
    for (int i = 0; i < r->n_tables; i++)
        for (int k = 0; k < r->tables[i].n; k++) {
            const struct column *c = &r->tables[i].columns[k];
            char *name = lower(c->name);
            int known = n->names.n, at = c->derived ? -1 : strings_add(&n->names, name);
            free(name);
            if (at < 0)
                continue;
            GROW(n->types, at, n->cap);
            n->types[at] = at == known || n->types[at] == c->type ? c->type : COLUMN_TEXT;
        }
}

static enum column_type derived_type(const struct name_types *n, const struct column *c)
{
    char *name = lower(c->name);
    int at = strings_find(&n->names, name);

    free(name);
    return at < 0 ? COLUMN_TEXT : n->types[at];
}

/* Numbers that the schema's builder gives to the columns of each table. */
static int *build_tables(struct schema_build *b, const struct reader *r)
{
    struct name_types types = { 0 };
    int *first = xcalloc((size_t)r->n_tables + 1, sizeof *first);

    collect_types(&types, r);
    for (int i = 0; i < r->n_tables; i++) {
        const struct create_table *t = &r->tables[i];
        first[i] = b->n_columns;
        int table = t->gone ? -1 : schema_build_table(b, t->name, NULL);
        if (table >= 0)
            schema_build_form(b, table, t->form);
        for (int k = 0; k < t->n && table >= 0; k++) {
            const struct column *c = &t->columns[k];
            enum column_type type = c->derived ? derived_type(&types, c) : c->type;
            int column = schema_build_column(b, table, c->name, NULL, type);
            if (c->primary)
                schema_build_primary(b, column);
        }
    }
    strings_release(&types.names);
    free(types.types);
    return first;
}

/* Adds the columns of the primary key in their order in the table. */
static void primary_names(const struct create_table *t, struct create_names *l)
{
    for (int i = 0; i < t->n; i++)
        if (t->columns[i].primary)
            name_list_add(l, t->columns[i].name);
}

/* Adds a foreign key, or warns that it is left out. */
static void build_key(struct schema_build *b, const struct reader *r, const int *first, struct key *k)
{
    const struct create_table *from = &r->tables[k->table];
    int target = find_table(r, k->target), bad = target < 0;

    if (from->gone)
        return;
    if (!bad && !k->to.n)
        primary_names(&r->tables[target], &k->to);
    bad = bad || k->to.n != k->from.n;
    for (int i = 0; i < k->from.n && !bad; i++)
        bad = find_column(from, k->from.items[i]) < 0 || find_column(&r->tables[target], k->to.items[i]) < 0;
    if (bad)
        log_warn("%s: line %lld: the foreign key of %s to %s is left out: the text has no such columns", r->scan.name,
                 (long long)k->line, from->name, k->target);
    for (int i = 0; i < k->from.n && !bad; i++)
        schema_build_foreign_key(b, first[k->table] + find_column(from, k->from.items[i]),
                                 first[target] + find_column(&r->tables[target], k->to.items[i]));
}

static int finish(struct reader *r, struct schema_set *set, const char *db_id, struct error *err)
{
    struct schema_build b;
    struct schema built;
    int kept = 0;

    drop_internal(r);
    for (int i = 0; i < r->n_tables; i++)
        kept += !r->tables[i].gone;
    if (!kept)
        return error_set(err, EXIT_CODE_DATA, "%s: expected a tables.json or CREATE TABLE statements, got neither",
                         r->scan.name);
    schema_build_init(&b, db_id);
    int *first = build_tables(&b, r);
    for (int i = 0; i < r->n_keys; i++)
        build_key(&b, r, first, &r->keys[i]);
    free(first);
    schema_build_finish(&b, &built);
    schema_build_release(&b);
    return schema_set_add(set, &built, err);
}

static void reader_release(struct reader *r)
{
    for (int i = 0; i < r->n_tables; i++)
        free(r->tables[i].columns);
    for (int i = 0; i < r->n_keys; i++)
        key_release(&r->keys[i]);
    free(r->tables);
    free(r->keys);
    free(r->tokens);
    strings_release(&r->names);
    strings_release(&r->ids);
}

/* MySQL's dumps escape by backslashes, which the standard does not. */
static bool is_mysql(const char *text, size_t n)
{
    size_t head = n < 4096 ? n : 4096;

    return memmem(text, head, "MySQL dump", 10) || memmem(text, head, "MariaDB dump", 12);
}

int schema_create_read(struct schema_set *set, const char *text, size_t n, const char *db_id, const char *name,
                       struct error *err)
{
    struct reader r = { .scan = { .text = text, .n = n, .name = name, .line = 1 } };

    if (memchr(text, 0, n))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected a tables.json or SQL in UTF-8, got zero bytes; --db reads SQLite files", name);
    r.scan.backslash = is_mysql(text, n);
    int rc = take_all(&r, err) ? -1 : finish(&r, set, db_id, err);
    reader_release(&r);
    return rc;
}

int schema_create_read_stream(struct schema_set *set, struct text_stream *in, const char *db_id, struct error *err)
{
    size_t n = 0, cap = 1 << 16;
    char *text = xmalloc(cap);
    ptrdiff_t got;

    while ((got = text_stream_read(in, text + n, cap - n, err)) > 0) {
        n += (size_t)got;
        if (n > CREATE_MAX_BYTES) {
            got = error_set(err, EXIT_CODE_DATA, "%s: expected at most %d MiB of SQL; write the schema without rows",
                            text_stream_name(in), CREATE_MAX_BYTES >> 20);
            break;
        }
        if (n == cap)
            text = xrealloc(text, cap *= 2);
    }
    int rc = got < 0 ? -1 : schema_create_read(set, text, n, db_id, text_stream_name(in), err);
    free(text);
    return rc;
}

char *schema_create_db_id(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return xstrdup("schema");
    char *id = xstrdup(slash ? slash + 1 : path);
    id[strlen(id) - strlen(coding_ending(coding_of_name(id)))] = '\0';
    char *dot = strrchr(id, '.');
    if (dot && dot > id)
        *dot = '\0';
    return id;
}
