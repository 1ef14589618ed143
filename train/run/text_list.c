#include "train/run/text_list.h"

#include "data/util/json.h"
#include "data/util/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add(struct text_list *t, const char *text)
{
    GROW(t->items, t->n, t->cap);
    t->items[t->n++] = xstrdup(text);
}

/* One field of a record or message; returns whether it was there, -1 when it is no string. */
static int add_field(struct text_list *t, const json_t *o, const char *field, const char *where, struct error *err)
{
    if (!json_object_get(o, field))
        return 0;
    const char *text = json_get_string(o, field, where, err);
    if (!text)
        return -1;
    add(t, text);
    return 1;
}

/* A record_fn. */
static int add_record(void *list, json_t *record, const char *where, struct error *err)
{
    struct text_list *t = list;
    static const char *const fields[] = { "text", "prompt", "completion" };
    const json_t *messages = json_object_get(record, "messages"), *o;
    int found = 0, rc;
    size_t i;

    if (messages && !json_get_array(record, "messages", where, err))
        return -1;
    json_array_foreach(messages, i, o)
    {
        if ((rc = add_field(t, o, "content", where, err)) < 0)
            return -1;
        found += rc;
    }
    for (i = 0; i < ARRAY_LEN(fields); i++) {
        if ((rc = add_field(t, record, fields[i], where, err)) < 0)
            return -1;
        found += rc;
    }
    return found ? 0 : error_set(err, EXIT_CODE_DATA, "%s: no messages, text, prompt or completion in it", where);
}

static int read_lines(struct text_list *t, const char *path, struct error *err)
{
    FILE *f = fopen(path, "rbe");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int rc = f ? 0 : error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));

    while (rc == 0 && (n = getline(&line, &cap, f)) > 0) {
        if (memchr(line, '\0', (size_t)n))
            rc = error_set(err, EXIT_CODE_DATA, "%s: line %lld: expected text, got a zero byte", path,
                           (long long)t->n + 1);
        else
            add(t, line);
    }
    if (rc == 0 && ferror(f))
        rc = error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    if (f)
        fclose(f);
    free(line);
    return rc;
}

static bool is_records(const char *path)
{
    return record_file_ends(path, ".jsonl") || record_file_ends(path, ".json");
}

int text_list_read(struct text_list *t, const char *path, struct error *err)
{
    return is_records(path) ? records_each_as_is(path, RECORDS_AUTO, add_record, t, err) : read_lines(t, path, err);
}

void text_list_release(struct text_list *t)
{
    for (int64_t i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct text_list){ 0 };
}
