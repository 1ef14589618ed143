/*
 * gate_appended.h - training questions on wider schemas: behind a question's own tables stand those of other training
 * databases, which have nothing to do with it.
 *
 * Which ones follows from a number, the draw, and from nothing else, so what a step or the cache of states needs is
 * built when it is needed and anew the next time.  Of an appended element no question of another database asks; which
 * of them are twins their own questions say.
 */
#ifndef TRAIN_GATE_GATE_APPENDED_H
#define TRAIN_GATE_GATE_APPENDED_H

#include "train/gate/gate_data.h"

/* Tables appended: a power of two below 2 ^ APPENDED_DOUBLINGS is drawn, then a number from there to the next one; as
 * many whole databases as it takes, each at most once, of those that leave the schema no wider than what detection
 * reads (SCHEMA_SEARCH_ELEMENTS). */
enum { APPENDED_DOUBLINGS = 6 };

struct gate_appender {
    const struct gate_data *data;
    const struct gate_data_settings *settings;
    double share;  /* of the questions */
    uint64_t seed; /* of frozen stages, see gate_appended_always */
    struct appended_source {
        const char *source_db;
        int *schemas, n, cap; /* numbers in data->records->schemas; those that its training questions are about */
    } * sources;
    int n_sources, cap;
};

/* A form on a schema with more tables.  form.schema is the input below. */
struct gate_appended {
    struct gate_form form;
    const struct gate_data *data;
    struct schema schema;
    struct schema_input input;
    struct schema_graph drawn; /* where the model takes drawn ones; else empty */
    int *schemas, n;           /* numbers of those that were appended, in their order */
};

/* data and settings must outlive it; data is whole. */
void gate_appender_init(struct gate_appender *a, const struct gate_data *data, const struct gate_data_settings *s,
                        double share, uint64_t seed);
void gate_appender_release(struct gate_appender *a);

/* The example on `form`, one of its own, with tables behind; gate_appended_free ends it.  NULL where no database fits.
 */
struct gate_appended *gate_appended_new(const struct gate_appender *a, const struct gate_example *e,
                                        const struct gate_form *form, uint64_t draw);
void gate_appended_free(struct gate_appended *x); /* harmless on NULL */
/* What the example's item reads then. */
struct gate_item gate_appended_item(const struct gate_example *e, const struct gate_appended *x);

/* Where states are cached a question has the same tables behind it whenever it is read.  Whether it is one of those
 * that have some, and with which draw. */
bool gate_appended_always(const struct gate_appender *a, const struct gate_example *e, uint64_t *draw);
/* Elements that such a question is read on, and the others on their own schema; a may be NULL: none is one of those. */
int gate_appended_nodes(const struct gate_appender *a, const struct gate_example *e);

/* The example's own element that a node of the form is; -1 where it is appended. */
int gate_form_own(const struct gate_form *form, const struct gate_example *e, int node);
/* As gate_data_twins, for two nodes of the form. */
bool gate_form_twins(const struct gate_form *form, const struct gate_example *e, int u, int v);

#endif
