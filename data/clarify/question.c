#include "data/clarify/question.h"

#include "data/clarify/element_choice.h"
#include "data/span/tagging.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct question_writer {
    const struct question_context *a;
    const struct phrase_context *p;
    const struct attribute *attribute;
    const struct slot *slot; /* of a pair the current one; NULL for the whole statement */
    struct question *q;
};

/* Makes equal options distinct: first with all tables and whole lists, then by the difference of the statements in
 * words and in SQL, at last by a number. */
typedef const char *question_option_fn(struct question_writer *w, int statement);

static bool list_touches(const struct schema *s, const struct form_list *list, int element)
{
    for (int i = 0; i < list->n; i++) {
        const struct form_term *t = &list->items[i];
        int table = t->table >= 0 ? t->table : t->column >= 0 ? s->columns[t->column].table : -1;
        if (element < s->n_tables ? table == element : t->column == element - s->n_tables)
            return true;
    }
    return false;
}

static bool form_touches(const struct schema *s, const struct form *form, int element)
{
    for (int clause = 0; clause < FORM_CLAUSES; clause++)
        if (list_touches(s, &form->lists[clause], element))
            return true;
    return false;
}

/* Tells whether the statement uses the element at the slot. */
static bool question_touches(const struct question_writer *w, int statement, int element)
{
    const struct schema *s = w->p->schema;

    if (!w->slot)
        return form_touches(s, w->a->forms[statement], element);
    if (!w->slot->values[statement])
        return false;
    const struct form *form = w->slot->forms[statement];
    const struct form_term *t = w->slot->terms[statement];
    if (t && w->slot->type != QUESTION_TABLE) {
        struct form_list one = { (struct form_term *)t, 1, 1 };
        return list_touches(s, &one, element) || t->other == element - s->n_tables;
    }
    return list_touches(s,
                        &form->lists[w->slot->type == QUESTION_TABLE   ? FORM_FROM
                                     : w->slot->type == QUESTION_GROUP ? FORM_GROUP
                                                                       : FORM_SELECT],
                        element);
}

static int best_statement(const struct question_context *a, const struct question_view *view, int option)
{
    int best = -1;

    for (int i = 0; i < a->now->n; i++)
        if (view->split.value[i] == option && a->now->p[i] > 0 && (best < 0 || a->now->p[i] > a->now->p[best]))
            best = i;
    return best;
}

/* Returns a writer whose question has its statements but no words. */
static struct question_writer question_begin(struct question *q, const struct question_context *a,
                                             const struct question_view *view)
{
    const struct attribute *v = &a->attributes->list[view->attribute];

    *q = (struct question){ .n = view->n_shown };
    for (int i = 0; i < q->n; i++)
        q->statement[i] = best_statement(a, view, i);
    return (struct question_writer){ a, &a->phrasing, v, v->slot, q };
}

/* Number of options that use the element. */
static int question_touching(const struct question_writer *w, int element)
{
    int n = 0;

    for (int i = 0; i < w->q->n; i++)
        n += w->q->statement[i] >= 0 && question_touches(w, w->q->statement[i], element);
    return n;
}

/* Tells whether an option uses some of the elements but not all. */
static bool chooses(const struct question_writer *w, int option, const int *elements, int n)
{
    int has = 0;

    for (int i = 0; i < n && w->q->statement[option] >= 0; i++)
        has += question_touches(w, w->q->statement[option], elements[i]);
    return has > 0 && (has < n || n == 1);
}

/* Tells whether an option uses one of the elements, but not all, and another option does not. */
static bool question_parts(const struct question_writer *w, const int *elements, int n)
{
    bool chosen = false, differs = false;

    for (int i = 0; i < w->q->n; i++)
        chosen = chosen || chooses(w, i, elements, n);
    for (int i = 0; i < n && chosen; i++) {
        int having = question_touching(w, elements[i]);
        differs = differs || (having > 0 && having < w->q->n);
    }
    return differs;
}

/* Tells whether the options divide the alternatives of the detector. */
static bool question_asks_found(const struct question_writer *w)
{
    const struct evidence *h = w->a->evidence;
    return h && question_parts(w, h->found, h->n_found);
}

/* Tells whether a span is about values, which the outputs of a result do not show. */
static bool question_is_beside(const struct question_writer *w, const struct span *p)
{
    return p->is_value && w->attribute->clause == SQL_SELECT;
}

static bool leaves_open(const struct question_writer *w, const struct span *p)
{
    return p->label == SPAN_AMB && p->n_elements > 1 && !question_is_beside(w, p) &&
           question_parts(w, p->elements, p->n_elements);
}

/* The most probable AMB span whose alternatives the options divide, or NULL. */
static const struct span *question_open_span(const struct question_writer *w)
{
    const struct evidence *h = w->a->evidence;
    const struct span *best = NULL;

    for (int i = 0; h && i < h->n_spans; i++) {
        const struct span *p = &h->spans[i];
        if ((!best || p->probability > best->probability) && leaves_open(w, p))
            best = p;
    }
    return best;
}

/* The text of an element, as an option. */
static const char *text_of(const struct question_writer *w, int element)
{
    const struct schema *s = w->p->schema;
    const struct schema_column *c = element < s->n_tables ? NULL : &s->columns[element - s->n_tables];

    if (!c || w->attribute->type == QUESTION_TABLE)
        return s->tables[c ? c->table : element].text;
    return phrase_column(w->p, element - s->n_tables);
}

static bool is_offered(const struct question *q, const char *text)
{
    for (int i = 0; i < q->n; i++)
        if (strcmp(q->options[i], text) == 0)
            return true;
    return false;
}

/* Offers elements, only if each option is one column or one table. */
static void offer(struct question_writer *w, const int *elements, int n)
{
    const struct schema *s = w->p->schema;
    enum question_type type = w->attribute->type;
    bool columns = type == QUESTION_SORT || (w->slot->type == QUESTION_COLUMN && type != QUESTION_STORED);
    struct question *q = w->q;

    for (int i = 0; i < n && q->n < DIALOGUE_SHOWN; i++) {
        bool fits = elements[i] < s->n_tables ? type == QUESTION_TABLE : columns;
        const char *text = fits ? text_of(w, elements[i]) : NULL;
        if (!fits || question_touching(w, elements[i]) || is_offered(q, text))
            continue;
        q->found[q->n] = evidence_element_name(s, elements[i], w->p->pool);
        q->statement[q->n] = -1;
        q->options[q->n++] = text;
    }
}

/* Adds alternatives that no statement uses, up to the maximum number of options. */
static void question_add_found(struct question_writer *w)
{
    const struct evidence *h = w->a->evidence;
    const struct span *open = question_open_span(w);

    if (!w->slot || w->attribute->second)
        return;
    if (question_asks_found(w))
        offer(w, h->found, h->n_found);
    if (open)
        offer(w, open->elements, open->n_elements);
}

double question_support(const struct question_context *a, const struct question_view *view)
{
    struct question q;
    struct question_writer w = question_begin(&q, a, view);
    const struct span *open = w.slot ? question_open_span(&w) : NULL;
    double support = open ? open->probability : 0;

    return w.slot && question_asks_found(&w) ? fmax(support, a->evidence->score) : support;
}

/* Searches for text, ignoring case. */
static bool has_text(const char *text, const char *part, size_t n)
{
    for (; n && *text; text++)
        if (strncasecmp(text, part, n) == 0)
            return true;
    return false;
}

/* Tells whether the user's words contain a constant of an option. */
static bool says_value(const struct question_writer *w, const char *words)
{
    for (int i = 0; w->slot && i < w->q->n; i++) {
        const struct form_term *t = w->q->statement[i] >= 0 ? w->slot->terms[w->q->statement[i]] : NULL;
        if (!t || !t->constant)
            continue;
        bool quoted = t->value[0] == '\'' && strlen(t->value) > 2;
        if (has_text(words, t->value + quoted, strlen(t->value) - (quoted ? 2 : 0)))
            return true;
    }
    return false;
}

/* Tells whether the question is about one of the elements. */
static bool concerns(const struct question_writer *w, const int *elements, int n)
{
    for (int e = 0; e < n; e++)
        for (int i = 0; w->slot && i < w->q->n; i++) {
            int statement = w->q->statement[i];
            if (w->slot->terms[statement] && question_touches(w, statement, elements[e]))
                return true;
        }
    return question_parts(w, elements, n);
}

/* Scores how well a span fits the question: by the tagger's link, then by a value, then by words. */
static double coverage(const struct question_writer *w, const struct span *p)
{
    const struct schema *s = w->p->schema;
    double most = 0;

    if (p->label == SPAN_UNK || question_is_beside(w, p))
        return 0;
    if (p->n_elements)
        return concerns(w, p->elements, p->n_elements) ? 3 + p->probability : 0;
    if (says_value(w, p->words))
        return 2 + p->probability;
    for (int e = 0; e < s->n_tables + s->n_columns; e++)
        if (p->said[e] >= 0.5F && concerns(w, &e, 1) && p->said[e] + p->probability > most)
            most = p->said[e] + p->probability;
    return most;
}

static const char *user_words(const struct question_writer *w)
{
    const struct evidence *h = w->a->evidence;
    const struct span *open = question_open_span(w);
    const char *words = open ? open->words : NULL;
    double most = 0;

    for (int i = 0; h && !open && i < h->n_spans; i++) {
        double c = coverage(w, &h->spans[i]);
        if (c > most) {
            most = c;
            words = h->spans[i].words;
        }
    }
    return words;
}

static const char *lead_of_span(const struct question_writer *w, const struct span *p)
{
    static const char *const counts[] = { "Two", "Three", "Four", "Five" };
    int beyond = p->n_elements - 2, tables = 0;

    for (int i = 0; i < p->n_elements; i++)
        tables += p->elements[i] < w->p->schema->n_tables;
    if (tables && tables < p->n_elements)
        return strings_printf(w->p->pool, "You wrote \"%s\". ", p->words);
    const char *what = tables ? "kinds of records fit" : p->is_value ? "columns have" : "columns fit";
    return strings_printf(w->p->pool, "%s %s what you wrote, \"%s\". ",
                          beyond < ARRAY_LEN(counts) ? counts[beyond] : "Several", what, p->words);
}

/* The sentence about the evidence, such as "Two columns fit what you wrote, "fee".", or "". */
static const char *question_lead(const struct question_writer *w)
{
    const char *words = user_words(w), *format = words ? "You wrote \"%s\". " : "";

    bool asked = question_asks_found(w);
    const struct span *open = question_open_span(w);
    if (open &&
        (!asked || (!ambiguity_types[w->a->evidence->type].new_table && open->n_elements > w->a->evidence->n_found)))
        return lead_of_span(w, open);
    if (asked)
        format = ambiguity_types[w->a->evidence->type].lead[words != NULL];
    const char *blank = strstr(format, "%s");
    return blank ? strings_printf(w->p->pool, "%.*s%s%s", (int)(blank - format), format, words, blank + 2) : format;
}

static bool is_arm(const struct form *form, const struct form *of)
{
    while (of && of != form)
        of = of->next;
    return of != NULL;
}

/* "For the part about song: " for a slot of a sub-query, else "". */
static const char *question_part(const struct question_writer *w)
{
    const char *part = NULL;

    for (int i = 0; w->slot && i < w->q->n; i++) {
        int statement = w->q->statement[i];
        const struct form *form = statement >= 0 ? w->slot->forms[statement] : NULL;
        if (!form)
            continue;
        if (is_arm(form, w->a->forms[statement]) || !form->lists[FORM_FROM].n)
            return "";
        const char *tables = phrase_tables(w->p, form);
        if (part && strcmp(part, tables) != 0)
            return "";
        part = tables;
    }
    return part ? strings_printf(w->p->pool, "For the part about %s: ", part) : "";
}

/* The column that identifies the rows of a table best: the first text that is not a key. */
static int telling_column(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].type == COLUMN_TEXT && !s->columns[c].primary)
            return c;
    return -1;
}

/* The column whose sample values explain an option; -1 without a single one. */
static int sampled_column(const struct question_writer *w, int statement)
{
    const struct form_term *t = w->slot ? w->slot->terms[statement] : NULL;
    const struct form *form = w->slot ? w->slot->forms[statement] : NULL;
    const struct form_list *list = NULL;

    switch (w->attribute->type) {
    case QUESTION_COLUMN:
    case QUESTION_SORT:
    case QUESTION_STORED:
        if (t && t->value[0] && strcmp(t->op, "=") != 0)
            return -1;
        return t && !t->function[0] ? t->column : -1;
    case QUESTION_TABLE:
        if (t && t->column >= 0)
            return t->column;
        list = form ? &form->lists[FORM_FROM] : NULL;
        return list && list->n == 1 && list->items[0].table >= 0 ? telling_column(w->p->schema, list->items[0].table)
                                                                 : -1;
    case QUESTION_OUTPUT:
    case QUESTION_GROUP:
        list = form ? &form->lists[w->attribute->type == QUESTION_GROUP ? FORM_GROUP : FORM_SELECT] : NULL;
        return list && list->n == 1 && !list->items[0].function[0] ? list->items[0].column : -1;
    default:
        return -1;
    }
}

/* Adds a few values of its column to an option. */
static const char *question_with_samples(const struct question_writer *w, const char *option, int statement)
{
    struct column_samples *samples = w->a->evidence ? w->a->evidence->samples : NULL;
    int column = samples && !w->attribute->second ? sampled_column(w, statement) : -1;
    const char *values =
        column < 0 || w->p->schema->columns[column].primary ? "" : column_samples_text(samples, column);

    return values[0] ? strings_printf(w->p->pool, "%s (such as %s)", option, values) : option;
}

enum { EXACT_BYTES = 600 }; /* maximum length of an exact option; longer ones show their difference */

/* Index of an equal option, or -1. */
static int twin_of(const char *const *texts, int n, int option)
{
    for (int i = 0; i < n; i++)
        if (i != option && strcmp(texts[i], texts[option]) == 0)
            return i;
    return -1;
}

/* Longer and longer texts of a statement. */
static const char *say_words(struct question_writer *w, int statement)
{
    return phrase_query(w->p, w->a->forms[statement]);
}

static const char *say_sql(struct question_writer *w, int statement)
{
    return phrase_sql(w->p, w->a->forms[statement]);
}

/* Adds to equal options the difference of their longer texts. */
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

static void question_make_distinct(struct question_writer *w, question_option_fn *option)
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

/* The statement's term at the slot; NULL if absent or not a single term. */
static const struct form_term *term_of(const struct question_writer *w, int statement)
{
    return w->slot->terms[statement];
}

static const char *value_of(const struct question_writer *w, int statement)
{
    return w->slot->values[statement];
}

static const struct form_term *any_term(const struct question_writer *w)
{
    const struct form_term *found = NULL;

    for (int i = 0; i < w->q->n && !found; i++)
        found = w->q->statement[i] >= 0 ? term_of(w, w->q->statement[i]) : NULL;
    return found;
}

/* Texts of options.  `statement` has the value of the option. */

/* A list of all columns of a table is abbreviated. */
static const char *option_output(const struct question_writer *w, int statement)
{
    const struct form *form = w->slot->forms[statement];
    const struct form_list *list = &form->lists[FORM_SELECT];
    const struct schema *s = w->p->schema;
    int table = list->n && list->items[0].column >= 0 ? s->columns[list->items[0].column].table : -1;
    bool all = table >= 0 && list->n == s->tables[table].n_columns;

    for (int i = 0; i < list->n && all; i++)
        all = list->items[i].column == s->tables[table].first_column + i && !list->items[i].function[0];
    const char *outputs = phrase_outputs(w->p, form);
    return all && strncmp(outputs, "all ", 4) != 0
               ? strings_printf(w->p->pool, "everything about %s: %s", s->tables[table].text, outputs)
               : outputs;
}

static bool is_constant(const struct form_term *t)
{
    return t->expr->kind == SQL_EXPR_STRING ||
           (t->expr->kind == SQL_EXPR_LITERAL && isdigit((unsigned char)*t->expr->text));
}

/* The constant that all options compare with by equality, or NULL. */
static const char *looked_for(const struct question_writer *w)
{
    const struct form_term *first = any_term(w);

    for (int i = 0; first && i < w->q->n; i++) {
        const struct form_term *t = w->q->statement[i] >= 0 ? term_of(w, w->q->statement[i]) : NULL;
        if (t && (!t->constant || strcmp(t->op, "=") != 0 || strcmp(t->value, first->value) != 0))
            return NULL;
    }
    return first ? first->value : NULL;
}

/* A column answers "Where should 'x' be looked for?"; other comparisons are shown in full. */
static const char *option_operand(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    if (w->slot->clause != SQL_SELECT && t->value[0])
        return looked_for(w) ? phrase_subject(w->p, t) : phrase_condition(w->p, t, false);
    return is_constant(t) ? strings_printf(w->p->pool, "the fixed value %s", phrase_operand(w->p, t))
                          : phrase_operand(w->p, t);
}

static const char *option_condition(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);
    bool boundary = w->attribute->type == QUESTION_OPERATOR;

    const char *phrase = phrase_condition(w->p, t, boundary);
    return w->attribute->type == QUESTION_CONDITION ? strings_printf(w->p->pool, "only where %s", phrase) : phrase;
}

static const char *option_stored(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);
    return strings_printf(w->p->pool, t->column < 0 || t->function[0] ? "%s, worked out now" : "%s, as it is stored",
                          phrase_operand(w->p, t));
}

static const char *option_table(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);
    const char *records = t && t->column >= 0 ? phrase_records(w->p, t) : NULL;
    return records ? records : phrase_tables(w->p, w->slot->forms[statement]);
}

static const char *option_logic(const struct question_writer *w, int statement)
{
    return strcmp(value_of(w, statement), "any") == 0 ? "one of them is enough" : "all of them must hold";
}

static const char *option_aggregate(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    if (t->value[0])
        return phrase_condition(w->p, t, false);
    return t->function[0] || t->column < 0
               ? phrase_operand(w->p, t)
               : strings_printf(w->p->pool, "%s as it is, one by one", phrase_operand(w->p, t));
}

static const char *option_distinct(const struct question_writer *w, int statement)
{
    return strcmp(value_of(w, statement), "all") == 0 ? "every row, repeats included" : "each different row once";
}

static const char *option_group(const struct question_writer *w, int statement)
{
    const char *groups = phrase_groups(w->p, w->slot->forms[statement]);
    return groups[0] ? strings_printf(w->p->pool, "each %s", groups) : "everything together, without groups";
}

static const char *option_join(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    const char *how = phrase_matching(w->p, w->slot->forms[statement], t);
    if (strcmp(t->op, "left") == 0)
        return strings_printf(w->p->pool,
                              w->p->exact && how[0] ? "also what has no %s (matched where %s)" : "also what has no %s",
                              t->table >= 0 ? w->p->schema->tables[t->table].text : "partner", how);
    return strings_printf(w->p->pool,
                          strcmp(t->op, "inner") == 0 ? "only what belongs together: %s" : "put together as %s", how);
}

static const char *option_sort(const struct question_writer *w, int statement)
{
    const struct form_term *t = term_of(w, statement);

    const char *by = phrase_operand(w->p, t);
    bool whole = strcmp(value_of(w, statement), t->text) == 0; /* if some statements do not sort */
    return whole ? strings_printf(w->p->pool, "%s, %s", by, phrase_direction(w->p, t)) : by;
}

static const char *option_direction(const struct question_writer *w, int statement)
{
    return phrase_direction(w->p, term_of(w, statement));
}

static const char *option_limit(const struct question_writer *w, int statement)
{
    const char *limit = value_of(w, statement);
    return limit[0] ? phrase_limit(w->p, limit) : "all of them";
}

static const char *option_set(const struct question_writer *w, int statement)
{
    return phrase_sets(w->p, w->slot->forms[statement]);
}

static const char *option_query(const struct question_writer *w, int statement)
{
    return phrase_query(w->p, w->a->forms[statement]);
}

/* Texts of questions. */

static const char *ask_column(const struct question_writer *w)
{
    const char *value = w->attribute->clause == SQL_SELECT ? NULL : looked_for(w);

    if (w->attribute->clause == SQL_SELECT)
        return "What should the result show?";
    return value ? strings_printf(w->p->pool, "Where should %s be looked for?", phrase_value(w->p, value))
                 : "Which condition is meant?";
}

static const char *ask_operator(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    bool number = t && t->constant && strpbrk(t->op, "<>");
    return number ? strings_printf(w->p->pool, "How should %s be compared with %s?", phrase_subject(w->p, t),
                                   phrase_value(w->p, t->value))
                  : "Which condition is meant?";
}

static const char *ask_value(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    return t && t->constant ? strings_printf(w->p->pool, "Which value of %s is meant?", phrase_subject(w->p, t))
                            : "Which condition is meant?";
}

static const char *ask_join(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);

    if (!t || !strchr(t->head, ','))
        return "What about rows without a partner?";
    return strings_printf(w->p->pool, "How should %s and %s be put together?", phrase_table(w->p, t->head, 0),
                          phrase_table(w->p, t->head, 1));
}

static const char *ask_direction(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    return t ? strings_printf(w->p->pool, "Sorted by %s, which should come first?", phrase_operand(w->p, t))
             : "Which should come first?";
}

typedef const char *option_fn(const struct question_writer *w, int statement);

typedef const char *ask_fn(const struct question_writer *w);

static const struct wording {
    option_fn *option; /* option of a statement with the slot */
    ask_fn *ask;       /* or a fixed text: */
    const char *text;
    const char *absent; /* option of a statement without the slot; NULL: no wording */
} templates[QUESTION_TYPES] = {
    [QUESTION_OUTPUT] = { option_output, NULL, "What should the result show?", NULL },
    [QUESTION_COLUMN] = { option_operand, ask_column, NULL, NULL },
    [QUESTION_STORED] = { option_stored, NULL, "Should a stored value be used, or one that is worked out now?", NULL },
    [QUESTION_TABLE] = { option_table, NULL, "Which records are meant?", NULL },
    [QUESTION_CONDITION] = { option_condition, NULL, "Should the result be narrowed down?", "no such condition" },
    [QUESTION_VALUE] = { option_condition, ask_value, NULL, NULL },
    [QUESTION_OPERATOR] = { option_condition, ask_operator, NULL, NULL },
    [QUESTION_LOGIC] = { option_logic, NULL, "Must all conditions hold, or is one enough?", NULL },
    [QUESTION_AGGREGATE] = { option_aggregate, NULL, "What should be worked out?", NULL },
    [QUESTION_DISTINCT] = { option_distinct, NULL, "Should rows that are the same be shown once?", NULL },
    [QUESTION_GROUP] = { option_group, NULL, "What should there be one row for?", NULL },
    [QUESTION_JOIN] = { option_join, ask_join, NULL, NULL },
    [QUESTION_SORT] = { option_sort, NULL, "What should the result be sorted by?", "no particular order" },
    [QUESTION_DIRECTION] = { option_direction, ask_direction, NULL, "no particular order" },
    [QUESTION_LIMIT] = { option_limit, NULL, "How many rows are wanted?", NULL },
    [QUESTION_SET] = { option_set, NULL, "How should the two results be put together?", NULL },
    [QUESTION_SEQUENCE] = { option_output, NULL, "In which order should the columns stand?", NULL },
    [QUESTION_QUERY] = { option_query, NULL, "Which of these is meant?", NULL },
};

static bool reads_table(const struct question_writer *w, int statement, const char *pair, int which)
{
    const struct form *form = w->slot->forms[statement];
    const struct form_list *from = form ? &form->lists[FORM_FROM] : NULL;
    const char *name = phrase_table(w->p, pair, which);

    for (int i = 0; from && i < from->n; i++)
        if (from->items[i].table >= 0 && strcmp(w->p->schema->tables[from->items[i].table].text, name) == 0)
            return true;
    return false;
}

/* Names the table that statements without the join read, if it is the same for all. */
static const char *absent_join(const struct question_writer *w)
{
    const struct form_term *t = any_term(w);
    bool reads[2] = { false, false };

    for (int i = 0; t && strchr(t->head, ',') && i < w->a->now->n; i++)
        for (int which = 0; which < 2; which++)
            if (w->a->now->p[i] > 0 && !w->slot->values[i] && reads_table(w, i, t->head, which))
                reads[which] = true;
    return reads[0] != reads[1] ? strings_printf(w->p->pool, "%s alone", phrase_table(w->p, t->head, reads[1]))
                                : "they do not have to belong together";
}

static const char *slot_option(struct question_writer *w, const struct slot *slot, int statement)
{
    const struct wording *t = &templates[slot ? slot->type : QUESTION_QUERY];

    if (slot == w->attribute->slot)
        t = &templates[w->attribute->type];
    w->slot = slot;
    if (!slot || slot->values[statement])
        return t->option(w, statement);
    if (t->absent)
        return t->absent;
    if (slot->type == QUESTION_JOIN)
        return absent_join(w);
    return w->attribute->clause == SQL_SELECT  ? "nothing more"
           : w->attribute->clause == SQL_WHERE ? "no such condition"
                                               : "none of that";
}

static const char *option_text(struct question_writer *w, int statement)
{
    const struct attribute *v = w->attribute;
    const char *text = slot_option(w, v->slot, statement);

    return v->second ? strings_printf(w->p->pool, "%s; %s", text, slot_option(w, v->second, statement)) : text;
}

static void write_options(struct question_writer *w, const struct question_view *view)
{
    struct question *q = w->q;

    for (int i = 0; i < q->n; i++)
        q->options[i] = option_text(w, q->statement[i]);
    question_make_distinct(w, option_text);
    w->slot = w->attribute->slot;
    if (!view->other)
        question_add_found(w);
    for (int i = 0; i < q->n; i++) {
        q->names[i] = q->options[i];
        if (q->statement[i] >= 0)
            q->options[i] = question_with_samples(w, q->names[i], q->statement[i]);
    }
    if (!view->other)
        return;
    q->statement[q->n] = -1;
    q->names[q->n] = q->options[q->n] = "something else";
    q->n++;
}

void question_write(struct question *q, const struct question_context *a, const struct question_view *view)
{
    struct question_writer w = question_begin(q, a, view);
    const struct attribute *v = w.attribute;
    const struct wording *t = &templates[v->type];
    const char *text = v->second                                  ? "Which of these is meant?"
                       : a->elements && v->type != QUESTION_TABLE ? "Which one is meant?"
                       : t->ask                                   ? t->ask(&w)
                                                                  : t->text;
    const char *part = question_part(&w);
    q->text = strings_printf(a->phrasing.pool, "%s%s%c%s", question_lead(&w), part,
                             part[0] ? tolower((unsigned char)text[0]) : text[0], text + 1);
    write_options(&w, view);
}

/* The choice of a question. */

/* Elements that the values of a question stand for. */
struct choice_names {
    const int *alternatives; /* of the evidence; or NULL */
    int n_alternatives;
    int elements[CHOICE_OPTIONS_MAX], n; /* elements named so far */
};

static void find_alternatives(struct choice_names *names, const struct question_writer *w)
{
    const struct evidence *h = w->a->evidence;
    const struct span *open = question_open_span(w);

    *names = (struct choice_names){ 0 };
    if (question_asks_found(w))
        *names = (struct choice_names){ h->found, h->n_found, { 0 }, 0 };
    else if (open)
        *names = (struct choice_names){ open->elements, open->n_elements, { 0 }, 0 };
}

/* The only alternative that the statement uses, or -1. */
static int alternative_of(const struct choice_names *names, const struct question_writer *w, int statement)
{
    int element = -1, n = 0;

    for (int i = 0; i < names->n_alternatives; i++)
        if (question_touches(w, statement, names->alternatives[i])) {
            element = names->alternatives[i];
            n++;
        }
    return n == 1 ? element : -1;
}

/* The column or table that the statement has at the slot and nothing else, or -1. */
static int element_at_slot(const struct question_writer *w, int statement)
{
    const struct form *form = w->slot ? w->slot->forms[statement] : NULL;
    const struct form_term *t = w->slot ? w->slot->terms[statement] : NULL;
    const struct form_list *from = form ? &form->lists[FORM_FROM] : NULL;

    if (w->slot && w->attribute->type == QUESTION_TABLE && !(t && t->column >= 0))
        return from && from->n == 1 ? from->items[0].table : -1;
    int column = !w->slot ? -1 : w->attribute->type == QUESTION_COLUMN && t ? t->column : sampled_column(w, statement);
    return column < 0 ? -1 : w->p->schema->n_tables + column;
}

/* Tells whether options of this type say all that they mean in words, apart from constants. */
static bool is_named_in_words(enum question_type type)
{
    return type == QUESTION_STORED || type == QUESTION_AGGREGATE || type == QUESTION_DISTINCT ||
           type == QUESTION_JOIN || type == QUESTION_SORT || type == QUESTION_DIRECTION;
}

static const char *name_of_value(struct choice_names *names, struct question_writer *w, int statement)
{
    int element = alternative_of(names, w, statement);

    element = element < 0 ? element_at_slot(w, statement) : element;
    if (element >= 0) {
        if (names->n < CHOICE_OPTIONS_MAX)
            names->elements[names->n++] = element;
        return evidence_element_name(w->p->schema, element, w->p->pool);
    }
    if (!w->slot || !is_named_in_words(w->attribute->type))
        return NULL;
    const char *text = option_text(w, statement);
    w->slot = w->attribute->slot;
    return strpbrk(text, "0123456789'\"") || strlen(text) >= CHOICE_TEXT_MAX ? NULL : text;
}

/* The most probable statement of a value, or -1. */
static int statement_of_value(const struct question_context *a, int attribute, int value)
{
    const int *values = a->attributes->splits[attribute].value;
    int best = -1;

    for (int i = 0; i < a->now->n; i++)
        if (values[i] == value && a->now->p[i] > 0 && (best < 0 || a->now->p[i] > a->now->p[best]))
            best = i;
    return best;
}

/* Tells whether a value has another name than the first one. */
static bool differs(const struct question_choice *c)
{
    const char *first = NULL;
    bool other = false;

    for (int i = 0; i < c->n; i++) {
        first = first ? first : c->meant[i];
        other |= c->meant[i] && strcmp(c->meant[i], first) != 0;
    }
    return other;
}

/* Names the values that a candidate has.  Returns false if one has no name: it is not comparable to the others. */
static bool name_values(struct question_choice *c, struct choice_names *names, struct question_writer *w, int attribute)
{
    for (int value = 0; value < c->n; value++) {
        int statement = statement_of_value(w->a, attribute, value);
        if (statement >= 0 && !(c->meant[value] = name_of_value(names, w, statement)))
            return false;
    }
    return differs(c);
}

static void find_choice_words(struct question_choice *c, const struct question_writer *w,
                              const struct choice_names *names, const char *question)
{
    const char *words = user_words(w);
    int start, end;

    if (words) {
        c->words[0] = choice_words(c->words, words) ? c->words[0] : '\0';
        return;
    }
    if (names->n < 2 || !element_words(&start, &end, w->p->schema, question, names->elements, names->n))
        return;
    const char *from = text_from_letter(question, start), *to = text_from_letter(from, end - start);
    words = strings_printf(w->p->pool, "%.*s", (int)(to - from), from);
    c->words[0] = choice_words(c->words, words) ? c->words[0] : '\0';
}

void question_choice_read(struct question_choice *c, const struct question_context *a, const struct question_view *view,
                          const char *question)
{
    struct question q;
    struct question_writer w = question_begin(&q, a, view);
    struct choice_names names;

    *c = (struct question_choice){ .n = a->attributes->splits[view->attribute].n_values };
    if (w.attribute->second || c->n > CHOICE_OPTIONS_MAX) {
        c->n = 0;
        return;
    }
    find_alternatives(&names, &w);
    if (name_values(c, &names, &w, view->attribute))
        find_choice_words(c, &w, &names, question);
}
