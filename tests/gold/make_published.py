"""Writes published.json and the folder published/: a small T5 that has learnt to fill templates, and what transformers'
beam search gives when the rules of make_infilling.py, as a processor of logits, decide on each beam at each step.

The T5 is trained here on a few statements, several for each prompt, so that names branch; a text that it was not trained
on stands among the prompts.  Answers are as transformers sorts them, with the texts that are kept of a template, or the
first two of the ablation in one stage.  Texts are decoded with the clean-up of transformers 4.
"""
import json
import math
import os
import random

import make_infilling as rules
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import LogitsProcessor, PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "published")
torch.set_num_threads(1)
BEAMS, LENGTH, SOURCE, RESTRICTED = 10, 512, 512, 128
SINGERS = rules.SINGERS
CLUBS = "club : id , name , year  | singer : id , club , age "
PLAIN, COUNT = "select column from table", "select column, count(column) from table group by column"
JOIN = "select t1.column from table as t1 join table as t2 on t1.column = t2.column"
WHERE = "select column from table where column > number"
STRING = "select column from table where column = string limit number"
PROMPTS = [  # question, database, schema, template, statements
    ("name", "concert", SINGERS, PLAIN, ["select name from singer", "select song_name from singer", "select name from concert"]),
    ("age of singer", "concert", SINGERS, PLAIN, ["select age from singer"]),
    ("count", "concert", SINGERS, COUNT, ["select country, count(*) from singer group by country",
                                          "select age, count(*) from singer group by age"]),
    ("old", "concert", SINGERS, WHERE, ["select name from singer where age > 20", "select country from singer where age > 20",
                                        "select id from singer where age > 20"]),
    ("New York", "concert", SINGERS, STRING, ['select name from singer where country = "New York" limit 1',
                                              'select age from singer where country = "New York" limit 1']),
    ("year of song", "concert", SINGERS, "select column from table as t1 join table as t2 on column = column",
     ["select t2.year from singer as t1 join concert as t2 on t1.id = t2.singer_id",
      "select t1.name from singer as t1 join concert as t2 on t1.id = t2.singer_id"]),
    ("name", "club", CLUBS, PLAIN, ["select name from club", "select club from singer", "select year from club"]),
    ("singer of club", "club", CLUBS, "select column from table as t1 join table as t2 on column = column",
     ["select t1.name from club as t1 join singer as t2 on t1.id = t2.club",
      "select t2.age from club as t1 join singer as t2 on t1.id = t2.club"]),
]
ASKED = PROMPTS + [  # templates and questions that it has not learnt
    ("age", "club", CLUBS, WHERE, []), ("old", "club", CLUBS, PLAIN, []), ("count", "club", CLUBS, COUNT, []),
    ("name", "concert", SINGERS, "select max(column) from table", []), ("name " * 400, "concert", SINGERS, PLAIN, [])]
STAGES = [("name", "concert", SINGERS, "0 joins @ 1 selects @"), ("old", "concert", SINGERS, "0 joins @ 1 selects @"),
          ("count", "concert", SINGERS, "0 joins @ 2 selects @"), ("singer of club", "club", CLUBS, "1 joins @ 1 selects @")]


def tokenizer():
    letters = [c for c in "abcdefghijklmnopqrstuvwxyzFNY0123456789_:?" if c not in rules.PIECES]
    pieces = rules.PIECES + letters + ["▁:", "▁joins", "▁selects", "▁template", "▁fill:", "▁old", "▁of", "▁0"]
    t = Tokenizer(models.Unigram([(p, 0.0 if i < 3 else -10 - i / 1000) for i, p in enumerate(pieces)], 2, False))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    return PreTrainedTokenizerFast(tokenizer_object=t, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def source_of(question, db, schema, template):
    return f"template fill: {question} | {db} | {schema} @ {template}"


def stage_source_of(question, db, schema):
    return f"semantic parse: {question} | {db} | {schema}"


def plan_of(sql):
    return f"{sql.count(' join ')} joins @ {sql.split(' from ')[0].count(',') + 1} selects @"


def trained(tok):
    torch.manual_seed(5)
    model = T5ForConditionalGeneration(T5Config(
        vocab_size=len(tok), d_model=32, d_kv=8, d_ff=48, num_heads=4, num_layers=2, num_decoder_layers=2, dropout_rate=0.0,
        feed_forward_proj="gated-gelu", relative_attention_num_buckets=16, relative_attention_max_distance=40,
        tie_word_embeddings=False, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))
    pairs = [(source_of(q, d, s, t), f"{d} | {sql}") for q, d, s, t, sqls in PROMPTS for sql in sqls]
    pairs += [(stage_source_of(q, d, s), f"{d} | {plan_of(sql)} {sql}") for q, d, s, _, sqls in PROMPTS for sql in sqls]
    x = tok([a for a, _ in pairs], padding=True, return_tensors="pt")
    y = tok([b for _, b in pairs], padding=True, return_tensors="pt").input_ids.to(model.device)
    y[y == 0] = -100
    optim = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(300):
        loss = model(input_ids=x.input_ids, attention_mask=x.attention_mask, labels=y).loss
        loss.backward()
        optim.step()
        optim.zero_grad()
    print("loss", float(loss), flush=True)
    model.bfloat16().save_pretrained(FOLDER)  # in half of the bytes
    return model.float().eval()


class Restricted(LogitsProcessor):
    """Of a template; or, in one stage, of the tokens that beams begin with."""

    def __init__(self, tok, case, prefix):
        self.tok, self.case, self.prefix, self.allowed = tok, case, prefix, sorted(case["whitelist"])

    def decision(self, ids, row):
        if len(ids) < len(self.prefix):
            return "FORCE", self.prefix[len(ids)]
        if self.case["template"] is None:
            return ("BRANCH" if int(row.argmax()) in self.allowed else "FORCE"), int(row.argmax())
        if len(ids) >= RESTRICTED:
            return "LEAVE", -1
        return rules.classify(text_of(self.tok, ids), self.case), int(row.argmax())

    def __call__(self, ids, scores):
        out = torch.full_like(scores, -math.inf)
        for i, row in enumerate(scores):
            what, token = self.decision(ids[i].tolist(), row)
            if what == "FORCE":
                out[i, token] = 1.0
            elif what == "BRANCH":
                out[i, self.allowed] = row[self.allowed]
            elif what == "LEAVE":
                out[i] = row
        return out


def text_of(tok, ids):
    text = tok.backend_tokenizer.decode(ids, skip_special_tokens=True)
    for old, new in [(" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")]:
        text = text.replace(old, new)
    return text


def answers(tok, model, source, case, prefix):
    ids = tok(source, truncation=True, max_length=SOURCE, return_tensors="pt").input_ids.to(model.device)
    out = model.generate(input_ids=ids, num_beams=BEAMS, num_return_sequences=BEAMS, max_length=LENGTH, length_penalty=1.0,
                         early_stopping=False, logits_processor=[Restricted(tok, case, prefix)], return_dict_in_generate=True,
                         output_scores=True)
    return [(text_of(tok, s.tolist()), float(x)) for s, x in zip(out.sequences, out.sequences_scores) if x > -1e6]


def with_encoder(tok):
    """The rules' own functions, with this tokenizer."""
    rules.encode = lambda text: tok(text, add_special_tokens=False).input_ids


def cases(tok, model):
    for question, db, schema, template, _ in ASKED:
        case = {"template": template, "schema": schema, "branch_columns": True, "branch_tables": True}
        case["whitelist"] = rules.whitelist(schema, True, True)
        source, kept = source_of(question, db, schema, template), []
        for text, score in answers(tok, model, source, case, []):
            if (sql := rules.kept([text], case)) and sql[0] not in [k["text"] for k in kept]:
                kept.append({"text": sql[0], "score": round(score, 5)})
        yield {"source": source, "schema": schema, "template": template, "answers": kept}
    for question, db, schema, plan in STAGES:
        case = {"template": None, "schema": schema, "whitelist": rules.whitelist(schema, True, True)}
        source, begin = stage_source_of(question, db, schema), f"{db} | {plan}"
        found = answers(tok, model, source, case, [0] + rules.encode(begin))[:2]
        yield {"source": source, "schema": schema, "begin": begin, "answers": [{"text": t, "score": round(s, 5)} for t, s in found]}


def main():
    tok = tokenizer()
    with_encoder(tok)
    model = trained(tok)
    tok.save_pretrained(FOLDER)
    out = list(cases(tok, model))
    with open(os.path.join(HERE, "published.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in out) + "\n]\n")
    for c in out:
        print(c.get("template") or c["begin"], *[(a["text"], a["score"]) for a in c["answers"]], sep="\n    ")


if __name__ == "__main__":
    main()
