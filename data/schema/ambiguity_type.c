#include "data/schema/ambiguity_type.h"

#include <string.h>

enum { LINGUISTIC = SIA_TYPES - LINGUISTIC_ATTACHMENT }; /* added to a linguistic type, its index */

const struct ambiguity_type ambiguity_types[AMBIGUITY_TYPES] = {
    [SIA_COLUMN] = { "C",
                     "the column",
                     AMBIGUITY_HEAD_PAIRS,
                     false,
                     { "Two columns fit your question. ", "Two columns fit what you wrote, \"%s\". " } },
    [SIA_TABLE] = { "T",
                    "the table",
                    AMBIGUITY_HEAD_PAIRS,
                    false,
                    { "Two kinds of records fit your question. ",
                      "Two kinds of records fit what you wrote, \"%s\". " } },
    [SIA_JOIN] = { "J",
                   "the value kept in one table or joined from another,",
                   AMBIGUITY_HEAD_PAIRS,
                   true,
                   { "What you ask for is kept in two places. ", "What you wrote, \"%s\", is kept in two places. " } },
    [SIA_AGGREGATE] = { "P",
                        "the aggregate computed now or the one stored,",
                        AMBIGUITY_HEAD_PAIRS,
                        true,
                        { "What you ask for is stored, and can be worked out too. ",
                          "What you wrote, \"%s\", is stored, and can be worked out too. " } },
    [LINGUISTIC +
        LINGUISTIC_ATTACHMENT] = { .name = "attachment",
                                   .sentence = "a condition may belong to the last thing named or to all of them",
                                   .head = AMBIGUITY_HEAD_WORDS },
    [LINGUISTIC + LINGUISTIC_SCOPE] = { .name = "scope",
                                        .sentence = "all may share one answer, or each may have its own",
                                        .head = AMBIGUITY_HEAD_WORDS },
    [LINGUISTIC + LINGUISTIC_VAGUE] = { .name = "vague",
                                        .sentence = "a word of it fits several tables or columns",
                                        .head = AMBIGUITY_HEAD_WORDS },
};

int ambiguity_type_find(const char *name)
{
    for (int i = 0; name && i < AMBIGUITY_TYPES; i++)
        if (strcmp(name, ambiguity_types[i].name) == 0)
            return i;
    return -1;
}

int ambiguity_type_of(enum sia_type schema, enum linguistic_type linguistic)
{
    return linguistic == LINGUISTIC_NONE ? (int)schema : LINGUISTIC + (int)linguistic;
}

enum sia_type ambiguity_type_schema(int type)
{
    return type >= 0 && type < SIA_TYPES ? (enum sia_type)type : SIA_TYPES;
}

enum linguistic_type ambiguity_type_linguistic(int type)
{
    return type < SIA_TYPES ? LINGUISTIC_NONE : (enum linguistic_type)(type - LINGUISTIC);
}

const char *sia_type_letter(enum sia_type k)
{
    return ambiguity_types[k].name;
}

const char *linguistic_type_name(enum linguistic_type k)
{
    return ambiguity_types[ambiguity_type_of(SIA_TYPES, k)].name;
}

enum linguistic_type linguistic_type_find(const char *word)
{
    return ambiguity_type_linguistic(ambiguity_type_find(word));
}
