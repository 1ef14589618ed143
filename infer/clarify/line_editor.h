/*
 * line_editor.h - reads lines that a person types at a terminal, with arrow keys and a history of the lines before.
 *
 * libedit edits the line.  Without a terminal, or in a build without libedit, there is no editor, and callers read
 * plain lines.  The history lives as long as the editor.
 */
#ifndef INFER_CLARIFY_LINE_EDITOR_H
#define INFER_CLARIFY_LINE_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

struct line_editor;
/* Returns an editor of standard input, or NULL if standard input or output is no terminal or the build has none. */
struct line_editor *line_editor_open(void);
void line_editor_close(struct line_editor *e);
/* Reads a line of at most size - 1 bytes, without its newline, behind the prompt, which is borrowed during the call.
 * Returns 1; 0 at the end of the input or after a signal; -1 if the line is longer. */
int line_editor_read(struct line_editor *e, const char *prompt, char *line, size_t size);

#endif
