/*
 * constraints.h - a constraint file: one line for each record whose completion must be one of certain texts.
 *
 * Lines and records are matched by id (record_reader.h). Opening the file reads and checks all lines. Errors that
 * need a tokenizer are found when a constraint is compiled. Equal lines are one constraint, so that prompts about
 * one database share its tables.
 */
#ifndef MODELS_ENGINE_CONSTRAINTS_H
#define MODELS_ENGINE_CONSTRAINTS_H

#include "models/engine/automaton.h"

#include <jansson.h>

struct constraints;
/* Opens a file. NULL with EXIT_CODE_DATA. */
struct constraints *constraints_open(const char *path, struct error *err);
void constraints_close(struct constraints *c);

/* Number of distinct constraints. */
int constraints_count(const struct constraints *c);
/* Index of the record's constraint, 0 .. count - 1. -1 with EXIT_CODE_DATA if no line has its id. */
int constraints_find(const struct constraints *c, const json_t *record, struct error *err);
/* Hash of constraint i. */
uint64_t constraints_key(const struct constraints *c, int i);

/* Builds the automaton of constraint i; the caller releases it. Threads may compile at once. stops: at least one
 * token that ends a completion. -1 with EXIT_CODE_DATA; the message starts with the line. */
int constraints_compile(const struct constraints *c, int i, const struct tokenizer *t, const int32_t *stops,
                        int n_stops, struct automaton_host *a, struct error *err);

/* The same for a constraint that is not in a file: an object like a line. The message starts with `where`. */
int constraint_compile(const json_t *form, const char *where, const struct tokenizer *t, const int32_t *stops,
                       int n_stops, struct automaton_host *a, struct error *err);

#endif
