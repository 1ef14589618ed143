#include "data/prompt/template_shape.h"

#include "data/base/strings.h"
#include "data/sql/sql_function.h"
#include "data/sql/sql_lex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reader at byte `at`. Each open parenthesis keeps the SELECT around it. */
struct shape_reader {
    struct template_shape *shape;
    const struct schema *schema;
    struct strings named; /* names that AS introduced */
    int at, begin;        /* start of the current word */
    char word[128], last[128], before[128];
    int frames[SHAPE_MAX_DEPTH], depth;
    struct error *err;
};

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* Reads the next word: a name or number with points, or a character; "" at the end. -1 if it is too long. */
static int next_word(struct shape_reader *r)
{
    const char *text = r->shape->text;
    size_t n;

    memcpy(r->before, r->last, sizeof r->before);
    memcpy(r->last, r->word, sizeof r->last);
    while (isspace((unsigned char)text[r->at]))
        r->at++;
    r->begin = r->at;
    while (is_name_char(text[r->at]))
        r->at++;
    if (r->at == r->begin && text[r->at])
        r->at++;
    n = (size_t)(r->at - r->begin);
    if (n >= sizeof r->word)
        return error_set(r->err, EXIT_CODE_DATA,
                         "template: expected words of at most 127 bytes, got %zu bytes at byte %d", n, r->begin);
    for (size_t i = 0; i < n; i++)
        r->word[i] = (char)tolower((unsigned char)text[r->begin + (int)i]);
    r->word[n] = 0;
    return 0;
}

static bool is(const struct shape_reader *r, const char *word)
{
    return strcmp(r->word, word) == 0;
}

/* The current SELECT, or NULL before the first. */
static struct template_block *block_of(const struct shape_reader *r)
{
    return r->frames[r->depth] < 0 ? NULL : r->shape->blocks + r->frames[r->depth];
}

static int add_piece(struct shape_reader *r, enum piece_kind kind, int place)
{
    struct template_shape *p = r->shape;

    if (p->n_pieces == SHAPE_MAX_PIECES)
        return error_set(r->err, EXIT_CODE_DATA, "template: expected at most %d words", SHAPE_MAX_PIECES);
    p->pieces[p->n_pieces++] = (struct template_piece){
        .kind = kind, .begin = r->begin, .end = r->at, .block = r->frames[r->depth], .place = place, .table = -1
    };
    return 0;
}

static int open_block(struct shape_reader *r)
{
    struct template_shape *p = r->shape;
    struct template_block *outer =
        r->depth && strcmp(r->last, "(") == 0 && r->frames[r->depth] >= 0 ? p->blocks + r->frames[r->depth] : NULL;

    if (p->n_blocks == SHAPE_MAX_BLOCKS)
        return error_set(r->err, EXIT_CODE_DATA, "template: expected at most %d SELECTs", SHAPE_MAX_BLOCKS);
    if (outer && outer->clause == SHAPE_FROM && outer->derived < 0)
        outer->derived = p->n_blocks;
    p->blocks[p->n_blocks] = (struct template_block){ .derived = -1, .later = r->last[0] && strcmp(r->last, "(") != 0 };
    r->frames[r->depth] = p->n_blocks++;
    return 0;
}

static int move_parenthesis(struct shape_reader *r, bool open)
{
    if (open && r->depth + 1 == SHAPE_MAX_DEPTH)
        return error_set(r->err, EXIT_CODE_DATA, "template: expected at most %d nested parentheses", SHAPE_MAX_DEPTH);
    if (!open && r->depth == 0)
        return error_set(r->err, EXIT_CODE_DATA, "template: byte %d: unmatched )", r->begin);
    r->depth += open ? 1 : -1;
    if (open)
        r->frames[r->depth] = r->frames[r->depth - 1];
    return 0;
}

static bool is_name(const char *word)
{
    return strcmp(word, "column") == 0 || strcmp(word, "table") == 0;
}

/* Whether "column = column" after ON begins here; it is one piece. */
static bool begins_condition(const struct shape_reader *r)
{
    struct shape_reader ahead = *r;
    const struct template_block *b = block_of(r);

    ahead.err = NULL;
    return strcmp(r->last, "on") == 0 && b->clause == SHAPE_FROM && b->n_tables > 1 && next_word(&ahead) == 0 &&
           is(&ahead, "=") && next_word(&ahead) == 0 && is_name(ahead.word);
}

static int add_condition(struct shape_reader *r)
{
    struct template_block *b = block_of(r);
    int begin = r->begin;

    if (next_word(r) || next_word(r))
        return -1;
    r->begin = begin;
    b->joined[b->n_tables - 1] = true;
    return add_piece(r, PIECE_JOIN, b->n_tables - 1);
}

static int add_table(struct shape_reader *r)
{
    struct template_block *b = block_of(r);
    bool listed = strcmp(r->last, "from") == 0 || strcmp(r->last, "join") == 0 || strcmp(r->last, ",") == 0;

    if (b->clause != SHAPE_FROM || !listed)
        return add_piece(r, PIECE_NAMESAKE, 0);
    if (b->n_tables == SHAPE_MAX_TABLES)
        return error_set(r->err, EXIT_CODE_DATA, "template: expected at most %d tables in one FROM", SHAPE_MAX_TABLES);
    return add_piece(r, PIECE_TABLE, b->n_tables++);
}

static bool follows(const struct shape_reader *r, const char *word)
{
    struct shape_reader ahead = *r;

    ahead.err = NULL;
    return next_word(&ahead) == 0 && is(&ahead, word);
}

static int add_column(struct shape_reader *r)
{
    bool first = block_of(r) == r->shape->blocks && r->depth == 0;
    bool counted = strcmp(r->last, "(") == 0 && strcmp(r->before, "count") == 0;
    bool alone = first && strcmp(r->last, "select") == 0 && follows(r, "from");

    return add_piece(r, counted ? PIECE_COUNTED : alone ? PIECE_ROW : PIECE_COLUMN, 0);
}

static bool is_alias(const char *word)
{
    return word[0] == 't' && word[1] && word[1 + strspn(word + 1, "0123456789")] == 0 && strlen(word) < 8;
}

/* A name table.column of the schema, or t10.column. */
static int add_name(struct shape_reader *r, const char *point)
{
    char table[sizeof r->word];
    bool known = false;

    snprintf(table, sizeof table, "%.*s", (int)(point - r->word), r->word);
    int t = schema_table_find(r->schema, table);
    if (t >= 0)
        known = schema_column_find(r->schema, t, point + 1) >= 0;
    for (int i = 0; t < 0 && is_alias(table) && i < r->schema->n_tables; i++)
        known = known || schema_column_find(r->schema, i, point + 1) >= 0;
    if (!known)
        return error_set(r->err, EXIT_CODE_DATA, "template: \"%s\" is not a column of the schema", r->word);
    if (add_piece(r, PIECE_NAME, 0))
        return -1;
    r->shape->pieces[r->shape->n_pieces - 1].table = t;
    return 0;
}

/* A word that stays: SQL, a number, an alias. */
static int add_text(struct shape_reader *r)
{
    struct template_block *b = block_of(r);
    bool named = strcmp(r->last, "as") == 0;
    const char *point = strchr(r->word, '.');

    if (named && b && b->clause == SHAPE_FROM && b->n_tables && is_alias(r->word))
        memcpy(b->alias[b->n_tables - 1], r->word, strlen(r->word) + 1);
    if (named)
        strings_add(&r->named, r->word);
    if (named || isdigit((unsigned char)r->word[0]) || !is_name_char(r->word[0]))
        return 0;
    if (point)
        return add_name(r, point);
    if (sql_word_use(r->word) == SQL_NOT_KEYWORD && !sql_function_find(r->word, 1) &&
        strings_find(&r->named, r->word) < 0 && !is_alias(r->word))
        return error_set(r->err, EXIT_CODE_DATA,
                         "template: \"%s\" is neither SQL nor a table, column, string or number", r->word);
    return 0;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static int read_word(struct shape_reader *r)
{
    static const char *const behind_from[] = { "where", "group", "having", "order", "limit", NULL };
    static const char *const set_operators[] = { "union", "intersect", "except", NULL };
    struct template_block *b = block_of(r);

    r->shape->compound = r->shape->compound || is_one_of(r->word, set_operators);
    if (strchr("'\"`[;{}", r->word[0]))
        return error_set(r->err, EXIT_CODE_DATA, "template: unexpected %s at byte %d", r->word, r->begin);
    if (is(r, "(") || is(r, ")"))
        return move_parenthesis(r, is(r, "("));
    if (is(r, "select") && open_block(r))
        return -1;
    if (b && b->later && is(r, "order"))
        return error_set(r->err, EXIT_CODE_DATA,
                         "template: ORDER BY after a set operation, at byte %d, cannot name a column of a table",
                         r->begin);
    if (b && (is(r, "from") || is_one_of(r->word, behind_from)))
        b->clause = is(r, "from") ? SHAPE_FROM : SHAPE_BEHIND;
    if (is_name(r->word) && !b)
        return error_set(r->err, EXIT_CODE_DATA, "template: \"%s\" at byte %d is outside a SELECT", r->word, r->begin);
    if (is_name(r->word) && begins_condition(r))
        return add_condition(r);
    if (is(r, "table"))
        return add_table(r);
    if (is(r, "column"))
        return add_column(r);
    if (is(r, "string"))
        return add_piece(r, strcmp(r->last, "like") == 0 ? PIECE_PATTERN : PIECE_STRING, 0);
    return is(r, "number") ? add_piece(r, PIECE_NUMBER, 0) : add_text(r);
}

/* Each SELECT needs tables or a SELECT in its FROM; the columns of the latter are unknown. * is the row of one SELECT
 * only. */
static int check_blocks(struct template_shape *p, struct error *err)
{
    for (int i = 0; i < p->n_blocks; i++)
        if (p->blocks[i].n_tables == 0 && p->blocks[i].derived < 0)
            return error_set(err, EXIT_CODE_DATA, "template: SELECT %d has no table", i + 1);
    for (int i = 0; i < p->n_pieces; i++) {
        struct template_piece *piece = p->pieces + i;
        bool column = piece->kind == PIECE_COLUMN || piece->kind == PIECE_NAMESAKE;
        if (column && p->blocks[piece->block].n_tables == 0)
            return error_set(err, EXIT_CODE_DATA,
                             "template: the column at byte %d belongs to a SELECT in FROM, whose columns are unknown",
                             piece->begin);
        if (piece->kind == PIECE_ROW && p->compound)
            piece->kind = PIECE_COLUMN;
    }
    return 0;
}

int shape_read(struct template_shape *p, const char *template, const struct schema *s, struct error *err)
{
    struct shape_reader r = { .shape = p, .schema = s, .err = err, .frames = { -1 } };
    int rc;

    *p = (struct template_shape){ .text = template };
    while ((rc = next_word(&r)) == 0 && r.word[0])
        if ((rc = read_word(&r)))
            break;
    if (rc == 0 && r.depth)
        rc = error_set(err, EXIT_CODE_DATA, "template: a parenthesis is not closed");
    if (rc == 0 && p->n_blocks == 0)
        rc = error_set(err, EXIT_CODE_DATA, "template: expected a SELECT, got \"%.60s\"", template);
    if (rc == 0)
        rc = check_blocks(p, err);
    strings_release(&r.named);
    return rc;
}
