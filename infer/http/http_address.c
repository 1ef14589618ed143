/* Part of http.h: where a service listens, and what a Host header names. */
#include "infer/http/http_impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 64 };

/* The address without brackets into `name`, and the port; false where there is none. */
static bool split(char name[NAME_MAX_BYTES], long *port, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;

    if (n && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (!n || n >= NAME_MAX_BYTES || colon[1] < '0' || colon[1] > '9')
        return false;
    memcpy(name, text, n);
    name[n] = 0;
    *port = strtol(colon + 1, &end, 10);
    return *end == 0 && *port <= 65535;
}

int http_address_read(struct http_address *a, const char *text, struct error *err)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&a->sock;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&a->sock;
    char name[NAME_MAX_BYTES];
    long port;

    *a = (struct http_address){ 0 };
    if (!split(name, &port, text))
        return error_set(err, EXIT_CODE_USAGE, "--serve: expected ADDRESS:PORT, got '%s'", text);
    if (inet_pton(AF_INET, strcasecmp(name, "localhost") == 0 ? "127.0.0.1" : name, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        a->local = ntohl(four->sin_addr.s_addr) >> 24 == 127;
        return 0;
    }
    if (inet_pton(AF_INET6, name, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        a->local = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
        return 0;
    }
    return error_set(err, EXIT_CODE_USAGE, "--serve: expected a numeric address or localhost, got '%s'", name);
}

/* Cuts blanks and a port off the end of a host; false where a colon is followed by something else. */
static bool cut_port(char *host)
{
    size_t n = strlen(host);

    while (n && strchr(" \t", host[n - 1]))
        host[--n] = 0;
    char *colon = strchr(host[0] == '[' ? host + strcspn(host, "]") : host, ':');
    if (colon && colon[1 + strspn(colon + 1, "0123456789")])
        return false;
    if (colon)
        *colon = 0;
    return true;
}

bool http_host_is_local(const char *host)
{
    char name[NAME_MAX_BYTES];
    struct in6_addr six;
    struct in_addr four;

    if (!host || snprintf(name, sizeof name, "%s", host) >= (int)sizeof name || !cut_port(name))
        return false;
    size_t n = strlen(name);
    if (name[0] == '[' && name[n - 1] == ']') {
        name[n - 1] = 0;
        return inet_pton(AF_INET6, name + 1, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
    }
    return strcasecmp(name, "localhost") == 0 ||
           (inet_pton(AF_INET, name, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}
