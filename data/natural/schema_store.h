/*
 * schema_store.h - the forms of schemas that examples stand on: each is given to the data set once.
 */
#ifndef DATA_NATURAL_SCHEMA_STORE_H
#define DATA_NATURAL_SCHEMA_STORE_H

#include "data/natural/natural_impl.h"

struct schema_form {
    const struct schema *of; /* borrowed */
    bool *dropped;           /* [of->n_columns] */
    const char *db_id;       /* in the data set: that of `of`, and a number behind it */
};

/* A zeroed struct is ready. */
struct schema_store {
    struct strings keys; /* the schema and the columns that it lacks; one for each form */
    struct schema_form *forms;
    int cap;
};

/* The db_id of s without the dropped columns ([n_columns]) in n->out. */
const char *schema_store_get(struct natural *n, const struct schema *s, const bool *dropped);
/* Of any form of s that has all wanted columns ([n_columns]); of s itself where there is none. */
const char *schema_store_any(struct natural *n, const struct schema *s, const bool *wanted);
void schema_store_release(struct schema_store *store);

#endif
