/*
 * bench_gat GRAPHS DEVICE f32|bf16: training steps of the GATekeeper classifier of Skadborg and Mortensen (two GAT
 * layers with averaged heads, mean pooling).
 *
 * GRAPHS holds one JSON object a line, {"nodes": n, "edges": [[source, target], ...]}.  The features are random and
 * WIDTH wide.
 *
 * Commands on standard input, each answered by one line:
 *   run        uploads all graphs and takes one step (forward, backward, AdamW); answers with seconds
 *   replay N   takes N steps on all graphs with features on the device, captured if the device can; answers with the
 *              total seconds
 *   epoch B    passes once over the graphs in a new order, B at a time, with features on the device; answers with
 * seconds counts     answers with the device's counts since the last counts, see device_counts.h flops      answers
 * with the operations of a step on all graphs bytes      answers with the bytes that such a step must move: features
 * twice, parameters and moments
 *
 * The scripts of bench/ run this program and torch_geometric in turns.
 */
#include "bench/device_counts.h"
#include "data/base/json.h"
#include "data/base/log.h"
#include "kernels/batch.h"
#include "kernels/optim.h"
#include "kernels/rng.h"
#include "kernels/workspace.h"
#include "models/net/gatekeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 64 << 20, WIDTH = 768, HIDDEN = 64, HEADS = 4, LAYERS = 2 };

/* The start of a graph in the arrays of all nodes and edges.  The ends of an edge are numbered within its graph. */
struct place {
    int node, edge;
};

struct bench {
    struct device device;
    struct workspace work;
    struct arena host, data, table_data;
    struct params params;
    struct gatekeeper net;
    enum dtype dtype; /* of the features and of the layers' products */
    struct optim optim;
    struct rng rng;
    struct edge *edges;
    struct place *graphs; /* [n + 1] */
    int n, n_edges, n_nodes;
    float *features;
    struct tensor *table;                       /* the features on the device; NULL before the first epoch */
    enum { UPLOADED, GATHERED, IN_ORDER } from; /* the source of a step's features; IN_ORDER: the whole table */
    int *order;                                 /* a permutation of the graphs */
    int first, end;                             /* the range of the step in order */
    struct device_counts counted;
};

static void die(const struct error *err)
{
    log_error("%s", err->text);
    exit((int)err->code);
}

static int32_t at(const json_t *pair, size_t i)
{
    return (int32_t)json_integer_value(json_array_get(pair, i));
}

static void add_graph(struct bench *b, const json_t *graph, int *cap, int *edge_cap)
{
    const json_t *edges = json_object_get(graph, "edges");

    for (size_t i = 0; i < json_array_size(edges); i++) {
        const json_t *e = json_array_get(edges, i);
        GROW(b->edges, b->n_edges, *edge_cap);
        b->edges[b->n_edges++] = (struct edge){ at(e, 0), at(e, 1), 0 };
    }
    b->n_nodes += (int)json_integer_value(json_object_get(graph, "nodes"));
    b->n++;
    GROW(b->graphs, b->n, *cap);
    b->graphs[b->n] = (struct place){ b->n_nodes, b->n_edges };
}

static void read_graphs(struct bench *b, const char *path)
{
    struct error err;
    int cap = 0, edge_cap = 0, rc;
    json_t *graph;
    struct json_reader *r = json_reader_open(path, &err);

    if (!r)
        die(&err);
    GROW(b->graphs, 0, cap);
    b->graphs[0] = (struct place){ 0, 0 };
    while ((rc = json_reader_next(r, &graph, &err)) == 1) {
        add_graph(b, graph, &cap, &edge_cap);
        json_decref(graph);
    }
    if (rc < 0)
        die(&err);
    json_reader_close(r);
    b->features = xmalloc((size_t)b->n_nodes * WIDTH * sizeof *b->features);
    b->order = xmalloc((size_t)b->n * sizeof *b->order);
    for (int64_t i = 0; i < (int64_t)b->n_nodes * WIDTH; i++)
        b->features[i] = rng_uniform(&b->rng) - 0.5f;
    for (int i = 0; i < b->n; i++)
        b->order[i] = i;
}

/* The concatenated graphs of a step. */
struct batch {
    struct edge *edges;
    int32_t *nodes, *rows; /* nodes of each graph; rows of the table */
    float *target;
    int n, n_edges, n_nodes;
};

static void batch_add(struct batch *t, const struct bench *b, int graph)
{
    const struct place *from = &b->graphs[graph], *to = from + 1;

    for (int e = from->edge; e < to->edge; e++)
        t->edges[t->n_edges++] =
            (struct edge){ t->n_nodes + b->edges[e].source, t->n_nodes + b->edges[e].target, b->edges[e].type };
    t->nodes[t->n] = to->node - from->node;
    t->target[t->n++] = (float)(graph & 1);
    for (int i = from->node; i < to->node; i++)
        t->rows[t->n_nodes++] = i;
}

static void batch_init(struct batch *t, const struct bench *b)
{
    size_t n = (size_t)(b->end - b->first), edges = 0, nodes = 0;

    for (int i = b->first; i < b->end; i++) {
        const struct place *g = &b->graphs[b->order[i]];
        edges += (size_t)(g[1].edge - g->edge);
        nodes += (size_t)(g[1].node - g->node);
    }
    *t = (struct batch){ .edges = xmalloc(edges * sizeof *t->edges),
                         .nodes = xmalloc(n * sizeof *t->nodes),
                         .rows = xmalloc(nodes * sizeof *t->rows),
                         .target = xmalloc(n * sizeof *t->target) };
    for (int i = b->first; i < b->end; i++)
        batch_add(t, b, b->order[i]);
}

static void batch_release(struct batch *t)
{
    free(t->edges);
    free(t->nodes);
    free(t->rows);
    free(t->target);
}

static struct tensor *batch_features(struct ctx *c, const struct bench *b, const struct batch *t)
{
    if (b->from == UPLOADED) /* all graphs in file order */
        return batch_f32(c, b->features, t->n_nodes, WIDTH, b->dtype);
    if (b->from == IN_ORDER)
        return b->table;
    struct index rows = { .ids = batch_i32(c, t->rows, t->n_nodes), .n = t->n_nodes };
    return op_gather(c, b->table, &rows);
}

static void step(struct ctx *c, void *arg)
{
    struct bench *b = arg;
    struct batch t;

    batch_init(&t, b);
    int64_t n = t.n;
    struct gate_graph g = { .graph = batch_graph(c, t.edges, t.n_edges, t.n_nodes),
                            .nodes = batch_seqs(c, t.nodes, n) };
    struct gate_scores s = gatekeeper_classify(c, &b->net, batch_features(c, b, &t), &g);
    struct tensor *target = op_reshape(c, batch_f32(c, t.target, 1, n, F32), 1, &n);
    batch_release(&t);
    tape_backward(c, op_bce(c, s.score, target, NULL, 1, 1.0f / (float)n));
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
    struct param_arenas arenas = { &b->host, &b->data, OPTIMIZER_ADAMW };
    gatekeeper_init(&b->net, &g, b->dtype, &b->params, &arenas);
    if (optim_init(&b->optim, &b->device, &b->params, &err))
        die(&err);
    b->optim.schedule = (struct schedule){ .lr = 1e-3f, .total = 1 << 30 };
    b->optim.adamw = (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f };
    params_init(&b->params, &b->device, 1);
    for (int i = 0; i < b->params.n; i++) /* the step does not train the encoder */
        if (!strncmp(b->params.list[i].name, "bert.", 5) || !strncmp(b->params.list[i].name, "classifier.w", 12) ||
            !strcmp(b->params.list[i].name, "classifier.bias"))
            b->params.list[i].t->needs_grad = false;
}

static void take_step(struct bench *b)
{
    struct error err;

    if (workspace_run(&b->work, step, b, &err))
        die(&err);
}

static void all_graphs(struct bench *b)
{
    for (int i = 0; i < b->n; i++)
        b->order[i] = i;
    b->first = 0;
    b->end = b->n;
    b->from = UPLOADED;
}

static void make_table(struct bench *b)
{
    struct error err;

    if (device_arena(&b->device, &b->table_data, (size_t)b->n_nodes * WIDTH * sizeof *b->features, &err))
        die(&err);
    b->table = tensor_alloc(&b->host, &b->table_data, F32, 2, (int64_t[]){ b->n_nodes, WIDTH });
    device_upload(&b->device, b->table, b->features);
}

static void replay(struct bench *b, long steps)
{
    struct error err;

    if (!b->table)
        make_table(b);
    all_graphs(b);
    b->from = IN_ORDER;
    for (long i = 0; i < steps; i++)
        if (workspace_step(&b->work, step, b, &err))
            die(&err);
}

static void epoch(struct bench *b, int batch)
{
    if (!b->table)
        make_table(b);
    b->from = GATHERED;
    rng_shuffle(&b->rng, b->order, b->n, sizeof *b->order);
    for (b->first = 0; b->first < b->n; b->first = b->end) {
        b->end = b->first + batch < b->n ? b->first + batch : b->n;
        take_step(b);
    }
}

/* Counts the products of both layers, and twice as many for the backward pass, which needs no gradient of the features.
 */
static double step_flops(const struct bench *b)
{
    double first = 2.0 * WIDTH * HEADS * HIDDEN, second = 2.0 * HIDDEN * HEADS * HIDDEN;
    return b->n_nodes * (2 * first + 3 * second);
}

/* Counts the features twice, for the forward pass and the weight gradients.  Weights, moments and gradients are read
 * and written. */
static double step_bytes(const struct bench *b)
{
    double params = 0;

    for (int i = 0; i < b->params.n; i++)
        if (b->params.list[i].t->needs_grad)
            params += (double)tensor_size(b->params.list[i].t);
    return 2.0 * 4 * WIDTH * b->n_nodes + 2.0 * 4 * 4 * params;
}

static void answer(struct bench *b, const char *line)
{
    double start = now_seconds();

    if (!strcmp(line, "counts\n")) {
        print_counts(&b->device, &b->counted);
    } else if (!strcmp(line, "flops\n")) {
        printf("%.6g\n", step_flops(b));
    } else if (!strcmp(line, "bytes\n")) {
        printf("%.6g\n", step_bytes(b));
    } else {
        if (!strncmp(line, "replay ", 7)) {
            replay(b, strtol(line + 7, NULL, 10));
        } else if (!strncmp(line, "epoch ", 6)) {
            epoch(b, (int)strtol(line + 6, NULL, 10));
        } else {
            all_graphs(b);
            take_step(b);
        }
        b->device.driver->sync(&b->device);
        printf("%.7f\n", now_seconds() - start);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench b = { .rng = { .seed = 1 } };
    struct error err;
    char line[64];

    if (argc != 4) {
        log_error("usage: bench_gat GRAPHS DEVICE f32|bf16");
        return EXIT_CODE_USAGE;
    }
    b.dtype = strcmp(argv[3], "bf16") ? F32 : BF16;
    if (device_open(&b.device, argv[2], &err) || workspace_init(&b.work, &b.device, HOST_BYTES, &err))
        die(&err);
    read_graphs(&b, argv[1]);
    open_model(&b);
    b.work.ctx.recording = b.work.ctx.training = true;
    while (fgets(line, sizeof line, stdin))
        answer(&b, line);
    return 0;
}
