/* Part of report.h: small charts side by side. */
#include "data/report/report_impl.h"

#include <math.h>

enum { ACROSS = 3, WIDTH = 240, HEIGHT = 172, LEFT = 40, RIGHT = 10, TOP = 26, BOTTOM = 26, FOOT = 20 };

/* A panel's place, and what it shows of both axes. */
struct panel {
    int left, top;
    struct range x, y;
};

static double place_x(const struct panel *p, double v)
{
    return p->left + LEFT + (v - p->x.low) / (p->x.high - p->x.low) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct panel *p, double v)
{
    return p->top + HEIGHT - BOTTOM - (v - p->y.low) / (p->y.high - p->y.low) * (HEIGHT - TOP - BOTTOM);
}

static void draw_frame(FILE *f, const struct panel *p, const char *name)
{
    struct ticks t = ticks_of(p->y);

    fprintf(f, "<text font-weight=\"600\" x=\"%d\" y=\"%d\">", p->left + LEFT, p->top + 16);
    html_text(f, name);
    fputs("</text>\n", f);
    for (int i = 0; i < t.n; i++) {
        double v = (t.first + i) * t.step, at = place_y(p, v);
        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", p->left + LEFT,
                p->left + WIDTH - RIGHT, at, at);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", p->left + LEFT - 5, at + 4, v);
    }
    t = ticks_of(p->x);
    for (int i = 0; i < t.n; i++) {
        double v = (t.first + i) * t.step;
        if (p->x.high - p->x.low < 2 || fabs(v - round(v)) < 1e-9) /* halves of what is counted say nothing */
            fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", place_x(p, v),
                    p->top + HEIGHT - BOTTOM + 16, v);
    }
}

static void draw_line(FILE *f, const struct panel *p, const struct curve *c, const char *class)
{
    bool pen_down = false;

    fprintf(f, "<path class=\"%s\" d=\"", class);
    for (int i = 0; i < c->n; i++) {
        bool shown = is_drawable(c->x[i]) && is_drawable(c->y[i]);
        if (shown)
            fprintf(f, "%c%.1f %.1f", pen_down ? 'L' : 'M', place_x(p, c->x[i]), place_y(p, c->y[i]));
        pen_down = shown;
    }
    fputs("\"><title>", f);
    html_text(f, c->name);
    fputs("</title></path>\n", f);
}

static void draw_whiskers(FILE *f, const struct panel *p, const struct curve *c)
{
    for (int i = 0; i < c->n && c->low && c->high; i++)
        if (is_drawable(c->x[i]) && is_drawable(c->low[i]) && is_drawable(c->high[i]))
            fprintf(f, "<path class=\"own\" opacity=\"0.5\" d=\"M%.1f %.1fV%.1f\"><title>%.4g to %.4g</title></path>\n",
                    place_x(p, c->x[i]), place_y(p, c->low[i]), place_y(p, c->high[i]), c->low[i], c->high[i]);
}

static void draw_panel(FILE *f, const struct panel *p, const struct curve *curves, int n, int own)
{
    draw_frame(f, p, curves[own].name);
    for (int i = 0; i < n; i++)
        if (i != own)
            draw_line(f, p, &curves[i], "other");
    draw_whiskers(f, p, &curves[own]);
    draw_line(f, p, &curves[own], "own");
}

void report_panels(struct report *r, const char *title, const char *x_label, const struct curve *curves, int n)
{
    FILE *f = r->out.f;
    struct panel p;
    int rows = (n + ACROSS - 1) / ACROSS;

    curves_ranges(curves, n, &p.x, &p.y);
    figure_start(f, title, ACROSS * WIDTH, rows * HEIGHT + FOOT);
    for (int i = 0; i < n; i++) {
        p.left = i % ACROSS * WIDTH;
        p.top = i / ACROSS * HEIGHT;
        draw_panel(f, &p, curves, n, i);
    }
    fprintf(f, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">", ACROSS * WIDTH / 2,
            rows * HEIGHT + FOOT - 6);
    html_text(f, x_label);
    fputs("; the other lines in grey</text>\n", f);
    figure_end(f);
}
