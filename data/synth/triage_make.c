#include "data/synth/triage_make.h"

#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/corpora/dataset.h"
#include "data/schema/schema_build.h"
#include "data/span/span_record.h"
#include "data/span/tag_source.h"
#include "data/synth/wordnet/wordnet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Templates.  {n} and {m} are nouns, {x} is a column with its table, {t} a table, {c} a column. */

static const char *const thanks[] = {
    "thanks",
    "thank you",
    "thanks a lot",
    "thank you very much",
    "thank you so much",
    "many thanks",
    "thanks for your help",
    "cheers",
    "thx",
    "thanks again",
};
static const char *const replies[] = {
    "ok",
    "okay",
    "great",
    "good",
    "nice",
    "perfect",
    "awesome",
    "cool",
    "got it",
    "i see",
    "sounds good",
    "that is great",
    "excellent",
    "wonderful",
    "good job",
    "well done",
    "fine",
    "alright",
    "that is all",
    "that is all i need",
    "no more questions",
    "no",
    "yes",
    "sure",
    "never mind",
};
static const char *const hellos[] = {
    "hi",       "hello",       "hey",       "good morning", "good evening",
    "hi there", "hello there", "hey there", "greetings",    "good afternoon",
};
static const char *const goodbyes[] = {
    "bye",
    "goodbye",
    "see you",
    "see you later",
    "have a nice day",
    "have a good day",
    "have a great day",
    "take care",
    "good night",
    "talk to you later",
    "you too",
};
static const char *const personal[] = {
    "how are you",          "how are you doing",    "who are you",          "what is your name", "are you a robot",
    "how old are you",      "where do you live",    "do you like your job", "can you help me",   "what can you do",
    "tell me a joke",       "sing me a song",       "are you human",        "who made you",      "do you sleep",
    "what are you doing",   "can you speak french", "i like you",           "you are funny",     "you are wrong",
    "you are very helpful", "are you there",        "do you have feelings", "do you know me",    "what do you think",
};
static const char *const chat[] = {
    "i love {n}",
    "do you like {n}",
    "i have never heard of {n}",
    "my brother loves {n}",
    "did you know that {n} is older than {m}",
    "i think {n} is better than {m}",
    "i went to see {n} yesterday",
    "have you ever tried {n}",
    "that reminds me of {n}",
    "i prefer {n} to {m}",
    "my favourite thing is {n}",
    "i am tired of {n}",
    "yes, {n} is great, i watch it all the time",
    "i do not know much about {n}",
    "it is a nice day for {n}",
    "we talked about {n} at lunch",
    "have you read about {n}",
    "i wish i had {n}",
    "it depends on {n}, i guess",
    "ha ha, {n} sounds like fun",
    "why did he leave",
    "what happened next",
    "did they ever find out",
    "who told her",
    "what did he say",
    "was she happy about it",
    "when did this happen",
    "where was he going",
    "i grew up with {n}",
    "they say {n} is coming back",
    "lol, not a fan of {n} either",
    "same here, {n} is not for me",
    "what do you think of {n}",
};
static const char *const general[] = {
    "what is {n}",
    "what does {n} mean",
    "define {n}",
    "meaning of {n}",
    "how to make {n}",
    "how to fix {n}",
    "how do i clean {n}",
    "how does {n} work",
    "why is {n} important",
    "what causes {n}",
    "history of {n}",
    "who invented {n}",
    "is {n} good for you",
    "difference between {n} and {m}",
    "how long does {n} last",
    "best way to learn {n}",
    "where can i buy {n}",
    "{n} recipe",
    "pictures of {n}",
    "symptoms of {n}",
    "when did {n} begin",
    "what are the benefits of {n}",
    "how to get rid of {n}",
    "can you eat {n}",
    "cost of {n}",
    "what is the difference between {n} and {m}",
    "how do you spell {n}",
    "why do people like {n}",
    "what is the weather today",
    "what time is it",
    "what is the capital of france",
    "who won the game last night",
    "why is the sky blue",
    "who is the president",
    "when is easter",
    "play some music",
    "set an alarm for seven",
    "turn off the lights",
    "call my mother",
    "what should i eat tonight",
    "translate {n} into spanish",
};
static const char *const beyond[] = {
    "draw a pie chart of {x}",
    "plot {x} as a bar chart",
    "predict {x} for next year",
    "forecast {x}",
    "send {x} to my manager by email",
    "translate {x} into French",
    "export {x} as a spreadsheet",
    "delete {x}",
    "update {x}",
    "explain why {x} is low",
    "recommend the best {t}",
    "write a report about {x}",
    "show {x} on a map",
    "remind me to check {x}",
    "order a new {t}",
    "book a {t} for tomorrow",
    "call the {t}",
    "cancel the {t}",
    "fit a regression model to {x}",
    "cluster the {t}s by {x}",
    "summarise the news about the {t}",
    "upload {x}",
    "print {x}",
    "find a picture of the {t}",
    "schedule a meeting about {x}",
    "apply a neural network to {x}",
    "arrange a visit for the {t}",
    "build a dashboard for {x}",
    "what will {x} be next year",
    "which {t} will be the most successful in five years",
    "why does the {t} have this {x}",
    "what is the reason for {x}",
    "is it a good idea to change {x}",
    "should we increase {x}",
    "how can we improve {x}",
    "what do people think about the {t}",
    "who is to blame for {x}",
    "what does {x} mean",
    "what is the best way to raise {x}",
    "which {t} is the nicest",
    "what is the favourite colour of the {t}",
    "what is the phone number of the mother of the {t}",
    "what is the twitter account of each {t}",
    "what does the {t} eat for breakfast",
    "how does the {t} feel about {x}",
    "did the {t} like it",
    "what are the side effects of {x}",
    "what is the market outlook for the {t}",
    "what is the shoe size of the {t}",
    "how is the weather at the {t}",
    "who designed the logo of the {t}",
    "what is the blood type of the owner of the {t}",
    "what music does the {t} like",
};

/* First questions of dialogues, and questions that follow them. {c} is a column. */
static const char *const openings_of_dialogues[] = {
    "how many {t}s are there?",     "show all {t}s.",
    "what is the {c} of each {t}?", "list the {c} of all {t}s.",
    "which {t}s are there?",        "how many different {c} values are there?",
    "give me the {c} of the {t}.",  "find the {t} with the highest {c}.",
};
static const char *const following[] = {
    "what about {c}",
    "what about their {c}",
    "and the {c}",
    "and their {c}",
    "sort them by {c}",
    "list them by {c} in descending order",
    "which of them has the highest {c}",
    "which one has the lowest {c}",
    "can you also list the {c}",
    "show me their {c} too",
    "what is the {c} of each of them",
    "only those with a {c}",
    "group them by {c}",
    "what is the {c} of the first one",
    "please add the {c}",
};
static const char *const following_alone[] = {
    "how many are there",
    "how many of them are there",
    "who are they",
    "which ones are they",
    "show me the first five",
    "in descending order",
    "and in total",
    "only the first three of them",
    "please remove duplicates",
    "what is the average",
    "list all of them",
    "how many in total",
    "show the others too",
    "which one is it",
    "sort them the other way round",
};

#define DRAW(rng, list) ((list)[rng_below(rng, ARRAY_LEN(list))])

struct template_slots {
    const char *n, *m, *x, *t, *c;
};

/* Replaces the slots of a template, writes a capital at random, and ends with a mark or none. */
static char *fill(const char *template, const struct template_slots *s, bool capital, const char *end)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a question");
    for (const char *p = template; *p; p++) {
        if (*p != '{') {
            fputc(*p, f);
            continue;
        }
        fputs(p[1] == 'n' ? s->n : p[1] == 'm' ? s->m : p[1] == 'x' ? s->x : p[1] == 'c' ? s->c : s->t, f);
        p += 2;
    }
    fputs(end, f);
    fclose(f);
    if (capital)
        text[0] = (char)toupper((unsigned char)text[0]);
    return text;
}

/* A noun without underscores. */
static char *draw_noun(struct rng *rng)
{
    char *noun = xstrdup(wordnet_nouns[rng_below(rng, (uint32_t)wordnet_n_nouns)].noun);

    for (char *p = noun; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    return noun;
}

/* A polite remark of one or two parts; the caller frees it. */
static char *draw_remark(struct rng *rng)
{
    static const char *const joints[] = { ", ", ". ", "! ", " " };
    const char *first = NULL, *second = NULL;
    char *text;

    switch (rng_below(rng, 6)) {
    case 0:
        first = DRAW(rng, thanks);
        break;
    case 1:
        first = DRAW(rng, replies);
        second = rng_below(rng, 2) ? DRAW(rng, thanks) : DRAW(rng, goodbyes);
        break;
    case 2:
        first = DRAW(rng, replies);
        break;
    case 3:
        first = DRAW(rng, hellos);
        second = rng_below(rng, 2) ? DRAW(rng, personal) : NULL;
        break;
    case 4:
        first = rng_below(rng, 2) ? DRAW(rng, goodbyes) : DRAW(rng, thanks);
        second = rng_below(rng, 2) ? DRAW(rng, goodbyes) : NULL;
        break;
    default:
        first = DRAW(rng, personal);
    }
    CHECK(asprintf(&text, "%s%s%s", first, second ? DRAW(rng, joints) : "", second ? second : "") >= 0,
          "no memory for a remark");
    return text;
}

char *triage_small_talk(struct rng *rng)
{
    static const char *const ends[] = { "", "", ".", "!", "?" }, *const question_ends[] = { "", "?", "?", "." };
    char *n = draw_noun(rng), *m = draw_noun(rng), *remark = NULL;
    const struct template_slots slots = { .n = n, .m = m };
    const char *template, *end;

    if (rng_below(rng, 2)) {
        template = remark = draw_remark(rng);
        end = DRAW(rng, ends);
    } else {
        template = rng_below(rng, 2) ? DRAW(rng, chat) : DRAW(rng, general);
        end = DRAW(rng, question_ends);
    }
    char *text = fill(template, &slots, rng_below(rng, 2), end);
    free(n);
    free(m);
    free(remark);
    return text;
}

/* The name in small letters with blanks. */
static char *plain(const char *name)
{
    char *text = xstrdup(name);

    for (char *p = text; *p; p++)
        *p = *p == '_' ? ' ' : (char)tolower((unsigned char)*p);
    return text;
}

char *triage_request_beyond(struct rng *rng, const char *table, const char *column)
{
    static const char *const tails[] = { " of the %", " of each %", "", " of all %s" }, *const ends[] = { "?", ".", "?",
                                                                                                          "" };
    static const char *const openings[] = { "", "", "please ", "can you " };
    char *t = plain(table), *c = plain(column), *x, *request, *text;
    const char *tail = DRAW(rng, tails), *slot = strchr(tail, '%');
    int before = slot ? (int)(slot - tail) : 0;

    CHECK(asprintf(&x, "the %s%.*s%s%s", c, before, tail, slot ? t : "", slot ? slot + 1 : "") >= 0,
          "no memory for a request");
    CHECK(asprintf(&request, "%s%s", DRAW(rng, openings), DRAW(rng, beyond)) >= 0, "no memory for a request");
    text = fill(request, &(struct template_slots){ .x = x, .t = t }, true, DRAW(rng, ends));
    free(request);
    free(x);
    free(c);
    free(t);
    return text;
}

/* Sources in parts of a thousand of all questions. */
enum make_source {
    MAKE_ANSWERABLE,
    MAKE_AMBIGUOUS,
    MAKE_UNANSWERABLE,
    MAKE_ELSEWHERE,
    MAKE_NATURAL,
    MAKE_NATURAL_CLEAR,
    MAKE_BEYOND,
    MAKE_FOLLOWING,
    MAKE_FOLLOWING_ELSEWHERE,
    MAKE_TALK,
    MAKE_SOURCES
};
static const int per_mille[MAKE_SOURCES] = { 235, 160, 165, 65, 70, 70, 60, 45, 20, 110 };

struct triage_maker {
    const struct triage_make_request *q;
    struct triage_counts *counts;
    struct rng rng;
    struct span_record_list spans;
    struct dataset natural;
    struct schema_set schemas;
    struct strings contents; /* schemas of records as JSON; contents.items[i] made schema names.items[i] */
    struct strings names;
    struct out_file out;
    int64_t written;
};

static const char *table_of(const struct span_column *c)
{
    return c->table ? c->table : "table";
}

/* Percentage of the schemas with abbreviated names, which real databases have. */
enum { SHORT_PERCENT = 30, SHORT_WORD = 5 /* letters of the shortest word that is abbreviated */ };

/* Writes the word [n] as its first letters, or without vowels after the first letter. */
static void write_short(FILE *f, struct rng *rng, const char *word, int n)
{
    bool begins = rng_below(rng, 2);
    int kept = begins ? 3 + (int)rng_below(rng, 2) : n;

    for (int i = 0; i < n && i < kept; i++)
        if (begins || i == 0 || !strchr("aeiouAEIOU", word[i]))
            fputc(word[i], f);
}

/* The name with about two thirds of its long words abbreviated, joined by a mark or nothing; the caller frees it. */
static char *short_name(struct rng *rng, const char *name)
{
    static const char *const joints[] = { "_", " ", "" };
    const char *joint = DRAW(rng, joints);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a name");
    for (const char *p = name; *p;) {
        int n = (int)strcspn(p, " _");
        if (n >= SHORT_WORD && rng_below(rng, 3))
            write_short(f, rng, p, n);
        else
            fwrite(p, 1, (size_t)n, f);
        p += n;
        if (*p) {
            fputs(joint, f);
            p++;
        }
    }
    fclose(f);
    return text;
}

/* The name in a schema; the caller frees it. */
static char *name_of(struct triage_maker *t, const char *name, bool shortened)
{
    return shortened ? short_name(&t->rng, name) : xstrdup(name);
}

static int add_schema(struct triage_maker *t, const struct span_record *r, const char *db_id, struct error *err)
{
    bool shortened = rng_below(&t->rng, 100) < SHORT_PERCENT;
    struct strings tables = { 0 };
    struct schema_build b;
    struct schema s;

    schema_build_init(&b, db_id);
    for (int i = 0; i < r->n_columns; i++) {
        int n = tables.n, table = strings_add(&tables, table_of(&r->columns[i]));
        char *column = name_of(t, r->columns[i].name, shortened);
        if (table == n) {
            char *name = name_of(t, table_of(&r->columns[i]), shortened);
            schema_build_table(&b, name, NULL);
            free(name);
        }
        schema_build_column(&b, table, column, NULL, r->columns[i].type);
        free(column);
    }
    schema_build_finish(&b, &s);
    schema_build_release(&b);
    strings_release(&tables);
    return schema_set_add(&t->schemas, &s, err);
}

/* The db_id of a record's columns, which become a schema if they are new.  NULL with err. */
static const char *schema_of(struct triage_maker *t, const struct span_record *r, struct error *err)
{
    json_t *list = json_array();
    char name[40];

    for (int i = 0; i < r->n_columns; i++)
        json_array_append_new(
            list, json_pack("[s, s, i]", table_of(&r->columns[i]), r->columns[i].name, (int)r->columns[i].type));
    char *text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    int n = t->contents.n, at = strings_add(&t->contents, text);
    free(text);
    snprintf(name, sizeof name, "spans_%d", at + 1);
    if (at == n) {
        strings_add(&t->names, name);
        if (add_schema(t, r, name, err))
            return NULL;
    }
    return t->names.items[at];
}

/* The first words of the name with blanks, in small letters; "thing" without a name. */
static char *slot_of(const char *name)
{
    return plain(name && *name ? name : "thing");
}

/* An earlier question about a table and a column of the record; the caller frees it. */
static char *draw_opening(struct rng *rng, const struct span_record *r)
{
    const struct span_column *c = r->n_columns ? &r->columns[rng_below(rng, (uint32_t)r->n_columns)] : NULL;
    char *table = slot_of(c ? c->table : NULL), *column = slot_of(c ? c->name : NULL);
    char *text = fill(DRAW(rng, openings_of_dialogues), &(struct template_slots){ .t = table, .c = column }, true, "");

    free(table);
    free(column);
    return text;
}

/* The stored values of the record's columns in the question. */
static json_t *values_json(const struct span_record *r, const char *question)
{
    struct tag_source source;
    struct tag_matches matches;
    json_t *list = json_array();

    tag_source_of(&source, r->columns, r->n_columns);
    struct tag_question q = tag_source_ask(&source, question, &matches);
    for (int i = 0; i < q.n_values; i++)
        json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:i}", "column", q.values[i].column, "text",
                                              q.values[i].text, "start", q.values[i].start, "end", q.values[i].end));
    tag_matches_release(&matches);
    tag_source_close(&source);
    return list;
}

/* Percentage of the questions with an earlier one. */
enum { CONTEXT_PERCENT = 40 };

struct made_question {
    const char *db_id, *origin;
    char *text; /* owned */
    enum triage_class class;
    const struct span_record *on; /* the record whose columns and values the schema has; NULL: values are unknown */
    bool by_values;               /* the class depends on the stored values */
    bool follows;                 /* the question has an earlier one in any case */
};

/* Writes a question and frees its text. */
static int write_question(struct triage_maker *t, const struct made_question *q, struct error *err)
{
    json_t *o =
        json_pack("{s:I, s:s, s:s, s:s, s:s, s:s}", "id", (json_int_t)++t->written, "db_id", q->db_id, "question",
                  q->text, "class", triage_class_name(q->class), "source", "made", "source_class", q->origin);

    if (q->on && (q->follows || rng_below(&t->rng, 100) < CONTEXT_PERCENT)) {
        char *opening = draw_opening(&t->rng, q->on);
        json_object_set_new(o, "context", json_pack("[s]", opening));
        free(opening);
    }
    if (q->on)
        json_object_set_new(o, "values", values_json(q->on, q->text));
    if (q->by_values)
        json_object_set_new(o, "by_values", json_true());
    int rc = json_write_line(&t->out, o, err);
    t->counts->of_class[q->class]++;
    json_decref(o);
    free(q->text);
    return rc;
}

static enum triage_class class_of(const struct span_record *r)
{
    enum triage_class class = TRIAGE_ANSWERABLE;

    for (int i = 0; i < r->n_spans; i++) {
        if (r->spans[i].label == SPAN_UNK)
            return TRIAGE_UNANSWERABLE;
        if (r->spans[i].label == SPAN_AMB)
            class = TRIAGE_AMBIGUOUS;
    }
    return class;
}

static int64_t wanted(const struct triage_maker *t, enum make_source source)
{
    return t->q->questions * per_mille[source] / 1000;
}

/* Whether the edit concerns values alone. */
static bool is_of_values(const struct span_record *r)
{
    return strncmp(r->kind, "value-", strlen("value-")) == 0;
}

static int write_spans(struct triage_maker *t, const int *order, enum make_source source, enum triage_class class,
                       struct error *err)
{
    int64_t left = wanted(t, source);

    for (int i = 0; i < t->spans.n && left; i++) {
        const struct span_record *r = &t->spans.items[order[i]];
        if (class_of(r) != class)
            continue;
        const char *db_id = schema_of(t, r, err);
        if (!db_id)
            return -1;
        const struct made_question q = { .db_id = db_id,
                                         .origin = r->kind,
                                         .text = xstrdup(r->question),
                                         .class = class,
                                         .on = r,
                                         .by_values = class != TRIAGE_ANSWERABLE && is_of_values(r) };
        if (write_question(t, &q, err))
            return -1;
        left--;
    }
    return 0;
}

static bool same_database(const struct span_record *a, const struct span_record *b)
{
    return a->db_id && b->db_id && strcmp(a->db_id, b->db_id) == 0;
}

/* Answerable questions on the columns of another database. */
static int write_elsewhere(struct triage_maker *t, const int *order, struct error *err)
{
    int64_t left = wanted(t, MAKE_ELSEWHERE);

    for (int i = 0; i < t->spans.n && left; i++) {
        const struct span_record *r = &t->spans.items[order[i]],
                                 *other = &t->spans.items[rng_below(&t->rng, (uint32_t)t->spans.n)];
        if (class_of(r) != TRIAGE_ANSWERABLE || same_database(r, other))
            continue;
        const char *db_id = schema_of(t, other, err);
        if (!db_id)
            return -1;
        const struct made_question q = { .db_id = db_id,
                                         .origin = "another database",
                                         .text = xstrdup(r->question),
                                         .class = TRIAGE_UNANSWERABLE,
                                         .on = other };
        if (write_question(t, &q, err))
            return -1;
        left--;
    }
    return 0;
}

static const struct span_record *draw_record(struct triage_maker *t)
{
    return &t->spans.items[rng_below(&t->rng, (uint32_t)t->spans.n)];
}

static const struct span_column *draw_column(struct triage_maker *t, const struct span_record *r)
{
    return r->n_columns ? &r->columns[rng_below(&t->rng, (uint32_t)r->n_columns)] : NULL;
}

static bool has_column(const struct span_record *r, const struct span_column *c)
{
    for (int i = 0; i < r->n_columns; i++)
        if (strcasecmp(r->columns[i].name, c->name) == 0)
            return true;
    return false;
}

/* A question that follows another one about the record.  elsewhere: about a column that the record lacks; NULL if the
 * drawn column is not lacking. */
static char *draw_following(struct triage_maker *t, const struct span_record *r, bool elsewhere)
{
    static const char *const ends[] = { "?", ".", "" };
    const struct span_column *c = draw_column(t, elsewhere ? draw_record(t) : r);
    bool alone = !elsewhere && rng_below(&t->rng, 3) == 0;

    if (!c || (elsewhere && has_column(r, c)))
        return NULL;
    char *column = slot_of(c->name);
    char *text = fill(alone ? DRAW(&t->rng, following_alone) : DRAW(&t->rng, following),
                      &(struct template_slots){ .c = column }, rng_below(&t->rng, 2), DRAW(&t->rng, ends));
    free(column);
    return text;
}

/* Fills text, class and origin of a question of the source; the text is NULL where nothing fits the record. */
static void draw_template(struct triage_maker *t, struct made_question *q, enum make_source source)
{
    const struct span_column *c = draw_column(t, q->on);

    q->class = TRIAGE_UNANSWERABLE;
    switch (source) {
    case MAKE_TALK:
        q->class = TRIAGE_IMPROPER;
        q->origin = "small talk";
        q->text = triage_small_talk(&t->rng);
        return;
    case MAKE_FOLLOWING:
        q->class = TRIAGE_ANSWERABLE;
        q->origin = "following";
        q->follows = true;
        q->text = draw_following(t, q->on, false);
        return;
    case MAKE_FOLLOWING_ELSEWHERE:
        q->origin = "following, another database";
        q->follows = true;
        q->text = draw_following(t, q->on, true);
        return;
    default:
        q->origin = "beyond SQL";
        q->text = triage_request_beyond(&t->rng, c && c->table ? c->table : "player", c ? c->name : "age");
    }
}

static int write_templates(struct triage_maker *t, enum make_source source, struct error *err)
{
    for (int64_t left = wanted(t, source); left; left--) {
        struct made_question q = { .on = draw_record(t) };
        draw_template(t, &q, source);
        if (q.text && !(q.db_id = schema_of(t, q.on, err))) {
            free(q.text);
            return -1;
        }
        if (q.text && write_question(t, &q, err))
            return -1;
    }
    return 0;
}

static int write_natural(struct triage_maker *t, bool ambiguous, struct error *err)
{
    const struct example_list *list = &t->natural.splits[t->q->split];
    int64_t left = wanted(t, ambiguous ? MAKE_NATURAL : MAKE_NATURAL_CLEAR);
    int *order = xmalloc((size_t)(list->n + 1) * sizeof *order), rc = 0;

    for (int i = 0; i < list->n; i++)
        order[i] = i;
    rng_shuffle(&t->rng, order, list->n, sizeof *order);
    for (int i = 0; i < list->n && left && rc == 0; i++) {
        const struct example *e = &list->items[order[i]];
        if (e->ambiguous != ambiguous)
            continue;
        const struct schema *s = schema_find(&t->natural.schemas, e->db_id);
        struct schema copy;
        if (!schema_find(&t->schemas, e->db_id)) {
            schema_join(&copy, &s, 1);
            rc = schema_set_add(&t->schemas, &copy, err);
        }
        const struct made_question q = { .db_id = e->db_id,
                                         .origin = "natural",
                                         .text = xstrdup(e->question),
                                         .class = ambiguous ? TRIAGE_AMBIGUOUS : TRIAGE_ANSWERABLE };
        rc = rc ? rc : write_question(t, &q, err);
        left--;
    }
    free(order);
    return rc;
}

static int write_all(struct triage_maker *t, struct error *err)
{
    int *order = xmalloc((size_t)(t->spans.n + 1) * sizeof *order);

    for (int i = 0; i < t->spans.n; i++)
        order[i] = i;
    rng_shuffle(&t->rng, order, t->spans.n, sizeof *order);
    int rc = write_spans(t, order, MAKE_ANSWERABLE, TRIAGE_ANSWERABLE, err) ||
             write_spans(t, order, MAKE_AMBIGUOUS, TRIAGE_AMBIGUOUS, err) ||
             write_spans(t, order, MAKE_UNANSWERABLE, TRIAGE_UNANSWERABLE, err) || write_elsewhere(t, order, err) ||
             write_natural(t, true, err) || write_natural(t, false, err) || write_templates(t, MAKE_BEYOND, err) ||
             write_templates(t, MAKE_FOLLOWING, err) || write_templates(t, MAKE_FOLLOWING_ELSEWHERE, err) ||
             write_templates(t, MAKE_TALK, err);
    free(order);
    return rc ? -1 : 0;
}

static int write_tables(const struct triage_maker *t, const char *dir, struct error *err)
{
    char *path = path_in(dir, "tables.json");
    struct out_file o;
    int rc = out_file_open(&o, path, err);

    if (rc == 0)
        rc = dataset_write_schemas(&t->schemas, &o, err) || out_file_commit(&o, err) ? -1 : 0;
    out_file_abort(&o);
    free(path);
    return rc;
}

static int write_folder(struct triage_maker *t, const char *dir, struct error *err)
{
    char *path = path_in(dir, "questions.jsonl");
    int rc = out_file_open(&t->out, path, err);

    if (rc == 0)
        rc = write_all(t, err) || out_file_commit(&t->out, err) || write_tables(t, dir, err) ? -1 : 0;
    out_file_abort(&t->out);
    free(path);
    return rc;
}

int triage_make(const struct triage_make_request *q, struct triage_counts *n, struct error *err)
{
    struct triage_maker t = { .q = q, .counts = n, .rng = { .seed = q->seed } };
    struct out_folder folder = { 0 };
    int rc = span_records_read(&t.spans, q->spans, err) || (q->natural && dataset_read(&t.natural, q->natural, err));

    if (rc == 0 && !t.spans.n)
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected records with marked words, got none", q->spans);
    if (rc == 0)
        rc = out_folder_open(&folder, q->out, err) || write_folder(&t, folder.tmp, err) ||
             out_folder_commit(&folder, q->force, err);
    out_folder_abort(&folder);
    span_records_release(&t.spans);
    dataset_release(&t.natural);
    schema_set_close(&t.schemas);
    strings_release(&t.contents);
    strings_release(&t.names);
    return rc ? -1 : 0;
}
