#include "data/prompt/query_answers.h"

#include "data/util/json.h"
#include "data/util/records.h"

#include <stdlib.h>

static int add_text(struct text_items *out, const json_t *answer, const char *where, struct error *err)
{
    const json_t *text = json_is_object(answer) ? json_object_get(answer, "text") : answer;

    if (!json_is_string(text))
        return error_set(err, EXIT_CODE_DATA, "%s: expected \"text\" or \"texts\", what was answered", where);
    text_items_add(out, json_string_value(text), json_string_length(text));
    return 0;
}

/* A record_fn. */
static int add_record(void *answers, json_t *record, const char *where, struct error *err)
{
    const json_t *texts = json_object_get(record, "texts"), *text;
    struct query_answers *a = answers;
    char number[RECORD_ID_TEXT];
    const char *id = record_id_text(record, number);
    size_t i;
    int rc = 0;

    if (json_object_get(record, "error"))
        return 0;
    if (!*id)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\" is missing or no string or integer", where);
    int n = a->ids.n, at = strings_add(&a->ids, id);
    GROW(a->texts, at, a->cap);
    if (at == n)
        a->texts[at] = (struct text_items){ 0 };
    if (!json_is_array(texts))
        return add_text(&a->texts[at], record, where, err);
    json_array_foreach(texts, i, text)
    {
        if (rc == 0)
            rc = add_text(&a->texts[at], text, where, err);
    }
    return rc;
}

int query_answers_open(struct query_answers *a, const char *path, struct error *err)
{
    *a = (struct query_answers){ 0 };
    return records_each_as_is(path, RECORDS_AUTO, add_record, a, err);
}

const struct text_items *query_answers_find(const struct query_answers *a, const json_t *record)
{
    char number[RECORD_ID_TEXT];
    int at = strings_find(&a->ids, record_id_text(record, number));

    return at < 0 ? NULL : &a->texts[at];
}

void query_answers_release(struct query_answers *a)
{
    for (int i = 0; i < a->ids.n; i++)
        text_items_release(&a->texts[i]);
    free(a->texts);
    strings_release(&a->ids);
    *a = (struct query_answers){ 0 };
}
