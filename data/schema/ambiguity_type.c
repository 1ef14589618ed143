#include "data/schema/ambiguity_type.h"

#include <string.h>

const char *const sia_kind_letters[SIA_KINDS] = { "C", "T", "J", "P" };

const char *sia_kind_letter(enum sia_kind k)
{
    return sia_kind_letters[k];
}

static const char *const names[LINGUISTIC_KINDS] = { "attachment", "scope", "vague" };

const char *linguistic_kind_name(enum linguistic_kind k)
{
    return names[k - 1];
}

enum linguistic_kind linguistic_kind_find(const char *word)
{
    for (int i = 0; word && i < LINGUISTIC_KINDS; i++)
        if (strcmp(word, names[i]) == 0)
            return (enum linguistic_kind)(i + 1);
    return LINGUISTIC_NONE;
}
