/* Requests to the dialogue server, one JSON object a line: each has a reply, and the session of a reply goes on. */
#include "tests/support/fuzz.h"

#include "infer/clarify/serve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct session_context context; /* its records bring their schema along */

static void open_context(void)
{
    static const struct clarify_request q = {
        .noise = 0.05, .confidence = 0.95, .auto_choice = NAN, .min_gain = 0.05, .max_turns = 5
    };
    struct error err;

    CHECK(session_context_open(&context, &q, &err) == 0, "%s", err.text);
}

/* The reply, a new reference; NULL where it is an error. */
static json_t *handle(const json_t *request)
{
    struct session *s = xcalloc(1, sizeof *s);
    struct error err = { .code = EXIT_CODE_OK };
    const char *kind = NULL;
    int rc = serve_handle(s, &context, request, &kind, "request", &err);
    json_t *reply = rc ? NULL : session_json(s);

    CHECK(kind && (rc == 0 || (err.code == EXIT_CODE_DATA && *err.text)), "an error says nothing: %s", err.text);
    session_release(s);
    free(s);
    return reply;
}

/* The value of "session" in a reply must be accepted again. */
static void go_on(const json_t *reply)
{
    json_t *show = json_pack("{s:s, s:O}", "op", "show", "session", json_object_get(reply, "session"));
    json_t *again = handle(show);

    CHECK(again, "the session of a reply is refused");
    json_decref(again);
    json_decref(show);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    setenv("AMBIT_LOG", "error", 1);
    if (!context.scratch.base)
        open_context();
    for (char *line = text, *next; line; line = next) {
        next = fuzz_next_line(line);
        json_t *request = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        json_t *reply = json_is_object(request) ? handle(request) : NULL;
        if (reply)
            go_on(reply);
        json_decref(reply);
        json_decref(request);
    }
    free(text);
    return 0;
}
