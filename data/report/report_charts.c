/* Part of report.h: curves, bars and the reliability diagram. */
#include "data/report/report.h"
#include "data/report/report_impl.h"

#include <math.h>
#include <stdlib.h>

enum { MANY_CURVES = 4, LEGEND = 140 }; /* more than so many have their names beside the chart, in so much room */
enum { WIDTH = 720, HEIGHT = 320, LEFT = 64, RIGHT = 16, TOP = 12, BOTTOM = 44, POINTS = 800 };

/* Told apart by people of any colour vision (Okabe and Ito). */
static const char *const palette[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#888888" };

bool is_drawable(double v)
{
    return fabs(v) <= 1e100;
}

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

struct ticks ticks_of(struct range r)
{
    double raw = (r.high - r.low) / 5, power = pow(10, floor(log10(raw))), lead = raw / power;
    struct ticks t = { .step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10) };
    t.first = ceil(r.low / t.step) + 0.0; /* and no -0 */
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

static void draw_axes(FILE *f, struct range x, struct range y, const char *x_label)
{
    struct ticks t = ticks_of(y);
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

/* A curve's colour; beyond the palette lines are dashed. */
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

/* Neighbouring points are averaged when there are more than a screen can show. */
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

static void draw_legend(FILE *f, const struct curve *curves, int n, int right)
{
    for (int i = 0; i < n; i++) {
        int y = TOP + 12 + 17 * i;
        fprintf(f, "<path stroke=\"%s\" stroke-width=\"4\"%s d=\"M%d %dh14\"/>", colour_of(i), dash_of(i), right - 14,
                y + 2);
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", right - 20, y + 6);
        html_text(f, curves[i].name);
        fputs("</text>\n", f);
    }
}

void curves_ranges(const struct curve *curves, int n, struct range *x, struct range *y)
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

void report_curves(struct report *r, const char *title, const char *x_label, const struct curve *curves, int n)
{
    FILE *f = r->out.f;
    struct range x, y;
    int room = n > MANY_CURVES ? LEGEND : 0;

    curves_ranges(curves, n, &x, &y);
    figure_start(f, title, WIDTH + room, HEIGHT);
    draw_axes(f, x, y, x_label);
    for (int i = 0; i < n; i++)
        draw_curve(f, &curves[i], x, y, i);
    draw_legend(f, curves, n, WIDTH + room - RIGHT);
    figure_end(f);
}

/* One row of a bar chart; scale is user units per unit of value. */
static void draw_bar(FILE *f, int row, const char *name, double value, double scale)
{
    enum { NAME = 200 };
    int y = TOP + 26 * row;
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

void report_bars(struct report *r, const char *title, const char *const *names, const double *values, const double *low,
                 const double *high, int n)
{
    enum { NAME = 200, VALUE = 80 };
    FILE *f = r->out.f;
    double most = 0;
    for (int i = 0; i < n; i++) {
        most = is_drawable(values[i]) ? fmax(most, values[i]) : most;
        most = high && is_drawable(high[i]) ? fmax(most, high[i]) : most;
    }
    double scale = (WIDTH - NAME - VALUE) / (most > 0 && most < 1 ? 1 : fmax(most, 1e-300));
    figure_start(f, title, WIDTH, TOP + 26 * n + 8);
    for (int i = 0; i < n; i++) {
        draw_bar(f, i, names[i], values[i], scale);
        if (low && high && is_drawable(low[i]) && is_drawable(high[i]))
            fprintf(f, "<path class=\"ink\" d=\"M%.1f %dH%.1f\"><title>%.4g to %.4g</title></path>\n",
                    NAME + fmax(low[i], 0) * scale, TOP + 26 * i + 9, NAME + fmax(high[i], 0) * scale, low[i], high[i]);
    }
    figure_end(f);
}
