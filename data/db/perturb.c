#include "data/db/perturb.h"

#include "data/db/perturb_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- Random values --- */

static int below(struct rng *rng, int n)
{
    return (int)rng_below(rng, (uint32_t)n);
}

/* A number in the range of the column's own numbers, beyond it, 0 or negative. */
static double fresh_number(struct rng *rng, const struct perturb_column *column)
{
    double span = column->high - column->low, wide = span > 1000 && span < 1e12 ? span : 1000;
    double base = column->low > column->high ? 0 : column->low;

    switch (below(rng, 8)) {
    case 0:
        return below(rng, 7) - 3;
    case 1:
        return -1 - below(rng, 5000);
    default:
        return rint(base - wide / 4 + rng_uniform(rng) * 2 * wide);
    }
}

/* Words in upper or lower case, some with a blank inside or at an end. */
static const char *fresh_text(struct perturb *p, struct rng *rng)
{
    static const char *const parts[] = { "ba", "co", "di", "fe", "gu", "ha", "ki", "lo",
                                         "ma", "nu", "pe", "ro", "sa", "ti", "vo", "zu" };
    char text[32];
    int n = 0, form = below(rng, 8);

    for (int i = 0; i < 2 + below(rng, 3); i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i == 1 && form == 3 ? " " : "",
                      parts[below(rng, ARRAY_LEN(parts))]);
    for (int i = 0; i < n && form != 2; i++)
        if (text[i] != ' ' && (form == 5 || i == 0 || (form == 3 && text[i - 1] == ' ')))
            text[i] = (char)(text[i] - 'a' + 'A');
    if (form == 4)
        snprintf(text + n, sizeof text - (size_t)n, " %d", below(rng, 100));
    return strings_printf(&p->pool, "'%s%s%s'", form == 6 ? " " : "", text, form == 7 ? " " : "");
}

/* Changes the case of a text or adds a blank at an end. Other values are unchanged. */
static const char *odd_spelling(struct perturb *p, struct rng *rng, const char *value)
{
    int blanks = below(rng, 4), letters = below(rng, 4);

    if (*value != '\'')
        return value;
    char *text = xstrdup(value);
    for (char *at = text; *at; at++)
        if (letters == 0 ? *at >= 'a' && *at <= 'z' : letters == 1 && *at >= 'A' && *at <= 'Z')
            *at ^= 0x20;
    const char *kept = strings_printf(&p->pool, "'%s%.*s%s'", blanks == 0 ? " " : "", (int)strlen(text) - 2, text + 1,
                                      blanks == 1 || blanks == 2 ? " " : "");
    free(text);
    return kept;
}

static const char *fresh_time(struct perturb *p, struct rng *rng, enum family family)
{
    int year = 1985 + below(rng, 45), month = 1 + below(rng, 12), day = 1 + below(rng, 28), hour = below(rng, 24),
        minute = below(rng, 60), second = below(rng, 60);

    if (family == FAMILY_DATE)
        return strings_printf(&p->pool, "'%04d-%02d-%02d'", year, month, day);
    if (family == FAMILY_TIME)
        return strings_printf(&p->pool, "'%02d:%02d:%02d'", hour, minute, second);
    return strings_printf(&p->pool, "'%04d-%02d-%02d %02d:%02d:%02d'", year, month, day, hour, minute, second);
}

/* Returns a random value of the column's family, which is rarely repeated. */
static const char *fresh_value(struct perturb *p, struct rng *rng, const struct perturb_column *column)
{
    double number = fresh_number(rng, column);

    switch (column->family) {
    case FAMILY_INTEGER:
        return strings_printf(&p->pool, "%.0f", number);
    case FAMILY_REAL:
        return strings_printf(&p->pool, "%.4f", number + below(rng, 4) / 4.0 + (below(rng, 3) == 0) * 0.0625);
    case FAMILY_BOOLEAN:
        return strings_keep(&p->pool, below(rng, 2) ? "1" : "0");
    case FAMILY_NUMERAL:
        return strings_printf(&p->pool, "'%.0f'", number);
    case FAMILY_BLOB:
        return strings_printf(&p->pool, "x'%08x'", rng_u32(rng));
    case FAMILY_TEXT:
        return fresh_text(p, rng);
    default:
        return fresh_time(p, rng, column->family);
    }
}

/* --- One copy: its rows and their values --- */

/* The change of a copy. Probabilities are per cell or row; the default is 0. */
struct recipe {
    const char *name;
    int rows; /* approximate rows of a table */
    double changed, nulls, constants, ties, again;
    int few;           /* number of distinct values if ties are made */
    double odd;        /* probability of odd_spelling for a text */
    double alone;      /* probability that a row has no join partner */
    bool filled, even; /* fill NULLs; give all partners the same number of rows */
    int emptied;       /* empty the first or the second of each two tables */
    int shared;        /* referencing rows for each row of a referenced table */
};

/* clang-format off */
static const struct recipe recipes[] = {
    { .name = "values near the constants", .odd = 0.15, .rows = 30, .changed = 0.7, .constants = 0.8,
      .nulls = 0.03, .shared = 3 },
    { .name = "nulls filled", .rows = 30, .filled = true, .changed = 0.1, .constants = 0.1, .shared = 2 },
    { .name = "ties", .rows = 33, .changed = 0.6, .constants = 0.3, .ties = 1, .few = 3, .even = true,
      .shared = 3 },
    { .name = "no rows" },
    { .name = "all values different", .rows = 30, .changed = 1, .shared = 3 },
    { .name = "nulls inserted", .rows = 30, .changed = 0.3, .nulls = 0.35, .constants = 0.4, .shared = 1 },
    { .name = "rows duplicated", .rows = 20, .changed = 0.2, .constants = 0.3, .nulls = 0.05, .again = 0.8,
      .shared = 3 },
    { .name = "rows without partners", .rows = 30, .changed = 0.4, .constants = 0.3, .nulls = 0.1,
      .alone = 0.6, .shared = 1 },
    { .name = "one row", .rows = 1, .constants = 0.6, .shared = 1 },
    { .name = "some tables empty", .rows = 20, .changed = 0.3, .constants = 0.4, .emptied = 1, .shared = 2 },
    { .name = "other tables empty", .rows = 20, .changed = 0.3, .constants = 0.4, .emptied = 2, .shared = 2 },
    { .name = "fewer rows", .rows = 12, .constants = 0.1, .nulls = 0.05, .shared = 1 },
    { .name = "some values changed", .rows = 40, .changed = 0.25, .constants = 0.3, .nulls = 0.05,
      .again = 0.1, .shared = 4 },
    { .name = "most values changed", .odd = 0.15, .rows = 40, .changed = 0.7, .constants = 0.4, .nulls = 0.1,
      .alone = 0.2, .shared = 1 },
    { .name = "ties and nulls", .rows = 30, .changed = 0.6, .nulls = 0.25, .constants = 0.3, .ties = 0.9,
      .few = 4, .shared = 2 },
    { .name = "similar rows", .rows = 12, .changed = 0.5, .constants = 0.7, .ties = 1, .few = 1, .even = true,
      .shared = 3 },
    { .name = "values near the constants, with ties", .odd = 0.15, .rows = 40, .changed = 0.8,
      .constants = 0.7, .ties = 0.5, .few = 5, .again = 0.1, .shared = 2 },
    { .name = "values near the constants, filled", .odd = 0.15, .rows = 40, .changed = 0.4, .constants = 0.6,
      .filled = true, .shared = 4 },
    { .name = "many nulls", .rows = 16, .changed = 0.6, .nulls = 0.6, .constants = 0.5, .ties = 0.2, .few = 3,
      .shared = 1 },
    { .name = "texts respelled", .rows = 30, .changed = 0.2, .constants = 0.3, .odd = 0.7, .shared = 2 },
    { .name = "more rows than limits", .rows = 25, .changed = 0.9, .constants = 0.15, .nulls = 0.03, .shared = 2 },
};

/* clang-format on */
_Static_assert(sizeof recipes / sizeof *recipes == PERTURB_COPIES, "one recipe for each copy");

enum { MAX_ROWS = 1400, TURNS = 11 /* approximate number of uses of constants in a copy */ };

struct copier {
    struct perturb *p;
    const struct recipe *recipe;
    struct rng rng;
    FILE *out;
    struct value_list *rows; /* [n_tables]: values, row by row */
    const char *null;
};

const char *perturb_copy_name(int copy)
{
    return recipes[copy].name;
}

static bool chance(struct copier *k, double probability)
{
    return (double)rng_uniform(&k->rng) < probability;
}

static int number_below(struct copier *k, int n)
{
    return (int)rng_below(&k->rng, (uint32_t)n);
}

static const char *any_of(struct copier *k, const struct value_list *list)
{
    return list->n ? list->items[number_below(k, list->n)] : NULL;
}

static bool has(const struct value_list *list, const char *value)
{
    for (int i = 0; i < list->n; i++)
        if (list->items[i] == value)
            return true;
    return false;
}

/* Returns whether a value of another column fits the column. */
static bool fits(const struct perturb_column *c, const char *value)
{
    bool text = *value == '\'' || *value == 'C', blob = *value == 'x';

    switch (c->family) {
    case FAMILY_INTEGER:
    case FAMILY_BOOLEAN:
        return !text && !blob && !strpbrk(value, ".en");
    case FAMILY_REAL:
        return !text && !blob;
    case FAMILY_BLOB:
        return blob;
    default:
        return text;
    }
}

/* Returns the next constant of the column, or a value near one, in turn; NULL if there is none. */
static const char *constant(struct copier *k, struct perturb_column *c)
{
    const struct value_list *others = c->family == FAMILY_TEXT ? &k->p->texts : &k->p->numbers;
    bool exact = chance(k, 0.5) || !c->neighbours.n;

    if (exact && c->constants.n)
        return c->constants.items[c->turn++ % c->constants.n];
    if (c->neighbours.n)
        return c->neighbours.items[c->near_turn++ % c->neighbours.n];
    const char *value = chance(k, 0.2) ? any_of(k, others) : NULL;
    return value && fits(c, value) ? value : NULL;
}

/* Returns the value of another row of the original, or NULL if that is of no use. */
static const char *neighbour(struct copier *k, const struct perturb_table *t, int column)
{
    if (!t->n_rows)
        return NULL;
    const char *value = t->rows[number_below(k, t->n_rows) * t->n_columns + column - t->first_column];
    return value == k->null ? NULL : value;
}

/* Returns a value that the column's domain already has. Returns NULL if there is none, or if the row should have no
 * partner. */
static const char *partner(struct copier *k, int column)
{
    struct perturb_column *c = &k->p->columns[column], *root = &k->p->columns[perturb_domain(k->p, column)];

    if (root->alike.n == c->used.n)
        return NULL; /* no other value of the domain exists yet */
    if (chance(k, k->recipe->alone > 0 ? k->recipe->alone : 0.15))
        return NULL;
    const char *value = any_of(k, &root->alike);
    return value && fits(c, value) ? value : NULL;
}

/* row: of the original, or -1 for a new row */
static const char *proposal(struct copier *k, const struct perturb_table *t, int column, int row)
{
    struct perturb_column *c = &k->p->columns[column];
    const struct recipe *r = k->recipe;
    const char *own = row < 0 ? NULL : t->rows[row * t->n_columns + column - t->first_column], *value = NULL;

    if (!c->required && chance(k, r->nulls))
        return k->null;
    if (!c->unique && c->used.n >= r->few && chance(k, r->ties))
        return any_of(k, &c->used);
    bool asked = c->constants.n && chance(k, r->constants / 2); /* even if the column has partners */
    value = asked ? constant(k, c) : partner(k, column);
    if (!value && chance(k, r->constants))
        value = constant(k, c);
    if (!value && own && !(own == k->null && (r->filled || c->required)) && !chance(k, r->changed))
        value = own;
    if (!value && !c->unique && chance(k, 0.5) && !(r->filled && own == k->null))
        value = neighbour(k, t, column);
    if (!value)
        value = fresh_value(k->p, &k->rng, c);
    return c->family == FAMILY_TEXT && chance(k, r->odd) ? odd_spelling(k->p, &k->rng, value) : value;
}

static const char *choose(struct copier *k, const struct perturb_table *t, int column, int row)
{
    struct perturb_column *c = &k->p->columns[column], *root = &k->p->columns[perturb_domain(k->p, column)];
    const char *value = NULL;

    if (c->generated)
        return k->null;
    for (int tries = 0; tries < 12; tries++) {
        value = tries < 6 ? proposal(k, t, column, tries < 3 ? row : -1) : fresh_value(k->p, &k->rng, c);
        if (!c->unique || value == k->null || !has(&c->used, value))
            break;
    }
    if (value != k->null) {
        value_list_add(&c->used, value);
        value_list_add(&root->alike, value);
    }
    return value;
}

/* Returns the row that a new row refers to, or -1 if the table is empty. */
static int choose_parent(struct copier *k, const struct perturb_reference *r, int child_row)
{
    int width = k->p->tables[r->parent].n_columns, n = k->rows[r->parent].n / width;

    if (n == 0)
        return -1;
    if (k->recipe->even)
        return (child_row + (int)(r - k->p->references)) % n;
    if (k->recipe->alone > 0)
        return number_below(k, n / 3 + 1);
    int a = number_below(k, n), b = number_below(k, n); /* uneven: some parents get many children, some none */
    return a < b ? a : b;
}

/* Fills in the referencing columns of a row. */
static void set_references(struct copier *k, const struct perturb_reference *r, const char **row, int number)
{
    const struct perturb *p = k->p;
    const struct perturb_table *child = &p->tables[r->child], *parent = &p->tables[r->parent];
    int at = choose_parent(k, r, number);
    double nulls = k->recipe->alone > 0 ? 0.3 : k->recipe->nulls;

    for (int i = 0; i < r->n; i++) {
        int from = r->from[i] - child->first_column, to = r->to[i] - parent->first_column;
        const struct perturb_column *c = &p->columns[r->from[i]];
        if (c->generated)
            continue;
        if (!c->required && (chance(k, nulls) || (at < 0 && r->child == r->parent)))
            row[from] = k->null;
        else if (at >= 0)
            row[from] = k->rows[r->parent].items[at * parent->n_columns + to];
        else if (r->child == r->parent)
            row[from] = row[to];
    }
}

static void write_row(struct copier *k, int table, const char *const *row)
{
    const struct perturb_table *t = &k->p->tables[table];
    const char *comma = "";

    fputs(k->rows[table].n ? ",\n(" : "\n(", k->out);
    for (int c = 0; c < t->n_columns; c++) {
        value_list_add(&k->rows[table], row[c]);
        if (k->p->columns[t->first_column + c].generated)
            continue;
        fprintf(k->out, "%s%s", comma, row[c]);
        comma = ", ";
    }
    fputc(')', k->out);
}

/* Writes the same row with other keys. */
static void write_duplicate(struct copier *k, int table, const char **row)
{
    const struct perturb_table *t = &k->p->tables[table];

    for (int c = 0; c < t->n_columns; c++)
        if (k->p->columns[t->first_column + c].unique)
            row[c] = choose(k, t, t->first_column + c, -1);
    write_row(k, table, row);
}

static void make_row(struct copier *k, int table, int original, int number)
{
    const struct perturb_table *t = &k->p->tables[table];
    const char **row = xcalloc((size_t)t->n_columns + 1, sizeof *row);

    for (int c = 0; c < t->n_columns; c++)
        row[c] = choose(k, t, t->first_column + c, original);
    for (int r = 0; r < k->p->n_references; r++)
        if (k->p->references[r].child == table)
            set_references(k, &k->p->references[r], row, number);
    write_row(k, table, row);
    if (t->checked && original >= 0) { /* its key keeps it out, unless a CHECK kept out the original */
        for (int c = 0; c < t->n_columns; c++)
            if (k->p->columns[t->first_column + c].checked)
                row[c] = t->rows[original * t->n_columns + c];
        write_row(k, table, row);
    }
    if (chance(k, k->recipe->again))
        write_duplicate(k, table, row);
    free(row);
}

static bool is_referred_to(const struct perturb *p, int table)
{
    bool refers = false, is = false;

    for (int r = 0; r < p->n_references; r++) {
        refers = refers || p->references[r].child == table;
        is = is || p->references[r].parent == table;
    }
    return is && !refers;
}

/* Referenced tables have fewer rows, so that several rows share one. */
static int row_count(const struct copier *k, int table)
{
    int n = k->recipe->rows, max = k->p->max_limit + k->p->max_limit / 3 + 3; /* constraints will reject some */

    if (n > 1 && is_referred_to(k->p, table))
        n = n / k->recipe->shared + 1;
    if (k->recipe == &recipes[PERTURB_COPIES - 1] && n < max)
        n = max < MAX_ROWS ? max : MAX_ROWS;
    return k->p->tables[table].checked ? 2 * n : n;
}

/* Returns whether a statement compares a column with a value of this row. */
static bool is_compared(const struct copier *k, const struct perturb_table *t, int row)
{
    for (int c = 0; c < t->n_columns; c++)
        if (has(&k->p->columns[t->first_column + c].constants, t->rows[row * t->n_columns + c]))
            return true;
    return false;
}

/* Returns the numbers of the original's rows in random order. Some of those that statements ask for come first. */
static int *shuffled(struct copier *k, const struct perturb_table *t, int max_first)
{
    int *rows = xcalloc((size_t)t->n_rows + 1, sizeof *rows), first = 0;

    for (int i = 0; i < t->n_rows; i++)
        rows[i] = i;
    rng_shuffle(&k->rng, rows, t->n_rows, sizeof *rows);
    for (int i = 0; i < t->n_rows && first < max_first; i++)
        if (is_compared(k, t, rows[i])) {
            int row = rows[i];
            rows[i] = rows[first];
            rows[first++] = row;
        }
    return rows;
}

static void make_rows(struct copier *k, int table)
{
    const struct perturb_table *t = &k->p->tables[table];
    int n = row_count(k, table), *originals = shuffled(k, t, n / 3);
    const char *comma = "";

    fprintf(k->out, "INSERT OR IGNORE INTO %s (", perturb_quoted(k->p, t->name));
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        if (k->p->columns[c].generated)
            continue;
        fprintf(k->out, "%s%s", comma, perturb_quoted(k->p, k->p->columns[c].name));
        comma = ", ";
    }
    fputs(") VALUES", k->out);
    for (int i = 0; i < n; i++)
        make_row(k, table, i < t->n_rows ? originals[i] : -1, i);
    fputs(";\n", k->out);
    free(originals);
}

/* Deletes rows whose partner was rejected by a key or CHECK. */
static void delete_orphans(struct copier *k, const struct perturb_reference *r)
{
    struct perturb *p = k->p;
    const char *child = perturb_quoted(p, p->tables[r->child].name);

    fprintf(k->out, "DELETE FROM %s WHERE NOT EXISTS (SELECT 1 FROM %s AS \"a partner\" WHERE ", child,
            perturb_quoted(p, p->tables[r->parent].name));
    for (int i = 0; i < r->n; i++)
        fprintf(k->out, "%s\"a partner\".%s = %s.%s", i ? " AND " : "", perturb_quoted(p, p->columns[r->to[i]].name),
                child, perturb_quoted(p, p->columns[r->from[i]].name));
    fputc(')', k->out);
    for (int i = 0; i < r->n; i++)
        fprintf(k->out, " AND %s IS NOT NULL", perturb_quoted(p, p->columns[r->from[i]].name));
    fputs(";\n", k->out);
}

/* Referenced tables come first, so one pass is enough, except for circular references. */
static void delete_all_orphans(struct copier *k)
{
    enum { ROUNDS = 12 };
    const struct perturb *p = k->p;
    bool circle = false;

    for (int r = 0; r < p->n_references; r++)
        circle = circle || p->place[p->references[r].child] <= p->place[p->references[r].parent];
    for (int round = 0; round < (circle ? ROUNDS : 1); round++)
        for (int i = 0; i < p->n_tables; i++)
            for (int r = 0; r < p->n_references; r++)
                if (p->references[r].child == p->order[i])
                    delete_orphans(k, &p->references[r]);
}

static void define_views(struct copier *k)
{
    for (int t = 0; t < k->p->n_tables; t++)
        if (k->p->tables[t].wanted && k->p->tables[t].view)
            fprintf(k->out, "%s;\n", k->p->tables[t].sql);
}

static void make_all(struct copier *k)
{
    struct perturb *p = k->p;
    int number = 0;

    fputs("BEGIN;\n", k->out);
    perturb_define(p, k->out);
    for (int i = 0; i < p->n_tables; i++) {
        bool emptied = k->recipe->emptied && number % 2 == k->recipe->emptied - 1;
        if (!p->tables[p->order[i]].n_columns)
            continue;
        number++;
        if (k->recipe->rows && !emptied)
            make_rows(k, p->order[i]);
    }
    delete_all_orphans(k);
    define_views(k);
    fputs("COMMIT;\n", k->out);
}

char *perturb_script(struct perturb *p, int copy)
{
    char *script = NULL;
    size_t size;
    struct copier k = { .p = p,
                        .recipe = &recipes[copy],
                        .rng = { p->seed, (uint64_t)copy << 40 },
                        .out = open_memstream(&script, &size),
                        .rows = xcalloc((size_t)p->n_tables + 1, sizeof *k.rows),
                        .null = strings_keep(&p->pool, "NULL") };

    CHECK(k.out, "cannot write to memory");
    for (int c = 0; c < p->n_columns; c++) {
        p->columns[c].used.n = p->columns[c].alike.n = 0;
        p->columns[c].turn = p->columns[c].near_turn = TURNS * copy;
    }
    make_all(&k);
    CHECK(fclose(k.out) == 0, "cannot write to memory");
    for (int t = 0; t < p->n_tables; t++)
        free(k.rows[t].items);
    free(k.rows);
    return script;
}

/* --- The set of copies --- */

/* Returns whether all tables that the table refers to are placed. */
static bool can_be_placed(const struct perturb *p, int table, const bool *placed)
{
    for (int k = 0; k < p->n_references; k++)
        if (p->references[k].child == table && p->references[k].parent != table && !placed[p->references[k].parent])
            return false;
    return true;
}

/* With circular references, some table comes before one that it refers to. */
static void put_in_order(struct perturb *p)
{
    bool *placed = xcalloc((size_t)p->n_tables + 1, sizeof *placed);

    p->order = xcalloc((size_t)p->n_tables + 1, sizeof *p->order);
    p->place = xcalloc((size_t)p->n_tables + 1, sizeof *p->place);
    for (int n = 0; n < p->n_tables; n++) {
        int next = -1;
        for (int t = p->n_tables - 1; t >= 0; t--)
            if (!placed[t] && (next < 0 || can_be_placed(p, t, placed) || !can_be_placed(p, next, placed)))
                next = t;
        p->order[n] = next;
        p->place[next] = n;
        placed[next] = true;
    }
    free(placed);
}

/* Constants in CHECK constraints are also candidates for values. */
static void read_statements(struct perturb *p, const char *const *sql, int n)
{
    for (int i = 0; i < n; i++)
        perturb_read_statement(p, sql[i]);
    for (int t = 0; t < p->n_tables; t++) {
        struct perturb_table *table = &p->tables[t];
        table->checked = !table->view && strcasestr(table->sql, "CHECK");
        if (table->wanted && (table->view || table->checked))
            perturb_read_statement(p, table->sql);
        if (table->checked)
            perturb_read_checks(p, table);
    }
}

struct perturb *perturb_open(struct exec_db *db, const char *const *sql, int n, uint64_t seed, struct error *err)
{
    struct perturb *p = xcalloc(1, sizeof *p);

    p->db = db;
    p->seed = seed;
    int rc = perturb_read_definitions(p, err);
    for (int i = 0; i < n && rc == 0; i++)
        perturb_want(p, sql[i]);
    if (rc == 0)
        rc = perturb_read_rules(p, err);
    if (rc == 0)
        rc = perturb_read_rows(p, err);
    if (rc) {
        perturb_close(p);
        return NULL;
    }
    read_statements(p, sql, n);
    perturb_find_neighbours(p);
    put_in_order(p);
    return p;
}

void perturb_close(struct perturb *p)
{
    if (!p)
        return;
    for (int t = 0; t < p->n_tables; t++)
        free(p->tables[t].rows);
    for (int c = 0; c < p->n_columns; c++) {
        free(p->columns[c].constants.items);
        free(p->columns[c].neighbours.items);
        free(p->columns[c].used.items);
        free(p->columns[c].alike.items);
    }
    free(p->tables);
    free(p->columns);
    free(p->references);
    free(p->indexes.items);
    free(p->indexed.items);
    free(p->texts.items);
    free(p->numbers.items);
    free(p->order);
    free(p->place);
    strings_release(&p->pool);
    free(p);
}
