#include "data/span/tagging.h"

#include <stdlib.h>

void tag_answer_release(struct tag_answer *a)
{
    for (int i = 0; i < a->n_spans; i++) {
        free(a->spans[i].alternatives);
        free(a->spans[i].nearest);
    }
    free(a->spans);
    free(a->heat);
    *a = (struct tag_answer){ 0 };
}

const char *text_from_letter(const char *text, int n)
{
    for (; *text && n > 0; n--)
        for (text++; ((unsigned char)*text & 0xc0) == 0x80;)
            text++;
    return text;
}
