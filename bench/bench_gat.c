/*
 * bench_gat GRAPHS DEVICE: training steps of the thesis' classifier (two GAT layers, heads averaged, mean pool).
 *
 * GRAPHS holds one JSON object a line, {"nodes": n, "edges": [[source, target], ...]}; features are random, WIDTH wide.
 * "run" on standard input takes one step (forward, backward, AdamW) on all graphs and answers with its seconds;
 * "nodes" with the number of nodes.  bench/gat.py lets it and torch_geometric take turns.
 */
#include "data/json.h"
#include "data/log.h"
#include "kernels/batch.h"
#include "kernels/optim.h"
#include "kernels/rng.h"
#include "kernels/workspace.h"
#include "models/gatekeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 64 << 20, WIDTH = 768, HIDDEN = 64, HEADS = 4, LAYERS = 2 };

struct bench {
    struct device device;
    struct workspace work;
    struct arena host, data;
    struct params params;
    struct gatekeeper net;
    struct optim optim;
    struct edge *edges;
    int32_t *nodes;
    int n, n_nodes, n_edges;
    float *features, *target;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit(err->code);
}

static int32_t at(const json_t *pair, size_t i)
{
    return (int32_t)json_integer_value(json_array_get(pair, i));
}

static void add_graph(struct bench *b, const json_t *graph, int *cap, int *edge_cap)
{
    const json_t *edges = json_object_get(graph, "edges");

    GROW(b->nodes, b->n, *cap);
    b->nodes[b->n] = (int32_t)json_integer_value(json_object_get(graph, "nodes"));
    for (size_t i = 0; i < json_array_size(edges); i++) {
        const json_t *e = json_array_get(edges, i);
        GROW(b->edges, b->n_edges, *edge_cap);
        b->edges[b->n_edges++] = (struct edge){ b->n_nodes + at(e, 0), b->n_nodes + at(e, 1), 0 };
    }
    b->n_nodes += b->nodes[b->n++];
}

static void read_graphs(struct bench *b, const char *path)
{
    struct error err;
    struct rng rng = { .seed = 1 };
    int cap = 0, edge_cap = 0, rc;
    json_t *graph;
    struct json_reader *r = json_reader_open(path, &err);

    if (!r)
        die(&err);
    while ((rc = json_reader_next(r, &graph, &err)) == 1) {
        add_graph(b, graph, &cap, &edge_cap);
        json_decref(graph);
    }
    if (rc < 0)
        die(&err);
    json_reader_close(r);
    b->features = xmalloc((size_t)b->n_nodes * WIDTH * sizeof *b->features);
    b->target = xmalloc((size_t)b->n * sizeof *b->target);
    for (int i = 0; i < b->n_nodes * WIDTH; i++)
        b->features[i] = rng_uniform(&rng) - 0.5f;
    for (int i = 0; i < b->n; i++)
        b->target[i] = (float)(i & 1);
}

static void step(struct ctx *c, void *arg)
{
    struct bench *b = arg;
    struct gate_graph g = { .graph = batch_graph(c, b->edges, b->n_edges, b->n_nodes),
                            .nodes = batch_seqs(c, b->nodes, b->n) };
    struct tensor *x = batch_f32(c, b->features, b->n_nodes, WIDTH, F32);
    struct gate_scores s = gatekeeper_classify(c, &b->net, x, &g);
    int64_t n = b->n;
    struct tensor *t = op_reshape(c, batch_f32(c, b->target, 1, n, F32), 1, &n);

    tape_backward(c, op_bce(c, s.score, t, NULL, 1, 1.0f / (float)n));
    optim_step(c, &b->optim, &b->params);
}

static void open_model(struct bench *b)
{
    struct error err;
    struct gatekeeper_config g = { .bert = { .vocab_size = 1,
                                             .hidden_size = WIDTH,
                                             .heads = 12,
                                             .intermediate_size = 1,
                                             .max_positions = 1,
                                             .type_vocab_size = 1 },
                                   .classifier = CLASSIFIER_GAT_MEAN,
                                   .pool = GATE_POOL_MEAN,
                                   .gat_hidden = HIDDEN,
                                   .gat_layers = LAYERS,
                                   .gat_heads = HEADS,
                                   .edge_types = 1,
                                   .dropout = 0.3f };
    if (arena_init(&b->host, HOST_BYTES, &err) || device_arena(&b->device, &b->data, HOST_BYTES, &err))
        die(&err);
    struct param_arenas arenas = { &b->host, &b->data, true };
    gatekeeper_init(&b->net, &g, F32, &b->params, &arenas);
    optim_init(&b->optim, &arenas);
    b->optim.schedule = (struct schedule){ .lr = 1e-3f, .total = 1 << 30 };
    b->optim.adamw = (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .lr_scale = 1 };
    params_init(&b->params, &b->device, 1);
    for (int i = 0; i < b->params.n; i++) /* the encoder is no part of the step */
        if (!strncmp(b->params.list[i].name, "bert.", 5) || !strncmp(b->params.list[i].name, "classifier.w", 12) ||
            !strcmp(b->params.list[i].name, "classifier.bias"))
            b->params.list[i].t->needs_grad = false;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct error err;
    char line[64];

    if (argc != 3) {
        log_error("usage: bench_gat GRAPHS DEVICE");
        return EXIT_CODE_USAGE;
    }
    if (device_open(&b.device, argv[2], &err) || workspace_init(&b.work, &b.device, HOST_BYTES, &err))
        die(&err);
    read_graphs(&b, argv[1]);
    open_model(&b);
    b.work.ctx.recording = b.work.ctx.training = true;
    while (fgets(line, sizeof line, stdin)) {
        double start = now_seconds();
        if (!strcmp(line, "nodes\n")) {
            printf("%d\n", b.n_nodes);
        } else {
            if (workspace_run(&b.work, step, &b, &err))
                die(&err);
            b.device.driver->sync(&b.device);
            printf("%.7f\n", now_seconds() - start);
        }
        fflush(stdout);
    }
    return 0;
}
