#include "infer/ask/candidate_file.h"

#include "data/util/records.h"

#include <stdlib.h>
#include <string.h>

/* A record_fn. */
static int load_line(void *user, json_t *record, const char *where, struct error *err)
{
    struct candidate_file *f = user;
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(record, buffer);
    json_t *question = json_object_get(record, "question"),
           *number = json_integer((json_int_t)json_array_size(f->lines));

    if (json_object_get(f->by_id, id)) {
        json_decref(number);
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected each id once, got \"%.100s\" again", where,
                         id);
    }
    char *text = json_dumps(record, JSON_COMPACT);
    json_array_append_new(f->lines, json_string(text));
    free(text);
    json_object_set(f->by_id, id, number);
    if (json_is_string(question) && !json_object_get(f->questions, json_string_value(question)))
        json_object_set(f->questions, json_string_value(question), number);
    json_decref(number);
    return 0;
}

int candidate_file_open(struct candidate_file *f, const char *path, enum record_form form, struct error *err)
{
    *f = (struct candidate_file){ .path = path };
    if (!path)
        return 0;
    f->lines = json_array();
    f->by_id = json_object();
    f->questions = json_object();
    return records_each(path, form, load_line, f, err);
}

void candidate_file_close(struct candidate_file *f)
{
    json_decref(f->lines);
    json_decref(f->by_id);
    json_decref(f->questions);
    *f = (struct candidate_file){ 0 };
}

static int check_same(const struct candidate_file *f, const json_t *line, const json_t *record, const char *field,
                      const char *where, struct error *err)
{
    const char *has = json_string_value(json_object_get(line, field));
    const char *expected = json_string_value(json_object_get(record, field));

    if (!has || !expected || strcmp(has, expected) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: field \"%s\" is \"%.200s\", but the candidates of that id in %s have \"%.200s\"", where,
                     field, expected, f->path, has);
}

int candidate_file_find(json_t **found, const struct candidate_file *f, const json_t *record, bool by_question,
                        const char *where, struct error *err)
{
    char buffer[RECORD_ID_TEXT];
    const char *question = json_string_value(json_object_get(record, "question"));
    const json_t *number = by_question ? json_object_get(f->questions, question ? question : "")
                                       : json_object_get(f->by_id, record_id_text(record, buffer));

    *found = NULL;
    if (!number)
        return 0;
    *found = json_loads(json_string_value(json_array_get(f->lines, (size_t)json_integer_value(number))), 0, NULL);
    if (check_same(f, *found, record, "question", where, err) || check_same(f, *found, record, "db_id", where, err)) {
        json_decref(*found);
        *found = NULL;
        return -1;
    }
    return 0;
}
