#include "train/gate/gate_predictions.h"

#include "data/util/records.h"

#include <stdlib.h>
#include <string.h>

struct predictions {
    const struct example_list *examples;
    struct strings ids; /* of the examples, in their order */
    double *score;      /* [n], -1 before it is read */
    bool *named;
};

static int number_ids(struct predictions *p, struct error *err)
{
    for (int i = 0; i < p->examples->n; i++) {
        const char *id = p->examples->items[i].id;
        if (strings_add(&p->ids, id) != i)
            return error_set(err, EXIT_CODE_DATA,
                             "two labelled questions have the id \"%.100s\": predictions are met by id", id);
        p->score[i] = -1;
    }
    return 0;
}

/* Whether the two alternatives are the record's, in either order. */
static bool names_both(const struct example *e, const json_t *alternatives)
{
    const char *a = json_string_value(json_array_get(alternatives, 0)),
               *b = json_string_value(json_array_get(alternatives, 1));

    if (!a || !b || !e->alternatives[0])
        return false;
    return (strcmp(a, e->alternatives[0]) == 0 && strcmp(b, e->alternatives[1]) == 0) ||
           (strcmp(a, e->alternatives[1]) == 0 && strcmp(b, e->alternatives[0]) == 0);
}

static int read_one(void *user, json_t *record, const char *where, struct error *err)
{
    struct predictions *p = user;
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(record, buffer);
    int i = strings_find(&p->ids, id);

    if (i < 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"id\": expected the id of a labelled question, got \"%.100s\"", where, id);
    if (p->score[i] >= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": \"%.100s\" has an answer already", where, id);
    if (json_object_get(record, "error"))
        return 0;
    if (record_get_real(record, "score", 0, 1, &p->score[i], where, err))
        return -1;
    p->named[i] = names_both(&p->examples->items[i], json_object_get(record, "alternatives"));
    return 0;
}

static int check_whole(const struct predictions *p, const char *path, bool partial, struct error *err)
{
    int first = -1, missing = 0;

    for (int i = 0; i < p->examples->n; i++)
        if (p->score[i] < 0) {
            first = first < 0 ? i : first;
            missing++;
        }
    if (!missing || (partial && missing < p->examples->n))
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: %d of %d questions have no answer, the first is \"%.100s\"", path,
                     missing, p->examples->n, p->examples->items[first].id);
}

static void take_slice(struct gate_answers *a, const struct predictions *p, bool presence)
{
    size_t size = (size_t)p->examples->n;
    const struct example **list = xcalloc(size, sizeof *list);
    double *score = xcalloc(size, sizeof *score);
    bool *named = xcalloc(size, sizeof *named);
    int n = 0;

    for (int i = 0; i < p->examples->n; i++)
        if (p->score[i] >= 0 && (p->examples->items[i].slice == EXAMPLE_PRESENCE) == presence) {
            list[n] = &p->examples->items[i];
            score[n] = p->score[i];
            named[n++] = p->named[i];
        }
    gate_answers_given(a, list, score, named, n);
    free(list);
    free(score);
    free(named);
}

int gate_predictions_read(struct gate_answers *answers, struct gate_answers *presence, const char *path,
                          const struct example_list *examples, bool partial, struct error *err)
{
    size_t n = (size_t)examples->n;
    struct predictions p = { .examples = examples,
                             .score = xcalloc(n, sizeof *p.score),
                             .named = xcalloc(n, sizeof *p.named) };
    int rc = number_ids(&p, err) || records_each(path, RECORDS_AUTO, read_one, &p, err) ||
                     check_whole(&p, path, partial, err)
                 ? -1
                 : 0;

    if (rc == 0) {
        take_slice(answers, &p, false);
        take_slice(presence, &p, true);
    }
    strings_release(&p.ids);
    free(p.score);
    free(p.named);
    return rc;
}
