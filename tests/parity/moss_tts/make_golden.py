#!/usr/bin/env python3
"""Writes two small random MOSS-TTS-Realtime checkpoints, each with its codec, and the results of the authors' code with them.

    git clone https://github.com/OpenMOSS/MOSS-TTS             # 58b20a0
    git clone https://github.com/OpenMOSS/MOSS-Audio-Tokenizer # 56df9ee
    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==5.0.0 safetensors numpy
    VENV/bin/python make_golden.py MOSS-TTS MOSS-Audio-Tokenizer [--out DIR]

Everything is float32 on the CPU with the eager attention, one thread; the local transformer runs without torch.compile. Layout
and names are the published ones, only sizes and ids are smaller. A case runs in the authors' streaming session: whole texts as
ids (push_text_tokens()), like their server. Two runs on one machine give the same bytes. Each case stores its smallest margin
between the two best logits after the penalty ("margin"). It must be far above float noise, so that greedy frames are
reproducible.
"""
import argparse
import importlib
import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from transformers.models.qwen3 import Qwen3Config

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["assistant\n", "system\n", "user\n", "context\n", "the quick brown fox jumps over the lazy dog",
          "hello there, how are you?", "You are a highly expressive engine", "numbers 1 2 3 4 5 and other things"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|audio_pad|>", "<|text_pad|>"]
WINDOW = 50  # number of frames in the penalty's window
BOS, EOS = 1, 2  # these ids follow the pad's


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(WORDS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=380, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tok.train_from_iterator(CORPUS * 20, trainer)
    tok.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL])
    tok.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "tokenizer_class": "PreTrainedTokenizerFast"}, indent=1) + "\n")
    return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="<|endoftext|>")


def randomise(model, seed):
    """Sets random weights at scales where every part of the networks affects their output."""
    gen = torch.Generator().manual_seed(seed)
    rand = lambda t, scale: t.copy_(torch.randn(t.shape, generator=gen) * scale)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            last = name.rsplit(".", 1)[-1]
            if "norm" in name and last == "weight":
                p.copy_(1.0 + 0.2 * torch.randn(p.shape, generator=gen))
            elif last == "scale":
                p.copy_(0.3 + 0.1 * torch.randn(p.shape, generator=gen))
            elif last == "bias":
                rand(p, 0.2)
            elif last == "original0":
                p.copy_(0.5 + torch.rand(p.shape, generator=gen))
            elif "codebook" in name or "embed" in name:
                rand(p, 0.7)
            else:
                rand(p, 1.3 / np.sqrt(np.prod(p.shape[1:])))
    weights = seeded.Weights(seed)
    weights.over(model)
    return weights


def codec_config(module, size):
    def transformer(given, made, size_of):
        return dict(module_type="Transformer", input_dimension=given, output_dimension=made, causal=True, norm="layer_norm",
                    positional_embedding="rope", max_period=10000, gating="none", layer_scale=0.01, conv_layout=True, **size_of)
    patch = lambda n: dict(module_type="PatchedPretransform", patch_size=n)
    first, patches, width = size["first"], size["patches"], size["latent"]
    # The last patch contains the samples of a row. Each other patch halves the rate (or more).
    blocks = size["blocks"]
    encoder, channels = [patch(first)], first
    for i, block in enumerate(reversed(blocks)):
        made = block["out"] if i + 1 < len(blocks) else width
        encoder.append(transformer(channels, made, block["net"]))
        if i + 1 < len(blocks):
            encoder.append(patch(patches[-1 - i]))
            channels = made * patches[-1 - i]
    decoder, channels = [], width
    for i, block in enumerate(blocks):
        last = i + 1 == len(blocks)
        made = first if last else block["net"]["d_model"]
        decoder.append(transformer(channels, made, block["net"]))
        decoder.append(patch(first if last else patches[i]))
        channels = 0 if last else made // patches[i]
    hop = first * int(np.prod(patches))
    return module.MossAudioTokenizerConfig(
        sampling_rate=size["rate"], downsample_rate=hop, causal_transformer_context_duration=size["seconds"],
        encoder_kwargs=encoder, decoder_kwargs=decoder, code_dim=width, quantizer_type="rlfq",
        quantizer_kwargs=dict(codebook_dim=size["entry"], codebook_size=size["codes"], input_dim=width,
                              num_quantizers=size["books"], output_dim=width, quantizer_type="rlfq", rvq_dim=size["rvq"]))


def speech(samples, rate, seed):
    """Returns audio with a rising tone, a hum and a hiss."""
    t = np.arange(samples) / rate
    noise = np.random.default_rng(seed).standard_normal(samples)
    tone = np.sin(2 * np.pi * (120 + 40 * t) * t) + 0.5 * np.sin(2 * np.pi * 410 * t)
    sound = 0.2 * tone * (1 + np.sin(2 * np.pi * 3 * t)) / 2 + 0.03 * noise
    return (np.round(sound * 32768) / 32768).astype(np.float32)  # so that the file compresses well


class Recorder:
    """Records inputs and outputs of the model's parts: all rows, and of the last turn logits, local rows and margin."""

    def __init__(self, model, inferencer):
        self.rows = []
        self.turn()
        forward, sample = model.forward, inferencer.sample_token

        def seen(input_ids, **kwargs):
            self.rows.append(input_ids[0].clone())
            return forward(input_ids=input_ids, **kwargs)

        def sampled(logits, **kwargs):
            best = logits.reshape(-1).topk(2).values
            self.margin = min(self.margin, float(best[0] - best[1]))
            return sample(logits, **kwargs)

        model.forward, inferencer.sample_token = seen, sampled
        heads = model.local_transformer.local_lm_heads
        self.hooks = [head.register_forward_hook(lambda _m, _i, out: self.logits.append(out[0].clone())) for head in heads]
        self.hooks.append(heads[0].register_forward_hook(lambda _m, i, _o: self.hidden.append(i[0][0].clone())))
        self.undo = (model, inferencer)

    def turn(self):
        """Begins the last turn."""
        self.before, self.logits, self.hidden, self.margin = len(self.rows), [], [], np.inf

    def close(self):
        for hook in self.hooks:
            hook.remove()
        del self.undo[0].forward, self.undo[1].sample_token


class Speaker:
    """Runs the authors' session on one model."""

    def __init__(self, api, model, tokenizer, codes, books):
        self.model, self.tokenizer, self.codes, self.books = model, tokenizer, codes, books
        names = dict(channels=books, audio_channel_pad=codes, audio_bos_token=codes + BOS, audio_eos_token=codes + EOS)
        self.processor = api.processing.MossTTSRealtimeProcessor(tokenizer, **names)
        self.inferencer = api.streaming.MossTTSRealtimeInference(
            model, tokenizer, text_pad_id=self.processor.text_pad_token_id, aud_pad_id=self.processor.audio_pad_token_id, **names)
        self.inferencer._should_compile_local_transformer = False
        self.api = api

    def session(self, penalty):
        return self.api.streaming.MossTTSRealtimeStreamingSession(
            self.inferencer, self.processor, prefill_text_len=self.processor.delay_tokens_len, do_sample=False,
            repetition_penalty=penalty, repetition_window=WINDOW)

    def plain(self, text):
        ids = self.tokenizer.encode(text)
        rows = np.full((len(ids), self.books + 1), self.codes, dtype=np.int64)
        rows[:, 0] = ids
        return rows

    def speak(self, session, text, steps):
        """Returns the frames of a turn whose beginning is set, and whether the turn ended."""
        frames = session.push_text_tokens(self.tokenizer.encode(text, add_special_tokens=False))[:steps]
        if not frames:
            frames = session.end_text()
        while len(frames) < steps and not self.inferencer.is_finished:
            frames += session.drain(max_steps=1)
        frames = torch.cat(frames)[:steps]
        ends = (frames[:, 0] == self.codes + EOS).nonzero()
        return (frames[:ends[0, 0]], True) if len(ends) else (frames, False)

    def run(self, case, voice, turns, record):
        """Runs a case. `turns`: (kind, text, frames) before the answer."""
        session = self.session(case["penalty"])
        head = self.processor.make_ensemble(voice)
        def begin(i):
            """Begins an answer without a turn of the user: the first like the authors' inferencer.py, others like SGLang-Omni."""
            rows = self.plain(("<|im_end|>\n" if i else "") + "<|im_start|>assistant\n")
            rows = rows if i else np.concatenate([head, rows])
            session.reset_turn(input_ids=rows, include_system_prompt=False, reset_cache=i == 0)
        kinds = [turn[0] for turn in turns] + ["assistant"]
        for i, (kind, text, frames) in enumerate(turns):
            if kind != "user" and kinds[max(i, 1) - 1] != "user":
                begin(i)
            if kind == "user" and frames is not None:
                session.set_voice_prompt_tokens(voice)
                session.reset_turn(user_text=text, user_audio_tokens=frames, include_system_prompt=i == 0, reset_cache=i == 0)
            elif kind == "user":  # like the authors' app.py, which begins a new turn
                rows = self.plain("<|im_end|>\n<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n")
                rows = np.concatenate([head, rows]) if i == 0 else rows
                session.reset_turn(input_ids=rows, include_system_prompt=False, reset_cache=i == 0)
            else:
                made, _ = self.speak(session, text, frames + 1)  # so that the last frame is an input, too
                turns[i] = (kind, text, made[:frames])
        if not turns or kinds[-2] != "user":
            begin(len(turns))
        record.turn()
        return self.speak(session, case["text"], case["max_frames"])


def run_case(speaker, codec, case, size):
    rate, books = size["rate"], speaker.books
    result, voice, turns = {}, None, []
    def encoded(seconds, seed):
        hop = codec.config.downsample_rate
        sound = speech(int(seconds * rate) // hop * hop, rate, seed)
        codes = codec.encode(torch.from_numpy(sound)[None, None]).audio_codes[:books, 0].t()
        return sound, codes.numpy()
    if case.get("voice_s"):
        result["recording"], voice = encoded(case["voice_s"], 5)
        result["voice"] = voice.astype(np.int32)
    for i, turn in enumerate(case["context"]):
        frames = turn.get("frames")
        if turn["voice"] == "user" and turn.get("seconds"):
            frames = encoded(turn["seconds"], 6 + i)[1]
        turns.append((turn["voice"], turn["text"], frames))
    record = Recorder(speaker.model, speaker.inferencer)
    frames, ended = speaker.run(case, voice, turns, record)
    record.close()
    for i, (_, _, codes) in enumerate(turns):
        if codes is not None:
            result[f"context_{i}"] = torch.as_tensor(codes).int()
    case.update(steps=len(frames), ended=ended, margin=record.margin)
    logits = torch.stack(record.logits).view(-1, books, size["codes"] + 3)
    # All rows of the prompt, also those of earlier turns, because their caches continue.
    prompt = torch.cat(record.rows[: record.before + 1])
    result |= {"prompt": prompt.int(), "prompt_ids": prompt[:, 0].int(), "frames": frames.int(),
               "fed": torch.cat(record.rows[record.before + 1:])[:60].int(),
               "logits": logits[: case["keep_logits"], 0]}
    if case.get("keep_inner"):
        result["inner_logits"] = logits[: case["keep_inner"], 1:]
    if case.get("keep_frames"):
        kept = min(case["keep_frames"], len(frames))
        result["samples"] = codec.decode(frames[:kept].t()[:, None]).audio[0, 0]
    if case.get("keep_continued"):
        # One stream over all turns. The authors' streaming mode differs by 0.5 to 5 %, depending on its chunks, because its cache
        # drops keys that the window of a chunk's first rows still has.
        own = torch.cat([torch.as_tensor(codes) for kind, _, codes in turns if kind != "user"] + [frames])
        first, hop = len(own) - len(frames), codec.config.downsample_rate
        result["continued"] = codec.decode(own.t()[:, None]).audio[0, 0, first * hop : (first + case["keep_continued"]) * hop]
    case["hidden"] = record.hidden
    return {k: torch.as_tensor(v).contiguous().clone() for k, v in result.items()}


def teach_end(model, hidden, logits, eos, begin):
    """Gives the end id the row of a hidden state that no earlier one resembles, so that the end first wins there."""
    for at in range(begin, len(hidden)):
        row = hidden[at] * (1.05 * logits[at].max() / hidden[at].square().sum())
        scores = torch.stack([h @ row for h in hidden[:at]])
        if bool((scores < 0.8 * torch.stack([l.max() for l in logits[:at]])).all()):
            with torch.no_grad():
                model.local_transformer.local_lm_heads[0].weight[eos] = row
            return at
    raise SystemExit("no hidden row for the end; take another seed")


NET = lambda width, heads, layers, ffn: dict(d_model=width, num_heads=heads, num_layers=layers, dim_feedforward=ffn)
SIZES = {
    # The published codebooks, ids and rates; two shards of bf16 weights, a codec of four blocks in two shards.
    "published_rates": dict(
        seed=43, dtype=torch.bfloat16, books=32, rvq_codes=16, codes=1024, entry=8, rvq=24, latent=32, rate=24000, seconds=10,
        first=240, patches=[2, 2, 2],
        blocks=[dict(net=NET(32, 4, 3, 64)), dict(net=NET(32, 2, 2, 48), out=16), dict(net=NET(24, 3, 1, 48), out=16),
                dict(net=NET(32, 4, 2, 64), out=12)],
        language=dict(hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
                      num_key_value_heads=2, head_dim=16, max_position_embeddings=40960, rope_theta=1000000),
        local=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                   head_dim=8)),
    # Other sizes, fewer codes, a window shorter than the speech, plain files.
    "other_shapes": dict(
        seed=52, dtype=torch.float32, books=7, rvq_codes=6, codes=64, entry=4, rvq=16, latent=16, rate=8000, seconds=1,
        first=48, patches=[4, 2],
        blocks=[dict(net=NET(32, 2, 2, 64)), dict(net=NET(16, 2, 2, 32), out=16), dict(net=NET(24, 3, 1, 32), out=8)],
        language=dict(hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                      num_key_value_heads=4, head_dim=8, max_position_embeddings=1024, rope_theta=10000),
        local=dict(hidden_size=48, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1,
                   head_dim=24)),
}
FOX = "The quick brown fox jumps over the lazy dog, doesn't it? 12345 times!"
CASES = {
    "published_rates": [
        dict(name="fox", text=FOX, context=[], penalty=1.1, max_frames=210, keep_logits=3, keep_inner=1, keep_frames=4),
        dict(name="cloned", text="hello there, how are you?", context=[], voice_s=0.56, penalty=1.0, max_frames=30,
             keep_logits=1),
        dict(name="short", text="fox", context=[], penalty=1.1, max_frames=20, keep_logits=1),
    ],
    "other_shapes": [
        dict(name="ends", text=FOX, context=[], penalty=1.0, max_frames=100, keep_logits=41, keep_inner=3, keep_frames=25),
        dict(name="talk", text="numbers 1 2 3 and the lazy dog, how are you?", penalty=1.1, max_frames=205, keep_logits=3, keep_inner=3,
             voice_s=1.6,
             context=[dict(voice="user", text="hello there, how are you? the quick brown fox", seconds=0.5),
                      dict(voice="assistant", text="You are a highly expressive engine, the quick brown fox", frames=40),
                      dict(voice="user", text="and other things", seconds=0.4)]),
        dict(name="asked", text="die Straße ist naß", penalty=1.1, max_frames=40, keep_logits=3, keep_inner=3,
             context=[dict(voice="user", text="hello there"),
                      dict(voice="assistant", text="fox", frames=12),
                      dict(voice="user", text="the lazy dog, how are you?")]),
        dict(name="goes_on", text="numbers 1 2 3 and the lazy dog", penalty=1.1, max_frames=24, keep_logits=1, keep_continued=5,
             context=[dict(voice="assistant", text="hello there, how are you? the quick brown fox", frames=20),
                      dict(voice="assistant", text="and other things", frames=9)]),
    ],
}


def save_sharded(state, folder, shards):
    if shards == 1:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        return
    parts = [{}, {}]
    for i, key in enumerate(sorted(state)):
        parts[i * 2 // len(state)][key] = state[key]
    files = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    for file, part in zip(files, parts):
        save_file(part, folder / file, metadata={"format": "pt"})
    index = {key: file for file, part in zip(files, parts) for key in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps(
        {"metadata": {"total_size": sum(t.nbytes for t in state.values())}, "weight_map": index}, indent=1) + "\n")


def load_api(tts, codec):
    sys.path.insert(0, str(tts / "moss_tts_realtime"))
    sys.path.insert(0, str(codec.resolve().parent))
    class Api:
        config = importlib.import_module("mossttsrealtime.configuration_mossttsrealtime")
        model = importlib.import_module("mossttsrealtime.modeling_mossttsrealtime")
        processing = importlib.import_module("mossttsrealtime.processing_mossttsrealtime")
        streaming = importlib.import_module("mossttsrealtime.streaming_mossttsrealtime")
        codec_config = importlib.import_module(f"{codec.name}.configuration_moss_audio_tokenizer")
        codec_model = importlib.import_module(f"{codec.name}.modeling_moss_audio_tokenizer")
    return Api


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tts", type=pathlib.Path)
    parser.add_argument("codec", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    api = load_api(args.tts, args.codec)
    for name, size in SIZES.items():
        print(name)
        folder = args.out / name / "checkpoint"
        codec_folder = folder / "MOSS-Audio-Tokenizer"
        codec_folder.mkdir(parents=True, exist_ok=True)
        tokenizer = write_tokenizer(folder)
        codes, books = size["codes"], size["rvq_codes"]
        vocab = (len(tokenizer) + 15) // 16 * 16
        ids = {key: tokenizer.convert_tokens_to_ids(f"<|{key}|>") for key in ("audio_pad", "text_pad", "endoftext")}
        language = Qwen3Config(vocab_size=vocab, pad_token_id=ids["endoftext"], rms_norm_eps=1e-6, **size["language"])
        local = api.config.MossTTSRealtimeLocalTransformerConfig(pad_token_id=codes, **size["local"])
        local.audio_pad_token, local.audio_vocab_size, local.rvq = codes, codes + 3, books  # constants of the class
        config = api.config.MossTTSRealtimeConfig(
            language_config=language, local_config=local, rvq=books, audio_pad_token=codes, audio_vocab_size=codes + 3,
            reference_audio_pad=ids["audio_pad"], text_pad=ids["text_pad"])
        config._attn_implementation = "eager"
        language._attn_implementation = local._attn_implementation = "eager"
        model = api.model.MossTTSRealtime(config).float().eval()
        random = randomise(model, size["seed"])
        for head in model.local_transformer.local_lm_heads:
            head.weight[codes:] = 0  # ids without codes of the codec
        model.load_state_dict({k: v.to(size["dtype"]).float() for k, v in model.state_dict().items()})  # as rounded in the file
        codec = api.codec_model.MossAudioTokenizerModel(codec_config(api.codec_config, size)).float().eval()
        codec_random = randomise(codec, size["seed"] + 1)
        cases = CASES[name]
        speaker = Speaker(api, model, tokenizer, codes, books)
        if name == "other_shapes":
            probe = cases[0] | dict(keep_logits=101, keep_frames=1)
            logits = run_case(speaker, codec, probe, size)["logits"]
            print("  ends at", teach_end(model, probe["hidden"], list(logits), codes + EOS, 40))
        for case in cases:
            result = run_case(speaker, codec, case, size)
            del case["hidden"]
            save_file(result, folder.parent / f"{case['name']}.safetensors")
            print(" ", case["name"], "steps", case["steps"], "ended", case["ended"], "margin", case["margin"])
        shards = 2 if name == "published_rates" else 1
        save_sharded({k: v.to(size["dtype"]).contiguous() for k, v in model.state_dict().items()}, folder, shards)
        save_sharded({k: v.contiguous() for k, v in codec.state_dict().items()}, codec_folder, shards)
        (folder / "config.json").write_text(json.dumps(
            config.to_dict() | {"architectures": ["MossTTSRealtime"]}, indent=1, default=str) + "\n")
        (codec_folder / "config.json").write_text(json.dumps(codec.config.to_dict(), indent=1, default=str) + "\n")
        (folder.parent / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
        for where, made in ((folder, random), (codec_folder, codec_random)):
            for file in list(where.glob("*.safetensors")):
                made.hollow(file)


if __name__ == "__main__":
    main()
