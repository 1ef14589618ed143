#include "data/synth/triage_template.h"

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
static const char *const requests[] = {
    "draw a pie chart of {x}",
    "plot {x} as a bar chart",
    "predict {x} for next year",
    "forecast {x}",
    "send {x} to my manager by email",
    "translate {x} into French",
    "export {x} as a spreadsheet",
    "delete {x}",
    "update {x}",
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
    "make a slide about {x}",
    "rename {x}",
    "set {x} to zero",
    "add a new {t}",
    "warn me when {x} changes",
    "read {x} aloud",
    "share {x} with the team",
    "make a backup of {x}",
    "compare {x} with the figures on our website",
    "turn {x} into a short story",
};
static const char *const knowledge[] = {
    "explain why {x} is low",
    "recommend the best {t}",
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
    "how do other companies measure {x}",
    "is {x} normal for a {t}",
    "who decides about {x}",
    "how likely is it that {x} rises",
    "what would happen if {x} doubled",
};

/* Questions with a time {w}, and with an adjective {a}.  Both slots are filled with vague phrases, which make the
 * question ambiguous, or with exact ones.  {d} is a column of times, {q} one of numbers, {p} a table's plural. */
static const char *const times[] = {
    "show the {p} {w}",
    "list all {p} {w}",
    "how many {p} were there {w}",
    "what was the {c} of each {t} {w}",
    "give me the {p} with their {c} {w}",
    "count the {p} {w}",
    "which {t} had the highest {q} {w}",
    "find the {c} of all {p} {w}",
    "I need the {p} {w}",
    "are there any {p} {w}",
    "what was the total {q} {w}",
    "what are the {c} and the {d} of the {p} {w}",
    "which {p} were there {w}",
    "what was the average {q} of the {p} {w}",
    "return every {t} {w}",
    "how many different {c} values were there {w}",
    "{w}, which {p} did we have",
    "{w}, what was the lowest {q}",
    "can you list the {c} of the {p} {w}",
    "I would like to see all {p} {w}",
};
static const char *const vague_times[] = {
    "lately",
    "recently",
    "in recent times",
    "of late",
    "a while ago",
    "some time ago",
    "not long ago",
    "in the past",
    "this season",
    "last season",
    "since the last time",
    "these days",
    "in the early days",
    "in the past few weeks",
    "over the last few months",
    "in the busy months",
    "in the coming weeks",
    "soon",
    "nowadays",
    "until recently",
    "in former times",
    "for some time",
    "a long time ago",
    "late in the day",
    "around that time",
    "during the quiet period",
};
static const char *const exact_times[] = {
    "since {y}",
    "in {y}",
    "between {y} and {z}",
    "in March {y}",
    "before {y}",
    "after {y}",
    "in the last 30 days",
    "on 3 May {y}",
    "in the first quarter of {y}",
    "in the past two weeks",
    "from {y} to {z}",
    "until {y}",
    "today",
    "yesterday",
    "in the last six months",
    "in the year {y}",
    "with a {d} after {y}",
    "whose {d} is in {y}",
    "with the latest {d}",
    "with the earliest {d}",
    "on or after the first of June {y}",
    "3 years ago",
    "two days ago",
    "in the past 12 months",
    "late in December {y}",
    "in the early months of {y}, from January to March",
};
static const char *const adjectives[] = {
    "show the {a} {p}",
    "list the {a} {p} with their {c}",
    "how many {a} {p} are there",
    "what is the {c} of the {a} {p}",
    "find the {a} {p}",
    "give me all {a} {p}",
    "which {a} {p} do we have",
    "what are the {a} {p}",
    "count the {a} {p}",
    "what is the total {q} of the {a} {p}",
    "which {c} do the {a} {p} have",
    "can you show me the {a} {p}",
    "tell me about the {a} {p}",
    "I want the {c} of all {a} {p}",
    "name the {a} {p}",
    "are there any {a} {p}",
};
static const char *const vague_ages[] = {
    "recent",     "more recent", "recently added", "upcoming",      "early",  "late",
    "past",       "previous",    "not so old",     "newly created", "modern", "current",
    "latest few", "last few",    "somewhat older", "fresh",         "former", "next few",
};
static const char *const exact_ages[] = {
    "{y}",        "March {y}", "ten most recent", "five newest",  "three oldest", "two latest", "first ten",
    "last three", "pre-{y}",   "{y} and {z}",     "ten earliest", "one newest",   "last 20",    "next 3",
};

/* Vague and exact orders and filters.  {k} is a number. */
static const char *const vague_filters[] = {
    "top",     "best",     "best-selling",  "active",      "large",          "big",        "small",
    "popular", "cheap",    "expensive",     "important",   "most important", "successful", "typical",
    "regular", "frequent", "high-quality",  "strong",      "weak",           "main",       "key",
    "loyal",   "busy",     "famous",        "interesting", "rare",           "young",      "heavy",
    "good",    "leading",  "average-sized", "well-known",  "promising",      "efficient",  "favourite",
    "high",    "low",
};
static const char *const exact_ends[] = {
    "with the highest {q}",
    "with a {q} above {k}",
    "whose {q} is at least {k}",
    "with the lowest {q}",
    "with a {q} of exactly {k}",
    "with a {q} between {k} and 5000",
    "with a {q} above the average",
    "with a {q} below {k}",
    "that have no {q}",
    "with more than {k} as {q}",
    "whose {q} is the same as that of another {t}",
    "with the {k} largest values of {q}",
};
static const char *const vague_aggregates[] = {
    "how much do the {p} make up",
    "how is the {q} of the {p} overall",
    "what is the usual {q} of a {t}",
    "what {q} does a {t} normally have",
    "how good is the {q} of the {p}",
    "is the {q} high",
    "are there many {p}",
    "which {p} have a lot of {q}",
    "which {p} have little {q}",
    "which {p} have a low {q}",
    "which {p} have a high {q}",
    "which {p} have an unusual {q}",
    "which {p} do well",
    "compare the {p} by their {q}",
    "what is the typical {q}",
    "which {p} are large",
    "which {p} are among the best",
    "rate the {p} by {q}",
    "how strong are the {p}",
    "summarise the {q} of the {p}",
    "give me a figure for the {q} of all {p}",
    "which {t} is ahead",
    "who are the top {p}",
    "what is the general level of the {q}",
    "which {p} matter most",
    "how do the {p} perform",
};
static const char *const exact_aggregates[] = {
    "what is the average {q} of a {t}",
    "what is the total {q} of all {p}",
    "what is the highest {q} of a {t}",
    "how many {p} have a {q} above {k}",
    "which {p} have a {q} below {k}",
    "is the average {q} above {k}",
    "are there more than {k} {p}",
    "which {t} has the largest {q}",
    "which {t} has the smallest {q}",
    "how many {p} are there",
    "what is the sum of the {q} for each {c}",
    "order the {p} by {q}, the highest first",
    "what is the minimum {q}",
    "what is the maximum {q}",
    "which {p} have a {q} of {k}",
    "what is the difference between the highest and the lowest {q}",
    "what percentage of the {p} has a {q} above {k}",
    "which {p} are in the top {k} by {q}",
    "list the {k} {p} with the largest {q}",
    "count the {p} for each {c}",
    "how many {p} have the most common {c}",
    "which {c} has the most {p}",
    "show the top {k} {p} by {q}",
    "who are the {k} best {p} by {q}",
    "list the {c} of the top ten {p} by {q}",
    "which {p} are large, that is, have a {q} of at least {k}",
    "show the active {p}, those with a {q} above {k}",
    "how many popular {p} are there, counting a {q} of {k} or more as popular",
    "which important {p} have a {q} above {k}",
    "find the cheap {p}, with a {q} below {k}",
    "name the three largest {p} by {q}",
    "give me the best {t}, the one with the highest {q}",
    "what is the {c} of the {k} smallest {p} by {q}",
    "which regular {p} have a {q} between {k} and 5000",
    "list frequent {p}, with at least {k} as {q}",
    "are there big {p}, with a {q} over {k}",
    "what is the {c} of the main {t}, with the largest {q}",
    "rank the {p} by {q}",
    "what is the mean {q} for each {c}",
    "which {p} have a {q} above the average",
    "how large is the {q} of each {t}",
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
    const char *of['z' + 1]; /* by letter */
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
        fputs(s->of[(unsigned char)p[1]], f);
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
    const struct template_slots slots = { .of = { ['n'] = n, ['m'] = m } };
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

char *triage_beyond(struct rng *rng, enum triage_kind kind, const char *table, const char *column)
{
    static const char *const tails[] = { " of the %", " of each %", "", " of all %s" }, *const ends[] = { "?", ".", "?",
                                                                                                          "" };
    static const char *const openings[] = { "", "", "please ", "can you " };
    char *t = plain(table), *c = plain(column), *x, *request, *text;
    const char *tail = DRAW(rng, tails), *slot = strchr(tail, '%');
    int before = slot ? (int)(slot - tail) : 0;

    CHECK(asprintf(&x, "the %s%.*s%s%s", c, before, tail, slot ? t : "", slot ? slot + 1 : "") >= 0,
          "no memory for a request");
    CHECK(asprintf(&request, "%s%s", DRAW(rng, openings),
                   kind == KIND_REQUEST ? DRAW(rng, requests) : DRAW(rng, knowledge)) >= 0,
          "no memory for a request");
    text = fill(request, &(struct template_slots){ .of = { ['x'] = x, ['t'] = t } }, true, DRAW(rng, ends));
    free(request);
    free(x);
    free(c);
    free(t);
    return text;
}

/* The first words of the name with blanks, in small letters; "thing" without a name. */
static char *slot_of(const char *name)
{
    return plain(name && *name ? name : "thing");
}

char *triage_opening(struct rng *rng, const char *table, const char *column)
{
    char *t = slot_of(table), *c = slot_of(column);
    char *text =
        fill(DRAW(rng, openings_of_dialogues), &(struct template_slots){ .of = { ['t'] = t, ['c'] = c } }, true, "");

    free(t);
    free(c);
    return text;
}

char *triage_following(struct rng *rng, const char *column)
{
    static const char *const ends[] = { "?", ".", "" };
    char *c = slot_of(column);
    char *text = fill(column ? DRAW(rng, following) : DRAW(rng, following_alone),
                      &(struct template_slots){ .of = { ['c'] = c } }, rng_below(rng, 2), DRAW(rng, ends));

    free(c);
    return text;
}

/* The plural of a name in small letters; a name that ends in "s" is one.  The caller frees it. */
static char *plural_of(const char *name)
{
    size_t n = strlen(name);
    char last = n ? name[n - 1] : 0, before = n > 1 ? name[n - 2] : 0;
    bool sibilant = last == 'x' || (last == 'h' && (before == 'c' || before == 's'));
    bool y = last == 'y' && before && !strchr("aeiou", before);
    char *text;

    CHECK(asprintf(&text, "%.*s%s", (int)(y ? n - 1 : n), name,
                   y             ? "ies"
                   : sibilant    ? "es"
                   : last == 's' ? ""
                                 : "s") >= 0,
          "no memory for a name");
    return text;
}

/* A vague or exact question in small letters, without an end.  Sets the slots w and a. */
static char *draw_vague(struct rng *rng, enum triage_kind kind, bool exact, struct template_slots *s)
{
    bool time = kind == KIND_TIME, first = rng_below(rng, 2);
    const char *frame = DRAW(rng, adjectives), *part;

    if (!time && first)
        return fill(exact ? DRAW(rng, exact_aggregates) : DRAW(rng, vague_aggregates), s, false, "");
    if (time && first) {
        frame = DRAW(rng, times);
        part = exact ? DRAW(rng, exact_times) : DRAW(rng, vague_times);
    } else if (time) {
        part = exact ? DRAW(rng, exact_ages) : DRAW(rng, vague_ages);
    } else {
        frame = exact ? DRAW(rng, times) : frame;
        part = exact ? DRAW(rng, exact_ends) : DRAW(rng, vague_filters);
    }
    char *filled = fill(part, s, false, "");
    s->of['w'] = s->of['a'] = filled;
    char *text = fill(frame, s, false, "");
    free(filled);
    return text;
}

enum { FIRST_YEAR = 1950, YEARS = 75, LARGEST_NUMBER = 200 };

char *triage_vague(struct rng *rng, enum triage_kind kind, bool exact, const struct triage_subject *about)
{
    static const char *const ends[] = { "?", ".", "" };
    int year = FIRST_YEAR + (int)rng_below(rng, YEARS);
    char first[12], second[12], number[12];
    char *t = plain(about->table), *c = plain(about->column), *q = plain(about->number), *d = plain(about->time),
         *p = plural_of(t);
    struct template_slots s = {
        .of = { ['t'] = t, ['p'] = p, ['c'] = c, ['q'] = q, ['d'] = d, ['y'] = first, ['z'] = second, ['k'] = number }
    };

    snprintf(first, sizeof first, "%d", year);
    snprintf(second, sizeof second, "%d", year + 1 + (int)rng_below(rng, 8));
    snprintf(number, sizeof number, "%d", 2 + (int)rng_below(rng, LARGEST_NUMBER));
    char *question = draw_vague(rng, kind, exact, &s), *text;
    const char *end = DRAW(rng, ends);
    CHECK(asprintf(&text, "%s%s", question, end) >= 0, "no memory for a question");
    if (rng_below(rng, 2))
        text[0] = (char)toupper((unsigned char)text[0]);
    free(question);
    free(t);
    free(c);
    free(q);
    free(d);
    free(p);
    return text;
}
