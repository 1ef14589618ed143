/*
 * linguistic_kind.h - kinds of ambiguity that lie in a question's words, as AMBROSIA has them (Saparina and Lapata,
 * NeurIPS 2024), beside those that a schema's doubled elements make (sia_kind.h).
 */
#ifndef DATA_SCHEMA_LINGUISTIC_KIND_H
#define DATA_SCHEMA_LINGUISTIC_KIND_H

#include "data/schema/sia_kind.h"

/* To which of several things a condition belongs; whether "each" gives one answer for all or one for every one; a word
 * that several elements fit. */
enum linguistic_kind { LINGUISTIC_NONE, LINGUISTIC_ATTACHMENT, LINGUISTIC_SCOPE, LINGUISTIC_VAGUE };
enum { LINGUISTIC_KINDS = 3 };
/* "attachment", "scope", "vague"; not of LINGUISTIC_NONE. */
const char *linguistic_kind_name(enum linguistic_kind k);
/* LINGUISTIC_NONE where it is none of them; word may be NULL. */
enum linguistic_kind linguistic_kind_find(const char *word);

#endif
