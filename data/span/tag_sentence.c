#include "data/span/tag_sentence.h"

#include <stdlib.h>
#include <string.h>

/* What people read.  Quoted names come between. */
enum tag_text {
    TEXT_CLEAR,
    TEXT_AMBIGUOUS,
    TEXT_REFERS,
    TEXT_EITHER,
    TEXT_OR,
    TEXT_OF,
    TEXT_UNANSWERABLE,
    TEXT_UNMAPPED_TABLE,
    TEXT_UNMAPPED_DATABASE,
    TEXT_CLOSEST,
    TEXT_CLOSEST_END,
    TEXT_NEXT,
    TEXT_MORE,
    TEXT_END,
};

static const char *const texts[] = {
    [TEXT_CLEAR] = "Nothing ambiguous or unanswerable was found.",
    [TEXT_AMBIGUOUS] = "This question has several meanings: ",
    [TEXT_REFERS] = " may refer to ",
    [TEXT_EITHER] = "either ",
    [TEXT_OR] = " or ",
    [TEXT_OF] = " of ",
    [TEXT_UNANSWERABLE] = "No answer is found: ",
    [TEXT_UNMAPPED_TABLE] = " cannot be mapped to any concept of the table",
    [TEXT_UNMAPPED_DATABASE] = " cannot be mapped to any concept of the database",
    [TEXT_CLOSEST] = " (closest: ",
    [TEXT_CLOSEST_END] = ")",
    [TEXT_NEXT] = "; ",
    [TEXT_MORE] = ", ",
    [TEXT_END] = ".",
};

static void put_quoted(FILE *out, const char *text, size_t n)
{
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            fputc('"', out);
        fputc(text[i], out);
    }
    fputc('"', out);
}

char *tag_concept_name(const struct tag_question *q, const struct tag_concept *c)
{
    const struct span_column *of = &q->columns[c->column];
    const char *table = of->sql_table ? of->sql_table : of->table, *column = of->sql_name ? of->sql_name : of->name;
    char *name;

    if (!table || c->kind == TAG_TABLE)
        return xstrdup(table ? table : column);
    CHECK(asprintf(&name, "%s.%s", table, column) >= 0, "no memory for a name");
    return name;
}

static void put_concept(FILE *out, const struct tag_question *q, const struct tag_concept *c)
{
    char *name = tag_concept_name(q, c);

    if (c->kind == TAG_VALUE) {
        put_quoted(out, c->value, strlen(c->value));
        fputs(texts[TEXT_OF], out);
    }
    put_quoted(out, name, strlen(name));
    free(name);
}

static void put_concepts(FILE *out, const struct tag_question *q, const struct tag_concept *list, int n,
                         enum tag_text last)
{
    for (int i = 0; i < n; i++) {
        put_concept(out, q, &list[i]);
        if (i + 1 < n)
            fputs(texts[i + 2 < n ? TEXT_MORE : last], out);
    }
}

static void put_ambiguous(FILE *out, const struct tag_question *q, const struct tag_span *s)
{
    fputs(texts[TEXT_REFERS], out);
    if (s->n_alternatives > 1)
        fputs(texts[TEXT_EITHER], out);
    put_concepts(out, q, s->alternatives, s->n_alternatives, TEXT_OR);
}

static void put_unanswerable(FILE *out, const struct tag_question *q, const struct tag_span *s)
{
    fputs(texts[q->n_columns && q->columns[0].table ? TEXT_UNMAPPED_DATABASE : TEXT_UNMAPPED_TABLE], out);
    if (!s->n_nearest)
        return;
    fputs(texts[TEXT_CLOSEST], out);
    put_concepts(out, q, s->nearest, s->n_nearest, TEXT_MORE);
    fputs(texts[TEXT_CLOSEST_END], out);
}

/* All spans of a label; how many. */
static int put_spans(FILE *out, const struct tag_question *q, const struct tag_answer *a, enum span_label label,
                     bool follows)
{
    int n = 0;

    for (int i = 0; i < a->n_spans; i++) {
        const struct tag_span *s = &a->spans[i];
        if (s->label != label)
            continue;
        const char *word = text_from_letter(q->question, s->start);
        if (n++)
            fputs(texts[TEXT_NEXT], out);
        else
            fprintf(out, "%s%s", follows ? " " : "", texts[label == SPAN_AMB ? TEXT_AMBIGUOUS : TEXT_UNANSWERABLE]);
        put_quoted(out, word, (size_t)(text_from_letter(word, s->end - s->start) - word));
        (label == SPAN_AMB ? put_ambiguous : put_unanswerable)(out, q, s);
    }
    if (n)
        fputs(texts[TEXT_END], out);
    return n;
}

char *tag_sentence(const struct tag_question *q, const struct tag_answer *a)
{
    char *sentence = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&sentence, &size);

    CHECK(out, "no memory for a sentence");
    int ambiguous = put_spans(out, q, a, SPAN_AMB, false);
    if (!(put_spans(out, q, a, SPAN_UNK, ambiguous > 0) + ambiguous))
        fputs(texts[TEXT_CLEAR], out);
    CHECK(fclose(out) == 0, "no memory for a sentence");
    return sentence;
}
