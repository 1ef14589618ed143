/*
 * substitute_write.h - copies of infilling examples in which words are exchanged (substitute.h).
 */
#ifndef DATA_AMBIGUATE_SUBSTITUTE_WRITE_H
#define DATA_AMBIGUATE_SUBSTITUTE_WRITE_H

#include "data/util/record_reader.h"

struct substitute_request {
    const char *out;
    enum record_form form;
    int64_t copies; /* of each record */
    int64_t common; /* words of the most records, which stay */
    int64_t seed;
};

/* Reads the file twice, so that it cannot be standard input.  Records with an error are left out.  -1 with err. */
int substitute_write(const struct substitute_request *q, const char *path, struct error *err);

#endif
