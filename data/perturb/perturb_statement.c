/* Part of perturb.h: what a statement looks at, read off its words: tables, constants and columns that are compared.
 *
 * No parser is asked, so that definitions and views can be read in the same way.  A wrong guess costs little: a column
 * gets a value that nobody compares it with.
 */
#include "data/perturb/perturb_impl.h"
#include "data/sql/sql_lex.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FAR = 200, MOST_CONSTANTS = 16, MOST_ALIASES = 32, LONGEST_PATTERN = 128, MOST_LIMIT = 1000 };

struct statement_alias {
    const char *name;
    int table;
};

struct statement {
    struct perturb *p;
    const char *text;
    struct sql_token *tokens;
    const char **names; /* of each token, without quotes; NULL for what is no name */
    int n;
    struct statement_alias aliases[MOST_ALIASES];
    int n_aliases;
};

static const char *name_of(struct perturb *p, const char *at, int length)
{
    bool quoted = length > 1 && strchr("\"`[", *at);
    char *name = strndup(quoted ? at + 1 : at, (size_t)(quoted ? length - 2 : length)), *to = name;
    char quote = *at == '[' ? 0 : *at;

    for (const char *from = name; *from; from++) {
        *to++ = *from;
        from += quoted && *from == quote && from[1] == quote; /* which stand for one */
    }
    *to = '\0';
    const char *kept = strings_keep(&p->pool, name);
    free(name);
    return kept;
}

static void statement_open(struct statement *s, struct perturb *p, const char *sql)
{
    *s = (struct statement){ .p = p, .text = sql };
    s->tokens = sql_lex(sql, &s->n);
    s->names = xcalloc((size_t)s->n + 1, sizeof *s->names);
    for (int i = 0; i < s->n; i++) {
        const struct sql_token *t = &s->tokens[i];
        if (t->kind == TOKEN_NAME || sql_keyword_use(t->kind) == SQL_KEYWORD_NAME)
            s->names[i] = name_of(p, sql + t->begin, t->end - t->begin);
    }
}

static void statement_close(struct statement *s)
{
    free(s->tokens);
    free(s->names);
}

static int kind_at(const struct statement *s, int i)
{
    return i >= 0 && i < s->n ? s->tokens[i].kind : TOKEN_END;
}

static const char *name_at(const struct statement *s, int i)
{
    return i >= 0 && i < s->n ? s->names[i] : NULL;
}

void perturb_want(struct perturb *p, const char *sql)
{
    struct statement s;

    statement_open(&s, p, sql);
    for (int i = 0; i < s.n; i++) {
        /* a name in quotes of another kind is one too, and so is a text where a table is wanted */
        int table = s.names[i] ? perturb_find_table(p, s.names[i]) : -1;
        if (table < 0 && s.tokens[i].kind == TOKEN_STRING)
            table =
                perturb_find_table(p, name_of(p, sql + s.tokens[i].begin + 1, s.tokens[i].end - s.tokens[i].begin - 2));
        if (table < 0 || p->tables[table].wanted)
            continue;
        p->tables[table].wanted = true;
        if (p->tables[table].view)
            perturb_want(p, p->tables[table].sql);
    }
    statement_close(&s);
}

/* "table AS a", "table a" */
static void read_aliases(struct statement *s)
{
    for (int i = 0; i < s->n && s->n_aliases < MOST_ALIASES; i++) {
        int table = name_at(s, i) ? perturb_find_table(s->p, s->names[i]) : -1;
        const char *alias = name_at(s, i + 1 + (kind_at(s, i + 1) == WORD_AS));
        if (table >= 0 && alias)
            s->aliases[s->n_aliases++] = (struct statement_alias){ alias, table };
    }
}

/* The table that a qualifier stands for; -1 when that is not known. */
static int qualified(const struct statement *s, const char *name)
{
    for (int i = 0; i < s->n_aliases; i++)
        if (strcasecmp(s->aliases[i].name, name) == 0)
            return s->aliases[i].table;
    return perturb_find_table(s->p, name);
}

/* Columns that the name at i may stand for, one after the other: those behind `after`; -1 at the end. */
static int column_at(const struct statement *s, int i, int after)
{
    const struct perturb *p = s->p;
    bool dotted = kind_at(s, i - 1) == TOKEN_DOT && name_at(s, i - 2);
    int table = dotted ? qualified(s, s->names[i - 2]) : -1;

    if (!name_at(s, i) || kind_at(s, i + 1) == TOKEN_DOT || kind_at(s, i + 1) == TOKEN_LEFT_PAREN)
        return -1;
    for (int t = 0; t < p->n_tables; t++) {
        const struct perturb_table *at = &p->tables[t];
        for (int c = at->first_column; c < at->first_column + at->n_columns; c++)
            if (c > after && (table < 0 || t == table || p->tables[table].view) &&
                strcasecmp(p->columns[c].name, s->names[i]) == 0)
                return c;
    }
    return -1;
}

/* Where another comparison or clause begins. */
static bool parts(int kind)
{
    static const int words[] = { WORD_WHERE,  WORD_AND,  WORD_OR,    WORD_ON,        WORD_HAVING,
                                 WORD_SELECT, WORD_BY,   WORD_LIMIT, WORD_OFFSET,    WORD_FROM,
                                 WORD_WHEN,   WORD_THEN, WORD_ELSE,  TOKEN_SEMICOLON };
    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (kind == words[i])
            return true;
    return false;
}

static void note(struct value_list *list, const char *value)
{
    for (int i = 0; i < list->n; i++)
        if (list->items[i] == value)
            return;
    if (list->n < MOST_CONSTANTS)
        value_list_add(list, value);
}

/* As a text in single quotes, or a number. */
static const char *constant_text(struct statement *s, int i)
{
    const struct sql_token *t = &s->tokens[i];
    const char *at = s->text + t->begin;
    int left = kind_at(s, i - 2);
    bool operand = left == TOKEN_NUMBER || left == TOKEN_RIGHT_PAREN || name_at(s, i - 2);
    bool negative = t->kind == TOKEN_NUMBER && kind_at(s, i - 1) == TOKEN_MINUS && !operand;

    if (t->kind != TOKEN_NAME)
        return strings_printf(&s->p->pool, "%s%.*s", negative ? "-" : "", t->end - t->begin, at);
    struct cell c = { .type = CELL_TEXT, .bytes = s->names[i], .n = (int)strlen(s->names[i]) };
    return perturb_cell_text(s->p, &c);
}

/* What a LIKE at i compares with, without its wildcards: nothing and some letters in their place. */
static void note_pattern(struct perturb *p, struct perturb_column *column, const char *pattern)
{
    static const char *const any[] = { "", "Zz", "q r" };

    for (int k = 0; k < ARRAY_LEN(any); k++) {
        char text[4 * LONGEST_PATTERN] = "";
        size_t n = 0;
        for (const char *at = pattern; *at; at++) {
            const char *put = *at == '%' || *at == '*' ? any[k] : *at == '_' || *at == '?' ? "o" : NULL;
            n += (size_t)snprintf(text + n, 8, put ? "%s" : "%.1s", put ? put : at);
        }
        note(k ? &column->neighbours : &column->constants, strings_keep(&p->pool, text));
    }
}

static bool is_pattern(const struct statement *s, int i)
{
    int length = s->tokens[i].end - s->tokens[i].begin;
    return kind_at(s, i) == TOKEN_STRING && length < LONGEST_PATTERN &&
           (kind_at(s, i - 1) == WORD_LIKE || kind_at(s, i - 1) == WORD_GLOB);
}

static void read_limit(struct perturb *p, const char *number)
{
    long rows = strtol(number, NULL, 10);

    if (rows > 0 && rows <= MOST_LIMIT)
        p->most_rows += (int)rows;
}

/* The constant at i stands in one comparison with the name at k. */
static bool note_beside(struct statement *s, int i, int k, const char *value)
{
    bool found = false;

    for (int c = column_at(s, k, -1); c >= 0; c = column_at(s, k, c)) {
        if (is_pattern(s, i))
            note_pattern(s->p, &s->p->columns[c], value);
        else
            note(&s->p->columns[c].constants, value);
        found = true;
    }
    return found;
}

/* With all columns before it, else with those behind it. */
static bool note_compared(struct statement *s, int i, const char *value)
{
    bool found = false;

    for (int k = i - 1; k >= 0 && i - k < FAR; k--) {
        bool between = kind_at(s, k) == WORD_AND && kind_at(s, k - 2) == WORD_BETWEEN;
        if (!between && parts(kind_at(s, k)))
            break;
        found = note_beside(s, i, k, value) || found;
    }
    for (int k = i + 1; !found && k < s->n && k - i < 6 && !parts(kind_at(s, k)); k++)
        found = note_beside(s, i, k, value);
    return found;
}

static void read_constant(struct statement *s, int i)
{
    const char *value = constant_text(s, i);
    int before = kind_at(s, i - 1);
    bool number = s->tokens[i].kind == TOKEN_NUMBER;

    if (number && (before == WORD_LIMIT || before == WORD_OFFSET))
        read_limit(s->p, value);
    else if (!note_compared(s, i, value))
        note(number ? &s->p->numbers : &s->p->texts, value);
}

static void join_all(struct statement *s, int i, int k)
{
    for (int a = column_at(s, i, -1); a >= 0; a = column_at(s, i, a))
        for (int b = column_at(s, k, -1); b >= 0; b = column_at(s, k, b))
            perturb_join_domains(s->p, a, b);
}

/* Past "t." before a name. */
static int name_from(const struct statement *s, int i)
{
    return kind_at(s, i + 1) == TOKEN_DOT ? i + 2 : i;
}

/* "a = b", "a IN (SELECT b" */
static void read_comparison(struct statement *s, int i)
{
    int k = i + 1;

    if (kind_at(s, i) == WORD_IN && kind_at(s, k) == TOKEN_LEFT_PAREN && kind_at(s, k + 1) == WORD_SELECT)
        k += 2 + (kind_at(s, k + 2) == WORD_DISTINCT);
    else if (kind_at(s, i) != TOKEN_EQUAL && kind_at(s, i) != TOKEN_LESS && kind_at(s, i) != TOKEN_GREATER)
        return;
    join_all(s, kind_at(s, i - 1) == WORD_NOT ? i - 2 : i - 1, name_from(s, k));
}

/* First results of a set operation are compared; columns of one name where the statement says so. */
static void read_sets(struct statement *s)
{
    int first = -1;

    for (int i = 0; i < s->n; i++) {
        int kind = kind_at(s, i);
        if (kind == WORD_SELECT) {
            int k = name_from(s, i + 1 + (kind_at(s, i + 1) == WORD_DISTINCT));
            int before = kind_at(s, i - 1);
            bool joins =
                before == WORD_UNION || before == WORD_ALL || before == WORD_EXCEPT || before == WORD_INTERSECT;
            if (first >= 0 && joins)
                join_all(s, first, k);
            else
                first = k;
        }
        if (kind == WORD_NATURAL || kind == WORD_USING)
            for (int a = 0; a < s->p->n_columns; a++)
                for (int b = 0; b < a; b++)
                    if (strcasecmp(s->p->columns[a].name, s->p->columns[b].name) == 0)
                        perturb_join_domains(s->p, a, b);
    }
}

/* Marks the columns that a CHECK of the table looks at. */
void perturb_read_checks(struct perturb *p, const struct perturb_table *table)
{
    struct statement s;
    int depth = 0;

    statement_open(&s, p, table->sql);
    for (int i = 0; i < s.n; i++) {
        bool opens = kind_at(&s, i) == TOKEN_LEFT_PAREN && (depth || kind_at(&s, i - 1) == WORD_CHECK);
        depth += opens;
        depth -= depth && kind_at(&s, i) == TOKEN_RIGHT_PAREN;
        for (int c = table->first_column; depth && s.names[i] && c < table->first_column + table->n_columns; c++)
            if (strcasecmp(p->columns[c].name, s.names[i]) == 0)
                p->columns[c].checked = true;
    }
    statement_close(&s);
}

void perturb_read_statement(struct perturb *p, const char *sql)
{
    struct statement s;
    int most = p->most_rows; /* of other statements; a limit and an offset of one add up */

    p->most_rows = 0;
    statement_open(&s, p, sql);
    read_aliases(&s);
    for (int i = 0; i < s.n; i++) {
        int kind = s.tokens[i].kind;
        bool word = kind == TOKEN_NAME && sql[s.tokens[i].begin] == '"' && column_at(&s, i, -1) < 0;
        if (kind == TOKEN_NUMBER || kind == TOKEN_STRING || word)
            read_constant(&s, i);
        read_comparison(&s, i);
    }
    read_sets(&s);
    if (p->most_rows < most)
        p->most_rows = most;
    statement_close(&s);
}
