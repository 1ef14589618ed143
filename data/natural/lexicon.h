/*
 * lexicon.h - the modifiers by which people tell two columns or tables of one meaning apart.
 *
 * An entry lists qualifiers of a head noun: an address is a billing, shipping, home or mailing address.  Any two
 * members of an entry make a pair that the head noun alone leaves open.  The entries were written by hand beside counts
 * of columns that share a head noun in one table, in Spider's training databases, WikiSQL, BIRD and ScienceBenchmark.
 * Words are facts and carry no licence.
 */
#ifndef DATA_NATURAL_LEXICON_H
#define DATA_NATURAL_LEXICON_H

#include "kernels/rng.h"

#include <stdbool.h>

/* Classes of nouns that name tables, as bits. */
enum noun_class {
    NOUN_PERSON = 1,      /* customer, employee, author */
    NOUN_COMPANY = 2,     /* supplier, school, team: a group of people with a name of its own */
    NOUN_TRADE = 4,       /* order, invoice, booking: an act with a date, parties and an amount */
    NOUN_GOODS = 8,       /* product, part, medicine */
    NOUN_WORK = 16,       /* film, book, song, document */
    NOUN_PLACE = 32,      /* city, building, station */
    NOUN_EVENT = 64,      /* match, concert, election */
    NOUN_TRANSPORT = 128, /* flight, ship, route */
    NOUN_PROJECT = 256,   /* project, task, grant */
    NOUN_OTHER = 512      /* none of these */
};

/* The classes of a table by the last word of its name; NOUN_OTHER where the word is not known. */
unsigned noun_classes(const char *table_text);

/* One member of an entry, ready for use. */
struct lexicon_member {
    char name[64];   /* words of the new element's name, as in "billing address" */
    char phrase[64]; /* words that ask for it, mostly the same */
};

struct lexicon_entry {
    const char *head;    /* words of the name that the question says */
    unsigned classes;    /* of the tables that the entry fits */
    const char *members; /* "billing|shipping", or "NAME=PHRASE" with ~ for the head */
};

/* The first entry for columns of that head in tables of these classes, behind `after` (NULL: from the start); NULL when
 * there is none. */
const struct lexicon_entry *lexicon_column(const char *head, unsigned classes, const struct lexicon_entry *after);
/* The same for a name of several words that ends with that word: "planned" and "actual" go with any date. */
const struct lexicon_entry *lexicon_last_word(const char *word, const struct lexicon_entry *after);
/* The same for tables, where head is "". */
const struct lexicon_entry *lexicon_table(unsigned classes, const struct lexicon_entry *after);
/* The same for keys to tables of that noun, in any number. */
const struct lexicon_entry *lexicon_role(const char *noun, const struct lexicon_entry *after);

/* Draws two members of the entry for a head noun; of a role, whose members are whole, the head is "". */
void lexicon_draw(struct lexicon_member out[2], const struct lexicon_entry *e, const char *head, struct rng *rng);

#endif
