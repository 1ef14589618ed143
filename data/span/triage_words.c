#include "data/span/triage_words.h"

#include "data/schema/lexicon.h"
#include "data/span/spoken.h"
#include "data/span/value_match.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum triage_kind kind;
} reasons[TRIAGE_REASONS] = {
    [REASON_COLUMN] = { "column", KIND_COLUMN },
    [REASON_VALUE] = { "value", KIND_MISSING_VALUE },
    [REASON_REQUEST] = { "request", KIND_REQUEST },
    [REASON_KNOWLEDGE] = { "knowledge", KIND_KNOWLEDGE },
    [REASON_TALK] = { "small-talk", KIND_IMPROPER },
    [REASON_SHARED] = { "shared", KIND_SCHEMA },
    [REASON_SHARED_VALUE] = { "shared-value", KIND_AMBIGUOUS_VALUE },
    [REASON_TIME] = { "time", KIND_TIME },
    [REASON_AGGREGATE] = { "aggregate", KIND_AGGREGATE },
};

const char *triage_reason_name(enum triage_reason r)
{
    return reasons[r].name;
}

enum triage_kind triage_reason_kind(enum triage_reason r)
{
    return reasons[r].kind;
}

/* Lists of stems, each between blanks. */

static const char talk_words[] =
    " hi hello hey greeting thank thx cheer bye goodbye ok okay great good nice perfect awesome cool alright sorry welcome "
    "lol haha ha yes yeah yep wow wonderful excellent fine joke love glad bravo ";
static const char request_words[] =
    " draw plot chart graph histogram dashboard slide map picture image video print forecast predict email upload export "
    "translate summarise summarize explain describe recommend suggest insert delete update rename remind reminder call "
    "book schedule cancel arrange send open play buy cluster regression correlate model analyse analyze visualise visualize "
    "message post ";
/* After one of the first words, a request word is an ordinary verb, as in "What did he play?", unless one of the second
 * words stands before it. */
static const char question_words[] = " what which who whom whose when where how did do doe was were is are in for ";
static const char before_request[] = " and please you to then also ";
static const char knowledge_words[] =
    " why should will would opinion think feel believe reason cause meaning mean future likely probably tomorrow advice "
    "improve benefit symptom recipe better ";
/* Times without a beginning or an end, as one word and as two. */
static const char time_words[] =
    " recent recently lately nowadays presently soon shortly ago past early late previously formerly upcoming ";
static const char time_pairs[] = " last_time this_time these_day those_day some_time a_while last_season this_season "
                                 "last_few past_few next_few coming_week coming_month ";
/* Words that order or filter without a number or a bound, and the words beside which they are exact. */
static const char aggregate_words[] =
    " top best worst large big small high low cheap expensive popular active inactive frequent frequently often rarely "
    "rare common important main major key significant typical usual regular successful famous rich poor strong weak heavy "
    "light fast slow few loyal favourite favorite interesting young old long short tall busy valuable profitable leading "
    "notable productive efficient ";
static const char measure_words[] = " how most least more less as so too very ";
static const char number_words[] =
    " one two three four five six seven eight nine ten twelve twenty fifty hundred thousand ";
static const char person_words[] = " i me my mine you your he him his she her they them we us it myself yourself ";
/* Words that refer to an earlier question. */
static const char reference_words[] =
    " it its they their theirs them he his him she her hers that those this these one same other also too again instead "
    "there former latter else about ";
static const char asking_words[] =
    " what which who whom whose when where how list show give find return tell display get count name select is are doe do "
    "did was were can compute calculate report for of in on at from sort order ";
/* Words of many questions that name nothing, besides the function words of match_words_read. */
static const char common_words[] =
    " number count total average maximum minimum highest lowest largest smallest greatest biggest first last top bottom "
    "different distinct unique order ordered sorted sort ascending descending alphabetical above below after before until "
    "equal greater larger smaller fewer higher lower exactly together every along corresponding respectively include "
    "including contain containing compute calculate detail information about record database table column row value kind "
    "type together many time people name id please new old now today year group entry ";

static bool listed(const char *list, const char *stem)
{
    char word[2 * SPOKEN_STEM + 3]; /* also for a pair of stems */

    snprintf(word, sizeof word, " %s ", stem);
    return strstr(list, word) != NULL;
}

/* Function words up to this length, such as "of" and "the", do not count in names; "list" of "list price" does. */
enum { GLUE_CHARS = 3 };

/* A name is `n` words from `first`. */
struct triage_name {
    int first, n;
    bool is_column;
};

static void add_name(struct triage_names *n, int *cap_words, int *cap_names, const char *text, bool is_column)
{
    struct match_word words[NAME_MAX_WORDS];
    struct triage_name name = { .first = n->n_words, .is_column = is_column };
    int k = match_words_read(text, words, NAME_MAX_WORDS);

    for (int i = 0; i < k; i++) {
        if (words[i].function && words[i].n <= GLUE_CHARS)
            continue;
        GROW(n->words, n->n_words, *cap_words);
        n->words[n->n_words++] = words[i];
        name.n++;
    }
    GROW(n->names, n->n_names, *cap_names);
    n->names[n->n_names++] = name;
}

void triage_names_init(struct triage_names *n, const struct schema *s)
{
    int cap_words = 0, cap_names = 0;

    *n = (struct triage_names){ 0 };
    for (int i = 0; i < s->n_tables; i++)
        add_name(n, &cap_words, &cap_names, s->tables[i].text, false);
    for (int i = 0; i < s->n_columns; i++)
        add_name(n, &cap_words, &cap_names, s->columns[i].text, true);
}

void triage_names_release(struct triage_names *n)
{
    free(n->words);
    free(n->names);
    *n = (struct triage_names){ 0 };
}

/* A word of the question. */
struct said {
    const struct spoken_word *at;
    struct match_word match;
    bool content, capital, number, known;
    bool request, time, aggregate; /* asks for more than SQL returns; a vague time; a vague order or filter */
    bool maybe_value;              /* capitalised inside the sentence, or quoted */
    bool value;                    /* part of a stored value */
    bool several;                  /* part of a value that several columns store */
    bool named;                    /* in a name of the schema */
};

struct triage_reader {
    const struct triage_question *q;
    const struct triage_names *names;
    struct spoken spoken;
    struct quoted quoted;
    struct said words[SPOKEN_WORDS];
    int n;
};

/* Whether a name's word is the word of a question, also in another form, mistyped or abbreviated. */
static bool same(const struct match_word *said, const struct match_word *name)
{
    return said->word == name->word || said->stem == name->stem || match_words_mistyped(said, name) ||
           match_words_shortened(name, said);
}

/* The number of columns that store the word as part of a value: 0, 1 or 2, which means several. */
static int count_columns(const struct triage_reader *t, const struct spoken_word *w)
{
    int first = -1;

    for (int i = 0; i < t->q->n_values; i++) {
        const struct tag_value *v = &t->q->values[i];
        if (v->start > w->start || w->end > v->end || v->column == first)
            continue;
        if (first >= 0)
            return 2;
        first = v->column;
    }
    return first >= 0;
}

static bool is_quoted(const struct triage_reader *t, const struct spoken_word *w)
{
    for (int i = 0; i < t->quoted.n; i++)
        if (t->quoted.items[i].from <= w->from && w->to <= t->quoted.items[i].to)
            return true;
    return false;
}

static bool is_name(const struct triage_reader *t, const struct match_word *w)
{
    for (int i = 0; i < t->names->n_words; i++)
        if (same(w, &t->names->words[i]))
            return true;
    return false;
}

static struct said read_word(const struct triage_reader *t, const struct spoken_word *w)
{
    struct said s = { .at = w };
    char *text = strndup(t->q->text + w->from, (size_t)(w->to - w->from));

    CHECK(text, "no memory for a word");
    int n = match_words_read(text, &s.match, 1);
    s.number = isdigit((unsigned char)text[0]) != 0;
    s.capital = isupper((unsigned char)text[0]) != 0;
    free(text);
    s.content = n && !s.number && !w->filler && !s.match.function && strlen(w->stem) > 1 &&
                !listed(common_words, w->stem) && !listed(talk_words, w->stem) && !listed(time_words, w->stem) &&
                !listed(aggregate_words, w->stem);
    s.maybe_value = (s.capital && t->n > 0) || is_quoted(t, w);
    s.named = n && !w->filler && !s.match.function && is_name(t, &s.match);
    int columns = n && !s.number && !w->filler && !s.match.function ? count_columns(t, w) : 0;
    s.value = columns > 0;
    s.several = columns > 1;
    s.known = s.named || s.value;
    s.content = s.content || s.known;
    return s;
}

static int count_talk(const struct triage_reader *t)
{
    int n = 0;

    for (int i = 0; i < t->n; i++)
        n += listed(talk_words, t->words[i].at->stem) && !t->words[i].known;
    return n;
}

/* Whether a word of the list occurs that no name has. */
static bool has(const struct triage_reader *t, const char *list)
{
    for (int i = 0; i < t->n; i++)
        if (listed(list, t->words[i].at->stem) && !t->words[i].known)
            return true;
    return false;
}

static bool name_has(const struct triage_names *n, const struct triage_name *name, const struct match_word *w)
{
    for (int i = 0; i < name->n; i++)
        if (n->words[name->first + i].word == w->word || n->words[name->first + i].stem == w->stem)
            return true;
    return false;
}

/* Whether the question has all words of the name. */
static bool is_whole(const struct triage_reader *t, const struct triage_name *name)
{
    for (int i = 0; i < name->n; i++) {
        bool found = false;
        for (int k = 0; k < t->n && !found; k++)
            found = same(&t->words[k].match, &t->names->words[name->first + i]);
        if (!found)
            return false;
    }
    return name->n > 0;
}

/* Whether several columns have the word, and the question has no complete name with it. */
static bool is_shared(const struct triage_reader *t, const struct said *s)
{
    int columns = 0;

    for (int i = 0; i < t->names->n_names && s->known; i++) {
        const struct triage_name *name = &t->names->names[i];
        if (!name_has(t->names, name, &s->match))
            continue;
        if (is_whole(t, name))
            return false;
        columns += name->is_column;
    }
    return columns > 1;
}

static float at_most_8(int n)
{
    return (float)(n > 8 ? 8 : n);
}

/* Whether the list has the words i and i + 1 as a pair. */
static bool is_pair(const struct triage_reader *t, const char *list, int i)
{
    char pair[2 * SPOKEN_STEM];

    if (i < 0 || i + 1 >= t->n)
        return false;
    snprintf(pair, sizeof pair, "%s_%s", t->words[i].at->stem, t->words[i + 1].at->stem);
    return listed(list, pair);
}

/* Whether a word up to `reach` words away is a number. */
static bool has_number_beside(const struct triage_reader *t, int i, int reach)
{
    for (int k = i - reach; k <= i + reach; k++)
        if (k >= 0 && k < t->n && k != i && (t->words[k].number || listed(number_words, t->words[k].at->stem)))
            return true;
    return false;
}

enum { NUMBER_REACH = 2 /* "ago" in "3 days ago" */ };

static void mark_requests(struct triage_reader *t)
{
    bool asks = t->n && listed(question_words, t->words[0].at->stem);

    for (int i = 0; i < t->n; i++) {
        struct said *s = &t->words[i];
        bool may = !asks || (i > 0 && listed(before_request, t->words[i - 1].at->stem));
        s->request = may && !s->known && listed(request_words, s->at->stem);
    }
}

/* Marks vague words.  A number beside them, or a word such as "how", makes them exact. */
static void mark_vague(struct triage_reader *t)
{
    for (int i = 0; i < t->n; i++) {
        struct said *s = &t->words[i];
        bool exact = s->known || has_number_beside(t, i, NUMBER_REACH);
        s->time =
            !exact && (listed(time_words, s->at->stem) || is_pair(t, time_pairs, i) || is_pair(t, time_pairs, i - 1));
        exact = exact || (i > 0 && listed(measure_words, t->words[i - 1].at->stem));
        s->aggregate = !exact && !s->time && listed(aggregate_words, s->at->stem);
    }
}

/* Signs of the words that names and values have. */
static void set_known(float *signs, const struct triage_reader *t)
{
    int content = 0, known = 0, small = 0, small_known = 0, values = 0, strange = 0;

    for (int i = 0; i < t->n; i++) {
        const struct said *s = &t->words[i];
        bool is_small = s->content && !s->maybe_value;
        content += s->content;
        known += s->known;
        small += is_small;
        small_known += is_small && s->known;
        values += s->value && !s->named;
        strange += s->content && s->maybe_value && !s->known;
    }
    signs[SIGN_CONTENT] = (float)content / (float)(t->n ? t->n : 1);
    signs[SIGN_KNOWN] = content ? (float)known / (float)content : 1;
    signs[SIGN_KNOWN_SMALL] = small ? (float)small_known / (float)small : 1;
    signs[SIGN_UNKNOWN] = at_most_8(small - small_known);
    signs[SIGN_EMPTY] = content == 0;
    signs[SIGN_N_KNOWN] = at_most_8(known);
    signs[SIGN_VALUES] = t->q->has_values;
    signs[SIGN_VALUE] = t->q->has_values ? at_most_8(values) : 0;
    signs[SIGN_STRANGE] = t->q->has_values ? at_most_8(strange) : 0;
}

/* Signs of the words by themselves. */
static void set_forms(float *signs, const struct triage_reader *t)
{
    int numbers = 0, capitals = 0, persons = 0, shared = 0;
    float n = t->n ? (float)t->n : 1;

    for (int i = 0; i < t->n; i++) {
        numbers += t->words[i].number;
        capitals += i > 0 && t->words[i].capital;
        persons += listed(person_words, t->words[i].at->stem);
        shared += is_shared(t, &t->words[i]);
    }
    signs[SIGN_LENGTH] = logf(n);
    signs[SIGN_TALK] = (float)count_talk(t) / n;
    signs[SIGN_TALKS] = count_talk(t) > 0;
    signs[SIGN_KNOWLEDGE] = has(t, knowledge_words);
    signs[SIGN_PERSON] = (float)persons / n;
    signs[SIGN_ASKS] = t->n > 0 && listed(asking_words, t->words[0].at->stem);
    signs[SIGN_NUMBER] = numbers > 0;
    signs[SIGN_MARK] = strchr(t->q->text, '?') != NULL;
    signs[SIGN_CAPITAL] = capitals > 0;
    signs[SIGN_SHARED] = shared > 0;
}

/* Signs of requests, vague words, and values of several columns. */
static void set_marks(float *signs, const struct triage_reader *t)
{
    for (int i = 0; i < t->n; i++) {
        const struct said *s = &t->words[i];
        signs[SIGN_REQUEST] = s->request ? 1 : signs[SIGN_REQUEST];
        signs[SIGN_TIME] = s->time ? 1 : signs[SIGN_TIME];
        signs[SIGN_AGGREGATE] = s->aggregate ? 1 : signs[SIGN_AGGREGATE];
        signs[SIGN_SHARED_VALUE] = s->several && !s->named ? 1 : signs[SIGN_SHARED_VALUE];
    }
}

/* The number of known words of an earlier question. */
static int count_known(const struct triage_reader *t, const char *question)
{
    struct match_word words[QUESTION_WORDS];
    int n = match_words_read(question, words, QUESTION_WORDS), known = 0;

    for (int i = 0; i < n; i++)
        known += !words[i].function && is_name(t, &words[i]);
    return known;
}

enum { CONTEXT_QUESTIONS = 4 /* the latest earlier questions that are read */ };

static void set_context(float *signs, const struct triage_reader *t)
{
    size_t n = json_array_size(t->q->context), first = n > CONTEXT_QUESTIONS ? n - CONTEXT_QUESTIONS : 0;
    int before = 0;

    if (!n)
        return;
    for (size_t i = n; i > first && !before; i--)
        before = count_known(t, json_string_value(json_array_get(t->q->context, i - 1)));
    signs[SIGN_FOLLOWS] = 1;
    signs[SIGN_REFERS] = has(t, reference_words);
    signs[SIGN_CONTINUES] = t->n > 0 && signs[SIGN_UNKNOWN] <= 0 && signs[SIGN_TALKS] <= 0;
    signs[SIGN_BEFORE] = at_most_8(before);
}

/* The reason for which a word may be responsible. */
static enum triage_reason reason_of(const struct triage_reader *t, int i)
{
    const struct said *s = &t->words[i];

    if (s->known)
        return is_shared(t, s) ? REASON_SHARED : s->several && !s->named ? REASON_SHARED_VALUE : REASON_NONE;
    if (s->time || s->aggregate)
        return s->time ? REASON_TIME : REASON_AGGREGATE;
    if (s->request)
        return REASON_REQUEST;
    if (listed(knowledge_words, s->at->stem))
        return REASON_KNOWLEDGE;
    if (listed(talk_words, s->at->stem))
        return REASON_TALK;
    if (!s->content)
        return REASON_NONE;
    if (!s->maybe_value)
        return REASON_COLUMN;
    return t->q->has_values ? REASON_VALUE : REASON_NONE;
}

/* Joins neighbours with the same reason. */
static void set_spans(struct triage_reading *r, const struct triage_reader *t)
{
    enum triage_reason before = REASON_NONE;

    for (int i = 0; i < t->n; i++) {
        const struct spoken_word *w = t->words[i].at;
        enum triage_reason reason = reason_of(t, i);
        if (reason && reason == before) {
            r->spans[r->n_spans - 1].end = w->end;
            r->spans[r->n_spans - 1].to = w->to;
        } else if (reason && r->n_spans == TRIAGE_SPANS)
            return;
        else if (reason)
            r->spans[r->n_spans++] = (struct triage_span){ w->start, w->end, w->from, w->to, reason };
        before = reason;
    }
}

int triage_context(const json_t **context, const json_t *record, const char *where, struct error *err)
{
    const json_t *list = json_object_get(record, "context");
    bool good = !list || json_is_array(list);

    for (size_t i = 0; i < json_array_size(list); i++)
        good = good && json_is_string(json_array_get(list, i));
    *context = list;
    return good ? 0
                : error_set(err, EXIT_CODE_DATA, "%s: field \"context\": expected a list of earlier questions", where);
}

void triage_read(struct triage_reading *r, const struct triage_question *q, const struct triage_names *names)
{
    struct triage_reader *t = xcalloc(1, sizeof *t);

    *r = (struct triage_reading){ 0 };
    t->q = q;
    t->names = names;
    spoken_read(&t->spoken, q->text);
    quoted_read(&t->quoted, q->text);
    for (; t->n < t->spoken.n; t->n++)
        t->words[t->n] = read_word(t, &t->spoken.words[t->n]);
    mark_requests(t);
    mark_vague(t);
    set_known(r->signs, t);
    set_forms(r->signs, t);
    set_marks(r->signs, t);
    set_context(r->signs, t);
    set_spans(r, t);
    free(t);
}

/* Whether the reason can be responsible for the class. */
static bool fits(enum triage_reason reason, enum triage_class class)
{
    return reason && triage_kind_class(reasons[reason].kind) == class;
}

/* Requests and knowledge explain more than a missing name does, and vague words more than a shared one. */
static int rank(enum triage_reason reason)
{
    switch (reason) {
    case REASON_NONE:
        return 0;
    case REASON_REQUEST:
    case REASON_TIME:
        return 3;
    case REASON_KNOWLEDGE:
    case REASON_AGGREGATE:
        return 2;
    default:
        return 1;
    }
}

/* The reason of the class that explains most, the first of equal ones. */
static enum triage_reason best_reason(const struct triage_reading *r, enum triage_class class)
{
    enum triage_reason best = REASON_NONE;

    for (int i = 0; i < r->n_spans; i++)
        if (fits(r->spans[i].reason, class) && rank(r->spans[i].reason) > rank(best))
            best = r->spans[i].reason;
    return best;
}

enum triage_reason triage_main_reason(const struct triage_reading *r, enum triage_kind kind)
{
    for (int i = 0; i < r->n_spans; i++)
        if (reasons[r->spans[i].reason].kind == kind)
            return r->spans[i].reason;
    return best_reason(r, triage_kind_class(kind));
}

/* Thresholds of the rules, chosen on made questions. */
static const float MOSTLY_TALK = .4F, PERSONAL = .15F, MOSTLY_UNKNOWN = .4F;

/* The unanswerable kind: that of the best reason.  No table is about a question without a known word. */
static enum triage_kind unanswerable_kind(const struct triage_reading *r)
{
    enum triage_reason reason = best_reason(r, TRIAGE_UNANSWERABLE);

    if (r->signs[SIGN_N_KNOWN] <= 0 && (reason == REASON_NONE || reason == REASON_COLUMN))
        return KIND_TABLE;
    return reason ? reasons[reason].kind : KIND_COLUMN;
}

enum triage_kind triage_by_keywords(const struct triage_reading *r, double *confidence)
{
    const float *s = r->signs;
    bool about = s[SIGN_N_KNOWN] > 0;

    *confidence = .9;
    if (s[SIGN_TALK] >= MOSTLY_TALK || (s[SIGN_TALKS] > 0 && !about))
        return KIND_IMPROPER;
    *confidence = .6;
    if (!about && (s[SIGN_PERSON] >= PERSONAL || s[SIGN_ASKS] <= 0))
        return KIND_IMPROPER;
    if (s[SIGN_REQUEST] > 0 || s[SIGN_KNOWLEDGE] > 0)
        return unanswerable_kind(r);
    *confidence = 1 - .5 * (double)s[SIGN_KNOWN_SMALL];
    if (!about || s[SIGN_KNOWN_SMALL] <= MOSTLY_UNKNOWN)
        return unanswerable_kind(r);
    *confidence = .5;
    if (s[SIGN_TIME] > 0 || s[SIGN_AGGREGATE] > 0 || s[SIGN_SHARED] > 0) {
        enum triage_reason reason = best_reason(r, TRIAGE_AMBIGUOUS);
        return reason ? reasons[reason].kind : KIND_SCHEMA;
    }
    *confidence = .5 + .5 * (double)s[SIGN_KNOWN_SMALL];
    return KIND_ANSWERABLE;
}

json_t *triage_words_json(const struct triage_reading *r, enum triage_kind kind, const char *question)
{
    enum triage_reason reason = triage_main_reason(r, kind);
    json_t *list = json_array();

    for (int i = 0; i < r->n_spans; i++) {
        const struct triage_span *s = &r->spans[i];
        if (reason && s->reason == reason)
            json_array_append_new(list, json_pack("{s:s%, s:i, s:i, s:s}", "text", question + s->from,
                                                  (size_t)(s->to - s->from), "start", s->start, "end", s->end, "reason",
                                                  reasons[reason].name));
    }
    return list;
}

/* The responsible words in quotes, joined by commas; "" without any.  The caller frees them. */
static char *quoted(const struct triage_reading *r, enum triage_reason reason, const char *question)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a sentence");
    for (int i = 0, n = 0; i < r->n_spans; i++) {
        const struct triage_span *s = &r->spans[i];
        if (reason && s->reason == reason)
            fprintf(f, "%s\"%.*s\"", n++ ? ", " : "", s->to - s->from, question + s->from);
    }
    fclose(f);
    return text;
}

/* The sentence of a kind, for questions without words that explain it. */
static const char *sentence_of_kind(enum triage_kind kind)
{
    static const char *const by_kind[TRIAGE_KINDS] = {
        [KIND_ANSWERABLE] = "",
        [KIND_SCHEMA] = " Several columns or tables fit.",
        [KIND_WORDING] = " Its words can be read in several ways.",
        [KIND_AMBIGUOUS_VALUE] = " Several stored values fit.",
        [KIND_TIME] = " A time is not given exactly.",
        [KIND_AGGREGATE] = " It is open how to count, rank or filter.",
        [KIND_COLUMN] = " No column holds the data.",
        [KIND_TABLE] = " No table is about this.",
        [KIND_MISSING_VALUE] = " No row has the value.",
        [KIND_KNOWLEDGE] = " It asks for knowledge that is not stored.",
        [KIND_REQUEST] = " SQL only returns rows, and cannot do this.",
        [KIND_IMPROPER] = "",
    };
    return by_kind[kind];
}

char *triage_sentence(const struct triage_reading *r, enum triage_kind kind, const char *question)
{
    static const char *const by_class[TRIAGE_CLASSES] = {
        [TRIAGE_ANSWERABLE] = "The database seems to have an answer to this question.",
        [TRIAGE_AMBIGUOUS] = "This question seems to have several interpretations.",
        [TRIAGE_UNANSWERABLE] = "The database seems to have no answer to this question.",
        [TRIAGE_IMPROPER] = "This seems to be no question about the database.",
    };
    static const char *const by_reason[TRIAGE_REASONS] = {
        [REASON_NONE] = "",
        [REASON_COLUMN] = " No table or column is called ",
        [REASON_VALUE] = " No stored value is ",
        [REASON_REQUEST] = " SQL only returns rows, and cannot do this: ",
        [REASON_KNOWLEDGE] = " It asks for knowledge that is not stored: ",
        [REASON_TALK] = " It contains ",
        [REASON_SHARED] = " Several columns have names with ",
        [REASON_SHARED_VALUE] = " Several columns store ",
        [REASON_TIME] = " A time is not given exactly: ",
        [REASON_AGGREGATE] = " It depends on the meaning of ",
    };
    enum triage_reason reason = triage_main_reason(r, kind);
    bool own = reason && reasons[reason].kind == kind;
    char *words = quoted(r, reason, question), *text = NULL;

    CHECK(asprintf(&text, "%s%s%s%s%s", by_class[triage_kind_class(kind)], own ? "" : sentence_of_kind(kind),
                   by_reason[reason], words, reason ? "." : "") >= 0,
          "no memory for a sentence");
    free(words);
    return text;
}
