/*
 * wordings.h - clarifying questions in the words of a language model.
 *
 * A prompt shows the user's question, the clarifying question of the template, and its options.  The model writes the
 * clarifying question again and repeats the options.  A wording counts only if the options are the same, word for word
 * and in order.  A model therefore changes how a question sounds, but never its options or their effect.  The
 * template's words are used in all other cases, and when later answers have brought up other options.
 *
 * Completions come from a file, or from a function, which any language model may implement (model_memo.h).
 */
#ifndef INFER_CLARIFY_WORDINGS_H
#define INFER_CLARIFY_WORDINGS_H

#include "data/base/out_file.h"
#include "data/prompt/interpretation_sql.h"
#include "infer/clarify/model_memo.h"

struct wordings {
    const char *path;             /* of the file of completions; or NULL */
    struct query_answers answers; /* of that file */
    struct model_memo memo;
    struct strings ids;                    /* of the records whose prompts were written */
    int64_t used, rejected, missing, read; /* numbers of wordings; read: of those, from the file */
};

/* Reads {"id", "text"} of the prompts of wordings_prompts(); path may be NULL.  The model is copied.  Returns -1 with
 * EXIT_CODE_DATA.  The caller closes the struct in any case. */
int wordings_open(struct wordings *w, const char *path, const struct wording_model *model, struct error *err);
void wordings_close(struct wordings *w);
/* NULL if there is neither a file nor a model. */
struct wordings *wordings_or_none(struct wordings *w);
/* The model, for judgements as well; NULL if there is none. */
struct model_memo *wordings_judge(struct wordings *w);

/* Sets the wordings of a case, and lists those that are rejected in it.  Returns -1 with err if the model failed, also
 * after a signal. */
int wordings_apply(struct wordings *w, struct clarify_case *c, const json_t *record, struct error *err);
/* Writes the prompt {"id", "messages"} of each question of a case as a line.  Returns -1 with err, also if the record's
 * id came before. */
int wordings_prompts(struct wordings *w, struct clarify_case *c, const json_t *record, struct out_file *out,
                     struct error *err);
/* Replaces the words of a question if the case has a wording for its options. */
void wordings_use(struct question *q, const struct clarify_case *c, const struct question_view *view);
/* Logs the numbers of wordings, and warns about completions that belong to no question. */
void wordings_tell(const struct wordings *w);

/* Reads a completion: an object {"question", "options"}, perhaps behind thoughts or in a fenced block.  Returns the
 * question, which the caller frees, or NULL with the reason in err. */
char *wording_read(const char *completion, const char *const *options, int n, struct error *err);

#endif
