/*
 * example.h - a labelled question of a data folder (tables.json beside train.jsonl, valid.jsonl and test.jsonl).
 *
 * Such folders are written by `ambit-data contrast` and `ambit-data practice` and read by the trainer and the probes.
 * Labels of people (labels.h) become examples too, of which less may be known.
 */
#ifndef DATA_CORPORA_EXAMPLE_H
#define DATA_CORPORA_EXAMPLE_H

#include "data/schema/ambiguity_type.h"
#include "data/schema/schema.h"
#include "data/util/json.h"
#include "data/util/strings.h"

/*
 * EXAMPLE_CROSSED: label balanced for every question and for every schema.  EXAMPLE_PRESENCE: never ambiguous, on a
 * schema where at most one of the alternatives stands.  EXAMPLE_THESIS: labelled by the thesis' rule, for reproduction
 * only.  EXAMPLE_OWN: labelled by people, or in a data folder a question looked at for a linguistic kind.
 */
enum example_slice { EXAMPLE_CROSSED, EXAMPLE_PRESENCE, EXAMPLE_THESIS, EXAMPLE_OWN, EXAMPLE_SLICES };
const char *example_slice_name(enum example_slice s);

enum { EXAMPLE_MAX_SQL = 4, EXAMPLE_MAX_RENAMED = 4 };

struct example {
    const char *id, *db_id, *source_db, *question;
    const char *part;                 /* the folder of a mixture (mixture.h); NULL: there is one folder alone */
    const char *sql[EXAMPLE_MAX_SQL]; /* gold readings, valid on schema db_id: two when ambiguous, else one; own: any */
    int n_sql;
    enum example_slice slice;
    enum sia_kind kind;              /* of the element that the schema doubles; own: SIA_KINDS where it is not known */
    enum linguistic_kind linguistic; /* own: what its words are looked at for; then kind is SIA_KINDS */
    bool ambiguous;
    /*
     * NULL when not ambiguous, or own and not known; else two elements of schema db_id, the k-th being the one that
     * sql[k] reads: C  "table.column" and "table.column", of one table or of two     T  "table" and "table"     J
     * "table.column" and "table_column.column"     P  "table.column" and "table_column.max_column".  example_element
     * finds them.
     */
    const char *alternatives[2];
    /* Training only: schemas with the elements of db_id in the same order, some under other names that mean the same.
     * The labels hold for them too; the SQL and the alternatives' names need not. */
    const char *renamed[EXAMPLE_MAX_RENAMED];
    int n_renamed;
    const char *source, *reason; /* the corpus that the question is from, and why it has its label; NULL: not known */
};

struct example_list {
    struct example *items;
    int n, cap;
    struct strings text; /* owns every string */
};

/* Copies what e points at. */
void example_list_add(struct example_list *l, const struct example *e);
/* Reads a JSONL file of examples.  -1 with EXIT_CODE_DATA naming file, line and field; the caller releases either way.
 */
int example_list_read(struct example_list *l, const char *path, struct error *err);
void example_list_release(struct example_list *l);

/* "C", or "scope" where the example has a linguistic kind. */
const char *example_kind_name(const struct example *e);
int example_write(struct out_file *o, const struct example *e, struct error *err);

/* The element that an alternative names: *table, and *column or -1 for a table.  -1 when s has no such element. */
int example_element(const struct schema *s, const char *alternative, int *table, int *column);

#endif
