#include "data/plan/template_constraint_impl.h"

#include "data/schema/mention.h"
#include "data/sql/sql_check.h"
#include "data/sql/sql_print.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ARENA_BYTES = 16 << 20 }; /* of one statement's tree; only what is used is ever touched */

/* A template on its way to alternatives. */
struct compiler {
    const struct template_question *q;
    struct template_shape shape;
    struct key_pairs keys;
    struct from_choices choices[SHAPE_MAX_BLOCKS];
    const struct from_choice *now[SHAPE_MAX_BLOCKS];
    json_t *strings, *patterns, *numbers; /* NULL when no slot wants them */
    json_t *alternatives;
    size_t bytes;
};

static void put_lower(struct sql_printer *p, const char *name)
{
    char *low = xstrdup(name);

    for (char *s = low; *s; s++)
        *s = (char)tolower((unsigned char)*s);
    sql_put_name(p, low);
    free(low);
}

static json_t *text_of(struct sql_printer *p)
{
    json_t *text = json_stringn(p->text, p->n);

    CHECK(text, "a name that is no UTF-8: %.*s", (int)p->n, p->text);
    free(p->text);
    *p = (struct sql_printer){ 0 };
    return text;
}

/* Whether another table of the FROM has a column of this name. */
static bool is_shared(const struct compiler *c, const struct template_block *b, const struct from_choice *choice,
                      int place, const char *name)
{
    for (int p = 0; p < b->n_tables; p++)
        if (p != place && schema_column_find(c->q->schema, choice->tables[p], name) >= 0)
            return true;
    return false;
}

/* A column of the table at a place: behind its alias, alone where that says which is meant, or behind its table. */
static json_t *column_text(const struct compiler *c, const struct template_block *b, const struct from_choice *choice,
                           int place, int column, bool bare)
{
    const char *name = c->q->schema->columns[column].name, *alias = b->alias[place];
    struct sql_printer p = { 0 };

    if (!bare && *alias)
        sql_put(&p, alias);
    else if (!bare)
        put_lower(&p, c->q->schema->tables[choice->tables[place]].name);
    if (!bare)
        sql_put(&p, ".");
    put_lower(&p, name);
    return text_of(&p);
}

/* The columns that a piece may be, written as aliases want it. */
static json_t *columns_of(const struct compiler *c, const struct template_piece *piece)
{
    int block = piece->block;
    const struct from_choice *choice = c->now[block];
    const struct template_block *b = c->shape.blocks + block;
    json_t *list = json_array();

    if (piece->kind == PIECE_ROW || piece->kind == PIECE_COUNTED)
        json_array_append_new(list, json_string("*"));
    for (int place = 0; place < b->n_tables; place++) {
        const struct schema_table *t = c->q->schema->tables + choice->tables[place];
        for (int k = t->first_column; k < t->first_column + t->n_columns; k++) {
            const char *name = c->q->schema->columns[k].name;
            bool shared = is_shared(c, b, choice, place, name);
            if (piece->kind == PIECE_NAMESAKE && schema_table_find(c->q->schema, name) < 0)
                continue;
            if (b->alias[place][0] || shared)
                json_array_append_new(list, column_text(c, b, choice, place, k, false));
            if (!shared)
                json_array_append_new(list, column_text(c, b, choice, place, k, true));
        }
    }
    return list;
}

/* "column = column" of one pair, of the tables at two places; turned: the later one first.  The caller frees. */
static char *equality(const struct compiler *c, const struct template_piece *piece, int place, const struct key_pair *k,
                      bool turned)
{
    const struct template_block *b = c->shape.blocks + piece->block;
    const struct from_choice *choice = c->now[piece->block];
    int places[] = { place, piece->place }, columns[] = { k->from, k->to };
    json_t *sides[2];
    char *text;

    for (int i = 0; i < 2; i++) {
        const char *name = c->q->schema->columns[columns[i]].name;
        bool bare = !b->alias[places[i]][0] && !is_shared(c, b, choice, places[i], name);
        sides[i] = column_text(c, b, choice, places[i], columns[i], bare);
    }
    CHECK(asprintf(&text, "%s = %s", json_string_value(sides[turned]), json_string_value(sides[!turned])) >= 0,
          "no memory for a condition");
    json_decref(sides[0]);
    json_decref(sides[1]);
    return text;
}

static bool joins(const struct compiler *c, const struct template_piece *piece, int place, const struct key_pair *k)
{
    const struct schema *s = c->q->schema;
    const struct from_choice *choice = c->now[piece->block];

    return s->columns[k->from].table == choice->tables[place] &&
           s->columns[k->to].table == choice->tables[piece->place];
}

static void add_pair(const struct compiler *c, const struct template_piece *piece, int place, const struct key_pair *k,
                     json_t *list)
{
    for (int turned = 0; turned < 2; turned++) {
        char *text = equality(c, piece, place, k, turned);
        json_array_append_new(list, json_string(text));
        free(text);
    }
}

/* All pairs of a key with AND between them, both ways round; `first` is one of them, and nothing is added unless it is
 * the first. */
static void add_key(const struct compiler *c, const struct template_piece *piece, int place, int first, json_t *list)
{
    const struct key_pair *pairs = c->keys.items;

    for (int i = 0; i < first; i++)
        if (pairs[i].key == pairs[first].key && joins(c, piece, place, pairs + i))
            return;
    for (int turned = 0; turned < 2; turned++) {
        struct sql_printer p = { 0 };
        for (int i = first; i < c->keys.n; i++) {
            if (pairs[i].key != pairs[first].key || !joins(c, piece, place, pairs + i))
                continue;
            char *one = equality(c, piece, place, pairs + i, turned);
            sql_put(&p, i == first ? "" : " and ");
            sql_put(&p, one);
            free(one);
        }
        json_array_append_new(list, text_of(&p));
    }
}

/* "column = column and column = column" leaves the second pair of a key to the template. */
static bool goes_on(const struct compiler *c, const struct template_piece *piece)
{
    const char *behind = c->shape.text + piece->end;

    behind += strspn(behind, " \t\r\n");
    return strncasecmp(behind, "and", 3) == 0 && isspace((unsigned char)behind[3]);
}

/* "t1.x = t2.y" for the keys by which a table joins one before it, either way round; of a key of several columns all
 * of them, with "and" between. */
static json_t *conditions_of(const struct compiler *c, const struct template_piece *piece)
{
    bool more = goes_on(c, piece);
    json_t *list = json_array();

    for (int i = 0; i < c->keys.n; i++)
        for (int place = 0; place < piece->place; place++) {
            if (!joins(c, piece, place, c->keys.items + i))
                continue;
            if (c->keys.items[i].key >= 0)
                add_key(c, piece, place, i, list);
            if (c->keys.items[i].key < 0 || more)
                add_pair(c, piece, place, c->keys.items + i, list);
        }
    return list;
}

/* Text of the template in which braces are no slots. */
static void put_text(struct sql_printer *p, const char *s, int n)
{
    char byte[3] = { 0 };

    for (int i = 0; i < n; i++) {
        byte[0] = s[i];
        byte[1] = s[i] == '{' || s[i] == '}' ? s[i] : 0;
        sql_put(p, byte);
    }
}

static void put_table(const struct compiler *c, struct sql_printer *p, const struct template_piece *piece)
{
    struct sql_printer name = { 0 };

    put_lower(&name, c->q->schema->tables[c->now[piece->block]->tables[piece->place]].name);
    put_text(p, name.text, (int)name.n);
    free(name.text);
}

/* A slot and its list, unless the list is there already. */
static void put_slot(const struct compiler *c, struct sql_printer *p, json_t *slots, const struct template_piece *piece)
{
    static const char *const names[] = {
        [PIECE_JOIN] = "join",       [PIECE_COLUMN] = "column",   [PIECE_NAMESAKE] = "namesake",
        [PIECE_ROW] = "row",         [PIECE_COUNTED] = "counted", [PIECE_STRING] = "string",
        [PIECE_PATTERN] = "pattern", [PIECE_NUMBER] = "number",
    };
    bool value = piece->kind == PIECE_STRING || piece->kind == PIECE_PATTERN || piece->kind == PIECE_NUMBER;
    char name[64];

    snprintf(name, sizeof name, "%s%.0d", names[piece->kind], value ? 0 : 10 * (piece->block + 1) + piece->place);
    sql_put(p, "{");
    sql_put(p, name);
    sql_put(p, "}");
    if (json_object_get(slots, name))
        return;
    if (piece->kind == PIECE_JOIN)
        json_object_set_new(slots, name, conditions_of(c, piece));
    else if (!value)
        json_object_set_new(slots, name, columns_of(c, piece));
    else
        json_object_set(slots, name,
                        piece->kind == PIECE_STRING    ? c->strings
                        : piece->kind == PIECE_PATTERN ? c->patterns
                                                       : c->numbers);
}

/* 0 when a list is empty. */
static size_t bytes_of(const json_t *slots)
{
    const char *name;
    json_t *list, *text;
    size_t i, n = 1;

    json_object_foreach((json_t *)slots, name, list)
    {
        if (json_array_size(list) == 0)
            return 0;
        json_array_foreach(list, i, text) n += json_string_length(text) + 1;
    }
    return n;
}

/* One alternative, from the tables of c->now. */
static void add_alternative(struct compiler *c)
{
    struct sql_printer p = { 0 };
    json_t *slots = json_object();
    int at = 0;

    for (int i = 0; i < c->shape.n_pieces; i++) {
        const struct template_piece *piece = c->shape.pieces + i;
        if (piece->kind == PIECE_NAME)
            continue;
        put_text(&p, c->shape.text + at, piece->begin - at);
        if (piece->kind == PIECE_TABLE)
            put_table(c, &p, piece);
        else
            put_slot(c, &p, slots, piece);
        at = piece->end;
    }
    put_text(&p, c->shape.text + at, (int)strlen(c->shape.text + at));
    json_t *template = text_of(&p);
    size_t bytes = bytes_of(slots);
    if (bytes)
        json_array_append_new(c->alternatives, json_pack("{s:O, s:O}", "template", template, "slots", slots));
    c->bytes += bytes + json_string_length(template);
    json_decref(template);
    json_decref(slots);
}

static bool is_full(const struct compiler *c)
{
    return json_array_size(c->alternatives) >= TEMPLATE_ALTERNATIVES || c->bytes > TEMPLATE_BYTES;
}

/* The alternatives whose SELECTs from `block` on have choices whose places sum to `rank`. */
static void add_ranked(struct compiler *c, int block, int rank)
{
    if (block == c->shape.n_blocks) {
        if (rank == 0)
            add_alternative(c);
        return;
    }
    bool last = block == c->shape.n_blocks - 1;
    for (int i = last ? rank : 0; i <= rank && i < c->choices[block].n && !is_full(c); i++) {
        c->now[block] = c->choices[block].items + i;
        add_ranked(c, block + 1, rank - i);
    }
}

/* How much of a table's words the question says, and a little of its columns'. */
static double *tables_told(const struct template_question *q)
{
    const struct schema *s = q->schema;
    float *features = xcalloc(((size_t)s->n_tables + (size_t)s->n_columns) * ELEMENT_MENTIONS, sizeof *features);
    double *told = xcalloc((size_t)s->n_tables + 1, sizeof *told);

    mention_elements(s, NULL, q->question, features);
    for (int t = 0; t < s->n_tables; t++) {
        told[t] = 2 * features[t * ELEMENT_MENTIONS + ELEMENT_ALL];
        for (int k = 0; k < s->tables[t].n_columns; k++)
            told[t] += .25 * features[(s->n_tables + s->tables[t].first_column + k) * ELEMENT_MENTIONS + ELEMENT_ALL];
    }
    free(features);
    return told;
}

static int find_choices(struct compiler *c, struct error *err)
{
    double *told = tables_told(c->q);
    int most = 0;

    for (int b = 0; b < c->shape.n_blocks; b++) {
        from_choices_find(c->choices + b, &c->shape, b, c->q->schema, &c->keys, told);
        if (c->choices[b].n == 0)
            most = error_set(err, EXIT_CODE_DATA, "template: no tables of the schema fit the FROM of SELECT %d", b + 1);
        else if (most >= 0)
            most += c->choices[b].n - 1;
    }
    free(told);
    return most;
}

static void find_values(struct compiler *c)
{
    bool wanted[PIECE_NUMBER + 1] = { 0 };

    for (int i = 0; i < c->shape.n_pieces; i++)
        wanted[c->shape.pieces[i].kind] = true;
    c->strings = wanted[PIECE_STRING] ? template_strings(c->q, false) : NULL;
    c->patterns = wanted[PIECE_PATTERN] ? template_strings(c->q, true) : NULL;
    c->numbers = wanted[PIECE_NUMBER] ? template_numbers(c->q) : NULL;
}

static void compiler_release(struct compiler *c)
{
    for (int b = 0; b < SHAPE_MAX_BLOCKS; b++)
        free(c->choices[b].items);
    key_pairs_release(&c->keys);
    json_decref(c->strings);
    json_decref(c->patterns);
    json_decref(c->numbers);
    json_decref(c->alternatives);
    free(c);
}

/* The first alternative with the first text in each slot; the caller frees. */
static char *first_statement(const json_t *alternative)
{
    const char *template = json_string_value(json_object_get(alternative, "template"));
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a statement");
    for (const char *p = template; *p; p++) {
        char name[64];
        if (*p == '{' && p[1] != '{') {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(p + 1, "}"), p + 1);
            const json_t *texts = json_object_get(json_object_get(alternative, "slots"), name);
            fputs(json_string_value(json_array_get(texts, 0)), f);
            p += strlen(name) + 1;
            continue;
        }
        p += *p == '{' || *p == '}';
        putc(*p, f);
    }
    CHECK(fclose(f) == 0, "no memory for a statement");
    return text;
}

/* Names and values are those of a statement that SQLite takes: what is wrong with the first is wrong with the template.
 */
static int check_statement(const struct compiler *c, struct error *err)
{
    struct arena trees = { 0 };
    struct sql_uses uses;
    char *sql = first_statement(json_array_get(c->alternatives, 0));
    int rc = arena_init(&trees, ARENA_BYTES, err);
    struct sql_query *q = rc ? NULL : sql_parse(&trees, sql, err);

    if (rc == 0)
        rc = !q || sql_resolve(&trees, q, c->q->schema, &uses, err) || sql_check(q, c->q->schema, err) ? -1 : 0;
    if (rc)
        error_prefix(err, "template, as \"%.200s\"", sql);
    arena_release(&trees);
    free(sql);
    return rc;
}

static int check_utf8(const char *template, struct error *err)
{
    json_t *text = json_string(template);

    json_decref(text);
    return text ? 0 : error_set(err, EXIT_CODE_DATA, "template: expected UTF-8, got other bytes");
}

json_t *template_constraint(const struct template_question *q, const char *template, struct error *err)
{
    struct compiler *c = xcalloc(1, sizeof *c);
    json_t *constraint = NULL;
    int most = -1;

    c->q = q;
    if (check_utf8(template, err) == 0 && shape_read(&c->shape, template, q->schema, err) == 0) {
        key_pairs_find(&c->keys, q->schema);
        most = find_choices(c, err);
    }
    if (most >= 0) {
        find_values(c);
        c->alternatives = json_array();
        for (int rank = 0; rank <= most && !is_full(c); rank++)
            add_ranked(c, 0, rank);
        if (json_array_size(c->alternatives) == 0)
            error_set(err, EXIT_CODE_DATA, "template: no columns of the schema fit it");
        else if (check_statement(c, err) == 0)
            constraint = json_pack("{s:O}", "alternatives", c->alternatives);
    }
    compiler_release(c);
    return constraint;
}
