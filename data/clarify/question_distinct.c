/* Part of question.h: options that would read alike. */
#include "data/clarify/question_impl.h"

#include <string.h>

enum { EXACT_BYTES = 600 }; /* of an option that says all; a longer one says in what it differs */

/* Another option that reads as this one does; -1 for none. */
static int twin_of(const char *const *texts, int n, int option)
{
    for (int i = 0; i < n; i++)
        if (i != option && strcmp(texts[i], texts[option]) == 0)
            return i;
    return -1;
}

/* What a statement says, ever more of it. */
static const char *say_words(struct question_writer *w, int statement)
{
    return phrase_query(w->p, w->a->forms[statement]);
}

static const char *say_sql(struct question_writer *w, int statement)
{
    return phrase_sql(w->p, w->a->forms[statement]);
}

/* Adds to each that has a twin what the longer text says and its twin's does not. */
static void add_difference(struct question_writer *w, question_option_fn *longer, const char *format)
{
    struct question *q = w->q;
    const char *was[DIALOGUE_SHOWN + 1];

    memcpy(was, q->options, sizeof was);
    for (int i = 0; i < q->n; i++) {
        int twin = twin_of(was, q->n, i);
        if (twin < 0)
            continue;
        const char *own = longer(w, q->statement[i]), *other = longer(w, q->statement[twin]);
        if (strcmp(own, other) != 0)
            q->options[i] = strings_printf(w->p->pool, format, was[i], phrase_difference(w->p, own, other));
    }
}

static void say_exactly(struct question_writer *w, question_option_fn *option)
{
    struct question *q = w->q;
    const char *was[DIALOGUE_SHOWN + 1];

    memcpy(was, q->options, sizeof was);
    for (int i = 0; i < q->n; i++) {
        const char *exact = twin_of(was, q->n, i) < 0 ? was[i] : option(w, q->statement[i]);
        q->options[i] = strlen(exact) <= EXACT_BYTES ? exact : was[i];
    }
}

void question_make_distinct(struct question_writer *w, question_option_fn *option)
{
    const struct phrase_context *plain = w->p;
    struct phrase_context exact = *plain;
    struct question *q = w->q;

    exact.exact = true;
    w->p = &exact;
    say_exactly(w, option);
    add_difference(w, option, "%s (%s)");
    add_difference(w, say_words, "%s (%s)");
    add_difference(w, say_sql, "%s (\"%s\")");
    for (int i = q->n - 1; i >= 0; i--)
        if (twin_of(q->options, q->n, i) >= 0)
            q->options[i] = strings_printf(plain->pool, "%s (reading %d)", q->options[i], i + 1);
    w->p = plain;
}
