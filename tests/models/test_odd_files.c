/*
 * Pipes without a writer, endless devices and sparse files instead of regular files: every reader refuses them at once.
 */
#include "data/base/whole_file.h"
#include "data/base/yaml.h"
#include "data/eval/dfpl.h"
#include "data/prompt/prompt.h"
#include "models/io/hdf5.h"
#include "models/io/safetensors.h"
#include "models/text/chat.h"
#include "models/text/tokenizer.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_settings(const char *dir, struct error *err)
{
    static const struct option none[] = { { .name = NULL } };
    struct texts texts = { 0 };

    return yaml_read(test_file(dir, "odd.yaml", NULL), none, NULL, NULL, &texts, err);
}

static int read_prompts(const char *dir, struct error *err)
{
    struct prompts p;
    int rc = prompts_open(&p, dir, err);

    prompts_release(&p);
    return rc;
}

static int read_template(const char *dir, struct error *err)
{
    struct chat c;

    return chat_open(&c, dir, NULL, NULL, err);
}

static int read_vocabulary(const char *dir, struct error *err)
{
    return tokenizer_open(dir, err) ? 0 : -1;
}

static int read_tensors(const char *dir, struct error *err)
{
    struct safetensors s;
    int rc = safetensors_open(&s, test_file(dir, "model.safetensors", NULL), err);

    safetensors_close(&s);
    return rc;
}

static int read_header(const char *dir, struct error *err)
{
    int64_t bytes;

    int fd = hdf5_header_open(test_file(dir, "ambit.h5", NULL), &bytes, err);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int is_no_prediction(const char *dir, struct error *err)
{
    const char *path = test_file(dir, "odd.json", NULL);

    return dfpl_is_published(path) ? 0 : error_set(err, EXIT_CODE_DATA, "%s: ", path);
}

static const struct reader {
    const char *file;
    int (*read)(const char *dir, struct error *err);
    enum exit_code code;
} readers[] = {
    { "odd.yaml", read_settings, EXIT_CODE_USAGE },
    { "fill.txt", read_prompts, EXIT_CODE_DATA },
    { "chat_template.jinja", read_template, EXIT_CODE_CHECKPOINT },
    { "vocab.txt", read_vocabulary, EXIT_CODE_CHECKPOINT },
    { "model.safetensors", read_tensors, EXIT_CODE_CHECKPOINT },
    { "ambit.h5", read_header, EXIT_CODE_CHECKPOINT },
    { "odd.json", is_no_prediction, EXIT_CODE_DATA },
};

static void refuse(const struct reader *r, const char *dir)
{
    struct error err = { 0 };

    if (r->read(dir, &err) == 0)
        fail_msg("%s: taken", r->file);
    assert_error(err, r->file);
    assert_int_equal(err.code, r->code);
}

static void make_pipe(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_device(const char *path)
{
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static void make_sparse(const char *path)
{
    test_file(path, "", NULL);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), (off_t)1 << 40), 0);
    fclose(f);
}

/* A checkpoint whose header has another length is refused before it is read to the end. */
static void make_wrong_length(const char *path)
{
    static const char header[] = "ambit checkpoint 1\nbytes 4096\nxxh64 0123456789abcdef\n";
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    fputs(header, f);
    fflush(f);
    assert_int_equal(ftruncate(fileno(f), (off_t)1 << 40), 0);
    fclose(f);
}

static void odd_files_are_refused(void **state)
{
    static void (*const make[])(const char *) = { make_pipe, make_device, make_sparse };
    (void)state;

    for (int k = 0; k < ARRAY_LEN(make); k++)
        for (int i = 0; i < ARRAY_LEN(readers); i++) {
            char *dir = test_dir_new();
            make[k](test_file(dir, readers[i].file, NULL));
            refuse(&readers[i], dir);
            test_dir_remove(dir);
        }
}

static void a_wrong_length_is_refused(void **state)
{
    struct error err = { 0 };
    char *dir = test_dir_new();
    (void)state;

    make_wrong_length(test_file(dir, "ambit.h5", NULL));
    assert_int_equal(read_header(dir, &err), -1);
    assert_error(err, "ambit.h5: damaged or truncated: 1099511627776 bytes, but its header says bytes 4096");
    test_dir_remove(dir);
}

static void whole_files_are_read(void **state)
{
    struct error err = { 0 };
    size_t n;
    char *dir = test_dir_new(), *text = whole_file_read(test_file(dir, "some", "four"), 4, &n, NULL);
    (void)state;

    assert_int_equal(n, 4);
    assert_string_equal(text, "four");
    free(text);
    text = whole_file_read(test_file(dir, "empty", ""), 4, &n, NULL);
    assert_string_equal(text, "");
    free(text);
    assert_null(whole_file_read(test_file(dir, "some", "five!"), 4, &n, &err));
    assert_error(err, "some: expected at most 4 bytes, got 5");
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_files_are_refused),
        cmocka_unit_test(a_wrong_length_is_refused),
        cmocka_unit_test(whole_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
