/* Fuzzes canonical forms and dialogues with lines as candidate statements. Each form equals the form of its printed
 * statement. Differences between the candidates become slots, attributes and questions, and every dialogue ends. */
#include "tests/support/fuzz.h"

#include "data/clarify/question.h"
#include "data/sql/sql.h"

#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 6 };

static struct schema schema;
static struct arena arena, trees; /* of a statement being printed; of all forms */

struct world {
    struct form_store store;
    const struct form *forms[CANDIDATES];
    double p[CANDIDATES];
    int n;
    struct slots slots;
    struct attributes attributes;
};

static void set_up(void)
{
    static const char *const tables[][3] = { { "a", "x", "y" }, { "b", "x", "order" }, { "c d", "x", "y" } };
    struct schema_build b;

    fuzz_tables(&b, tables, ARRAY_LEN(tables));
    schema_build_finish(&b, &schema);
    CHECK(arena_init(&arena, 64 << 20, NULL) == 0 && arena_init(&trees, 256 << 20, NULL) == 0, "no memory");
}

/* Returns NULL if the text is not a statement, or is too large. */
static const struct form *read_form(struct world *w, const char *text)
{
    struct error err = { 0 };
    const struct form *form = form_of_text(&w->store, text, &schema, &trees, &err);

    CHECK(form || err.text[0], "refused without a word: %s", text);
    return form;
}

/* Returns the canonical text, or NULL. */
static const char *print(const char *text)
{
    struct sql_uses uses;

    arena_reset(&arena, 0);
    struct sql_query *q = sql_parse(&arena, text, NULL);
    return q && sql_resolve(&arena, q, &schema, &uses, NULL) == 0 ? sql_print(&arena, q) : NULL;
}

static bool known(const struct world *w, const struct form *form)
{
    bool found = false;

    for (int i = 0; i < w->n; i++)
        found = found || strcmp(w->forms[i]->text, form->text) == 0;
    return found;
}

static void add_candidate(struct world *w, const char *text)
{
    const struct form *form = read_form(w, text);
    const char *printed = form ? print(text) : NULL;

    if (!printed || arena.used > arena.size / 2 || trees.used > trees.size / 2)
        return;
    const struct form *same = read_form(w, printed);
    CHECK(same && strcmp(form->text, same->text) == 0, "%s\nis\n%s\nbut as\n%s\nit is\n%s", text, form->text, printed,
          same ? same->text : "none");
    if (!known(w, form))
        w->forms[w->n++] = form;
}

static void check_slots(const struct slots *s)
{
    for (int i = 0; i < s->n; i++) {
        bool differs = false;
        for (int c = 1; c < s->n_candidates; c++) {
            const char *first = s->list[i].values[0], *value = s->list[i].values[c];
            differs = differs || !first != !value || (first && strcmp(first, value) != 0);
        }
        CHECK(differs, "the slot %s is the same for all", s->list[i].name);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(s->list[i].name, s->list[k].name) != 0, "two slots are %s", s->list[i].name);
    }
}

static void check_question(struct world *w, const struct dialogue *d, const struct question_view *view)
{
    struct strings pool = { 0 };
    struct question_context a = {
        { .schema = &schema, .pool = &pool, .store = &w->store }, &w->attributes, w->forms, &d->now, NULL, false
    };
    struct question q;

    question_write(&q, &a, view);
    CHECK(q.text[0] && q.n == view->n_shown + view->other && q.n >= 2, "%d options of %s", q.n, q.text);
    for (int i = 0; i < q.n; i++)
        for (int k = 0; k < i; k++)
            CHECK(strcmp(q.options[i], q.options[k]) != 0, "%s: %s twice", q.text, q.options[i]);
    strings_release(&pool);
}

/* Runs a dialogue in which the user always takes the last option. */
static void talk(struct world *w, const struct posterior *prior)
{
    struct dialogue d;
    struct question_view view;
    int turns = 0;

    dialogue_init(&d, &dialogue_rules_default, w->attributes.splits, w->attributes.n, prior);
    while (dialogue_next(&d, &view) == STOP_NOT) {
        CHECK(turns++ < DIALOGUE_MAX_TURNS && view.gain >= 0, "turn %d, %g bits", turns, view.gain);
        check_question(w, &d, &view);
        if (dialogue_answer(&d, &view, (struct answer){ ANSWER_VALUE, view.split.n_values - 1 }))
            break;
    }
    dialogue_release(&d);
}

static void compare(struct world *w)
{
    struct posterior prior = { w->p, w->n, 0 };

    for (int i = 0; i < w->n; i++)
        w->p[i] = 1.0 / w->n;
    slots_extract(&w->slots, w->forms, w->n, &schema);
    check_slots(&w->slots);
    attributes_build(&w->attributes, &w->slots, &prior, 0);
    CHECK(w->attributes.n > 0 && w->attributes.list[w->attributes.n - 1].type == QUESTION_QUERY, "no last resort");
    talk(w, &prior);
    attributes_release(&w->attributes);
    slots_release(&w->slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = { 0 };
    char *text = fuzz_text(data, size);

    if (!schema.tables)
        set_up();
    for (char *line = text, *next; line && w.n < CANDIDATES; line = next) {
        next = fuzz_next_line(line);
        add_candidate(&w, line);
    }
    if (w.n)
        compare(&w);
    form_store_release(&w.store);
    free(text);
    return 0;
}
