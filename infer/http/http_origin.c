#include "infer/http/http_origin.h"

#include <string.h>
#include <strings.h>

static const char *const schemes[] = { "https://", "http://" };

/* Host and port of an origin; NULL for another scheme. */
static const char *authority(const char *origin)
{
    for (int i = 0; i < ARRAY_LEN(schemes); i++)
        if (strncasecmp(origin, schemes[i], strlen(schemes[i])) == 0)
            return origin + strlen(schemes[i]);
    return NULL;
}

/* Tells whether n bytes end in the default port of their scheme, which browsers leave out. */
static bool has_default_port(const char *text, size_t n)
{
    const char *port = strncasecmp(text, schemes[0], strlen(schemes[0])) == 0 ? ":443" : ":80";
    return n > strlen(port) && strncmp(text + n - strlen(port), port, strlen(port)) == 0;
}

static bool is_origin(const char *text, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]";
    const char *host = authority(text);

    return host && host < text + n && *host != ':' && strspn(host, letters) >= (size_t)(text + n - host) &&
           !has_default_port(text, n);
}

int http_origins_check(const char *list, struct error *err)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t n = strcspn(at, ",");
        if (!is_origin(at, n))
            return error_set(err, EXIT_CODE_USAGE,
                             "--allow-origin: expected origins such as https://example.org or http://localhost:3000, "
                             "without a path or a default port and separated by commas, got '%.*s'",
                             (int)n, at);
    }
    return 0;
}

bool http_origins_contain(const char *list, const char *origin)
{
    size_t length = strlen(origin);

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ",") == length && strncasecmp(at, origin, length) == 0)
            return true;
    }
    return false;
}

bool http_origin_is_own(const char *origin, const char *host)
{
    const char *named = authority(origin);
    return named && host && strcasecmp(named, host) == 0;
}
