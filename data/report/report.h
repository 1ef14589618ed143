/*
 * report.h - report.html: one file that opens without a network; tables, curves, confusion matrix, reliability diagram.
 *
 * Functions write one part each, in the order they are called, from plain arrays.  All text is escaped.  What fails
 * while writing shows in report_close, which leaves either the whole page or nothing.
 */
#ifndef DATA_REPORT_REPORT_H
#define DATA_REPORT_REPORT_H

#include "data/stats/stats.h"
#include "data/util/json.h"
#include "data/util/out_file.h"

struct report {
    struct out_file out;
};

int report_open(struct report *r, const char *path, const char *title, struct error *err);
/* Ends the page and puts it in place. */
int report_close(struct report *r, struct error *err);
/* Leaves no page; harmless after report_close or on a zeroed struct. */
void report_abort(struct report *r);

void report_heading(struct report *r, const char *text);
void report_text(struct report *r, const char *text);
/* Lines as they stand in a file, which a click shows. */
void report_folded(struct report *r, const char *title, const char *text);
/* cells row by row; columns [n_columns].  Cells that are numbers stand to the right. */
void report_table(struct report *r, const char *title, const char *const *columns, int n_columns,
                  const char *const *cells, int n_rows);

/* One line of a chart; points that are not finite (or beyond 1e100) leave a gap.  low and high, NULL or [n], are
 * whiskers. */
struct curve {
    const char *name;
    const double *x, *y;
    int n;
    const double *low, *high;
};
void report_curves(struct report *r, const char *title, const char *x_label, const struct curve *curves, int n);
/* A small chart for each curve, all of one scale: its own line with whiskers over those of all others, in grey. */
void report_panels(struct report *r, const char *title, const char *x_label, const struct curve *curves, int n);
/* Bars from 0 to the largest value (at least 1 when all are at most 1); low and high, NULL or [n], are whiskers. */
void report_bars(struct report *r, const char *title, const char *const *names, const double *values, const double *low,
                 const double *high, int n);
void report_confusion(struct report *r, const char *title, struct confusion c);
void report_reliability(struct report *r, const char *title, const struct reliability *bins);
/* A figure that the caller draws: by HTML that it writes to the file, and ends by report_figure_end. */
FILE *report_figure(struct report *r, const char *title);
void report_figure_end(struct report *r);
/* Rules of CSS for such figures. */
void report_style(struct report *r, const char *css);

/* Text as it may stand between tags and inside quoted attributes of a page. */
void html_text(FILE *f, const char *text);

#endif
