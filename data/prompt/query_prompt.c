#include "data/prompt/query_prompt.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char list_prompt[] =
    "A question may be read in several ways on a database. Write the SQLite statements of all of its readings, the "
    "likeliest first, at least three and at most five, as one JSON object and nothing else.\n"
    "\n"
    "Schema: singer : singer_id (1, 2, 3), name (\"Joe Sharp\", \"Rose White\"), stage_name (\"Joe\", \"Rosie\") | "
    "concert : concert_id (1, 2), singer_id (2, 3), year (2014, 2015)\n"
    "Question: What are the names of the singers of 2014?\n"
    "{\"queries\": [\"select t1.name from singer as t1 join concert as t2 on t1.singer_id = t2.singer_id where t2.year = "
    "2014\", \"select t1.stage_name from singer as t1 join concert as t2 on t1.singer_id = t2.singer_id where t2.year = "
    "2014\", \"select distinct t1.name from singer as t1 join concert as t2 on t1.singer_id = t2.singer_id where t2.year "
    "= 2014\"]}\n"
    "\n"
    "Schema: %s\n"
    "Question: %s\n";

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

char *query_prompt_text(enum query_prompt p, const char *question, const char *schema)
{
    char *text = NULL;
    int n = p == QUERY_PROMPT_LIST ? asprintf(&text, list_prompt, schema, question)
                                   : asprintf(&text, one_prompt, schema, question);

    CHECK(n >= 0, "no memory for a prompt");
    return text;
}

/* A statement on one line, without blanks around it, unless it is there already or empty. */
static void add_once(struct text_items *out, const char *text, size_t n)
{
    char *line = strndup(text, n), *to = line;

    CHECK(line, "no memory for %zu bytes", n);
    for (const char *s = line; *s; s++)
        if (!isspace((unsigned char)*s))
            *to++ = *s;
        else if (to > line && to[-1] != ' ')
            *to++ = ' ';
    to -= to > line && to[-1] == ' ';
    *to = 0;
    bool known = !*line;
    for (int i = 0; i < out->n; i++)
        known = known || strcmp(out->items[i], line) == 0;
    if (!known)
        text_items_add(out, line, (size_t)(to - line));
    free(line);
}

/* The strings of "queries" of an object that begins here; false when none does. */
static bool read_list(struct text_items *out, const char *text)
{
    json_t *o = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL), *query;
    const json_t *list = json_object_get(o, "queries");
    size_t i;

    json_array_foreach(list, i, query)
    {
        if (json_is_string(query))
            add_once(out, json_string_value(query), json_string_length(query));
    }
    bool found = json_is_array(list);
    json_decref(o);
    return found;
}

void query_prompt_read(struct text_items *out, const char *answer)
{
    const char *first = strchr(answer, '{'), *end = first ? strchr(first, '}') : NULL;

    for (const char *p = first; p; p = strchr(p + 1, '{'))
        if (read_list(out, p))
            return;
    if (end)
        add_once(out, first + 1, (size_t)(end - first - 1));
    else
        output_sql(out, answer, false);
}
