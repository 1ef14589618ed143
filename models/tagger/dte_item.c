#include "models/tagger/dte_item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_POSITIONS = 256, /* so that any column fits beside a question */
    QUESTION_SHARE = 2,    /* max share of the positions: 1 / QUESTION_SHARE */
    NAME_PIECES = 24,      /* max pieces of a table's or column's name */
    VALUE_PIECES = 12,
    BLOCK_VALUES = 3 /* max values of a column */
};

int dte_layout_init(struct dte_layout *l, const struct tokenizer *t, int max_positions, struct error *err)
{
    static const char *const names[] = { "[unused21]", "[unused22]", "[unused23]",
                                         "[unused24]", "[unused30]", "[unused31]" };
    int32_t ids[ARRAY_LEN(names)];

    for (int i = 0; i < ARRAY_LEN(names); i++)
        if ((ids[i] = tokenizer_id(t, names[i])) < 0)
            return error_set(err, EXIT_CODE_CHECKPOINT,
                             "the vocabulary has no %s: expected a BERT vocabulary, whose unused ids mark columns",
                             names[i]);
    if (max_positions < LEAST_POSITIONS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected sequences of at least %d tokens, got %d", LEAST_POSITIONS,
                         max_positions);
    *l = (struct dte_layout){ .tokenizer = t,
                              .cls = tokenizer_special(t, SPECIAL_CLS),
                              .sep = tokenizer_special(t, SPECIAL_SEP),
                              .unk = tokenizer_special(t, SPECIAL_UNK),
                              .table = ids[4],
                              .value = ids[5],
                              .types = { [COLUMN_TEXT] = ids[0],
                                         [COLUMN_NUMBER] = ids[1],
                                         [COLUMN_TIME] = ids[2],
                                         [COLUMN_BOOLEAN] = ids[3],
                                         [COLUMN_OTHERS] = ids[0] },
                              .max_positions = max_positions };
    return 0;
}

static bool goes_on(const struct tokenizer *t, int32_t id)
{
    const char *text = tokenizer_token(t, id);
    return text && strncmp(text, "##", 2) == 0;
}

/* Splits the question into words, as many as fit. *tokens gets their pieces. */
static void cut_words(struct dte_item *item, struct ids *tokens, const struct ids *pieces,
                      const struct token_spans *spans, const struct dte_layout *l)
{
    const char *text = item->question->question;
    int most = l->max_positions / QUESTION_SHARE, cap = 0, letters = 0;
    int64_t byte = 0;

    for (int64_t i = 0, next; i < pieces->count; i = next) {
        for (next = i + 1; next < pieces->count && goes_on(l->tokenizer, pieces->items[next]);)
            next++;
        item->n_question++;
        if (item->n_words < item->n_question - 1 || tokens->count + (next - i) > most)
            continue;
        GROW(item->words, item->n_words, cap);
        struct dte_word *w = &item->words[item->n_words++];
        *w = (struct dte_word){ .at = (int)tokens->count, .n = (int)(next - i) };
        w->from = (int)spans->items[i].start;
        w->to = (int)spans->items[next - 1].end;
        letters += text_letters(text + byte, (size_t)(w->from - byte));
        w->start = letters;
        w->end = letters += text_letters(text + w->from, (size_t)(w->to - w->from));
        byte = w->to;
        for (int64_t k = i; k < next; k++)
            ids_push(tokens, pieces->items[k]);
    }
}

static int read_question(struct dte_item *item, struct ids *head, const struct dte_layout *l)
{
    const char *text = item->question->question;
    struct ids pieces = { 0 };
    struct token_spans spans = { 0 };

    tokenizer_encode(l->tokenizer, text, strlen(text), 0, &pieces, &spans);
    ids_push(head, l->cls);
    cut_words(item, head, &pieces, &spans, l);
    item->sep = (int)head->count;
    ids_push(head, l->sep);
    ids_release(&pieces);
    token_spans_release(&spans);
    return item->n_words ? 0 : -1;
}

static const char *table_of(const struct span_column *c)
{
    return c->table ? c->table : "";
}

struct column_place {
    const struct tag_question *question;
    int column;
};

/* Orders by table and name; equal names by type, then by place. */
static int compare_places(const void *a, const void *b)
{
    const struct column_place *x = a, *y = b;
    const struct span_column *p = &x->question->columns[x->column], *q = &y->question->columns[y->column];
    int order = strcmp(table_of(p), table_of(q));

    if (!order)
        order = strcmp(p->name, q->name);
    if (!order)
        order = (p->type > q->type) - (p->type < q->type);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

static struct column_place *ordered(const struct tag_question *q)
{
    struct column_place *places = xmalloc((size_t)q->n_columns * sizeof *places);

    for (int i = 0; i < q->n_columns; i++)
        places[i] = (struct column_place){ q, i };
    qsort(places, (size_t)q->n_columns, sizeof *places, compare_places);
    return places;
}

static void push_words(struct ids *out, const struct dte_layout *l, const char *text, int most)
{
    int64_t before = out->count;

    tokenizer_encode(l->tokenizer, text, strlen(text), 0, out, NULL);
    if (out->count > before + most)
        out->count = before + most;
}

static void push_entity(struct dte_window *w, const struct dte_layout *l, int32_t marker, struct tag_concept concept,
                        const char *text, int most)
{
    GROW(w->entities, w->n_entities, w->cap);
    struct dte_entity *e = &w->entities[w->n_entities++];
    *e = (struct dte_entity){ .concept = concept, .at = (int)w->tokens.count };
    ids_push(&w->tokens, marker);
    push_words(&w->tokens, l, text, most);
    e->end = (int)w->tokens.count;
}

/* A window with one column, and with those of its values that the question mentions. */
static void push_column(struct dte_window *w, const struct dte_layout *l, const struct tag_question *q, int column)
{
    const struct span_column *c = &q->columns[column];
    struct tag_concept concept = { .kind = TAG_COLUMN, .column = column };
    int left = BLOCK_VALUES;

    push_entity(w, l, l->types[c->type], concept, c->name, NAME_PIECES);
    for (int i = 0; i < q->n_values && left; i++) {
        if (q->values[i].column != column)
            continue;
        concept = (struct tag_concept){ .kind = TAG_VALUE, .column = column, .value = q->values[i].text };
        push_entity(w, l, l->value, concept, q->values[i].text, VALUE_PIECES);
        left--;
    }
    ids_push(&w->tokens, l->sep);
}

/* Appends b's tokens and entities to w. */
static void append(struct dte_window *w, const struct dte_window *b)
{
    int shift = (int)w->tokens.count;

    for (int64_t i = 0; i < b->tokens.count; i++)
        ids_push(&w->tokens, b->tokens.items[i]);
    for (int i = 0; i < b->n_entities; i++) {
        GROW(w->entities, w->n_entities, w->cap);
        struct dte_entity *e = &w->entities[w->n_entities++];
        *e = b->entities[i];
        e->at += shift;
        e->end += shift;
    }
}

static struct dte_window *new_window(struct dte_item *item, const struct ids *head)
{
    item->windows = xrealloc(item->windows, (size_t)(item->n_windows + 1) * sizeof *item->windows);
    struct dte_window *w = &item->windows[item->n_windows++];
    *w = (struct dte_window){ 0 };
    for (int64_t i = 0; i < head->count; i++)
        ids_push(&w->tokens, head->items[i]);
    return w;
}

static void release_window(struct dte_window *w)
{
    ids_release(&w->tokens);
    free(w->entities);
}

static bool several_tables(const struct tag_question *q)
{
    for (int i = 1; i < q->n_columns; i++)
        if (strcmp(table_of(&q->columns[i]), table_of(&q->columns[0])) != 0)
            return true;
    return false;
}

/* Puts each column into the last window if it fits, else into a new one. A table precedes its first column in each
 * window. */
static void fill_windows(struct dte_item *item, const struct ids *head, const struct dte_layout *l)
{
    const struct tag_question *q = item->question;
    struct column_place *places = ordered(q);
    bool tables = several_tables(q);
    struct dte_window *w = NULL;
    const char *table = NULL;

    for (int i = 0; i < q->n_columns; i++) {
        int column = places[i].column;
        for (bool fits = false; !fits;) {
            struct dte_window block = { 0 };
            const char *own = table_of(&q->columns[column]);
            if (tables && (!w || !table || strcmp(table, own) != 0))
                push_entity(&block, l, l->table, (struct tag_concept){ .kind = TAG_TABLE, .column = column }, own,
                            NAME_PIECES);
            push_column(&block, l, q, column);
            fits = w && w->tokens.count + block.tokens.count <= l->max_positions;
            if (fits)
                append(w, &block);
            else
                w = new_window(item, head);
            table = fits ? own : NULL;
            release_window(&block);
        }
    }
    free(places);
}

int dte_item_init(struct dte_item *item, const struct tag_question *q, const struct dte_layout *l, const char *where,
                  struct error *err)
{
    struct ids head = { 0 };

    *item = (struct dte_item){ .question = q };
    if (!q->n_columns)
        return error_set(err, EXIT_CODE_DATA, "%s: expected at least one column, got none", where);
    int rc = read_question(item, &head, l);
    if (rc)
        error_set(err, EXIT_CODE_DATA, "%s: question: expected at least one word, got none", where);
    else
        fill_windows(item, &head, l);
    ids_release(&head);
    return rc;
}

void dte_item_release(struct dte_item *item)
{
    for (int i = 0; i < item->n_windows; i++)
        release_window(&item->windows[i]);
    free(item->windows);
    free(item->words);
    *item = (struct dte_item){ 0 };
}
