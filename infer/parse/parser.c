#include "infer/parse/parser.h"

#include "data/util/json.h"
#include "data/util/stop.h"

enum { AGAIN = 4 /* times as many */, BATCH = 32, STEP_TOKENS = 4096 };

static struct engine_settings settings_of(const struct parser_settings *s)
{
    return (
        struct engine_settings){ .max_new = s->max_new,
                                 .beam = { .length_penalty = 1 },
                                 .draw = { .temperature = 1, .top_p = 1, .typical_p = 1, .seed = (uint64_t)s->seed },
                                 .batch = BATCH,
                                 .step_tokens = STEP_TOKENS };
}

int parser_open(struct question_parser *p, const struct parser_settings *s, struct error *err)
{
    *p = (struct question_parser){ .request = { .schema = s->schema,
                                                .db = s->db,
                                                .strategy = s->strategy,
                                                .k = s->k,
                                                .beams = s->beams,
                                                .window = 1,
                                                .set = settings_of(s),
                                                .candidates = true },
                                   .answerer = { .model = { .dir = s->model, .dtype = s->dtype, .seq2seq = true },
                                                 .device = s->device,
                                                 .no_graph = s->no_graph,
                                                 .quiet = true } };
    p->answerer.open = &p->open;
    p->request.models = (struct parse_models){ &p->answerer, &p->answerer, &p->answerer };
    return parse_stages_open(&p->stages, &p->request, err) || !answerer_open(&p->answerer, err) ? -1 : 0;
}

void parser_close(struct question_parser *p)
{
    parse_stages_release(&p->stages);
    answerer_close(&p->open);
    *p = (struct question_parser){ 0 };
}

static int64_t most(int64_t n)
{
    return n < BEAMS_MAX ? n : BEAMS_MAX;
}

/* The only case of the window, read and answered. */
static json_t *answer(struct question_parser *p, json_t *record, const char *where, struct error *err)
{
    struct parse_stages *s = &p->stages;

    parse_stages_clear(s);
    GROW(s->cases, s->n, s->cap);
    struct parse_case *c = &s->cases[s->n++];
    parse_case_read(c, json_deep_copy(record), &s->schemas, &p->request, where, NULL);
    int rc = c->error ? 0 : parse_stages_run(s, err);
    if (rc > 0 && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    else if (rc > 0)
        error_set(err, EXIT_CODE_DATA, "%s: no time is left for the parser", where);
    if (rc == 0 && c->error)
        rc = error_set(err, EXIT_CODE_DATA, "%s", c->error);
    json_t *line = rc ? NULL : parse_case_json(c, &p->request);
    parse_stages_clear(s);
    return line;
}

json_t *parser_candidates(struct question_parser *p, json_t *record, bool again, const char *where, struct error *err)
{
    const struct parse_request usual = p->request;

    if (again) {
        p->request.k = most(AGAIN * usual.k);
        p->request.beams = most(AGAIN * usual.beams);
        p->request.set.draw.seed++;
    }
    json_t *line = answer(p, record, where, err);
    p->request = usual;
    return line;
}
