/*
 * report_impl.h - what the files behind report.h share.
 */
#ifndef DATA_REPORT_REPORT_IMPL_H
#define DATA_REPORT_REPORT_IMPL_H

#include "data/report/report.h"

#include <stdio.h>

/* <figure>, its caption and an <svg> of that size in user units; figure_end closes them. */
void figure_start(FILE *f, const char *title, int width, int height);
void figure_end(FILE *f);

struct range {
    double low, high;
};
/* Larger numbers are no measurement, and their differences would overflow. */
bool is_drawable(double v);
/* Of all points and whiskers of n curves that can be drawn; never empty. */
void curves_ranges(const struct curve *curves, int n, struct range *x, struct range *y);
/* Labels at (first + i) * step; the step is 1, 2 or 5 times a power of ten, about five to the range. */
struct ticks {
    double first, step;
    int n;
};
struct ticks ticks_of(struct range r);

#endif
