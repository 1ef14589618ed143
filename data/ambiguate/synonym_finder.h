/*
 * synonym_finder.h - two other names for a table or column: from a dictionary, or made where the user has none.
 *
 * Made names come from WordNet when it knows the whole name, else from the name's form: abbreviations written out, the
 * last or first word replaced by a synonym, the table's name put before the column's.
 */
#ifndef DATA_AMBIGUATE_SYNONYM_FINDER_H
#define DATA_AMBIGUATE_SYNONYM_FINDER_H

#include "data/corpora/spider.h"
#include "data/schema/schema.h"

enum synonym_source { SYNONYM_NONE, SYNONYM_FILE, SYNONYM_WORDNET, SYNONYM_MORPHOLOGY, SYNONYM_MODIFIER };
/* "file", "wordnet", "morphology", "modifier". */
const char *synonym_source_name(enum synonym_source s);

struct synonym_pair {
    const char *names[2];   /* lower case */
    const char *written[2]; /* as the dictionary writes them */
    enum synonym_source source;
};

struct synonym_finder {
    const struct synonyms *columns, *tables; /* NULL: none, names are made */
    struct strings text;                     /* keeps what was made */
};

/* column is NULL for a table.  False when there are no two. */
bool synonym_finder_find(struct synonym_finder *f, struct synonym_pair *pair, const struct schema *s, const char *table,
                         const char *column);
void synonym_finder_release(struct synonym_finder *f);

#endif
