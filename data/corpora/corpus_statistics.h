/*
 * corpus_statistics.h - the size of a corpus: questions, databases, tables, columns, functions and joins.
 *
 * These are the numbers in table 3 of Skadborg and Mortensen (Aalborg University, 2025).  Questions are rows of Spider,
 * BIRD or AMBROSIA, records of AmbiQT or of ambit, or a data folder.  Functions and joins are those of the gold
 * statements, in "query", "SQL", "query1" and "query2", "gold_queries", "gold" or "sql".
 */
#ifndef DATA_CORPORA_CORPUS_STATISTICS_H
#define DATA_CORPORA_CORPUS_STATISTICS_H

#include "data/base/record_reader.h"

struct corpus_statistics_request {
    const char *path;        /* a file of questions, or a data folder */
    const char *schema, *db; /* tables.json or databases; NULL for a folder, which has a tables.json */
    enum record_format format_in;
    bool json; /* print objects in place of a table */
};

/*
 * Prints a row for the file, or one for each file of the folder and one for all, and a row for the schemas of the
 * tables.json.  A record is ambiguous by its field "ambiguous" or "is_ambiguous"; a record of AmbiQT is ambiguous, and
 * others have no label.  *failed is the number of bad records, which no other number counts, and of gold statements
 * that cannot be parsed.  The first error of a file is logged.  Returns -1 with err, or 1 after a signal.
 */
int corpus_statistics_print(const struct corpus_statistics_request *q, int64_t *failed, struct error *err);

#endif
