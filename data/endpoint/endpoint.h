/*
 * endpoint.h - a client of OpenAI-compatible language-model servers: prompts in, completions out, over HTTP.
 *
 * Requests run at the same time through libcurl's multi interface, in one thread.  A refused or broken request is
 * repeated with growing waits.  A prompt that has no completion in the end has an error, and the others go on.  The key
 * is sent to the server alone and is in no message.  The caller owns the endpoint and closes it.
 */
#ifndef DATA_ENDPOINT_ENDPOINT_H
#define DATA_ENDPOINT_ENDPOINT_H

#include "data/base/option_rows.h"
#include "data/endpoint/endpoint_text.h"

#include <math.h>

struct endpoint_settings {
    const char *option;   /* name of the option with the address, for messages: "lm", in ask "parser" */
    const char *url;      /* address, such as http://localhost:8080/v1; NULL: no endpoint */
    const char *model;    /* name of the model; NULL: the only one that the server lists */
    const char *key_file; /* file whose first line is the key; NULL: AMBIT_LM_KEY of the environment, if it is set */
    const char *cache;    /* file of earlier completions; NULL: none */
    int64_t concurrency;  /* maximum number of requests at the same time */
    double timeout;       /* seconds for one request */
    double wait;          /* seconds before the second try of a request; doubled for each further try */
};

#define ENDPOINT_DEFAULTS(name)                                                                                        \
    {                                                                                                                  \
        .option = name, .concurrency = 8, .timeout = 300, .wait = 0.25                                                 \
    }
enum { ENDPOINT_MAX_CONCURRENCY = 1024 };

/* clang-format off */
/* Options of a command that asks a server.  name is "lm", in ask "parser"; AT(field) is the offset of a field of struct
 * endpoint_settings. */
#define ENDPOINT_URL_HELP "address of an OpenAI-compatible server, such as http://localhost:8080/v1"
#define ENDPOINT_OPTIONS(name, AT) \
    STRING_OPTION(name "-model", AT(model), "NAME", "model of the server (default: the only one that the server lists)"), \
    STRING_OPTION("key-file", AT(key_file), "FILE", \
                  "file whose first line is the key of the server (default: the environment variable AMBIT_LM_KEY)"), \
    STRING_OPTION("cache", AT(cache), "FILE", "completions by prompt and settings, kept for later runs", .writes = true, .endings = "cache"), \
    INT_OPTION("concurrency", AT(concurrency), "N", 1, ENDPOINT_MAX_CONCURRENCY, \
               "maximum number of requests to the server at the same time"), \
    REAL_OPTION("timeout", AT(timeout), "SECONDS", 0.01, 86400, "maximum time of one request to the server")
/* clang-format on */

/* Whether the value of an option is an address of a server and not a folder. */
bool endpoint_is_url(const char *text);
/* Checks the options.  Returns -1 with EXIT_CODE_USAGE. */
int endpoint_check(const struct endpoint_settings *s, struct error *err);

struct endpoint;

/* Reads the key, opens the cache, and asks the server for its models.  Returns NULL with err: EXIT_CODE_USAGE for a bad
 * address, EXIT_CODE_FAILURE if the server cannot be reached. */
struct endpoint *endpoint_open(const struct endpoint_settings *s, struct error *err);
/* Frees the endpoint; NULL is allowed. */
void endpoint_close(struct endpoint *e);
/* Ends the progress line, and logs the numbers of requests and tokens, or the estimate. */
void endpoint_log(struct endpoint *e);
/* Hash of address and model. */
uint64_t endpoint_key(const struct endpoint *e);

/* A prompt with its completions. */
struct endpoint_prompt {
    const json_t *record;        /* {"messages"} or {"prompt"}; borrowed */
    int64_t seed;                /* added to the seed of the samples, so that equal prompts may differ */
    struct endpoint_text *texts; /* [n] */
    int n;                       /* number of samples; 0 after an error */
    char *error;                 /* reason why there are none, or NULL */
};
void endpoint_prompt_release(struct endpoint_prompt *p);

/* Completes n prompts.  Returns 0, 1 after a signal or at the end of the time limit, or -1 with err.  It is -1 where no
 * prompt can be answered any more: a refused key, an unknown model, a lost server.  quiet: show no progress.  The
 * caller releases all prompts. */
int endpoint_ask(struct endpoint *e, const struct endpoint_sampling *s, struct endpoint_prompt *list, int64_t n,
                 bool quiet, struct error *err);

/* Counts a prompt for the estimate of a dry run, which endpoint_log() logs.  Sends nothing. */
void endpoint_estimate(struct endpoint *e, const struct endpoint_sampling *s, const struct endpoint_prompt *p);

#endif
