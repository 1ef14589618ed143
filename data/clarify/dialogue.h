/*
 * dialogue.h - one dialogue of questions and answers, a plain state that can be replayed from its turns.
 *
 * A question shows at most DIALOGUE_SHOWN options, the most probable first, and "something else" for the rest.  When
 * the question is asked again, options below a tenth of the highest probability are part of "something else" too.
 *
 * An attribute is asked about once.  It is asked about again only after "something else", or if the rules repeat
 * questions.  An attribute in which all candidates agree with the answers so far is settled and is not asked about.
 * After "I don't know" or "either is fine" no question is asked that divides the candidates in the same way.
 *
 * A question may be answered from memory, which gives the option a probability.  Such a turn settles its attribute as
 * an answer does, and is not counted as a question.
 *
 * The state is the prior and the turns, nothing else: dialogue_undo() drops the last turn and replays the others.
 */
#ifndef DATA_CLARIFY_DIALOGUE_H
#define DATA_CLARIFY_DIALOGUE_H

#include "data/clarify/posterior.h"

enum { DIALOGUE_SHOWN = 5, DIALOGUE_MAX_TURNS = 100 };

enum stop_reason {
    STOP_NOT,
    STOP_CONFIDENT, /* the best candidate has reached rules.confidence */
    STOP_SETTLED,   /* no attribute divides the remaining candidates */
    STOP_GAIN,      /* the best question has less information gain than rules.min_gain */
    STOP_TURNS,     /* rules.max_turns questions were asked */
    STOP_UTILITY,   /* the best question costs more than it is worth */
    STOP_ESCALATE,  /* most likely no candidate is meant: generate others, or ask a person */
    STOP_REASONS
};
const char *stop_reason_name(enum stop_reason r);

struct dialogue_rules {
    enum strategy strategy;
    double confidence; /* stop at a candidate of this probability; above 1: never */
    double min_gain;   /* minimum of posterior_gain_supported(), in bits */
    int max_turns;
    double worth, second; /* value of a correct answer, and cost of a second of the user's time; second 0: ignored */
    bool fallback;  /* ask the last attribute, the fallback question, only if no other reaches min_gain, and not if the
                          answers settle it already */
    bool ask_first; /* escalate after an answer only, although most likely no candidate is meant */
    bool repeat;    /* attributes may be asked about again */
    uint64_t seed;  /* seed of STRATEGY_RANDOM */
};
extern const struct dialogue_rules dialogue_rules_default;

/* A question as it is shown. */
struct question_view {
    int attribute;
    int shown[DIALOGUE_SHOWN]; /* value of the attribute for each option */
    int n_shown;
    bool other;                      /* there is one more option, "something else" */
    double mass[DIALOGUE_SHOWN + 1]; /* of each option */
    double gain;                     /* expected information gain in bits */
    struct split split;              /* its values are options; borrows the dialogue's memory */
};
/* Option that shows the value; -1 when none does. */
int question_view_option(const struct question_view *v, int value);

struct turn {
    int attribute;
    struct answer answer; /* its value is an option of the view */
    bool telling;         /* the answer names a value, or says that either is fine */
    int said;             /* value that the answer names; -1: none */
    double recalled;      /* of an answer from memory: probability of its option; else 0 */
};

struct dialogue {
    struct dialogue_rules rules;
    const struct split *attributes; /* borrowed; in order of their clauses */
    int n_attributes;
    struct posterior prior, now;
    struct turn turns[DIALOGUE_MAX_TURNS];
    int n_turns, n_recalled;     /* all turns, and those from memory */
    int *asked;                  /* [n_attributes] number of questions about each */
    bool *closed;                /* [n_attributes] not asked about any more */
    bool free_choice;            /* the user said "either is fine": several statements are right */
    struct question_view *views; /* [n_attributes] scratch */
    int *options;                /* [n_attributes, n candidates] options of the views */
};

/* Copies the prior, which sums to 1; borrows the attributes. */
void dialogue_init(struct dialogue *d, const struct dialogue_rules *rules, const struct split *attributes,
                   int n_attributes, const struct posterior *prior);
void dialogue_release(struct dialogue *d);

/* Writes the question to ask to *view and returns STOP_NOT, or returns the reason to stop. */
enum stop_reason dialogue_next(struct dialogue *d, struct question_view *view);
/* Writes the current view of an attribute.  Returns false when it does not divide the remaining candidates. */
bool dialogue_view(struct dialogue *d, int attribute, struct question_view *view);
/* Takes an answer.  Returns -1 when it contradicts the earlier answers; the dialogue is then unchanged. */
int dialogue_answer(struct dialogue *d, const struct question_view *view, struct answer a);
/* Answers the question of a view from memory: an option that shows a value gets the probability p, between 0 and 1, and
 * the others share the rest as before.  Returns false, without a change, when nothing is left to ask about the
 * attribute. */
bool dialogue_recall(struct dialogue *d, const struct question_view *view, int option, double p);
/* Takes the last answer back.  Returns false when there is none. */
bool dialogue_undo(struct dialogue *d);

#endif
