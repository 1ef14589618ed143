/* Parts of json.h: what its sources share. */
#ifndef DATA_UTIL_JSON_IMPL_H
#define DATA_UTIL_JSON_IMPL_H

#include "data/util/json.h"

/* jansson's word for what went wrong, as ours.  line is added to its own count of lines.  -1. */
int json_parse_error(struct error *err, const char *where, int64_t line, const json_error_t *e);

#endif
