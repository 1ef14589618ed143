#include "tests/support/practice_world.h"

#include "data/synth/practice.h"
#include "models/text/tokenizer_train.h"

void practice_world_open(struct practice_world *w)
{
    static const char *const words[] = { "the names of all tables and columns" };
    struct error err;

    *w = (struct practice_world){ 0 };
    assert_int_equal(practice_build(&w->records, 1, &err), 0);
    w->tokenizer = tokenizer_from_words(words, 1, 0, 400, &err);
    assert_non_null(w->tokenizer);
    assert_int_equal(gate_layout_init(&w->layout, w->tokenizer, 1024, ENCODE_SCHEMA, &err), 0);
    w->settings = (struct gate_data_settings){
        .tokenizer = w->tokenizer, .layout = &w->layout, .net = &w->net, .input = { .pairs = true }
    };
    assert_int_equal(gate_data_init(&w->data, &w->records, &w->settings, &err), 0);
}

void practice_world_close(struct practice_world *w)
{
    gate_data_release(&w->data);
    tokenizer_close(w->tokenizer);
    dataset_release(&w->records);
}
