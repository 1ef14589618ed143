/* Part of agreement.h: what gold, a finding and marked words say of a question. */
#include "data/span/agreement_impl.h"
#include "data/span/span_record.h"
#include "data/util/records.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* table NULL: not told. */
static void add_name(struct opinion *o, const char *table, const char *dot, const char *name)
{
    char *text;

    CHECK(asprintf(&text, "%s%s%s", table ? table : "", dot, name) >= 0, "no memory for a name");
    for (char *p = text; *p; p++)
        *p = *p == '_' ? ' ' : (char)tolower((unsigned char)*p);
    strings_add(&o->names, text);
    free(text);
}

static int add_list(struct opinion *o, const json_t *list, const char *where, struct error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name)
            return error_set(err, EXIT_CODE_DATA, "%s: alternatives[%zu]: expected a string, got %s", where, i,
                             json_type_name(json_array_get(list, i)));
        add_name(o, NULL, "", name);
    }
    return 0;
}

static int read_marks(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    struct span_record r;
    int rc = span_record_init(&r, json_incref((json_t *)(uintptr_t)line), where, err);

    for (int i = 0; rc == 0 && i < r.n_spans; i++) {
        const struct marked_span *s = &r.spans[i];
        o->ambiguous = o->ambiguous || s->label == SPAN_AMB;
        for (int k = 0; s->label == SPAN_AMB && k < s->n_alternatives; k++) {
            const struct span_column *c = &r.columns[s->alternatives[k].column];
            add_name(o, c->table, ".", c->name);
        }
    }
    span_record_release(&r);
    return rc;
}

int opinion_of_gold(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    const json_t *list = json_object_get(line, "alternatives");

    if (json_object_get(line, "spans"))
        return read_marks(o, line, where, err);
    if (record_get_bool(line, "ambiguous", &o->ambiguous, where, err))
        return -1;
    if (!o->ambiguous || !list || json_is_null(list))
        return 0;
    list = json_get_array(line, "alternatives", where, err);
    return list ? add_list(o, list, where, err) : -1;
}

int opinion_of_finding(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    const json_t *list;

    if (json_get_bool(line, "ambiguous", &o->ambiguous, where, err) ||
        !(list = json_get_array(line, "alternatives", where, err)))
        return -1;
    return o->ambiguous ? add_list(o, list, where, err) : 0;
}

static int read_span(struct opinion *o, const json_t *span, const char *where, struct error *err)
{
    const char *label = json_get_string(span, "label", where, err);
    const json_t *list = label ? json_get_array(span, "alternatives", where, err) : NULL;

    if (!list || strcmp(label, span_label_name(SPAN_AMB)) != 0)
        return list ? 0 : -1;
    o->ambiguous = true;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *concept = json_array_get(list, i);
        const char *name = json_get_string(concept, "concept", where, err);
        const char *kind = name ? json_get_string(concept, "kind", where, err) : NULL;
        if (!kind)
            return -1;
        bool whole = strcmp(kind, "table") == 0 || strchr(name, '.');
        add_name(o, NULL, whole ? "" : ".", name);
    }
    return 0;
}

int opinion_of_tag(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    const json_t *list = json_get_array(line, "spans", where, err);

    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[400];
        snprintf(place, sizeof place, "%.300s: spans[%zu]", where, i);
        if (read_span(o, json_array_get(list, i), place, err))
            return -1;
    }
    return list ? 0 : -1;
}

static bool same_name(const char *a, const char *b)
{
    const char *column_a = strrchr(a, '.'), *column_b = strrchr(b, '.');

    if (column_a && column_b && (column_a == a || column_b == b))
        return strcmp(column_a, column_b) == 0;
    return strcmp(a, b) == 0;
}

int opinion_shared(const struct opinion *a, const struct opinion *b)
{
    int shared = 0;

    for (int i = 0; i < a->names.n; i++) {
        int k = 0;
        while (k < b->names.n && !same_name(a->names.items[i], b->names.items[k]))
            k++;
        shared += k < b->names.n;
    }
    return shared;
}
