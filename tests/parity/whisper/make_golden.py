#!/usr/bin/env python3
"""Makes small random Whispers in the published layout, and the results of the authors' own code with them.

  make_golden.py      writes small/ and large/ beside this file: a checkpoint (f16), and golden/: networks.safetensors and
                      cases.json

torch 2.15, transformers 5.23, openai-whisper 20250625, tokenizers 0.23, on the CPU in f32, one thread. The networks are those of
transformers, copied into the authors' classes, and both are compared. The authors' decode() and transcribe() transcribe windows and
whole recordings, with a tokenizer of a few ids instead of theirs. Random draws are those of src/kernels/sample.h. Recordings are
noise from integers, which the tests generate again.
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import tiktoken
import torch
import whisper
import whisper.decoding
import whisper.tokenizer
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import WhisperConfig, WhisperForConditionalGeneration
from whisper.audio import log_mel_spectrogram, pad_or_trim
from whisper.model import ModelDimensions, Whisper

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from philox import philox  # noqa: E402

torch.set_num_threads(1)
IDS, PLAIN, TIMESTAMPS, LOGIT_STEPS = 96, 300, 1501, 2
SHAPES = {  # like tiny and large-v3 in all differences of kind
    "small": dict(mels=80, width=16, heads=2, encoder=2, decoder=2, languages=["en", "zh", "de"], end=0.9, seed=3),
    "large": dict(mels=128, width=8, heads=1, encoder=3, decoder=1, languages=["en", "zh", "de", "es", "ru"], end=1.3, seed=8),
}
SENTENCES = """The quick brown fox jumps over the lazy dog, and nobody knows why. It isn't far; we'll be there by 10:45.
Ein kleiner Vogel singt im Garten, während der Regen fällt. The sky is grey and it may rain in the evening, so take a coat."""
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def signal(seconds, seed, swell=5):
    """Returns golden_signal() of src/codec/qwen3_audio_fixture.h with gaps of near silence."""
    count, state, out = int(seconds * 16000), seed, np.empty(int(seconds * 16000), np.float32)
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        noise = (state >> 16) - 32768
        out[i] = ((noise * ((i * swell) & 16383)) >> 14) / 32768
    return out


def special_tokens(languages):
    return ["<|endoftext|>", "<|startoftranscript|>", *[f"<|{l}|>" for l in languages], "<|translate|>", "<|transcribe|>",
            "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]


def byte_of_letter():
    """Returns GPT-2's letters for bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {chr(b): b for b in plain}, 0
    for b in range(256):
        if b not in plain:
            table[chr(256 + extra)] = b
            extra += 1
    return table


def make_tokenizers(languages, out):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(SENTENCES.split("\n"), trainers.BpeTrainer(
        vocab_size=PLAIN, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    tok.add_special_tokens(special_tokens(languages))
    tok.save(str(out / "tokenizer.json"), pretty=False)
    return encoding_of(tok, languages)


def encoding_of(tok, languages):
    """Returns the same tokenizer in the authors' form."""
    letters, specials = byte_of_letter(), special_tokens(languages)
    ranks = {bytes(letters[c] for c in token): i for token, i in tok.get_vocab().items() if i < PLAIN}
    assert len(ranks) == PLAIN
    names = specials + [f"<|{i * 0.02:.2f}|>" for i in range(TIMESTAMPS)]
    encoding = tiktoken.Encoding("small", explicit_n_vocab=PLAIN + len(names), pat_str=PATTERN, mergeable_ranks=ranks,
                                 special_tokens={name: PLAIN + i for i, name in enumerate(names)})
    return encoding


def authors_of(hf, shape):
    """Returns the authors' class with the weights of transformers' networks."""
    c = hf.config
    dims = ModelDimensions(c.num_mel_bins, 1500, c.d_model, c.encoder_attention_heads, c.encoder_layers, c.vocab_size, IDS, c.d_model,
                           c.decoder_attention_heads, c.decoder_layers)

    class Small(Whisper):
        is_multilingual = True
        num_languages = len(shape["languages"])
    authors = Small(dims).eval()
    state = {}
    for key, value in hf.model.state_dict().items():
        for a, b in [("embed_tokens.weight", "token_embedding.weight"), ("embed_positions.weight", "positional_embedding"),
                     ("layers.", "blocks."), ("encoder_attn_layer_norm", "cross_attn_ln"), ("self_attn_layer_norm", "attn_ln"),
                     ("encoder_attn.", "cross_attn."), ("self_attn.", "attn."), ("final_layer_norm", "mlp_ln"), ("fc1", "mlp.0"),
                     ("fc2", "mlp.2"), ("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "out")]:
            key = key.replace(a, b)
        key = key.replace("encoder.layer_norm", "encoder.ln_post").replace("decoder.layer_norm", "decoder.ln")
        state[key] = value
    missing = authors.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys and all("mask" in k for k in missing.missing_keys), missing
    return authors


def make_models(name, out):
    shape = SHAPES[name]
    specials = special_tokens(shape["languages"])
    vocab, width = PLAIN + len(specials) + TIMESTAMPS, shape["width"]
    at = {token: PLAIN + i for i, token in enumerate(specials)}
    config = WhisperConfig(
        vocab_size=vocab, num_mel_bins=shape["mels"], d_model=width, encoder_layers=shape["encoder"],
        encoder_attention_heads=shape["heads"], decoder_layers=shape["decoder"], decoder_attention_heads=shape["heads"],
        encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width, max_source_positions=1500, max_target_positions=IDS,
        pad_token_id=at["<|endoftext|>"], bos_token_id=at["<|endoftext|>"], eos_token_id=at["<|endoftext|>"],
        decoder_start_token_id=at["<|startoftranscript|>"], suppress_tokens=None, begin_suppress_tokens=None)
    torch.manual_seed(shape["seed"])
    hf = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for key, p in hf.named_parameters():
            if "encoder.embed_positions" in key:
                continue
            if "norm" in key:
                p.copy_(torch.randn_like(p) * 0.1 + (1 if key.endswith("weight") else 0))
            elif key.endswith("bias"):
                p.copy_(torch.randn_like(p) * 0.1)
            else:
                fan = p[0].numel() if p.dim() > 1 else p.numel()
                ends = "decoder" in key and ("out_proj" in key or "fc2" in key)  # otherwise ids only repeat themselves
                p.copy_(torch.randn_like(p) * ((4 if ends else 1.5) / fan**0.5))
        table = hf.model.decoder.embed_tokens.weight
        table.copy_(torch.randn_like(table) * (3.6 / width**0.5))
        table[at["<|notimestamps|>"] + 1:] *= 0.7
        table[at["<|endoftext|>"]] *= shape["end"]
        table[94:256] *= 0.5  # bytes that are no letters
        table[at["<|en|>"]:at["<|notimestamps|>"]] *= 0.4
        hf.model.decoder.embed_positions.weight.copy_(torch.randn(IDS, width) * 0.5)
        # Some windows have no speech: the no-speech row is aligned with the start's hidden state.
        start = torch.tensor([[at["<|startoftranscript|>"]]])
        noise = torch.randn(1, shape["mels"], 3000)
        hidden = hf.model(input_features=noise, decoder_input_ids=start).last_hidden_state[0, 0]
        table[at["<|nospeech|>"]] = hidden * (9 / hidden.norm()**2)
        # The parameters of the checkpoint are in f16.
        for p in hf.parameters():
            p.copy_(p.half().float())
    authors = authors_of(hf, shape)
    tensors = {k: v.half().contiguous() for k, v in hf.state_dict().items() if k != "proj_out.weight"}
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    hf.config.architectures = ["WhisperForConditionalGeneration"]
    hf.config.save_pretrained(out)
    return hf, authors, at


def write_generation(out, at, languages, encoding, authors):
    task = whisper.decoding.DecodingTask(authors, whisper.DecodingOptions(language="en", fp16=False))
    generation = {
        "begin_suppress_tokens": [encoding.encode(" ")[0], at["<|endoftext|>"]],
        "bos_token_id": at["<|endoftext|>"], "decoder_start_token_id": at["<|startoftranscript|>"],
        "eos_token_id": at["<|endoftext|>"], "is_multilingual": True,
        "lang_to_id": {f"<|{l}|>": at[f"<|{l}|>"] for l in languages}, "max_initial_timestamp_index": 50, "max_length": IDS,
        "no_timestamps_token_id": at["<|notimestamps|>"], "pad_token_id": at["<|endoftext|>"],
        "prev_sot_token_id": at["<|startofprev|>"], "return_timestamps": False,
        "suppress_tokens": list(task._get_suppress_tokens()),
        "task_to_id": {"transcribe": at["<|transcribe|>"], "translate": at["<|translate|>"]}}
    (out / "generation_config.json").write_text(json.dumps(generation, indent=1) + "\n")
    (out / "preprocessor_config.json").write_text(json.dumps(
        {"chunk_length": 30, "feature_size": authors.dims.n_mels, "hop_length": 160, "n_fft": 400, "sampling_rate": 16000}) + "\n")


class Draws:
    """Replaces torch's Categorical, and draws like the engine."""
    seed = step = 0

    def __init__(self, logits):
        self.logits = logits

    def sample(self):
        bits = philox([np.array([x], np.uint64) for x in (Draws.step, 0, 0, 0)], (Draws.seed & 0xFFFFFFFF, Draws.seed >> 32))
        u = float(np.float32(int(bits[0][0]) >> 8) * np.float32(2.0**-24))
        x = self.logits[0].double()
        weights = torch.exp(x - x.max())
        sums = torch.cumsum(weights, 0)
        return torch.tensor([int(torch.searchsorted(sums, u * sums[-1], right=True))])


whisper.decoding.Categorical = Draws


class Watch:
    """Records the inputs of the authors' loop, and counts seeds and steps of draws like the engine."""

    def __init__(self):
        self.windows = []
        main_loop, update = whisper.decoding.DecodingTask._main_loop, whisper.decoding.GreedyDecoder.update
        watch = self

        def loop(task, features, tokens):
            watch.windows.append({"allowed": [], "logits": [], "temperature": task.options.temperature})
            Draws.step = len(task.initial_tokens) - task.sot_index - 1
            return main_loop(task, features, tokens)

        def updated(decoder, tokens, logits, sums):
            window = watch.windows[-1]
            window["allowed"].append(int(torch.isfinite(logits[0]).sum()))
            if len(window["logits"]) < LOGIT_STEPS:
                window["logits"].append(logits[0].clone())
            result = update(decoder, tokens, logits, sums)
            Draws.step += 1
            return result
        whisper.decoding.DecodingTask._main_loop, whisper.decoding.GreedyDecoder.update = loop, updated


WATCH = Watch()




def window_cases(name, model, hf, recording, tensors):
    """Makes cases of one window: the authors' decode() of 30 s from a place within the recording."""
    mel = log_mel_spectrogram(recording, model.dims.n_mels, padding=480000)
    content = mel.shape[-1] - 3000
    out = []
    for case in [dict(first=0, options={}), dict(first=700, options=dict(language="de", without_timestamps=True)),
                 dict(first=3100, options=dict(language="en", task="translate", prompt=[40, 41, 42, 43, 44, 45])),
                 dict(first=1, options=dict(language="zh", temperature=0.7, prompt=list(range(1, 90))))]:
        first = case["first"]
        frames = min(3000, content - first)
        part = pad_or_trim(mel[:, first:first + frames], 3000)
        Draws.seed = 5
        result = model.decode(part, whisper.DecodingOptions(fp16=False, **case["options"]))
        seen, number = WATCH.windows[-1], len(out)
        if number % 2 == 0:
            tensors[f"logits_{number}"] = torch.stack(seen["logits"]).clamp(min=-1e30)
        rows = model.encoder(part[None])[0]
        tensors[f"rows_{number}"] = rows[::75].contiguous()
        assert torch.allclose(hf.model.encoder(part[None]).last_hidden_state[0], rows, atol=2e-5)
        if number == 0:
            tensors["mel_0"] = part[:, 1000:1004].T.contiguous()
            sot = model_ids(name)["<|startoftranscript|>"]
            ids = torch.tensor([[sot, sot + 1, *result.tokens]])
            theirs = hf(input_features=part[None], decoder_input_ids=ids).logits
            assert torch.allclose(theirs, model.decoder(ids, rows[None]), atol=1e-4)
        out.append({**case, "frames": frames, "ids": result.tokens, "language": result.language, "text": result.text,
                    "avg_logprob": result.avg_logprob, "no_speech_prob": result.no_speech_prob, "allowed": seen["allowed"]})
        print(name, "window", first, result.language, len(result.tokens), round(result.avg_logprob, 3), round(result.no_speech_prob, 4))
    return out


def whole_cases(name, model, recordings):
    """Makes cases of whole recordings by the authors' transcribe()."""
    out, steps = [], (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    for case in [dict(recording=0, options=dict(temperature=0.0)),
                 dict(recording=0, options=dict(language="de", temperature=steps, logprob_threshold=-1.6)),
                 dict(recording=1, options=dict(language="en", task="translate", temperature=steps, initial_prompt="The lazy dog.")),
                 dict(recording=1, options=dict(language="en", temperature=0.0, no_speech_threshold=5e-3, logprob_threshold=-0.7)),
                 dict(recording=0, options=dict(language="en", temperature=(0.0, 0.8), compression_ratio_threshold=1.2,
                                                condition_on_previous_text=False))]:
        recording = recordings[case["recording"]]
        before = len(WATCH.windows)
        place = [0]
        # transcribe() does not report its position, so the position is taken from the mel that it cuts.
        mel = log_mel_spectrogram(torch.from_numpy(recording), model.dims.n_mels, padding=480000)
        starts = {}
        content = mel.shape[-1] - 3000
        decode = whisper.model.Whisper.decode

        def seek_of(part):
            for first in range(place[0], content):
                frames = min(3000, content - first)
                if torch.equal(mel[:, first], part[:, 0]) and torch.equal(mel[:, first:first + frames], part[:, :frames]):
                    place[0] = first
                    return first
            raise RuntimeError("no such window")

        def run(part, options):
            first = seek_of(part)
            starts[first] = starts.get(first, -1) + 1
            Draws.seed = (first << 8) + starts[first]
            return decode(model, part, options)
        model.decode = run
        result = whisper.transcribe(model, recording, fp16=False, verbose=None, **case["options"])
        del model.decode
        for segment in result["segments"]:
            del segment["id"]
        out.append({**case, "windows": len(WATCH.windows) - before, **result})
        print(name, "whole", case["options"], result["language"], len(result["segments"]), "segments,", out[-1]["windows"], "windows,",
              sorted({s["temperature"] for s in result["segments"]}), repr(result["text"][:50]))
    return out


IDS_OF = {}


def model_ids(name):
    return IDS_OF[name]


@torch.no_grad()
def main():
    recordings = [dict(seconds=71.3, seed=7, swell=5), dict(seconds=47.03, seed=9, swell=3)]
    samples = [signal(**r) for r in recordings]
    for name, shape in SHAPES.items():
        out = HERE / name
        shutil.rmtree(out, ignore_errors=True)
        (out / "golden").mkdir(parents=True)
        encoding = make_tokenizers(shape["languages"], out)
        whisper.tokenizer.get_encoding = lambda name=None, num_languages=0: encoding
        whisper.tokenizer.get_tokenizer.cache_clear()
        hf, authors, IDS_OF[name] = make_models(name, out)
        write_generation(out, IDS_OF[name], shape["languages"], encoding, authors)
        tensors = {}
        cases = {"recordings": recordings, "windows": window_cases(name, authors, hf, torch.from_numpy(samples[0]), tensors),
                 "whole": whole_cases(name, authors, samples)}
        save_file(tensors, out / "golden" / "networks.safetensors")
        (out / "golden" / "cases.json").write_text(json.dumps(cases, separators=(",", ":"), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
