#!/usr/bin/env python3
"""Writes the goldens that src/text/tokenizer_test.cc compares with.

Trains one small byte-level BPE on texts in the public domain (below), saves it in the published forms, and records the results of
the `tokenizers` library for many strings.

  pip install tokenizers transformers
  python3 tests/parity/bpe/make_golden.py
  python3 tests/parity/bpe/make_golden.py --tiktoken FILE [--cut llama3] -o DIR

The last command is for vocabularies of published size, which are not in the repository. Packages have such files: dashscope 2.0.2
Qwen's (resources/qwen.tiktoken), llama-models 0.3.0 Llama 3's (llama3/tokenizer.model, --cut llama3), openai-whisper 20250625
Whisper's (assets/multilingual.tiktoken, --cut gpt2). Then run: SYRINX_BPE_GOLDENS=DIR/ text_test --gtest_filter='*TokenizerParity*'

Made with tokenizers 0.23.3 and transformers 5.23.0 (pieces with 0.22.2). The output is the same in each run.
"""
import argparse
import base64
import json
import pathlib
import random
import shutil
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers
from transformers.models.qwen2.tokenization_qwen2 import Qwen2Tokenizer

HERE = pathlib.Path(__file__).parent

TEXT = """
Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to
do: once or twice she had peeped into the book her sister was reading, but it had no pictures or
conversations in it, "and what is the use of a book," thought Alice "without pictures or
conversations?"
So she was considering in her own mind (as well as she could, for the hot day made her feel very
sleepy and stupid), whether the pleasure of making a daisy-chain would be worth the trouble of
getting up and picking the daisies, when suddenly a White Rabbit with pink eyes ran close by her.
There was nothing so very remarkable in that; nor did Alice think it so very much out of the way to
hear the Rabbit say to itself, "Oh dear! Oh dear! I shall be late!" (when she thought it over
afterwards, it occurred to her that she ought to have wondered at this, but at the time it all
seemed quite natural); but when the Rabbit actually took a watch out of its waistcoat-pocket, and
looked at it, and then hurried on, Alice started to her feet, for it flashed across her mind that
she had never before seen a rabbit with either a waistcoat-pocket, or a watch to take out of it, and
burning with curiosity, she ran across the field after it, and fortunately was just in time to see
it pop down a large rabbit-hole under the hedge. "I couldn't, wouldn't, won't; it's she'll, they've,
we're, I'm, he'd," said Alice in 1865, 24 chapters and 3.14 pages on.
Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived
in Liberty, and dedicated to the proposition that all men are created equal.
Wer reitet so spät durch Nacht und Wind? Es ist der Vater mit seinem Kind; er hat den Knaben wohl in
dem Arm, er faßt ihn sicher, er hält ihn warm. Über allen Gipfeln ist Ruh.
Maître corbeau, sur un arbre perché, tenait en son bec un fromage. Maître renard, par l'odeur
alléché, lui tint à peu près ce langage: être ou n'être pas, çà et là, où, naïf, cœur.
Я помню чудное мгновенье: передо мной явилась ты, как мимолётное виденье, как гений чистой красоты.
床前明月光,疑是地上霜。舉頭望明月,低頭思故鄉。春眠不覺曉,處處聞啼鳥。夜來風雨聲,花落知多少。
古池や蛙飛び込む水の音。いろはにほへと ちりぬるを わかよたれそ つねならむ。閑さや岩にしみ入る蝉の声
가을 하늘 공활한데 높고 구름 없이 밝은 달은 우리 가슴 일편단심일세
"""

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_end|>x", "<tts_pad>", "[laughter]"]

WRITTEN = [
    "", " ", "  ", "   ", "\n", "\r\n", "\t", "\n\n\n", " \n", "\n ", " \n ", "  \n\n  \n", "\t \t\n\r\n x",
    "a", "A", "hello", "Hello world", " hello", "hello ", "  hello  world  ", "a\nb", "a\n\nb", "a \n b",
    "a  \n  b\n", "line one\nline two\r\nline three\rend", "tab\tseparated\tvalues", "trailing   ",
    "Alice was beginning to get very tired", "ALICE WAS BEGINNING TO GET VERY TIRED",
    "I'm you're he's she'd we'll they've don't", "I'M YOU'RE HE'S SHE'D WE'LL THEY'VE DON'T",
    "it's It's IT'S iT'S it\u2019s 'tis 'Twas rock'n'roll", "'s", "'S 'T 'RE", "'\u017f '\u212a", "''''", "x'sy 'll'd",
    "1", "12", "123", "1234", "12345678901234567890", "3.14159", "1,000,000", "$5.99", "50%", "2026-11-21",
    "1st 2nd 3rd", "\u00b2\u00b3\u00b9 \u00bd \u2167 \u0664\u0665 \uff11\uff12", "a1b2c3", "v1.2.3-rc4", "0x1F",
    "!", "!!!", "?!?!", "...", "\u2026", "--", "\u2014", "(a) [b] {c}", "\"quoted\"", "\u201ccurly\u201d", "a,b;c:d", "#hash @at",
    "!\n", "!\n\n a", "...\r\n\r\nNext", "a!b?c.", "C++ / C#", "http://example.org/a?b=c&d=e#f", "a_b-c.d", "\\ / | ~ ` ^",
    "\u5e8a\u524d\u660e\u6708\u5149", "\u5e8a\u524d\u660e\u6708\u5149\u3002\u7591\u662f\u5730\u4e0a\u971c\uff01", "\u53e4\u6c60\u3084 \u86d9\u98db\u3073\u8fbc\u3080", "\uac00\uc744 \ud558\ub298", "\u1100\u1161\u11a8 \u1100\u1161", "\uac00\u11a8",
    "caf\u00e9", "cafe\u0301", "cafe\u0301s", "\u00c5ngstr\u00f6m", "A\u030angstro\u0308m", "\u212b", "\u1e9b\u0323", "q\u0307\u0323", "q\u0323\u0307", "\ufb01n", "\u2460\u24b6",
    "e\u0301\u0301\u0301", "\u0301", " \u0301", "a\u0301 b\u0301", "\n\u0301", "o\u0308\u0304", "\u00f6\u0304", "\u0344", "\u0958", "\u09c7\u09be",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440", "\u0439 \u0438\u0306", "\u03b1\u03b2\u03b3 \u0391\u0301\u03c3\u03c2", "\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "ok\U0001f44d\U0001f3fd!", "\u2764\ufe0f", "\U0001d4d7\U0001d4ee", "\U00020000",
    "a\u00a0b", "a\u3000b", "a\u2003b", "a\u200bb", "\ufeffbom", "a\u0085b", "a\u2028b", "a\u180eb", "\u180e \u180e", "a\u00a0\u00a0b", "\u3000\u3000x", "a\u202f\u205fb",
    "\x00", "a\x00b", "\x01\x02\x1f", "\x7f", "\x80\x9f".encode("latin-1").decode("latin-1"), "\x0b\x0c", "\x1b[0m",
    "\ufffd", "\ufffe", "\uffff", "\ue000", "\U0010ffff", "\u0378",
    "<|endoftext|>", "a<|endoftext|>b", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>assistant\nHello there.<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>x", "<|im_end|>xx", "<|im_end|> x",
    "<|im_start", "<|im_start|", "<|im_<|im_start|>", "< |im_start|>", "<|IM_START|>", "<<|im_end|>>", "<|im_end|><|im_end|>",
    " <|im_end|> ", "  <|im_end|>  \n x", "[laughter]", "ha [laughter] ha", "[laughter", "[laugh] [laughter][laughter]", "<tts_pad><tts_pad>",
    "<mask>", "a <mask> b", "a  <mask>  b", "<right> x", "x<right>   \n y", "word", "a word b", "sword", "words", "word.", "(word)", "_word", "word\u0301", "word word",
    "caf\u00e9 <mask>cafe\u0301", "x caf\u00e9 y cafe\u0301 z", "  <mask>  <mask>  <right>  <right>  ", "wordword", "<right>word", "word<mask>",
    "daisy-chain", "waistcoat-pocket", "rabbit-hole", "curiosity" * 20, "x" * 300, " " * 100 + "y", "\n" * 50, "ab" * 200, "!" * 120, "\u660e" * 60,
    "The quick brown fox jumps over the lazy dog.", "Wer reitet so sp\u00e4t durch Nacht und Wind?", "\u042f \u043f\u043e\u043c\u043d\u044e \u0447\u0443\u0434\u043d\u043e\u0435 \u043c\u0433\u043d\u043e\u0432\u0435\u043d\u044c\u0435",
    "def f(x):\n    if x > 0:\n        return x * 2\n    return None\n", "{\"a\": [1, 2, 3], \"b\": null}", "<html><body class=\"x\">y</body></html>",
    "Mr. Smith paid $3.50 for 2 apples, didn't he?  Yes\u2014he did!\n\n\"Well,\" she said\u2026",
]

PIECES = [" ", "  ", "\n", "\r\n", "\t", "a", "the", "Alice", "'s", "'LL", "'", "1", "23", ".", "!", "?\n", "-", "\u00e9", "e\u0301",
          "\u0301", "\u0323", "\u660e\u6708", "\u3002", "\u3042", "\uac00", "\u1161", "\U0001f600", "\u200d", "<|im_end|>", "<|im_", "[laughter]",
          "<mask>", "<right>", "word", "\u00a0", "\u3000", "\x00", "\u0438", "\u0306", "\u00df", "\u017f", "Z", "\"", "("]


def strings():
    rng = random.Random(5)
    out = list(WRITTEN)
    for _ in range(140):
        out.append("".join(rng.choice(PIECES) for _ in range(rng.randint(2, 14))))
    return out


def train():
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    trainer = trainers.BpeTrainer(vocab_size=800, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tok.train_from_iterator([TEXT], trainer)
    model = json.loads(tok.to_str())["model"]
    return model["vocab"], [tuple(m) for m in model["merges"]]


def bpe(vocab, merges, **options):
    tok = Tokenizer(models.BPE(vocab=vocab, merges=merges, **options))
    tok.decoder = decoders.ByteLevel()
    return tok


def ranked(path, all_ways):
    """Returns vocabulary and merges of a tiktoken file. Each token is the merge of the two parts that remain after all merges of
    lower rank or, with `all_ways`, of any two tokens (as in Llama 3's file, with 280,147 merges)."""
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in path.read_text().splitlines())}
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    shown = {b: chr(b) for b in printable}
    shown |= {b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in shown)}
    text = lambda token: "".join(shown[b] for b in token)
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if all_ways:
            cuts = [(token[:i], token[i:]) for i in range(1, len(token))]
            found = [(ranks[a], ranks[b], a, b) for a, b in cuts if a in ranks and b in ranks]
            merges += [(text(a), text(b)) for _, _, a, b in sorted(found)]
            continue
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], rank))
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        if len(parts) == 2:
            merges.append((text(parts[0]), text(parts[1])))
    return {text(token): rank for token, rank in ranks.items()}, merges


def qwen(vocab, merges):
    """Writes the published layout of Qwen: vocab.json + merges.txt + tokenizer_config.json."""
    folder = HERE / "qwen"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False, separators=(",", ":")))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    added = {str(len(vocab) + i): {"content": s, "lstrip": False, "normalized": False, "rstrip": False,
                                   "single_word": False, "special": not s.startswith("<tts")}
             for i, s in enumerate(SPECIAL)}
    config = {"add_prefix_space": False, "added_tokens_decoder": added, "bos_token": None,
              "eos_token": "<|im_end|>", "errors": "replace", "pad_token": "<|endoftext|>",
              "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))
    tok = Qwen2Tokenizer.from_pretrained(str(folder))._tokenizer
    tok.save(str(HERE / "qwen.json"))
    return tok


def llama3(vocab, merges):
    """Makes a tokenizer with pieces of three digits, whole words before merges, and a token at the beginning."""
    tok = bpe(vocab, merges, ignore_merges=True)
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"] + SPECIAL)
    begin = tok.token_to_id("<|begin_of_text|>")
    tok.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", begin)])])
    tok.save(str(HERE / "llama3.json"))
    return tok


def gpt2(vocab, merges):
    """Makes a tokenizer with GPT-2's own pattern, a space in front, and added tokens with every flag."""
    tok = bpe(vocab, merges)
    tok.normalizer = normalizers.Sequence([normalizers.NFC()])
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tok.add_special_tokens([AddedToken("<|endoftext|>", normalized=True),
                            AddedToken("<mask>", lstrip=True, normalized=False),
                            AddedToken("<right>", rstrip=True, normalized=False)])
    tok.add_tokens([AddedToken("word", single_word=True, normalized=False),
                    AddedToken("caf\u00e9", normalized=True), AddedToken("[laughter]", normalized=True)])
    tok.save(str(HERE / "gpt2.json"))
    return tok


def stages(vocab, merges):
    """Makes a tokenizer with every kind of cutting stage, one after the other."""
    tok = bpe(vocab, merges, unk_token="<|endoftext|>" if "<|endoftext|>" in vocab else None)
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("\n", "removed"), pre_tokenizers.Split(" ", "merged_with_next"),
        pre_tokenizers.Split(Regex(r"[,.!?\u3002]"), "merged_with_previous"), pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Split(Regex(r"\p{Lu}"), "contiguous"),
        pre_tokenizers.Split(Regex(r"[\p{L}\s\w]+"), "isolated", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tok.add_tokens([AddedToken("<mask>", lstrip=True, rstrip=True), AddedToken("[laughter]")])
    tok.save(str(HERE / "stages.json"))
    return tok


def pieces(_vocab, _merges):
    """Makes a tokenizer like sentencepiece's (Llama 2, MiniCPM): characters, marks instead of spaces, byte tokens as a fallback."""
    marks = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    learned = Tokenizer(models.BPE(unk_token="<unk>"))
    learned.normalizer, learned.pre_tokenizer = marks, pre_tokenizers.Split("\u2581", "merged_with_next")
    learned.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=500, show_progress=False))
    model = json.loads(learned.to_str())["model"]
    vocab = {t: i for i, t in enumerate(["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)])}
    for piece in sorted(model["vocab"], key=model["vocab"].get):
        vocab.setdefault(piece, len(vocab))
    del vocab["<0x00>"]  # without this token, the byte is unknown
    tok = Tokenizer(models.BPE(vocab, [tuple(m) for m in model["merges"]], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = marks
    tok.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                     decoders.Strip(" ", 1, 0)])
    tok.add_special_tokens([AddedToken(s, normalized=False) for s in ["<unk>", "<s>", "</s>"] + SPECIAL])
    tok.add_tokens([AddedToken("word", normalized=True)])
    tok.save(str(HERE / "pieces.json"))
    return tok


def any_text(count):
    """Returns words of this file and of others in this folder, and characters of all planes, in random order. Marks that the
    library's old normaliser cannot put in order are omitted (docs/guide/checkpoints.md)."""
    rng = random.Random(9)
    words = [w for path in sorted(pathlib.Path(__file__).parent.glob("../*/*.py")) for w in path.read_text().split(" ")]
    ranges = [(0x20, 0x7f), (0xa0, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xd80), (0xe00, 0xe80), (0x1e00, 0x2000),
              (0x2000, 0x2c00), (0x3040, 0x3100), (0x4e00, 0x9fff), (0xac00, 0xd7a4), (0xff00, 0xfff0), (0x1f300, 0x1faff)]
    def some():
        if rng.random() < 0.5:
            return " ".join(rng.choice(words) for _ in range(rng.randint(1, 20)))
        low, high = rng.choice(ranges)
        return "".join(chr(rng.randrange(low, high)) for _ in range(rng.randint(1, 12)))
    texts = ["".join(some() for _ in range(rng.randint(1, 5))) for _ in range(count)]
    return [t for t in texts if normalizers.NFC().normalize_str(t) == unicodedata.normalize("NFC", t)]


def main():
    global HERE
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiktoken", type=pathlib.Path)
    parser.add_argument("--cut", choices=["qwen", "llama3", "gpt2"], default="qwen", help="whose pattern cuts texts")
    parser.add_argument("-o", "--out", type=pathlib.Path)
    args = parser.parse_args()
    vocab, merges = ranked(args.tiktoken, args.cut == "llama3") if args.tiktoken else train()
    cases = strings() + (any_text(4000) if args.tiktoken else [])
    HERE = args.out or HERE
    HERE.mkdir(exist_ok=True)
    golden = {"strings": cases, "variants": {}}
    for make in (globals()[args.cut],) if args.tiktoken else (qwen, llama3, gpt2, stages, pieces):
        tok = make(vocab, merges)
        ids = [tok.encode(s, add_special_tokens=False).ids for s in cases]
        tok.encode_special_tokens = True
        plain = [tok.encode(s, add_special_tokens=False).ids for s in cases]
        golden["variants"][make.__name__] = {
            "ids": ids,
            "plain": {str(i): p for i, p in enumerate(plain) if p != ids[i]},  # with special tokens as text
            "text": {str(i): t for i, t in enumerate(tok.decode(x, skip_special_tokens=False) for x in ids)
                     if t != cases[i]},
            "skipped": {str(i): t for i, t in enumerate(tok.decode(x, skip_special_tokens=True) for x in ids)
                        if t != cases[i]},
        }
        # Writes compact JSON, because the library's own is indented.
        path = HERE / f"{make.__name__}.json"
        path.write_text(json.dumps(json.loads(path.read_text()), ensure_ascii=False, separators=(",", ":")))
    (HERE / "golden.json").write_text(json.dumps(golden, separators=(",", ":")))


if __name__ == "__main__":
    main()
