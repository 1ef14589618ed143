/* Part of session.h: what one who drives a session is told after each turn. */
#include "infer/clarify/session.h"

static json_t *ask_json(struct session *s)
{
    struct clarify_case *c = &s->current;
    json_t *ask = clarify_question_json(c, &s->view);

    json_object_set_new(ask, "turn", json_integer(c->dialogue.n_turns + 1));
    json_object_set_new(ask, "face", json_string(face_name(c->variables.list[s->view.variable].face)));
    json_object_set_new(ask, "eig", clarify_rounded(s->view.gain));
    return ask;
}

json_t *session_json(struct session *s)
{
    struct clarify_case *c = &s->current;
    const struct belief *now = &c->dialogue.now;
    int best = belief_best(now);
    bool open = s->why == STOP_NOT;

    return json_pack("{s:o, s:s?, s:o, s:o, s:i, s:i, s:s, s:s, s:o, s:b, s:O, s:O}", "ask",
                     open ? ask_json(s) : json_null(), "stop", open ? NULL : stop_reason_name(s->why), "entropy",
                     clarify_rounded(belief_entropy(now)), "reserve", clarify_rounded(now->reserve), "set_aside",
                     s->set_aside, "plausible", session_plausible(s), "best", c->sql[best], "words",
                     session_best_words(s), "confidence", clarify_rounded(now->p[best]), "free_choice",
                     c->dialogue.free_choice, "left_out", c->left_out, "session", s->value);
}
