#include "data/prompter.h"

#include <stdlib.h>
#include <string.h>

int prompter_open(struct prompter *p, const struct prompter_options *o, struct error *err)
{
    *p = (struct prompter){ .form = strcmp(o->context, "compact") ? DB_TEXT_DUMP : DB_TEXT_COMPACT, .rows = o->rows };
    return prompts_open(&p->prompts, o->dir, err);
}

void prompter_release(struct prompter *p)
{
    prompts_release(&p->prompts);
    for (int i = 0; i < p->paths.n; i++)
        free(p->texts[i]);
    free(p->texts);
    strings_release(&p->paths);
}

const char *prompter_database(struct prompter *p, const char *path, struct error *err)
{
    int i = strings_find(&p->paths, path);

    if (i < 0) {
        i = strings_add(&p->paths, path);
        GROW(p->texts, i, p->cap);
        p->texts[i] = NULL;
    }
    if (!p->texts[i])
        p->texts[i] = db_text(path, p->form, p->rows, err);
    return p->texts[i];
}

json_t *prompter_messages(const struct prompter *p, enum prompt_kind kind, const char *const *slots, const char *answer)
{
    char *prompt = prompt_fill(&p->prompts, kind, slots);
    json_t *user = json_pack("{s:s, s:s}", "role", "user", "content", prompt), *list = NULL;

    free(prompt);
    if (user)
        list = json_pack("[o]", user);
    if (list && answer)
        json_array_append_new(list, json_pack("{s:s, s:s}", "role", "assistant", "content", answer));
    return list;
}
