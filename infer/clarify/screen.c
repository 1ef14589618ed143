#include "infer/clarify/screen.h"

#include "data/console/visible.h"
#include "kernels/base.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH = 80, WIDTH_MIN = 20, WIDTH_MAX = 100 };

struct screen screen_open(void)
{
    struct winsize size;
    int width = WIDTH;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
    return (struct screen){ stdout, width };
}

/* One letter at p: how many bytes, how many columns; 0 columns for what is left out. */
static int letter_at(const char *p, int *columns)
{
    const unsigned char *u = (const unsigned char *)p;
    int n = 1;
    uint32_t code = u[0] < 0x80 ? u[0] : u[0] & (0x3fU >> ((u[0] >= 0xe0) + (u[0] >= 0xf0)));

    while ((u[n] & 0xc0) == 0x80)
        code = code << 6 | (u[n++] & 0x3fU);
    bool control = visible_is_control(code) || (code >= 0x200b && code <= 0x200d) || code == 0xfeff;
    bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) || code >= 0x1f300;
    *columns = control ? 0 : wide ? 2 : 1;
    return n;
}

/* The letters up to the next blank that can be shown, at most `room` columns of them; how many bytes were read. */
static size_t next_word(char *word, int room, const char *text, int *columns)
{
    size_t n = 0, kept = 0;

    *columns = 0;
    while (text[n] && text[n] != ' ' && text[n] != '\n' && text[n] != '\t') {
        int wide, bytes = letter_at(text + n, &wide);
        if (*columns + wide > room)
            break;
        if (wide) {
            memcpy(word + kept, text + n, (size_t)bytes);
            kept += (size_t)bytes;
        }
        n += (size_t)bytes;
        *columns += wide;
    }
    word[kept] = 0;
    return n;
}

void screen_print(const struct screen *s, const char *first, const char *rest, const char *text)
{
    char *word = xmalloc(strlen(text) + 1);
    int margin = (int)strlen(rest), at = (int)strlen(first), columns;
    int start = at;

    fputs(first, s->out);
    for (text += strspn(text, " \n\t"); *text; text += strspn(text, " \n\t")) {
        text += next_word(word, s->width - margin > 8 ? s->width - margin : 8, text, &columns);
        if (!columns)
            continue;
        if (at > start && at + 1 + columns > s->width) {
            fprintf(s->out, "\n%s", rest);
            at = start = margin;
        }
        fprintf(s->out, "%s%s", at > start ? " " : "", word);
        at += columns + (at > start);
    }
    fputc('\n', s->out);
    free(word);
}

/* Letters that can be shown, at most SCREEN_CELL columns of them, blanks for tabs and ends of lines; the caller frees.
 */
static char *cell_text(const char *text, int *columns)
{
    char *shown = xmalloc(strlen(text) + sizeof "..."), *to = shown;

    for (*columns = 0; *text;) {
        bool blank = *text == '\n' || *text == '\t';
        int wide, bytes = letter_at(text, &wide);
        if (*columns + wide > SCREEN_CELL) {
            memcpy(to, "...", 3);
            to += 3;
            *columns += 3;
            break;
        }
        if (wide || blank)
            memcpy(to, blank ? " " : text, (size_t)bytes);
        to += wide || blank ? bytes : 0;
        *columns += blank ? 1 : wide;
        text += bytes;
    }
    *to = '\0';
    return shown;
}

/* A table while it is laid out. */
struct table {
    char **cells;        /* [rows * columns] as they are shown, then */
    int *widths, *width; /* those of the cells, and [columns] of the columns */
    int rows, columns, total;
};

static void lay_out(struct table *t, char *const *cells, int rows, int columns)
{
    size_t n = (size_t)rows * (size_t)columns + 1;

    *t = (struct table){ .rows = rows, .columns = columns };
    t->cells = xcalloc(n, sizeof *t->cells);
    t->widths = xcalloc(n, sizeof *t->widths);
    t->width = xcalloc((size_t)columns + 1, sizeof *t->width);
    for (int i = 0; i < rows * columns; i++) {
        t->cells[i] = cell_text(cells[i], &t->widths[i]);
        if (t->widths[i] > t->width[i % columns])
            t->width[i % columns] = t->widths[i];
    }
    for (int c = 0; c < columns; c++)
        t->total += t->width[c] + (c ? 2 : 0);
}

static void print_aligned(const struct screen *s, const struct table *t, const bool *numeric, int row)
{
    for (int c = 0; c < t->columns; c++) {
        int i = row * t->columns + c, gap = t->width[c] - t->widths[i];
        bool last = c + 1 == t->columns;
        fprintf(s->out, "%s%*s%s%*s", c ? "  " : "", numeric[c] ? gap : 0, "", t->cells[i],
                numeric[c] || last ? 0 : gap, "");
    }
    fputc('\n', s->out);
}

static void print_wrapped(const struct screen *s, const struct table *t, const char *first, const char *rest, int row)
{
    char *line = NULL;
    size_t size;
    FILE *f = open_memstream(&line, &size);

    CHECK(f, "no memory for a row");
    for (int c = 0; c < t->columns; c++)
        fprintf(f, "%s%s", c ? " | " : "", t->cells[row * t->columns + c]);
    fclose(f);
    screen_print(s, first, rest, line);
    free(line);
}

void screen_table(const struct screen *s, const char *first, const char *rest, char *const *cells, const bool *numeric,
                  int rows, int columns)
{
    struct table t;

    lay_out(&t, cells, rows, columns);
    for (int row = 0; row < rows; row++) {
        const char *head = row ? rest : first;
        if ((int)strlen(head) + t.total > s->width) {
            print_wrapped(s, &t, head, rest, row);
            continue;
        }
        fputs(head, s->out);
        print_aligned(s, &t, numeric, row);
    }
    for (int i = 0; i < rows * columns; i++)
        free(t.cells[i]);
    free(t.cells);
    free(t.widths);
    free(t.width);
}

void screen_say(const struct screen *s, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    CHECK(vasprintf(&text, fmt, args) >= 0, "out of memory");
    va_end(args);
    screen_print(s, "", "", text);
    free(text);
}
