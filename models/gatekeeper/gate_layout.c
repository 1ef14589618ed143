#include "models/gatekeeper/gate_layout.h"

#include <string.h>

enum { LEAST_POSITIONS = 64, QUESTION_SHARE = 4 };

static int32_t separator_token(const struct tokenizer *t, const char *text)
{
    struct ids ids = { 0 };

    tokenizer_encode(t, text, 1, 0, &ids, NULL);
    int32_t id = ids.count == 1 ? ids.items[0] : tokenizer_special(t, SPECIAL_SEP);
    ids_release(&ids);
    return id;
}

static void take_word(struct gate_word *word, const struct tokenizer *t, const char *text)
{
    struct ids ids = { 0 };

    if (tokenizer_encode(t, text, strlen(text), 0, &ids, NULL) == 0)
        ids_push(&ids, tokenizer_special(t, SPECIAL_UNK));
    word->n = ids.count < GATE_WORD_TOKENS ? (int)ids.count : GATE_WORD_TOKENS;
    memcpy(word->ids, ids.items, (size_t)word->n * sizeof *word->ids);
    ids_release(&ids);
}

void gate_layout_words(struct gate_layout *layout, const struct tokenizer *t, enum gate_texts texts)
{
    layout->texts = texts;
    take_word(&layout->words[false], t, "irrelevant");
    take_word(&layout->words[true], t, "relevant");
}

int gate_layout_init(struct gate_layout *layout, const struct tokenizer *t, int max_positions, enum gate_encode encode,
                     struct error *err)
{
    int least_room = max_positions / QUESTION_SHARE;

    if (max_positions < LEAST_POSITIONS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "encoder: expected at least %d positions, got %d", LEAST_POSITIONS,
                         max_positions);
    *layout = (struct gate_layout){ .encode = encode,
                                    .cls = tokenizer_special(t, SPECIAL_CLS),
                                    .sep = tokenizer_special(t, SPECIAL_SEP),
                                    .colon = separator_token(t, ":"),
                                    .comma = separator_token(t, ","),
                                    .semicolon = separator_token(t, ";"),
                                    .max_positions = max_positions,
                                    .least_room = least_room,
                                    .max_name = (max_positions - least_room - GATE_SEPARATORS) / 2 };
    return 0;
}
