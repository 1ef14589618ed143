/*
 * reword_write.h - records of which some readings exist and the others are missing (reword.h), from what
 * `ambit-data ambiguate --materialise` made and from rows of AMBROSIA.
 */
#ifndef DATA_AMBIGUATE_REWORD_WRITE_H
#define DATA_AMBIGUATE_REWORD_WRITE_H

#include "data/util/record_reader.h"

struct reword_request {
    const char *db, *out;
    enum record_form form;
    int64_t seed;
};

/* Tells on the log what was written and what was left out.  -1 with err. */
int reword_write(const struct reword_request *q, const char *path, struct error *err);

#endif
