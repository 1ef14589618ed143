/* Malicious checkpoints with a valid header: unsupported structures are refused, and nothing is read beyond a buffer.
 */
#include "models/io/hdf5.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void write_file(void)
{
    static const struct hdf5_tensor bias = { "param/bias", HDF5_F32, 1, { 3 } };
    struct error err = { 0 };
    struct hdf5_writer *w = hdf5_create(file, &err);

    assert_non_null(w);
    assert_int_equal(hdf5_finish(w, hdf5_put(w, &bias, (float[]){ 1, 2, 3 }, &err), &err), 0);
}

static void rewrite_header(void)
{
    int fd = open(file, O_RDWR);
    assert_int_equal(hdf5_header_write(fd, file, NULL), 0);
    close(fd);
}

static void expect_refused(const char *says)
{
    struct hdf5_reader r;
    struct error err = { 0 };

    if (hdf5_open(&r, file, &err) == 0)
        fail_msg("accepted, expected \"%s\"", says);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_error(err, file, says);
}

/* Opens a file of ambit's to add objects in ambit's format. */
static hid_t open_to_forge(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    write_file();
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
        cmocka_unit_test_setup_teardown(test_hostile_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fan_of_links, setup, teardown),
        cmocka_unit_test(test_short_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
