#include "infer/clarify/evidence_files.h"

#include "data/base/log.h"
#include "data/base/records.h"
#include "data/clarify/evidence.h"
#include "data/span/tagging.h"

#include <stdlib.h>
#include <string.h>

/* Returns the evidence fields of a line as a new reference; empty without evidence, NULL with err. */
typedef json_t *keep_fn(const json_t *line, const char *where, struct error *err);

static int check_kind(const json_t *prediction, const char *where, struct error *err)
{
    const json_t *kind = json_object_get(prediction, "type");

    if (!kind || json_is_null(kind) || ambiguity_type_find(json_string_value(kind)) >= 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: field \"type\": expected null or one of " AMBIGUITY_TYPE_NAMES ", got %s", where,
                     json_is_string(kind) ? json_string_value(kind) : json_type_name(kind));
}

static int check_alternatives(const json_t *list, const char *where, struct error *err)
{
    const json_t *item;
    size_t i;

    if (json_array_size(list) > FOUND_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"alternatives\": expected at most %d, got %zu", where,
                         FOUND_MAX, json_array_size(list));
    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        if (!json_is_string(item))
            return error_set(err, EXIT_CODE_DATA, "%s: alternatives[%zu]: expected a string, got %s", where, i,
                             json_type_name(item));
    }
    return 0;
}

static json_t *keep_prediction(const json_t *line, const char *where, struct error *err)
{
    bool ambiguous;
    double score;

    if (json_get_bool(line, "ambiguous", &ambiguous, where, err))
        return NULL;
    json_t *list = json_get_array(line, "alternatives", where, err);
    if (!list || json_get_real(line, "score", 0, 1, &score, where, err) || check_kind(line, where, err) ||
        check_alternatives(list, where, err))
        return NULL;
    if (!ambiguous || !json_array_size(list))
        return json_object();
    return json_pack("{s:b, s:O?, s:O, s:f, s:O?}", "ambiguous", 1, "type", json_object_get(line, "type"),
                     "alternatives", list, "score", score, "ambiguities", json_object_get(line, "ambiguities"));
}

/* The best alternatives come first. */
static json_t *keep_concepts(const json_t *list, const char *where, struct error *err)
{
    static const char *const kinds[] = { "table", "column", "value" };
    json_t *kept = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        char place[512];
        snprintf(place, sizeof place, "%.400s: alternatives[%zu]", where, i);
        const char *name = json_get_string(item, "concept", place, err);
        const char *kind = name ? json_get_string(item, "type", place, err) : NULL;
        int k = 0;
        while (kind && k < ARRAY_LEN(kinds) && strcmp(kind, kinds[k]) != 0)
            k++;
        if (kind && k == ARRAY_LEN(kinds))
            error_set(err, EXIT_CODE_DATA, "%s: field \"type\": expected table, column or value, got \"%.100s\"", place,
                      kind);
        if (!kind || k == ARRAY_LEN(kinds)) {
            json_decref(kept);
            return NULL;
        }
        if (i < EVIDENCE_MAX)
            json_array_append_new(kept, json_pack("{s:s, s:s}", "concept", name, "type", kind));
    }
    return kept;
}

static int check_text(const json_t *span, const char *question, int64_t start, int64_t end, const char *where,
                      struct error *err)
{
    const char *text = json_get_string(span, "text", where, err);
    const char *from = text_from_letter(question, (int)start), *to = text_from_letter(from, (int)(end - start));
    size_t n = (size_t)(to - from);

    if (!text)
        return -1;
    return strlen(text) == n && memcmp(text, from, n) == 0
               ? 0
               : error_set(err, EXIT_CODE_DATA,
                           "%s: field \"text\": expected \"%.*s\", which stands there, got \"%.100s\"", where,
                           (int)(n < 100 ? n : 100), from, text);
}

static int check_label(const json_t *span, const char *where, struct error *err)
{
    const char *label = json_get_string(span, "label", where, err);

    for (int l = 0; label && l < SPAN_LABELS; l++)
        if (strcmp(label, span_label_name((enum span_label)l)) == 0)
            return 0;
    return label ? error_set(err, EXIT_CODE_DATA, "%s: field \"label\": expected COL, VAL, AMB or UNK, got \"%.100s\"",
                             where, label)
                 : -1;
}

static json_t *keep_span(const json_t *span, const char *question, const char *where, struct error *err)
{
    const json_t *list = json_get_array(span, "alternatives", where, err);
    int64_t start, end, n = text_letters(question, strlen(question));
    double probability;

    if (!list || json_get_int(span, "start", 0, n - 1, &start, where, err) ||
        json_get_int(span, "end", start + 1, n, &end, where, err) ||
        check_text(span, question, start, end, where, err) || check_label(span, where, err) ||
        json_get_real(span, "probability", 0, 1, &probability, where, err))
        return NULL;
    json_t *concepts = keep_concepts(list, where, err);
    return concepts
               ? json_pack("{s:I, s:I, s:O, s:f, s:o}", "start", (json_int_t)start, "end", (json_int_t)end, "label",
                           json_object_get(span, "label"), "probability", probability, "alternatives", concepts)
               : NULL;
}

static json_t *keep_spans(const json_t *line, const char *where, struct error *err)
{
    const char *question = json_get_string(line, "question", where, err);
    const json_t *list = json_get_array(line, "spans", where, err);
    json_t *kept = json_array();

    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[400];
        snprintf(place, sizeof place, "%.300s: spans[%zu]", where, i);
        json_t *span = keep_span(json_array_get(list, i), question, place, err);
        if (!span) {
            json_decref(kept);
            return NULL;
        }
        if (i < EVIDENCE_MAX)
            json_array_append_new(kept, span);
        else
            json_decref(span);
    }
    json_t *fields = list ? json_object() : NULL;
    if (json_array_size(kept))
        json_object_set(fields, "spans", kept);
    json_decref(kept);
    return fields;
}

/* Keeps a line as text, which takes a fraction of the memory of its value.  Takes the value. */
static int put_line(struct evidence_file *f, const char *id, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    int rc = json_object_set_new(f->lines, id, json_string(text));

    free(text);
    json_decref(line);
    return rc;
}

/* Returns a new reference, or NULL if there is none. */
static json_t *get_line(const struct evidence_file *f, const char *id)
{
    const char *text = json_string_value(json_object_get(f->lines, id));
    return text ? json_loads(text, 0, NULL) : NULL;
}

struct loading {
    struct evidence_file *file;
    keep_fn *keep;
};

/* Returns the kept fields of a line as a new reference, or NULL with err. */
static json_t *keep_line(keep_fn *keep, const json_t *line, const char *where, struct error *err)
{
    const char *question = json_get_string(line, "question", where, err);
    json_t *db_id = json_object_get(line, "db_id");

    if (!question)
        return NULL;
    if (db_id && !json_is_string(db_id)) {
        error_set(err, EXIT_CODE_DATA, "%s: field \"db_id\": expected a string, got %s", where, json_type_name(db_id));
        return NULL;
    }
    json_t *fields = keep(line, where, err);
    return fields ? json_pack("{s:s, s:s, s:O*, s:o}", "where", where, "question", question, "db_id", db_id, "fields",
                              fields)
                  : NULL;
}

static int refuse_twice(const struct evidence_file *f, const char *id, const char *where, struct error *err)
{
    json_t *before = get_line(f, id);

    error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected each id once, got \"%.100s\" again, as in %s", where, id,
              json_string_value(json_object_get(before, "where")));
    json_decref(before);
    return -1;
}

/* A record_fn; see record_reader.h. */
static int load_line(void *user, json_t *line, const char *where, struct error *err)
{
    const struct loading *l = user;
    const json_t *id = json_object_get(line, "id");
    char buffer[RECORD_ID_TEXT];
    const char *text = record_id_text(line, buffer);

    if (!json_is_string(id) && !json_is_integer(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a string or an integer, got %s", where,
                         id ? json_type_name(id) : "nothing");
    if (json_object_get(l->file->lines, text))
        return refuse_twice(l->file, text, where, err);
    if (json_object_get(line, "error"))
        return put_line(l->file, text, json_pack("{s:s}", "where", where));
    json_t *kept = keep_line(l->keep, line, where, err);
    return kept ? put_line(l->file, text, kept) : -1;
}

static int load(struct evidence_file *f, const char *path, keep_fn *keep, struct error *err)
{
    struct loading l = { f, keep };

    f->path = path;
    f->lines = path ? json_object() : NULL;
    return path ? records_each_as_is(path, RECORDS_AUTO, load_line, &l, err) : 0;
}

int evidence_files_open(struct evidence_files *h, const char *predictions, const char *spans, struct error *err)
{
    *h = (struct evidence_files){ 0 };
    return load(&h->predictions, predictions, keep_prediction, err) || load(&h->spans, spans, keep_spans, err) ? -1 : 0;
}

void evidence_files_close(struct evidence_files *h)
{
    json_decref(h->predictions.lines);
    json_decref(h->spans.lines);
    *h = (struct evidence_files){ 0 };
}

static int check_same(const json_t *line, const json_t *record, const char *field, const char *where, struct error *err)
{
    const char *has = json_string_value(json_object_get(line, field));
    const char *expected = json_string_value(json_object_get(record, field));

    if (!has || !expected || strcmp(has, expected) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected \"%.200s\", as in %s, got \"%.200s\"",
                     json_string_value(json_object_get(line, "where")), field, expected, where, has);
}

/* Checks that the schema has all elements of the line. */
static int check_names(const json_t *line, const json_t *fields, const struct schema *s, struct error *err)
{
    json_t *alone = json_copy((json_t *)(uintptr_t)fields);
    struct evidence evidence;

    json_object_set(alone, "question", json_object_get(line, "question"));
    int rc = evidence_read(&evidence, alone, s, json_string_value(json_object_get(line, "where")), err);
    evidence_release(&evidence);
    json_decref(alone);
    return rc;
}

static int join_line(const json_t *line, json_t *joined, const struct schema *s, const char *where, struct error *err)
{
    json_t *fields = json_object_get(line, "fields");

    if (!fields)
        return 0;
    if (check_same(line, joined, "question", where, err) || check_same(line, joined, "db_id", where, err) ||
        check_names(line, fields, s, err))
        return -1;
    return json_object_update(joined, fields);
}

static int join(struct evidence_file *f, json_t *joined, const struct schema *s, const char *where, struct error *err)
{
    char buffer[RECORD_ID_TEXT];
    json_t *line = get_line(f, record_id_text(joined, buffer));
    int rc = line ? join_line(line, joined, s, where, err) : 0;

    f->met += line != NULL;
    json_decref(line);
    return rc;
}

json_t *evidence_files_join(struct evidence_files *h, json_t *record, const struct schema *s, const char *where,
                            struct error *err)
{
    json_t *joined = json_copy(record);

    if (join(&h->predictions, joined, s, where, err) || join(&h->spans, joined, s, where, err)) {
        json_decref(joined);
        return NULL;
    }
    return joined;
}

/* line may be NULL: no evidence. */
static int join_value(keep_fn *keep, const json_t *line, json_t *joined, const struct schema *s, const char *where,
                      struct error *err)
{
    json_t *kept = line ? keep_line(keep, line, where, err) : NULL;
    int rc = kept ? join_line(kept, joined, s, where, err) : line ? -1 : 0;

    json_decref(kept);
    return rc;
}

json_t *evidence_join_lines(json_t *record, const json_t *prediction, const json_t *marked, const struct schema *s,
                            const char *where, struct error *err)
{
    json_t *joined = json_copy(record);

    if (join_value(keep_prediction, prediction, joined, s, where, err) ||
        join_value(keep_spans, marked, joined, s, where, err)) {
        json_decref(joined);
        return NULL;
    }
    return joined;
}

void evidence_files_warn(const struct evidence_files *h)
{
    const struct evidence_file *const files[] = { &h->predictions, &h->spans };

    for (int i = 0; i < ARRAY_LEN(files); i++)
        if (json_object_size(files[i]->lines) && !files[i]->met)
            log_warn("%s: none of its ids is that of a record", files[i]->path);
}
