/* Any bytes as one of the small files of a model folder, chosen by the first byte. The file is refused by name, or the
 * tokenizer and the chat template can be used. */
#include "tests/support/fuzz.h"

#include "models/io/safetensors.h"
#include "models/text/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const files[] = { "vocab.txt", "tokenizer_config.json", "special_tokens_map.json",
                                     "chat_template.jinja", "model.safetensors.index.json" };
static char dir[] = P_tmpdir "/fuzz_model_folder_XXXXXX";

static void write_file(const char *name, const void *data, size_t size)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0, "cannot write %s", path);
}

static void remove_files(void)
{
    char path[128];

    for (int i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
}

static void remove_folder(void)
{
    remove_files();
    rmdir(dir);
}

static void make_folder(void)
{
    CHECK(mkdtemp(dir) && atexit(remove_folder) == 0, "no folder");
}

static void use_chat(const struct tokenizer *t)
{
    struct chat_message turns[] = { { "system", "s" }, { "user", "a" }, { "assistant", "b" }, { "user", "c" } };
    struct chat_messages messages = { turns, 4, 4 };
    struct chat_text text = { 0 };
    struct ids ids = { 0 };
    struct error err = { .code = EXIT_CODE_OK };
    struct chat c;

    if (chat_open(&c, dir, NULL, t, &err) == 0) {
        chat_render(&c, &messages, true, &text);
        chat_encode(t, &text, &ids, NULL);
        chat_release(&c);
    } else {
        CHECK(err.code == EXIT_CODE_CHECKPOINT || err.code == EXIT_CODE_DATA, "%s", err.text);
    }
    chat_text_release(&text);
    ids_release(&ids);
}

static void use_folder(void)
{
    struct error err = { .code = EXIT_CODE_OK };
    struct tokenizer *t = tokenizer_open(dir, &err);
    struct safetensors s;

    CHECK(t || (err.code == EXIT_CODE_CHECKPOINT && *err.text), "%s", err.text);
    if (t)
        use_chat(t);
    tokenizer_close(t);
    if (safetensors_open(&s, dir, &err) == 0)
        safetensors_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\n";

    if (size == 0)
        return 0;
    setenv("AMBIT_LOG", "error", 1);
    if (strstr(dir, "XXXXXX"))
        make_folder();
    remove_files();
    write_file("vocab.txt", vocab, sizeof vocab - 1);
    write_file(files[data[0] % ARRAY_LEN(files)], data + 1, size - 1);
    use_folder();
    return 0;
}
