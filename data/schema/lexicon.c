#include "data/schema/lexicon.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

/*
 * A small fixed vocabulary: maps words, by their word_hash, to numbers other than 0.
 */
enum { WORD_MAP_SLOTS = 1024 }; /* a power of two */

/* A zeroed struct is empty. */
struct word_map {
    uint32_t words[WORD_MAP_SLOTS], values[WORD_MAP_SLOTS];
    int n;
};

/* The slot of the word, or the free slot for it. */
static uint32_t slot_of(const struct word_map *m, uint32_t word)
{
    uint32_t i = word & (WORD_MAP_SLOTS - 1);

    while (m->values[i] && m->words[i] != word)
        i = (i + 1) & (WORD_MAP_SLOTS - 1);
    return i;
}

/* Adds the bits of value to the value of each word of a text, separated by single spaces. */
static void word_map_add(struct word_map *m, const char *words, uint32_t value)
{
    char word[NAME_MAX_CHARS];

    while (*words) {
        size_t n = strcspn(words, " ");
        CHECK(n && n < sizeof word && m->n < WORD_MAP_SLOTS / 2, "word map: \"%s\" does not fit", words);
        memcpy(word, words, n);
        word[n] = 0;
        uint32_t hash = word_hash(word), i = slot_of(m, hash);
        m->n += !m->values[i];
        m->words[i] = hash;
        m->values[i] |= value;
        words += n + (words[n] == ' ');
    }
}

/* 0 if the word is absent. */
static uint32_t word_map_find(const struct word_map *m, uint32_t word)
{
    return m->values[slot_of(m, word)];
}

/* Meanings of names. */

struct meaning_words {
    unsigned meaning;
    const char *words; /* separated by single spaces */
};

static const struct meaning_words lexicon[] = {
    { MEANS_MONEY,
      "price cost amount amt fee total subtotal sum value val charge rate rent salary wage pay payment revenue sale "
      "budget balance due tax vat discount deposit income expense expenditure turnover net gross paid spend spending "
      "fare tariff premium bonus commission credit debit profit margin earning funding fund donation grant debt loan" },
    { MEANS_QUANTITY,
      "quantity qty count number num total stock unit hour size capacity volume population attendance seat amount "
      "inventory copy ticket room bed member stockpile" },
    { MEANS_TIME, "date day time datetime timestamp dt year yr month week at on since until start end begin beginning "
                  "deadline due created updated modified opened closed birthday dob birth period from to expiry "
                  "expiration valid founded established arrival departure" },
    { MEANS_PERSON,
      "person people manager head owner employee staff worker agent teacher instructor doctor physician author writer "
      "customer client tenant contact supervisor director leader boss chief coach trainer captain member user student "
      "patient guest visitor buyer seller vendor supplier contractor driver pilot engineer technician mentor assistant "
      "secretary chair chairman president officer clerk nurse editor reviewer by approver creator assignee reporter "
      "artist actor singer player lead recipient sender carer guardian inspector caretaker volunteer" },
    { MEANS_PLACE,
      "city town place location loc address addr country state region province district site venue street hometown "
      "village county postcode zip area nationality birthplace home headquarters hq destination origin origins "
      "building branch office neighbourhood neighborhood" },
    { MEANS_STATUS, "status state stage phase condition situation flag active outcome result progress" },
    { MEANS_NAME, "name title label caption designation nickname surname forename heading" },
    { MEANS_TEXT, "description desc note comment remark detail summary text message feedback info reason" },
    { MEANS_CATEGORY, "type kind category class group genre style model brand sector" },
    { MEANS_CONTACT, "email mail phone telephone tel mobile cell fax website url homepage" },
    { MEANS_MEASURE, "weight mass length height width depth distance duration area age temperature speed minute second "
                     "km kg sqm cm litre load size" },
    { MEANS_SCORE, "score rating grade point mark rank ranking rate percentage percent pct priority level result" },
};

static const struct meaning_words interrogatives[] = {
    { MEANS_TIME,
      "when date day year month old oldest newest latest earliest recent recently since began begin started ended "
      "today yesterday tomorrow week january february march april june july august september october "
      "november december" },
    { MEANS_PERSON, "who whom whose" },
    { MEANS_PLACE, "where" },
    { MEANS_MONEY,
      "much pound euro dollar money worth cost expensive cheap cheapest cheaper pay paid earn earns spend spent owe owes" },
    { MEANS_QUANTITY, "many" },
    { MEANS_MEASURE, "long far heavy heaviest tall weigh weighs big bigger biggest large larger largest" },
    { MEANS_SCORE, "well best worst good" },
};

static struct word_map meanings, asked;

static void fill(struct word_map *m, const struct meaning_words *list, int n)
{
    for (int i = 0; i < n; i++)
        word_map_add(m, list[i].words, list[i].meaning);
}

static void fill_meanings(void)
{
    fill(&meanings, lexicon, ARRAY_LEN(lexicon));
    fill(&asked, interrogatives, ARRAY_LEN(interrogatives));
}

static void open_meanings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fill_meanings);
}

unsigned word_meaning(uint32_t word)
{
    open_meanings();
    return word_map_find(&meanings, word);
}

unsigned name_meaning(const struct element_name *n)
{
    unsigned all = 0;

    if (n->n_words && word_meaning(n->words[n->n_words - 1]))
        return word_meaning(n->words[n->n_words - 1]);
    for (int i = 0; i < n->n_words; i++)
        all |= word_meaning(n->words[i]);
    return all;
}

unsigned asked_meaning(uint32_t word)
{
    open_meanings();
    return word_map_find(&asked, word);
}

/* Words in comparable form. */

enum { STEM_CHARS = 3, MISTYPED_CHARS = 5, SHORT_CHARS = 3, LONGEST_SHORT = 5 };

static const char function_words[] =
    "the a an of for in on at to and or is are was were be been do does did done we our us i me my you your it its they "
    "them their he she his her all each every any with by from into how many much what which who whom whose when where "
    "why show list give find tell get fetch display print return provide have has had having that this these those "
    "there here per as than more most less least not no only also please can could would should will shall may might "
    "like want need see let know look up out if so s t d ll re ve about between among across within during through over "
    "under both same own such other another one ones but just some then out me";

/* Abbreviations with their long forms. */
static const char *const abbreviations[][2] = {
    { "qty", "quantity" },
    { "amt", "amount" },
    { "dt", "date" },
    { "addr", "address" },
    { "tel", "phone" },
    { "telephone", "phone" },
    { "mobile", "phone" },
    { "desc", "description" },
    { "descr", "description" },
    { "cat", "category" },
    { "dept", "department" },

    { "emp", "employee" },
    { "cust", "customer" },
    { "prod", "product" },
    { "mgr", "manager" },
    { "acct", "account" },
    { "acc", "account" },
    { "yr", "year" },
    { "avg", "average" },
    { "mean", "average" },
    { "max", "maximum" },
    { "highest", "maximum" },
    { "min", "minimum" },
    { "lowest", "minimum" },
    { "pct", "percent" },
    { "percentage", "percent" },
    { "temp", "temperature" },
    { "img", "image" },
    { "loc", "location" },
    { "org", "organization" },
    { "organisation", "organization" },
    { "est", "estimated" },
    { "cnt", "count" },
    { "num", "number" },
    { "no", "number" },
    { "nr", "number" },
    { "nbr", "number" },
    { "ref", "reference" },
    { "inv", "invoice" },
    { "ord", "order" },
    { "pmt", "payment" },
    { "svc", "service" },
    { "usr", "user" },
    { "grp", "group" },
    { "lvl", "level" },
    { "lang", "language" },
    { "msg", "message" },
    { "info", "information" },
    { "val", "value" },
    { "dob", "birth" },
    { "born", "birth" },
    { "hr", "hour" },
    { "wk", "week" },
    { "mth", "month" },
    { "mon", "month" },
    { "wt", "weight" },
    { "ht", "height" },
    { "len", "length" },
    { "dist", "distance" },
    { "sal", "salary" },
    { "sup", "supplier" },
    { "vend", "vendor" },
    { "supp", "supplier" },
    { "mail", "email" },
    { "st", "street" },
    { "ctry", "country" },
    { "prov", "province" },
    { "univ", "university" },
    { "dest", "destination" },
    { "arr", "arrival" },
    { "src", "source" },
    { "orig", "original" },
    { "curr", "current" },
    { "prev", "previous" },
    { "sched", "scheduled" },
    { "fname", "name" },
    { "lname", "name" },
    { "paid", "pay" },
    { "sold", "sell" },
    { "bought", "buy" },
    { "spent", "spend" },

    { "weigh", "weight" },
    { "movie", "film" },
    { "chef", "head" },
    { "pic", "picture" },
    { "photo", "picture" },
    { "cert", "certificate" },
    { "reg", "registration" },
    { "appt", "appointment" },
    { "doc", "document" },
};

static struct word_map functions, abbreviated;

static void fill_words(void)
{
    word_map_add(&functions, function_words, 1);
    for (uint32_t i = 0; i < ARRAY_LEN(abbreviations); i++) {
        CHECK(!word_map_find(&abbreviated, word_hash(abbreviations[i][0])), "%s stands twice", abbreviations[i][0]);
        word_map_add(&abbreviated, abbreviations[i][0], i + 1);
    }
}

static void open_words(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fill_words);
}

struct ending {
    const char *chars;
    int left; /* number of characters that must remain */
};

/* Removes the first ending of the list that the word has. */
static void drop(const char *w, int *n, const struct ending *list, int n_list)
{
    for (int i = 0; i < n_list; i++) {
        int k = (int)strlen(list[i].chars);
        if (*n - k >= list[i].left && memcmp(w + *n - k, list[i].chars, (size_t)k) == 0) {
            *n -= k;
            return;
        }
    }
}

/* A crude stemmer.  It need not yield words, only the same characters for related words. */
static uint32_t stem_hash(const char *word, int n)
{
    static const struct ending plural[] = { { "ies", 3 }, { "sses", 1 }, { "ss", 1 }, { "es", 3 }, { "s", 3 } };
    static const struct ending derived[] = { { "ation", 4 }, { "ment", 3 }, { "ing", 3 }, { "ion", 4 },
                                             { "ance", 4 },  { "ed", 3 },   { "al", 4 } };
    static const struct ending doer[] = { { "er", 4 }, { "or", 4 } };
    char w[NAME_MAX_CHARS + 1];

    memcpy(w, word, (size_t)n);
    drop(w, &n, plural, ARRAY_LEN(plural));
    drop(w, &n, derived, ARRAY_LEN(derived));
    while (n > STEM_CHARS && strchr("yei", w[n - 1]))
        n--;
    drop(w, &n, doer, ARRAY_LEN(doer));
    if (n > STEM_CHARS && w[n - 1] == w[n - 2])
        n--;
    w[n] = 0;
    return word_hash(w);
}

/* Number of characters without the s of a plural. */
static int singular_chars(const char *text)
{
    int n = (int)strlen(text);

    return n > 3 && text[n - 1] == 's' && text[n - 2] != 's' ? n - 1 : n;
}

static struct match_word make_word(char *chars, int n)
{
    chars[n] = 0;
    uint32_t raw = word_hash(chars), place = word_map_find(&abbreviated, raw);
    const char *text = place ? abbreviations[place - 1][1] : chars;

    struct match_word w = { .word = word_hash(text),
                            .stem = stem_hash(text, (int)strlen(text)),
                            .function = word_map_find(&functions, raw) != 0,
                            .expanded = place != 0,
                            .n = (uint8_t)singular_chars(text) };
    memcpy(w.chars, text, w.n < MATCH_CHARS ? w.n : MATCH_CHARS);
    return w;
}

bool match_words_mistyped(const struct match_word *a, const struct match_word *b)
{
    const struct match_word *more = a->n > b->n ? a : b, *less = more == a ? b : a;
    int start = 0, end = 0;

    if (less->n < MISTYPED_CHARS || more->n > less->n + 1 || more->n > MATCH_CHARS)
        return false;
    while (start < less->n && a->chars[start] == b->chars[start])
        start++;
    while (end < less->n - start && more->chars[more->n - 1 - end] == less->chars[less->n - 1 - end])
        end++;
    bool swapped = more->n == less->n && less->n - start - end == 2 && a->chars[start] == b->chars[start + 1] &&
                   a->chars[start + 1] == b->chars[start];
    return more->n - start - end == 1 || swapped;
}

static bool joint(const char *text, const char *s)
{
    return s > text && isupper((unsigned char)*s) && islower((unsigned char)s[-1]);
}

static bool in_order(const char *part, int n, const char *whole, int of)
{
    int k = 0;

    for (int i = 0; i < of && k < n; i++)
        k += whole[i] == part[k];
    return k == n;
}

bool match_words_shortened(const struct match_word *s, const struct match_word *whole)
{
    int n = s->n, of = whole->n < MATCH_CHARS ? whole->n : MATCH_CHARS;
    bool vowels = false;

    if (n < SHORT_CHARS || n > LONGEST_SHORT || whole->n < n + 2 || s->chars[0] != whole->chars[0])
        return false;
    for (int i = 0; i < n; i++)
        vowels |= strchr("aeiou", s->chars[i]) != NULL;
    return memcmp(s->chars, whole->chars, (size_t)n) == 0 || (!vowels && in_order(s->chars, n, whole->chars, of));
}

bool match_word_is_year(const struct match_word *w)
{
    return w->n == 4 && (memcmp(w->chars, "19", 2) == 0 || memcmp(w->chars, "20", 2) == 0) &&
           isdigit((unsigned char)w->chars[2]) && isdigit((unsigned char)w->chars[3]);
}

/* "number of" and "count of" ask for a count and are not part of a name. */
static void mark_counting(struct match_word *words, int n)
{
    uint32_t number = word_hash("number"), count = word_hash("count"), of = word_hash("of");

    for (int i = 0; i + 1 < n; i++)
        if (words[i + 1].word == of && (words[i].word == number || words[i].word == count))
            words[i].function = true;
}

static int read_words(const char *text, struct match_word *out, int max)
{
    char chars[NAME_MAX_CHARS + 1];
    int len = 0, n = 0;

    open_words();
    for (const char *s = text;; s++) {
        bool letter = element_name_letter(*s);
        if (len && n < max && (!letter || joint(text, s))) {
            out[n++] = make_word(chars, len);
            len = 0;
        }
        if (letter && len < NAME_MAX_CHARS)
            chars[len++] = (char)((unsigned char)*s < 0x80 ? tolower((unsigned char)*s) : *s);
        if (!*s || n == max)
            return n;
    }
}

int match_words_read(const char *text, struct match_word *out, int max)
{
    int n = read_words(text, out, max);

    mark_counting(out, n);
    return n;
}
