#include "models/lm/hf_folder.h"

#include "data/base/json.h"
#include "data/base/whole_file.h"
#include "models/hf/hf_weights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_TEXT_FILE (INT64_C(1) << 30) /* bytes of what is copied */

/* The tokenizer in every form that some tool reads, llama.cpp tokenizer.model for one, and the chat template. */
static const char *const text_files[] = { "tokenizer.json",
                                          "tokenizer_config.json",
                                          "tokenizer.model",
                                          "spiece.model",
                                          "sentencepiece.bpe.model",
                                          "vocab.json",
                                          "vocab.txt",
                                          "merges.txt",
                                          "added_tokens.json",
                                          "special_tokens_map.json",
                                          "chat_template.jinja",
                                          "chat_template.json" };
static const char *const config_files[] = { "config.json", "generation_config.json" };

static int copy_bytes(FILE *in, struct out_file *out, const char *path, struct error *err)
{
    char buffer[1 << 16];
    size_t n;

    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
        if (fwrite(buffer, 1, n, out->f) != n)
            return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", out->path, strerror(errno));
    return ferror(in) ? error_set(err, EXIT_CODE_CHECKPOINT, "%s: cannot read: %s", path, strerror(errno)) : 0;
}

/* A file that is not there is not copied. */
static int copy_file(const char *from, const char *to, const char *name, struct error *err)
{
    char source[4096], target[4096];
    struct out_file out = { 0 };

    snprintf(source, sizeof source, "%s/%s", from, name);
    snprintf(target, sizeof target, "%s/%s", to, name);
    if (access(source, F_OK) && errno == ENOENT)
        return 0;
    FILE *in = whole_file_open(source, MAX_TEXT_FILE, err);
    if (!in) {
        if (err)
            err->code = EXIT_CODE_CHECKPOINT;
        return -1;
    }
    int rc = out_file_open(&out, target, err);
    if (rc == 0 && (rc = copy_bytes(in, &out, source, err)) == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    fclose(in);
    return rc;
}

static int copy_files(const char *from, const char *to, const char *const *names, int n, struct error *err)
{
    for (int i = 0; i < n; i++)
        if (copy_file(from, to, names[i], err))
            return -1;
    return 0;
}

/* The copied config.json says no longer that the head is the embedding table where it is another matrix. */
static int untie_config(const char *dir, struct error *err)
{
    struct llama_config said;
    char *path = path_in(dir, "config.json");
    json_t *config = json_read_file(path, err);
    int rc = config ? llama_config_parse(&said, config, path, err) : -1;

    if (rc == 0 && said.tied) {
        json_object_set_new(config, "tie_word_embeddings", json_false());
        rc = json_write_file(path, config, err);
    }
    json_decref(config);
    free(path);
    return rc;
}

static int copy_config(const struct llama_model *m, const char *from, const char *dir, struct error *err)
{
    if (copy_files(from, dir, config_files, ARRAY_LEN(config_files), err))
        return -1;
    return m->seq2seq || m->net.config.tied ? 0 : untie_config(dir, err);
}

static int write_config(const struct llama_model *m, const char *dir, struct error *err)
{
    return m->seq2seq ? t5_config_write(&m->t5.config, dir, m->dtype, err)
                      : llama_config_write(&m->net.config, dir, m->dtype, err);
}

int llama_folder_save(const struct llama_model *m, const char *from, bool same_config, const char *dir,
                      struct error *err)
{
    if (make_dirs(dir, err) || copy_files(from, dir, text_files, ARRAY_LEN(text_files), err) ||
        (same_config ? copy_config(m, from, dir, err) : write_config(m, dir, err)))
        return -1;
    const struct hf_rules *rules = m->seq2seq ? &hf_t5_rules : &hf_llama_rules;
    return hf_weights_save(&m->params, m->device, dir, rules, m->dtype, err);
}
