#include "data/schema/schema_drawing.h"

#include "data/base/report.h"
#include "data/base/text_fold.h"

#include <stdlib.h>

enum {
    ACROSS = 3, /* boxes in a row */
    WIDTH = 230,
    ASIDE = 36, /* space between boxes */
    BELOW = 26, /* space between rows of boxes */
    MARGIN = 22,
    LINE = 18,
    PLACES = 25, /* maximum width of a name in characters; wider characters are clipped */
    TITLE = 200, /* maximum characters of the tooltip with the full name */
};

const char schema_drawing_style[] =
    ".schema{overflow-x:auto}.schema svg{max-width:none;font:13px system-ui,sans-serif}"
    ".schema text{fill:currentColor}.schema .name{font-weight:600}.schema .soft{opacity:.7}"
    ".schema .box,.schema .key{fill:none;stroke:currentColor;stroke-opacity:.45}"
    ".schema .named{fill:#e69f00;fill-opacity:.4}.schema .gold{fill:none;stroke:#2a8fd0;stroke-width:2}";

/* Priority of a table or column: lower ranks are shown first. */
enum rank { MARKED, BESIDE, OTHER, LEFT_OUT };

struct box {
    int table, x, y;
    int columns[SCHEMA_DRAWN_COLUMNS], n_columns;
};

struct drawing {
    const struct schema *schema;
    const uint8_t *marks;
    uint8_t *tables, *columns; /* rank of each */
    struct box boxes[SCHEMA_DRAWN_TABLES];
    int n_boxes;
    int *box; /* [n_tables] number of its box; -1: not shown */
    int width, height;
    struct strings text;
};

static int mark_of(const struct drawing *d, int node)
{
    return d->marks ? d->marks[node] : 0;
}

static int mark_of_column(const struct drawing *d, int column)
{
    return mark_of(d, d->schema->n_tables + column);
}

/* Omits everything but the first `max` by rank, and ranks behind `last`. */
static void keep_first(uint8_t *rank, int n, int max, enum rank last)
{
    int kept = 0;

    for (enum rank r = MARKED; r < LEFT_OUT; r++)
        for (int i = 0; i < n; i++)
            if (rank[i] == r && (r > last || kept++ >= max))
                rank[i] = LEFT_OUT;
}

static void rank_columns(struct drawing *d)
{
    const struct schema *s = d->schema;

    for (int i = 0; i < s->n_columns; i++)
        d->columns[i] = mark_of_column(d, i) ? MARKED : s->columns[i].primary ? BESIDE : OTHER;
    for (int i = 0; i < s->n_foreign_keys; i++) {
        const int ends[] = { s->foreign_keys[i].from, s->foreign_keys[i].to };
        for (int k = 0; k < 2; k++)
            if (d->columns[ends[k]] == OTHER)
                d->columns[ends[k]] = BESIDE;
    }
    for (int t = 0; t < s->n_tables; t++) {
        const struct schema_table *table = &s->tables[t];
        keep_first(d->columns + table->first_column, table->n_columns, SCHEMA_DRAWN_COLUMNS, OTHER);
    }
}

/* Ranks the tables.  Returns whether any table or column is marked. */
static bool rank_tables(struct drawing *d)
{
    const struct schema *s = d->schema;
    bool any = false;

    for (int t = 0; t < s->n_tables; t++)
        d->tables[t] = mark_of(d, t) ? MARKED : OTHER;
    for (int i = 0; i < s->n_columns; i++)
        if (mark_of_column(d, i))
            d->tables[s->columns[i].table] = MARKED;
    for (int i = 0; i < s->n_foreign_keys; i++) {
        int a = s->columns[s->foreign_keys[i].from].table, b = s->columns[s->foreign_keys[i].to].table;
        if (d->tables[a] == MARKED && d->tables[b] == OTHER)
            d->tables[b] = BESIDE;
        if (d->tables[b] == MARKED && d->tables[a] == OTHER)
            d->tables[a] = BESIDE;
    }
    for (int t = 0; t < s->n_tables; t++)
        any = any || d->tables[t] == MARKED;
    return any;
}

static void choose(struct drawing *d)
{
    const struct schema *s = d->schema;

    rank_columns(d);
    bool marked = rank_tables(d), wide = s->n_tables > SCHEMA_DRAWN_TABLES;
    keep_first(d->tables, s->n_tables, SCHEMA_DRAWN_TABLES, wide && marked ? BESIDE : OTHER);
    for (int t = 0; t < s->n_tables; t++) {
        d->box[t] = d->tables[t] == LEFT_OUT ? -1 : d->n_boxes;
        if (d->box[t] < 0)
            continue;
        struct box *b = &d->boxes[d->n_boxes++];
        b->table = t;
        for (int i = s->tables[t].first_column; i < s->tables[t].first_column + s->tables[t].n_columns; i++)
            if (d->columns[i] != LEFT_OUT)
                b->columns[b->n_columns++] = i;
    }
}

static int columns_left_out(const struct drawing *d, const struct box *b)
{
    return d->schema->tables[b->table].n_columns - b->n_columns;
}

static int height_of(const struct drawing *d, const struct box *b)
{
    return (1 + b->n_columns + (columns_left_out(d, b) > 0)) * LINE + 8;
}

static void place(struct drawing *d)
{
    int y = MARGIN / 2, tallest = 0;

    for (int i = 0; i < d->n_boxes; i++) {
        struct box *b = &d->boxes[i];
        if (i && i % ACROSS == 0) {
            y += tallest + BELOW;
            tallest = 0;
        }
        b->x = MARGIN + i % ACROSS * (WIDTH + ASIDE);
        b->y = y;
        tallest = height_of(d, b) > tallest ? height_of(d, b) : tallest;
    }
    int across = d->n_boxes < ACROSS ? d->n_boxes : ACROSS;
    d->width = 2 * MARGIN + across * (WIDTH + ASIDE);
    d->height = y + tallest + MARGIN / 2 + (d->n_boxes < d->schema->n_tables ? LINE : 0);
}

/* Draws a row of a box in the box's coordinates; row 0 is the name of the table. */
static void draw_row(FILE *f, struct drawing *d, int row, int mark, const char *name)
{
    const char *shown = text_shorten(&d->text, name, PLACES);
    int y = 4 + row * LINE;

    if (mark & SCHEMA_NAMED)
        fprintf(f, "<rect class=\"named\" x=\"3\" y=\"%d\" width=\"%d\" height=\"%d\"/>", y, WIDTH - 6, LINE);
    if (mark & SCHEMA_GOLD)
        fprintf(f, "<rect class=\"gold\" x=\"3\" y=\"%d\" width=\"%d\" height=\"%d\"/>", y, WIDTH - 6, LINE);
    fprintf(f, "<text%s x=\"8\" y=\"%d\">", row ? "" : " class=\"name\"", y + 13);
    html_text(f, shown);
    if (shown != name) {
        fputs("<title>", f);
        html_text(f, text_shorten(&d->text, name, TITLE));
        fputs("</title>", f);
    }
    fputs("</text>\n", f);
}

static void draw_more(FILE *f, int x, int y, int n, const char *what)
{
    if (n > 0)
        fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\">and %d more %s%s</text>\n", x, y, n, what, n > 1 ? "s" : "");
}

static void draw_box(FILE *f, struct drawing *d, const struct box *b)
{
    const struct schema *s = d->schema;
    int height = height_of(d, b);

    fprintf(f,
            "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">"
            "<rect class=\"box\" x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" rx=\"4\"/>",
            b->x, b->y, WIDTH, height, WIDTH - 1, height - 1);
    draw_row(f, d, 0, mark_of(d, b->table), s->tables[b->table].name);
    for (int i = 0; i < b->n_columns; i++)
        draw_row(f, d, i + 1, mark_of_column(d, b->columns[i]), s->columns[b->columns[i]].name);
    draw_more(f, 8, 17 + (1 + b->n_columns) * LINE, columns_left_out(d, b), "column");
    fputs("</svg>\n", f);
}

/* The height at which the line of a key meets its box.  It is the row of the column, or the last row if the column is
 * not shown. */
static int end_of(const struct box *b, int column)
{
    int row = 0;

    while (row < b->n_columns && b->columns[row] != column)
        row++;
    return b->y + 12 + (row + 1) * LINE;
}

/* Draws the line from side to side, or on the left if one box is above the other. */
static void draw_key(FILE *f, const struct drawing *d, int from, int to)
{
    const struct schema *s = d->schema;
    const struct box *a = &d->boxes[d->box[s->columns[from].table]], *b = &d->boxes[d->box[s->columns[to].table]];
    int right = a->x<b->x, left = a->x> b->x;
    int x = a->x + right * WIDTH, y = end_of(a, from), x_end = b->x + left * WIDTH, y_end = end_of(b, to);
    int bend = right ? ASIDE / 2 : -ASIDE / 2, bend_end = left ? ASIDE / 2 : -ASIDE / 2;

    fprintf(f, "<path class=\"key\" d=\"M%d %dC%d %d %d %d %d %d\"/>\n", x, y, x + bend, y, x_end + bend_end, y_end,
            x_end, y_end);
}

static void draw_keys(FILE *f, const struct drawing *d)
{
    const struct schema *s = d->schema;

    for (int i = 0, n = 0; i < s->n_foreign_keys && n < SCHEMA_DRAWN_KEYS; i++) {
        int from = s->foreign_keys[i].from, to = s->foreign_keys[i].to;
        if (d->box[s->columns[from].table] < 0 || d->box[s->columns[to].table] < 0)
            continue;
        draw_key(f, d, from, to);
        n++;
    }
}

static void write_drawing(FILE *f, struct drawing *d)
{
    fprintf(
        f,
        "<div class=\"schema\" tabindex=\"0\"><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"schema of ",
        d->width, d->height, d->width, d->height);
    html_text(f, text_shorten(&d->text, d->schema->db_id, TITLE));
    fputs("\">\n", f);
    for (int i = 0; i < d->n_boxes; i++)
        draw_box(f, d, &d->boxes[i]);
    draw_keys(f, d);
    draw_more(f, MARGIN, d->height - 8, d->schema->n_tables - d->n_boxes, "table");
    fputs("</svg></div>\n", f);
}

void schema_draw(FILE *f, const struct schema *s, const uint8_t *marks)
{
    struct drawing d = { .schema = s,
                         .marks = marks,
                         .tables = xcalloc((size_t)s->n_tables + 1, 1),
                         .columns = xcalloc((size_t)s->n_columns + 1, 1),
                         .box = xcalloc((size_t)s->n_tables + 1, sizeof *d.box) };

    choose(&d);
    place(&d);
    write_drawing(f, &d);
    free(d.tables);
    free(d.columns);
    free(d.box);
    strings_release(&d.text);
}
