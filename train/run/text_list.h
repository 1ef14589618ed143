/*
 * text_list.h - the texts of files that a vocabulary is learnt from.
 */
#ifndef TRAIN_RUN_TEXT_LIST_H
#define TRAIN_RUN_TEXT_LIST_H

#include "kernels/base.h"

/* A zeroed struct is ready. */
struct text_list {
    char **items;
    int64_t n, cap;
};

/*
 * Appends the texts of a file.  Records (.jsonl, .json, also with .gz, .xz or .zst behind it) have one in each
 * message's content, and one in each of the fields "text", "prompt", "completion"; of any other file every line is one,
 * its line break included, as tokenizers reads files.  -1 with EXIT_CODE_DATA: the file cannot be read, a record has
 * none of these, a line holds a zero byte.
 */
int text_list_read(struct text_list *t, const char *path, struct error *err);
void text_list_release(struct text_list *t);

#endif
