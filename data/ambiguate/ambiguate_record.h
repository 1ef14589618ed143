/*
 * ambiguate_record.h - an AmbiQT record as the JSON object that is published, and schema texts of published files.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_RECORD_H
#define DATA_AMBIGUATE_AMBIGUATE_RECORD_H

#include "data/ambiguate/ambiguate.h"
#include "data/ambiguate/ambiguate_schema.h"
#include "data/util/json.h"

/* Every field of the published form in question's words and ours; the caller owns the reference.  `question` is the
 * input record: its parse, tokens and evidence are taken over when it has them.  number counts the records of this
 * kind. */
json_t *ambiguate_record(const struct ambiguity *a, int number, const json_t *question, const struct schema *s,
                         const struct schema_texts *texts);

/* The schema texts of a file of AmbiQT records, to be used in place of ours. */
struct published_texts {
    json_t *by_key; /* arrays of records of one question and both readings, in file order */
    int used;
};
int published_texts_read(struct published_texts *p, const char *path, struct error *err);
/* Gives the record the texts of the file's next record with the same question and readings, byte for byte. */
void published_texts_apply(struct published_texts *p, json_t *record);
void published_texts_release(struct published_texts *p);

#endif
