#include "train/adapt/adapt.h"

#include "data/util/log.h"
#include "data/util/out_file.h"
#include "data/util/stop.h"
#include "train/adapt/adapt_draws.h"
#include "train/adapt/adapt_measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { HOST_BYTES = 64 << 20 };

struct adaptation {
    const struct adapt_request *q;
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_scorer scorer;
    struct sentence_encoder retriever; /* zeroed: none */
    struct adapt_questions support, queries;
    struct adapt_fit fits[ADAPT_METHODS]; /* of draws: the method's and those before it; else its alone */
    int n_fits;
    uint64_t base;
};

/* A folder may hold an adapter, but no model. */
static int check_out(const char *out, struct error *err)
{
    struct hdf5_reader r;
    struct stat st;
    char path[4096];

    snprintf(path, sizeof path, "%s/" CHECKPOINT_FILE, out);
    if (stat(path, &st) != 0)
        return 0;
    json_t *meta = NULL;
    if (hdf5_open(&r, path, err) == 0) {
        meta = checkpoint_meta(&r, err);
        hdf5_close(&r);
    }
    bool adapter = json_is_object(json_object_get(meta, "adapter"));
    json_decref(meta);
    if (adapter)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "--out %s: holds a model or something else; expected a folder for the adapter", out);
}

static int open_model(struct adaptation *a, struct error *err)
{
    const struct adapt_request *q = a->q;

    if (device_open(&a->device, q->device, err) || workspace_init(&a->work, &a->device, HOST_BYTES, err) ||
        gate_model_open(&a->model, &a->device, q->run, err))
        return -1;
    a->work.eager = q->no_graph;
    if (q->set.method == ADAPT_LORA && gatekeeper_says_word(&a->model.net.config))
        return error_set(
            err, EXIT_CODE_USAGE,
            "--method lora: %s reads each text after its relevance, which an encoder that is adapted would "
            "change: expected threshold, linear or layer",
            q->run);
    a->base = gate_model_hash(&a->model);
    gate_scorer_init(&a->scorer, &a->model, &a->work, (int)q->tokens);
    if (q->retriever && sentence_encoder_open(&a->retriever, &a->work, q->retriever, (int)q->tokens, err))
        return -1;
    if (q->set.method == ADAPT_LORA && gate_adapter_declare(&a->model, ADAPT_LAYERS, (uint64_t)q->seed, err))
        return -1;
    struct adapt_settings set = q->set;
    for (int m = q->draws ? 0 : (int)q->set.method; m <= (int)q->set.method; m++) {
        set.method = (enum gate_adapt)m;
        if (adapt_fit_init(&a->fits[a->n_fits++], &a->model, &a->scorer, &set, err))
            return -1;
    }
    return 0;
}

static int read_questions(struct adaptation *a, struct error *err)
{
    const struct adapt_request *q = a->q;
    struct labels_request labels = { .path = q->support,
                                     .db = q->db,
                                     .schema = q->schema,
                                     .form = q->form,
                                     .label_field = q->label_field,
                                     .whole = true };
    struct sentence_encoder *retriever = q->retriever ? &a->retriever : NULL;

    if (adapt_questions_read(&a->support, &a->scorer, &labels, (int)q->elements, retriever, err))
        return -1;
    labels.path = q->queries;
    if (!q->queries)
        return 0;
    return adapt_questions_read(&a->queries, &a->scorer, &labels, (int)q->elements, retriever, err) ||
                   adapt_questions_apart(&a->support, &a->queries, err)
               ? -1
               : 0;
}

static int check_support(const struct adaptation *a, struct error *err)
{
    int n = a->support.n, yes = 0;

    for (int i = 0; i < n; i++)
        yes += a->support.list[i].record->ambiguous;
    if (n < ADAPT_LEAST || n > ADAPT_MOST)
        return error_set(err, EXIT_CODE_DATA, "%s: expected %d to %d questions to adapt to, got %d", a->q->support,
                         ADAPT_LEAST, ADAPT_MOST, n);
    if (!yes || yes == n)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected questions that are ambiguous and questions that are not, got %d and %d",
                         a->q->support, yes, n - yes);
    return 0;
}

static int print_queries(struct adaptation *a, const char *name, struct error *err)
{
    const struct adapt_questions *q = &a->queries;
    size_t n = (size_t)q->n;
    int *which = xmalloc(n * sizeof *which + 1);
    double *logit = xmalloc(n * sizeof *logit + 1), figures[ADAPT_FIGURES];
    uint8_t *label = xmalloc(n + 1);

    for (int i = 0; i < q->n; i++) {
        which[i] = i;
        label[i] = q->list[i].record->ambiguous;
    }
    int rc = adapt_questions_score(q, &a->scorer, which, q->n, a->q->set.method == ADAPT_LORA, logit, err);
    if (rc == 0) {
        adapt_measure(&a->model, logit, label, q->n, figures);
        printf("%-8s %d queries:", name, q->n);
        for (int f = 0; f < ADAPT_SECONDS; f++)
            printf(" %s %.3f", adapt_figure_names[f], figures[f]);
        putchar('\n');
    }
    free(which);
    free(logit);
    free(label);
    return rc;
}

static int write_adapter(struct adaptation *a, const struct adapt_outcome *o, struct error *err)
{
    const struct gate_adapter adapter = { a->q->set.method, a->base, a->support.n, o->steps };

    return make_dirs(a->q->out, err) || gate_adapter_save(&a->model, &adapter, a->q->out, err) ? -1 : 0;
}

static void tell_steps(void *arg, int taken, int most)
{
    struct progress *p = arg;

    p->total = most;
    progress_update(p, taken, taken, NULL);
}

/* To the whole support. */
static int fit(struct adaptation *a, const int *which, struct adapt_outcome *o, struct error *err)
{
    struct adapt_fit *f = &a->fits[0];
    struct progress progress;

    if (!f->n) /* nothing takes steps */
        return adapt_fit_run(f, &a->support, which, a->support.n, o, err);
    f->told = tell_steps;
    f->told_arg = &progress;
    progress_start(&progress, "adapting", "steps", 0);
    int rc = adapt_fit_run(f, &a->support, which, a->support.n, o, err);
    progress_end(&progress);
    f->told = NULL;
    return rc;
}

static int adapt_once(struct adaptation *a, struct error *err)
{
    int *which = xmalloc((size_t)a->support.n * sizeof *which + 1);
    double start = now_seconds();
    struct adapt_outcome o;

    if (a->q->queries && print_queries(a, "base", err)) {
        free(which);
        return -1;
    }
    for (int i = 0; i < a->support.n; i++)
        which[i] = i;
    int rc = fit(a, which, &o, err);
    free(which);
    if (rc)
        return -1;
    printf("%d questions, %d steps, %.2f seconds; mean loss of what is left out: %.3f before, %.3f after, %.3f "
           "calibrated; temperature %.3f, shift %.3f\n",
           a->support.n, o.steps, now_seconds() - start, o.base_loss, o.left_out_loss, o.final_loss,
           a->model.temperature, a->model.shift);
    return (a->q->queries && print_queries(a, "adapted", err)) || write_adapter(a, &o, err) ? -1 : 0;
}

static int run(struct adaptation *a, struct error *err)
{
    const struct adapt_request *q = a->q;

    if ((q->out && check_out(q->out, err)) || open_model(a, err) || read_questions(a, err))
        return -1;
    if (!q->draws)
        return check_support(a, err) || adapt_once(a, err) ? -1 : 0;
    const struct adapt_draws_request draws = { .scorer = &a->scorer,
                                               .fits = a->fits,
                                               .n_fits = a->n_fits,
                                               .support = &a->support,
                                               .queries = q->queries ? &a->queries : NULL,
                                               .draws = q->draws,
                                               .seed = q->seed,
                                               .json = q->json };
    return adapt_draws(&draws, err);
}

static void close_all(struct adaptation *a)
{
    for (int i = 0; i < a->n_fits; i++)
        adapt_fit_release(&a->fits[i]);
    adapt_questions_release(&a->support);
    adapt_questions_release(&a->queries);
    gate_scorer_release(&a->scorer);
    sentence_encoder_close(&a->retriever);
    gate_model_release(&a->model);
    if (a->work.device)
        workspace_release(&a->work);
    if (a->device.driver)
        device_close(&a->device);
}

int adapt(const struct adapt_request *q, struct error *err)
{
    struct adaptation *a = xcalloc(1, sizeof *a);

    stop_install();
    a->q = q;
    int rc = run(a, err);
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    close_all(a);
    free(a);
    return rc;
}
