/*
 * noisysp.h - converts records with marked words to the JSON form of NoisySP and back.
 *
 * NoisySP is the data of "Know What I Don't Know" (Wang et al., 2023). Its form splits question and names into words
 * and labels each word, but does not name the alternatives of an ambiguous word. Written files store them in the
 * word's "term_value", with " || " between identifiers. If that names fewer than two columns, the two most similar
 * ones are taken.
 */
#ifndef DATA_PUBLISHED_NOISYSP_H
#define DATA_PUBLISHED_NOISYSP_H

#include "data/base/shard.h"
#include "data/span/span_record.h"

#define NOISYSP_COLUMN "::" /* after a table name, and before a value */
#define NOISYSP_OR " || "

/* Converts a published example to a record with marked words; a new reference. number names an example without "uuid".
 * NULL with EXIT_CODE_DATA naming the field, its value and the expectation. */
json_t *noisysp_read(const json_t *example, int64_t number, const char *where, struct error *err);
/* The reverse. The result has every field that the published code reads. Its SQL is a list of the record's concepts, or
 * else of the columns and values that the marked words name. */
json_t *noisysp_write(const struct span_record *r);

struct noisysp_counts {
    int64_t records;    /* written */
    int64_t unresolved; /* "value_resolved" is false: omitted, as in the published code */
    int64_t failed;     /* omitted with a warning */
};

struct noisysp_request {
    const char *in, *out;
    enum { NOISYSP_TO_MARKED_WORDS, NOISYSP_TO_PUBLISHED } to;
    enum record_format format_in;
    struct shard shard; /* of marked words, whose lines are independent */
};

/* Converts a file, or a shard of it: JSONL, or a JSON array of examples in the published form. */
int noisysp_convert(const struct noisysp_request *q, struct noisysp_counts *counts, struct error *err);

#endif
