#include "data/ambiguate/synonym_finder.h"

#include "data/ambiguate/synonym_make.h"

const char *synonym_source_name(enum synonym_source s)
{
    static const char *const names[] = { NULL, "file", "wordnet", "morphology", "modifier" };
    return names[s];
}

static bool find_in_file(const struct synonyms *from, struct synonym_pair *pair, const char *db_id, const char *table,
                         const char *column)
{
    const char *const *names = synonyms_find(from, db_id, table, column);
    const char *const *written = synonyms_written(from, db_id, table, column);

    if (!names)
        return false;
    for (int k = 0; k < 2; k++) {
        pair->names[k] = names[k];
        pair->written[k] = written[k];
    }
    pair->source = SYNONYM_FILE;
    return true;
}

bool synonym_finder_find(struct synonym_finder *f, struct synonym_pair *pair, const struct schema *s, const char *table,
                         const char *column)
{
    const struct synonyms *from = column ? f->columns : f->tables;

    if (from)
        return find_in_file(from, pair, s->db_id, table, column);
    int t = schema_table_find(s, table), c = t >= 0 && column ? schema_column_find(s, t, column) : -1;
    if (t < 0 || (column && c < 0))
        return false;
    return synonym_make(&f->text, pair, s, t, c);
}

void synonym_finder_release(struct synonym_finder *f)
{
    strings_release(&f->text);
}
