#include "data/prompt/query_prompt.h"

#include "kernels/base.h"

#include <stdio.h>

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
