#include "data/prompt/yes_no.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/base/stop.h"
#include "data/prompt/model_output.h"
#include "kernels/rng.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The system message of the released program (ask_gpt.py), whose user message is the question. */
static const char published_task[] =
    "You are a helpful assistant. The question that the user asks you is a question that an NL2SQL system might know how "
    "to answer. Your job is to identify if the question is ambiguous or not. Answer either yes or no.";
static const char schema_task[] =
    "A question to a database is ambiguous for its schema when it has several right readings there: two columns fit it, "
    "two tables fit it, a value is kept in two places, or an aggregate can be computed and is stored too. Is the question "
    "ambiguous for the schema? Answer with one word, yes or no.\n";

static void write_name(FILE *f, const struct schema *s, int column)
{
    const struct schema_column *c = &s->columns[column];
    fprintf(f, "%s.%s", s->tables[c->table].name, c->name);
}

/* Writes a line for each table, and one of keys. */
static void write_schema(FILE *f, const struct schema *s)
{
    fputs("Schema:\n", f);
    for (int t = 0; t < s->n_tables; t++) {
        const struct schema_table *table = &s->tables[t];
        fprintf(f, "%s:", table->name);
        for (int i = 0; i < table->n_columns; i++)
            fprintf(f, "%s %s", i ? "," : "", s->columns[table->first_column + i].name);
        fputc('\n', f);
    }
    for (int k = 0; k < s->n_foreign_keys; k++) {
        fputs(k ? ", " : "Keys: ", f);
        write_name(f, s, s->foreign_keys[k].from);
        fputs(" = ", f);
        write_name(f, s, s->foreign_keys[k].to);
    }
    if (s->n_foreign_keys)
        fputc('\n', f);
}

static void write_case(FILE *f, const struct schema_set *schemas, const struct example *e)
{
    fputc('\n', f);
    write_schema(f, schema_find(schemas, e->db_id));
    fprintf(f, "Question: %s\nAnswer:", e->question);
}

/* The prompt of a question and its schema after n few-shot examples; the caller frees. */
static char *schema_prompt(const struct schema_set *schemas, const struct example *const *shots, int n,
                           const struct schema_set *shown, const struct example *asked)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a prompt");
    fputs(schema_task, f);
    for (int i = 0; i < n; i++) {
        write_case(f, shown, shots[i]);
        fprintf(f, " %s\n", shots[i]->ambiguous ? "yes" : "no");
    }
    write_case(f, schemas, asked);
    CHECK(fclose(f) == 0, "no memory for a prompt");
    return text;
}

/* 1 for yes, 0 for no, -1 for other words. */
static int read_word(const char *text)
{
    int n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '\'')
        n++;
    return n == 3 && strncasecmp(text, "yes", 3) == 0 ? 1 : n == 2 && strncasecmp(text, "no", 2) == 0 ? 0 : -1;
}

static const char *next_word(const char *text)
{
    while (*text && !isalnum((unsigned char)*text))
        text++;
    return text;
}

/* Skips a label of at most three words and a colon: "Final answer: ". */
static const char *behind_label(const char *text)
{
    const char *at = text;

    for (int words = 0; words < 3 && isalpha((unsigned char)*at); words++) {
        while (isalpha((unsigned char)*at))
            at++;
        at += strspn(at, " *_");
        if (*at == ':')
            return next_word(at);
    }
    return text;
}

/* Skips "Answer:" and similar labels, and signs before the first word. */
static const char *first_word(const char *text)
{
    static const char *const labels[] = { "final answer", "the answer is", "the answer", "answer" };
    const char *word = next_word(text);

    if (read_word(word) >= 0)
        return word;
    for (int i = 0; i < ARRAY_LEN(labels); i++) {
        size_t n = strlen(labels[i]);
        if (strncasecmp(word, labels[i], n) == 0 && word[n] && !isalnum((unsigned char)word[n]))
            return next_word(word + n);
    }
    return behind_label(word);
}

/* Whether both words are offered: "yes or no", "Yes/No". */
static bool says_both(const char *word, int says)
{
    const char *next = next_word(word + (says ? 3 : 2));

    if (strncasecmp(next, "or ", 3) == 0 || strncasecmp(next, "and ", 4) == 0)
        next = next_word(next + 3);
    else if (word[says ? 3 : 2] != '/')
        return false;
    return read_word(next) == !says;
}

/* Reads a completion as yes_no_read() does, and sets *from to the place of the word in it, or to -1. */
static int read_answer(const char *answer, ptrdiff_t *from)
{
    char *text = output_answer(answer);
    const char *word = first_word(text), *at = strstr(answer, text);
    int says = read_word(word);

    if (says >= 0 && says_both(word, says))
        says = -1;
    *from = at ? at - answer + (word - text) : -1;
    free(text);
    return says;
}

int yes_no_read(const char *answer)
{
    ptrdiff_t from;

    return read_answer(answer, &from);
}

/* Reading and writing of files. */

enum { ASK_WINDOW = 1024 /* questions in memory as prompts */, ANSWER_TOKENS = 2048 /* a model may think first */ };

struct yes_no {
    const struct yes_no_request *q;
    struct dataset data, support;
    const struct example_list *asked, *pool; /* pool: few-shot examples */
    const struct schema_set *shown;          /* schemas of the pool */
    struct strings ids;                      /* of the questions, in order */
    struct yes_no_tally {
        double yes; /* sum of the probabilities of yes */
        int read;
        char *unread; /* the first unread completion, or NULL */
        char *error;  /* why the server has none, or NULL */
    } * tally;        /* [asked] */
    struct out_file out;
};

static int read_labels(struct dataset *d, const struct yes_no_request *q, const char *path, struct error *err)
{
    const struct labels_request labels = { .path = path,
                                           .db = q->db,
                                           .schema = q->schema,
                                           .format_in = q->format_in,
                                           .label_field = q->label_field,
                                           .whole = true };

    return labels_read(d, &labels, err);
}

static int read_data(struct yes_no *y, struct error *err)
{
    const struct yes_no_request *q = y->q;
    bool own = q->db || q->schema;

    if (own ? read_labels(&y->data, q, q->data, err) : dataset_read(&y->data, q->data, err))
        return -1;
    y->asked = &y->data.splits[SPLIT_TEST];
    y->pool = &y->data.splits[SPLIT_TRAIN];
    y->shown = &y->data.schemas;
    if (!y->asked->n)
        return error_set(err, EXIT_CODE_DATA, "%s: expected questions, got none", q->data);
    if (!q->support)
        return 0;
    if (read_labels(&y->support, q, q->support, err))
        return -1;
    y->pool = &y->support.splits[SPLIT_TEST];
    y->shown = &y->support.schemas;
    return 0;
}

static int number_ids(struct yes_no *y, struct error *err)
{
    for (int i = 0; i < y->asked->n; i++)
        if (strings_add(&y->ids, y->asked->items[i].id) != i)
            return error_set(err, EXIT_CODE_DATA, "two questions have the id \"%.100s\": answers are met by id",
                             y->asked->items[i].id);
    return 0;
}

/* Refuses few-shot examples that are among the questions. */
static int check_apart(const struct yes_no *y, struct error *err)
{
    struct strings keys = { 0 }, text = { 0 };
    int rc = 0;

    for (int i = 0; i < y->asked->n; i++) {
        const struct example *e = &y->asked->items[i];
        strings_add(&keys, strings_printf(&text, "%s\n%s", e->source_db, e->question));
    }
    for (int i = 0; rc == 0 && i < y->pool->n; i++) {
        const struct example *e = &y->pool->items[i];
        if (strings_find(&keys, strings_printf(&text, "%s\n%s", e->source_db, e->question)) >= 0)
            rc = error_set(err, EXIT_CODE_DATA,
                           "question \"%.60s\" (id %.60s) is both a few-shot example and a question", e->question,
                           e->id);
    }
    strings_release(&keys);
    strings_release(&text);
    return rc;
}

static int check_pool(const struct yes_no *y, struct error *err)
{
    int of[2] = { 0 }, wanted = (int)(y->q->shots + 1) / 2;

    for (int i = 0; i < y->pool->n; i++)
        of[y->pool->items[i].ambiguous] += y->pool->items[i].slice != EXAMPLE_HARD_NEGATIVE;
    if (of[0] < wanted || of[1] < wanted)
        return error_set(err, EXIT_CODE_DATA,
                         "--shots %lld: expected %d questions of each label to show, got %d and %d",
                         (long long)y->q->shots, wanted, of[1], of[0]);
    return check_apart(y, err);
}

/* Chooses examples by the seed and the question's id alone, with both labels mixed. */
static void choose_shots(const struct yes_no *y, const char *id, int *order, const struct example **shots)
{
    struct rng rng = { .seed = hash_bytes(hash_bytes(HASH_START, &y->q->seed, sizeof y->q->seed), id, strlen(id)) };
    int64_t left[2] = { y->q->shots / 2, y->q->shots - y->q->shots / 2 };
    int n = 0;

    for (int i = 0; i < y->pool->n; i++)
        order[i] = i;
    rng_shuffle(&rng, order, y->pool->n, sizeof *order);
    for (int i = 0; i < y->pool->n && n < y->q->shots; i++) {
        const struct example *e = &y->pool->items[order[i]];
        if (e->slice != EXAMPLE_HARD_NEGATIVE && left[e->ambiguous]-- > 0)
            shots[n++] = e;
    }
}

static json_t *published_json(const struct example *e)
{
    return json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "id", e->id, "messages", "role", "system", "content",
                     published_task, "role", "user", "content", e->question);
}

static json_t *schema_json(const struct yes_no *y, const struct example *e, int *order, const struct example **shots)
{
    choose_shots(y, e->id, order, shots);
    char *text = schema_prompt(&y->data.schemas, shots, (int)y->q->shots, y->shown, e);
    json_t *o = json_pack("{s:s, s:[{s:s, s:s}]}", "id", e->id, "messages", "role", "user", "content", text);

    free(text);
    return o;
}

/* {"id", "messages"} of question i; a new reference. */
static json_t *prompt_of(const struct yes_no *y, int i)
{
    const char *form = y->q->write ? y->q->write : y->q->prompt;
    int *order = xmalloc((size_t)y->pool->n * sizeof *order + 1);
    const struct example **shots = xcalloc((size_t)y->q->shots + 1, sizeof *shots);
    bool published = form && strcmp(form, "published") == 0;
    json_t *o = published ? published_json(&y->asked->items[i]) : schema_json(y, &y->asked->items[i], order, shots);

    free(order);
    free(shots);
    return o;
}

static int write_prompts(struct yes_no *y, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < y->asked->n; i++) {
        json_t *o = prompt_of(y, i);
        rc = json_write_line(&y->out, o, err);
        json_decref(o);
    }
    return rc;
}

/* Counts a completion.  tokens has its log-probabilities, or is NULL. */
static void count_answer(struct yes_no_tally *t, const char *text, const struct endpoint_text *tokens)
{
    ptrdiff_t from;
    int said = read_answer(text, &from);
    double logp =
        tokens && from >= 0 ? endpoint_text_logp(tokens, (size_t)from, (size_t)from + (said > 0 ? 3 : 2)) : NAN;
    double p = isnan(logp) ? 1 : exp(logp);

    t->read += said >= 0;
    t->yes += said > 0 ? p : said == 0 ? 1 - p : 0;
    if (said < 0 && !t->unread)
        t->unread = xstrdup(text);
}

static int take_answer(struct yes_no_tally *t, const json_t *answer, const char *where, struct error *err)
{
    const json_t *text = json_is_object(answer) ? json_object_get(answer, "text") : answer;

    if (!json_is_string(text))
        return error_set(err, EXIT_CODE_DATA, "%s: expected \"text\" or \"texts\", what was answered", where);
    count_answer(t, json_string_value(text), NULL);
    return 0;
}

/* A record_fn. */
static int take_record(void *user, json_t *record, const char *where, struct error *err)
{
    const json_t *texts = json_object_get(record, "texts"), *text;
    struct yes_no *y = user;
    char number[RECORD_ID_TEXT];
    const char *id = record_id_text(record, number);
    int i = strings_find(&y->ids, id), rc = 0;
    size_t k;

    if (json_object_get(record, "error"))
        return 0;
    if (i < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected the id of a question, got \"%.100s\"", where,
                         id);
    if (!json_is_array(texts))
        return take_answer(&y->tally[i], record, where, err);
    json_array_foreach(texts, k, text)
    {
        if (rc == 0)
            rc = take_answer(&y->tally[i], text, where, err);
    }
    return rc;
}

static json_t *unread_json(const char *id, const struct yes_no_tally *t)
{
    const char *why = t->error    ? t->error
                      : t->unread ? output_lacks(t->unread, "yes or no as its first word")
                                  : "no answer to its prompt";
    json_t *o = json_pack("{s:s, s:o}", "id", id, "error", json_message(why));

    if (t->unread)
        json_object_set_new(o, "completion", json_message(t->unread));
    return o;
}

static void take_prompt(struct yes_no_tally *t, struct endpoint_prompt *p)
{
    if (p->error)
        t->error = xstrdup(p->error);
    for (int i = 0; i < p->n; i++)
        count_answer(t, p->texts[i].text, &p->texts[i]);
}

/* Asks the server about questions [from, to), or counts the requests. */
static int ask_some(struct yes_no *y, struct endpoint *server, int from, int to, struct error *err)
{
    const struct endpoint_sampling set = { .samples = (int)y->q->samples,
                                           .max_new = ANSWER_TOKENS,
                                           .temperature = y->q->samples > 1,
                                           .top_p = 1,
                                           .typical_p = 1,
                                           .logprobs = true };
    struct endpoint_prompt *list = xcalloc((size_t)(to - from), sizeof *list);
    int rc = 0;

    for (int i = from; i < to; i++) {
        list[i - from].record = prompt_of(y, i);
        if (y->q->dry)
            endpoint_estimate(server, &set, &list[i - from]);
    }
    if (!y->q->dry)
        rc = endpoint_ask(server, &set, list, to - from, false, err);
    for (int i = from; i < to; i++) {
        if (rc == 0)
            take_prompt(&y->tally[i], &list[i - from]);
        json_decref((json_t *)(uintptr_t)list[i - from].record);
        endpoint_prompt_release(&list[i - from]);
    }
    free(list);
    return rc > 0 ? error_set(err, stop_exit_code(), "interrupted") : rc;
}

static int ask_server(struct yes_no *y, struct error *err)
{
    struct endpoint *server = endpoint_open(&y->q->server, err);
    int rc = server ? 0 : -1;

    for (int i = 0; i < y->asked->n && rc == 0; i += ASK_WINDOW)
        rc = ask_some(y, server, i, i + ASK_WINDOW < y->asked->n ? i + ASK_WINDOW : y->asked->n, err);
    if (server)
        endpoint_log(server);
    endpoint_close(server);
    return rc;
}

static int write_scores(struct yes_no *y, struct yes_no_counts *counts, struct error *err)
{
    bool asks = y->q->server.url;
    int rc = asks ? ask_server(y, err) : records_each_as_is(y->q->answers, RECORDS_AUTO, take_record, y, err);

    if (y->q->dry)
        return rc;
    for (int i = 0; rc == 0 && i < y->asked->n; i++) {
        const struct yes_no_tally *t = &y->tally[i];
        const char *id = y->asked->items[i].id;
        counts->unread += !t->read;
        json_t *o = t->read ? json_pack("{s:s, s:f}", "id", id, "score", t->yes / t->read) : unread_json(id, t);
        rc = json_write_line(&y->out, o, err);
        json_decref(o);
    }
    return rc;
}

static int run(struct yes_no *y, struct yes_no_counts *counts, struct error *err)
{
    if (read_data(y, err) || number_ids(y, err) || (y->q->shots && check_pool(y, err)))
        return -1;
    y->tally = xcalloc((size_t)y->asked->n, sizeof *y->tally);
    counts->questions = y->asked->n;
    if (!y->q->dry && out_file_open(&y->out, y->q->out, err))
        return -1;
    int rc = y->q->write ? write_prompts(y, err) : write_scores(y, counts, err);
    return rc ? -1 : y->q->dry ? 0 : out_file_commit(&y->out, err);
}

int yes_no_run(const struct yes_no_request *q, struct yes_no_counts *counts, struct error *err)
{
    struct yes_no y = { .q = q };

    *counts = (struct yes_no_counts){ 0 };
    if (q->server.url)
        stop_install();
    int rc = run(&y, counts, err);
    out_file_abort(&y.out);
    for (int i = 0; y.tally && i < y.asked->n; i++) {
        free(y.tally[i].unread);
        free(y.tally[i].error);
    }
    free(y.tally);
    strings_release(&y.ids);
    dataset_release(&y.data);
    dataset_release(&y.support);
    return rc;
}
