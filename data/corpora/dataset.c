#include "data/corpora/dataset.h"

#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const split_stems[SPLITS] = { "train", "valid", "test" };

const char *split_name(enum data_split f)
{
    return split_stems[f];
}

/* Returns DIR/NAME; the caller frees it. */
static char *join(const char *dir, const char *name, const char *ending)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/%s%s", dir, name, ending) >= 0, "cannot format a path in %s", dir);
    return path;
}

static int check_example(const struct dataset *d, const struct example *e, struct error *err)
{
    const struct schema *s = schema_find(&d->schemas, e->db_id);
    int table, column;

    if (!s)
        return error_set(err, EXIT_CODE_DATA, "example %s: db_id \"%s\" is not in tables.json", e->id, e->db_id);
    for (int i = 0; i < 2; i++)
        if (e->alternatives[i] && example_element(s, e->alternatives[i], &table, &column))
            return error_set(err, EXIT_CODE_DATA, "example %s: schema %s has no element \"%s\"", e->id, e->db_id,
                             e->alternatives[i]);
    for (int i = 0; i < 2 * e->n_further; i++)
        if (example_element(s, e->further[i / 2][i % 2], &table, &column))
            return error_set(err, EXIT_CODE_DATA, "example %s: schema %s has no element \"%s\"", e->id, e->db_id,
                             e->further[i / 2][i % 2]);
    for (int i = 0; i < e->n_renamed; i++) {
        const struct schema *r = schema_find(&d->schemas, e->renamed[i]);
        if (!r || r->n_tables != s->n_tables || r->n_columns != s->n_columns)
            return error_set(err, EXIT_CODE_DATA, "example %s: renamed schema \"%s\" %s", e->id, e->renamed[i],
                             r ? "has another number of tables and columns than db_id's" : "is not in tables.json");
    }
    return 0;
}

static int read_split(struct dataset *d, enum data_split f, const char *dir, struct error *err)
{
    char *path = join(dir, split_name(f), ".jsonl");
    int rc = example_list_read(&d->splits[f], path, err);

    for (int i = 0; i < d->splits[f].n && rc == 0; i++)
        if ((rc = check_example(d, &d->splits[f].items[i], err)))
            error_prefix(err, "%s", path);
    free(path);
    return rc;
}

/* Adds the expected kind of folder to the error that tables.json is missing. */
static void explain_folder(const char *dir, struct error *err)
{
    struct stat st;

    if (!err)
        return;
    const struct error fault = *err;
    bool file = stat(dir, &st) == 0 && S_ISREG(st.st_mode);

    error_set(err, fault.code, "%s; expected a folder of ambit-data contrast, natural or practice%s", fault.text,
              file ? "; a file of labelled questions needs --db or --schema" : "");
}

int dataset_read(struct dataset *d, const char *dir, struct error *err)
{
    *d = (struct dataset){ 0 };
    char *path = join(dir, "tables", ".json");
    int rc = schema_set_open(&d->schemas, path, err);

    if (rc && access(path, F_OK) != 0)
        explain_folder(dir, err);
    free(path);
    for (int f = 0; f < SPLITS && rc == 0; f++)
        rc = read_split(d, (enum data_split)f, dir, err);
    return rc;
}

void dataset_release(struct dataset *d)
{
    schema_set_close(&d->schemas);
    for (int f = 0; f < SPLITS; f++)
        example_list_release(&d->splits[f]);
    strings_release(&d->names);
    *d = (struct dataset){ 0 };
}

int dataset_join(struct dataset *d, struct dataset *from, struct error *err)
{
    while (from->schemas.n) {
        struct schema *last = &from->schemas.schemas[--from->schemas.n];
        if (schema_set_add(&d->schemas, last, err))
            return -1;
    }
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < from->splits[f].n; i++)
            example_list_add(&d->splits[f], &from->splits[f].items[i]);
    return 0;
}

int dataset_write_schemas(const struct schema_set *s, struct out_file *o, struct error *err)
{
    fputs("[\n", o->f);
    for (int i = 0; i < s->n; i++) {
        json_t *v = schema_to_json(&s->schemas[i]);
        if (i)
            putc(',', o->f);
        int rc = json_write_line(o, v, err);
        json_decref(v);
        if (rc)
            return rc;
    }
    fputs("]\n", o->f);
    return 0;
}

static int write_examples(const struct example_list *l, struct out_file *o, struct error *err)
{
    for (int i = 0; i < l->n; i++)
        if (example_write(o, &l->items[i], err))
            return -1;
    return 0;
}

int dataset_write(const struct dataset *d, const char *dir, bool force, struct error *err)
{
    struct out_file files[SPLITS + 1] = { 0 };
    int rc = make_dirs(dir, err);

    for (int i = 0; i <= SPLITS && rc == 0; i++) {
        char *path = i < SPLITS ? join(dir, split_name((enum data_split)i), ".jsonl") : join(dir, "tables", ".json");
        rc = out_file_open(&files[i], path, err);
        free(path);
        if (rc == 0)
            rc = i < SPLITS ? write_examples(&d->splits[i], &files[i], err)
                            : dataset_write_schemas(&d->schemas, &files[i], err);
    }
    if (rc == 0)
        rc = out_files_commit(files, SPLITS + 1, force, err);
    for (int i = 0; i <= SPLITS; i++)
        out_file_abort(&files[i]);
    return rc;
}

/* Checks that every value of a field occurs in only one split. */
static int check_field(const struct dataset *d, size_t offset, const char *what, struct error *err)
{
    size_t total =
        (size_t)d->splits[SPLIT_TRAIN].n + (size_t)d->splits[SPLIT_VALID].n + (size_t)d->splits[SPLIT_TEST].n;
    struct strings seen = { 0 };
    int *split = xcalloc(total, sizeof *split), rc = 0;

    for (int f = 0; f < SPLITS && rc == 0; f++)
        for (int i = 0; i < d->splits[f].n && rc == 0; i++) {
            const char *text = *(const char *const *)(const void *)((const char *)&d->splits[f].items[i] + offset);
            int before = seen.n, at = strings_add(&seen, text);
            if (at == before)
                split[at] = f;
            if (split[at] != f)
                rc = error_set(err, EXIT_CODE_DATA, "the %s \"%s\" is in both %s and %s", what, text,
                               split_name((enum data_split)split[at]), split_name((enum data_split)f));
        }
    free(split);
    strings_release(&seen);
    return rc;
}

int dataset_overlap(const struct dataset *d, enum data_split f, bool databases)
{
    const struct example_list *train = &d->splits[SPLIT_TRAIN], *list = &d->splits[f];
    struct strings known = { 0 };
    int n = 0;

    for (int i = 0; i < train->n; i++)
        strings_add(&known, databases ? train->items[i].source_db : train->items[i].question);
    for (int i = 0; i < list->n; i++)
        n += strings_find(&known, databases ? list->items[i].source_db : list->items[i].question) >= 0;
    strings_release(&known);
    return n;
}

int dataset_check_splits(const struct dataset *d, struct error *err)
{
    return check_field(d, offsetof(struct example, source_db), "database", err) ||
                   check_field(d, offsetof(struct example, question), "question", err)
               ? -1
               : 0;
}

static int check_balance(const struct example_list *l, size_t offset, const char *what, const char *split,
                         struct error *err)
{
    struct strings seen = { 0 };
    int *sum = xcalloc((size_t)l->n, sizeof *sum), rc = 0;

    for (int i = 0; i < l->n; i++)
        if (l->items[i].slice == EXAMPLE_CONTRAST) {
            const char *text = *(const char *const *)(const void *)((const char *)&l->items[i] + offset);
            sum[strings_add(&seen, text)] += l->items[i].ambiguous ? 1 : -1;
        }
    for (int i = 0; i < seen.n && rc == 0; i++)
        if (sum[i])
            rc = error_set(err, EXIT_CODE_DATA, "%s: the %s \"%s\" has %d ambiguous examples %s than clear ones", split,
                           what, seen.items[i], abs(sum[i]), sum[i] > 0 ? "more" : "fewer");
    free(sum);
    strings_release(&seen);
    return rc;
}

int dataset_check_balance(const struct dataset *d, struct error *err)
{
    for (int f = 0; f < SPLITS; f++)
        if (check_balance(&d->splits[f], offsetof(struct example, question), "question", split_stems[f], err) ||
            check_balance(&d->splits[f], offsetof(struct example, db_id), "schema", split_stems[f], err))
            return -1;
    return 0;
}

/* Prints a row for each ambiguity type, those of the schema first. */
static void print_slice(const struct example_list *l, enum data_split f, enum example_slice slice, FILE *out)
{
    int counts[AMBIGUITY_TYPES][2] = { { 0 } };

    for (int i = 0; i < l->n; i++) {
        const struct example *e = &l->items[i];
        if (e->slice == slice)
            counts[ambiguity_type_of(e->type, e->linguistic)][e->ambiguous]++;
    }
    for (int k = 0; k < AMBIGUITY_TYPES; k++)
        if (counts[k][0] + counts[k][1])
            fprintf(out, "%-6s %-14s %-10s %9d %14d\n", split_name(f), example_slice_name(slice),
                    ambiguity_types[k].name, counts[k][1], counts[k][0]);
}

static void print_counts(const struct dataset *d, FILE *out)
{
    fprintf(out, "%-6s %-14s %-10s %9s %14s\n", "split", "slice", "type", "ambiguous", "not ambiguous");
    for (int f = 0; f < SPLITS; f++)
        for (int s = 0; s < EXAMPLE_SLICES; s++)
            print_slice(&d->splits[f], (enum data_split)f, (enum example_slice)s, out);
}

int dataset_deliver(const struct dataset *d, const char *dir, bool force, FILE *table, struct error *err)
{
    if (dataset_write(d, dir, force, err))
        return -1;
    print_counts(d, table);
    return 0;
}
