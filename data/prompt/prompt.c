#include "data/prompt/prompt.h"

#include "data/base/json.h"
#include "data/base/whole_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEMPLATE = 1 << 20 };

#define WRITE_SQL                                                                                                      \
    "The task is to write SQL queries based on the provided questions in English. Questions can take the form of an "  \
    "instruction or command"
#define MAY_BE_AMBIGUOUS                                                                                               \
    " and can be ambiguous, meaning they can be interpreted in different ways. In such cases, write all possible SQL " \
    "queries corresponding to different interpretations and separate each SQL query with an empty line. "
#define NOTHING_ELSE                                                                                                   \
    "Do not include any explanations, and do not select extra columns beyond those requested in the question.\n\n"
#define FOR_DATABASE "Given the following SQLite database schema:\n\n{}\n\nAnswer the following:\n{}\n\n"

static const struct {
    const char *file;
    int slots;
    const char *text;
} builtin[PROMPT_KINDS] = {
    [PROMPT_DEF] = { "def.txt", 2,
                     "You are tasked with analyzing questions and providing their possible interpretations. The "
                     "questions are related to database queries and may be ambiguous or unambiguous.\n\n"
                     "Your task:\n"
                     "- List every distinct way the question could be understood\n"
                     "- Be thorough and consider all possible meanings\n"
                     "- Explore different ways the question could be interpreted\n"
                     "- Don't limit yourself to obvious interpretations\n\n"
                     "Important:\n"
                     "- List each interpretation on a separate line\n"
                     "- Do not include explanations or reasoning\n"
                     "- Focus on semantically different interpretations\n"
                     "- Be specific and precise in wording\n\n"
                     "Given the following database context:\n\n{}\n\n"
                     "Provide interpretations for this question:\n{}\n\n" },
    [PROMPT_FILL] = { "fill.txt", 3,
                      "The task is to review the provided context, question, and existing interpretations, and "
                      "determine if any additional interpretations are missing. If there are missing interpretations, "
                      "list them on separate lines without explanations. If all interpretations have already been "
                      "covered, simply state: \"All possible interpretations are covered.\"\n\n"
                      "Given the following context:\n\n{}\n\n"
                      "Question:\n\n{}\n\n"
                      "Existing interpretations:\n\n{}\n\n"
                      "Provide any missing interpretations or confirm that all possible interpretations are "
                      "covered.\n" },
    [PROMPT_SQL] = { "sql.txt", 2, WRITE_SQL ". " NOTHING_ELSE FOR_DATABASE },
    [PROMPT_REWRITE] = { "rewrite.txt", 2,
                         "Your task is to rewrite the question using a given word or phrase.\n\n"
                         "Examples:\n\n"
                         "Question:\nShow titles of songs and names of singers.\n\n"
                         "Please rewrite using \"stage name\":\n"
                         "Give me titles of songs and stage names of singers.\n\n"
                         "Question:\nShow the name of the conductor that has conducted the most number of "
                         "orchestras.\n\n"
                         "Please rewrite using \"director\":\n"
                         "List the name of the director who has conducted the most number of orchestras.\n\n"
                         "Question:\nReturn the id of the document with the fewest paragraphs.\n\n"
                         "Please rewrite using \"passages\":\n"
                         "What is the id of the document with the fewest passages?\n\n"
                         "Please provide rewritten question for the following instance. Do not add any explanation or "
                         "description, output only the rewritten question.\n\n"
                         "Question:\n{}\n\n"
                         "Please rewrite using \"{}\":\n" },
    [PROMPT_E2E] = { "e2e.txt", 2, WRITE_SQL MAY_BE_AMBIGUOUS NOTHING_ELSE FOR_DATABASE },
    [PROMPT_E2E_SHOTS] = { "e2e-shots.txt", 3,
                           WRITE_SQL MAY_BE_AMBIGUOUS NOTHING_ELSE
                           "Some example databases, questions and corresponding SQL queries are provided based on "
                           "similar problems:\n\n{}\n\n" FOR_DATABASE },
    [PROMPT_CORRECT] = { "correct.txt", 3,
                         "The task is to review the provided context, question, and candidate interpretations, and based "
                         "on this information provide the interpretations that accurately reflect the meaning (or one of "
                         "the possible meanings) of the question. If any of the candidate interpretations are correct, "
                         "provide them as a list of interpretations. If there are missing interpretations, provide them as "
                         "well. Avoid providing interpretations that are incorrect or duplicates. Do not provide any "
                         "explanations.\n\n"
                         "Given the following context:\n\n{}\n\n"
                         "Question:\n\n{}\n\n"
                         "Candidate interpretations:\n\n{}\n\n"
                         "Provide the interpretations that accurately reflect the meaning (or one of the possible meanings) "
                         "of the question.\n" },
    [PROMPT_PAIRS] = { "pairs.txt", 2,
                       "The task is to interpret a question in English about a database and to answer it with SQL. The "
                       "question may be ambiguous. Write every interpretation of the question on one line, and on the "
                       "next line the SQL query for this interpretation, which ends with a semicolon. Separate "
                       "interpretations with an empty line. If the question has a single meaning, write a single "
                       "interpretation. Do not include any explanations.\n\n"
                       "Given the following SQLite database schema:\n\n{}\n\n"
                       "Question:\n{}\n\n" },
    [PROMPT_GOLD] = { "gold.txt", 2, /* it begins with a quote, as published */
                      "\"Provide all possible interpretations for ambiguous questions in English. The question may be "
                      "phrased as an instruction or command and will relate to the given database:\n\n{}\n\n"
                      "Do not include explanations.\n\n"
                      "Question:\n{}\n\n" },
};

const char *prompt_file(enum prompt_kind kind)
{
    return builtin[kind].file;
}

enum prompt_kind prompt_kind_of(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    int i = 0;

    while (i < PROMPT_KINDS && (!n || strncmp(builtin[i].file, name, n) || strcmp(builtin[i].file + n, ".txt")))
        i++;
    return (enum prompt_kind)i;
}

int prompt_slots(enum prompt_kind kind)
{
    return builtin[kind].slots;
}

static int count_slots(const char *text)
{
    int n = 0;
    for (; (text = strstr(text, "{}")); text += 2)
        n++;
    return n;
}

/* NULL with EXIT_CODE_DATA.  The caller frees. */
static char *read_text(const char *path, struct error *err)
{
    size_t n;
    char *text = whole_file_read(path, MAX_TEMPLATE, &n, err);

    if (!text || !memchr(text, '\0', n))
        return text;
    error_set(err, EXIT_CODE_DATA, "%s: holds a zero byte, expected text", path);
    free(text);
    return NULL;
}

/* 1 if dir has the file, 0 if not, -1 with an error. */
static int replace(struct prompts *p, enum prompt_kind kind, const char *dir, struct error *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", dir, builtin[kind].file) >= (int)sizeof path)
        return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", dir);
    if (access(path, F_OK) != 0)
        return 0;
    char *text = read_text(path, err);
    if (!text)
        return -1;
    free(p->text[kind]);
    p->text[kind] = text;
    int n = count_slots(text);
    if (n != builtin[kind].slots)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected %d slots {}, got %d", path, builtin[kind].slots, n);
    return 1;
}

int prompts_open(struct prompts *p, const char *dir, struct error *err)
{
    int found = 0;

    for (int i = 0; i < PROMPT_KINDS; i++)
        p->text[i] = xstrdup(builtin[i].text);
    for (int i = 0; dir && i < PROMPT_KINDS; i++) {
        int rc = replace(p, (enum prompt_kind)i, dir, err);
        if (rc < 0)
            return -1;
        found += rc;
    }
    if (dir && !found)
        return error_set(
            err, EXIT_CODE_USAGE,
            "%s: expected def.txt, fill.txt, sql.txt, rewrite.txt, e2e.txt, gold.txt, e2e-shots.txt, correct.txt or pairs.txt, "
            "got none",
            dir);
    return 0;
}

void prompts_release(struct prompts *p)
{
    for (int i = 0; i < PROMPT_KINDS; i++)
        free(p->text[i]);
    *p = (struct prompts){ 0 };
}

uint64_t prompts_hash(const struct prompts *p)
{
    uint64_t h = HASH_START;

    for (int i = 0; i < PROMPT_KINDS; i++)
        h = hash_bytes(h, p->text[i], strlen(p->text[i]) + 1);
    return h;
}

char *prompt_fill(const struct prompts *p, enum prompt_kind kind, const char *const *slots)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *at = p->text[kind], *slot;

    CHECK(out, "out of memory");
    for (int i = 0; (slot = strstr(at, "{}")); i++, at = slot + 2) {
        fwrite(at, 1, (size_t)(slot - at), out);
        fputs(slots[i], out);
    }
    fputs(at, out);
    CHECK(fclose(out) == 0, "out of memory");
    return text;
}

static int write_prompt(enum prompt_kind kind, const char *dir, struct out_file *o, struct error *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", dir, builtin[kind].file) >= (int)sizeof path)
        return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", dir);
    if (out_file_open(o, path, err))
        return -1;
    fputs(builtin[kind].text, o->f);
    return 0;
}

int prompts_write(const char *dir, bool force, struct error *err)
{
    struct out_file files[PROMPT_KINDS] = { 0 };
    int rc = make_dirs(dir, err);

    for (int i = 0; i < PROMPT_KINDS && rc == 0; i++)
        rc = write_prompt((enum prompt_kind)i, dir, &files[i], err);
    if (rc == 0)
        rc = out_files_commit(files, PROMPT_KINDS, force, err);
    for (int i = 0; i < PROMPT_KINDS; i++)
        out_file_abort(&files[i]);
    return rc;
}

static const char list_task[] =
    "You are a helpful assistant that converts provided English questions to SQL queries with respect to a provided "
    "schema.";
static const char list_example_schema[] =
    "stadium : location (\"East Fife\", \"Arbroath\", \"East Fife\"), name (\"Forthbank Stadium\", \"Hampden Park\", "
    "\"Gayfield Park\"), average (552, 552, 864), stadium_id (9, 2, 4), capacity (3808, 4000, 3960), lowest (533, 331, "
    "466), highest (837, 921, 2363) | singer : singer_id (1, 6, 4), name (\"Joe Sharp\", \"Tribal King\", "
    "\"Timbaland\"), song_name (\"Sun\", \"You\", \"Gentleman\"), song_release_year (\"2014\", \"2008\", \"1992\"), age "
    "(41, 25, 29), is_male (\"F\", \"T\"), country (\"Netherlands\", \"United States\", \"France\") | concert : theme "
    "(\"Wide Awake\", \"Bleeding Love\", \"Happy Tonight\"), stadium_id (\"1\", \"1\", \"1\"), concert_id (2, 6, 6), "
    "concert_name (\"Home Visits\", \"Super bootcamp\", \"Week 1\"), year (\"2014\", \"2015\") | singer_in_concert : "
    "concert_id (2, 6, 5), singer_id (\"3\", \"4\", \"5\")";
static const char list_example_answer[] =
    "{\n"
    "    \"queries\": [\n"
    "        \"select t2.name, count(*) from concert as t1 join stadium as t2 on t1.stadium_id = t2.stadium_id group by "
    "t1.stadium_id\",\n"
    "        \"select t3.name, count(*) from concert as t1 join stadium as t2 on t1.stadium_id = t2.stadium_id join singer "
    "as t3 on t1.singer_id = t3.singer_id group by t1.stadium_id\",\n"
    "        \"select t3.name, count(*) from concert as t1 join stadium as t2 on t1.stadium_id = t2.stadium_id join "
    "singer_in_concert as t3 on t1.concert_id = t3.singer_id group by t1.stadium_id\",\n"
    "        \"select t3.name, count(*) from concert as t1 join stadium as t2 on t1.stadium_id = t2.stadium_id join "
    "singer_in_concert as t3 on t1.concert_id = t3.singer_id group by t1.stadium_id\",\n"
    "        \"select t1.name, count(*) from stadium as t1 join concert as t2 on t1.stadium_id = t2.stadium_id group by "
    "t1.stadium_id\"\n"
    "    ]\n"
    "}";
static const char list_prompt[] =
    "The schema for a database with Database ID %s is:\n"
    "%s\n"
    "\n"
    "Convert the following English question to the five most plausible SQL queries compatible with the above schema.\n"
    "\n"
    "Use simply the column name for selections in simple queries. For queries with joins, use t1, t2 and so on as aliases "
    "for the tables, and use t1.column, t2.column and so on for the column selections.\n"
    "\n"
    "Structure your output as a JSON snippet with a single key \"queries\", mapping to a list of alternatives. Do not "
    "print any additional information, explanantion, formatting or notes.\n"
    "\n"
    "Question: %s";

static const char one_prompt[] =
    "Write one SQLite statement that answers the question, in braces.\n"
    "\n"
    "Schema: singer : singer_id (1, 2, 3), name (\"Joe Sharp\", \"Rose White\") | concert : concert_id (1, 2), singer_id "
    "(2, 3), year (2014, 2015)\n"
    "Question: How many concerts were there in 2014?\n"
    "{select count(*) from concert where year = 2014}\n"
    "\n"
    "Schema: shop : shop_id (1, 2), city (\"Bern\", \"Lyon\"), staff (12, 30)\n"
    "Question: Which cities have shops with more than 20 people?\n"
    "{select distinct city from shop where staff > 20}\n"
    "\n"
    "Schema: %s\n"
    "Question: %s\n";

enum query_prompt query_prompt_of(const char *name)
{
    return strcmp(name, "list") == 0  ? QUERY_PROMPT_LIST
           : strcmp(name, "one") == 0 ? QUERY_PROMPT_ONE
                                      : QUERY_PROMPT_ZERO_SHOT;
}

static json_t *message(const char *role, const char *text)
{
    return json_pack("{s:s, s:s}", "role", role, "content", text);
}

/* Takes the text. */
static json_t *asked(char *text)
{
    json_t *o = message("user", text);
    free(text);
    return o;
}

static char *list_text(const char *db_id, const char *schema, const char *question)
{
    char *text = NULL;
    CHECK(asprintf(&text, list_prompt, db_id, schema, question) >= 0, "no memory for a prompt");
    return text;
}

static char *one_text(const struct query_question *q)
{
    char *text = NULL;
    CHECK(asprintf(&text, one_prompt, q->schema_text, q->question) >= 0, "no memory for a prompt");
    return text;
}

static char *zero_shot_text(const struct query_question *q)
{
    const struct schema *s = q->schema;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a prompt");
    fputs("### Complete sqlite SQL query only and with no explanation\n"
          "### Sqlite SQL tables, with their properties:\n"
          "#\n",
          f);
    for (int t = 0; t < s->n_tables; t++) {
        fprintf(f, "# %s(", s->tables[t].name);
        for (int i = 0; i < s->tables[t].n_columns; i++)
            fprintf(f, "%s%s", i ? "," : "", s->columns[s->tables[t].first_column + i].name);
        fputs(")\n", f);
    }
    fprintf(f, "#\n### %s\nSELECT", q->question);
    CHECK(fclose(f) == 0, "no memory for a prompt");
    return text;
}

json_t *query_prompt_messages(enum query_prompt p, const struct query_question *q)
{
    json_t *list = json_array();

    if (p == QUERY_PROMPT_LIST) {
        json_array_append_new(list, message("system", list_task));
        json_array_append_new(list,
                              asked(list_text("department_management", list_example_schema,
                                              "Show the stadium name and the number of concerts in each stadium.")));
        json_array_append_new(list, message("assistant", list_example_answer));
        json_array_append_new(list, asked(list_text(q->db_id, q->schema_text, q->question)));
    } else {
        json_array_append_new(list, asked(p == QUERY_PROMPT_ONE ? one_text(q) : zero_shot_text(q)));
    }
    return list;
}
