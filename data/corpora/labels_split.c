#include "data/corpora/labels_split.h"

#include "data/corpora/split.h"
#include "data/util/log.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHARE = 0.2; /* of the validation, and of the test */

/* What stays together: all questions of one text, whatever their case and spaces. */
struct text_group {
    uint64_t order;
    bool ambiguous; /* one of them is */
    int fold;
};

int labels_text_number(struct strings *texts, const char *question)
{
    char *text = xstrdup(question), *to = text;

    for (const char *c = question; *c; c++)
        if (!isspace((unsigned char)*c))
            *to++ = (char)tolower((unsigned char)*c);
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    to -= to > text && to[-1] == ' ';
    *to = 0;
    int number = strings_add(texts, text);
    free(text);
    return number;
}

static int by_order(const void *a, const void *b)
{
    const struct text_group *const *x = a, *const *y = b;
    return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* Of n groups of one label: of few of them training comes first, then validation. */
static void choose_folds(struct text_group **list, int n)
{
    int share = (int)lround(SHARE * n), valid = n < 2 ? 0 : share ? share : 1, test = n < 4 ? 0 : share;

    qsort(list, (size_t)n, sizeof *list, by_order);
    for (int i = 0; i < n; i++)
        list[i]->fold = i < test ? FOLD_TEST : i < test + valid ? FOLD_VALID : FOLD_TRAIN;
}

static void split_by_question(const struct example_list *all, int64_t seed, int *fold)
{
    struct strings texts = { 0 };
    int *group = xmalloc((size_t)all->n * sizeof *group);
    struct text_group *groups = xcalloc((size_t)all->n, sizeof *groups);
    struct text_group **list = xmalloc((size_t)all->n * sizeof *list);

    for (int i = 0; i < all->n; i++) {
        group[i] = labels_text_number(&texts, all->items[i].question);
        groups[group[i]].ambiguous |= all->items[i].ambiguous;
    }
    for (int label = 0; label < 2; label++) {
        int n = 0;
        for (int k = 0; k < texts.n; k++)
            if (groups[k].ambiguous == label) {
                groups[k].order = split_order(texts.items[k], seed);
                list[n++] = &groups[k];
            }
        choose_folds(list, n);
    }
    for (int i = 0; i < all->n; i++)
        fold[i] = groups[group[i]].fold;
    free(group);
    free(groups);
    free(list);
    strings_release(&texts);
}

/* Whether there are enough databases, and both labels are among those that are trained on. */
static bool split_by_database(const struct example_list *all, int64_t seed, int *fold)
{
    struct strings names = { 0 };
    int *of = xmalloc((size_t)all->n * sizeof *of), *folds = xmalloc((size_t)all->n * sizeof *folds);
    bool labels[2] = { false, false };

    for (int i = 0; i < all->n; i++)
        of[i] = strings_add(&names, all->items[i].source_db);
    bool enough = split_names((const char *const *)names.items, names.n, SHARE, SHARE, seed, folds);
    for (int i = 0; enough && i < all->n; i++) {
        fold[i] = folds[of[i]];
        if (fold[i] == FOLD_TRAIN)
            labels[all->items[i].ambiguous] = true;
    }
    free(of);
    free(folds);
    strings_release(&names);
    return enough && labels[0] && labels[1];
}

void labels_split(struct dataset *d, const struct example_list *all, int64_t seed, const char *name)
{
    int *fold = xcalloc((size_t)all->n, sizeof *fold), ambiguous = 0;
    bool by_database = split_by_database(all, seed, fold);

    if (!by_database)
        split_by_question(all, seed, fold);
    for (int i = 0; i < all->n; i++) {
        example_list_add(&d->folds[fold[i]], &all->items[i]);
        ambiguous += all->items[i].ambiguous;
    }
    log_info(
        "%s: %d questions, %d of them ambiguous, about %d database%s; split by %s with seed %lld: %d to train, %d to "
        "validate, %d to test",
        name, all->n, ambiguous, d->schemas.n, d->schemas.n == 1 ? "" : "s", by_database ? "database" : "question",
        (long long)seed, d->folds[FOLD_TRAIN].n, d->folds[FOLD_VALID].n, d->folds[FOLD_TEST].n);
    free(fold);
}
