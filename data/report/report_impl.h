/*
 * report_impl.h - what the files behind report.h share.
 */
#ifndef DATA_REPORT_REPORT_IMPL_H
#define DATA_REPORT_REPORT_IMPL_H

#include <stdio.h>

/* <figure>, its caption and an <svg> of that size in user units; figure_end closes them. */
void figure_start(FILE *f, const char *title, int width, int height);
void figure_end(FILE *f);

#endif
