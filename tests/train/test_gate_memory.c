/* The estimated memory equals that of the largest step of all stages and epochs, to the byte. */
#include "tests/support/support.h"

#include "tests/support/small_data.h"
#include "train/detector/gate_trainer.h"
#include "train/run/run.h"

static char *data, *out;

static struct gate_request request(enum gate_encode encode, enum gate_classifier classifier)
{
    struct gate_request q = gate_request_defaults;
    struct gate_settings *s = &q.settings;

    q.data = data;
    q.out = out;
    q.device = "cpu";
    s->encode = encode;
    s->classifier = classifier;
    s->embedder = EMBEDDER_JOINT;
    s->compute = GATE_F32;
    s->scratch.hidden = s->scratch.intermediate = 32;
    s->scratch.heads = s->scratch.layers = 1;
    s->scratch.vocabulary = 400;
    s->scratch.positions = 256;
    s->relevance_epochs = 1;
    s->train.epochs = 4;
    s->train.batch = 4;
    s->gat_hidden = s->pair_hidden = 8;
    s->gat_heads = 2;
    return q;
}

static void take_stage(struct run *r)
{
    struct error err;

    assert_int_equal(r->trainer->enter_stage(r->self, true, &err), 0);
    for (r->state.epoch = 0; r->state.epoch < r->stages[r->state.stage].epochs; r->state.epoch++)
        for (r->state.batch = 0; r->state.batch < run_batches(r); r->state.batch++)
            assert_int_equal(run_step(r, &err), 0);
}

static void check(enum gate_encode encode, enum gate_classifier classifier)
{
    struct gate_request q = request(encode, classifier);
    struct gate_trainer t;
    struct run *r = &t.run;
    struct error err;

    gate_trainer_init(&t, &q);
    assert_int_equal(run_open(r, &err), 0);
    assert_int_equal(r->work.step.size, r->step_bytes.step);
    for (; r->state.stage < r->n_stages; r->state.stage++)
        take_stage(r);
    print_message("%zu bytes said, %zu taken\n", workspace_total(r->step_bytes), workspace_total(r->work.peak));
    assert_memory_equal(&r->step_bytes, &r->work.peak, sizeof r->work.peak);
    run_close(r);
}

static void test_element(void **state)
{
    (void)state;
    check(ENCODE_ELEMENT, CLASSIFIER_PAIR);
}

static void test_schema(void **state)
{
    (void)state;
    check(ENCODE_SCHEMA, CLASSIFIER_PAIR);
    for (int k = CLASSIFIER_GAT_MEAN; k <= CLASSIFIER_BERT_ONLY; k++)
        check(ENCODE_SCHEMA, (enum gate_classifier)k);
}

static int set_up(void **state)
{
    (void)state;
    data = test_dir_new();
    out = test_dir_new();
    small_data_write(data, 48, 12, 12);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_dir_remove(data);
    test_dir_remove(out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_element), cmocka_unit_test(test_schema) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
