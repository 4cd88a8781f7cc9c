#!/usr/bin/env python3
"""Writes small OmniVoice checkpoints, and the results of the authors' program with them.

    python3.11 -m venv VENV
    VENV/bin/pip install omnivoice==0.2.1 transformers==5.24.0
    VENV/bin/python make_golden.py [--out DIR] && python3 ../thin.py golden/*/*.safetensors && python3 ../seeded.py pack golden

The authors' OmniVoice runs unchanged in float32 on the CPU with its default settings, one thread. Only torch.rand_like is
replaced: it gives the noise of src/families/omnivoice/canvas_lm.cc. Names and layout are the published ones
(k2-fsa/OmniVoice: config.json, model.safetensors, tokenizer.json, audio_tokenizer/). Texts of several segments run through
the authors' code for long texts, cut as Syrinx cuts them. `unmasked` has the pass that replaced each mask, so with `frames`
it gives the codes after every pass. Samples have the authors' fades, without their padding and their peak level. Each case
stores its margin: the smallest distance between the last score that a pass takes and the next one.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import torch

torch.version.cuda = None  # torchaudio refuses another version of CUDA, which nothing here uses
from safetensors.torch import save_file  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402
from transformers import HiggsAudioV2TokenizerConfig, HiggsAudioV2TokenizerModel, PreTrainedTokenizerFast  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import philox  # noqa: E402
import seeded  # noqa: E402

from omnivoice.models import omnivoice as authors  # noqa: E402
from omnivoice.utils.audio import fade_and_pad_audio, remove_silence  # noqa: E402
from omnivoice.utils.text import add_punctuation, chunk_text_punctuation  # noqa: E402

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["hello there, how are you? the quick brown fox jumps over the lazy dog", "None en"]
SPECIAL = ["<|endoftext|>", "<|denoise|>", "<|lang_start|>", "<|lang_end|>", "<|instruct_start|>", "<|instruct_end|>",
           "<|text_start|>", "<|text_end|>"]
PLACES, CHOICES = 0x4F560001, 0x4F560002  # streams of the noise

LONG = ["The quick brown fox jumps over the lazy dog, and then it runs away from here.",
        "It was never seen again by anyone who lived near the river in those years."]
CHECKPOINTS = {
    "plain": dict(hidden=32, ffn=40, layers=2, heads=4, kv=2, head_dim=16, books=8, codes=32, dtype=torch.float32, cases=[
        dict(name="hello", text="Hello there.", seed=3, samples=True, logits=[0, 20]),
        dict(name="clone", text="and other things", language="en", reference=21, reference_text="hello there, how are you?",
             level=0.05, seed=4),
        dict(name="design", text="Oh [laughter] really?\n Yes [sigh]", instructions="British accent，FEMALE", seed=9,
             speed=1.5),
        dict(name="long", segments=LONG, seed=6)]),
    "shapes": dict(hidden=48, ffn=72, layers=3, heads=2, kv=1, head_dim=24, books=4, codes=64, dtype=torch.bfloat16, cases=[
        dict(name="warm", text="How are you?", temperature=0.8, guidance=3.5, seed=11),
        dict(name="alone", text="（你好） 世界 abc", language="zh", instructions="河南话, elderly", guidance=0.0, seed=12,
             samples=True, speed=2.5, logits=[3])]),
}


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(QWEN), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tok.train_from_iterator(CORPUS * 20, trainer)
    tok.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL])
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"eos_token": "<|endoftext|>", "tokenizer_class": "PreTrainedTokenizerFast"}, indent=1) + "\n")
    return PreTrainedTokenizerFast(tokenizer_object=tok), tok.get_vocab_size()


def codec_model(books, codes):
    bits = codes.bit_length() - 1
    config = HiggsAudioV2TokenizerConfig(
        acoustic_model_config=dict(model_type="dac", codebook_dim=8, codebook_size=codes, encoder_hidden_size=1,
                                   decoder_hidden_size=32, downsampling_ratios=[8, 5, 4, 2, 3], hidden_size=16,
                                   hop_length=960, n_codebooks=9, sampling_rate=16000, upsampling_ratios=[8, 5, 4, 2, 3]),
        block_dilations=[1, 1], channel_ratios=[1, 1], codebook_dim=6, codebook_size=codes, downsample_factor=320,
        kernel_size=3, sample_rate=24000, semantic_sample_rate=16000, strides=[1, 1],
        target_bandwidths=[books * bits * 25 / 1000], unit_kernel_size=3,
        semantic_model_config=dict(model_type="hubert", conv_bias=False, conv_dim=[8] * 7,
                                   conv_kernel=[10, 3, 3, 3, 3, 2, 2], conv_stride=[5, 2, 2, 2, 2, 2, 2],
                                   feat_extract_norm="group", feat_proj_layer_norm=True, do_stable_layer_norm=False,
                                   hidden_size=16, intermediate_size=24, num_attention_heads=1, num_hidden_layers=2,
                                   num_conv_pos_embedding_groups=4, num_conv_pos_embeddings=16, num_feat_extract_layers=7))
    codec = HiggsAudioV2TokenizerModel(config).eval()
    assert config.num_quantizers == books and config.hop_length == 960
    return codec


def randomise_codec(codec, books, codes, seed):
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, t in sorted(codec.state_dict(keep_vars=True).items()):
            noise = torch.randn(t.shape, generator=gen)
            if name.endswith("alpha"):
                value = 0.6 + 0.4 * noise.abs()
            elif name.endswith("original0") or "norm" in name and name.endswith("weight"):
                value = 1.0 + 0.2 * noise
            elif name.endswith("bias"):
                value = 0.1 * noise
            elif name.endswith(("embed", "embed_avg", "cluster_size")):
                value = noise
            elif name.endswith("inited"):
                value = torch.ones(t.shape)
            elif name.startswith("acoustic_decoder") and "conv_t1" in name:
                value = 0.7 * noise / np.sqrt(2 * t.shape[0])
            elif name.startswith("acoustic_decoder") and "res_unit" in name:
                value = 0.4 * noise / np.sqrt(t[0].numel())
            else:
                value = noise / np.sqrt(max(1, t[0].numel()))
            t.copy_(value)
        weights = seeded.Weights(seed)
        weights.over(codec, keep=("acoustic_decoder.conv2",))
        sound = codec.decode(torch.randint(0, codes, (1, books, 40), generator=gen)).audio_values
        for part in (codec.acoustic_decoder.conv2.weight, codec.acoustic_decoder.conv2.bias):
            part.mul_(0.2 / sound.std())
    return weights


def write_model(folder, size, vocab, seed):
    config = authors.OmniVoiceConfig(
        audio_vocab_size=size["codes"] + 1, audio_mask_id=size["codes"], num_audio_codebook=size["books"],
        audio_codebook_weights=[8, 8, 6, 6, 4, 4, 2, 2][:size["books"]],
        llm_config=dict(model_type="qwen3", hidden_size=size["hidden"], intermediate_size=size["ffn"],
                        num_hidden_layers=size["layers"], num_attention_heads=size["heads"], num_key_value_heads=size["kv"],
                        head_dim=size["head_dim"], max_position_embeddings=4096, vocab_size=vocab, rms_norm_eps=1e-6,
                        rope_parameters={"rope_type": "default", "rope_theta": 1e6}))
    model = authors.OmniVoice(config).eval()
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=gen)
            if "norm" in name:
                p.copy_(1.0 + 0.2 * noise)
            elif "embed" in name:
                p.copy_(noise if "audio" not in name else 0.4 * noise)
            elif "audio_heads" in name:
                p.copy_(3 / np.sqrt(p.shape[1]) * noise)
            elif name.endswith(("o_proj.weight", "down_proj.weight")):
                p.copy_(2.5 / np.sqrt(p.shape[1]) * noise)
            else:
                p.copy_(1.3 / np.sqrt(p.shape[1]) * noise)
    weights = seeded.Weights(seed)
    weights.over(model)
    model.to(size["dtype"]).save_pretrained(folder)
    weights.hollow(folder / "model.safetensors")
    whole = authors.OmniVoice(config).float().eval()  # whose angles of positions were not rounded
    whole.load_state_dict(model.float().state_dict())
    return whole


class Watch:
    """Gives the authors' program the noise of a request, and keeps what each pass does."""

    def __init__(self, model, case):
        self.model, self.seed, self.step = model, case["seed"], -1
        self.first_of_canvas, self.passes, self.logits, self.margins = [], [], {}, []
        self.wanted = case.get("logits", [])
        self.forward = model.forward
        model.forward = self.watched
        self.rand, self.topk = torch.rand_like, torch.topk
        torch.rand_like, torch.topk = self.noise, self.take

    def noise(self, like):
        stream = PLACES if like.dim() == 3 else CHOICES
        return torch.from_numpy(philox.philox_uniforms(self.seed, self.step, stream, like.numel())).reshape(like.shape)

    def watched(self, input_ids, audio_mask, attention_mask):
        self.step += 1
        out = self.forward(input_ids=input_ids, audio_mask=audio_mask, attention_mask=attention_mask)
        mask = self.model.config.audio_mask_id
        lone = input_ids[1, :, :int(audio_mask[1].sum())]
        if bool((lone == mask).all()):
            self.first_of_canvas.append(self.step)
        self.passes.append(lone.clone())
        if self.step in self.wanted:
            count = lone.shape[1]
            first = int(audio_mask[0].nonzero().max()) + 1 - count
            both = torch.stack([out.logits[0, :, first:first + count], out.logits[1, :, :count]])
            self.logits[self.step] = both[:, :, :5].permute(0, 2, 1, 3).flatten(2)  # [2, 5 frames, C * V]
        return out

    def take(self, scores, count):
        best = self.topk(scores, min(count + 1, len(scores))).values
        if len(best) > count and torch.isfinite(best[-1]):
            self.margins.append(float(best[-2] - best[-1]))
        return self.topk(scores, count)

    def close(self):
        self.model.forward = self.forward
        torch.rand_like, torch.topk = self.rand, self.topk

    def unmasked(self, frames):
        """Returns for each canvas the pass that gave each code, [T, C]."""
        out = []
        for i, tokens in enumerate(frames):
            first = self.first_of_canvas[i]
            states = self.passes[first:first + 32]
            given = torch.full(tokens.shape, 31)
            for n in range(31, 0, -1):
                given[states[n] != self.model.config.audio_mask_id] = n - 1
            out.append(given.t().to(torch.int32))
        return out


def run_case(model, case):
    config = authors.OmniVoiceGenerationConfig(class_temperature=case.get("temperature", 0.0),
                                               guidance_scale=case.get("guidance", 2.0))
    result, prompt = {}, None
    if case.get("reference"):
        gen = torch.Generator().manual_seed(case["seed"])
        codes = torch.randint(0, model.config.audio_mask_id, (model.config.num_audio_codebook, case["reference"]), generator=gen)
        result["reference"] = codes.t().int()
        prompt = authors.VoiceClonePrompt(codes, add_punctuation(case["reference_text"]), case["level"])
    text = case.get("text", " ".join(case.get("segments", [])))
    task = model._preprocess_all(text=text, language=case.get("language"), voice_clone_prompt=prompt,
                                 instruct=case.get("instructions"), speed=case.get("speed"))
    ids, prepare = [], model._prepare_inference_inputs

    def prepared(*args):
        made = prepare(*args)
        ids.append(made["input_ids"][0, 0, ~made["audio_mask"][0]])
        return made

    model._prepare_inference_inputs = prepared
    watch = Watch(model, case)
    with torch.inference_mode():
        if "segments" in case:
            authors.chunk_text_punctuation = lambda **_: case["segments"]
            frames = model._generate_chunked(task, config)[0]
        else:
            frames = model._generate_iterative(task, config)
    watch.close()
    model._prepare_inference_inputs = prepare
    samples = []
    for tokens in frames:
        with torch.inference_mode():
            sound = model.audio_tokenizer.double().decode(tokens[None]).audio_values[0].float().numpy()
        level = task.ref_rms[0]
        if level is not None and level < 0.1:
            sound = sound * level / 0.1
        samples.append(torch.from_numpy(fade_and_pad_audio(sound, 0, 0.1)[0]))
    model.audio_tokenizer.float()
    result |= {"prompt_ids": torch.cat(ids).int(), "frames": torch.cat([t.t() for t in frames]).int(),
               "unmasked": torch.cat(watch.unmasked(frames)).to(torch.int32)}
    if case.get("samples"):
        result["samples"] = torch.cat(samples)
    for step, logits in watch.logits.items():
        result[f"logits_{step}"] = logits[:, :3] if case.get("guidance", 2.0) != 0 else logits[:1, :3]
    case.update(text=text, lengths=[t.shape[1] for t in frames], margin=min(watch.margins), ended=True)
    return {k: v.contiguous().clone() for k, v in result.items()}


TEXTS = ["Hi.", "Hello there, how are you? 12345 times!", "नमस्ते दुनिया", "مَرْحَبًا بِالْعَالَم ـــ", "Chào thế giới", "你好，世界！",
         "Hello 🌍! This is fun 🎉", "ひらがな カタカナ 漢字 한국어 한글", "Ἑλλάς Россия Հայերեն ქართული አማርኛ ꆈꌠ", "ไทย ລາວ ខ្មែរ မြန်မာ བོད",
         "ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ ᚠᚢᚦ \U00020000\U0002a700 \U0001d400 ½ Ⅷ ", "ꞏ Ａｂ ﷺ ﹐ \u200b\u00a0 x\u0301 שלום",
         "A much longer sentence whose estimate is above the fifty frames below which short texts are stretched."]
CHUNKED = [("Dr. Smith went to St. Louis, i.e. home. He said: “Hello!” Then he left; nobody knew why? No. 5 did.", 30),
           ("你好。世界，这是一个很长的句子！真的吗？是的。", 8), ("a. b. c. d.", 3), ("Mr. Dr. Smith left. He did.", 4), ("!? Hello", 100), ("Hi, you there", 4),
           ("x" * 50 + ". " + "y" * 20, 10), ("One. Two… three) four.” five", 12)]
STOPPED = ["Hello", "Hello. ", " 你好", "He said “no”", "", "x)"]
CLEANED = [("", " a\tb  c\n d "), ("Hello there. ", "你好 ， 世界 abc"), ("（x）", "中 \u3000 文 a 中"), ("", "a\r\n\r\nb [laughter]c[sigh] [cough]")]
DESIGNS = [("male", False), ("Male, British accent", True), ("女， whisper,", False), ("河南话, elderly", False), ("elderly,high pitch", True),
           ("耳语", True), (" , ", True), ("middle-aged，女", False)]
REFUSED = ["malee", "male, female", "男, female", "british accent, 河南话", "child, elderly"]


def texts_golden(model, folder):
    long = model.duration_estimator
    out = dict(
        lengths=[[t, long.calculate_total_weight(t), model._estimate_target_tokens(t, None, None),
                  model._estimate_target_tokens(t, "你好", 40, speed=0.7)] for t in TEXTS],
        pieces=[[t, n, chunk_text_punctuation(t, n, 3)] for t, n in CHUNKED],
        stops=[[t, add_punctuation(t)] for t in STOPPED],
        prompts=[[h, t, model._prepare_inference_inputs(t, 1, h or None, torch.zeros(8, 2, dtype=torch.long) if h else None, "en",
                                                        None)["input_ids"][0, 0, :-(3 if h else 1)].tolist()] for h, t in CLEANED],
        designs=[[d, zh, authors._resolve_instruct(d, use_zh=zh) or ""] for d, zh in DESIGNS], refused=REFUSED)
    for each in REFUSED:
        try:
            authors._resolve_instruct(each)
            raise AssertionError(each)
        except ValueError:
            pass
    (folder / "texts.json").write_text(json.dumps(out, indent=0, ensure_ascii=False) + "\n")


def signal(count, seed):
    """Returns noise from integers that swells and falls: the same bits in any language."""
    state, out = seed, np.empty(count, np.float32)
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = (((state >> 16) - 32768) * ((i * 5) & 16383) >> 14) / 32768
    return out


# Stretches of a recording in samples, with their factors: leading silence, a long and a short silence inside, silence at the end.
RECORDING = [(7000, 0), (24000, 0.05), (20011, 0.0005), (15000, 0.08), (3000, 0), (26000, 0.06), (9013, 0)]


def recording_golden(model, folder):
    sound = signal(sum(n for n, _ in RECORDING), 9) * np.concatenate([np.full(n, f, np.float32) for n, f in RECORDING])
    short = remove_silence(sound[None] * 3, 24000, 200, 100, 200)[0]
    made = model.create_voice_clone_prompt((torch.from_numpy(sound), 24000), "hello there")
    save_file({"codes": made.ref_audio_tokens.t().int().contiguous(), "level": torch.tensor([made.ref_rms]),
               "kept": torch.tensor([len(short)], dtype=torch.int32), "some": torch.from_numpy(short[::997].copy())},
              folder / "recording.safetensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for number, (name, size) in enumerate(CHECKPOINTS.items()):
        out, folder = args.out / name, args.out / name / "checkpoint"
        (folder / "audio_tokenizer").mkdir(parents=True, exist_ok=True)
        tokenizer, vocab = write_tokenizer(folder)
        model = write_model(folder, size, vocab, 20 + number)
        codec = codec_model(size["books"], size["codes"])
        weights = randomise_codec(codec, size["books"], size["codes"], 40 + number)
        codec.save_pretrained(folder / "audio_tokenizer")
        weights.hollow(folder / "audio_tokenizer/model.safetensors")
        model.text_tokenizer, model.audio_tokenizer, model.sampling_rate = tokenizer, codec, 24000
        model.duration_estimator = authors.RuleDurationEstimator()
        if name == "plain":
            texts_golden(model, args.out)
            recording_golden(model, args.out)
        for case in size["cases"]:
            save_file(run_case(model, case), out / f"{case['name']}.safetensors")
            print(name, case["name"], case["lengths"], "margin", case["margin"])
        (out / "cases.json").write_text(json.dumps(size["cases"], indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
