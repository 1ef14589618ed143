#include "data/span/number_match.h"

#include "data/span/number_read.h"
#include "data/util/real_text.h"

#include <inttypes.h>
#include <stdlib.h>

void number_matches_release(struct number_matches *m)
{
    for (int i = 0; i < m->n; i++)
        free((void *)(uintptr_t)m->items[i].holders);
    free(m->items);
    strings_release(&m->texts);
    *m = (struct number_matches){ 0 };
}

static const char *number_text(struct strings *texts, struct plain_number n)
{
    char text[REAL_TEXT];

    if (n.whole)
        return strings_printf(texts, "%" PRId64, n.integer);
    real_text(text, n.real);
    return strings_keep(texts, text);
}

/* What of the number, or of the share that a percentage says, the column holds. */
static const struct plain_number *held_number(const struct number_index *x, int column, const struct plain_number *said,
                                              int n)
{
    for (int i = 0; i < n; i++)
        if (number_index_has(x, column, said[i]))
            return &said[i];
    return NULL;
}

static void find_holders(struct number_matches *m, struct said_number *s, const struct number_index *x)
{
    const struct plain_number said[] = { s->value, plain_real(s->value.real / 100) };
    struct number_holder *holders = xcalloc((size_t)x->n_columns + 1, sizeof *holders);

    for (int c = 0; c < x->n_columns; c++) {
        const struct plain_number *held = held_number(x, c, said, 1 + s->percent);
        bool by_year = !held && s->plain_year && number_index_has_year(x, c, (int)s->value.integer);
        if (held || by_year)
            holders[s->n_holders++] =
                (struct number_holder){ c, number_text(&m->texts, held ? *held : s->value), by_year };
    }
    s->holders = holders;
}

void number_match(struct number_matches *m, const struct number_index *x, const char *question)
{
    struct said_number number;
    int at = 0;

    *m = (struct number_matches){ 0 };
    while (number_read_next(&number, question, &at)) {
        GROW(m->items, m->n, m->cap);
        m->items[m->n] = number;
        find_holders(m, &m->items[m->n++], x);
    }
}
