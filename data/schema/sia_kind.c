#include "data/schema/sia_kind.h"

const char *const sia_kind_letters[SIA_KINDS] = { "C", "T", "J", "P" };

const char *sia_kind_letter(enum sia_kind k)
{
    return sia_kind_letters[k];
}
