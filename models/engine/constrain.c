/* Part of engine.h: the automata of a run's requests, one after another on the device. */
#include "models/engine/engine_impl.h"

#include <stdlib.h>
#include <string.h>

/* Tables side by side, and where each one's states begin. */
struct joined {
    int32_t *first, *token, *next;
    int64_t n_states, n_edges;
};

int engine_stops(const struct llama_model *m, int32_t stops[ENGINE_MAX_STOPS])
{
    int n = m->seq2seq ? m->t5.config.n_stops : m->net.config.n_stops;

    memcpy(stops, m->seq2seq ? m->t5.config.stops : m->net.config.stops, (size_t)n * sizeof *stops);
    if (m->chat.template)
        stops[n++] = chat_end(&m->chat);
    return n;
}

int32_t engine_start_state(const struct engine *e, const struct engine_request *r)
{
    if (!r->constraint)
        return STATE_FREE;
    for (int64_t i = 0; i < e->n_tables; i++)
        if (e->tables[i].of == r->constraint)
            return e->tables[i].start;
    CHECK(false, "a constraint that is not of this run");
    return STATE_FREE;
}

/* A row of `first` more than it has states, which ends its last. */
static void measure_table(struct engine *e, struct joined *j, const struct automaton_host *a)
{
    for (int64_t i = 0; i < e->n_tables; i++)
        if (e->tables[i].of == a)
            return;
    GROW(e->tables, e->n_tables, e->cap_tables);
    e->tables[e->n_tables++] = (struct engine_table){ a, (int32_t)j->n_states };
    j->n_states += a->n_states + 1;
    j->n_edges += a->n_edges;
}

static void join_table(struct joined *j, const struct automaton_host *a)
{
    int32_t states = (int32_t)j->n_states, edges = (int32_t)j->n_edges;

    for (int32_t i = 0; i <= a->n_states; i++)
        j->first[states + i] = edges + a->first[i];
    for (int32_t i = 0; i < a->n_edges; i++) {
        j->token[edges + i] = a->token[i];
        j->next[edges + i] = a->next[i] == STATE_FREE ? STATE_FREE : states + a->next[i];
    }
    j->n_states += a->n_states + 1;
    j->n_edges += a->n_edges;
}

static struct tensor *column(struct engine *e, int64_t n)
{
    return tensor_alloc(&e->table_host, &e->table_data, I32, 1, &n);
}

static void lay_out_tables(struct engine *e, const struct joined *j)
{
    e->automaton = (struct automaton){ column(e, j->n_states), column(e, j->n_edges), column(e, j->n_edges) };
}

static int upload_tables(struct engine *e, const struct joined *size, struct error *err)
{
    struct joined j = { 0 };
    size_t bytes = (size_t)(size->n_states + 2 * size->n_edges) * sizeof(int32_t) + (size_t)3 * ARENA_ALIGN;

    if (arena_init(&e->table_host, 4096, err) || device_arena(e->model->device, &e->table_data, bytes, err))
        return error_prefix(err, "constraints of %lld tokens", (long long)size->n_edges);
    lay_out_tables(e, size);
    j.first = xmalloc(bytes);
    j.token = j.first + size->n_states;
    j.next = j.token + size->n_edges;
    for (int64_t i = 0; i < e->n_tables; i++)
        join_table(&j, e->tables[i].of);
    device_upload(e->model->device, e->automaton.first, j.first);
    device_upload(e->model->device, e->automaton.token, j.token);
    device_upload(e->model->device, e->automaton.next, j.next);
    free(j.first);
    return 0;
}

void engine_release_tables(struct engine *e)
{
    arena_release(&e->table_host);
    if (e->table_data.base)
        device_arena_release(e->model->device, &e->table_data);
    free(e->tables);
    e->tables = NULL;
    e->n_tables = e->cap_tables = 0;
}

int engine_load_tables(struct engine *e, const struct engine_request *list, int64_t n, struct error *err)
{
    struct joined size = { 0 };

    engine_release_tables(e);
    for (int64_t i = 0; i < n; i++)
        if (list[i].constraint && (!i || list[i].constraint != list[i - 1].constraint))
            measure_table(e, &size, list[i].constraint);
    if (size.n_states > INT32_MAX || size.n_edges > INT32_MAX)
        return error_set(err, EXIT_CODE_MEMORY, "constraints of %lld tokens: expected at most %d",
                         (long long)size.n_edges, INT32_MAX);
    return e->n_tables ? upload_tables(e, &size, err) : 0;
}
