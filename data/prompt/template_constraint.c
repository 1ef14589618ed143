#include "data/prompt/template_constraint.h"

#include "data/prompt/template_shape.h"
#include "data/schema/element_name.h"
#include "data/schema/mention.h"
#include "data/sql/sql_check.h"
#include "data/sql/sql_print.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Columns by which two tables join. */
struct key_pair {
    int from, to;
    bool declared; /* by foreign keys, else by equal names */
    int key;       /* the table whose composite primary key includes this pair, or -1 if the pair joins alone */
};

struct key_pairs {
    struct key_pair *items; /* both directions, declared ones first */
    int n, cap;
    uint8_t *links; /* [n_tables, n_tables] 2: by foreign keys, 1: by names, 0: none */
};

/* Tables of one FROM. */
struct from_choice {
    int tables[SHAPE_MAX_TABLES];
    double score;
};

struct from_choices {
    struct from_choice *items; /* the most likely first */
    int n, cap;
};

/* Joins: the tables that may occur together in a FROM. */

enum { MAX_CHOICES = 4096 };

/* The representative of all columns that foreign keys connect with c. */
static int root_of(const int *parent, int c)
{
    while (parent[c] != c)
        c = parent[c];
    return c;
}

static void add_pair(struct key_pairs *k, const struct schema *s, int from, int to, bool declared)
{
    uint8_t *link = k->links + (size_t)s->columns[from].table * (size_t)s->n_tables + s->columns[to].table;

    GROW(k->items, k->n, k->cap);
    k->items[k->n++] = (struct key_pair){ from, to, declared, -1 };
    *link = declared ? 2 : *link ? *link : 1;
}

static uint64_t words_key(const char *text)
{
    struct element_name n;
    element_name_read(&n, text);
    return element_name_key(&n, 0, n.n_words);
}

/* Whether a column such as "singer" names a table, so that it joins the table's primary key of any name. words: a hash
 * of the words of each table name, then of each column name. */
static bool names_table(const struct schema *s, const uint64_t *words, int column, int key)
{
    int table = s->columns[key].table;
    return s->columns[key].primary && words[s->n_tables + column] == words[table];
}

static bool are_alike(const struct schema *s, const uint64_t *words, int a, int b)
{
    return s->columns[a].table != s->columns[b].table && (strcasecmp(s->columns[a].name, s->columns[b].name) == 0 ||
                                                          names_table(s, words, a, b) || names_table(s, words, b, a));
}

/* Adds pairs of equal names that no foreign key connects. root: the representative of each column. */
static void add_alike(struct key_pairs *k, const struct schema *s, const int *root)
{
    uint64_t *words = xcalloc((size_t)s->n_tables + (size_t)s->n_columns + 1, sizeof *words);

    for (int t = 0; t < s->n_tables; t++)
        words[t] = words_key(s->tables[t].text);
    for (int c = 0; c < s->n_columns; c++)
        words[s->n_tables + c] = words_key(s->columns[c].text);
    for (int a = 0; a < s->n_columns; a++)
        for (int b = 0; b < s->n_columns; b++)
            if (root[a] != root[b] && are_alike(s, words, a, b))
                add_pair(k, s, a, b, false);
    free(words);
}

/* Whether exactly one column of a table is connected to this one. */
static bool has_tied(const struct schema *s, const int *root, int table, int column)
{
    const struct schema_table *t = &s->tables[table];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        n += root[c] == root[column];
    return n == 1;
}

/* Whether both tables reference a whole composite primary key, of a third table or of one of them. */
static bool share_key(const struct schema *s, const int *root, int a, int b, int key)
{
    const struct schema_table *t = &s->tables[key];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        if (s->columns[c].primary && !(has_tied(s, root, a, c) && has_tied(s, root, b, c)))
            return false;
        n += s->columns[c].primary;
    }
    return n > 1;
}

/* The table whose key includes a declared pair, or -1 if the pair joins alone. */
static int key_of(const struct schema *s, const int *root, int from, int to)
{
    int a = s->columns[from].table, b = s->columns[to].table;

    if (a == b || !has_tied(s, root, a, from) || !has_tied(s, root, b, to))
        return -1;
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].primary && root[c] == root[from] && share_key(s, root, a, b, s->columns[c].table))
            return s->columns[c].table;
    return -1;
}

/* Foreign keys also connect two columns through a third one. The caller releases. */
static void key_pairs_find(struct key_pairs *k, const struct schema *s)
{
    int *parent = xcalloc((size_t)s->n_columns + 1, sizeof *parent);

    *k = (struct key_pairs){ .links = xcalloc((size_t)s->n_tables + 1, (size_t)s->n_tables + 1) };
    for (int c = 0; c < s->n_columns; c++)
        parent[c] = c;
    for (int i = 0; i < s->n_foreign_keys; i++)
        parent[root_of(parent, s->foreign_keys[i].from)] = root_of(parent, s->foreign_keys[i].to);
    for (int c = 0; c < s->n_columns; c++)
        parent[c] = root_of(parent, c);
    for (int a = 0; a < s->n_columns; a++)
        for (int b = 0; b < s->n_columns; b++)
            if (a != b && parent[a] == parent[b])
                add_pair(k, s, a, b, true);
    for (int i = 0; i < k->n; i++)
        k->items[i].key = key_of(s, parent, k->items[i].from, k->items[i].to);
    add_alike(k, s, parent);
    free(parent);
}

static void key_pairs_release(struct key_pairs *k)
{
    free(k->items);
    free(k->links);
    *k = (struct key_pairs){ 0 };
}

/* A search over the tables of one FROM. */
struct from_search {
    const struct template_block *block;
    const struct schema *schema;
    const struct key_pairs *keys;
    const double *mentions;
    struct from_choices *out;
    struct from_choice now;
};

/* The strength of the join with earlier tables; 0 for none. */
static double link_of(const struct from_search *f, int place, int table)
{
    int best = 0;

    for (int p = 0; p < place; p++) {
        int link = f->keys->links[(size_t)f->now.tables[p] * (size_t)f->schema->n_tables + (size_t)table];
        best = link > best ? link : best;
    }
    return best / 2.0;
}

/* The last earlier position of the table, or -1. */
static int find_again(const struct from_search *f, int place, int table)
{
    while (--place >= 0 && f->now.tables[place] != table)
        ;
    return place;
}

static void search(struct from_search *f, int place)
{
    if (f->out->n >= MAX_CHOICES)
        return;
    if (place == f->block->n_tables || place == SHAPE_MAX_TABLES) { /* the bound is for gcc alone */
        GROW(f->out->items, f->out->n, f->out->cap);
        f->out->items[f->out->n++] = f->now;
        return;
    }
    double score = f->now.score;
    for (int t = 0; t < f->schema->n_tables; t++) {
        double link = place ? link_of(f, place, t) : 1;
        int again = find_again(f, place, t);
        bool distinguished = again < 0 || (f->block->alias[again][0] && f->block->alias[place][0]);
        if ((link == 0 && f->block->joined[place]) || !distinguished)
            continue;
        f->now.tables[place] = t;
        f->now.score = score + link + (again < 0 ? f->mentions[t] : -1);
        search(f, place + 1);
    }
    f->now.score = score;
}

static bool has_named(const struct from_choice *c, int n, const struct template_shape *p, int block)
{
    for (int i = 0; i < p->n_pieces; i++) {
        bool found = p->pieces[i].kind != PIECE_NAME || p->pieces[i].block != block || p->pieces[i].table < 0;
        for (int k = 0; k < n && !found; k++)
            found = c->tables[k] == p->pieces[i].table;
        if (!found)
            return false;
    }
    return true;
}

static int by_score(const void *a, const void *b)
{
    const struct from_choice *x = a, *y = b;

    for (int i = 0; x->score == y->score && i < SHAPE_MAX_TABLES; i++)
        if (x->tables[i] != y->tables[i])
            return x->tables[i] - y->tables[i];
    return (x->score < y->score) - (x->score > y->score);
}

/* mentions: for each table, how much the question mentions it. The caller frees the items. */
static void from_choices_find(struct from_choices *out, const struct template_shape *p, int block,
                              const struct schema *s, const struct key_pairs *keys, const double *mentions)
{
    struct from_search f = { .block = p->blocks + block, .schema = s, .keys = keys, .mentions = mentions, .out = out };
    int kept = 0;

    *out = (struct from_choices){ 0 };
    search(&f, 0);
    for (int i = 0; i < out->n; i++)
        if (has_named(out->items + i, p->blocks[block].n_tables, p, block))
            out->items[kept++] = out->items[i];
    out->n = kept;
    if (kept)
        qsort(out->items, (size_t)kept, sizeof *out->items, by_score);
}

/* Values: the strings and numbers that a question may mean. */

enum { MAX_WORDS = 200, MAX_RUN = 6, FEW_VALUES = 12, MAX_VALUE = 200 };

/* The words of a question without punctuation. */
struct value_words {
    struct {
        const char *begin, *end;
    } items[MAX_WORDS];
    int n;
};

static void split_words(struct value_words *w, const char *s)
{
    static const char edge[] = ".,?!;:()[]{}\"'`";

    w->n = 0;
    while (*s && w->n < MAX_WORDS) {
        const char *begin = s + strspn(s, " \t\r\n"), *end = begin + strcspn(begin, " \t\r\n");
        s = end;
        while (begin < end && strchr(edge, *begin))
            begin++;
        while (end > begin && strchr(edge, end[-1]))
            end--;
        if (end > begin) {
            w->items[w->n].begin = begin;
            w->items[w->n++].end = end;
        }
    }
}

/* Whether SQLite could read the text as a column if it were in double quotes. */
static bool is_column(const struct schema *s, const char *text)
{
    for (int c = 0; c < s->n_columns; c++)
        if (strcasecmp(s->columns[c].name, text) == 0)
            return true;
    return strcasecmp(text, "rowid") == 0 || strcasecmp(text, "oid") == 0 || strcasecmp(text, "_rowid_") == 0;
}

/* Appends "before text after" as a string of SQL. Most published queries use double quotes, so they are used if
 * possible. */
static void add_string(struct strings *to, const struct schema *s, const char *before, const char *text,
                       const char *after)
{
    struct sql_printer p = { 0 };
    char *value = NULL;

    CHECK(asprintf(&value, "%s%s%s", before, text, after) >= 0, "cannot format a string");
    sql_put_quoted(&p, value, strchr(value, '"') || is_column(s, value) ? '\'' : '"');
    sql_put(&p, "");
    char *quoted = strndup(p.text, p.n);
    CHECK(quoted, "no memory for %zu bytes", p.n);
    strings_add(to, quoted);
    free(quoted);
    free(p.text);
    free(value);
}

static void add_value(struct strings *to, const struct schema *s, const char *text, bool pattern)
{
    if (pattern) {
        add_string(to, s, "%", text, "%");
        add_string(to, s, "", text, "%");
        add_string(to, s, "%", text, "");
    }
    add_string(to, s, "", text, "");
}

/* Whether the question contains a value as whole words, in any case. */
static bool says(const char *question, const char *value)
{
    size_t n = strlen(value);

    for (const char *p = question; n && (p = strcasestr(p, value)); p++)
        if ((p == question || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n]))
            return true;
    return false;
}

/* Adds text values of the database that the question contains, and all values of columns that have few. */
static void add_database(struct strings *to, const struct template_question *q, bool pattern, bool said)
{
    for (int c = 0; q->values && c < q->values->n_columns; c++) {
        for (int i = 0; i < q->values->counts[c]; i++) {
            const char *shown = q->values->columns[c][i];
            size_t n = strlen(shown);
            if (*shown != '"' || n < 3 || n > MAX_VALUE)
                continue;
            char *text = strndup(shown + 1, n - 2);
            CHECK(text, "no memory for %zu bytes", n);
            if (said ? says(q->question, text) : q->values->counts[c] <= FEW_VALUES)
                add_value(to, q->schema, text, pattern && said);
            free(text);
        }
    }
}

/* Removes "'s" or a plural's s; 0 if there is none. */
static size_t without_ending(const char *begin, const char *end)
{
    static const char *const endings[] = { "'s", "\xe2\x80\x99s", "s" };

    for (int i = 0; i < ARRAY_LEN(endings); i++) {
        size_t n = strlen(endings[i]);
        if ((size_t)(end - begin) > n + 1 && memcmp(end - n, endings[i], n) == 0)
            return (size_t)(end - begin) - n;
    }
    return 0;
}

/* Adds words as written, and with a capital, which values have more often than questions. */
static void add_words(struct strings *to, const struct template_question *q, const char *begin, size_t n, bool pattern)
{
    char *text = strndup(begin, n);

    CHECK(text, "no memory for %zu bytes", n);
    add_value(to, q->schema, text, pattern);
    if (islower((unsigned char)*text)) {
        *text = (char)toupper((unsigned char)*text);
        add_value(to, q->schema, text, pattern);
    }
    free(text);
}

static void add_run(struct strings *to, const struct template_question *q, const char *begin, const char *end,
                    bool pattern)
{
    size_t shorter = without_ending(begin, end);

    if (*end == ')' && memchr(begin, '(', (size_t)(end - begin)))
        end++;
    add_words(to, q, begin, (size_t)(end - begin), pattern);
    if (shorter)
        add_words(to, q, begin, shorter, pattern);
}

/* Adds quoted texts. */
static void add_quoted(struct strings *to, const struct template_question *q, bool pattern)
{
    for (const char *p = q->question; (p = strpbrk(p, "\"'")); p++) {
        const char *end = strchr(p + 1, *p);
        bool opens = p == q->question || isspace((unsigned char)p[-1]) || p[-1] == '(';
        if (!end || end == p + 1 || !opens)
            continue;
        add_run(to, q, p + 1, end, pattern);
        p = end;
    }
}

static json_t *list_of(struct strings *s)
{
    json_t *list = json_array();

    for (int i = 0; i < s->n; i++) {
        json_t *text = json_string(s->items[i]);
        if (text)
            json_array_append_new(list, text);
    }
    strings_release(s);
    return list;
}

/* The texts of a slot as SQL writes them; a new reference, never empty. pattern: for LIKE. */
static json_t *template_strings(const struct template_question *q, bool pattern)
{
    struct strings found = { 0 };
    struct value_words w;

    split_words(&w, q->question);
    add_quoted(&found, q, pattern);
    add_database(&found, q, pattern, true);
    for (int n = 1; n <= MAX_RUN; n++)
        for (int i = 0; i + n <= w.n; i++)
            add_run(&found, q, w.items[i].begin, w.items[i + n - 1].end, pattern);
    add_database(&found, q, pattern, false);
    if (found.n == 0)
        strings_add(&found, "''");
    return list_of(&found);
}

/* Adds the first n bytes of a text; longer numbers are no values of a question. */
static void add_number(struct strings *found, const char *p, size_t n)
{
    char number[32];

    if (n < sizeof number) {
        snprintf(number, sizeof number, "%.*s", (int)n, p);
        strings_add(found, number);
    }
}

/* Fractions come with their digits before and after the point as well. */
static json_t *template_numbers(const struct template_question *q)
{
    static const char *const words[] = { "zero",  "one",   "two",  "three", "four",   "five",  "six",
                                         "seven", "eight", "nine", "ten",   "eleven", "twelve" };
    struct strings found = { 0 };
    char digits[32];

    for (const char *p = q->question; *p; p++) {
        size_t n = strspn(p, "0123456789"), fraction = n && p[n] == '.' ? strspn(p + n + 1, "0123456789") : 0;
        if (n == 0)
            continue;
        if (fraction)
            add_number(&found, p, n + 1 + fraction);
        add_number(&found, p, n);
        p += n - 1;
    }
    for (int i = 0; i < ARRAY_LEN(words); i++) {
        snprintf(digits, sizeof digits, "%d", i);
        if (says(q->question, words[i]) || i == 1 || i == 2 || i == 3)
            strings_add(&found, digits);
    }
    return list_of(&found);
}

enum { ARENA_BYTES = 16 << 20 }; /* for one statement's tree; untouched pages take no memory */

/* A template being compiled. */
struct compiler {
    const struct template_question *q;
    struct template_shape shape;
    struct key_pairs keys;
    struct from_choices choices[SHAPE_MAX_BLOCKS];
    const struct from_choice *now[SHAPE_MAX_BLOCKS];
    json_t *strings, *patterns, *numbers; /* NULL if no slot uses them */
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

/* A column of the table at a position: after its alias, bare if unambiguous, or after its table. */
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

/* The columns that a piece may become, prefixed as the aliases require. */
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

/* "column = column" of a pair, for the tables at two positions. turned: the later one first. The caller frees. */
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

static void add_equality(const struct compiler *c, const struct template_piece *piece, int place,
                         const struct key_pair *k, json_t *list)
{
    for (int turned = 0; turned < 2; turned++) {
        char *text = equality(c, piece, place, k, turned);
        json_array_append_new(list, json_string(text));
        free(text);
    }
}

/* Adds all pairs of a composite key, joined by AND, in both directions. Does nothing unless `first` is the key's first
 * pair. */
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

/* Whether the template itself continues with "and column = column", the next pair of a key. */
static bool goes_on(const struct compiler *c, const struct template_piece *piece)
{
    const char *behind = c->shape.text + piece->end;

    behind += strspn(behind, " \t\r\n");
    return strncasecmp(behind, "and", 3) == 0 && isspace((unsigned char)behind[3]);
}

/* "t1.x = t2.y" for the keys that join a table with an earlier one, in both directions. A composite key gives all its
 * pairs with "and". */
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
                add_equality(c, piece, place, c->keys.items + i, list);
        }
    return list;
}

/* Writes text of the template, with braces escaped. */
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

/* Writes a slot, and its list if it is new. */
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

/* 0 if a list is empty. */
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

/* Adds the alternative for the tables in c->now. */
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

/* Adds the alternatives for the SELECTs from `block` on whose choices have ranks that sum to `rank`. */
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

/* How much the question mentions each table, by its own words and, weighted less, by its columns'. */
static double *table_mentions(const struct template_question *q)
{
    const struct schema *s = q->schema;
    float *features = xcalloc(((size_t)s->n_tables + (size_t)s->n_columns) * ELEMENT_MENTIONS, sizeof *features);
    double *mentions = xcalloc((size_t)s->n_tables + 1, sizeof *mentions);

    mention_elements(s, NULL, q->question, features);
    for (int t = 0; t < s->n_tables; t++) {
        mentions[t] = 2 * features[t * ELEMENT_MENTIONS + ELEMENT_ALL];
        for (int k = 0; k < s->tables[t].n_columns; k++)
            mentions[t] +=
                .25 * features[(s->n_tables + s->tables[t].first_column + k) * ELEMENT_MENTIONS + ELEMENT_ALL];
    }
    free(features);
    return mentions;
}

static int find_choices(struct compiler *c, struct error *err)
{
    double *mentions = table_mentions(c->q);
    int max_rank = 0;

    for (int b = 0; b < c->shape.n_blocks; b++) {
        from_choices_find(c->choices + b, &c->shape, b, c->q->schema, &c->keys, mentions);
        if (c->choices[b].n == 0)
            max_rank =
                error_set(err, EXIT_CODE_DATA, "template: no tables of the schema fit the FROM of SELECT %d", b + 1);
        else if (max_rank >= 0)
            max_rank += c->choices[b].n - 1;
    }
    free(mentions);
    return max_rank;
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

/* The first alternative with the first text of each slot; the caller frees. */
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

/* Parses and resolves the first statement: an error in it is an error of the template. */
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
    int max_rank = -1;

    c->q = q;
    if (check_utf8(template, err) == 0 && shape_read(&c->shape, template, q->schema, err) == 0) {
        key_pairs_find(&c->keys, q->schema);
        max_rank = find_choices(c, err);
    }
    if (max_rank >= 0) {
        find_values(c);
        c->alternatives = json_array();
        for (int rank = 0; rank <= max_rank && !is_full(c); rank++)
            add_ranked(c, 0, rank);
        if (json_array_size(c->alternatives) == 0)
            error_set(err, EXIT_CODE_DATA, "template: no columns of the schema fit it");
        else if (check_statement(c, err) == 0)
            constraint = json_pack("{s:O}", "alternatives", c->alternatives);
    }
    compiler_release(c);
    return constraint;
}
