#include "data/report/report.h"

#include "data/report/report_impl.h"
#include "data/util/build.h"

#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#222;--soft:#777;--line:#ccc;--fill:#0072b2;--paper:#fff}"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--soft:#999;--line:#444;--fill:#56b4e9;--paper:#181818}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);"
    "background:var(--paper)}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}caption{text-align:left;font-weight:600;padding:.3rem 0}"
    "th,td{border-bottom:1px solid var(--line);padding:.2rem .8rem;text-align:left}"
    ".wide{overflow-x:auto}pre{overflow-x:auto;font-size:13px}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    "figure{margin:1rem 0 2rem}figcaption{font-weight:600}svg{max-width:100%;height:auto;font-size:12px}"
    "svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line);stroke-width:1}"
    "svg .bar{fill:var(--fill)}svg "
    ".ink{stroke:var(--ink);stroke-width:1.5;fill:none}"
    "svg .own{stroke:var(--fill);stroke-width:2;fill:none}svg .other{stroke:var(--soft);opacity:.45;fill:none}footer{color:var(--soft);font-size:13px}";

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
                fputs("\xef\xbf\xbd", f); /* a control character: the replacement character */
        }
}

static void tagged(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    html_text(f, text);
    fprintf(f, "</%s>\n", tag);
}

int report_open(struct report *r, const char *path, const char *title, struct error *err)
{
    if (out_file_open(&r->out, path, err))
        return -1;
    FILE *f = r->out.f;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n",
          f);
    tagged(f, "title", title);
    fprintf(f, "<style>%s</style>\n<body>\n", style);
    tagged(f, "h1", title);
    return 0;
}

int report_close(struct report *r, struct error *err)
{
    fprintf(r->out.f, "<footer>ambit %s, commit %s</footer>\n</body>\n</html>\n", build_version(), build_commit());
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

static bool is_number(const char *cell)
{
    char *end;
    strtod(cell, &end);
    return end != cell && *end == '\0';
}

void report_table(struct report *r, const char *title, const char *const *columns, int n_columns,
                  const char *const *cells, int n_rows)
{
    FILE *f = r->out.f;
    fputs("<div class=\"wide\"><table>\n", f);
    tagged(f, "caption", title);
    fputs("<tr>", f);
    for (int j = 0; j < n_columns; j++)
        tagged(f, "th", columns[j]);
    for (int i = 0; i < n_rows; i++) {
        fputs("<tr>", f);
        for (int j = 0; j < n_columns; j++) {
            const char *cell = cells[i * n_columns + j];
            fprintf(f, "<td%s>", is_number(cell) ? " class=\"n\"" : "");
            html_text(f, cell);
            fputs("</td>", f);
        }
        fputs("</tr>\n", f);
    }
    fputs("</table></div>\n", f);
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

void figure_start(FILE *f, const char *title, int width, int height)
{
    fputs("<figure>\n", f);
    tagged(f, "figcaption", title);
    fprintf(f, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height);
}

void figure_end(FILE *f)
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
    figure_start(f, title, 360, 190);
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
    double width = (double)SIDE / STATS_BINS;
    figure_start(f, title, LEFT + SIDE + 20, TOP + SIDE + 50);
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
    fprintf(
        f, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">score; bars: share of yes, ECE %.4f</text>\n",
        LEFT + SIDE / 2, TOP + SIDE + 38, stats_ece(bins));
    figure_end(f);
}
