/*
 * synonym_finder.h - two alternative names for a table or column, from a dictionary or generated.
 *
 * Without a dictionary, names come from WordNet if it knows the whole name. Otherwise they are formed from the name:
 * abbreviations are expanded, the last or first word is replaced by a synonym, or the table's name is put before the
 * column's.
 */
#ifndef DATA_SYNTH_SYNONYM_FINDER_H
#define DATA_SYNTH_SYNONYM_FINDER_H

#include "data/corpora/spider.h"
#include "data/schema/schema.h"

enum synonym_source {
    SYNONYM_NONE,
    SYNONYM_FILE,
    SYNONYM_MODEL,
    SYNONYM_WORDNET,
    SYNONYM_MORPHOLOGY,
    SYNONYM_MODIFIER
};
/* Returns "file", "model", "wordnet", "morphology" or "modifier". */
const char *synonym_source_name(enum synonym_source s);

struct synonym_pair {
    const char *names[2];   /* lower case */
    const char *written[2]; /* spelled as in the dictionary */
    enum synonym_source source;
};

struct synonym_finder {
    const struct synonyms *columns, *tables; /* dictionaries; NULL: generate names */
    bool by_model;                           /* the dictionaries are those of a language model */
    struct strings text;                     /* owns the generated names */
};

/* Finds two names for a column, or for the table if column is NULL. Returns false if there are not two. */
bool synonym_finder_find(struct synonym_finder *f, struct synonym_pair *pair, const struct schema *s, const char *table,
                         const char *column);
void synonym_finder_release(struct synonym_finder *f);

#endif
