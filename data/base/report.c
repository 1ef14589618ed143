#include "data/base/report.h"

#include "data/base/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#222;--soft:#666;--line:#ccc;--fill:#0072b2;--paper:#fff}"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--soft:#999;--line:#444;--fill:#56b4e9;--paper:#181818}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);"
    "background:var(--paper);overflow-wrap:break-word}"
    ".verdict{font-size:1.15em;border-left:4px solid var(--fill);padding-left:.8rem}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}caption{text-align:left;font-weight:600;padding:.3rem 0}"
    "th,td{border-bottom:1px solid var(--line);padding:.2rem .8rem;text-align:left}"
    ".wide{overflow-x:auto}pre{overflow-x:auto;font-size:13px}"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    "figure{margin:1rem 0 2rem}figcaption{font-weight:600}svg{max-width:100%;height:auto;font-size:12px}"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:0 1.2rem;margin:.3rem 0;padding:0;font-size:13px}"
    ".legend svg{margin-right:.4rem;vertical-align:middle}"
    "svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line);stroke-width:1}"
    "svg .bar{fill:var(--fill)}svg .ink{stroke:var(--ink);stroke-width:1.5;fill:none}"
    "svg .own{stroke:var(--fill);stroke-width:2;fill:none}svg .other{stroke:var(--soft);opacity:.45;fill:none}"
    "footer{color:var(--soft);font-size:13px}"
    "@media(max-width:40rem){svg{overflow:visible}svg.fitted{font-size:20px}svg.fitted path{stroke-width:3}svg.broad{min-width:34rem;font-size:15px}}";

void html_text(FILE *f, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", f);
            break;
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        case '\'':
            fputs("&#39;", f);
            break;
        default:
            if ((unsigned char)*text >= 0x20 || *text == '\n' || *text == '\t')
                fputc(*text, f);
            else
                fputs("\xef\xbf\xbd", f); /* U+FFFD replaces control characters */
        }
}

static void tagged(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    html_text(f, text);
    fprintf(f, "</%s>\n", tag);
}

int report_open(struct report *r, const char *path, const char *title, const char *verdict, struct error *err)
{
    if (out_file_open(&r->out, path, err))
        return -1;
    FILE *f = r->out.f;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          f);
    tagged(f, "title", title);
    fprintf(f, "<style>%s</style>\n</head>\n<body>\n<main>\n", style);
    tagged(f, "h1", title);
    fputs("<p class=\"verdict\">", f);
    html_text(f, verdict);
    fputs("</p>\n", f);
    return 0;
}

int report_close(struct report *r, struct error *err)
{
    fprintf(r->out.f, "</main>\n<footer>ambit %s, commit %s</footer>\n</body>\n</html>\n", build_version(),
            build_commit());
    return out_file_commit(&r->out, err);
}

void report_abort(struct report *r)
{
    out_file_abort(&r->out);
}

void report_heading(struct report *r, const char *text)
{
    tagged(r->out.f, "h2", text);
}

void report_text(struct report *r, const char *text)
{
    tagged(r->out.f, "p", text);
}

/* Tells whether a cell is a number, perhaps with an interval, or a dash for none. */
static bool is_number(const char *cell)
{
    char *end;

    strtod(cell, &end);
    return strcmp(cell, "-") == 0 || (end != cell && (*end == '\0' || strncmp(end, " [", 2) == 0));
}

static bool is_numeric(const char *const *cells, int column, int n_columns, int n_rows)
{
    bool numeric = n_rows > 0;

    for (int i = 0; i < n_rows; i++)
        numeric = numeric && is_number(cells[i * n_columns + column]);
    return numeric;
}

static void write_cell(FILE *f, const char *tag, bool numeric, const char *text)
{
    fprintf(f, "<%s%s>", tag, numeric ? " class=\"n\"" : "");
    html_text(f, text);
    fprintf(f, "</%.2s>", tag);
}

void report_table(struct report *r, const char *title, const char *const *columns, int n_columns,
                  const char *const *cells, int n_rows)
{
    bool *numeric = xcalloc((size_t)n_columns + 1, sizeof *numeric);
    FILE *f = r->out.f;

    for (int j = 0; j < n_columns; j++)
        numeric[j] = is_numeric(cells, j, n_columns, n_rows);
    fputs("<div class=\"wide\" tabindex=\"0\"><table>\n", f);
    tagged(f, "caption", title);
    fputs("<thead><tr>", f);
    for (int j = 0; j < n_columns; j++)
        write_cell(f, *columns[j] ? "th scope=\"col\"" : "td", numeric[j], columns[j]);
    fputs("</tr></thead>\n<tbody>\n", f);
    for (int i = 0; i < n_rows; i++) {
        fputs("<tr>", f);
        for (int j = 0; j < n_columns; j++)
            write_cell(f, "td", numeric[j], cells[i * n_columns + j]);
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n", f);
    free(numeric);
}

void report_folded(struct report *r, const char *title, const char *text)
{
    fputs("<details>\n", r->out.f);
    tagged(r->out.f, "summary", title);
    tagged(r->out.f, "pre", text);
    fputs("</details>\n", r->out.f);
}

FILE *report_figure(struct report *r, const char *title)
{
    fputs("<figure>\n", r->out.f);
    tagged(r->out.f, "figcaption", title);
    return r->out.f;
}

void report_figure_end(struct report *r)
{
    fputs("</figure>\n", r->out.f);
}

void report_style(struct report *r, const char *css)
{
    fprintf(r->out.f, "<style>%s</style>\n", css);
}

/* Larger numbers are not measurements, and their differences would overflow. */
static bool is_drawable(double v)
{
    return fabs(v) <= 1e100;
}

/* Charts on narrow screens: small ones fit, fitted ones get larger letters, broad ones scroll. */
enum chart_size { CHART_SMALL, CHART_FITTED, CHART_BROAD };

static void figure_caption(FILE *f, const char *title, enum chart_size size)
{
    fprintf(f, "<figure%s>\n", size == CHART_BROAD ? " class=\"wide\" tabindex=\"0\"" : "");
    tagged(f, "figcaption", title);
}

/* Writes the head of an <svg> of width and height in user units, up to its name for screen readers, to which the caller
 * may add. */
static void figure_name(FILE *f, const char *title, enum chart_size size, int width, int height)
{
    static const char *const classes[] = { "", " class=\"fitted\"", " class=\"broad\"" };

    fprintf(f, "<svg%s viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"", classes[size],
            width, height, width, height);
    html_text(f, title);
}

static void figure_end(FILE *f)
{
    fputs("</svg>\n</figure>\n", f);
}

static void confusion_cell(FILE *f, int x, int y, int64_t count, int64_t row, const char *word)
{
    double share = row ? (double)count / (double)row : 0;
    fprintf(f, "<rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"118\" height=\"68\" opacity=\"%.3f\"/>", x, y,
            0.08 + 0.62 * share);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"18\">%lld</text>", x + 59, y + 32,
            (long long)count);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s, %.1f %%</text>\n", x + 59, y + 52, word,
            100 * share);
}

void report_confusion(struct report *r, const char *title, struct confusion c)
{
    FILE *f = r->out.f;
    figure_caption(f, title, CHART_SMALL);
    figure_name(f, title, CHART_SMALL, 360, 190);
    fprintf(f, "; %lld found, %lld missed, %lld false alarms, %lld rightly no\">\n", (long long)c.tp, (long long)c.fn,
            (long long)c.fp, (long long)c.tn);
    fputs("<text x=\"179\" y=\"20\" text-anchor=\"middle\">said yes</text>"
          "<text x=\"299\" y=\"20\" text-anchor=\"middle\">said no</text>"
          "<text x=\"110\" y=\"68\" text-anchor=\"end\">is yes</text>"
          "<text x=\"110\" y=\"138\" text-anchor=\"end\">is no</text>\n",
          f);
    confusion_cell(f, 120, 30, c.tp, c.tp + c.fn, "found");
    confusion_cell(f, 240, 30, c.fn, c.tp + c.fn, "missed");
    confusion_cell(f, 120, 100, c.fp, c.fp + c.tn, "false alarm");
    confusion_cell(f, 240, 100, c.tn, c.fp + c.tn, "rightly no");
    figure_end(f);
}

void report_reliability(struct report *r, const char *title, const struct reliability *bins)
{
    enum { SIDE = 300, LEFT = 50, TOP = 10 };
    FILE *f = r->out.f;
    double width = (double)SIDE / STATS_BINS, ece = stats_ece(bins);
    char error[32] = "no examples";

    if (is_drawable(ece))
        snprintf(error, sizeof error, "ECE %.4f", ece);
    figure_caption(f, title, CHART_SMALL);
    figure_name(f, title, CHART_SMALL, LEFT + SIDE + 20, TOP + SIDE + 50);
    fprintf(f, "; %s\">\n", error);
    for (int i = 0; i <= 4; i++) {
        double at = SIDE * (i / 4.0);
        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, LEFT + SIDE,
                TOP + SIDE - at, TOP + SIDE - at);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>", LEFT - 6, TOP + SIDE - at + 4, i / 4.0);
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.2f</text>\n", LEFT + at, TOP + SIDE + 18,
                i / 4.0);
    }
    for (int b = 0; b < STATS_BINS; b++)
        if (bins->n[b])
            fprintf(f,
                    "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                    "<title>%d examples, score %.3f, share of yes %.3f</title></rect>\n",
                    LEFT + b * width + 1, TOP + SIDE * (1 - bins->accuracy[b]), width - 2, SIDE * bins->accuracy[b],
                    bins->n[b], bins->confidence[b], bins->accuracy[b]);
    fprintf(f, "<line class=\"ink\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke-dasharray=\"4 4\"/>", LEFT,
            TOP + SIDE, LEFT + SIDE, TOP);
    fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">score; bars: share of yes, %s</text>\n",
            LEFT + SIDE / 2, TOP + SIDE + 38, error);
    figure_end(f);
}

/* Curves and bars. */

struct range {
    double low, high;
};
/* Tick labels at (first + i) * step.  The step is 1, 2 or 5 times a power of ten, with about five ticks. */
struct ticks {
    double first, step;
    int n;
};

enum { WIDTH = 720, HEIGHT = 320, LEFT = 64, RIGHT = 16, TOP = 28, BOTTOM = 48, POINTS = 800 };

/* A palette for all kinds of colour vision (Okabe and Ito). */
static const char *const palette[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#888888" };

static void extend(struct range *r, double v)
{
    r->low = fmin(r->low, v);
    r->high = fmax(r->high, v);
}

static struct range settle(struct range r)
{
    if (r.low > r.high)
        return (struct range){ 0, 1 };
    if (r.high - r.low <= 1e-12 * fmax(fabs(r.low), fabs(r.high)))
        return (struct range){ r.low - fmax(fabs(r.low), 1) / 2, r.high + fmax(fabs(r.high), 1) / 2 };
    return r;
}

static struct ticks ticks_of(struct range r)
{
    double raw = (r.high - r.low) / 5, power = pow(10, floor(log10(raw))), lead = raw / power;
    struct ticks t = { .step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10) };
    t.first = ceil(r.low / t.step) + 0.0; /* avoids -0 */
    t.n = (int)(floor(r.high / t.step + 1e-9) - t.first) + 1;
    return t;
}

static double place_x(struct range r, double v)
{
    return LEFT + (v - r.low) / (r.high - r.low) * (WIDTH - LEFT - RIGHT);
}

static double place_y(struct range r, double v)
{
    return HEIGHT - BOTTOM - (v - r.low) / (r.high - r.low) * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(FILE *f, struct range x, struct range y, const char *x_label, const char *y_label)
{
    struct ticks t = ticks_of(y);

    fputs("<text class=\"soft\" x=\"4\" y=\"14\">", f);
    html_text(f, y_label);
    fputs("</text>\n", f);
    for (int i = 0; i < t.n; i++) {
        double v = (t.first + i) * t.step, at = place_y(y, v);
        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, WIDTH - RIGHT, at, at);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6, at + 4, v);
    }
    t = ticks_of(x);
    for (int i = 0; i < t.n; i++) {
        double v = (t.first + i) * t.step;
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>\n", place_x(x, v),
                HEIGHT - BOTTOM + 18, v);
    }
    fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH) / 2, HEIGHT - 8);
    html_text(f, x_label);
    fputs("</text>\n", f);
}

/* The colour of a curve.  Curves beyond the palette repeat the colours with dashed lines. */
static const char *colour_of(int i)
{
    return palette[i % ARRAY_LEN(palette)];
}

static const char *dash_of(int i)
{
    return i < ARRAY_LEN(palette) ? "" : " stroke-dasharray=\"6 3\"";
}

static void draw_whiskers(FILE *f, const struct curve *c, struct range x, struct range y, const char *colour)
{
    for (int i = 0; i < c->n && c->low && c->high; i++)
        if (is_drawable(c->x[i]) && is_drawable(c->low[i]) && is_drawable(c->high[i]))
            fprintf(f,
                    "<path stroke=\"%s\" stroke-width=\"1\" opacity=\"0.5\" d=\"M%.1f %.1fV%.1f\">"
                    "<title>%.4g to %.4g</title></path>\n",
                    colour, place_x(x, c->x[i]), place_y(y, c->low[i]), place_y(y, c->high[i]), c->low[i], c->high[i]);
}

/* Averages neighbouring points if there are more than a screen can show. */
static void draw_curve(FILE *f, const struct curve *c, struct range x, struct range y, int number)
{
    int group = (c->n + POINTS - 1) / POINTS;
    bool pen_down = false;
    fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s d=\"", colour_of(number), dash_of(number));
    for (int i = 0; i < c->n; i += group) {
        double sx = 0, sy = 0;
        int n = i + group <= c->n ? group : c->n - i;
        for (int k = i; k < i + n; k++) {
            sx += c->x[k];
            sy += c->y[k];
        }
        bool shown = is_drawable(sx) && is_drawable(sy);
        if (shown)
            fprintf(f, "%c%.1f %.1f", pen_down ? 'L' : 'M', place_x(x, sx / n), place_y(y, sy / n));
        pen_down = shown;
    }
    fputs("\"><title>", f);
    html_text(f, c->name);
    fputs("</title></path>\n", f);
    draw_whiskers(f, c, x, y, colour_of(number));
}

static void write_legend(FILE *f, const struct curve *curves, int n)
{
    fputs("<ul class=\"legend\">\n", f);
    for (int i = 0; i < n; i++) {
        fprintf(f,
                "<li><svg width=\"28\" height=\"8\" aria-hidden=\"true\"><path stroke=\"%s\" stroke-width=\"4\"%s "
                "d=\"M0 4h28\"/></svg>",
                colour_of(i), dash_of(i));
        html_text(f, curves[i].name);
        fputs("</li>\n", f);
    }
    fputs("</ul>\n", f);
}

/* Names the last point of each curve. */
static void tell_ends(FILE *f, const struct curve *curves, int n, const char *x_label)
{
    for (int i = 0; i < n; i++) {
        const struct curve *c = &curves[i];
        int last = c->n - 1;
        while (last >= 0 && (!is_drawable(c->x[last]) || !is_drawable(c->y[last])))
            last--;
        if (last < 0)
            continue;
        fputs("; ", f);
        html_text(f, c->name);
        fprintf(f, ": %.4g at ", c->y[last]);
        html_text(f, x_label);
        fprintf(f, " %.6g", c->x[last]);
    }
}

/* The ranges of all finite points and whiskers of n curves; never empty. */
static void curves_ranges(const struct curve *curves, int n, struct range *x, struct range *y)
{
    *x = *y = (struct range){ HUGE_VAL, -HUGE_VAL };
    for (int i = 0; i < n; i++)
        for (int k = 0; k < curves[i].n; k++) {
            const struct curve *c = &curves[i];
            if (!is_drawable(c->x[k]) || !is_drawable(c->y[k]))
                continue;
            extend(x, c->x[k]);
            extend(y, c->y[k]);
            if (c->low && c->high && is_drawable(c->low[k]) && is_drawable(c->high[k])) {
                extend(y, c->low[k]);
                extend(y, c->high[k]);
            }
        }
    *x = settle(*x);
    *y = settle(*y);
}

void report_curves(struct report *r, const char *title, const char *x_label, const char *y_label,
                   const struct curve *curves, int n)
{
    FILE *f = r->out.f;
    struct range x, y;

    curves_ranges(curves, n, &x, &y);
    figure_caption(f, title, CHART_FITTED);
    if (n > 1)
        write_legend(f, curves, n);
    figure_name(f, title, CHART_FITTED, WIDTH, HEIGHT);
    tell_ends(f, curves, n, x_label);
    fputs("\">\n", f);
    draw_axes(f, x, y, x_label, y_label);
    for (int i = 0; i < n; i++)
        draw_curve(f, &curves[i], x, y, i);
    figure_end(f);
}

enum { BARS_TOP = 12 };

/* Draws a row of a bar chart; scale is user units for each unit of value. */
static void draw_bar(FILE *f, int row, const char *name, double value, double scale)
{
    enum { NAME = 200 };
    int y = BARS_TOP + 26 * row;
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", NAME - 8, y + 14);
    html_text(f, name);
    fputs("</text>", f);
    if (is_drawable(value))
        fprintf(f, "<rect class=\"bar\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"18\" opacity=\"0.7\"/>", NAME, y,
                fmax(value, 0) * scale);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", WIDTH - RIGHT, y + 14);
    fprintf(f, is_drawable(value) ? "%.4g" : "undefined", value);
    fputs("</text>\n", f);
}

/* Adds a bar to the name of the chart. */
static void tell_bar(FILE *f, const char *name, double value)
{
    fputs("; ", f);
    html_text(f, name);
    fprintf(f, is_drawable(value) ? ": %.4g" : ": undefined", value);
}

void report_bars(struct report *r, const char *title, const char *const *names, const double *values, const double *low,
                 const double *high, int n)
{
    enum { NAME = 200, VALUE = 80 };
    FILE *f = r->out.f;
    double max = 0;
    for (int i = 0; i < n; i++) {
        max = is_drawable(values[i]) ? fmax(max, values[i]) : max;
        max = high && is_drawable(high[i]) ? fmax(max, high[i]) : max;
    }
    double scale = (WIDTH - NAME - VALUE) / (max > 0 && max < 1 ? 1 : fmax(max, 1e-300));
    figure_caption(f, title, CHART_BROAD);
    figure_name(f, title, CHART_BROAD, WIDTH, BARS_TOP + 26 * n + 8);
    for (int i = 0; i < n; i++)
        tell_bar(f, names[i], values[i]);
    fputs("\">\n", f);
    for (int i = 0; i < n; i++) {
        draw_bar(f, i, names[i], values[i], scale);
        if (low && high && is_drawable(low[i]) && is_drawable(high[i]))
            fprintf(f, "<path class=\"ink\" d=\"M%.1f %dH%.1f\"><title>%.4g to %.4g</title></path>\n",
                    NAME + fmax(low[i], 0) * scale, BARS_TOP + 26 * i + 9, NAME + fmax(high[i], 0) * scale, low[i],
                    high[i]);
    }
    figure_end(f);
}

/* Small charts side by side. */

enum {
    ACROSS = 3,
    PANEL_WIDTH = 240,
    PANEL_HEIGHT = 172,
    PANEL_LEFT = 40,
    PANEL_RIGHT = 10,
    PANEL_TOP = 26,
    PANEL_BOTTOM = 26,
    FOOT = 20
};

/* The position of a panel and its axis ranges. */
struct panel {
    int left, top;
    struct range x, y;
};

static double panel_x(const struct panel *p, double v)
{
    return p->left + PANEL_LEFT + (v - p->x.low) / (p->x.high - p->x.low) * (PANEL_WIDTH - PANEL_LEFT - PANEL_RIGHT);
}

static double panel_y(const struct panel *p, double v)
{
    return p->top + PANEL_HEIGHT - PANEL_BOTTOM -
           (v - p->y.low) / (p->y.high - p->y.low) * (PANEL_HEIGHT - PANEL_TOP - PANEL_BOTTOM);
}

static void draw_frame(FILE *f, const struct panel *p, const char *name)
{
    struct ticks t = ticks_of(p->y);

    fprintf(f, "<text font-weight=\"600\" x=\"%d\" y=\"%d\">", p->left + PANEL_LEFT, p->top + 16);
    html_text(f, name);
    fputs("</text>\n", f);
    for (int i = 0; i < t.n; i++) {
        double v = (t.first + i) * t.step, at = panel_y(p, v);
        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", p->left + PANEL_LEFT,
                p->left + PANEL_WIDTH - PANEL_RIGHT, at, at);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", p->left + PANEL_LEFT - 5, at + 4, v);
    }
    t = ticks_of(p->x);
    for (int i = 0; i < t.n; i++) {
        double v = (t.first + i) * t.step;
        if (p->x.high - p->x.low < 2 || fabs(v - round(v)) < 1e-9) /* counts need no fractional ticks */
            fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", panel_x(p, v),
                    p->top + PANEL_HEIGHT - PANEL_BOTTOM + 16, v);
    }
}

static void draw_line(FILE *f, const struct panel *p, const struct curve *c, const char *class)
{
    bool pen_down = false;

    fprintf(f, "<path class=\"%s\" d=\"", class);
    for (int i = 0; i < c->n; i++) {
        bool shown = is_drawable(c->x[i]) && is_drawable(c->y[i]);
        if (shown)
            fprintf(f, "%c%.1f %.1f", pen_down ? 'L' : 'M', panel_x(p, c->x[i]), panel_y(p, c->y[i]));
        pen_down = shown;
    }
    fputs("\"><title>", f);
    html_text(f, c->name);
    fputs("</title></path>\n", f);
}

static void draw_panel_whiskers(FILE *f, const struct panel *p, const struct curve *c)
{
    for (int i = 0; i < c->n && c->low && c->high; i++)
        if (is_drawable(c->x[i]) && is_drawable(c->low[i]) && is_drawable(c->high[i]))
            fprintf(f, "<path class=\"own\" opacity=\"0.5\" d=\"M%.1f %.1fV%.1f\"><title>%.4g to %.4g</title></path>\n",
                    panel_x(p, c->x[i]), panel_y(p, c->low[i]), panel_y(p, c->high[i]), c->low[i], c->high[i]);
}

static void draw_panel(FILE *f, const struct panel *p, const struct curve *curves, int n, int own)
{
    draw_frame(f, p, curves[own].name);
    for (int i = 0; i < n; i++)
        if (i != own)
            draw_line(f, p, &curves[i], "other");
    draw_panel_whiskers(f, p, &curves[own]);
    draw_line(f, p, &curves[own], "own");
}

void report_panels(struct report *r, const char *title, const char *x_label, const struct curve *curves, int n)
{
    FILE *f = r->out.f;
    struct panel p;
    int rows = (n + ACROSS - 1) / ACROSS;

    curves_ranges(curves, n, &p.x, &p.y);
    figure_caption(f, title, CHART_BROAD);
    figure_name(f, title, CHART_BROAD, ACROSS * PANEL_WIDTH, rows * PANEL_HEIGHT + FOOT);
    tell_ends(f, curves, n, x_label);
    fputs("\">\n", f);
    for (int i = 0; i < n; i++) {
        p.left = i % ACROSS * PANEL_WIDTH;
        p.top = i / ACROSS * PANEL_HEIGHT;
        draw_panel(f, &p, curves, n, i);
    }
    fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">", ACROSS * PANEL_WIDTH / 2,
            rows * PANEL_HEIGHT + FOOT - 6);
    html_text(f, x_label);
    fputs("; the other lines in grey</text>\n", f);
    figure_end(f);
}

const char *report_change(char text[REPORT_CHANGE], double from, double to)
{
    if (fabs(to - from) < 0.0005)
        snprintf(text, REPORT_CHANGE, "stays at %.3f", to);
    else
        snprintf(text, REPORT_CHANGE, "%s from %.3f to %.3f", to > from ? "rises" : "falls", from, to);
    return text;
}
