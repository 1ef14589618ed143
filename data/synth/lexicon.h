/*
 * lexicon.h - the modifiers that distinguish two columns or tables of one meaning.
 *
 * An entry lists modifiers of a head noun: an address is a billing, shipping, home or mailing address. The head noun
 * alone is ambiguous between any two members of an entry. The entries were written by hand, guided by counts of
 * columns that share a head noun in one table of Spider's training databases, WikiSQL, BIRD or ScienceBenchmark. Words
 * are facts and carry no licence.
 */
#ifndef DATA_SYNTH_LEXICON_H
#define DATA_SYNTH_LEXICON_H

#include "kernels/rng.h"

#include <stdbool.h>

/* Classes of nouns that name tables, as bits. */
enum noun_class {
    NOUN_PERSON = 1,      /* customer, employee, author */
    NOUN_COMPANY = 2,     /* supplier, school, team: a group of people with a name */
    NOUN_TRADE = 4,       /* order, invoice, booking: an act with a date, parties and an amount */
    NOUN_GOODS = 8,       /* product, part, medicine */
    NOUN_WORK = 16,       /* film, book, song, document */
    NOUN_PLACE = 32,      /* city, building, station */
    NOUN_EVENT = 64,      /* match, concert, election */
    NOUN_TRANSPORT = 128, /* flight, ship, route */
    NOUN_PROJECT = 256,   /* project, task, grant */
    NOUN_OTHER = 512      /* none of these */
};

/* Returns the classes of a table by the last word of its name, NOUN_OTHER for an unknown word. */
unsigned noun_classes(const char *table_text);

/* One member of an entry with its head filled in. */
struct lexicon_member {
    char name[64];   /* words of the new element's name, such as "billing address" */
    char phrase[64]; /* words of a question for it, mostly the same */
};

struct lexicon_entry {
    const char *head;    /* the words of the name that the question says */
    unsigned classes;    /* of the tables that the entry fits */
    const char *members; /* "billing|shipping", or "NAME=PHRASE" with ~ for the head */
};

/* Returns the next entry behind `after` for columns with this head in tables of these classes. after NULL: start at the
 * first entry. NULL at the end. */
const struct lexicon_entry *lexicon_column(const char *head, unsigned classes, const struct lexicon_entry *after);
/* Returns the next entry for a name of several words that ends with this word: "planned" and "actual" fit any date. */
const struct lexicon_entry *lexicon_last_word(const char *word, const struct lexicon_entry *after);
/* Returns the next entry for tables. Its head is "". */
const struct lexicon_entry *lexicon_table(unsigned classes, const struct lexicon_entry *after);
/* Returns the next entry for foreign keys to tables of this noun, singular or plural. */
const struct lexicon_entry *lexicon_role(const char *noun, const struct lexicon_entry *after);

/* Draws two members of the entry for a head noun. Members of a role are whole phrases: head is "". */
void lexicon_draw(struct lexicon_member out[2], const struct lexicon_entry *e, const char *head, struct rng *rng);

#endif
