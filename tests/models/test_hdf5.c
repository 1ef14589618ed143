/* The container is complete or refused. */
#include "models/io/checksum.h"
#include "models/io/hdf5.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir, file[128];

static int setup(void **state)
{
    (void)state;
    dir = test_dir_new();
    snprintf(file, sizeof file, "%s/ambit.h5", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_dir_remove(dir);
    return 0;
}

static char *read_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *p = xmalloc(*n);
    assert_int_equal(fread(p, 1, *n, f), *n);
    fclose(f);
    return p;
}

static void write_bytes(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Several chunks, an edge that does not divide, an empty tensor, a scalar, every type. */
static const struct hdf5_tensor tensors[] = {
    { "param/bert.layer.weight", HDF5_F32, 2, { 700, 601 } },
    { "param/bias", HDF5_F32, 1, { 3 } },
    { "param/bytes", HDF5_I8, 2, { 1100, 1301 } },
    { "param/cube", HDF5_F32, 4, { 2, 3, 1, 5 } },
    { "param/none", HDF5_F32, 2, { 0, 4 } },
    { "param/one", HDF5_F32, 0, { 0 } },
    { "param/short", HDF5_BF16, 2, { 5, 9 } },
    { "param/wide", HDF5_F32, 2, { 2, 300001 } },
    { "state/cursor", HDF5_I64, 1, { 2 } },
    { "state/half", HDF5_F16, 2, { 3, 7 } },
    { "state/rng", HDF5_I32, 1, { 4 } },
    { "text", HDF5_U8, 1, { 11 } },
};

/* Returns the content of a tensor; different seeds give different content. */
static unsigned char *content(const struct hdf5_tensor *t, unsigned seed)
{
    size_t n = (size_t)hdf5_tensor_size(t) * hdf5_type_size(t->type);
    unsigned char *p = xmalloc(n);
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)((i + seed) * 2654435761u >> 13);
    return p;
}

static int write_file(const char *path, unsigned seed, int n, struct error *err)
{
    struct hdf5_writer *w = hdf5_create(path, err);
    int rc = w ? 0 : -1;

    for (int i = 0; i < n && rc == 0; i++) {
        unsigned char *p = content(&tensors[i], seed);
        rc = hdf5_put(w, &tensors[i], p, err);
        free(p);
    }
    return hdf5_finish(w, rc, err);
}

static void check_file(const char *path, unsigned seed, int n)
{
    struct hdf5_reader r;
    struct error err = { 0 };
    uint64_t sum;

    if (hdf5_open(&r, path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r.n, n);
    for (int i = 0; i < n; i++) {
        const struct hdf5_tensor *t = hdf5_find(&r, tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->type, tensors[i].type);
        assert_int_equal(t->ndim, tensors[i].ndim);
        assert_memory_equal(t->shape, tensors[i].shape, (size_t)t->ndim * sizeof *t->shape);
        size_t bytes = (size_t)hdf5_tensor_size(t) * hdf5_type_size(t->type);
        unsigned char *wanted = content(t, seed), *found = xmalloc(bytes);
        assert_int_equal(hdf5_get(&r, t, found, &sum, &err), 0);
        assert_true(sum == checksum_of(wanted, bytes));
        assert_memory_equal(found, wanted, bytes);
        free(wanted);
        free(found);
    }
    assert_null(hdf5_find(&r, "param"));
    hdf5_close(&r);
}

static void test_round_trip(void **state)
{
    struct error err;
    (void)state;
    assert_int_equal(write_file(file, 1, ARRAY_LEN(tensors), &err), 0);
    check_file(file, 1, ARRAY_LEN(tensors));
}

static void test_same_content_same_bytes(void **state)
{
    char other[160];
    size_t n, m;
    (void)state;

    snprintf(other, sizeof other, "%s/other.h5", dir);
    assert_int_equal(write_file(file, 1, ARRAY_LEN(tensors), NULL), 0);
    sleep(1); /* a stored time would differ now */
    assert_int_equal(write_file(other, 1, ARRAY_LEN(tensors), NULL), 0);
    char *a = read_bytes(file, &n), *b = read_bytes(other, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static void expect_refused(const char *says)
{
    struct hdf5_reader r;
    struct error err = { 0 };

    assert_int_equal(hdf5_open(&r, file, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    if (!strstr(err.text, file) || !strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void test_flipped_anywhere(void **state)
{
    size_t n;
    (void)state;
    assert_int_equal(write_file(file, 1, 4, NULL), 0);
    char *p = read_bytes(file, &n);
    int fd = open(file, O_WRONLY);
    for (size_t i = 0; i < n;
         i += i < 2048 ? 1 : n / 797) { /* all of the header and the first object headers, then samples */
        char flipped = (char)(p[i] ^ (1 << i % 8));
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)i), 1);
        expect_refused("");
        assert_int_equal(pwrite(fd, p + i, 1, (off_t)i), 1);
    }
    close(fd);
    check_file(file, 1, 4);
    free(p);
}

static void test_truncated_anywhere(void **state)
{
    size_t n;
    (void)state;
    assert_int_equal(write_file(file, 1, 4, NULL), 0);
    char *p = read_bytes(file, &n);
    for (size_t cut = 0; cut < n; cut += cut < 700 ? 1 : n / 97) {
        write_bytes(file, p, cut);
        expect_refused("");
    }
    char *longer = xmalloc(n + 1);
    memcpy(longer, p, n);
    longer[n] = 0;
    write_bytes(file, longer, n + 1);
    expect_refused("damaged or truncated");
    free(longer);
    free(p);
}

static void test_other_versions_and_files(void **state)
{
    size_t n;
    (void)state;
    assert_int_equal(write_file(file, 1, 2, NULL), 0);
    char *p = read_bytes(file, &n);
    assert_memory_equal(p, "ambit checkpoint 1\n", 19);
    p[17] = '2';
    write_bytes(file, p, n);
    expect_refused("expected format version 1, got 2");
    write_bytes(file, p + 512, n - 512); /* plain HDF5 without a header */
    expect_refused("expected an ambit checkpoint");
    write_bytes(file, "", 0);
    expect_refused("expected an ambit checkpoint");
    unlink(file);
    expect_refused("No such file");
    free(p);
}

static void rewrite_header(void)
{
    int fd = open(file, O_RDWR);
    assert_int_equal(hdf5_header_write(fd, file, NULL), 0);
    close(fd);
}

/* Damage under a valid header is detected by the hash of the tensor or of the chunk. */
static void test_damage_under_a_valid_header(void **state)
{
    struct hdf5_reader r;
    struct error err;
    float out[3];
    (void)state;

    assert_int_equal(write_file(file, 1, 2, NULL), 0);
    hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(f, "param/bias", H5P_DEFAULT);
    const float other[3] = { 1, 2, 3 };
    assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, other) >= 0);
    H5Dclose(set);
    H5Fclose(f);
    expect_refused("damaged or truncated"); /* any other writer breaks the header's hash */
    rewrite_header();
    assert_int_equal(hdf5_open(&r, file, &err), 0);
    assert_int_equal(hdf5_get(&r, hdf5_find(&r, "param/bias"), out, NULL, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_non_null(strstr(err.text, "param/bias: checksum: expected "));
    hdf5_close(&r);
}

/* A group of a thousand links has a heap; names of many lengths fill its blocks unevenly. */
static void test_many_tensors(void **state)
{
    enum { MANY = 3000 };
    struct hdf5_reader r;
    struct error err = { 0 };
    char name[300], long_name[280] = "";
    (void)state;

    memset(long_name, 'x', sizeof long_name - 1);
    struct hdf5_writer *w = hdf5_create(file, &err);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "param/%d.%.*s", i, i * 37 % 280, long_name);
        const struct hdf5_tensor t = { name, HDF5_I32, 1, { 1 } };
        assert_int_equal(hdf5_put(w, &t, &(int32_t){ i }, &err), 0);
    }
    assert_int_equal(hdf5_finish(w, 0, &err), 0);
    if (hdf5_open(&r, file, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r.n, MANY);
    for (int i = 0; i < MANY; i++) {
        int32_t found = -1;
        assert_int_equal(hdf5_get(&r, &r.tensors[i], &found, NULL, &err), 0);
        assert_int_equal(found, strtol(r.tensors[i].name + strlen("param/"), NULL, 10));
    }
    hdf5_close(&r);
}

/* The file can be read while another process has locked it, as h5py does, and where locks are not supported. */
static void test_locked(void **state)
{
    (void)state;
    assert_int_equal(write_file(file, 1, 2, NULL), 0);
    int fd = open(file, O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    check_file(file, 1, 2);
    assert_int_equal(write_file(file, 2, 2, NULL), 0); /* replaces the file */
    check_file(file, 2, 2);
    close(fd);
}

/* A child that keeps writing files is killed at random moments; the file is always one of the complete ones. */
static void test_killed_while_saving(void **state)
{
    struct error err;
    unsigned seed = 7;
    (void)state;

    assert_int_equal(write_file(file, 0, ARRAY_LEN(tensors), &err), 0);
    for (int round = 0; round < 25; round++) {
        pid_t child = fork();
        if (child == 0)
            for (unsigned k = 0;; k++)
                if (write_file(file, k % 5, ARRAY_LEN(tensors), NULL))
                    _exit(1);
        seed = seed * 1103515245u + 12345u;
        usleep(1000 + (seed >> 8) % 60000);
        int status;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        struct hdf5_reader r;
        unsigned char first;
        if (hdf5_open(&r, file, &err))
            fail_msg("round %d: %s", round, err.text);
        unsigned char *text = xmalloc(11);
        assert_int_equal(hdf5_get(&r, hdf5_find(&r, "text"), text, NULL, &err), 0);
        hdf5_close(&r);
        first = text[0];
        free(text);
        unsigned k = 0;
        for (; k < 5; k++) {
            unsigned char *p = content(&tensors[ARRAY_LEN(tensors) - 1], k);
            bool same = p[0] == first;
            free(p);
            if (same)
                break;
        }
        check_file(file, k, ARRAY_LEN(tensors));
    }
}

static void test_disk_full(void **state)
{
    struct rlimit old, limit;
    struct error err = { 0 };
    struct stat st;
    char tmp[160];
    (void)state;

    assert_int_equal(write_file(file, 3, 3, &err), 0);
    getrlimit(RLIMIT_FSIZE, &old);
    limit = (struct rlimit){ .rlim_cur = 600000, .rlim_max = old.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    int rc = write_file(file, 4, ARRAY_LEN(tensors), &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, EXIT_CODE_FAILURE);
    assert_non_null(strstr(err.text, "File too large"));
    snprintf(tmp, sizeof tmp, "%s.tmp", file);
    assert_int_equal(stat(tmp, &st), -1);
    check_file(file, 3, 3);
    assert_null(hdf5_create("/nonexistent/x.h5", &err));
    assert_non_null(strstr(err.text, "/nonexistent/x.h5.tmp: No such file"));
}

/* Test values of the XXH64 specification. */
static void test_checksum(void **state)
{
    unsigned char bytes[101];
    struct checksum c;
    (void)state;

    assert_true(checksum_of("", 0) == 0xef46db3751d8e999u);
    assert_true(checksum_of("abc", 3) == 0x44bc2cf5ad770999u);
    assert_true(checksum_of("Nobody inspects the spammish repetition", 39) == 0xfbcea83c8a378bf1u);
    for (int i = 0; i < 101; i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t first = 0; first <= 101; first++)
        for (size_t second = first; second <= 101; second += 9) {
            checksum_init(&c);
            checksum_update(&c, bytes, first);
            checksum_update(&c, bytes + first, second - first);
            checksum_update(&c, bytes + second, 101 - second);
            assert_true(checksum_final(&c) == checksum_of(bytes, 101));
        }
}

/* Malicious files with a valid header: unsupported structures are refused, and nothing is read beyond a buffer. */

static void write_bias(void)
{
    static const struct hdf5_tensor bias = { "param/bias", HDF5_F32, 1, { 3 } };
    struct error err = { 0 };
    struct hdf5_writer *w = hdf5_create(file, &err);

    assert_non_null(w);
    assert_int_equal(hdf5_finish(w, hdf5_put(w, &bias, (float[]){ 1, 2, 3 }, &err), &err), 0);
}

/* Opens a file of ambit's to add objects in ambit's format. */
static hid_t open_to_forge(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    write_bias();
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    hid_t f = H5Fopen(file, H5F_ACC_RDWR, access);
    H5Pclose(access);
    return f;
}

static void add_set(hid_t f, hid_t list, hid_t type, int ndim, const hsize_t *shape, const hsize_t *most)
{
    hid_t space = ndim ? H5Screate_simple(ndim, shape, most) : H5Screate(H5S_NULL);
    hid_t set = H5Dcreate2(f, "/param/forged", type, space, H5P_DEFAULT, list, H5P_DEFAULT);

    assert_true(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static void add_circle(hid_t f, hid_t list)
{
    (void)list;
    H5Lcreate_hard(f, "/param", f, "/param/param", H5P_DEFAULT, H5P_DEFAULT);
}

static void add_soft_link(hid_t f, hid_t list)
{
    (void)list;
    H5Lcreate_soft("/param/bias", f, "/param/soft", H5P_DEFAULT, H5P_DEFAULT);
}

static void add_external_link(hid_t f, hid_t list)
{
    (void)list;
    H5Lcreate_external("/etc/passwd", "/x", f, "/param/external", H5P_DEFAULT, H5P_DEFAULT);
}

static void add_huge(hid_t f, hid_t list)
{
    H5Pset_chunk(list, 2, (hsize_t[]){ 1, 64 });
    add_set(f, list, H5T_IEEE_F32LE, 2, (hsize_t[]){ 1u << 31, 1u << 31 }, NULL);
}

static void add_external_data(hid_t f, hid_t list)
{
    H5Pset_external(list, "/etc/passwd", 0, 4);
    add_set(f, list, H5T_STD_U8LE, 1, (hsize_t[]){ 4 }, NULL);
}

static void add_double(hid_t f, hid_t list)
{
    add_set(f, list, H5T_IEEE_F64LE, 1, (hsize_t[]){ 4 }, NULL);
}

static void add_compressed(hid_t f, hid_t list)
{
    H5Pset_chunk(list, 1, (hsize_t[]){ 4 });
    H5Pset_deflate(list, 1);
    add_set(f, list, H5T_STD_U8LE, 1, (hsize_t[]){ 4 }, NULL);
}

static void add_unfiltered(hid_t f, hid_t list)
{
    H5Pset_chunk(list, 1, (hsize_t[]){ 4 });
    add_set(f, list, H5T_STD_U8LE, 1, (hsize_t[]){ 4 }, NULL);
}

static void add_compact(hid_t f, hid_t list)
{
    H5Pset_layout(list, H5D_COMPACT);
    add_set(f, list, H5T_STD_U8LE, 1, (hsize_t[]){ 4 }, NULL);
}

static void add_growing(hid_t f, hid_t list)
{
    H5Pset_chunk(list, 1, (hsize_t[]){ 4 });
    H5Pset_fletcher32(list);
    add_set(f, list, H5T_STD_U8LE, 1, (hsize_t[]){ 4 }, (hsize_t[]){ H5S_UNLIMITED });
}

static void add_nothing(hid_t f, hid_t list)
{
    add_set(f, list, H5T_STD_U8LE, 0, NULL, NULL);
}

static void add_many_dimensions(hid_t f, hid_t list)
{
    add_set(f, list, H5T_STD_U8LE, 5, (hsize_t[]){ 1, 1, 1, 1, 1 }, NULL);
}

static void add_shared_type(hid_t f, hid_t list)
{
    hid_t type = H5Tcopy(H5T_STD_U8LE);

    H5Tcommit2(f, "/type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    add_set(f, list, type, 1, (hsize_t[]){ 4 }, NULL);
    H5Tclose(type);
}

static void add_attribute(hid_t f, hid_t list)
{
    hid_t set = H5Dopen2(f, "/param/bias", H5P_DEFAULT), space = H5Screate(H5S_SCALAR);

    (void)list;
    H5Aclose(H5Acreate2(set, "note", H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Dclose(set);
}

static void add_odd_name(hid_t f, hid_t list)
{
    (void)list;
    H5Gclose(H5Gcreate2(f, "/param/\x1b[31m", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static void add_depth(hid_t f, hid_t list)
{
    static const char *const groups[] = { "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/c/d/e" };
    hid_t make = H5Pcreate(H5P_GROUP_CREATE);

    (void)list;
    H5Pset_obj_track_times(make, 0);
    for (int i = 0; i < ARRAY_LEN(groups); i++)
        H5Gclose(H5Gcreate2(f, groups[i], H5P_DEFAULT, make, H5P_DEFAULT));
    H5Pclose(make);
}

/* Structures that an attacker could put into a file with a valid header. */
static void test_hostile_objects(void **state)
{
    static const struct {
        void (*add)(hid_t f, hid_t list);
        const char *says;
    } forgeries[] = {
        { add_circle, "not in ambit's format" },         { add_soft_link, "soft: not a tensor" },
        { add_external_link, "external: not a tensor" }, { add_huge, "its shape does not fit" },
        { add_external_data, "not in ambit's format" },  { add_double, "expected type f32" },
        { add_compressed, "not in ambit's format" },     { add_unfiltered, "not in ambit's format" },
        { add_compact, "not in ambit's format" },        { add_growing, "its shape is not in" },
        { add_nothing, "its shape is not in" },          { add_many_dimensions, "its shape is not in" },
        { add_shared_type, "not in ambit's format" },    { add_attribute, "not in ambit's format" },
        { add_odd_name, "holds an invalid name" },       { add_depth, "fewer groups in groups" },
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(forgeries); i++) {
        hid_t f = open_to_forge(), list = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_obj_track_times(list, 0);
        forgeries[i].add(f, list);
        H5Pclose(list);
        H5Fclose(f);
        rewrite_header();
        expect_refused(forgeries[i].says);
    }
}

/* Removes link counts from headers. */
static void forget_counts(void)
{
    static const char count[] = { 0x16, 5, 0 }, nothing[] = { 0 };
    static char bytes[1 << 18];
    int fd = open(file, O_RDWR);
    ssize_t n = read(fd, bytes, sizeof bytes);

    assert_true(n > HDF5_HEADER_BYTES && n < (ssize_t)sizeof bytes);
    for (ssize_t i = HDF5_HEADER_BYTES; i + (ssize_t)sizeof count < n; i++)
        if (!memcmp(bytes + i, count, sizeof count))
            assert_int_equal(pwrite(fd, nothing, 1, i), 1);
    close(fd);
}

/* Groups of a hundred links, each to the next group: a million paths in 20 KB. */
static void test_fan_of_links(void **state)
{
    hid_t f = open_to_forge(), group = H5Gopen2(f, "/param", H5P_DEFAULT);
    hid_t list = H5Pcreate(H5P_GROUP_CREATE);
    char name[16];
    (void)state;

    H5Pset_obj_track_times(list, 0);
    for (int level = 0; level < 3; level++) {
        hid_t next = H5Gcreate2(group, "z", H5P_DEFAULT, list, H5P_DEFAULT);
        for (int i = 0; i < 100; i++) {
            snprintf(name, sizeof name, "n%d", i);
            H5Lcreate_hard(group, "z", group, name, H5P_DEFAULT, H5P_DEFAULT);
        }
        H5Gclose(group);
        group = next;
    }
    H5Gclose(group);
    H5Pclose(list);
    H5Fclose(f);
    forget_counts();
    rewrite_header();
    expect_refused("its parts overlap");
}

/* A stored chunk has length 0; the HDF5 library's filter reads out of bounds there. */
static void test_short_chunk(void **state)
{
    struct hdf5_reader r;
    struct error err = { 0 };
    unsigned char text[64];
    (void)state;

    if (hdf5_open(&r, "tests/corpus/hdf5/fletcher32_underflow", &err))
        fail_msg("%s", err.text);
    assert_int_equal(hdf5_get(&r, hdf5_find(&r, "meta"), text, NULL, &err), -1);
    assert_error(err, "meta: its data are damaged");
    hdf5_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum),
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_content_same_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flipped_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_truncated_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_versions_and_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage_under_a_valid_header, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_tensors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_locked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_while_saving, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fan_of_links, setup, teardown),
        cmocka_unit_test(test_short_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
