/*
 * element_choice.h - words of a question that fit several tables or columns, and the question with the chosen ones.
 *
 * The alternatives of a detector are one choice, and each ambiguous span of a tagger is another one.  The words of the
 * detector's alternatives are found by their names: "address" for billing_address and shipping_address.  They count as
 * unknown if no words of the question fit, or several do equally well.
 *
 * The choice with the highest entropy is asked about first.  With probability p the words are ambiguous and mean each
 * of n elements equally often; otherwise they mean one of them, the same one each time.  One element then has the
 * probability 1 - p (n - 1) / n, and each other one p / n.
 *
 * Elements are numbered as in evidence.h.  Positions count code points of the question, and ends are exclusive.
 */
#ifndef DATA_CLARIFY_ELEMENT_CHOICE_H
#define DATA_CLARIFY_ELEMENT_CHOICE_H

#include "data/clarify/evidence.h"

enum { ELEMENT_CHOICES_MAX = 16, CHOICE_ELEMENTS_MAX = 16 };

struct element_choice {
    int start, end;                       /* the words; both 0: unknown */
    int elements[CHOICE_ELEMENTS_MAX], n; /* at least two */
    bool is_value;                        /* the words are a value of the elements, which are columns */
    bool detected;                        /* the elements are the alternatives of the detector */
    double probability;                   /* that the words are ambiguous: of the span, or the detector's score */
    int chosen;                           /* element, or -1: left open */
};

/* In the order of the question, unknown words last; words do not overlap. */
struct element_choices {
    struct element_choice list[ELEMENT_CHOICES_MAX];
    int n;
};

/* Finds the words of a question that fit the names of elements [n], at most CHOICE_ELEMENTS_MAX, best.  Returns false,
 * with both positions 0, if no words fit or two places fit equally well. */
bool element_words(int *start, int *end, const struct schema *s, const char *question, const int *elements, int n);

/* Lists the choices that the evidence leaves open; further ones than ELEMENT_CHOICES_MAX are dropped. */
void element_choices_find(struct element_choices *c, const struct evidence *h, const struct schema *s,
                          const char *question);

/* Entropy of a choice in bits, which is its expected information gain if the user makes no errors. */
double element_choice_entropy(const struct element_choice *c);
/* Writes the numbers of the choices in the order of asking: by falling entropy, equal ones in the order of the
 * question. */
void element_choices_order(int order[ELEMENT_CHOICES_MAX], const struct element_choices *c);

/* The choices as a list of {"start", "end", "alternatives", "value", "detected", "probability", "element"}; element is
 * a name or null.  A new reference. */
json_t *element_choices_json(const struct element_choices *c, const struct schema *s);
/* Reads such a list, "element_choices" of a record.  Returns -1 with EXIT_CODE_DATA, which names the field. */
int element_choices_read(struct element_choices *c, const json_t *record, const struct schema *s, const char *where,
                         struct error *err);

/* The words of a choice in the question, as a string that the caller frees; NULL: unknown. */
char *element_choice_words(const struct element_choice *c, const char *question);
/* The question with the chosen elements in place of the words, as table or table.column, quoted as in SQL.  A value
 * keeps its words and is followed by the column; chosen elements of unknown words stand behind the question.  The
 * caller frees the text. */
char *element_choices_rewrite(const struct element_choices *c, const struct schema *s, const char *question);

/* A statement that shows the element and nothing else.  The caller frees the text. */
char *element_statement(const struct schema *s, int element);

#endif
