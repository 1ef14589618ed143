/*
 * report.h - HTML reports in one file that needs no network: tables, curves, confusion matrix, reliability diagram.
 *
 * A report opens with its verdict, the main result in a sentence or two.  Every chart has a text for screen readers.
 * Each function appends one part of the page from plain arrays, in the order of the calls.  All text is escaped.  Write
 * errors are reported by report_close, which leaves either the whole page or nothing.
 */
#ifndef DATA_BASE_REPORT_H
#define DATA_BASE_REPORT_H

#include "data/base/json.h"
#include "data/base/out_file.h"
#include "data/base/stats.h"

struct report {
    struct out_file out;
};

/* Starts a page with a title and a verdict.  -1 with EXIT_CODE_FAILURE. */
int report_open(struct report *r, const char *path, const char *title, const char *verdict, struct error *err);
/* Ends the page and renames it into place.  -1 with EXIT_CODE_FAILURE. */
int report_close(struct report *r, struct error *err);
/* Removes an unfinished page.  Harmless after report_close or on a zeroed struct. */
void report_abort(struct report *r);

void report_heading(struct report *r, const char *text);
void report_text(struct report *r, const char *text);
/* Preformatted text, folded until the reader clicks on its title. */
void report_folded(struct report *r, const char *title, const char *text);
/* columns [n_columns]; cells [n_rows * n_columns], by rows.  Columns of numbers, perhaps with intervals in brackets,
 * are aligned to the right. */
void report_table(struct report *r, const char *title, const char *const *columns, int n_columns,
                  const char *const *cells, int n_rows);

/* A curve of a chart.  Points that are not finite or beyond 1e100 leave a gap. low and high [n], or NULL, are
 * whiskers. */
struct curve {
    const char *name;
    const double *x, *y;
    int n;
    const double *low, *high;
};
/* A line chart of n curves, with a legend above it if there are several. */
void report_curves(struct report *r, const char *title, const char *x_label, const char *y_label,
                   const struct curve *curves, int n);
/* A small chart for each curve, all with the same axes: the curve with its whiskers, and all other curves in grey. */
void report_panels(struct report *r, const char *title, const char *x_label, const struct curve *curves, int n);
/* Bars from 0 to the largest value, or to 1 if all values are at most 1. low and high [n], or NULL, are whiskers. */
void report_bars(struct report *r, const char *title, const char *const *names, const double *values, const double *low,
                 const double *high, int n);
void report_confusion(struct report *r, const char *title, struct confusion c);
/* A reliability diagram: the fraction of positives in each bin of scores. */
void report_reliability(struct report *r, const char *title, const struct reliability *bins);
/* Starts a figure and returns the stream, to which the caller writes HTML. report_figure_end ends it. */
FILE *report_figure(struct report *r, const char *title);
void report_figure_end(struct report *r);
/* CSS rules for such figures. */
void report_style(struct report *r, const char *css);

/* Writes a change for a verdict, "rises from 0.250 to 0.750", and returns the text. */
enum { REPORT_CHANGE = 80 };
const char *report_change(char text[REPORT_CHANGE], double from, double to);

/* Writes text escaped for use between tags and in quoted attributes. */
void html_text(FILE *f, const char *text);

#endif
