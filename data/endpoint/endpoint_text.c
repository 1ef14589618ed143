#include "data/endpoint/endpoint_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_MASK = 0x7fffffff /* llama.cpp's seeds have 32 bits */ };

static const double lowest_logp = -1e4; /* servers write -9999 for minus infinity */

void endpoint_text_release(struct endpoint_text *t)
{
    free(t->text);
    free(t->tokens);
    *t = (struct endpoint_text){ 0 };
}

double endpoint_text_logp(const struct endpoint_text *t, size_t from, size_t to)
{
    double sum = 0;

    if (!t->tokens)
        return NAN;
    for (int64_t i = 0; i < t->n_tokens; i++) {
        size_t start = i ? t->tokens[i - 1].end : 0;
        if (start < to && t->tokens[i].end > from)
            sum += t->tokens[i].logp;
    }
    return sum;
}

json_t *endpoint_text_to_json(const struct endpoint_text *t)
{
    json_t *o = json_pack("{s:s, s:b}", "text", t->text, "stopped", t->stopped);

    if (t->tokens && o) {
        json_t *ends = json_array(), *logs = json_array();
        for (int64_t i = 0; i < t->n_tokens; i++) {
            json_array_append_new(ends, json_integer((json_int_t)t->tokens[i].end));
            json_array_append_new(logs, json_real(t->tokens[i].logp));
        }
        json_object_set_new(o, "ends", ends);
        json_object_set_new(o, "logprobs", logs);
    }
    return o;
}

/* Reads the tokens of endpoint_text_to_json. */
static int tokens_from_json(struct endpoint_text *t, const json_t *ends, const json_t *logs)
{
    size_t n = json_array_size(ends), length = strlen(t->text), before = 0;

    if (json_array_size(logs) != n)
        return -1;
    t->tokens = xcalloc(n + 1, sizeof *t->tokens);
    t->n_tokens = (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        const json_t *end = json_array_get(ends, i), *logp = json_array_get(logs, i);
        size_t at = (size_t)json_integer_value(end);
        if (!json_is_integer(end) || !json_is_number(logp) || at < before || at > length)
            return -1;
        t->tokens[i] = (struct endpoint_token){ at, json_number_value(logp) };
        before = at;
    }
    return 0;
}

int endpoint_text_from_json(struct endpoint_text *t, const json_t *o)
{
    const json_t *text = json_object_get(o, "text"), *ends = json_object_get(o, "ends");

    *t = (struct endpoint_text){ 0 };
    if (!json_is_string(text))
        return -1;
    t->text = xstrdup(json_string_value(text));
    t->stopped = json_is_true(json_object_get(o, "stopped"));
    if (!ends || tokens_from_json(t, ends, json_object_get(o, "logprobs")) == 0)
        return 0;
    endpoint_text_release(t);
    return -1;
}

bool endpoint_is_chat(const json_t *record)
{
    return json_object_get(record, "messages") != NULL;
}

static void set_sampling(json_t *o, const struct endpoint_sampling *s, const struct endpoint_dialect *d)
{
    json_object_set_new(o, d->max_completion_tokens ? "max_completion_tokens" : "max_tokens", json_integer(s->max_new));
    json_object_set_new(o, "temperature", json_real(s->temperature));
    if (s->top_p < 1)
        json_object_set_new(o, "top_p", json_real(s->top_p));
    if (s->top_k > 0)
        json_object_set_new(o, "top_k", json_integer(s->top_k));
    if (s->min_p > 0)
        json_object_set_new(o, "min_p", json_real(s->min_p));
    if (s->typical_p < 1)
        json_object_set_new(o, "typical_p", json_real(s->typical_p));
    if (s->stop)
        json_object_set_new(o, "stop", json_string(s->stop));
}

json_t *endpoint_request(const json_t *record, const char *model, const struct endpoint_sampling *s,
                         const struct endpoint_dialect *d, int first, int samples)
{
    bool chat = endpoint_is_chat(record);
    const char *field = chat ? "messages" : "prompt";
    json_t *o = json_object();

    if (model)
        json_object_set_new(o, "model", json_string(model));
    json_object_set(o, field, json_object_get(record, field));
    set_sampling(o, s, d);
    if (samples > 1)
        json_object_set_new(o, "n", json_integer(samples));
    if (s->temperature > 0)
        json_object_set_new(o, "seed", json_integer((s->seed + first) & SEED_MASK));
    if (s->logprobs && !d->no_logprobs)
        json_object_set_new(o, "logprobs", chat ? json_true() : json_integer(1));
    if (s->logprobs && !d->no_logprobs && chat) /* llama-cpp-python gives none without it */
        json_object_set_new(o, "top_logprobs", json_integer(1));
    return o;
}

/* Appends the text of a token to a buffer; the bytes of the token precede its text, which may be cut. */
static void put_token(FILE *f, const json_t *token, const json_t *bytes)
{
    const json_t *byte;
    size_t i;

    if (!json_is_array(bytes)) {
        fputs(json_is_string(token) ? json_string_value(token) : "", f);
        return;
    }
    json_array_foreach((json_t *)(uintptr_t)bytes, i, byte)
    {
        fputc((int)(json_integer_value(byte) & 0xff), f);
    }
}

/* Tokens as a reply has them: all bytes together, with the end of each. */
struct spelt {
    char *bytes;
    size_t n_bytes, *ends;
    double *logps;
    size_t n;
};

/* Reads {"content": [{"token", "logprob", "bytes"}]} of chats, and {"tokens", "token_logprobs"} of completions. Returns
 * false if a logarithm is missing or impossible. */
static bool spell(struct spelt *s, const json_t *logprobs)
{
    const json_t *list = json_object_get(logprobs, "content"), *texts = json_object_get(logprobs, "tokens");
    const json_t *logs = json_object_get(logprobs, "token_logprobs");
    bool good = json_array_size(list) || (json_array_size(texts) && json_array_size(texts) == json_array_size(logs));

    s->n = good ? json_array_size(list) ? json_array_size(list) : json_array_size(texts) : 0;
    s->ends = xcalloc(s->n + 1, sizeof *s->ends);
    s->logps = xcalloc(s->n + 1, sizeof *s->logps);
    FILE *f = open_memstream(&s->bytes, &s->n_bytes);
    CHECK(f, "no memory for tokens");
    for (size_t i = 0; i < s->n && good; i++) {
        const json_t *o = json_array_get(list, i), *logp = o ? json_object_get(o, "logprob") : json_array_get(logs, i);
        put_token(f, o ? json_object_get(o, "token") : json_array_get(texts, i), json_object_get(o, "bytes"));
        CHECK(fflush(f) == 0, "no memory for tokens");
        s->ends[i] = s->n_bytes;
        s->logps[i] = fmin(0, fmax(lowest_logp, json_number_value(logp)));
        good = json_is_number(logp) && json_number_value(logp) < 1e-3;
    }
    CHECK(fclose(f) == 0, "no memory for tokens");
    return good;
}

/* Keeps the tokens of the text.  A server may count a thought or an end token among them, which the text lacks. */
static void keep_tokens(struct endpoint_text *t, const struct spelt *s)
{
    size_t length = strlen(t->text);
    const char *at = length ? memmem(s->bytes, s->n_bytes, t->text, length) : NULL;
    size_t from = at ? (size_t)(at - s->bytes) : 0;

    if (!at)
        return;
    t->tokens = xcalloc(s->n + 1, sizeof *t->tokens);
    for (size_t i = 0; i < s->n; i++) {
        size_t start = i ? s->ends[i - 1] : 0, end = s->ends[i];
        if (start < from + length && end > from)
            t->tokens[t->n_tokens++] =
                (struct endpoint_token){ end - from < length ? end - from : length, s->logps[i] };
    }
}

/* Joins the parts of a message's content, a text or a list of {"type": "text", "text"}. */
static char *content_text(const json_t *content)
{
    char *text = NULL;
    size_t n, i;
    json_t *part;

    if (!json_is_array(content))
        return xstrdup(json_is_string(content) ? json_string_value(content) : "");
    FILE *f = open_memstream(&text, &n);
    CHECK(f, "no memory for a completion");
    json_array_foreach((json_t *)(uintptr_t)content, i, part)
    {
        const char *piece = json_string_value(json_object_get(part, "text"));
        fputs(piece ? piece : "", f);
    }
    CHECK(fclose(f) == 0, "no memory for a completion");
    return text;
}

static void read_choice(struct endpoint_text *t, const json_t *choice)
{
    const json_t *message = json_object_get(choice, "message"), *logprobs = json_object_get(choice, "logprobs");
    const char *why = json_string_value(json_object_get(choice, "finish_reason"));
    struct spelt s = { 0 };

    endpoint_text_release(t);
    t->text = content_text(message ? json_object_get(message, "content") : json_object_get(choice, "text"));
    t->stopped = why && strcmp(why, "length") != 0;
    if (json_is_object(logprobs) && spell(&s, logprobs))
        keep_tokens(t, &s);
    free(s.bytes);
    free(s.ends);
    free(s.logps);
}

static int64_t count_of(const json_t *o, const char *field)
{
    json_int_t n = json_integer_value(json_object_get(o, field));
    return n > 0 && n < INT32_MAX ? n : 0;
}

int endpoint_reply(struct endpoint_text *texts, int max, struct endpoint_usage *usage, const char *body, size_t size,
                   struct error *err)
{
    json_error_t why;
    json_t *o = json_loadb(body, size, 0, &why), *choices = json_object_get(o, "choices"), *choice;
    int n = 0;
    size_t i;

    if (!o)
        return error_set(err, EXIT_CODE_DATA, "expected JSON, got %s at byte %d", why.text, why.position);
    json_array_foreach(choices, i, choice)
    {
        const json_t *index = json_object_get(choice, "index");
        int64_t at = json_is_integer(index) ? json_integer_value(index) : (int64_t)i;
        if (at < 0 || at >= max || texts[at].text)
            continue;
        read_choice(&texts[at], choice);
        n++;
    }
    usage->prompt = count_of(json_object_get(o, "usage"), "prompt_tokens");
    usage->completion = count_of(json_object_get(o, "usage"), "completion_tokens");
    json_decref(o);
    return n ? n : error_set(err, EXIT_CODE_DATA, "expected a list \"choices\" with a text, got none");
}

/* Finds the message of an error: {"error": {"message"}}, {"error": TEXT}, {"message"} or {"detail"}. */
static const char *find_message(const json_t *o)
{
    const json_t *error = json_object_get(o, "error");
    const json_t *const places[] = { json_object_get(error, "message"), error, json_object_get(o, "message"),
                                     json_object_get(o, "detail") };

    for (int i = 0; i < ARRAY_LEN(places); i++)
        if (json_is_string(places[i]))
            return json_string_value(places[i]);
    return NULL;
}

void endpoint_message(char *text, const char *body, size_t size)
{
    json_t *o = json_loadb(body, size, 0, NULL);
    const char *message = find_message(o);

    if (message)
        snprintf(text, ENDPOINT_MAX_MESSAGE, "%s", message);
    else
        snprintf(text, ENDPOINT_MAX_MESSAGE, "%.*s", (int)(size < ENDPOINT_MAX_MESSAGE ? size : ENDPOINT_MAX_MESSAGE),
                 body);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    json_decref(o);
}
