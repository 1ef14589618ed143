/*
 * example.h - a labelled question of a data folder (tables.json with train.jsonl, valid.jsonl and test.jsonl).
 *
 * `ambit-data contrast` and `ambit-data practice` write such folders; trainers and probes read them. Labels written by
 * people (labels.h) also become examples, with fewer known fields.
 */
#ifndef DATA_CORPORA_EXAMPLE_H
#define DATA_CORPORA_EXAMPLE_H

#include "data/base/json.h"
#include "data/base/strings.h"
#include "data/schema/ambiguity_type.h"
#include "data/schema/schema.h"

/*
 * The origin of an example:
 *
 * - EXAMPLE_CONTRAST: contrast set; labels are balanced for each question and each schema.
 * - EXAMPLE_HARD_NEGATIVE: hard negative; never ambiguous, because the schema has at most one of the alternatives.
 * - EXAMPLE_SKADBORG_MORTENSEN: labelled by the rule of Skadborg and Mortensen (Aalborg University), for reproduction
 * only.
 * - EXAMPLE_CUSTOM: labelled by people, or a question of a data folder that is labelled for linguistic ambiguity.
 */
enum example_slice {
    EXAMPLE_CONTRAST,
    EXAMPLE_HARD_NEGATIVE,
    EXAMPLE_SKADBORG_MORTENSEN,
    EXAMPLE_CUSTOM,
    EXAMPLE_SLICES
};
/* Returns the slice as written in data folders. */
const char *example_slice_name(enum example_slice s);

enum { EXAMPLE_MAX_SQL = 8, EXAMPLE_MAX_RENAMED = 4, EXAMPLE_MAX_FURTHER = 2 };

struct example {
    const char *id, *db_id, *source_db, *question;
    const char *part; /* the folder of a mixture (mixture.h); NULL if there is only one folder */
    /* Gold interpretations on schema db_id: two if ambiguous, else one; own: any number. With n ambiguities, one for
     * each combination of their alternatives: bit i of its number is the alternative of ambiguity i. */
    const char *sql[EXAMPLE_MAX_SQL];
    int n_sql;
    enum example_slice slice;
    enum sia_type type;              /* ambiguity type of the duplicated element; own: SIA_TYPES if unknown */
    enum linguistic_type linguistic; /* own: type of linguistic ambiguity; then type is SIA_TYPES */
    bool ambiguous;
    /*
     * Two elements of schema db_id; sql[k] uses the k-th one. NULL if the question is not ambiguous, or own and
     * unknown. example_element finds them.
     *
     * - C: "table.column" and "table.column", of the same table or of two
     * - T: "table" and "table"
     * - J: "table.column" and "table_column.column"
     * - P: "table.column" and "table_column.max_column"
     */
    const char *alternatives[2];
    const char *further[EXAMPLE_MAX_FURTHER][2]; /* the alternatives of the ambiguities after the first */
    int n_further;
    /* JSON text of the list [{"type", "alternatives", "words", "start", "end"}] in the order of the question, with the
     * words in code points; NULL unless the generator lists them (several.h). */
    const char *ambiguities;
    /* Only for training: schemas with the same elements in the same order, in which some have synonyms as names. Labels
     * hold for these schemas too; SQL and names of alternatives may not. */
    const char *renamed[EXAMPLE_MAX_RENAMED];
    int n_renamed;
    const char *source, *reason; /* the question's corpus and the reason for its label; NULL if unknown */
};

struct example_list {
    struct example *items;
    int n, cap;
    struct strings text; /* owns every string */
};

/* Adds a copy of an example and its strings. */
void example_list_add(struct example_list *l, const struct example *e);
/* Reads a JSONL file of examples. Returns -1 with EXIT_CODE_DATA; the message has file, line and field. The caller
 * releases l in any case. */
int example_list_read(struct example_list *l, const char *path, struct error *err);
void example_list_release(struct example_list *l);

/* Returns the ambiguity type, such as "C", or "scope" for linguistic ambiguity. */
const char *example_type_name(const struct example *e);
/* Writes an example as a JSON line. Returns -1 with an error of the file. */
int example_write(struct out_file *o, const struct example *e, struct error *err);

/* Finds the element that an alternative names: *table and *column, which is -1 for a table. Returns -1 if s has no such
 * element. */
int example_element(const struct schema *s, const char *alternative, int *table, int *column);

#endif
