/*
 * constraints.h - a file of constraints: a line for each record whose answer is bound to certain texts.
 *
 * Lines and records meet by id (record_reader.h).  All lines are read and checked before the first answer; what only a
 * tokenizer can tell is found when a constraint is compiled.  Lines that say the same are one constraint, so that
 * prompts about one database can share its tables.
 */
#ifndef MODELS_ENGINE_CONSTRAINTS_H
#define MODELS_ENGINE_CONSTRAINTS_H

#include "models/engine/automaton.h"

#include <jansson.h>

struct constraints;
/* NULL with EXIT_CODE_DATA. */
struct constraints *constraints_open(const char *path, struct error *err);
void constraints_close(struct constraints *c);

/* How many different ones there are. */
int constraints_count(const struct constraints *c);
/* The number of a record's, 0 .. count - 1; -1 with EXIT_CODE_DATA when no line has its id. */
int constraints_find(const struct constraints *c, const json_t *record, struct error *err);
/* A sum of what constraint i says. */
uint64_t constraints_key(const struct constraints *c, int i);

/* Its tables; any number of threads may compile at once.  stops: at least one token, each of which ends an answer.  -1
 * with EXIT_CODE_DATA, the message opened by the line. */
int constraints_compile(const struct constraints *c, int i, const struct tokenizer *t, const int32_t *stops,
                        int n_stops, struct automaton_host *a, struct error *err);

/* The same of what no file has: an object as its lines are; `where` opens the message. */
int constraint_compile(const json_t *form, const char *where, const struct tokenizer *t, const int32_t *stops,
                       int n_stops, struct automaton_host *a, struct error *err);

#endif
