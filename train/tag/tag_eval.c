/* Part of tag_trainer.h: answers of the model as it is, and what they are worth. */
#include "data/span/span_count.h"
#include "data/util/stop.h"
#include "train/tag/tag_trainer_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EVAL_GROUP = 64 }; /* questions answered at once */

int tag_answers(struct tag_trainer *t, enum fold fold, int n, struct tag_answer *answers, struct error *err)
{
    struct dte_item items[EVAL_GROUP];

    for (int i = 0, some; i < n; i += some) {
        some = n - i < EVAL_GROUP ? n - i : EVAL_GROUP;
        if (stop_requested())
            return 1;
        for (int k = 0; k < some; k++)
            items[k] = t->data.folds[fold].list[i + k].item;
        if (dte_tag(&t->tagger, items, some, answers + i, err))
            return -1;
    }
    return 0;
}

static int count_fold(struct tag_trainer *t, enum fold fold, int n, struct span_counts *counts, struct error *err)
{
    struct tag_answer *answers = xcalloc((size_t)n + 1, sizeof *answers);
    int rc = tag_answers(t, fold, n, answers, err);

    *counts = (struct span_counts){ 0 };
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            span_count(counts, t->data.folds[fold].list[i].record, &answers[i]);
        tag_answer_release(&answers[i]);
    }
    free(answers);
    return rc;
}

static double share(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static double f1_of(const struct span_counts *n)
{
    double f1 = span_f1(n->label[COUNT_PROBLEM].exact, n->label[COUNT_PROBLEM].gold, n->label[COUNT_PROBLEM].exact,
                        n->label[COUNT_PROBLEM].tagged);
    return isnan(f1) ? 0 : f1;
}

int tag_validated(const struct tag_trainer *t)
{
    int n = t->data.folds[FOLD_VALID].n;
    return n > t->set->max_valid ? (int)t->set->max_valid : n;
}

/* F1 of the spans less twice the share of answerable questions that get one. */
int tag_validate(void *trainer, struct validation *v, struct error *err)
{
    struct tag_trainer *t = trainer;
    struct span_counts n;
    if (!tag_validated(t))
        return 0;
    int rc = count_fold(t, FOLD_VALID, tag_validated(t), &n, err);

    if (rc)
        return rc;
    double f1 = f1_of(&n), alarms = share(n.alarmed, n.answerable),
           linked = share(n.linked_all[SPAN_AMB], n.linkable[SPAN_AMB]);
    v->list[v->n++] = (struct metric){ "valid_span_f1", f1 };
    v->list[v->n++] = (struct metric){ "valid_alarms", alarms };
    v->list[v->n++] = (struct metric){ "valid_linked", linked };
    v->figure = f1 - 2 * alarms;
    v->final = true;
    snprintf(v->text, sizeof v->text, "span F1 %.4f, alarms %.4f, linked %.4f", f1, alarms, linked);
    return 0;
}

int tag_report(struct tag_trainer *t, struct error *err)
{
    struct span_counts n;
    if (!t->data.folds[FOLD_TEST].n)
        return 0;
    int rc = count_fold(t, FOLD_TEST, t->data.folds[FOLD_TEST].n, &n, err);

    if (rc)
        return rc;
    printf("test: %lld AMB and UNK spans, F1 %.4f, alarms of 100 answerable %.2f, both linked %.4f of %lld AMB\n",
           (long long)n.label[COUNT_PROBLEM].gold, f1_of(&n), 100 * share(n.alarmed, n.answerable),
           share(n.linked_all[SPAN_AMB], n.linkable[SPAN_AMB]), (long long)n.linkable[SPAN_AMB]);
    return 0;
}
