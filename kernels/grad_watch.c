#include "kernels/grad_watch.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b)
{
    const struct watched_grad *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

void grad_watch_init(struct grad_watch *w, const struct params *p, grad_final_fn *final, void *arg)
{
    *w = (struct grad_watch){ .final = final, .arg = arg };
    w->grads = xcalloc((size_t)p->n + 1, sizeof *w->grads);
    w->due = xcalloc((size_t)p->n + 1, sizeof *w->due);
    for (int i = 0; i < p->n; i++) {
        const struct tensor *t = p->list[i].t;
        if (t->needs_grad)
            w->grads[w->n++] =
                (struct watched_grad){ .data = t->grad->data, .bytes = tensor_bytes(t->grad), .param = i };
    }
    qsort(w->grads, (size_t)w->n, sizeof *w->grads, by_address);
}

void grad_watch_release(struct grad_watch *w)
{
    free(w->grads);
    free(w->due);
    *w = (struct grad_watch){ 0 };
}

void grad_watch_begin(struct grad_watch *w, bool counting)
{
    w->counting = counting;
    w->n_due = 0;
    for (int i = 0; i < w->n; i++) {
        struct watched_grad *g = &w->grads[i];
        if (counting)
            g->writes = 0;
        g->left = g->writes;
        if (!counting && !g->writes)
            w->final(w->arg, g->param);
    }
}

/* Returns the first gradient that ends after `data`. */
static int first_behind(const struct grad_watch *w, const char *data)
{
    int low = 0, high = w->n;

    while (low < high) {
        int middle = (low + high) / 2;
        if (w->grads[middle].data + w->grads[middle].bytes > data)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void grad_watch_write(struct grad_watch *w, const struct tensor *grad)
{
    const char *data = grad->data, *end = data + tensor_bytes(grad);

    for (int i = first_behind(w, data); i < w->n && w->grads[i].data < end; i++) {
        struct watched_grad *g = &w->grads[i];
        if (w->counting) {
            g->writes++;
            continue;
        }
        CHECK(g->left > 0, "a gradient of parameter %d is written %d times, more than was counted", g->param,
              g->writes + 1);
        if (--g->left == 0)
            w->due[w->n_due++] = g->param;
    }
}

void grad_watch_settle(struct grad_watch *w)
{
    for (int i = 0; i < w->n_due; i++)
        w->final(w->arg, w->due[i]);
    w->n_due = 0;
}
