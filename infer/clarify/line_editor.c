#include "infer/clarify/line_editor.h"

#ifdef AMBIT_LIBEDIT
#include "kernels/base.h"

#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HISTORY_LINES = 200 };

struct line_editor {
    EditLine *edit;
    History *history;
    const char *prompt;
    locale_t locale; /* the user's characters; the program itself keeps the C locale */
};

static char *prompt_of(EditLine *edit)
{
    struct line_editor *e;

    el_get(edit, EL_CLIENTDATA, &e);
    return (char *)(uintptr_t)e->prompt;
}

static void set_up(struct line_editor *e)
{
    HistEvent event;

    history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->edit, EL_CLIENTDATA, e);
    el_set(e->edit, EL_PROMPT, prompt_of);
    el_set(e->edit, EL_EDITOR, "emacs");
    el_set(e->edit, EL_HIST, history, e->history);
}

struct line_editor *line_editor_open(void)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return NULL;
    struct line_editor *e = xcalloc(1, sizeof *e);
    e->locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    locale_t before = e->locale ? uselocale(e->locale) : (locale_t)0;
    e->edit = el_init("ambit", stdin, stdout, stderr);
    e->history = history_init();
    if (e->edit && e->history)
        set_up(e);
    if (before)
        uselocale(before);
    if (e->edit && e->history)
        return e;
    line_editor_close(e);
    return NULL;
}

void line_editor_close(struct line_editor *e)
{
    if (!e)
        return;
    if (e->history)
        history_end(e->history);
    if (e->edit)
        el_end(e->edit);
    if (e->locale)
        freelocale(e->locale);
    free(e);
}

/* Copies a line and adds it to the history unless it is empty. */
static int take_line(struct line_editor *e, const char *text, char *line, size_t size)
{
    size_t n = strcspn(text, "\r\n");
    HistEvent event;

    if (n >= size)
        return -1;
    memcpy(line, text, n);
    line[n] = '\0';
    if (n)
        history(e->history, &event, H_ENTER, line);
    return 1;
}

int line_editor_read(struct line_editor *e, const char *prompt, char *line, size_t size)
{
    locale_t before = e->locale ? uselocale(e->locale) : (locale_t)0;
    int n = 0;

    e->prompt = prompt;
    const char *text = el_gets(e->edit, &n);
    int rc = text && n > 0 ? take_line(e, text, line, size) : 0;
    if (before)
        uselocale(before);
    return rc;
}

#else

struct line_editor *line_editor_open(void)
{
    return NULL;
}

void line_editor_close(struct line_editor *e)
{
    (void)e;
}

int line_editor_read(struct line_editor *e, const char *prompt, char *line, size_t size)
{
    (void)e, (void)prompt, (void)line, (void)size;
    return 0;
}

#endif
