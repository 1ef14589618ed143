#include "infer/lm/wording_completer.h"

enum { WORDING_TOKENS = 512 }; /* a wording and its options are short */

int wording_completer_open(struct wording_completer *w, struct wording_model *model,
                           const struct wording_completer_settings *s, struct error *err)
{
    *w = (struct wording_completer){ 0 };
    *model = (struct wording_model){ 0 };
    if (s->server->url && !(w->server = endpoint_open(s->server, err)))
        return -1;
    w->completer = (struct completer){
        .model = { .dir = s->dir, .chat_template = s->chat_template, .dtype = "auto", .seq2seq = true },
        .server = w->server,
        .device = s->device,
        .quiet = true,
        .set = { .max_new = WORDING_TOKENS,
                 .answers = 1,
                 .beams = 1,
                 .draw = { .top_p = 1, .typical_p = 1 },
                 .batch = 16,
                 .step_tokens = 4096 },
        .open = &w->open
    };
    if (!completer_is_set(&w->completer))
        return 0;
    *model = (struct wording_model){ completer_generate, &w->completer, w->server != NULL };
    return w->server || completer_open(&w->completer, err) ? 0 : -1;
}

void wording_completer_close(struct wording_completer *w)
{
    if (w->server)
        endpoint_log(w->server);
    endpoint_close(w->server);
    completer_close(&w->open);
}
