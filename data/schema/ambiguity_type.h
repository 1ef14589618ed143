/*
 * ambiguity_type.h - the types of ambiguity: schema-induced ones and linguistic ones.
 *
 * The names are constants.  Nothing fails.
 */
#ifndef DATA_SCHEMA_AMBIGUITY_TYPE_H
#define DATA_SCHEMA_AMBIGUITY_TYPE_H

/*
 * The four types of schema-induced ambiguity of AmbiQT (Bhaskar et al., "Benchmarking and Improving Text-to-SQL
 * Generation under Ambiguity", EMNLP 2023).
 */
/* Two columns; two tables; a column that also exists in a split-off table; an aggregate that is also stored in a table
 * of its own. */
enum sia_kind { SIA_COLUMN, SIA_TABLE, SIA_JOIN, SIA_AGGREGATE, SIA_KINDS };
/* "C", "T", "J", "P". */
extern const char *const sia_kind_letters[SIA_KINDS];
const char *sia_kind_letter(enum sia_kind k);

/*
 * The types of linguistic ambiguity of AMBROSIA (Saparina and Lapata, NeurIPS 2024).
 */
/* Attachment: a condition may belong to one of several things.  Scope: "each" may ask for one answer in all or one for
 * each.  Vague: a word fits several elements. */
enum linguistic_kind { LINGUISTIC_NONE, LINGUISTIC_ATTACHMENT, LINGUISTIC_SCOPE, LINGUISTIC_VAGUE };
enum { LINGUISTIC_KINDS = 3 };
/* "attachment", "scope" or "vague"; k is not LINGUISTIC_NONE. */
const char *linguistic_kind_name(enum linguistic_kind k);
/* LINGUISTIC_NONE if the word names no type; word may be NULL. */
enum linguistic_kind linguistic_kind_find(const char *word);

#endif
