/* Part of wordnet.h: writes wordnet_table.c from WordNet's index.noun and data.noun (formats: wndb(5WN)). The build
 * runs it. The same data give the same bytes. Usage: make_table WORDNET_DIR OUT.c */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1 << 16, MAX_SYNONYMS = 64, MAX_SENSES = 2, FILE_ANIMAL = 5, FILE_PLANT = 20 };

static FILE *open_or_exit(const char *dir, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", dir, name ? "/" : "", name ? name : "");
    FILE *f = fopen(path, mode);
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

/* Returns true for a word of lower-case letters and underscores with at least three letters. */
static bool plain(const char *word)
{
    return strlen(word) >= 3 && strspn(word, "abcdefghijklmnopqrstuvwxyz_") == strlen(word);
}

struct synonym_list {
    char words[MAX_SYNONYMS][64];
    int n;
};

static void add(struct synonym_list *s, const char *noun, const char *word)
{
    if (s->n == MAX_SYNONYMS || strlen(word) >= sizeof *s->words || !plain(word) || strcmp(word, noun) == 0)
        return;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->words[i], word) == 0)
            return;
    memcpy(s->words[s->n++], word, strlen(word) + 1);
}

/* Adds the words of the synset at this byte offset. Format: "offset file type count word id word id ..." with a
 * hexadecimal count. */
static void add_synset(struct synonym_list *s, FILE *data, const char *noun, long offset, bool tagged)
{
    static char line[MAX_LINE];
    char *state = NULL;

    if (fseek(data, offset, SEEK_SET) || !fgets(line, sizeof line, data))
        return;
    strtok_r(line, " ", &state);
    long file = strtol(strtok_r(NULL, " ", &state), NULL, 10);
    if (!tagged && (file == FILE_ANIMAL || file == FILE_PLANT))
        return;
    strtok_r(NULL, " ", &state);
    for (long n = strtol(strtok_r(NULL, " ", &state), NULL, 16); n > 0; n--) {
        add(s, noun, strtok_r(NULL, " ", &state));
        strtok_r(NULL, " ", &state);
    }
}

/* Parses "lemma n synsets pointers pointer... senses tagged offset...". Returns true if the noun has synonyms to write.
 */
static bool read_entry(struct synonym_list *s, char *line, FILE *data, const char **noun)
{
    char *state = NULL;

    s->n = 0;
    *noun = strtok_r(line, " ", &state);
    if (!plain(*noun))
        return false;
    strtok_r(NULL, " ", &state);
    long senses = strtol(strtok_r(NULL, " ", &state), NULL, 10);
    for (long n = strtol(strtok_r(NULL, " ", &state), NULL, 10) + 1; n > 0; n--)
        strtok_r(NULL, " ", &state);
    long tagged = strtol(strtok_r(NULL, " ", &state), NULL, 10);
    if (tagged == 0 && strchr(*noun, '_'))
        return false;
    for (long i = 0; i < senses && i < MAX_SENSES && (i == 0 || i < tagged); i++)
        add_synset(s, data, *noun, strtol(strtok_r(NULL, " ", &state), NULL, 10), tagged > 0);
    return s->n > 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Formats the C initialiser of an entry. The caller frees it. */
static char *format(const char *noun, const struct synonym_list *s)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        exit(1);
    fprintf(f, "    { \"%s\", \"", noun);
    for (int i = 0; i < s->n; i++)
        fprintf(f, "%s%s", i ? " " : "", s->words[i]);
    fputs("\" },\n", f);
    fclose(f);
    return text;
}

static char **grow(char **entries, size_t n)
{
    char **more = realloc(entries, n * sizeof *entries);
    if (!more)
        exit(1);
    return more;
}

int main(int argc, char **argv)
{
    static char line[MAX_LINE];
    struct synonym_list s;
    const char *noun;
    char **entries = NULL;
    size_t n = 0;

    if (argc != 3) {
        fprintf(stderr, "usage: make_table WORDNET_DIR OUT.c\n");
        return 2;
    }
    FILE *index = open_or_exit(argv[1], "index.noun", "rb"), *data = open_or_exit(argv[1], "data.noun", "rb");
    while (fgets(line, sizeof line, index))
        if (!isspace((unsigned char)*line) && read_entry(&s, line, data, &noun)) {
            if ((n & (n - 1)) == 0)
                entries = grow(entries, n ? 2 * n : 1);
            entries[n++] = format(noun, &s);
        }
    if (n)
        qsort(entries, n, sizeof *entries, compare);
    FILE *out = open_or_exit(argv[2], NULL, "wb");
    fputs("#include \"data/synth/wordnet/wordnet.h\"\n\nconst struct wordnet_noun wordnet_nouns[] = {\n", out);
    for (size_t i = 0; i < n; free(entries[i++]))
        fputs(entries[i], out);
    fprintf(out, "};\nconst int wordnet_n_nouns = %zu;\n", n);
    free(entries);
    fclose(index);
    fclose(data);
    return n == 0 || fclose(out) != 0;
}
