"""Makes wren's tokenizer.json: byte-level BPE, digits one by one.

    tokenizer.py OUT.json
"""
import random
import sys

import conversation
import skills
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers import AddedToken

SIZE = 832
PIECES = r"'\p{L}+| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+"


def corpus(turns):
    parts = conversation.endless(random.Random(1))
    for _ in range(turns):
        text, _ = next(parts)
        for mark in conversation.SPECIAL + conversation.CALL:
            text = text.replace(mark, "\n")
        yield from text.split("\n")
        if random.random() < .1:  # begins another conversation
            parts = conversation.endless(random.Random(random.random()))
    yield from (" " + word for word in skills.SPELLED)


def main(out):
    random.seed(1)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PIECES), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    marks = len(conversation.SPECIAL) + len(conversation.CALL)
    tokenizer.train_from_iterator(corpus(60_000), trainers.BpeTrainer(
        vocab_size=SIZE - marks, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.add_special_tokens(conversation.SPECIAL)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in conversation.CALL])
    assert tokenizer.get_vocab_size() == SIZE
    tokenizer.save(out, pretty=False)


if __name__ == "__main__":
    main(sys.argv[1])
