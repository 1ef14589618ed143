/*
 * dialogue.h - one dialogue of questions and answers: a plain state that can be replayed from its turns.
 *
 * A question shows at most DIALOGUE_SHOWN options by their mass; what is behind them is one more, "something else".
 * When it is asked again, what has less than a tenth of the greatest mass is behind them too.
 * A attribute is asked about once, and again only when the answer was "something else" or the rules say so.  Nothing is
 * asked that the answers have settled: all candidates that say what was answered agree in it.  After "I don't know" or
 * "either is fine" nothing is asked that parts what is left as that question does.  Undo drops the last turn and
 * replays the others, so the state is the prior and the turns, nothing else.
 */
#ifndef DATA_CLARIFY_DIALOGUE_H
#define DATA_CLARIFY_DIALOGUE_H

#include "data/clarify/posterior.h"

enum { DIALOGUE_SHOWN = 5, DIALOGUE_MAX_TURNS = 100 };

enum stop_reason {
    STOP_NOT,
    STOP_CONFIDENT, /* the best candidate reaches confidence */
    STOP_SETTLED,   /* no attribute splits what is left */
    STOP_GAIN,      /* the best question tells less than min_gain */
    STOP_TURNS,     /* enough questions */
    STOP_UTILITY,   /* the best question costs more than it is worth */
    STOP_ESCALATE,  /* the reading meant is most likely not among the candidates: make new ones, or ask a person */
    STOP_REASONS
};
const char *stop_reason_name(enum stop_reason r);

struct dialogue_rules {
    enum strategy strategy;
    double confidence; /* above 1: never confident enough */
    double min_gain;   /* of what a question tells, its support counted in */
    int max_turns;
    double worth,
        second;    /* what a right answer is worth and what a second of the user's costs; second 0: not weighed */
    bool fallback; /* the last attribute is asked about only when no other tells min_gain, and not when the
                         answers said as much already */
    bool forget;   /* what was asked before: an attribute may be asked about again */
    uint64_t seed; /* of STRATEGY_RANDOM */
};
extern const struct dialogue_rules dialogue_rules_default;

/* A question as it is shown. */
struct question_view {
    int attribute;
    int shown[DIALOGUE_SHOWN]; /* the attribute's values behind the options */
    int n_shown;
    bool other;                      /* one more option: something else */
    double mass[DIALOGUE_SHOWN + 1]; /* of each option */
    double gain;                     /* bits */
    struct split split;              /* its values are options; refers to the dialogue's memory */
};
/* The option that shows a value of the attribute; -1 when none does. */
int question_view_option(const struct question_view *v, int value);

struct turn {
    int attribute;
    struct answer answer; /* value is an option of the view then */
    bool telling;         /* it says which value it is, or that it does not matter */
    int said;             /* the attribute's value that it says; -1 for none */
};

struct dialogue {
    struct dialogue_rules rules;
    const struct split *attributes; /* borrowed; in order of their clauses */
    int n_attributes;
    struct posterior prior, now;
    struct turn turns[DIALOGUE_MAX_TURNS];
    int n_turns;
    int *asked;                  /* [n_attributes] how often */
    bool *closed;                /* [n_attributes] retired */
    bool free_choice;            /* "either is fine" was said: the output is one of several right ones */
    struct question_view *views; /* of all attributes that may be asked; scratch */
    int *options;                /* [n_attributes * n] their values */
};

/* p and reserve are copied and sum to 1; the attributes are borrowed. */
void dialogue_init(struct dialogue *d, const struct dialogue_rules *rules, const struct split *attributes,
                   int n_attributes, const struct posterior *prior);
void dialogue_release(struct dialogue *d);

/* The question to ask into *view, and STOP_NOT; or why there is none. */
enum stop_reason dialogue_next(struct dialogue *d, struct question_view *view);
/* The view of any attribute as things stand; false when it does not split what is left. */
bool dialogue_view(struct dialogue *d, int attribute, struct question_view *view);
/* Takes the answer; -1 when it contradicts what was said before, and nothing has changed then. */
int dialogue_answer(struct dialogue *d, const struct question_view *view, struct answer a);
/* Takes the last answer back; false when there is none. */
bool dialogue_undo(struct dialogue *d);

#endif
