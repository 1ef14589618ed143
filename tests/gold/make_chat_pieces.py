"""Writes chat_pieces.jsonl and chat/gemma/tokenizer.json: Gemma's and Mistral's published chat templates as transformers
renders and tokenises them.

The templates are those of google/gemma-2-9b-it and of mistralai/Mistral-7B-Instruct-v0.1 and v0.2; both ask for turns that
go from user to assistant and back.  The tokenizers are small ones of tests/gold/pipelines, Gemma's with its chat tokens.
"""
import json
import os

import make_chat as chat
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast, __version__

ALTERNATE = ("{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must "
             "alternate user/assistant/user/assistant/...') }}{% endif %}")
GEMMA = ("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
         "{% for message in messages %}" + ALTERNATE + "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}"
         "{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | "
         "trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}")
MISTRAL = ("{{ bos_token }}{% for message in messages %}" + ALTERNATE + "{% if message['role'] == 'user' %}{{ '[INST] ' + "
           "message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token%s}}"
           "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}")
TEMPLATES = [("gemma", "gemma", GEMMA), ("mistral-spaced", "llama2", MISTRAL.replace("%s", " + ' ' ")),
             ("mistral", "llama2", MISTRAL.replace("%s", ""))]
ANSWERS = {"gemma": r"<start_of_turn>model\n(.*?<end_of_turn>)", "llama2": r" \[/INST\](.*?</s>)"}


def tokenizer(kind):
    t = Tokenizer.from_file(os.path.join(chat.HERE, "pipelines", kind, "tokenizer.json"))
    if kind == "gemma":
        t.add_special_tokens(["<bos>", "<start_of_turn>", "<end_of_turn>"])
        os.makedirs(os.path.join(chat.HERE, "chat", kind), exist_ok=True)
        t.save(os.path.join(chat.HERE, "chat", kind, "tokenizer.json"), pretty=False)
    bos = "<bos>" if kind == "gemma" else "<s>"
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token=bos, eos_token="</s>")


def alternates(messages):
    return all((m["role"] == "user") == (i % 2 == 0) for i, m in enumerate(messages))


def main():
    chat.ANSWERS = ANSWERS
    with open(os.path.join(chat.HERE, "chat_pieces.jsonl"), "w") as out:
        print(json.dumps({"made_by": "tests/gold/make_chat_pieces.py", "transformers": __version__}), file=out)
        for name, kind, template in TEMPLATES:
            t = tokenizer(kind)
            for messages in filter(alternates, chat.PLAIN):
                for prompt in (False, True) if messages[-1]["role"] == "user" else (False,):
                    text = t.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=prompt)
                    ids, mask = chat.tokens(t, kind, text)
                    print(json.dumps({"template": name, "fingerprint": chat.fingerprint(template), "model": kind,
                                      "prompt": prompt, "messages": messages, "text": text, "ids": ids, "mask": mask},
                                     separators=(",", ":")), file=out)


if __name__ == "__main__":
    main()
