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

/* The first words of the name with blanks, in small letters; "thing" without a name. */
static char *slot_of(const char *name)
{
    return plain(name && *name ? name : "thing");
}

char *triage_opening(struct rng *rng, const char *table, const char *column)
{
    char *t = slot_of(table), *c = slot_of(column);
    char *text = fill(DRAW(rng, openings_of_dialogues), &(struct template_slots){ .t = t, .c = c }, true, "");

    free(t);
    free(c);
    return text;
}

char *triage_following(struct rng *rng, const char *column)
{
    static const char *const ends[] = { "?", ".", "" };
    char *c = slot_of(column);
    char *text = fill(column ? DRAW(rng, following) : DRAW(rng, following_alone), &(struct template_slots){ .c = c },
                      rng_below(rng, 2), DRAW(rng, ends));

    free(c);
    return text;
}
