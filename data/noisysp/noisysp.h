/*
 * noisysp.h - records with marked words in the JSON form of NoisySP, the data of "Know What I Don't Know", and back.
 *
 * That form cuts question and names into words and labels each word of the question.  It does not say what an ambiguous
 * word may mean, so what is written names it in the word's "term_value", identifiers with " || " between them; where
 * that names fewer than two columns, the two are taken whose names are most like the words.
 */
#ifndef DATA_NOISYSP_NOISYSP_H
#define DATA_NOISYSP_NOISYSP_H

#include "data/shard/shard.h"
#include "data/span/span_record.h"

#define NOISYSP_COLUMN "::" /* stands behind a table's name, and before a value */
#define NOISYSP_OR " || "

/* A published example as a record with marked words, a new reference; number names one that has no "uuid".  NULL with
 * EXIT_CODE_DATA naming the field, its value and what was expected. */
json_t *noisysp_read(const json_t *example, int64_t number, const char *where, struct error *err);
/* The other way; the record lacks nothing that the published code reads, but its SQL is only the columns and values
 * that the marked words name. */
json_t *noisysp_write(const struct span_record *r);

struct noisysp_counts {
    int64_t records;    /* written */
    int64_t unresolved; /* "value_resolved" is false: left out, as the published code does */
    int64_t failed;     /* left out with a warning */
};

struct noisysp_request {
    const char *in, *out;
    enum { NOISYSP_TO_MARKED_WORDS, NOISYSP_TO_PUBLISHED } to;
    enum record_form form;
    struct shard shard; /* of marked words: their lines stand alone */
};

/* A whole file, or a shard of one: JSONL, or, in the published form, a JSON array of examples. */
int noisysp_convert(const struct noisysp_request *q, struct noisysp_counts *counts, struct error *err);

#endif
