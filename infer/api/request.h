/*
 * request.h - the JSON arguments of libambit: objects with known fields.
 */
#ifndef INFER_API_REQUEST_H
#define INFER_API_REQUEST_H

#include "data/base/json.h"

/* Parses an object whose fields are among the names of `known`, separated by spaces.  text NULL is an empty object.
 * place opens the messages.  Returns a new reference, or NULL with EXIT_CODE_USAGE. */
json_t *request_read(const char *text, const char *place, const char *known, struct error *err);

/* Read an optional field; a missing one leaves *out unchanged.  Return -1 with EXIT_CODE_USAGE.  The string is borrowed
 * from o. */
int request_string(const json_t *o, const char *field, const char **out, struct error *err);
int request_int(const json_t *o, const char *field, int64_t low, int64_t high, int64_t *out, struct error *err);
int request_real(const json_t *o, const char *field, double low, double high, double *out, struct error *err);
int request_bool(const json_t *o, const char *field, bool *out, struct error *err);

/* Turns the array "questions" into records {"id", "db_id", "question"} [*n], new references in an array that the caller
 * frees with request_records_free().  A record is copied.  Returns NULL with EXIT_CODE_USAGE. */
json_t **request_records(const json_t *request, int *n, struct error *err);
void request_records_free(json_t **records, int n);

#endif
