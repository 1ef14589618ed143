#include "data/prompt/prompter.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 256 << 20 }; /* of databases' texts; beyond, all are read anew */

static enum db_text_form form_of(const char *context)
{
    return strcmp(context, "compact") == 0  ? DB_TEXT_COMPACT
           : strcmp(context, "ambiqt") == 0 ? DB_TEXT_AMBIQT
                                            : DB_TEXT_DUMP;
}

int prompter_open(struct prompter *p, const struct prompter_options *o, struct error *err)
{
    *p = (struct prompter){ .form = form_of(o->context), .rows = o->rows };
    return prompts_open(&p->prompts, o->dir, err);
}

static void forget_texts(struct prompter *p)
{
    for (int i = 0; i < p->paths.n; i++)
        free(p->texts[i]);
    free(p->texts);
    strings_release(&p->paths);
    p->texts = NULL;
    p->cap = 0;
    p->bytes = 0;
}

void prompter_release(struct prompter *p)
{
    prompts_release(&p->prompts);
    forget_texts(p);
}

const char *prompter_database(struct prompter *p, const char *path, struct error *err)
{
    if (p->bytes > KEPT_BYTES)
        forget_texts(p);
    int n = p->paths.n, i = strings_add(&p->paths, path);
    if (i == n) {
        GROW(p->texts, i, p->cap);
        p->texts[i] = NULL;
    }
    if (!p->texts[i] && (p->texts[i] = db_text(path, p->form, p->rows, err)))
        p->bytes += strlen(p->texts[i]);
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
