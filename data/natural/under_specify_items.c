/* Part of under_specify_impl.h: the items, what else they may mean, and the databases that their statements run on. */
#include "data/natural/under_specify_impl.h"

#include "data/exec/db_path.h"
#include "data/exec/result_match.h"

#include <stdlib.h>

static bool names_table(const struct cut_question *q, const struct schema *s, int table)
{
    struct word_list name;

    word_list_read(&name, s->tables[table].text);
    for (int i = 0; i < name.n; i++)
        if (question_says(q, name.list[i]))
            return true;
    return false;
}

static bool is_near(const struct schema *s, const bool *touched, int column, int table)
{
    int t = s->columns[column].table;

    if (t == table || tables_joined(s, t, table))
        return true;
    for (int c = s->tables[t].first_column; c < s->tables[t].first_column + s->tables[t].n_columns; c++)
        if (touched[c])
            return true;
    return false;
}

bool under_drop_further(bool *dropped, const struct cut_question *q, const struct schema *s, const bool *touched,
                        const struct rival_pair *r, const struct word_list *left)
{
    int table = s->columns[r->columns[0]].table;
    bool named = names_table(q, s, table);

    for (int c = 0; c < s->n_columns; c++) {
        if (c == r->columns[0] || c == r->columns[1] || !column_has_words(s, c, left) ||
            (named && !is_near(s, touched, c, table)))
            continue;
        struct word_list name;
        name.n = words_read(s->columns[c].text, name.list, NAME_MAX_WORDS);
        bool said = name.n > left->n && question_find(q, name.list, name.n, 0) >= 0;
        if (touched[c] && !said)
            return false;
        if (!touched[c] && s->columns[c].primary)
            return false;
        dropped[c] = !touched[c];
    }
    return true;
}

struct exec_db *under_rows_open(struct under_rows *r, int db)
{
    if (r->of == db + 1)
        return r->db;
    exec_close(r->db);
    r->db = NULL;
    r->of = db + 1;
    char *path = r->c->db ? db_path(r->c->db, r->c->schemas.schemas[db].db_id, NULL) : NULL;
    if (path)
        r->db = exec_open(path, &exec_limits_preview, NULL);
    free(path);
    return r->db;
}

bool under_rows_differ(struct under_rows *r, int db, const char *const *sql)
{
    struct exec_db *e = under_rows_open(r, db);

    if (!e)
        return true;
    struct exec_result a = exec_run(e, sql[0]), b = exec_run(e, sql[1]);
    bool good = a.status == EXEC_OK && b.status == EXEC_OK && (a.n == 0) == (b.n == 0);
    if (good && a.n)
        good = !match_rows(&a, &b, false);
    exec_result_release(&a);
    exec_result_release(&b);
    return good;
}

void under_rows_close(struct under_rows *r)
{
    exec_close(r->db);
    r->db = NULL;
    r->of = 0;
}

void under_items_add(struct under_items *items, const struct under_item *item)
{
    GROW(items->list, items->n, items->cap);
    items->list[items->n++] = *item;
}

void under_items_release(struct under_items *items)
{
    for (int i = 0; i < items->n; i++) {
        free(items->list[i].touched);
        free(items->list[i].dropped);
    }
    free(items->list);
    strings_release(&items->text);
}
