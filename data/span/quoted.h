/*
 * quoted.h - texts in quotation marks: what a user quotes is one name or value, and no part of it is another one.
 *
 * Marks are straight and curly, single and double, guillemets and backticks.  A mark beside letters on its wrong side,
 * as in "O'Brien", "customers' orders" or 5", opens or closes nothing.
 */
#ifndef DATA_SPAN_QUOTED_H
#define DATA_SPAN_QUOTED_H

#include "kernels/base.h"

enum { QUOTED_MAX = 16 };

struct quoted {
    struct {
        int from, to;    /* bytes between the marks */
    } items[QUOTED_MAX]; /* of a longer text the first ones */
    int n;
};

void quoted_read(struct quoted *q, const char *text);
/* Whether bytes [from, to) lie over a part of a quotation and not all of it. */
bool quoted_cuts(const struct quoted *q, const char *text, int from, int to);
/* Whether they are all of one, but for blanks and punctuation at its ends. */
bool quoted_is(const struct quoted *q, const char *text, int from, int to);

#endif
