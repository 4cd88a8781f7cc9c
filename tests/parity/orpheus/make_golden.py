"""Writes a small Orpheus checkpoint in the published layout, and the results of the originals with it.

The originals: LlamaForCausalLM of transformers (4.57.3) for the language model, the authors' prompt and token code
(https://github.com/canopyai/Orpheus-TTS, orpheus_tts_pypi/orpheus_tts/{engine_class,decoder}.py, given with --source,
unchanged), and the snac package (1.2.1) for the codec, with fixed noise. Their code contains ids of the published
vocabulary as numbers. Here those numbers mean the tokens of the same names in a small vocabulary, and 64 replaces the
4096 codes of a block.

  python make_golden.py --source DIR      # DIR: a checkout of the repository
"""
import argparse
import json
import pathlib
import sys
import types

import torch
from safetensors.torch import save_file
from snac import SNAC
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor

sys.path.append(str(pathlib.Path(__file__).parent.parent))
from philox import block_noise  # noqa: E402

OUT = pathlib.Path(__file__).parent / "golden"
BLOCK, FRAME, SEED = 64, 7, 77
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["Hello there, how are you today? I am fine, thank you, and the weather is very good in the north.",
          "tara: leo: zoe: The quick brown fox jumps over the lazy dog. <laugh> <sigh> <gasp> It isn't 1234!"]
# Numbers in the authors' code, and the names of their tokens.
NAMES = {128259: "<custom_token_3>", 128009: "<|eot_id|>", 128260: "<custom_token_4>", 128261: "<custom_token_5>",
         128257: "<custom_token_1>"}


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=340, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False)
                            for t in ("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>")])
    tok.add_tokens([AddedToken(f"<custom_token_{i}>", normalized=False) for i in range(10 + FRAME * BLOCK)])
    tok.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", tok.token_to_id("<|begin_of_text|>"))])
    tok.save(str(folder / "tokenizer.json"))
    fast = PreTrainedTokenizerFast(tokenizer_object=tok, bos_token="<|begin_of_text|>", eos_token="<|eot_id|>")
    return fast


def write_checkpoint(folder):
    folder.mkdir(parents=True, exist_ok=True)
    tok = write_tokenizer(folder)
    torch.manual_seed(5)
    config = LlamaConfig(
        hidden_size=64, intermediate_size=160, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
        head_dim=16, vocab_size=len(tok) + 3, rms_norm_eps=1e-5, rope_theta=500000.0, tie_word_embeddings=True,
        max_position_embeddings=131072, torch_dtype="bfloat16",
        rope_scaling=dict(factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, rope_type="llama3",
                          original_max_position_embeddings=64))
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_((torch.randn_like(value) * (0.3 if value.dim() == 2 else 0.1)
                         + (0 if value.dim() == 2 else 1)).bfloat16())
            if "embed" in name:
                value.mul_(0.5)
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    codec = folder / "snac_24khz"
    codec.mkdir(exist_ok=True)
    sizes = dict(sampling_rate=24000, encoder_dim=2, encoder_rates=[2, 4, 8, 8], decoder_dim=32,
                 decoder_rates=[8, 8, 4, 2], attn_window_size=None, codebook_size=BLOCK, codebook_dim=8,
                 vq_strides=[4, 2, 1], noise=True, depthwise=True)
    snac = SNAC(**sizes).eval()
    (codec / "config.json").write_text(json.dumps(sizes, indent=1) + "\n")
    torch.save({k: v for k, v in snac.state_dict().items()}, codec / "pytorch_model.bin")
    return tok, snac


def authors_code(source, tok, snac):
    """Imports the two files of the package. The parts that they load from the hub are replaced."""
    package = source / "orpheus_tts_pypi" / "orpheus_tts"
    vllm = types.ModuleType("vllm")
    vllm.AsyncLLMEngine = vllm.AsyncEngineArgs = vllm.SamplingParams = object
    sys.modules["vllm"] = vllm
    decoder = types.ModuleType("orpheus_tts.decoder")
    text = (package / "decoder.py").read_text().replace("% 7) * 4096)", f"% 7) * {BLOCK})")
    assert f"* {BLOCK})" in text
    from_pretrained, SNAC.from_pretrained = SNAC.from_pretrained, classmethod(lambda cls, name: snac)
    exec(compile(text, "decoder.py", "exec"), decoder.__dict__)
    SNAC.from_pretrained = from_pretrained
    root = types.ModuleType("orpheus_tts")
    root.__path__ = []
    sys.modules.update({"orpheus_tts": root, "orpheus_tts.decoder": decoder})
    engine = types.ModuleType("orpheus_tts.engine_class")
    engine.__package__ = "orpheus_tts"
    exec(compile((package / "engine_class.py").read_text(), "engine_class.py", "exec"), engine.__dict__)
    model = object.__new__(engine.OrpheusModel)
    model.tokenizer = tok
    return model, decoder, engine


class SmallIds:
    """Replaces torch for the prompt code, so that its constant ids become those of the small vocabulary."""

    def __init__(self, tok):
        self.tok, self.all_ids = tok, None

    def __getattr__(self, name):
        return getattr(torch, name)

    def tensor(self, rows, dtype=None):
        return torch.tensor([[self.tok.convert_tokens_to_ids(NAMES[i]) for i in row] for row in rows], dtype=dtype)

    def cat(self, parts, dim):
        self.all_ids = torch.cat(parts, dim=dim)
        return self.all_ids


def prompt_ids(model, engine, tok, text, voice):
    engine.torch = SmallIds(tok)
    model._format_prompt(text, voice)
    return engine.torch.all_ids


def decode(decoder, snac, tok, ids):
    """Returns frames and samples of the tokens by the authors' code, with all frames in one window."""
    codes = [decoder.turn_token_into_id(tok.decode([int(i)]), n) for n, i in enumerate(ids)]
    seen = {}
    calls = iter(range(100))
    randn, original = torch.randn, snac.decode
    torch.randn = lambda shape, **kw: torch.from_numpy(block_noise(SEED, next(calls), shape[-1]))[None, None]

    def record(c):
        seen["codes"], seen["audio"] = c, original(c)
        return seen["audio"]

    snac.decode = record
    decoder.convert_to_audio(codes, len(codes))
    torch.randn, snac.decode = randn, original
    latents = [c[0].repeat_interleave(s) for c, s in zip(seen["codes"], (4, 2, 1))]
    return torch.stack(latents, dim=1).int(), seen["audio"][0, 0]


def run_case(case, model, decoder, engine, llama, snac, tok):
    ids = prompt_ids(model, engine, tok, case["text"], case["voice"] if case["voice"] != "none" else None)
    first = tok.convert_tokens_to_ids("<custom_token_10>")
    end = tok.convert_tokens_to_ids("<custom_token_2>")
    penalty = RepetitionPenaltyLogitsProcessor(case["penalty"]) if case["penalty"] != 1 else None
    rows, said, margin, cache = [], [], 1e9, None
    step_ids = ids
    while len(said) < case["steps"]:
        with torch.no_grad():
            out = llama(step_ids, past_key_values=cache, use_cache=True)
        cache, row = out.past_key_values, out.logits[0, -1]
        rows.append(row[end: first + FRAME * BLOCK].clone())
        if penalty:
            row = penalty(torch.cat([ids, torch.tensor([said], dtype=torch.long)], dim=1), row[None].clone())[0]
        place = len(said) % FRAME
        allowed = list(range(first + place * BLOCK, first + (place + 1) * BLOCK))
        if place == 0 and said and not case["ignore_stop"]:
            allowed.append(end)
        best = row[allowed].topk(2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        token = allowed[int(best.indices[0])]
        if token == end:
            break
        said.append(token)
        step_ids = torch.tensor([[token]])
    case["ended"] = len(said) < case["steps"]
    case["steps"], case["margin"] = len(said), margin
    whole = said[: len(said) // FRAME * FRAME]
    frames, audio = decode(decoder, snac, tok, whole)
    keep = case.pop("logit_steps")
    out = {"prompt_ids": ids[0].int(), "tokens": torch.tensor(said, dtype=torch.int32),
           "logits": torch.stack(rows[:keep]), "frames": frames}
    if case.pop("samples"):
        out["samples"] = audio
    return {k: v.contiguous() for k, v in out.items()}


CASES = [
    dict(name="voice", text="Hello there, how are you today?", voice="tara", steps=224, penalty=1.0, ignore_stop=True,
         logit_steps=64, samples=True),
    dict(name="penalty", text="The fox <laugh> isn't lazy… 你好 <sigh>\nnew line", voice="zoe", steps=210, penalty=1.3,
         ignore_stop=True, logit_steps=16, samples=False),
    dict(name="no_voice", text="  How are you? ", voice="none", steps=70, penalty=1.3, ignore_stop=True,
         logit_steps=8, samples=False),
    dict(name="stops", text="Good weather is in the north.", voice="leo", steps=700, penalty=1.3, ignore_stop=False,
         logit_steps=8, samples=True),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tok, snac = write_checkpoint(OUT / "checkpoint")
    model, decoder, engine = authors_code(args.source, tok, snac)
    llama = LlamaForCausalLM.from_pretrained(OUT / "checkpoint", dtype=torch.float32, attn_implementation="eager").eval()
    for case in CASES:
        save_file(run_case(case, model, decoder, engine, llama, snac, tok), OUT / f"{case['name']}.safetensors")
        print(case)
    (OUT / "cases.json").write_text(json.dumps(CASES, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
