#!/usr/bin/env python3
"""Writes a small Bagpiper checkpoint in the published layout, and the results of ESPnet's program with it.

    python3.12 -m venv VENV
    VENV/bin/pip install torch==2.11.0 torchaudio==2.11.0 transformers==5.14.1 safetensors numpy joblib
    VENV/bin/pip download --no-deps espnet==202611 && unzip espnet-202611-*.whl -d SOURCE
    VENV/bin/python make_golden.py --source SOURCE [--out DIR] && python3 ../thin.py golden/*.safetensors

SOURCE is ESPnet's release 202611. These of its files run without changes: below espnet2/speechlm/model/speechlm
lm/parallel.py, multimodal_io/audio.py, multimodal_io/text.py, speechlm_job.py: the vocabulary, prompts, recordings and
their resampling, generation with its masks, phases and guidance, undoing of the delay, and the text of an answer. As
there, the decoder is Qwen3ForCausalLM, the tower Qwen3OmniMoeThinkerForConditionalGeneration's, and the codec
XcodecModel of transformers. Their names are the published ones (1382 at the published sizes, which the script checks).
Everything is float32 on the CPU, one thread; the samples are exact (float64). Recordings are not stored: `signal`
generates them, and so do the tests. Each case stores its smallest margin between the two best logits that may be
chosen.
"""
import argparse
import importlib
import json
import pathlib
import sys
import tempfile
import types

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (DacConfig, HubertConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM,
                          Qwen3OmniMoeThinkerConfig, Qwen3OmniMoeThinkerForConditionalGeneration,
                          WhisperFeatureExtractor, XcodecConfig, XcodecModel)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import seeded  # noqa: E402

HERE = pathlib.Path(__file__).parent
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["A clear voice says: 'hello there, how are you?'. No background noise. the quick brown fox jumps"]
STREAMS, CODES, SPECIAL, WIDTH = 8, 24, 256, 32
END, END_PART, ASSISTANT, TEXT, AUDIO = 2, 3, 6, 7, 8
LEAST = 50


def signal(count, seed):
    """Returns noise from integers that swells and falls: the same bits in any language."""
    out = np.empty(count, np.float32)
    state = seed
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = (((state >> 16) - 32768) * ((i * 5) & 16383) >> 14) / 32768
    return out


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(QWEN), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tok.train_from_iterator(CORPUS * 20, trainer)
    tok.add_special_tokens(["<|endoftext|>"])
    tok.add_tokens(["<think>", "</think>"])
    assert tok.token_to_id("!") == 0  # as in Qwen's tokenizer
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    return PreTrainedTokenizerFast(tokenizer_object=tok)


def base_config(words):
    return Qwen3Config(vocab_size=words, hidden_size=WIDTH, intermediate_size=40, num_hidden_layers=2,
                       num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=4096,
                       rms_norm_eps=1e-6, rope_theta=1e6, tie_word_embeddings=False, architectures=["Qwen3ForCausalLM"],
                       bos_token_id=None, eos_token_id=None)


def published(config):
    """Returns the config in the form of Qwen3-8B-Base's config.json."""
    out = config.to_dict()
    return out | {"rope_theta": out.pop("rope_parameters")["rope_theta"]}


def thinker(audio):
    """Returns only the audio tower, the part that ESPnet keeps."""
    config = Qwen3OmniMoeThinkerConfig(
        audio_config=audio,
        vision_config=dict(depth=0, hidden_size=8, num_heads=1, intermediate_size=8, out_hidden_size=8,
                           deepstack_visual_indexes=[]),
        text_config=dict(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1,
                         head_dim=8, num_experts=1, num_experts_per_tok=1, moe_intermediate_size=8, intermediate_size=8,
                         rope_scaling=dict(rope_type="default", mrope_section=[2, 1, 1])))
    full = Qwen3OmniMoeThinkerForConditionalGeneration._from_config(config, attn_implementation="eager")
    del full.model, full.visual, full.lm_head
    return full


def codec(acoustic, semantic, **sizes):
    return XcodecModel(XcodecConfig(acoustic_model_config=DacConfig(**acoustic), semantic_model_config=semantic, **sizes))


def vocabulary(ios):
    """Returns the vocabulary of these IOs, by SpeechLMJobTemplate."""
    template = job.SpeechLMJobTemplate.__new__(job.SpeechLMJobTemplate)
    template.config, template.multimodal_io = {}, ios
    template._build_vocabulary(SPECIAL)
    return template.vocab_meta


def audio_ios(audio_config, codec_model, streams, codes):
    local = [(s * (codes + 1), (s + 1) * (codes + 1)) for s in range(streams)]
    continuous = audio.ContinuousAudioIO.__new__(audio.ContinuousAudioIO)
    torch.nn.Module.__init__(continuous)
    continuous.modality, continuous.is_discrete = "audio", False
    continuous.encoder_hf_model_tag = "Qwen/Qwen3-Omni-30B-A3B-Instruct"
    continuous.model = thinker(audio_config)
    continuous.processor = WhisperFeatureExtractor(feature_size=128)
    continuous.d_model, continuous.sample_rate = audio_config["output_dim"], 16000
    continuous.hop_length = continuous.processor.hop_length
    discrete = audio.DiscreteAudioIO.__new__(audio.DiscreteAudioIO)
    torch.nn.Module.__init__(discrete)
    discrete.modality, discrete.is_discrete = "audio", True
    discrete.codec_model = codec_model
    discrete.ssl_n_streams, discrete.codec_n_streams = 0, len(local)
    discrete.delay_interleave, discrete.use_codec, discrete._stream_intervals = True, True, local
    discrete.vocabulary = [f"<codec_layer{s}_{c}>" for s in range(streams) for c in ["pad", *range(codes)]]
    discrete.stream_weights, discrete.sample_rate = [1.0] * streams, 16000
    # The codec returns its input: codes [T, S], where a pad in place of a code is -1.
    discrete._codec_decode_batch = lambda codes, lengths: (codes[0].int(), lengths)
    return {"discrete_audio": discrete, "continuous_audio": continuous}


def build(tokenizer, base, audio_config, codec_model, streams, codes):
    with tempfile.TemporaryDirectory() as folder:
        Qwen3ForCausalLM(base).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        ios = {"text": text.HuggingFaceTextIO(folder)} | audio_ios(audio_config, codec_model, streams, codes)
        meta = vocabulary(ios)
        model = parallel.build_parallel_hf_class(folder).from_pretrained(
            folder, multimodal_io=ios, vocab_meta=meta, is_train=False, attn_implementation="eager")
    return model.float().eval(), ios, meta


def check_names():
    """Checks the names of the weights at the published sizes, without weights: 1382 with vocab_weight."""
    with torch.device("meta"):
        qwen = Qwen3ForCausalLM(Qwen3Config(vocab_size=8, hidden_size=64, intermediate_size=8, num_hidden_layers=36,
                                            num_attention_heads=2, num_key_value_heads=1, head_dim=8))
        tower = thinker(dict(encoder_layers=32, d_model=64, encoder_attention_heads=1, encoder_ffn_dim=8,
                             downsample_hidden_size=8, output_dim=8))
        sound = XcodecModel(XcodecConfig())
    count = len(qwen.state_dict()) + len(tower.state_dict()) + len(sound.state_dict())
    assert count + len(["stream_emb", "adaptor.weight", "adaptor.bias", "vocab_weight"]) == 1382, count


def randomise(model):
    gen = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in sorted(model.state_dict(keep_vars=True).items()):
            if not p.is_floating_point() or "semantic_model" in name:
                continue
            noise = torch.randn(p.shape, generator=gen)
            if name.endswith("alpha"):
                value = 0.6 + 0.4 * noise.abs()
            elif "norm" in name or "ln_post" in name:
                value = (0 if name.endswith("bias") else 1) + 0.2 * noise
            elif name == "model.embed_tokens.weight":
                value = 0.5 * noise  # also the pad's row, which the original does not zero in stream 0
            elif name == "stream_emb.weight":
                value = 0.8 * noise  # also the row of stream 0, which has no use
            elif name == "lm_head.weight":
                value = 2 / np.sqrt(WIDTH) * noise
            elif name.endswith(("inited", "cluster_size")):
                value = torch.ones(p.shape)
            elif name.endswith("bias"):
                value = 0.1 * noise
            elif name.endswith(("embed", "embed_avg")):
                value = 0.3 * noise
            elif name.startswith("model.") and name.endswith(("o_proj.weight", "down_proj.weight")):
                value = 3 / np.sqrt(p.shape[1]) * noise
            elif "acoustic_decoder" in name:  # small numbers, because sines of large numbers are rounding errors
                value = 0.6 * noise / np.sqrt(max(1, p[0].numel()))
            else:
                value = 1.3 * noise / np.sqrt(max(1, p[0].numel()))
            p.copy_(value)


def level(codec_model):
    """Scales the codec so that its samples are about as loud as speech."""
    codes = torch.randint(0, CODES, (1, STREAMS, 40), generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        loud = codec_model.decode(codes).audio_values.std()
        for p in codec_model.acoustic_decoder.conv2.parameters():
            p.mul_(0.3 / loud)


def round_to_bf16(model):
    with torch.no_grad():
        for p in model.state_dict(keep_vars=True).values():
            if p.is_floating_point():
                p.copy_(p.to(torch.bfloat16).float())


def messages_of(case):
    """Returns (role, IO, data) for each message, in the form of ESPnet's preparation."""
    out, heard = [], 0
    for message in case["messages"]:
        content = message["content"]
        for part in [dict(type="text", text=content)] if isinstance(content, str) else content:
            if part["type"] == "text":
                out.append((message["role"], "text", part["text"]))
            else:
                length = case["recordings"][heard]
                heard += 1
                out.append((message["role"], "audio", (signal(length, length)[None], 16000)))
    return out


def lead(logits):
    best = logits.topk(2, dim=-1).values
    return float((best[..., 0] - best[..., 1]).min())


class Recorder:
    """Records the inputs, logits and choices of each step."""

    def __init__(self, model):
        self.model, self.steps, self.inner = model, [], model._step

    def __enter__(self):
        self.calls = []

        def step(input_ids=None, input_embeds=None, past_key_values=None, mask=None):
            logits, cache = self.inner(input_ids=input_ids, input_embeds=input_embeds, past_key_values=past_key_values)
            raw = logits.clone()
            if mask is not None:
                logits.masked_fill_(mask, float("-inf"))
            self.calls.append(dict(ids=input_ids, embeds=input_embeds, raw=raw, mask=mask, masked=logits))
            return logits, cache

        def choose(logits, temperature, topk):
            self.calls[-1]["margin"] = lead(logits[:, 0])
            token = logits.argmax(-1)
            self.calls[-1]["token"] = True
            return token

        self.model._step, self.model._logits_to_token = step, choose
        return self

    def __exit__(self, *_):
        del self.model._step, self.model._logits_to_token


def own_choices(logits, first_code):
    """Cuts logits [L, S, V] to the choices of each stream: in stream 0 all ids up to the last code, in others pad and codes."""
    size = CODES + 1
    parts = [logits[:, 0, :first_code + size]]
    for s in range(1, STREAMS):
        parts += [logits[:, s, :1], logits[:, s, first_code + s * size: first_code + (s + 1) * size]]
    return torch.cat(parts, 1).contiguous()


class NotAskedFor(Exception):
    """Raised if an answer without speech would continue with audio, or if enough parts exist."""


class Part:
    """A part of an answer: ids [L, S] up to its end, and what was computed for each."""

    def __init__(self, kind, ids, calls):
        self.kind, self.ids, self.calls = kind, ids, calls

    def ended(self):
        return int(self.ids[-1, 0]) in (END, END_PART)

    def content(self, model):
        """Returns the content as inference() does: text, or codes [T, S]."""
        name = "discrete_audio" if self.kind == AUDIO else "text"
        ids = self.ids[:-1] if self.ended() else self.ids
        ids = ids[None] - model.vocab_intervals[name][0][0]
        return model.multimodal_io_dict[name].decode_batch(ids, torch.tensor([ids.shape[1]]))[0]

    def logits(self, keep, first_code, companion=False):
        rows = torch.stack([c["raw"][int(companion), 0] for c in self.calls[:keep]])
        return own_choices(rows, first_code)


def run_case(model, preprocessor, case, codec_model, first_code):
    data = preprocessor.preprocessing(("dialogue", "", ""), {"dialogue": messages_of(case)})
    seqs = torch.tensor(data["sequence"])[None].long()
    given, rows = {}, {}
    for name, start, length, feat in data["conti_feats"]:
        rows.setdefault(name, []).append(((0, start, int(length)), torch.tensor(feat)))
    assert all(len(each) == 1 for each in rows.values()), "one recording at a time: batches would be padded"
    for name, each in rows.items():
        given = {f"{name}_indices": [i for i, _ in each], f"{name}_feats": torch.stack([f for _, f in each]),
                 f"{name}_lengths": torch.tensor([len(f) for _, f in each])}
    spoken, parts = case["spoken"], []
    config = dict(enforce_modality=["text", "audio"] if spoken else ["text"],
                  text=dict(temperature=0, topk=20, cfg=1, max_step=case["max_tokens"], min_step=1),
                  audio=dict(temperature=0, topk=20, cfg=case.get("guidance", 3), max_step=case["most"],
                             min_step=10**6 if case.get("ignore_stop") else LEAST))
    with torch.no_grad(), Recorder(model) as seen:
        inner = model.inference_segment

        def segment(prev_token, **k):
            if len(parts) == case.get("parts") or (int(prev_token[0, 0, 0]) == AUDIO and not spoken):
                raise NotAskedFor
            before = len(seen.calls)
            hypos, cache, logits = inner(prev_token=prev_token, **k)
            parts.append(Part(int(prev_token[0, 0, 0]), hypos[0], [c for c in seen.calls[before:] if "token" in c]))
            return hypos, cache, logits

        model.inference_segment = segment
        try:
            model.inference(config, seqs=seqs, **given)
        except NotAskedFor:
            pass
        del model.inference_segment
    # The answer begins with <|assistant|>, <|text|>, which follow the prompt.
    ids = torch.cat([seqs[0, :, 0], torch.tensor([ASSISTANT, TEXT])]).int()
    embeds = seen.calls[0]["embeds"][0]
    for (_, start, length), _ in sum(rows.values(), []):
        ids[start:start + length] = -1
    keep, forced = case["keep"], 2 if spoken else 1
    chosen = [c for part in parts[:forced] for c in part.calls]
    out = dict(prompt_ids=ids, tokens=parts[0].ids[:, 0].int(), prefill=embeds[-case.get("rows", 12):].clone(),
               logits=parts[0].logits(keep, first_code))
    kinds = [lead(c["masked"][0, 0, 0]) for c in seen.calls if c["mask"] is model.modality_mask]
    case.update(steps=len(chosen) + (2 if spoken else 0),
                margin=min([c["margin"] for part in parts for c in part.calls] + kinds[forced:]))
    case["answer"], case["ended_text"] = parts[0].content(model), parts[0].ended()
    if spoken:
        out["frames"] = parts[1].content(model).clamp_min(0)
        case["ended"] = parts[1].ended()
        out["speech_logits"] = parts[1].logits(keep, first_code)
        if case.get("guidance", 3) > 1:
            out["companion_logits"] = parts[1].logits(keep, first_code, companion=True)
        if case.get("keep_samples"):
            out["samples"] = exact(codec_model, out["frames"][:case["keep_samples"]])
    # The text that the model adds after the requested answer.
    case["more"], case["stopped"] = [], parts[-1].ended()
    for n, part in enumerate(parts[forced:]):
        spoke = part.kind == AUDIO
        case["more"].append(None if spoke else part.content(model))
        out[f"more_{n}"] = part.content(model).clamp_min(0) if spoke else part.ids[:, 0].int()
        out[f"more_{n}_logits"] = part.logits(keep, first_code)
    print(case["name"], [(part.kind, len(part.ids), part.ended()) for part in parts])
    words = sum(len(part.ids) for part in parts if part.kind == TEXT)
    rows = sum(len(part.ids) + 2 for part in parts)
    if len(parts) > forced:  # limits count all parts together and cut no part
        assert words <= case["max_tokens"] and rows < case["max_tokens"] + case["most"] + 32, (words, rows)
    return {k: v.contiguous().clone() for k, v in out.items()}


def exact(codec_model, codes):
    """Decodes frames [T, S] in float64."""
    codes = codes.t()[None].long()
    with torch.no_grad():
        single = codec_model.float().decode(codes).audio_values[0, 0]
        double = codec_model.double().decode(codes).audio_values[0, 0]
    print("samples of", codes.shape[2], "frames: largest", float(double.abs().max()), "float32 is off by",
          float((single - double).abs().max()))
    codec_model.float()
    return double.float()


def codec_golden(codec_model, folder):
    gen = torch.Generator().manual_seed(5)
    codes = torch.randint(0, CODES, (23, STREAMS), generator=gen)
    out = {"codes": codes.int()}
    for n in [1, 2, 3, 9, 23]:
        out[f"samples_{n}"] = exact(codec_model, codes[:n])
    save_file({k: v.contiguous().clone() for k, v in out.items()}, folder / "codec.safetensors")


def tower_golden(ios, adaptor, folder):
    """Writes the tower's rows for recordings, some of which fit whole chunks and hops."""
    io, out = ios["continuous_audio"], {}
    # Only the first of two channels is read.
    for length, rate in [(205, 16000), (1600, 16000), (15999, 16000), (16160, 16000), (50000, 16000), (15000, 24000),
                         (40000, 44100)]:
        channels = np.stack([signal(length, length)] + [signal(length, 1)] * (rate != 16000))
        _, (count, feat), _ = io.preprocess((channels, rate))
        with torch.no_grad():
            rows = io.encode_batch(torch.tensor(feat)[None], torch.tensor([len(feat)]))[0]
            out[f"rows_{length}_{rate}"] = adaptor(rows).contiguous()
        assert len(rows) == count
    save_file(out, folder / "tower.safetensors")


def said(text):
    return [dict(role="user", content=text)]


def asked(question):
    return [dict(role="system", content="You listen."),
            dict(role="user", content=[dict(type="audio", audio=""), dict(type="text", text=question)])]


SCENE = "A clear voice says: 'Hello there! It is 12 o'clock.'. No background noise."
CASES = [
    dict(name="scene", messages=said(SCENE), spoken=True, guidance=1, max_tokens=9, most=230, ignore_stop=True, keep=2,
         keep_samples=6),
    dict(name="guided", messages=said("the fox!"), spoken=True, guidance=3, max_tokens=6, most=217, ignore_stop=True, keep=2),
    dict(name="ends", messages=said("hello there, how are you?"), spoken=True, guidance=1, max_tokens=60, most=400, keep=2),
    dict(name="guided_ends", messages=said("the quick brown fox"), spoken=True, guidance=3, max_tokens=120, most=400, keep=2),
    dict(name="turns", messages=[dict(role="system", content="the fox"), dict(role="user", content="hello"),
                                 dict(role="assistant", content="and you?"), dict(role="user", content="die Straße!"),
                                 dict(role="user", content="jumps")], spoken=False, max_tokens=900, most=0, keep=1),
    dict(name="heard", messages=asked("What is in this audio?"), recordings=[20000], spoken=False, max_tokens=50, most=0,
         keep=2, rows=30),
    dict(name="heard_short", messages=asked("how?"), recordings=[205], spoken=False, max_tokens=31, most=0, keep=2,
         parts=3),
    dict(name="back", messages=said("Say it."), spoken=True, guidance=1, max_tokens=160, most=300, keep=2),
    dict(name="guided_back", messages=said("Who?"), spoken=True, guidance=3, max_tokens=160, most=300, keep=2),
]


def load_sources(source):
    def stub(name):
        module = types.ModuleType(name)
        module.__path__ = [str(source / name.replace(".", "/"))]
        sys.modules[name] = module
    base = "espnet2.speechlm.model.speechlm"
    for name in ["espnet2", "espnet2.speechlm", "espnet2.speechlm.model", base, base + ".lm", base + ".multimodal_io",
                 base + ".parallel_utils", "espnet2.speechlm.utils"]:
        stub(name)
    return [importlib.import_module(base + part)
            for part in [".lm.parallel", ".multimodal_io.audio", ".multimodal_io.text", ".speechlm_job"]]


def main():
    global parallel, audio, text, job
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True, help="espnet")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    parser.add_argument("--seed", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    parallel, audio, text, job = load_sources(args.source)
    check_names()
    folder = args.out / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = write_tokenizer(folder)
    base = base_config(len(tokenizer) + 11)
    (folder / "config.json").write_text(json.dumps(
        {k: v for k, v in published(base).items() if v is not None}, indent=1, sort_keys=True) + "\n")
    codec_model = codec(
        dict(encoder_hidden_size=2, downsampling_ratios=[8, 5, 4, 2], decoder_hidden_size=32, upsampling_ratios=[8, 5, 4, 2],
             hidden_size=8),
        HubertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                     conv_dim=[8] * 7, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2),
        codebook_size=CODES, target_bandwidths=[STREAMS * 50 * 5 / 1000]).eval()
    audio_config = dict(encoder_layers=1, d_model=128, encoder_attention_heads=2, encoder_ffn_dim=40, num_mel_bins=128,
                        downsample_hidden_size=4, output_dim=24, n_window=50, n_window_infer=800)
    model, ios, meta = build(tokenizer, base, audio_config, codec_model, STREAMS, CODES)
    assert len(codec_model.quantizer.quantizers) == STREAMS
    randomise(model)
    level(codec_model)
    weights = seeded.Weights(args.seed)
    round_to_bf16(model)
    weights.over(model, "module.", keep=("norm", "alpha"))
    with torch.no_grad():
        model.lm_head.weight[[END, END_PART]] *= 1.35  # so that some answers end
        # These kinds must never be the likeliest, because the program has no masks for them.
        model.lm_head.weight[AUDIO + 1:AUDIO + 4] = model.lm_head.weight[TEXT:AUDIO + 1].mean(0)
    round_to_bf16(model)
    state = {k: v.detach().to(torch.bfloat16).contiguous().clone() for k, v in model.state_dict().items()}
    state["vocab_weight"] = torch.ones(len(meta["vocab"]))
    torch.save({"module": state}, folder / "model.pt")
    model.prepare_inference()
    intervals = meta["vocab_intervals"]
    # Outside of training, the preprocessor reads a conversation only up to the first answer.
    preprocessor = job.SpeechLMPreprocessor(True, ios, meta["vocab"], intervals)
    codec_golden(codec_model, args.out)
    tower_golden(ios, model.adaptor["continuous_audio"], args.out)
    for case in CASES:
        result = run_case(model, preprocessor, case, codec_model, intervals["discrete_audio"][0][0])
        save_file(result, args.out / f"{case['name']}.safetensors")
        print(case["name"], case["steps"], case.get("ended"), case["ended_text"], "margin", case["margin"], repr(case["answer"]),
              case["more"], case["stopped"])
    (args.out / "cases.json").write_text(json.dumps(CASES, indent=1, ensure_ascii=False) + "\n")
    weights.hollow(folder / "model.pt")


if __name__ == "__main__":
    main()
