/* Compares the tagger with a reference in f64 (gold/make_dte.py), from records to gradients: packing, the effect of
 * erasing words, scores, and the four losses. Single losses and schedules are compared with numbers of the published
 * method. */
#include "tests/support/digest.h"
#include "tests/support/dte_world.h"
#include "train/tagger/tag_trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 16 << 20, HIDDEN = 24, LOSSES = 4, MOST = 16 };
static const double BOUND = 1e-4;

static float weight(const char *name, int64_t i)
{
    float x = formula_value(name, i);

    if (text_ends_with(name, "LayerNorm.weight") || strcmp(name, "dte.norm.weight") == 0)
        return 1 + x / 4;
    if (text_ends_with(name, "bias") || strstr(name, "embeddings"))
        return x / 4;
    if (strcmp(name, "dte.concept.weight") == 0 || strcmp(name, "crf.weight") == 0)
        return x;
    return strncmp(name, "dte.", 4) == 0 ? x / 2 : x / 8;
}

/* The records, a tagger with the script's weights, and the sequence and target of each record. */
struct gold_world {
    struct safetensors file;
    struct device device;
    struct workspace work;
    struct dte_model model;
    struct dte_tagger tagger;
    struct tag_data data;
    struct dte_sequence sequences[MOST];
    struct dte_target targets[MOST];
    const struct dte_target *list[MOST];
    int n;
};

static void fill(struct gold_world *w)
{
    params_init(&w->model.params, &w->device, 0);
    for (int i = 0; i < w->model.params.n; i++) {
        struct param *p = &w->model.params.list[i];
        int64_t n = tensor_size(p->t);
        float *x = xmalloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = weight(p->name, k);
        param_upload(p, &w->device, x);
        free(x);
    }
}

static void open_data(struct gold_world *w)
{
    struct error err = { 0 };

    if (tag_data_read(&w->data, "tests/gold/dte", false, &err) || tag_data_pack(&w->data, &w->tagger.layout, &err))
        fail_msg("%s", err.text);
    const struct tag_split *f = &w->data.splits[SPLIT_TRAIN];
    w->n = f->n;
    assert_in_range(w->n, 2, MOST);
    for (int i = 0; i < w->n; i++) {
        const struct span_record *r = f->list[i].record;
        w->sequences[i] = (struct dte_sequence){ .item = &f->list[i].item };
        const struct dte_supervision by = { r->spans, r->n_spans, NULL, false };
        dte_target_init(&w->targets[i], &f->list[i].item, 0, &by, &w->model.spec.config);
        w->list[i] = &w->targets[i];
    }
}

static struct gold_world *open_world(bool published)
{
    struct gold_world *w = xcalloc(1, sizeof *w);
    struct error err = { 0 };
    struct tokenizer *tokenizer = tokenizer_open("tests/gold/dte", &err);
    struct dte_spec spec = { .config.hidden = HIDDEN, .config.published = published, .dtype = F32, .temperature = 1 };

    assert_non_null(tokenizer);
    spec.config.bert = (struct bert_config){ .vocab_size = tokenizer_vocab_size(tokenizer),
                                             .hidden_size = 64,
                                             .layers = 2,
                                             .heads = 2,
                                             .intermediate_size = 96,
                                             .max_positions = 256,
                                             .type_vocab_size = 2,
                                             .activation = ACT_GELU,
                                             .layer_norm_eps = 1e-12f };
    test_device_open(&w->device);
    assert_int_equal(safetensors_open(&w->file, "tests/gold/dte/numbers.safetensors", &err), 0);
    assert_int_equal(workspace_init(&w->work, &w->device, HOST_BYTES, &err), 0);
    assert_int_equal(dte_model_init(&w->model, &w->device, &spec, OPTIMIZER_ADAMW, tokenizer, &err), 0);
    fill(w);
    assert_int_equal(dte_tagger_init(&w->tagger, &w->model, &w->work, 1 << 20, &err), 0);
    open_data(w);
    return w;
}

static void close_world(struct gold_world *w)
{
    for (int i = 0; i < w->n; i++)
        dte_target_release(&w->targets[i]);
    tag_data_release(&w->data);
    dte_model_release(&w->model);
    workspace_release(&w->work);
    safetensors_close(&w->file);
    device_close(&w->device);
    free(w);
}

/* Compares the file's numbers under tag/name with ours. */
static void compare(const struct gold_world *w, const char *tag, const char *name, const float *got, int64_t n)
{
    char key[128];

    snprintf(key, sizeof key, "%s/%s", tag, name);
    float *want = gold_numbers(&w->file, key, n);
    double error = largest_difference(got, want, n) / largest(want, n);
    print_message("%s: %.2e\n", key, error);
    free(want);
    assert_true(error <= BOUND);
}

/* The effect of erasing words on all concepts of all records; the targets' weights depend on it. */
static void check_awake(struct gold_world *w, const char *tag)
{
    float *all = NULL;
    int64_t n = 0;
    struct error err;

    for (int i = 0; i < w->n; i++) {
        const struct dte_item *item = w->sequences[i].item;
        const struct span_record *r = w->data.splits[SPLIT_TRAIN].list[i].record;
        struct dte_sequences runs = { 0 };
        int concepts = DTE_KEYWORDS + item->windows[0].n_entities, numbers = concepts * item->n_words;
        dte_erasures(&runs, item, 0);
        float *base = xmalloc((size_t)((runs.n + 1) * concepts) * sizeof *base);
        assert_int_equal(dte_probabilities(&w->tagger, &w->sequences[i], 1, base, &err), 0);
        assert_int_equal(dte_probabilities(&w->tagger, runs.items, runs.n, base + concepts, &err), 0);
        all = xrealloc(all, (size_t)(n + numbers) * sizeof *all);
        dte_awake(all + n, item, concepts, base, runs.items, runs.n, base + concepts);
        const struct dte_supervision by = { r->spans, r->n_spans, NULL, false };
        dte_target_ground(&w->targets[i], item, 0, &by, all + n);
        n += numbers;
        free(base);
        free(runs.items);
    }
    compare(w, tag, "awake", all, n);
    free(all);
}

/* One call of the network; without weights it only computes scores. */
struct pass {
    struct gold_world *w;
    const struct dte_weights *weights;
    struct dte_scores scores;
    struct tensor *loss;
};

static void run(struct ctx *c, void *arg)
{
    struct pass *p = arg;
    struct gold_world *w = p->w;
    struct dte_text text;
    struct dte_labels labels;

    dte_text_build(c, w->sequences, w->n, &w->model.spec.config, w->tagger.layout.unk, &text);
    if (!p->weights) {
        p->scores = dte_forward(c, &w->model.net, &text);
        return;
    }
    dte_labels_build(c, w->sequences, w->list, w->n, p->weights, &labels);
    p->loss = dte_loss(c, &w->model.net, &text, &labels);
    tape_backward(c, p->loss);
}

static float run_pass(struct pass *p)
{
    struct gold_world *w = p->w;
    struct error err;
    float loss = 0;

    for (int i = 0; i < w->model.params.n; i++)
        w->device.driver->kernels->fill(&w->work.ctx, w->model.params.list[i].t->grad, 0.0f);
    w->work.ctx.recording = w->work.ctx.training = p->weights != NULL;
    assert_int_equal(workspace_run(&w->work, run, p, &err), 0);
    if (p->loss)
        device_download(&w->device, &loss, p->loss);
    return loss;
}

static void check_scores(struct gold_world *w, const char *tag)
{
    struct pass p = { .w = w };

    run_pass(&p);
    const struct tensor *all[] = { p.scores.concept, p.scores.grounding, p.scores.meaning, p.scores.emission };
    static const char *const names[] = { "concept", "grounding", "meaning", "emission" };
    for (int i = 0; i < ARRAY_LEN(all); i++) {
        float *x = tensor_floats(&w->device, all[i]);
        compare(w, tag, names[i], x, tensor_size(all[i]));
        free(x);
    }
}

static void check_losses(struct gold_world *w, const char *tag)
{
    static const struct dte_weights each[LOSSES] = {
        { .concept = 1 }, { .grounding = 1 }, { .meaning = 1 }, { .tags = 1 }
    };
    char key[32];

    snprintf(key, sizeof key, "%s/losses", tag);
    float *want = gold_numbers(&w->file, key, LOSSES);
    for (int i = 0; i < LOSSES; i++) {
        double got = (double)run_pass(&(struct pass){ .w = w, .weights = &each[i] }), error = got / (double)want[i] - 1;
        print_message("%s[%d]: %.6f, %.2e\n", key, i, got, error);
        assert_true(fabs(error) <= BOUND);
    }
    free(want);
}

static bool is_zero(struct gold_world *w, const struct tensor *t)
{
    float *x = tensor_floats(&w->device, t), most = (float)largest(x, tensor_size(t));

    free(x);
    return most == 0;
}

/* Parameters that are missing in the file have no gradient. */
static void check_gradients(struct gold_world *w, const char *tag)
{
    const struct dte_weights weights = { 1, 64, .75, .125 };
    double most = 0;
    char key[256];

    run_pass(&(struct pass){ .w = w, .weights = &weights });
    for (int i = 0; i < w->model.params.n; i++) {
        const struct param *p = &w->model.params.list[i];
        snprintf(key, sizeof key, "%s/%s", tag, p->name);
        double error = is_zero(w, p->t->grad) ? 0 : gold_error(&w->file, key, p->name, &w->device, p->t->grad);
        if (!(error <= BOUND) || is_zero(w, p->t->grad) == (safetensors_find(&w->file, key) != NULL))
            fail_msg("%s: %.2e", key, error);
        most = fmax(most, error);
    }
    print_message("%s/gradients: %.2e\n", tag, most);
}

static void check_ids(struct gold_world *w)
{
    char key[32];

    for (int i = 0; i < w->n; i++) {
        const struct ids *ids = &w->sequences[i].item->windows[0].tokens;
        snprintf(key, sizeof key, "ids/%d", i);
        float *want = gold_numbers(&w->file, key, ids->count);
        for (int64_t k = 0; k < ids->count; k++)
            assert_int_equal(ids->items[k], (int)want[k]);
        free(want);
    }
}

static void test_gold(void **state)
{
    static const char *const tags[] = { "begins", "compat" };
    (void)state;

    for (int published = 0; published < 2; published++) {
        struct gold_world *w = open_world(published);
        check_ids(w);
        check_scores(w, tags[published]);
        check_awake(w, tags[published]);
        check_losses(w, tags[published]);
        check_gradients(w, tags[published]);
        close_world(w);
    }
}

/* Weighted mean of a loss over n probabilities. */
static double loss_of(const float *p, const float *target, const float *weights, int n, float least)
{
    struct test_step s;
    float mean[MOST];

    test_step_open(&s);
    for (int i = 0; i < n; i++)
        mean[i] = weights[i] / (float)n;
    struct tensor *loss =
        op_probability_bce(&s.ctx, batch_f32(&s.ctx, p, 1, n, F32), batch_f32(&s.ctx, target, 1, n, F32),
                           batch_f32(&s.ctx, mean, 1, n, F32), least);
    float *x = test_values(&s, loss);
    double got = (double)*x;
    free(x);
    test_step_close(&s);
    return got;
}

/* Expected numbers: concepts without and with smoothing, grounding with its weights. */
static void test_losses(void **state)
{
    static const float c[] = { .9f, .2f, .4f }, y[] = { 1, 0, 1 }, smooth[] = { .95f, 0, .95f }, ones[] = { 1, 1, 1 };
    static const float g[] = { .6f, .3f, .2f, .7f }, meant[] = { 1, 1, 0, 0 }, awake[] = { .8f, .1f, .05f, .05f };
    (void)state;

    assert_near(loss_of(c, y, ones, 3, 1e-4f), .414931599615397, 1e-6);
    assert_near(loss_of(c, smooth, ones, 3, 1e-4f), .444794257435865, 1e-6);
    assert_near(loss_of(g, meant, awake, 4, 1e-6f), .150103399306838, 1e-6);
}

/* The published schedule of 15,000 steps: the grounding weight rises from step 5,000 to 10,000, the tag weight after
 * that. */
static void test_schedule(void **state)
{
    static const struct {
        int step;
        double grounding, tags;
    } wanted[] = { { 0, 0, 0 }, { 5000, 0, 0 }, { 7500, .5, 0 }, { 10000, 1, 0 }, { 12000, 1, .4 }, { 15000, 1, 1 } };
    struct tag_settings s = { .concept_weight = 3,
                              .grounding_weight = 1,
                              .meaning_weight = 2,
                              .tags_weight = 1,
                              .grounding_from = 1. / 3,
                              .grounding_to = 2. / 3,
                              .tags_from = 2. / 3,
                              .tags_to = 1 };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(wanted); i++) {
        struct dte_weights w = tag_weights(&s, wanted[i].step / 15000.);
        assert_near(w.grounding, wanted[i].grounding, 1e-12);
        assert_near(w.tags, wanted[i].tags, 1e-12);
        assert_near(w.concept, 3, 0);
        assert_near(w.meaning, 2, 0);
    }
    s.grounding = GROUND_NONE;
    assert_near(tag_weights(&s, 1).grounding, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_gold), cmocka_unit_test(test_losses),
                                        cmocka_unit_test(test_schedule) };
    return test_devices(tests, ARRAY_LEN(tests));
}
