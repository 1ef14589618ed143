/*
 * bench_published MODEL RECORDS DEVICE f32|bf16: fills templates with 10 beams, by LogicalBeam's published rules and
 * under a compiled constraint.
 *
 * RECORDS is a list of {"source", "schema", "template"} in the format of tests/gold/published.json, with names as
 * words. Records without a template are skipped.
 *
 * Commands on standard input, each answered by one line:
 *   published    fills one record after another by the published rules; answers with seconds
 *   bound        compiles the templates and fills all records at once; answers with seconds
 *   said         answers with the number of statements of the last run, and of records with any
 */
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/prompt/template_constraint.h"
#include "data/schema/schema_build.h"
#include "infer/parse/published.h"
#include "models/engine/constraint_form.h"
#include "models/engine/engine.h"
#include "models/lm/lm_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 256 << 20, LONGEST = 128 };

struct fill_record {
    const char *schema, *template, *question;
    struct lm_text prompt;
    struct automaton_host bound;
    struct engine_completion said[PUBLISHED_BEAMS];
};

struct fill_bench {
    struct device device;
    struct workspace work;
    struct llama_model model;
    json_t *file;
    struct fill_record *records;
    int n, statements, answered;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit((int)err->code);
}

static void read_records(struct fill_bench *b, const char *path)
{
    struct error err;
    const json_t *o;
    size_t i;

    b->file = json_read_file(path, &err);
    if (!b->file)
        die(&err);
    b->records = xcalloc(json_array_size(b->file) + 1, sizeof *b->records);
    json_array_foreach(b->file, i, o)
    {
        struct fill_record *r = &b->records[b->n];
        r->template = json_string_value(json_object_get(o, "template"));
        r->schema = json_string_value(json_object_get(o, "schema"));
        r->question = json_string_value(json_object_get(o, "source"));
        if (!r->template || !r->schema || !r->question)
            continue;
        json_t *prompt = json_pack("{s:s}", "prompt", r->question);
        lm_text_read(&r->prompt, &b->model, prompt, LM_OPEN, "record");
        json_decref(prompt);
        b->n++;
    }
}

static void count_answers(struct fill_bench *b, int n)
{
    b->statements += n;
    b->answered += n > 0;
}

static void fill_published(struct fill_bench *b)
{
    for (int i = 0; i < b->n; i++) {
        struct fill_record *r = &b->records[i];
        const struct published_question q = {
            .prompt = r->prompt.ids.items, .n_prompt = r->prompt.ids.count, .schema = r->schema, .template = r->template
        };
        struct published_answers found;
        struct error err;
        if (published_answer(&found, &b->model, &b->work, &q, &err))
            die(&err);
        count_answers(b, found.n);
        published_answers_release(&found);
    }
}

/* Parses a schema string without values: "table : column , column  | table : ...". */
static struct schema read_schema(const char *text)
{
    char *copy = xstrdup(text), *end = NULL;
    struct schema_build build;
    struct schema s;
    int table = -1;

    schema_build_init(&build, "db");
    for (char *word = strtok_r(copy, " ,", &end); word; word = strtok_r(NULL, " ,", &end)) {
        if (strcmp(word, "|") == 0)
            table = -1;
        else if (table < 0)
            table = schema_build_table(&build, word, NULL);
        else if (strcmp(word, ":") != 0)
            schema_build_column(&build, table, word, NULL, COLUMN_OTHERS);
    }
    schema_build_finish(&build, &s);
    schema_build_release(&build);
    free(copy);
    return s;
}

/* Returns -1 if the template matches nothing in the schema. */
static int compile(struct fill_bench *b, struct fill_record *r, struct error *err)
{
    int32_t stops[ENGINE_MAX_STOPS];
    int n_stops = engine_stops(&b->model, stops), n = 0;
    struct constraint_form form = { 0 };
    struct token_list *words = NULL;
    struct schema schema = read_schema(r->schema);

    json_t *line = template_constraint(&(struct template_question){ &schema, r->question, NULL }, r->template, err);
    int rc = line && constraint_form_keep_spelt(line, b->model.tokenizer, err) == 0 &&
                     constraint_form_read(&form, line, "template", err) == 0
                 ? 0
                 : -1;
    if (rc == 0)
        words = constraint_form_encode(&form, b->model.tokenizer, stops, n_stops, &n, err);
    rc = words ? automaton_build(&r->bound, words, n, stops, n_stops, err) : -1;
    for (int i = 0; words && i < n; i++)
        token_list_release(words + i);
    free(words);
    constraint_form_release(&form);
    json_decref(line);
    schema_release(&schema);
    return rc;
}

static int collect_requests(struct fill_bench *b, struct engine_request *list)
{
    int n = 0;

    for (int i = 0; i < b->n; i++) {
        struct fill_record *r = &b->records[i];
        struct error err;
        if (compile(b, r, &err)) {
            log_warn("record %d: %s", i + 1, err.text);
            continue;
        }
        list[n++] = (struct engine_request){ .prompt = &b->model.t5.config.start,
                                             .n_prompt = 1,
                                             .source = r->prompt.ids.items,
                                             .n_source = r->prompt.ids.count,
                                             .key = (uint64_t)i,
                                             .constraint = &r->bound,
                                             .answers = r->said };
    }
    return n;
}

static void fill_bound(struct fill_bench *b)
{
    const struct engine_settings set = { .max_new = LONGEST,
                                         .answers = PUBLISHED_BEAMS,
                                         .beams = PUBLISHED_BEAMS,
                                         .beam = { .length_penalty = 1 },
                                         .batch = b->n,
                                         .step_tokens = 1 << 14 };
    struct engine_request *list = xcalloc((size_t)b->n + 1, sizeof *list);
    struct engine engine;
    struct error err;
    int n = collect_requests(b, list);

    engine_init(&engine, &b->model, &b->work, &set);
    if (engine_run(&engine, list, n, NULL, NULL, &err))
        die(&err);
    for (int i = 0; i < n; i++)
        count_answers(b, list[i].n_answers);
    engine_release(&engine);
    free(list);
    for (int i = 0; i < b->n; i++) {
        for (int k = 0; k < PUBLISHED_BEAMS; k++)
            engine_completion_release(&b->records[i].said[k]);
        automaton_release(&b->records[i].bound);
    }
}

static void answer(struct fill_bench *b, const char *line)
{
    bool published = strcmp(line, "published") == 0;

    if (strcmp(line, "said") == 0) {
        printf("%d %d\n", b->statements, b->answered);
    } else if (published || strcmp(line, "bound") == 0) {
        double start = now_seconds();
        b->statements = b->answered = 0;
        (published ? fill_published : fill_bound)(b);
        printf("%.6f\n", now_seconds() - start);
    } else {
        log_error("command '%s' is not known", line);
        exit(EXIT_CODE_USAGE);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct fill_bench b;
    struct error err;
    char line[64];

    if (argc != 5) {
        log_error("usage: bench_published MODEL RECORDS DEVICE f32|bf16");
        return EXIT_CODE_USAGE;
    }
    const struct llama_request request = { .dir = argv[1], .dtype = argv[4], .seq2seq = true };
    if (device_open(&b.device, argv[3], &err) || workspace_init(&b.work, &b.device, HOST_BYTES, &err) ||
        llama_model_open(&b.model, &b.device, &request, &err))
        die(&err);
    CHECK(b.model.seq2seq, "%s: expected an encoder-decoder", argv[1]);
    read_records(&b, argv[2]);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        answer(&b, line);
    }
    return 0;
}
