/* Part of http.h: what /metrics tells. */
#include "infer/http/http_impl.h"

#include <unistd.h>

const int http_codes[HTTP_CODES] = { 200, 400, 401, 403, 404, 405, 411, 413, 415, 500, 503 };

static const double seconds_up_to[HTTP_SECOND_BUCKETS - 1] = { 0.01, 0.1, 1, 10 };

void http_count(struct http_counts *c, int code)
{
    for (int i = 0; i < HTTP_CODES; i++)
        if (http_codes[i] == code)
            c->codes[i]++;
}

void http_count_seconds(struct http_counts *c, double seconds)
{
    int i = 0;

    while (i < HTTP_SECOND_BUCKETS - 1 && seconds > seconds_up_to[i])
        i++;
    c->buckets[i]++;
    c->microseconds += (int64_t)(seconds * 1e6);
}

/* Pages of memory that the process has, 0 where that cannot be read. */
static int64_t resident_pages(void)
{
    long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%lld %lld", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident;
}

void http_counts_print(FILE *f, struct http_counts *c, int waiting)
{
    int64_t sum = 0;

    fprintf(f, "# TYPE ambit_http_replies_total counter\n");
    for (int i = 0; i < HTTP_CODES; i++)
        fprintf(f, "ambit_http_replies_total{code=\"%d\"} %lld\n", http_codes[i], (long long)c->codes[i]);
    fprintf(f, "# TYPE ambit_http_request_seconds histogram\n");
    for (int i = 0; i < HTTP_SECOND_BUCKETS; i++) {
        sum += c->buckets[i];
        if (i < HTTP_SECOND_BUCKETS - 1)
            fprintf(f, "ambit_http_request_seconds_bucket{le=\"%g\"} %lld\n", seconds_up_to[i], (long long)sum);
    }
    fprintf(f, "ambit_http_request_seconds_bucket{le=\"+Inf\"} %lld\n", (long long)sum);
    fprintf(f, "ambit_http_request_seconds_sum %.6f\n", (double)c->microseconds / 1e6);
    fprintf(f, "ambit_http_request_seconds_count %lld\n", (long long)sum);
    fprintf(f, "# TYPE ambit_http_connections gauge\nambit_http_connections %lld\n", (long long)c->connections);
    fprintf(f, "# TYPE ambit_http_waiting gauge\nambit_http_waiting %d\n", waiting);
    fprintf(f, "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %lld\n",
            (long long)resident_pages() * sysconf(_SC_PAGESIZE));
}
