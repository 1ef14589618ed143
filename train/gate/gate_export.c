#include "train/gate/gate_export.h"

#include "models/checkpoint/model_folder.h"
#include "models/gate/gate_model.h"

/* What a file tells of where it comes from and of how it is run. */
static json_t *kept_meta(const json_t *meta, enum weights_form form)
{
    static const char *const fields[] = { "kind",     "version", "commit", "seed",      "data_hash",
                                          "settings", "note",    "model",  "validation" };
    json_t *kept = json_object();

    for (int i = 0; i < ARRAY_LEN(fields); i++) {
        json_t *value = json_object_get(meta, fields[i]);
        if (value)
            json_object_set(kept, fields[i], value);
    }
    json_object_set_new(kept, "weights", json_string(weights_words[form]));
    return kept;
}

/* The weights are taken from the file, which has them in f32 also where the model computes in bf16. */
static int write_detector(const struct hdf5_reader *file, struct gate_model *m, const char *to, enum weights_form form,
                          struct error *err)
{
    json_t *meta = checkpoint_meta(file, err);

    if (!meta)
        return -1;
    struct checkpoint c = { .params = &m->params, .meta = kept_meta(meta, form), .weights = form };
    int rc = checkpoint_copy(to, &c, file, err) || tokenizer_save_json(m->tokenizer, to, err) ? -1 : 0;
    json_decref(c.meta);
    json_decref(meta);
    return rc;
}

static int check_kind(const struct hdf5_reader *file, struct error *err)
{
    json_t *meta = checkpoint_meta(file, err);
    int rc = meta ? model_folder_check_kind(meta, "gatekeeper", file->path, err) : -1;

    json_decref(meta);
    return rc;
}

int gate_export(const char *run, const char *to, enum weights_form form, struct error *err)
{
    struct gate_model model = { 0 };
    struct hdf5_reader file;
    struct device device;

    if (checkpoint_open(&file, run, err))
        return -1;
    int rc = check_kind(&file, err) || device_open(&device, "cpu", err) ? -1 : 0;
    if (rc == 0) {
        rc = gate_model_open(&model, &device, file.path, err) || write_detector(&file, &model, to, form, err) ? -1 : 0;
        gate_model_release(&model);
        device_close(&device);
    }
    hdf5_close(&file);
    return rc;
}
