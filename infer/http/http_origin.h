/*
 * http_origin.h - origins of web pages (RFC 6454) that may use the service from a browser.
 *
 * A browser sends the origin of a page with each request that the page's script makes to another site, and with each
 * POST.  The page of the service itself has the origin that Host names.  Requests of all other pages are refused,
 * except those of listed origins (CORS, the Fetch standard of WHATWG).
 */
#ifndef INFER_HTTP_HTTP_ORIGIN_H
#define INFER_HTTP_HTTP_ORIGIN_H

#include "kernels/base.h"

#include <stdbool.h>

/* Checks a list such as "https://example.org,http://localhost:3000", which may be NULL.  Returns -1 with
 * EXIT_CODE_USAGE for an entry with a path, a wildcard or another scheme. */
int http_origins_check(const char *list, struct error *err);
/* Tells whether the list, or NULL, contains an origin. */
bool http_origins_contain(const char *list, const char *origin);
/* Tells whether an origin is that of the service, by the Host header, or NULL.  The schemes may differ, since a proxy
 * may add TLS. */
bool http_origin_is_own(const char *origin, const char *host);

#endif
