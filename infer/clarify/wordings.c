#include "infer/clarify/wordings.h"

#include "data/base/log.h"
#include "data/base/records.h"
#include "data/prompt/loose_json.h"
#include "data/prompt/model_output.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTION_BYTES = 500, OBJECTS_MAX = 16 };

static const char task[] =
    "A program asks a person what a question to a database means. Write its clarifying question again, in plain and "
    "friendly English. Keep its meaning, and mention no option in it. Do not change, add, drop or reorder the "
    "options.\n\n";
static const char form[] =
    "\nAnswer with one JSON object, {\"question\": \"...\", \"options\": [\"...\", \"...\"]}. Repeat the options exactly "
    "as they stand above.";

int wordings_open(struct wordings *w, const char *path, const struct wording_model *model, struct error *err)
{
    *w = (struct wordings){ .path = path, .memo = { .model = *model } };
    return path ? query_answers_open(&w->answers, path, err) : 0;
}

struct wordings *wordings_or_none(struct wordings *w)
{
    return w->path || w->memo.model.complete ? w : NULL;
}

struct model_memo *wordings_judge(struct wordings *w)
{
    return w->memo.model.complete ? &w->memo : NULL;
}

void wordings_close(struct wordings *w)
{
    query_answers_release(&w->answers);
    strings_release(&w->ids);
    model_memo_release(&w->memo);
    *w = (struct wordings){ 0 };
}

/* A question as the template words it. */
struct worded_question {
    int attribute, n; /* n: number of options without "something else" */
    struct question words;
    char *id; /* of its prompt: the record's id and the attribute's name */
};

static int check_id(struct wordings *w, const char *id, struct error *err)
{
    int before = w->ids.n;

    return strings_add(&w->ids, id) == before
               ? 0
               : error_set(err, EXIT_CODE_DATA, "the id %.100s came before: wordings are told apart by it", id);
}

/* Collects the questions of the case; the caller frees the list and its ids. */
static struct worded_question *questions_of(struct clarify_case *c, const char *id, int *n)
{
    struct worded_question *list = xcalloc((size_t)c->attributes.n + 1, sizeof *list);
    struct question_view view;

    *n = 0;
    for (int v = 0; v < c->attributes.n; v++) {
        if (!dialogue_view(&c->dialogue, v, &view))
            continue;
        struct worded_question *q = &list[(*n)++];
        q->attribute = v;
        clarify_question_write(&q->words, c, &view);
        q->n = q->words.n - view.other;
        CHECK(asprintf(&q->id, "%s/%s", id, c->attributes.list[v].name) >= 0, "no memory for an id");
    }
    return list;
}

static void release(struct worded_question *list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i].id);
    free(list);
}

/* {"id", "messages"}, a new reference. */
static json_t *prompt_of(const struct worded_question *q, const char *asked)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a prompt");
    fprintf(f, "%sThe person's question: %s\nThe clarifying question: %s\nOptions:\n", task, asked, q->words.text);
    for (int i = 0; i < q->n; i++)
        fprintf(f, "%d. %s\n", i + 1, q->words.names[i]);
    fputs(form, f);
    CHECK(fclose(f) == 0, "no memory for a prompt");
    json_t *o = model_memo_prompt(q->id, text);
    free(text);
    return o;
}

static const char *question_text(const json_t *record)
{
    const char *text = json_string_value(json_object_get(record, "question"));
    return text ? text : "";
}

int wordings_prompts(struct wordings *w, struct clarify_case *c, const json_t *record, struct out_file *out,
                     struct error *err)
{
    char number[RECORD_ID_TEXT];
    const char *id = record_id_text(record, number);
    int n, rc = 0;

    if (check_id(w, id, err))
        return -1;
    struct worded_question *list = questions_of(c, id, &n);
    for (int i = 0; i < n && rc == 0; i++) {
        json_t *prompt = prompt_of(&list[i], question_text(record));
        rc = json_write_line(out, prompt, err);
        json_decref(prompt);
    }
    release(list, n);
    return rc;
}

/* Whether the texts are equal, apart from the number of blanks. */
static bool same_words(const char *a, const char *b)
{
    for (;;) {
        size_t blanks[2] = { strspn(a, " \t\r\n"), strspn(b, " \t\r\n") };
        a += blanks[0];
        b += blanks[1];
        if (!*a || !*b)
            return !*a && !*b;
        if (*a++ != *b++)
            return false;
        if (*a && *b && !isspace((unsigned char)*a) != !isspace((unsigned char)*b))
            return false;
    }
}

static int check_options(const json_t *given, const char *const *options, int n, struct error *err)
{
    if ((int)json_array_size(given) != n)
        return error_set(err, EXIT_CODE_DATA, "options: expected %d, got %d", n, (int)json_array_size(given));
    for (int i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(given, (size_t)i));
        if (!text || !same_words(text, options[i]))
            return error_set(err, EXIT_CODE_DATA, "options[%d]: expected \"%.100s\", got \"%.100s\"", i, options[i],
                             text ? text : "no text");
    }
    return 0;
}

static int check_question(const char *text, struct error *err)
{
    size_t n = strlen(text);

    if (strspn(text, " \t\r\n") == n)
        return error_set(err, EXIT_CODE_DATA, "question: expected words, got none");
    if (n > QUESTION_BYTES)
        return error_set(err, EXIT_CODE_DATA, "question: expected at most %d bytes, got %zu", QUESTION_BYTES, n);
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            return error_set(err, EXIT_CODE_DATA, "question: expected one line without control characters");
    return 0;
}

/* The first object of a completion with "question", a new reference; or NULL. */
static json_t *object_of(const char *answer)
{
    struct statement_reader r;
    json_t *found = NULL;
    size_t used;

    statement_reader_init(&r, answer);
    for (int i = 0; i < OBJECTS_MAX && !found && (answer = strchr(answer, '{')); i++, answer++) {
        found = loose_json(passage_of(answer), &r, &used);
        if (!json_is_string(json_object_get(found, "question"))) {
            json_decref(found);
            found = NULL;
        }
    }
    statement_reader_release(&r);
    return found;
}

char *wording_read(const char *completion, const char *const *options, int n, struct error *err)
{
    char *answer = output_answer(completion), *text = NULL;
    json_t *o = object_of(answer);
    const char *question = json_string_value(json_object_get(o, "question"));

    if (!o)
        error_set(err, EXIT_CODE_DATA, "expected an object with \"question\" and \"options\"");
    else if (check_question(question, err) == 0 && check_options(json_object_get(o, "options"), options, n, err) == 0)
        text = xstrdup(question);
    json_decref(o);
    free(answer);
    return text;
}

/* Reads the completion of a question, which may be NULL. */
static void take(struct wordings *w, struct clarify_case *c, const struct worded_question *q, const char *completion)
{
    struct question_wording *to = &c->wordings[q->attribute];
    struct error why = { 0 };

    if (!completion) {
        w->missing++;
        return;
    }
    char *text = wording_read(completion, q->words.names, q->n, &why);
    if (!text) {
        w->rejected++;
        json_array_append_new(c->wordings_rejected,
                              json_pack("{s:s, s:o}", "attribute", c->attributes.list[q->attribute].name, "error",
                                        json_message(why.text)));
        return;
    }
    w->used++;
    to->text = strings_keep(&c->words, text);
    for (to->n = 0; to->n < q->n; to->n++)
        to->options[to->n] = q->words.names[to->n];
    free(text);
}

/* The completion of a prompt in the file, or NULL. */
static const char *find(struct wordings *w, const struct worded_question *q)
{
    json_t *key = json_pack("{s:s}", "id", q->id);
    const struct text_items *texts = query_answers_find(&w->answers, key);

    json_decref(key);
    w->read += texts != NULL;
    return texts && texts->n ? texts->items[0] : NULL;
}

/* Asks the model about the questions whose completions are not known. */
static int ask_model(struct wordings *w, struct clarify_case *c, const json_t *record,
                     const struct worded_question *list, int n, struct error *err)
{
    json_t **prompts = xcalloc((size_t)n + 1, sizeof *prompts);

    for (int i = 0; i < n; i++)
        prompts[i] = prompt_of(&list[i], question_text(record));
    int rc = model_memo_complete(&w->memo, prompts, n, "the questions keep the words of the template", err);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            take(w, c, &list[i], model_memo_find(&w->memo, prompts[i]));
        json_decref(prompts[i]);
    }
    free(prompts);
    return rc;
}

int wordings_apply(struct wordings *w, struct clarify_case *c, const json_t *record, struct error *err)
{
    char number[RECORD_ID_TEXT];
    const char *id = record_id_text(record, number);
    int n, rc = 0;

    struct worded_question *list = questions_of(c, id, &n);
    c->wordings = xcalloc((size_t)c->attributes.n + 1, sizeof *c->wordings);
    if (w->memo.model.complete)
        rc = ask_model(w, c, record, list, n, err);
    for (int i = 0; i < n && !w->memo.model.complete; i++)
        take(w, c, &list[i], find(w, &list[i]));
    release(list, n);
    return rc;
}

void wordings_use(struct question *q, const struct clarify_case *c, const struct question_view *view)
{
    const struct question_wording *w = c->wordings ? &c->wordings[view->attribute] : NULL;
    int known = 0, n = q->n - view->other;

    for (int i = 0; w && i < n; i++)
        for (int k = 0; k < w->n; k++)
            known += strcmp(q->names[i], w->options[k]) == 0;
    if (w && w->text && known == n)
        q->text = w->text;
}

void wordings_tell(const struct wordings *w)
{
    if (!w->path && !w->memo.model.complete)
        return;
    log_info("%lld questions in the words of a language model, %lld of the template: %lld completions rejected, %lld "
             "missing",
             (long long)w->used, (long long)(w->rejected + w->missing), (long long)w->rejected, (long long)w->missing);
    if (w->path && w->read < w->answers.ids.n)
        log_warn("%s: %lld completions belong to no question", w->path, (long long)(w->answers.ids.n - w->read));
}
