#include "infer/clarify/model_memo.h"

#include "data/base/log.h"
#include "data/base/stop.h"

#include <stdlib.h>

enum { KNOWN_MAX = 1024 };

static const char *content_of(const json_t *prompt)
{
    const json_t *message = json_array_get(json_object_get(prompt, "messages"), 0);
    return json_string_value(json_object_get(message, "content"));
}

const char *model_memo_find(const struct model_memo *m, const json_t *prompt)
{
    return json_string_value(json_object_get(m->known, content_of(prompt)));
}

json_t *model_memo_prompt(const char *id, const char *text)
{
    json_t *o = json_pack("{s:s, s:[{s:s, s:s}]}", "id", id, "messages", "role", "user", "content", text);

    CHECK(o, "a prompt that is not UTF-8");
    return o;
}

/* Completes n prompts and remembers the completions. */
static int complete(struct model_memo *m, json_t *const *prompts, int n, const char *effect, struct error *err)
{
    char **texts = xcalloc((size_t)n + 1, sizeof *texts);
    struct error why = { 0 };
    int rc = n ? m->model.complete(m->model.self, prompts, n, texts, &why) : 0;

    for (int i = 0; i < n; i++) {
        if (rc == 0 && texts[i])
            json_object_set_new(m->known, content_of(prompts[i]), json_string(texts[i]));
        free(texts[i]);
    }
    free(texts);
    if (rc > 0 && stop_requested())
        return error_set(err, stop_exit_code(), "interrupted");
    if (rc < 0 && m->model.remote) {
        log_warn("%s: %s", why.text, effect);
        m->lost = true;
    } else if (rc < 0) {
        *err = why;
    }
    return rc < 0 && !m->model.remote ? -1 : 0;
}

int model_memo_complete(struct model_memo *m, json_t *const *prompts, int n, const char *effect, struct error *err)
{
    json_t **unknown = xcalloc((size_t)n + 1, sizeof *unknown);
    int n_unknown = 0;

    if (!m->known || json_object_size(m->known) > KNOWN_MAX) {
        json_decref(m->known);
        m->known = json_object();
    }
    for (int i = 0; i < n && !m->lost; i++)
        if (!model_memo_find(m, prompts[i]))
            unknown[n_unknown++] = prompts[i];
    int rc = complete(m, unknown, n_unknown, effect, err);
    free(unknown);
    return rc;
}

void model_memo_release(struct model_memo *m)
{
    json_decref(m->known);
    *m = (struct model_memo){ 0 };
}
