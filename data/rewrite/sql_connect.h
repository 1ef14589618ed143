/*
 * sql_connect.h - the columns by which two tables of a schema are joined.
 */
#ifndef DATA_REWRITE_SQL_CONNECT_H
#define DATA_REWRITE_SQL_CONNECT_H

#include "data/schema/schema.h"

enum { SQL_KEY_COLUMNS = 8 }; /* of one key */

/* Pairs of equal columns: of the first table, of the second. */
struct sql_connection {
    int pairs[SQL_KEY_COLUMNS][2];
    int n;
};

/* A foreign key; where there is none, a whole primary key with namesakes in the other table; where they share no part
 * of a key, the only name that they share beside column `but`.  False where there is nothing of that, or where several
 * foreign keys lead from one table to the other that are not one key of several columns. */
bool sql_connect(struct sql_connection *c, const struct schema *s, int a, int b, int but);

#endif
