#include "infer/lm/stop_watch.h"

#include <stdlib.h>
#include <string.h>

void stop_watch_start(struct stop_watch *w, const char *stop, const struct tokenizer *t)
{
    *w = (struct stop_watch){ .stop = stop };
    tokenizer_stream_start(&w->stream, t, 0);
}

/* Appends what is known now and looks for the text from where it may begin. */
static void hear(struct stop_watch *w, const char *part, size_t length)
{
    size_t wanted = strlen(w->stop), from = w->text.count < wanted ? 0 : w->text.count - wanted + 1;

    byte_buffer_add(&w->text, part, length);
    const char *at = memmem(w->text.items + from, w->text.count - from, w->stop, wanted);
    w->found = at != NULL;
    w->length = at ? (size_t)(at - w->text.items) : 0;
}

bool stop_watch_read(struct stop_watch *w, const int32_t *ids, int64_t n)
{
    while (w->n < n && !w->found) {
        size_t length;
        const char *part = tokenizer_stream_next(&w->stream, ids[w->n], &length);
        hear(w, part, length);
        GROW(w->ends, w->n, w->cap);
        w->ends[w->n++] = w->text.count;
    }
    return w->found;
}

bool stop_watch_end(struct stop_watch *w)
{
    if (!w->found) {
        size_t length;
        const char *part = tokenizer_stream_end(&w->stream, &length);
        hear(w, part, length);
    }
    return w->found;
}

int64_t stop_watch_tokens(const struct stop_watch *w)
{
    int64_t n = 0;

    while (n < w->n && (n ? w->ends[n - 1] : 0) < w->length)
        n++;
    return n;
}

void stop_watch_release(struct stop_watch *w)
{
    if (w->stop)
        tokenizer_stream_release(&w->stream);
    byte_buffer_release(&w->text);
    free(w->ends);
    *w = (struct stop_watch){ 0 };
}
