/*
 * ambiguity_type.h - the types of ambiguity: those that a schema induces and those that lie in the words of a question.
 */
#ifndef DATA_SCHEMA_AMBIGUITY_TYPE_H
#define DATA_SCHEMA_AMBIGUITY_TYPE_H

/*
 * The four kinds of schema-induced ambiguity of AmbiQT (Bhaskar et al. 2023).
 */
/* Two columns, two tables, a column that also stands in a split-off table, an aggregate that also stands precomputed in
 * a table of its own. */
enum sia_kind { SIA_COLUMN, SIA_TABLE, SIA_JOIN, SIA_AGGREGATE, SIA_KINDS };
/* "C", "T", "J", "P". */
extern const char *const sia_kind_letters[SIA_KINDS];
const char *sia_kind_letter(enum sia_kind k);

/*
 * Kinds of ambiguity that lie in a question's words, as AMBROSIA has them (Saparina and Lapata,
 * NeurIPS 2024), beside those that a schema's doubled elements make.
 */
/* To which of several things a condition belongs; whether "each" gives one answer for all or one for every one; a word
 * that several elements fit. */
enum linguistic_kind { LINGUISTIC_NONE, LINGUISTIC_ATTACHMENT, LINGUISTIC_SCOPE, LINGUISTIC_VAGUE };
enum { LINGUISTIC_KINDS = 3 };
/* "attachment", "scope", "vague"; not of LINGUISTIC_NONE. */
const char *linguistic_kind_name(enum linguistic_kind k);
/* LINGUISTIC_NONE where it is none of them; word may be NULL. */
enum linguistic_kind linguistic_kind_find(const char *word);

#endif
