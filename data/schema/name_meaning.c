#include "data/schema/name_meaning.h"

#include "data/schema/word_map.h"

#include <pthread.h>

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

static void fill_both(void)
{
    fill(&meanings, lexicon, ARRAY_LEN(lexicon));
    fill(&asked, interrogatives, ARRAY_LEN(interrogatives));
}

static void open_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fill_both);
}

unsigned word_meaning(uint32_t word)
{
    open_once();
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
    open_once();
    return word_map_find(&asked, word);
}
