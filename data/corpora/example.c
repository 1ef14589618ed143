#include "data/corpora/example.h"

#include "data/base/records.h"

#include <stdlib.h>
#include <string.h>

static const char *const slice_names[EXAMPLE_SLICES] = { "contrast", "hard-negative", "skadborg-mortensen", "custom" };

const char *example_slice_name(enum example_slice s)
{
    return slice_names[s];
}

static const char *keep(struct strings *t, const char *s)
{
    return s ? strings_keep(t, s) : NULL;
}

void example_list_add(struct example_list *l, const struct example *e)
{
    GROW(l->items, l->n, l->cap);
    struct example *copy = &l->items[l->n++];
    *copy = *e;
    copy->id = keep(&l->text, e->id);
    copy->db_id = keep(&l->text, e->db_id);
    copy->source_db = keep(&l->text, e->source_db);
    copy->question = keep(&l->text, e->question);
    copy->part = keep(&l->text, e->part);
    for (int i = 0; i < e->n_sql; i++)
        copy->sql[i] = keep(&l->text, e->sql[i]);
    for (int i = 0; i < 2; i++)
        copy->alternatives[i] = keep(&l->text, e->alternatives[i]);
    for (int i = 0; i < e->n_further; i++)
        for (int k = 0; k < 2; k++)
            copy->further[i][k] = keep(&l->text, e->further[i][k]);
    for (int i = 0; i < e->n_renamed; i++)
        copy->renamed[i] = keep(&l->text, e->renamed[i]);
    copy->ambiguities = keep(&l->text, e->ambiguities);
    copy->source = keep(&l->text, e->source);
    copy->reason = keep(&l->text, e->reason);
}

/* Returns the index of a field's word, or -1 with an error. */
static int get_word(const json_t *o, const char *field, const char *const *words, int n, const char *where,
                    struct error *err)
{
    const char *word = json_get_string(o, field, where, err);
    if (!word)
        return -1;
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected one of %s, %s, %s%s%s, got \"%s\"", where, field,
                     words[0], words[1], words[2], n > 3 ? ", " : "", n > 3 ? words[3] : "", word);
}

/* Reads a list of low..high strings into out. Returns how many, or -1. */
static int get_strings(const json_t *o, const char *field, int low, int high, const char **out, const char *where,
                       struct error *err)
{
    json_t *list = json_get_array(o, field, where, err);
    if (!list)
        return -1;
    size_t n = json_array_size(list);
    if (n < (size_t)low || n > (size_t)high)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected %d to %d elements, got %zu", where, field,
                         low, high, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = json_string_value(json_array_get(list, i));
        if (!out[i])
            return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": element %zu is not a string", where, field, i);
    }
    return (int)n;
}

/* Reads the type of linguistic ambiguity of an EXAMPLE_CUSTOM. */
static int parse_linguistic(struct example *e, const json_t *o, const char *where, struct error *err)
{
    const char *word = json_get_string(o, "type", where, err);

    if (!word)
        return -1;
    e->type = SIA_TYPES;
    e->linguistic = linguistic_type_find(word);
    if (e->linguistic != LINGUISTIC_NONE)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: field \"type\": expected one of " LINGUISTIC_TYPE_NAMES " in the slice custom, got \"%s\"",
                     where, word);
}

static int parse_labels(struct example *e, const json_t *o, const char *where, struct error *err)
{
    int slice = get_word(o, "slice", slice_names, EXAMPLE_SLICES, where, err), kind = -1;

    if (slice < 0 || json_get_bool(o, "ambiguous", &e->ambiguous, where, err))
        return -1;
    e->slice = (enum example_slice)slice;
    if (e->slice == EXAMPLE_CUSTOM)
        return parse_linguistic(e, o, where, err);
    const char *names[SIA_TYPES];
    for (int k = 0; k < SIA_TYPES; k++)
        names[k] = ambiguity_types[k].name;
    if ((kind = get_word(o, "type", names, SIA_TYPES, where, err)) < 0)
        return -1;
    e->type = (enum sia_type)kind;
    int named = e->ambiguous && e->slice != EXAMPLE_SKADBORG_MORTENSEN ? 2 : 0;
    return get_strings(o, "alternatives", named, named, e->alternatives, where, err) < 0 ? -1 : 0;
}

/* Reads the entry i of "ambiguities". The first one is the ambiguity that the example's own fields have. */
static int parse_ambiguity(struct example *e, const json_t *entry, int i, const char *where, struct error *err)
{
    const char *names[2];
    char place[512];

    snprintf(place, sizeof place, "%.400s: ambiguities[%d]", where, i);
    if (get_strings(entry, "alternatives", 2, 2, names, place, err) < 0)
        return -1;
    for (int k = 0; k < 2 && i > 0; k++)
        e->further[i - 1][k] = names[k];
    for (int k = 0; k < 2 && i == 0; k++)
        if (!e->alternatives[k] || strcmp(names[k], e->alternatives[k]) != 0)
            return error_set(err, EXIT_CODE_DATA, "%s: expected the record's own alternative \"%s\", got \"%s\"", place,
                             e->alternatives[k] ? e->alternatives[k] : "none", names[k]);
    e->n_further += i > 0;
    return 0;
}

/* Reads the list of all ambiguities, which examples of one at most may lack. The caller frees *text. */
static int parse_ambiguities(struct example *e, const json_t *o, char **text, const char *where, struct error *err)
{
    const int max = 1 + EXAMPLE_MAX_FURTHER;

    if (e->slice == EXAMPLE_CUSTOM || !json_object_get(o, "ambiguities"))
        return 0;
    const json_t *list = json_get_array(o, "ambiguities", where, err);
    if (!list)
        return -1;
    if (json_array_size(list) > (size_t)max)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"ambiguities\": expected at most %d elements, got %zu", where,
                         max, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (parse_ambiguity(e, json_array_get(list, i), (int)i, where, err))
            return -1;
    *text = json_dumps(list, JSON_COMPACT);
    e->ambiguities = *text;
    return 0;
}

static int parse(struct example *e, const json_t *o, const char *where, struct error *err)
{
    *e = (struct example){ 0 };
    if (!(e->id = json_get_string(o, "id", where, err)) || !(e->db_id = json_get_string(o, "db_id", where, err)) ||
        !(e->source_db = json_get_string(o, "source_db", where, err)) ||
        !(e->question = json_get_string(o, "question", where, err)))
        return -1;
    e->source = json_string_value(json_object_get(o, "source"));
    e->reason = json_string_value(json_object_get(o, "reason"));
    e->n_sql = get_strings(o, "sql", 1, EXAMPLE_MAX_SQL, e->sql, where, err);
    if (json_object_get(o, "renamed"))
        e->n_renamed = get_strings(o, "renamed", 0, EXAMPLE_MAX_RENAMED, e->renamed, where, err);
    return e->n_sql < 0 || e->n_renamed < 0 ? -1 : parse_labels(e, o, where, err);
}

/* A record_fn. */
static int add_record(void *list, json_t *record, const char *where, struct error *err)
{
    struct example e;
    char *text = NULL;
    int rc = parse(&e, record, where, err);

    if (rc == 0)
        rc = parse_ambiguities(&e, record, &text, where, err);
    if (rc == 0)
        example_list_add(list, &e);
    free(text);
    return rc;
}

int example_list_read(struct example_list *l, const char *path, struct error *err)
{
    *l = (struct example_list){ 0 };
    return records_each(path, RECORDS_AUTO, add_record, l, err);
}

void example_list_release(struct example_list *l)
{
    free(l->items);
    strings_release(&l->text);
    *l = (struct example_list){ 0 };
}

static json_t *string_array(const char *const *s, int n)
{
    json_t *a = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(a, json_string(s[i]));
    return a;
}

const char *example_type_name(const struct example *e)
{
    return ambiguity_types[ambiguity_type_of(e->type, e->linguistic)].name;
}

int example_write(struct out_file *o, const struct example *e, struct error *err)
{
    json_t *v = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:b, s:o}", "id", e->id, "db_id", e->db_id, "source_db",
                          e->source_db, "question", e->question, "sql", string_array(e->sql, e->n_sql), "slice",
                          example_slice_name(e->slice), "type", example_type_name(e), "ambiguous", (int)e->ambiguous,
                          "alternatives", string_array(e->alternatives, e->alternatives[0] ? 2 : 0));
    CHECK(v, "example %s is not UTF-8", e->id); /* jansson only reads valid UTF-8 */
    if (e->ambiguities)
        json_object_set_new(v, "ambiguities", json_loads(e->ambiguities, 0, NULL));
    if (e->n_renamed)
        json_object_set_new(v, "renamed", string_array(e->renamed, e->n_renamed));
    if (e->source)
        json_object_set_new(v, "source", json_string(e->source));
    if (e->reason)
        json_object_set_new(v, "reason", json_string(e->reason));
    int rc = json_write_line(o, v, err);
    json_decref(v);
    return rc;
}

int example_element(const struct schema *s, const char *alternative, int *table, int *column)
{
    *column = -1;
    *table = schema_table_find(s, alternative);
    /* table and column names may contain dots */
    for (const char *dot = alternative; *column < 0 && *table < 0 && (dot = strchr(dot, '.')); dot++) {
        char *name = strndup(alternative, (size_t)(dot - alternative));
        int owner = schema_table_find(s, name);
        *column = owner < 0 ? -1 : schema_column_find(s, owner, dot + 1);
        free(name);
        if (*column >= 0)
            *table = owner;
    }
    return *table < 0 ? -1 : 0;
}
