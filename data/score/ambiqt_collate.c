#include "data/score/ambiqt_collate.h"

#include "data/corpora/ambiqt_text.h"

#include <stdlib.h>
#include <string.h>

void ambiqt_list_release(struct ambiqt_list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    *l = (struct ambiqt_list){ 0 };
}

/* Takes s. */
static void add_once(struct ambiqt_list *l, char *s, int64_t limit)
{
    bool known = l->n >= limit;

    for (int i = 0; i < l->n && !known; i++)
        known = strcmp(l->items[i], s) == 0;
    if (known) {
        free(s);
        return;
    }
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = s;
}

void ambiqt_merge(struct ambiqt_list *out, const struct ambiqt_list *lists, int n_lists, int64_t limit)
{
    int last = 0;

    *out = (struct ambiqt_list){ 0 };
    for (int i = 0; i < n_lists; i++)
        last = 3 * i + 2 * lists[i].n > last ? 3 * i + 2 * lists[i].n : last;
    for (int rank = 0; rank < last && out->n < limit; rank++)
        for (int i = 0; i < n_lists && 3 * i <= rank; i++)
            if ((rank - 3 * i) % 2 == 0 && (rank - 3 * i) / 2 < lists[i].n)
                add_once(out, xstrdup(lists[i].items[(rank - 3 * i) / 2]), limit);
}

void ambiqt_collate(struct ambiqt_list *out, const struct ambiqt_list *first, int n_first,
                    const struct ambiqt_list *rest, int64_t k)
{
    *out = (struct ambiqt_list){ 0 };
    for (int i = 0; i < first->n && i < n_first; i++)
        add_once(out, ambiqt_normalize(first->items[i]), k);
    for (int i = 0; i < rest->n; i++)
        add_once(out, ambiqt_normalize(rest->items[i]), k);
}
