/* page.h - page.html as it stands beside this, which the build makes an array of. */
#ifndef INFER_ASK_PAGE_H
#define INFER_ASK_PAGE_H

#include <stddef.h>

extern const char ask_page[];
extern const size_t ask_page_bytes;

#endif
