#include "data/ambiguate/substitute_write.h"

#include "data/ambiguate/substitute.h"
#include "data/util/log.h"
#include "data/util/records.h"

#include <stdlib.h>

struct substitute_job {
    const struct substitute_request *q;
    struct lexicon lexicon;
    struct rng rng;
    struct out_file out;
    int records, copy, written;
};

static const char *const sides[] = { "prompt", "completion" };

static int count_pair(struct substitute_job *s, const json_t *record, const char *where, struct error *err)
{
    for (int i = 0; i < ARRAY_LEN(sides); i++) {
        const char *text = json_get_string(record, sides[i], where, err);
        if (!text)
            return -1;
        lexicon_add(&s->lexicon, text, s->records);
    }
    return 0;
}

static int count_words(void *job, json_t *record, const char *where, struct error *err)
{
    struct substitute_job *s = job;
    json_t *messages, *m;
    size_t i;

    s->records++;
    if (json_object_get(record, "error"))
        return 0;
    if (json_object_get(record, "prompt"))
        return count_pair(s, record, where, err);
    if (!(messages = json_get_array(record, "messages", where, err)))
        return -1;
    json_array_foreach(messages, i, m)
    {
        const char *content = json_get_string(m, "content", where, err);
        if (!content || !json_get_string(m, "role", where, err))
            return -1;
        lexicon_add(&s->lexicon, content, s->records);
    }
    return 0;
}

static json_t *messages_with(struct substitution *words, const json_t *messages)
{
    json_t *done = json_array(), *m;
    size_t i;

    json_array_foreach(messages, i, m)
    {
        char *content = substitute(words, json_string_value(json_object_get(m, "content")));
        json_array_append_new(done, json_pack("{s:O, s:s}", "role", json_object_get(m, "role"), "content", content));
        free(content);
    }
    return done;
}

static void set_pair(struct substitution *words, json_t *copy, const json_t *record)
{
    for (int i = 0; i < ARRAY_LEN(sides); i++) {
        char *text = substitute(words, json_string_value(json_object_get(record, sides[i])));
        json_object_set_new(copy, sides[i], json_string(text));
        free(text);
    }
}

/* A copy of the record with an id of its own; of the rest only what was exchanged throughout. */
static int write_copy(void *job, json_t *record, const char *where, struct error *err)
{
    struct substitute_job *s = job;
    struct substitution words = { &s->lexicon, &s->rng, { 0 }, { 0 } };
    char id[RECORD_ID_TEXT];

    (void)where;
    if (json_object_get(record, "error"))
        return 0;
    json_t *copy = json_pack("{s:o}", "id", json_sprintf("%s-words%d", record_id_text(record, id), s->copy + 1));
    if (json_object_get(record, "prompt"))
        set_pair(&words, copy, record);
    else
        json_object_set_new(copy, "messages", messages_with(&words, json_object_get(record, "messages")));
    int rc = json_write_line(&s->out, copy, err);
    s->written++;
    json_decref(copy);
    substitution_release(&words);
    return rc;
}

static int substitute_all(struct substitute_job *s, const char *path, struct error *err)
{
    if (records_each_as_is(path, s->q->form, count_words, s, err))
        return -1;
    lexicon_close(&s->lexicon, (int)s->q->common);
    if (out_file_open(&s->out, s->q->out, err))
        return -1;
    for (s->copy = 0; s->copy < s->q->copies; s->copy++)
        if (records_each(path, s->q->form, write_copy, s, err))
            return -1;
    return out_file_commit(&s->out, err);
}

int substitute_write(const struct substitute_request *q, const char *path, struct error *err)
{
    struct substitute_job s = { .q = q, .rng = { .seed = (uint64_t)q->seed } };
    int rc = substitute_all(&s, path, err);

    if (rc == 0)
        log_info("%d examples written; %d words, %d of them stay", s.written, s.lexicon.words.n, s.lexicon.n_common);
    out_file_abort(&s.out);
    lexicon_release(&s.lexicon);
    return rc;
}
