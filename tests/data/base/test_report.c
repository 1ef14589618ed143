/* Outputs of a run: metrics.jsonl truncated to a checkpoint, TensorBoard events, report.html. */
#include "tests/support/support.h"

#include "data/base/metrics_log.h"
#include "data/base/report.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

static void write_steps(const char *dir, int64_t resumed, int64_t first, int64_t last, double loss)
{
    struct metrics_log m;
    struct error err = { 0 };
    if (metrics_log_open(&m, dir, resumed, false, &err))
        fail_msg("%s", err.text);
    for (int64_t i = first; i <= last; i++) {
        struct metric list[] = { { "loss", loss }, { "lr", i == 3 ? NAN : 1e-4 } };
        assert_int_equal(metrics_log_write(&m, i, i % 2 ? "odd" : NULL, list, 2, &err), 0);
    }
    metrics_log_close(&m);
}

static void a_resumed_run_writes_on_from_its_step(void **state)
{
    struct error err = { 0 };
    struct series s;
    const char *path = test_file(*state, "metrics.jsonl", "left by an older run\n");
    write_steps(*state, 0, 1, 6, 0.5);
    FILE *f = fopen(path, "ab");
    fputs("{\"step\":7,\"lo", f); /* killed while writing */
    fclose(f);
    write_steps(*state, 4, 5, 5, 0.25);
    char *text = test_read(path);
    assert_string_equal(text, "{\"step\":1,\"phase\":\"odd\",\"loss\":0.5,\"lr\":0.0001}\n"
                              "{\"step\":2,\"loss\":0.5,\"lr\":0.0001}\n"
                              "{\"step\":3,\"phase\":\"odd\",\"loss\":0.5,\"lr\":null}\n"
                              "{\"step\":4,\"loss\":0.5,\"lr\":0.0001}\n"
                              "{\"step\":5,\"phase\":\"odd\",\"loss\":0.25,\"lr\":0.0001}\n");
    free(text);
    assert_int_equal(series_read(&s, path, "odd", "lr", &err), 0);
    assert_int_equal(s.n, 2);
    assert_true(s.step[0] == 1 && s.step[1] == 5 && s.value[1] == 1e-4);
    series_release(&s);
    assert_int_equal(series_read(&s, path, NULL, "nothing", &err), 0);
    assert_int_equal(s.n, 0);
    series_release(&s);
}

static void a_last_line_cut_short_goes(void **state)
{
    const char *path = test_file(*state, "metrics.jsonl", "{\"step\":1,\"loss\":1}\n{\"step\":2,\"lo");
    write_steps(*state, 5, 6, 6, 0.5);
    char *text = test_read(path);
    assert_string_equal(text, "{\"step\":1,\"loss\":1}\n{\"step\":6,\"loss\":0.5,\"lr\":0.0001}\n");
    free(text);
}

/* A rank was lost after it had written a metric that the other ranks did not receive: the resumed run measures
 * again. */
static void an_unknown_validation_is_dropped(void **state)
{
    struct metrics_log m;
    struct error err = { 0 };
    const char *kept = "{\"step\":4,\"valid_loss\":1}\n{\"step\":5,\"loss\":1}\n",
               *line = "{\"step\":5,\"valid_loss\":1}\n";
    char lines[128];
    snprintf(lines, sizeof lines, "%s%s", kept, line);
    const char *path = test_file(*state, "metrics.jsonl", lines);
    for (int unvalidated = 0; unvalidated < 2; unvalidated++) {
        assert_int_equal(metrics_log_open(&m, *state, 5, unvalidated, &err), 0);
        metrics_log_close(&m);
        char *text = test_read(path);
        assert_string_equal(text, unvalidated ? kept : lines);
        free(text);
    }
}

static void foreign_lines_are_not_cut(void **state)
{
    struct metrics_log m;
    struct error err = { 0 };
    const char *path = test_file(*state, "metrics.jsonl", "{\"step\":1}\nsomething of mine\n{\"step\":2}\n");
    assert_int_equal(metrics_log_open(&m, *state, 9, false, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, "metrics.jsonl: line 2");
    char *text = test_read(path);
    assert_non_null(strstr(text, "something of mine"));
    free(text);
    assert_int_equal(metrics_log_open(&m, test_file(*state, "no", NULL), 0, false, &err), -1);
    assert_error(err, "no");
}

static void checksum_vectors(void **state)
{
    (void)state;
    uint8_t zeros[32] = { 0 };
    assert_int_equal(crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(crc32c(zeros, 32), 0x8a9136aau);
    assert_int_equal(crc32c("", 0), 0);
}

/* The bytes that TensorBoard's own RecordWriter writes for the two events. */
static void event_bytes(void **state)
{
    static const uint8_t wanted[] = { 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xa3, 0x7f, 0x4b, 0x22,
                                      0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x1a, 0x0d, 0x62,
                                      0x72, 0x61, 0x69, 0x6e, 0x2e, 0x45, 0x76, 0x65, 0x6e, 0x74, 0x3a, 0x32,
                                      0xff, 0x2e, 0xe0, 0xe7, 0x1a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                      0x12, 0x9b, 0xd8, 0x2d, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                      0x40, 0x10, 0xac, 0x02, 0x2a, 0x0c, 0x0a, 0x0a, 0x0a, 0x03, 0x61, 0x2f,
                                      0x62, 0x15, 0x00, 0x00, 0x00, 0x3f, 0x13, 0x3d, 0x26, 0xac };
    const char *path = test_file(*state, "events", NULL);
    FILE *f = fopen(path, "wb");
    assert_int_equal(tf_events_start(f, 2, 0), 0);
    assert_int_equal(tf_events_scalar(f, 2, 300, "a/b", 0.5f), 0);
    fclose(f);
    uint8_t got[256];
    f = fopen(path, "rb");
    size_t n = fread(got, 1, sizeof got, f);
    fclose(f);
    assert_int_equal(n, sizeof wanted);
    assert_memory_equal(got, wanted, n);
}

/* The bytes that TensorBoard's RecordWriter writes for three sessions with one hyperparameter each, and an end.  Its
 * order of several hyperparameters is arbitrary. */
static void hyperparameter_bytes(void **state)
{
    static const uint8_t wanted[] = {
        0x56, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x4e, 0x2d, 0xe2, 0xb2, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x40, 0x2a, 0x4b, 0x0a, 0x49, 0x0a, 0x1c, 0x5f, 0x68, 0x70, 0x61, 0x72, 0x61, 0x6d, 0x73, 0x5f,
        0x2f, 0x73, 0x65, 0x73, 0x73, 0x69, 0x6f, 0x6e, 0x5f, 0x73, 0x74, 0x61, 0x72, 0x74, 0x5f, 0x69, 0x6e, 0x66,
        0x6f, 0x4a, 0x29, 0x0a, 0x27, 0x0a, 0x07, 0x68, 0x70, 0x61, 0x72, 0x61, 0x6d, 0x73, 0x12, 0x1c, 0x1a, 0x1a,
        0x0a, 0x0f, 0x0a, 0x02, 0x6c, 0x72, 0x12, 0x09, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe0, 0x3f, 0x29,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x79, 0x39, 0x64, 0xb3, 0x4f, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x6c, 0x47, 0x4f, 0x93, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x2a, 0x44, 0x0a,
        0x42, 0x0a, 0x1c, 0x5f, 0x68, 0x70, 0x61, 0x72, 0x61, 0x6d, 0x73, 0x5f, 0x2f, 0x73, 0x65, 0x73, 0x73, 0x69,
        0x6f, 0x6e, 0x5f, 0x73, 0x74, 0x61, 0x72, 0x74, 0x5f, 0x69, 0x6e, 0x66, 0x6f, 0x4a, 0x22, 0x0a, 0x20, 0x0a,
        0x07, 0x68, 0x70, 0x61, 0x72, 0x61, 0x6d, 0x73, 0x12, 0x15, 0x1a, 0x13, 0x0a, 0x08, 0x0a, 0x02, 0x6f, 0x6e,
        0x12, 0x02, 0x20, 0x01, 0x29, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0xdb, 0xf3, 0xfd, 0x1c, 0x51,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x9c, 0xa1, 0xd9, 0xbc, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x40, 0x2a, 0x46, 0x0a, 0x44, 0x0a, 0x1c, 0x5f, 0x68, 0x70, 0x61, 0x72, 0x61, 0x6d, 0x73, 0x5f, 0x2f,
        0x73, 0x65, 0x73, 0x73, 0x69, 0x6f, 0x6e, 0x5f, 0x73, 0x74, 0x61, 0x72, 0x74, 0x5f, 0x69, 0x6e, 0x66, 0x6f,
        0x4a, 0x24, 0x0a, 0x22, 0x0a, 0x07, 0x68, 0x70, 0x61, 0x72, 0x61, 0x6d, 0x73, 0x12, 0x17, 0x1a, 0x15, 0x0a,
        0x0a, 0x0a, 0x02, 0x62, 0x79, 0x12, 0x04, 0x1a, 0x02, 0x61, 0x70, 0x29, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x40, 0xb9, 0x2f, 0x3b, 0xeb, 0x45, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xeb, 0xe6, 0x68, 0xb0,
        0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x2a, 0x3a, 0x0a, 0x38, 0x0a, 0x1a, 0x5f, 0x68, 0x70,
        0x61, 0x72, 0x61, 0x6d, 0x73, 0x5f, 0x2f, 0x73, 0x65, 0x73, 0x73, 0x69, 0x6f, 0x6e, 0x5f, 0x65, 0x6e, 0x64,
        0x5f, 0x69, 0x6e, 0x66, 0x6f, 0x4a, 0x1a, 0x0a, 0x18, 0x0a, 0x07, 0x68, 0x70, 0x61, 0x72, 0x61, 0x6d, 0x73,
        0x12, 0x0d, 0x22, 0x0b, 0x08, 0x01, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x7f, 0xd4, 0xcc,
        0x2b
    };
    const char *path = test_file(*state, "events", NULL), *const settings[] = { "{\"lr\":0.5,\"none\":null}",
                                                                                "{\"on\":true}", "{\"by\":\"ap\"}" };
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < 3; i++) {
        json_t *o = json_loads(settings[i], 0, NULL);
        assert_int_equal(tf_events_settings(f, 2, o), 0);
        json_decref(o);
    }
    assert_int_equal(tf_events_end(f, 2), 0);
    fclose(f);
    uint8_t got[sizeof wanted + 1];
    f = fopen(path, "rb");
    size_t n = fread(got, 1, sizeof got, f);
    fclose(f);
    assert_int_equal(n, sizeof wanted);
    assert_memory_equal(got, wanted, n);
}

/* Test metrics go to TensorBoard alone, however deep and however long their names. */
static void test_metrics_are_no_lines(void **state)
{
    struct metrics_log m;
    struct error err = { 0 };
    char name[400] = "";
    memset(name, 'x', sizeof name - 1);
    json_t *o = json_pack("{s:{s:f, s:s}, s:f}", "contrast", "ap", 0.5, "text", "none", name, 1.0);
    assert_int_equal(metrics_log_open(&m, *state, 0, false, &err), 0);
    assert_int_equal(metrics_log_settings(&m, o, &err), 0);
    assert_int_equal(metrics_log_test(&m, 3, o, &err), 0);
    assert_int_equal(metrics_log_end(&m, &err), 0);
    char *lines = test_read(m.path);
    char command[9000];
    snprintf(command, sizeof command,
             "grep -aq test/contrast/ap '%s'/events.out.* && ! grep -aq test/contrast/text '%s'/events.out.*",
             (const char *)*state, (const char *)*state);
    assert_int_equal(test_run(command, NULL), 0);
    assert_string_equal(lines, "");
    metrics_log_close(&m);
    json_decref(o);
    free(lines);
}

/* The time of a run is that of all its processes. */
static void the_time_goes_on(void **state)
{
    struct metrics_log m;
    struct error err = { 0 };
    test_file(*state, "metrics.jsonl",
              "{\"step\":1,\"seconds\":1.5}\n{\"step\":2,\"seconds\":4}\n{\"step\":3,\"seconds\":9}\n");
    assert_int_equal(metrics_log_open(&m, *state, 2, false, &err), 0);
    assert_true(m.seconds == 4);
    metrics_log_close(&m);
    assert_int_equal(metrics_log_open(&m, *state, 0, false, &err), 0);
    assert_true(m.seconds == 0);
    metrics_log_close(&m);
}

static int count_events(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strncmp(e->d_name, "events.out.tfevents.", 20) == 0;
    closedir(d);
    return n;
}

static void text_is_escaped(void **state)
{
    struct report r;
    struct error err = { 0 };
    static const char hostile[] = "<script>alert('1')</script> & \"x\"\x01";
    const char *path = test_file(*state, "report.html", NULL), *const cells[] = { hostile, "0.5" };
    const char *const columns[] = { hostile, "n" };
    const double x[] = { 1, 2 }, y[] = { 3, 4 };
    struct curve curve = { hostile, x, y, 2, NULL, NULL };
    assert_int_equal(report_open(&r, path, hostile, hostile, &err), 0);
    report_heading(&r, hostile);
    report_text(&r, hostile);
    report_folded(&r, hostile, hostile);
    report_figure(&r, hostile);
    report_figure_end(&r);
    report_table(&r, hostile, columns, 2, cells, 1);
    report_curves(&r, hostile, hostile, hostile, &curve, 1);
    report_bars(&r, hostile, cells, y, NULL, NULL, 1);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(report_close(&r, &err), 0);
    char *text = test_read(path);
    assert_null(strstr(text, "<script"));
    assert_null(strchr(text, 1));
    assert_non_null(
        strstr(text, "<h2>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;\xef\xbf\xbd</h2>"));
    assert_non_null(strstr(text, "<pre>&lt;script&gt;"));
    assert_non_null(strstr(text, "<figcaption>&lt;script&gt;"));
    assert_non_null(strstr(text, "<td class=\"n\">0.5</td>"));
    assert_non_null(strstr(text, "<p class=\"verdict\">&lt;script&gt;"));
    assert_non_null(strstr(text, "aria-label=\"&lt;script&gt;"));
    static const char *const loads[] = { "http:", "https:", "src=", "href=", "url(", "@import" };
    for (int i = 0; i < ARRAY_LEN(loads); i++)
        assert_null(strstr(text, loads[i]));
    free(text);
}

/* Passes the page to fn and returns its text. */
static char *page(const char *dir, void (*fn)(struct report *r))
{
    struct report r;
    struct error err = { 0 };
    const char *path = test_file(dir, "page.html", NULL);
    assert_int_equal(report_open(&r, path, "page", "verdict", &err), 0);
    fn(&r);
    assert_int_equal(report_close(&r, &err), 0);
    char *text = test_read(path);
    assert_non_null(strstr(text, "</html>"));
    if (strstr(text, "nan") || strstr(text, "inf"))
        fail_msg("a coordinate is no number:\n%s", text);
    return text;
}

static void odd_curves(struct report *r)
{
    const double x[] = { 0, 1, 2, 3, 4 }, gap[] = { 1, NAN, 2, HUGE_VAL, 3 }, flat[] = { 7, 7, 7, 7, 7 };
    const double huge[] = { -1e300, 1e300, 1e90, -1e90, 0 }, near[] = { 1e16, 1e16 + 2, 1e16, 1e16, 1e16 };
    const struct curve curves[] = { { "gap", x, gap, 5, NULL, NULL }, { "one", x, flat, 1, NULL, NULL } },
                       one = { "flat", x, flat, 5, NULL, NULL }, wide = { "huge", x, huge, 5, NULL, NULL },
                       narrow = { "near", near, near, 5, NULL, NULL }, none = { "none", x, x, 0, NULL, NULL };
    report_curves(r, "gaps", "step", "loss", curves, 2);
    report_curves(r, "flat", "step", "loss", &one, 1);
    report_curves(r, "wide", "step", "loss", &wide, 1);
    report_curves(r, "narrow", "step", "loss", &narrow, 1);
    report_curves(r, "none", "step", "loss", &none, 1);
    report_curves(r, "nobody", "step", "loss", NULL, 0);
}

static void odd_numbers_draw(void **state)
{
    char *text = page(*state, odd_curves);
    /* three points without neighbours start three strokes */
    assert_non_null(strstr(text, "d=\"M64.0 272.0M384.0"));
    free(text);
}

static void whiskers(struct report *r)
{
    const double x[] = { 0, 1 }, y[] = { 0.5, 0.5 }, low[] = { 0, NAN }, high[] = { 1, 1 };
    struct curve curves[9];
    for (int i = 0; i < ARRAY_LEN(curves); i++)
        curves[i] = (struct curve){ "line", x, y, 2, low, high };
    report_curves(r, "whiskers", "questions", "loss", curves, ARRAY_LEN(curves));
}

static void whiskers_and_dashes_draw(void **state)
{
    char *text = page(*state, whiskers);
    assert_non_null(strstr(text, "d=\"M64.0 272.0V28.0\"><title>0 to 1</title>")); /* the whiskers widen the range */
    assert_null(strstr(text, "d=\"M704.0 "));
    assert_non_null(strstr(text, "stroke-dasharray=\"6 3\"")); /* the eighth curve has the colour of the first one */
    free(text);
}

static int occurrences(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

static void panels(struct report *r)
{
    const double x[] = { 0, 1, 2 }, low[] = { 0, 0, NAN }, high[] = { 1, 1, 1 };
    const double y[4][3] = { { 0.5, 0.5, 0.5 }, { 0.2, NAN, 0.4 }, { 0.1, HUGE_VAL, 0 }, { 0.3, 0.3, 0.3 } };
    struct curve curves[4];

    for (int i = 0; i < ARRAY_LEN(curves); i++)
        curves[i] = (struct curve){ i ? "line" : "<first>", x, y[i], 3, i ? NULL : low, i ? NULL : high };
    report_panels(r, "panels", "questions", curves, ARRAY_LEN(curves));
    report_panels(r, "no panels", "questions", curves, 0);
}

/* One panel for each curve, with its own line once and the three others behind it; the fourth starts a row. */
static void each_panel_has_its_own_line(void **state)
{
    char *text = page(*state, panels);
    assert_int_equal(occurrences(text, "font-weight=\"600\""), 4);
    assert_int_equal(occurrences(text, "<path class=\"other\""), 12);
    assert_int_equal(occurrences(text, "<path class=\"own\" d="), 4);
    assert_int_equal(occurrences(text, "<path class=\"own\" opacity"),
                     2); /* whiskers, except where one end is missing */
    assert_non_null(strstr(text, "<path class=\"own\" d=\"M40.0 86.0L135.0 86.0L230.0 86.0\">"));
    assert_non_null(strstr(text, "<path class=\"own\" d=\"M40.0 282.0L"));
    assert_non_null(strstr(text, "&lt;first&gt;"));
    free(text);
}

/* The verdict stands before everything else, and every chart has a name with its numbers. */
static void all_kinds_of_charts(struct report *r)
{
    const double x[] = { 1, 2, 3 }, y[] = { 0.5, 0.25, NAN };
    const struct curve curves[] = { { "one", x, y, 3, NULL, NULL }, { "two", x, x, 3, NULL, NULL } };
    struct reliability none = { 0 };

    report_curves(r, "curves", "step", "loss", curves, 2);
    report_curves(r, "curve", "step", "loss", curves, 1);
    report_panels(r, "panels", "step", curves, 2);
    report_bars(r, "bars", (const char *const[]){ "C", "T" }, y + 1, NULL, NULL, 2);
    report_confusion(r, "decisions", (struct confusion){ .tp = 30, .fn = 10, .fp = 5, .tn = 15 });
    report_reliability(r, "reliability", &none);
}

static void charts_have_names(void **state)
{
    static const char *const parts[] = { "<main>\n<h1>page</h1>\n<p class=\"verdict\">verdict</p>\n<figure",
                                         "aria-label=\"curves; one: 0.25 at step 2; two: 3 at step 3\"",
                                         "aria-label=\"bars; C: 0.25; T: undefined\"",
                                         "aria-label=\"decisions; 30 found, 10 missed, 5 false alarms, 15 rightly no\"",
                                         "aria-label=\"reliability; no examples\"",
                                         "y=\"14\">loss</text>",
                                         "</main>\n<footer>" };
    char *text = page(*state, all_kinds_of_charts);

    for (int i = 0; i < ARRAY_LEN(parts); i++)
        if (!strstr(text, parts[i]))
            fail_msg("the page lacks %s: %s", parts[i], text);
    assert_int_equal(occurrences(text, "role=\"img\""), 6);
    assert_int_equal(occurrences(text, "role=\"img\" aria-label=\""), 6);
    assert_int_equal(occurrences(text, "<ul class=\"legend\">"), 1);
    assert_int_equal(occurrences(text, "tabindex=\"0\""), 2); /* the broad ones scroll */
    free(text);
}

static void table_of_numbers(struct report *r)
{
    const char *const columns[] = { "", "mixed", "intervals" };
    const char *const cells[] = { "a", "1", "0.5 [0.4, 0.6]", "b", "two", "-" };
    report_table(r, "numbers", columns, 3, cells, 2);
}

/* Columns of numbers are aligned as a whole, with their titles. */
static void columns_of_numbers_are_aligned(void **state)
{
    char *text = page(*state, table_of_numbers);

    assert_non_null(
        strstr(text, "<tr><td></td><th scope=\"col\">mixed</th><th scope=\"col\" class=\"n\">intervals</th>"));
    assert_non_null(strstr(text, "<td>a</td><td>1</td><td class=\"n\">0.5 [0.4, 0.6]</td>"));
    assert_non_null(strstr(text, "<td>two</td><td class=\"n\">-</td>"));
    free(text);
}

static void changes_have_words(void **state)
{
    char text[REPORT_CHANGE];

    (void)state;
    assert_string_equal(report_change(text, 0.25, 0.75), "rises from 0.250 to 0.750");
    assert_string_equal(report_change(text, 2, 1), "falls from 2.000 to 1.000");
    assert_string_equal(report_change(text, 1, 1.0004), "stays at 1.000");
}

static void many_points(struct report *r)
{
    enum { N = 100000 };
    double *x = xmalloc(N * sizeof *x);
    for (int i = 0; i < N; i++)
        x[i] = i;
    report_curves(r, "many", "step", "loss", &(struct curve){ "line", x, x, N, NULL, NULL }, 1);
    free(x);
}

static void many_points_stay_small(void **state)
{
    char *text = page(*state, many_points);
    assert_true(strlen(text) < 30000);
    assert_non_null(strstr(text, "d=\"M64"));
    free(text);
}

static void a_matrix_and_a_diagram(struct report *r)
{
    const double score[] = { 0.05, 0.95, 0.95 };
    const uint8_t label[] = { 0, 1, 0 };
    struct reliability bins = stats_reliability((struct scored){ score, label, 3 }), none = { 0 };
    report_confusion(r, "decisions", (struct confusion){ .tp = 30, .fn = 10, .fp = 5, .tn = 15 });
    report_confusion(r, "nothing", (struct confusion){ 0 });
    report_reliability(r, "calibration", &bins);
    report_reliability(r, "nothing", &none);
    report_bars(r, "kinds", (const char *const[]){ "C", "T" }, (const double[]){ 0.8, NAN },
                (const double[]){ 0.7, NAN }, (const double[]){ 0.9, NAN }, 2);
}

static void decisions_and_calibration_draw(void **state)
{
    struct report r;
    struct error err = { 0 };
    const char *path = test_file(*state, "page.html", NULL);
    assert_int_equal(report_open(&r, path, "page", "verdict", &err), 0);
    a_matrix_and_a_diagram(&r);
    assert_int_equal(report_close(&r, &err), 0);
    char *text = test_read(path);
    assert_non_null(strstr(text, "found, 75.0 %"));
    assert_non_null(strstr(text, "false alarm, 25.0 %"));
    assert_non_null(strstr(text, "2 examples, score 0.950, share of yes 0.500"));
    assert_non_null(strstr(text, "undefined"));
    assert_non_null(strstr(text, "0.7 to 0.9"));
    free(text);
}

static void a_page_that_cannot_be_written_is_not_left(void **state)
{
    struct report r;
    struct error err = { 0 };
    assert_int_equal(report_open(&r, test_file(*state, "no/page.html", NULL), "page", "verdict", &err), -1);
    const char *path = test_file(*state, "kept.html", "old");
    assert_int_equal(report_open(&r, path, "page", "verdict", &err), 0);
    report_abort(&r);
    char *text = test_read(path);
    assert_string_equal(text, "old");
    free(text);
}

static void every_run_has_an_event_file(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    write_steps(dir, 0, 1, 2, 0.5);
    assert_int_equal(count_events(dir), 1);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resumed_run_writes_on_from_its_step),
        cmocka_unit_test(a_last_line_cut_short_goes),
        cmocka_unit_test(an_unknown_validation_is_dropped),
        cmocka_unit_test(foreign_lines_are_not_cut),
        cmocka_unit_test(checksum_vectors),
        cmocka_unit_test(event_bytes),
        cmocka_unit_test(hyperparameter_bytes),
        cmocka_unit_test(test_metrics_are_no_lines),
        cmocka_unit_test(the_time_goes_on),
        cmocka_unit_test(every_run_has_an_event_file),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(odd_numbers_draw),
        cmocka_unit_test(whiskers_and_dashes_draw),
        cmocka_unit_test(each_panel_has_its_own_line),
        cmocka_unit_test(charts_have_names),
        cmocka_unit_test(columns_of_numbers_are_aligned),
        cmocka_unit_test(changes_have_words),
        cmocka_unit_test(many_points_stay_small),
        cmocka_unit_test(decisions_and_calibration_draw),
        cmocka_unit_test(a_page_that_cannot_be_written_is_not_left),
    };
    return cmocka_run_group_tests_name("report", tests, set_up, tear_down);
}
