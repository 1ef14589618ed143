#include "data/clarify/element_choice.h"

#include "data/base/json.h"
#include "data/corpora/example.h"
#include "data/span/spoken.h"
#include "data/span/tagging.h"
#include "data/sql/sql_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Finding the words of elements. */

/* The names of elements and of their tables. */
struct element_names {
    struct spoken name[CHOICE_ELEMENTS_MAX], table[CHOICE_ELEMENTS_MAX]; /* a table has no second name */
    int n;
};

static struct element_names *read_names(const struct schema *s, const int *elements, int n)
{
    struct element_names *p = xcalloc(1, sizeof *p);

    p->n = n;
    for (int i = 0; i < n; i++) {
        const struct schema_column *c = elements[i] < s->n_tables ? NULL : &s->columns[elements[i] - s->n_tables];
        spoken_read(&p->name[i], c ? c->text : s->tables[elements[i]].text);
        spoken_read(&p->table[i], c ? s->tables[c->table].text : "");
    }
    return p;
}

/* How much a word of the question tells: words of all names count most, but those of their tables less. */
static int weight_of(const struct element_names *p, const struct spoken_word *w)
{
    bool table = false;
    int n = 0;

    for (int i = 0; i < p->n; i++) {
        n += spoken_find(&p->name[i], w->stem) != NULL;
        table |= spoken_find(&p->table[i], w->stem) != NULL;
    }
    return n == p->n ? (table ? 2 : 4) : n && !table;
}

/* Whether a word may stand inside a name: "fee of the trainer", "the trainer's fee". */
static bool connects(const struct spoken_word *w)
{
    return w->filler && (strcmp(w->stem, "of") == 0 || strcmp(w->stem, "the") == 0 || strcmp(w->stem, "s") == 0 ||
                         strcmp(w->stem, "for") == 0);
}

/* Whether only blanks, hyphens or an apostrophe stand before word i. */
static bool is_joined(const char *question, const struct spoken *words, int i)
{
    const char *from = question + words->words[i - 1].to;
    size_t n = (size_t)(words->words[i].from - words->words[i - 1].to);

    return strspn(from, " -_'\xe2\x80\x99") >= n;
}

static bool is_repeated(const struct spoken *words, int first, int i)
{
    for (int k = first; k < i; k++)
        if (strcmp(words->words[k].stem, words->words[i].stem) == 0)
            return true;
    return false;
}

/* The last word of the longest run from `first` that fits the names, and its weight; first - 1 if the word does not
 * fit. */
static int run_of(const struct element_names *p, const char *question, const struct spoken *words, int first,
                  int *weight)
{
    int last = first - 1;

    *weight = 0;
    for (int i = first; i < words->n && (i == first || is_joined(question, words, i)); i++) {
        const struct spoken_word *w = &words->words[i];
        int own = w->filler ? 0 : weight_of(p, w);
        if (i > first && connects(w))
            continue;
        if (!own || is_repeated(words, first, i))
            break;
        *weight += own;
        last = i;
    }
    return last;
}

bool element_words(int *start, int *end, const struct schema *s, const char *question, const int *elements, int n)
{
    struct element_names *names = read_names(s, elements, n);
    struct spoken words;
    int best = 0, weight;

    *start = *end = 0;
    spoken_read(&words, question);
    for (int i = 0, last; i < words.n; i = last < i ? i + 1 : last + 1) {
        last = run_of(names, question, &words, i, &weight);
        if (last < i || weight < best)
            continue;
        *start = weight > best ? words.words[i].start : 0;
        *end = weight > best ? words.words[last].end : 0;
        best = weight;
    }
    free(names);
    return *end > *start;
}

/* Listing the choices. */

static bool is_known(const struct element_choice *c)
{
    return c->end > c->start;
}

static bool overlap(const struct element_choice *a, const struct element_choice *b)
{
    return is_known(a) && is_known(b) && a->start < b->end && b->start < a->end;
}

/* Inserts a choice by its place.  A choice whose words overlap with an earlier one is dropped. */
static void add_choice(struct element_choices *c, const struct element_choice *one)
{
    int at = c->n;

    for (int i = 0; i < c->n; i++)
        if (overlap(one, &c->list[i]))
            return;
    if (c->n == ELEMENT_CHOICES_MAX)
        return;
    while (at > 0 && is_known(one) && (!is_known(&c->list[at - 1]) || c->list[at - 1].start > one->start))
        at--;
    memmove(&c->list[at + 1], &c->list[at], (size_t)(c->n - at) * sizeof *c->list);
    c->list[at] = *one;
    c->n++;
}

static bool has_element(const struct element_choice *c, int element)
{
    for (int i = 0; i < c->n; i++)
        if (c->elements[i] == element)
            return true;
    return false;
}

static struct element_choice choice_of_span(const struct span *p)
{
    struct element_choice c = {
        .start = p->start, .end = p->end, .is_value = p->is_value, .probability = p->probability, .chosen = -1
    };

    for (int i = 0; i < p->n_elements && c.n < CHOICE_ELEMENTS_MAX; i++)
        c.elements[c.n++] = p->elements[i];
    return c;
}

static bool leaves_open(const struct span *p)
{
    return p->label == SPAN_AMB && p->n_elements > 1;
}

/* Adds the alternatives of the detector, with the words of a span that has both of them. */
static void add_detected(struct element_choices *c, const struct evidence *h, const struct schema *s,
                         const char *question)
{
    struct element_choice one = { .elements = { h->found[0], h->found[1] }, .n = 2, .chosen = -1 };

    for (int i = 0; i < h->n_spans && !is_known(&one); i++) {
        struct element_choice spanned = choice_of_span(&h->spans[i]);
        if (leaves_open(&h->spans[i]) && has_element(&spanned, h->found[0]) && has_element(&spanned, h->found[1]))
            one = spanned;
    }
    if (!is_known(&one))
        element_words(&one.start, &one.end, s, question, one.elements, one.n);
    one.detected = true;
    one.probability = h->score;
    add_choice(c, &one);
}

/* Rounds the probabilities to six digits, which a saved session keeps, so that it has the same order of choices. */
static void round_probabilities(struct element_choices *c)
{
    for (int i = 0; i < c->n; i++)
        c->list[i].probability = round(c->list[i].probability * 1e6) / 1e6;
}

void element_choices_find(struct element_choices *c, const struct evidence *h, const struct schema *s,
                          const char *question)
{
    c->n = 0;
    if (h->n_found == 2 && h->found[0] != h->found[1])
        add_detected(c, h, s, question);
    for (int i = 0; i < h->n_spans; i++) {
        const struct element_choice one = choice_of_span(&h->spans[i]);
        if (leaves_open(&h->spans[i]))
            add_choice(c, &one);
    }
    round_probabilities(c);
}

double element_choice_entropy(const struct element_choice *c)
{
    double other = c->probability / c->n, one = 1 - other * (c->n - 1);

    return -one * log2(one) - (other > 0 ? (c->n - 1) * other * log2(other) : 0);
}

void element_choices_order(int order[ELEMENT_CHOICES_MAX], const struct element_choices *c)
{
    double entropy[ELEMENT_CHOICES_MAX];

    for (int i = 0; i < c->n; i++) {
        int at = i;
        entropy[i] = element_choice_entropy(&c->list[i]);
        for (; at > 0 && entropy[order[at - 1]] < entropy[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* JSON. */

static json_t *name_json(const struct schema *s, int element)
{
    struct strings pool = { 0 };
    json_t *name = element < 0 ? json_null() : json_string(evidence_element_name(s, element, &pool));

    strings_release(&pool);
    return name;
}

json_t *element_choices_json(const struct element_choices *c, const struct schema *s)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++) {
        const struct element_choice *one = &c->list[i];
        json_t *names = json_array();
        for (int k = 0; k < one->n; k++)
            json_array_append_new(names, name_json(s, one->elements[k]));
        json_array_append_new(list,
                              json_pack("{s:i, s:i, s:o, s:b, s:b, s:f, s:o}", "start", one->start, "end", one->end,
                                        "alternatives", names, "value", one->is_value, "detected", one->detected,
                                        "probability", one->probability, "element", name_json(s, one->chosen)));
    }
    return list;
}

static int read_name(int *element, const struct schema *s, const json_t *name, const char *where, struct error *err)
{
    const char *text = json_string_value(name);
    int table, column;

    if (!text || example_element(s, text, &table, &column))
        return error_set(err, EXIT_CODE_DATA, "%s: expected the name of a table or of a table.column, got %s%.100s",
                         where, text ? "" : json_type_name(name), text ? text : "");
    *element = column < 0 ? table : s->n_tables + column;
    return 0;
}

static int read_elements(struct element_choice *c, const json_t *o, const struct schema *s, const char *where,
                         struct error *err)
{
    const json_t *list = json_get_array(o, "alternatives", where, err), *element = json_object_get(o, "element");
    size_t n = json_array_size(list);

    if (!list)
        return -1;
    if (n < 2 || n > CHOICE_ELEMENTS_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: alternatives: expected 2 to %d, got %zu", where, CHOICE_ELEMENTS_MAX,
                         n);
    for (size_t i = 0; i < n; i++)
        if (read_name(&c->elements[c->n++], s, json_array_get(list, i), where, err))
            return -1;
    c->chosen = -1;
    return json_is_null(element) ? 0 : read_name(&c->chosen, s, element, where, err);
}

static int read_choice(struct element_choice *c, const json_t *o, const struct schema *s, int letters,
                       const char *where, struct error *err)
{
    int64_t start, end;

    *c = (struct element_choice){ 0 };
    if (json_get_int(o, "start", 0, letters, &start, where, err) ||
        json_get_int(o, "end", start, letters, &end, where, err) ||
        json_get_bool(o, "value", &c->is_value, where, err) || json_get_bool(o, "detected", &c->detected, where, err) ||
        json_get_real(o, "probability", 0, 1, &c->probability, where, err))
        return -1;
    c->start = (int)start;
    c->end = (int)end;
    return read_elements(c, o, s, where, err);
}

int element_choices_read(struct element_choices *c, const json_t *record, const struct schema *s, const char *where,
                         struct error *err)
{
    const char *question = json_get_string(record, "question", where, err);
    const json_t *list = question ? json_get_array(record, "element_choices", where, err) : NULL;
    struct element_choice one;
    char place[300];

    c->n = 0;
    if (!list)
        return -1;
    if (json_array_size(list) > ELEMENT_CHOICES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: element_choices: expected at most %d, got %zu", where,
                         ELEMENT_CHOICES_MAX, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(place, sizeof place, "%.200s: element_choices[%zu]", where, i);
        if (read_choice(&one, json_array_get(list, i), s, text_letters(question, strlen(question)), place, err))
            return -1;
        add_choice(c, &one);
        if (c->n != (int)i + 1)
            return error_set(err, EXIT_CODE_DATA, "%s: expected words of its own, got a part of others", place);
    }
    return 0;
}

/* Texts. */

char *element_choice_words(const struct element_choice *c, const char *question)
{
    const char *from = text_from_letter(question, c->start), *to = text_from_letter(from, c->end - c->start);
    char *words = is_known(c) ? strndup(from, (size_t)(to - from)) : NULL;

    CHECK(words || !is_known(c), "no memory for words");
    return words;
}

static void put_bytes(struct sql_printer *p, const char *from, const char *to)
{
    char *text = strndup(from, (size_t)(to - from));

    CHECK(text, "no memory for a question");
    sql_put(p, text);
    free(text);
}

static void put_element(struct sql_printer *p, const struct schema *s, int element)
{
    const struct schema_column *c = element < s->n_tables ? NULL : &s->columns[element - s->n_tables];

    sql_put_name(p, s->tables[c ? c->table : element].name);
    if (c) {
        sql_put(p, ".");
        sql_put_name(p, c->name);
    }
}

/* " (orders.total is meant, not invoices.total)" */
static void put_behind(struct sql_printer *p, const struct element_choice *c, const struct schema *s)
{
    const char *between = " is meant, not ";

    sql_put(p, " (");
    put_element(p, s, c->chosen);
    for (int i = 0; i < c->n; i++) {
        if (c->elements[i] == c->chosen)
            continue;
        sql_put(p, between);
        put_element(p, s, c->elements[i]);
        between = " or ";
    }
    sql_put(p, ")");
}

/* The printed text, which the caller frees. */
static char *printed(struct sql_printer *p)
{
    p->text = xrealloc(p->text, p->n + 1);
    p->text[p->n] = '\0';
    return p->text;
}

char *element_choices_rewrite(const struct element_choices *c, const struct schema *s, const char *question)
{
    struct sql_printer p = { 0 };
    const char *at = question;

    for (int i = 0; i < c->n; i++) {
        const struct element_choice *one = &c->list[i];
        const char *from = text_from_letter(question, one->start), *to = text_from_letter(question, one->end);
        if (one->chosen < 0 || !is_known(one))
            continue;
        put_bytes(&p, at, one->is_value ? to : from);
        sql_put(&p, one->is_value ? " (" : "");
        put_element(&p, s, one->chosen);
        sql_put(&p, one->is_value ? ")" : "");
        at = to;
    }
    sql_put(&p, at);
    for (int i = 0; i < c->n; i++)
        if (c->list[i].chosen >= 0 && !is_known(&c->list[i]))
            put_behind(&p, &c->list[i], s);
    return printed(&p);
}

char *element_statement(const struct schema *s, int element)
{
    const struct schema_column *c = element < s->n_tables ? NULL : &s->columns[element - s->n_tables];
    struct sql_printer p = { 0 };

    sql_put(&p, "SELECT ");
    if (c)
        sql_put_name(&p, c->name);
    else
        sql_put(&p, "*");
    sql_put(&p, " FROM ");
    sql_put_name(&p, s->tables[c ? c->table : element].name);
    return printed(&p);
}
