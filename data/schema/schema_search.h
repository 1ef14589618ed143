/*
 * schema_search.h - the part of a wide schema that a question may be about, found by words.
 *
 * What is found are tables, since what a question does not say ("older" of a column `age`) stands beside what it says.
 * A word of the question is worth its inverse document frequency among tables (Robertson and Sparck Jones 1976, as in
 * BM25), divided by the words of the name that has it, and half of that where the name is a column's; a table is worth
 * the sum over the question's words, each said by itself or, at half the worth for each foreign key between, by a
 * table up to two keys away, so that what joins two tables comes with them; or three fifths of the best that keys join
 * with it, where all of these together are a quarter of what is read at most.  Words that look alike count in part.
 * What somebody else knows of each table's worth is added, both as shares of their best.
 *
 * Ties are broken by names, so the order of tables plays no part.  Time and memory grow with words + columns + keys.
 */
#ifndef DATA_SCHEMA_SCHEMA_SEARCH_H
#define DATA_SCHEMA_SCHEMA_SEARCH_H

#include "data/schema/schema.h"

struct schema_search;

/* Elements of a schema that a detector reads at most where nobody says otherwise, and the fewest that may be said. */
enum { SCHEMA_SEARCH_ELEMENTS = 256, SCHEMA_SEARCH_LEAST = 16 };
#define SCHEMA_SEARCH_HELP "most tables and columns of a schema that are read, the likeliest of a wider one; 0: all"

/* Made once, for all questions; s must outlive it.  Never fails. */
struct schema_search *schema_search_open(const struct schema *s);
/* Harmless on NULL. */
void schema_search_close(struct schema_search *x);

/*
 * Marks in kept [tables, then columns] the best elements for a question, as many as `most` at least 2, or all where
 * there are no more.  Tables come whole, best first, but none takes more than half of `most`, and the last one what is
 * left; of a table that is cut come its keys, unless they take more than half, then the
 * columns whose names the question has, then the first ones.
 *
 * more [tables]: what each table is worth besides, none below 0; NULL: nothing is known.
 */
void schema_search_best(const struct schema_search *x, const char *question, const float *more, int most, bool *kept);

/* The schema of the kept elements alone, in their order, with the keys between them; columns of tables that are not
 * kept are left out too.  schema_release (schema_build.h) ends it. */
void schema_part(struct schema *part, const struct schema *s, const bool *kept);

#endif
