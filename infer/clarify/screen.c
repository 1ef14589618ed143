#include "infer/clarify/screen.h"

#include "kernels/base.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH = 80, WIDTH_MIN = 20, WIDTH_MAX = 100 };

struct screen screen_open(void)
{
    struct winsize size;
    int width = WIDTH;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
    return (struct screen){ stdout, width };
}

/* One letter at p: how many bytes, how many columns; 0 columns for what is left out. */
static int letter_at(const char *p, int *columns)
{
    const unsigned char *u = (const unsigned char *)p;
    int n = 1;
    uint32_t code = u[0] < 0x80 ? u[0] : u[0] & (0x3fU >> ((u[0] >= 0xe0) + (u[0] >= 0xf0)));

    while ((u[n] & 0xc0) == 0x80)
        code = code << 6 | (u[n++] & 0x3fU);
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
                   (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
    bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) || code >= 0x1f300;
    *columns = control ? 0 : wide ? 2 : 1;
    return n;
}

/* The letters up to the next blank that can be shown, at most `room` columns of them; how many bytes were read. */
static size_t next_word(char *word, int room, const char *text, int *columns)
{
    size_t n = 0, kept = 0;

    *columns = 0;
    while (text[n] && text[n] != ' ' && text[n] != '\n' && text[n] != '\t') {
        int wide, bytes = letter_at(text + n, &wide);
        if (*columns + wide > room)
            break;
        if (wide) {
            memcpy(word + kept, text + n, (size_t)bytes);
            kept += (size_t)bytes;
        }
        n += (size_t)bytes;
        *columns += wide;
    }
    word[kept] = 0;
    return n;
}

void screen_print(const struct screen *s, const char *first, const char *rest, const char *text)
{
    char *word = xmalloc(strlen(text) + 1);
    int margin = (int)strlen(rest), at = (int)strlen(first), columns;
    int start = at;

    fputs(first, s->out);
    for (text += strspn(text, " \n\t"); *text; text += strspn(text, " \n\t")) {
        text += next_word(word, s->width - margin > 8 ? s->width - margin : 8, text, &columns);
        if (!columns)
            continue;
        if (at > start && at + 1 + columns > s->width) {
            fprintf(s->out, "\n%s", rest);
            at = start = margin;
        }
        fprintf(s->out, "%s%s", at > start ? " " : "", word);
        at += columns + (at > start);
    }
    fputc('\n', s->out);
    free(word);
}

void screen_say(const struct screen *s, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    CHECK(vasprintf(&text, fmt, args) >= 0, "out of memory");
    va_end(args);
    screen_print(s, "", "", text);
    free(text);
}
