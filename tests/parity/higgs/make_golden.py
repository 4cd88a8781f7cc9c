#!/usr/bin/env python3
"""Writes a small Higgs Audio v3 checkpoint, and the results of its authors' serving code with it.

    python3.11 -m venv VENV
    VENV/bin/pip install torch torchaudio==2.9.1 transformers==5.5.0 safetensors numpy
    VENV/bin/pip download --no-deps sglang-omni==0.1.9 && unzip sglang_omni-*.whl -d SOURCE
    VENV/bin/python make_golden.py --source SOURCE [--out DIR] && python3 ../thin.py golden/*.safetensors

Boson AI published no program of their own with v3. They refer to SGLang-Omni, whose prompt, sampler, fused tables and undoing of
the delay run here unchanged (these do not need sglang itself, for GPUs); the decoder is Qwen3Model, the codec
HiggsAudioV2TokenizerModel of transformers. Everything is float32 on the CPU, one thread, except cos and sin, which the serving
code rounds to bf16, and the samples, which are exact (float64). Names and layout are the published ones (bosonai/higgs-tts-3-4b:
config.json, tokenizer.json, model.safetensors in bf16 with the codec bundled); only sizes and ids are smaller. Two runs on one
machine give the same bytes; each case stores its smallest margin between the two best logits, which must be far above float
noise.
"""
import argparse
import importlib
import json
import pathlib
import sys
import types

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (HiggsAudioV2TokenizerConfig, HiggsAudioV2TokenizerModel, HubertConfig, HubertModel,
                          PreTrainedTokenizerFast, Qwen3Config)
from transformers.models.qwen3.modeling_qwen3 import Qwen3Model

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["hello there, how are you? the quick brown fox jumps over the lazy dog", "die Straße ist naß"]
BOOKS, CODES = 8, 32
BEGIN, END, VOCAB = CODES, CODES + 1, CODES + 2
SEED = 1
SPECIAL = ["<|endoftext|>", "<|tts|>", "<|audio|>", "<|audio_end|>", "<|text|>", "<|text_end|>", "<|ref_audio|>",
           "<|ref_text|>", "<|emotion:sadness|>", "<|style:whispering|>", "<|prosody:pause|>",
           "<|prosody:speed_slow|>", "<|sfx:laughter|>"]
CODEC = "tied.embedding.modality_embeddings.0.model."


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE(ignore_merges=True))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(QWEN), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tok.train_from_iterator(CORPUS * 20, trainer)
    tok.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL])
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"eos_token": "<|endoftext|>", "tokenizer_class": "PreTrainedTokenizerFast"}, indent=1) + "\n")
    return PreTrainedTokenizerFast(tokenizer_object=tok), tok.get_vocab_size()


def model_config(vocab):
    return dict(
        architectures=["HiggsMultimodalQwen3ForConditionalGeneration"], model_type="higgs_multimodal_qwen3",
        audio_token_id=-100, dtype="bfloat16",
        audio_encoder_config=dict(encoder_type="discrete", num_codebooks=BOOKS, vocab_size=VOCAB, out_dim=32,
                                  tie_word_embeddings=True, use_delay_pattern=True),
        text_config=dict(model_type="qwen3", hidden_size=32, intermediate_size=40, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-6, rope_theta=None,
                         hidden_act="silu", attention_bias=False, max_position_embeddings=4096, vocab_size=vocab,
                         tie_word_embeddings=True))


class Higgs:
    """The networks of which the serving code makes the language model."""

    def __init__(self, config):
        text = Qwen3Config(**{k: v for k, v in config["text_config"].items() if k not in ("model_type", "rope_theta")},
                           rope_parameters={"rope_type": "default", "rope_theta": 1e6})
        self.backbone = Qwen3Model(text).eval()
        self.embedding = modeling.HiggsFusedMultiTextEmbedding(BOOKS, VOCAB, text.hidden_size)
        self.head = modeling.HiggsFusedMultiTextHead(BOOKS, VOCAB, text.hidden_size)
        rotary = self.backbone.rotary_emb
        angles = rotary.forward
        rotary.forward = lambda *args, **kwargs: tuple(t.bfloat16().float() for t in angles(*args, **kwargs))

    def names(self):
        """Yields each parameter with its published name."""
        for name, p in sorted(self.backbone.named_parameters()):
            yield name.replace("embed_tokens.", "tied.embedding.text_embedding.") if name.startswith("embed_tokens") else \
                "body." + name, p
        yield "tied.embedding.modality_embeddings.0.embedding.weight", self.embedding.weight

    def randomise(self, seed):
        gen = torch.Generator().manual_seed(seed)
        state = {}
        with torch.no_grad():
            for name, p in self.names():
                noise = torch.randn(p.shape, generator=gen)
                if "norm" in name:
                    value = 1.0 + 0.2 * noise
                elif "text_embedding" in name:
                    value = noise
                elif "modality" in name:
                    value = 0.4 * noise
                elif name.endswith(("o_proj.weight", "down_proj.weight")):
                    value = 4 / np.sqrt(p.shape[1]) * noise  # otherwise the steps repeat in a circle
                else:
                    value = 1.3 / np.sqrt(p.shape[1]) * noise
                state[name] = value.to(torch.bfloat16)
                p.copy_(state[name].float())
            self.head.weight = self.embedding.weight
        return state


def codec_model():
    config = HiggsAudioV2TokenizerConfig(
        acoustic_model_config=dict(model_type="dac", codebook_dim=8, codebook_size=32, encoder_hidden_size=1,
                                   decoder_hidden_size=32, downsampling_ratios=[8, 5, 4, 2, 3], hidden_size=16,
                                   hop_length=960, n_codebooks=9, sampling_rate=16000,
                                   upsampling_ratios=[8, 5, 4, 2, 3]),
        block_dilations=[1, 1], channel_ratios=[1, 1], codebook_dim=6, codebook_size=CODES, downsample_factor=320,
        kernel_size=3, sample_rate=24000, semantic_sample_rate=16000, strides=[1, 1], target_bandwidths=[1.0],
        unit_kernel_size=3,
        semantic_model_config=dict(model_type="hubert", conv_bias=False, conv_dim=[8] * 7,
                                   conv_kernel=[10, 3, 3, 3, 3, 2, 2], conv_stride=[5, 2, 2, 2, 2, 2, 2],
                                   feat_extract_norm="group", feat_proj_layer_norm=True, do_stable_layer_norm=False,
                                   hidden_size=16, intermediate_size=24, num_attention_heads=1, num_hidden_layers=2,
                                   num_conv_pos_embedding_groups=4, num_conv_pos_embeddings=16,
                                   num_feat_extract_layers=7))
    codec = HiggsAudioV2TokenizerModel(config).eval()
    assert config.num_quantizers == BOOKS and config.hop_length == 960
    return codec


def randomise_codec(codec, seed):
    """Returns random tensors in bf16, as published."""
    gen = torch.Generator().manual_seed(seed)
    state = {}
    for name, t in sorted(codec.state_dict().items()):
        noise = torch.randn(t.shape, generator=gen)
        if name.endswith("alpha"):
            value = 0.6 + 0.4 * noise.abs()
        elif name.endswith("original0"):
            value = 1.0 + 0.2 * noise
        elif "norm" in name and name.endswith("weight"):
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
            value = 0.4 * noise / np.sqrt(t[0].numel())  # otherwise numbers are large, and their sines are rounding errors
        else:
            value = noise / np.sqrt(max(1, t[0].numel()))
        state[name] = value.to(torch.bfloat16)
    # Scales the codec so that samples are about as loud as speech, because it has no tanh.
    codec.load_state_dict({k: v.float() for k, v in state.items()})
    with torch.no_grad():
        sound = codec.decode(torch.randint(0, CODES, (1, BOOKS, 40), generator=gen)).audio_values
    for part in ["weight", "bias"]:
        state[f"acoustic_decoder.conv2.{part}"] = (state[f"acoustic_decoder.conv2.{part}"].float() * 0.3 / sound.std()
                                                    ).to(torch.bfloat16)
    codec.load_state_dict({k: v.float() for k, v in state.items()})
    return state


def exact(codec, codes):
    """Decodes frames [T, C] in float64."""
    with torch.no_grad():
        single = codec.float().decode(codes.t()[None]).audio_values[0, 0]
        double = codec.double().decode(codes.t()[None]).audio_values[0, 0]
    print("samples of", len(codes), "frames: largest", float(double.abs().max()), "float32 is off by",
          float((single - double).abs().max()))
    return double.float()


def codec_golden(codec, folder):
    gen = torch.Generator().manual_seed(5)
    codes = torch.randint(0, CODES, (BOOKS, 40), generator=gen)
    out = {"codes": codes.t().int()}
    for n in [1, 2, 3, 11, 40]:
        out[f"samples_{n}"] = exact(codec, codes[:, :n].t())
    save_file({k: v.contiguous().clone() for k, v in out.items()}, folder / "codec.safetensors")


def signal(count, seed):
    """Returns noise from integers that swells and falls: the same bits in any language."""
    out = np.empty(count, np.float32)
    state = seed
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = (((state >> 16) - 32768) * ((i * 5) & 16383) >> 14) / 32768
    return torch.from_numpy(out)


# Recordings: whole frames; with padding on both sides; with one more row, as odd strides give; a longer one.
RECORDINGS = [24000, 24500, 24950, 47000]


def encoder_golden(codec, folder):
    """Writes codes of recordings, and the smallest distance between the nearest and the second nearest entry."""
    out, margins = {}, []
    quantize = type(codec.quantizer.quantizers[0].codebook).quantize

    def watched(book, states):
        near = torch.cdist(states.double(), book.embed.double()).topk(2, largest=False).values
        margins.append(float((near[:, 1] - near[:, 0]).min()))
        return quantize(book, states)

    parts = {}
    hooks = [codec.semantic_model.register_forward_hook(lambda _m, _i, out: parts.update(
                 semantic=torch.stack(out.hidden_states).mean(0)[0])),
             codec.acoustic_encoder.register_forward_hook(lambda _m, _i, out: parts.update(acoustic=out[0].t())),
             codec.fc.register_forward_hook(lambda _m, _i, out: parts.update(joined=out[0]))]
    type(codec.quantizer.quantizers[0].codebook).quantize = watched
    for count in RECORDINGS:
        with torch.no_grad():
            codes = codec.encode(signal(count, count)[None, None]).audio_codes[0]
        out[f"codes_{count}"] = codes.t().int()
        out |= {f"{name}_{count}": value for name, value in parts.items()}
    type(codec.quantizer.quantizers[0].codebook).quantize = quantize
    for hook in hooks:
        hook.remove()
    print("encoded: margin", min(margins))
    assert min(margins) > 1e-4
    save_file({k: v.contiguous().clone() for k, v in out.items()}, folder / "encoder.safetensors")


def hubert_golden(folder):
    """Writes a HuBERT with heads as wide as the published one's, and the mean of its hidden states."""
    config = HubertConfig(conv_bias=False, conv_dim=[16] * 7, conv_kernel=[10, 3, 3, 3, 3, 2, 2],
                          conv_stride=[5, 2, 2, 2, 2, 2, 2], feat_extract_norm="group", feat_proj_layer_norm=True,
                          do_stable_layer_norm=False, hidden_size=128, intermediate_size=96, num_attention_heads=2,
                          num_hidden_layers=3, num_conv_pos_embedding_groups=8, num_conv_pos_embeddings=32,
                          num_feat_extract_layers=7, attn_implementation="eager")
    hubert = HubertModel(config).eval()
    gen = torch.Generator().manual_seed(6)
    state = {}
    for name, t in sorted(hubert.state_dict().items()):
        noise = torch.randn(t.shape, generator=gen)
        if "norm" in name and name.endswith("weight") or name.endswith("original0"):
            state[name] = 1.0 + 0.2 * noise
        elif name.endswith("bias"):
            state[name] = 0.1 * noise
        else:
            state[name] = 1.5 * noise / np.sqrt(max(1, t[0].numel()))
    hubert.load_state_dict(state)
    weights = seeded.Weights(6)
    weights.over(hubert)
    path = folder / "hubert.safetensors"
    save_file({k: v.contiguous() for k, v in hubert.state_dict().items()}, path)
    weights.hollow(path)
    out = {}
    for count in [400, 16000, 21333]:
        with torch.no_grad():
            states = hubert.double()(signal(count, count).double()[None], output_hidden_states=True).hidden_states
        out[f"features_{count}"] = torch.stack(states).mean(0)[0].float()
    save_file({k: v.contiguous().clone() for k, v in out.items()}, folder / "hubert_features.safetensors")


def prompts_golden(adapter, folder):
    """Writes the ids of texts with blanks, which the program does not remove."""
    texts = ["Hello there. ", "  and so on", "\tand other things \n\n", "doesn't it?  12345 times! "]
    out = [dict(text=text, reference="", ids=adapter.build_prompt(text)) for text in texts]
    out += [dict(text="and other things ", reference=said, ids=adapter.build_prompt("and other things ", num_ref_tokens=9,
                                                                                    reference_text=said))
            for said in ["hello there, how are you? ", " hello\n"]]
    (folder / "prompts.json").write_text(json.dumps(out, indent=1) + "\n")


def sampling_golden(folder):
    """Writes the probabilities from which the authors' sampler draws."""
    gen = torch.Generator().manual_seed(3)
    settings = torch.tensor([[1.0, 1.0, 0], [0.8, 0.95, 20], [1.6, 0.7, 4], [1.0, 0.05, 30], [0.5, 0.6, 0]])
    logits = 2.5 * torch.randn(len(settings), VOCAB, generator=gen)
    chances = []
    draw = torch.Tensor.multinomial
    torch.Tensor.multinomial = lambda p, **kwargs: (chances.append(p.clone()), draw(p, **kwargs))[1]
    for row, (temperature, top_p, top_k) in zip(logits, settings.tolist()):
        sampler.step(row[None].expand(BOOKS, -1), sampler.HiggsSamplerState(num_codebooks=BOOKS), temperature=temperature,
                     top_p=top_p, top_k=int(top_k))
    torch.Tensor.multinomial = draw
    save_file({"logits": logits, "settings": settings, "chances": torch.stack([p[0] for p in chances]).contiguous()},
              folder / "sampling.safetensors")


def lead(logits):
    best = logits.topk(2, dim=-1).values
    return best[..., 0] - best[..., 1]


def run_case(model, adapter, case, codec):
    gen = torch.Generator().manual_seed(len(case["name"]))
    result, delayed = {}, None
    if case.get("reference"):
        codes = torch.randint(0, CODES, (case["reference"], BOOKS), generator=gen)
        result["reference"] = codes.int()
        delayed = utils.apply_delay_pattern(codes)
    ids = adapter.build_prompt(case["text"], num_ref_tokens=0 if delayed is None else len(delayed),
                               reference_text=case.get("reference_text"))
    prompt = torch.tensor(ids)
    with torch.no_grad():
        rows = model.backbone.embed_tokens(prompt.clamp_min(0))
        if delayed is not None:
            rows[prompt == text_tokenizer.AUDIO_PLACEHOLDER_ID] = model.embedding(delayed)
        state = sampler.HiggsSamplerState(num_codebooks=BOOKS)
        out = model.backbone(inputs_embeds=rows[None], use_cache=True)
        steps, logits, margins = [], [], []
        while len(steps) < case["most_steps"]:
            logits.append(model.head.generate(out.last_hidden_state[:, -1])[0])
            choice = logits[-1].clone()
            if case.get("ignore_stop"):
                choice[0, END] = -torch.inf
            margins.append(float(lead(choice[: min(len(steps) + 1, BOOKS)]).min()))
            steps.append(sampler.step(choice, state, temperature=0.0, boc_id=BEGIN, eoc_id=END))
            if state.generation_done:
                break
            row = model.embedding(state.last_codes[None])
            out = model.backbone(inputs_embeds=row[None], past_key_values=out.past_key_values, use_cache=True)
        steps = torch.stack(steps)
        frames = codec_delay.reverse_delay_pattern(steps)
        frames = torch.where(frames >= CODES, torch.zeros_like(frames), frames)  # the vocoder does the same
        kept = case.get("keep_samples")
        if kept:
            result["samples"] = exact(codec, frames[:kept])
    case.update(steps=len(steps), ended=state.generation_done, margin=min(margins))
    result.update(prompt_ids=prompt.int(), prefill=rows[-24:], steps=steps.int(), frames=frames.int(),
                  logits=torch.stack(logits[:case["keep"]]))
    return {k: v.contiguous().clone() for k, v in result.items()}


FOX = "The quick brown fox jumps over the lazy dog, doesn't it? 12345 times!"
MIXED = "<|emotion:sadness|><|prosody:speed_slow|>Hello there…<|prosody:pause|> die Straße ist naß;  café – 你好，世界!\n\n<|sfx:laughter|>Haha."
CASES = [
    dict(name="fox", text=FOX, ignore_stop=True, most_steps=230, keep=12, keep_samples=40),
    dict(name="mixed", text=MIXED, most_steps=60, keep=12),
    dict(name="clone", text="and other things", reference=21, reference_text="hello there, how are you?", most_steps=60,
         keep=12),
    dict(name="heard", text="and other things", reference=2, most_steps=60, keep=12),
]


def load_source(source):
    """Imports modules of sglang-omni without its package and without sglang, which they only mention."""
    def stub(name, **things):
        module = types.ModuleType(name)
        module.__path__ = [str(source / name.replace(".", "/"))]
        vars(module).update(things)
        sys.modules[name] = module
    for name in ["sglang_omni", "sglang_omni.models", "sglang_omni.models.higgs_tts", "sglang_omni.utils"]:
        stub(name)
    for name in ["sglang", "sglang.srt", "sglang.srt.layers"]:
        stub(name)
    stub("sglang.srt.layers.sampler", multinomial_with_seed=None)
    stub("sglang_omni.platforms", current_platform=types.SimpleNamespace(device_type="cpu"))
    stub("sglang_omni.models.higgs_tts.reset_kernels", reset_sampler_row=None)
    stub("sglang_omni.models.higgs_tts.audio_codec", HiggsAudioCodec=None)
    stub("sglang_omni.utils.checkpoint", resolve_checkpoint=None)
    stub("sglang_omni.preprocessing")
    stub("sglang_omni.preprocessing.audio", AudioMediaIO=None)
    stub("sglang_omni.preprocessing.base", is_url=None)
    stub("sglang_omni.preprocessing.resource_connector", global_http_connection=None)
    base = "sglang_omni.models.higgs_tts."
    return [importlib.import_module(name) for name in
            [base + "modeling", base + "sampler", base + "text_tokenizer", base + "utils",
             "sglang_omni.utils.codec_delay"]]


def main():
    global modeling, sampler, text_tokenizer, utils, codec_delay
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True, help="sglang-omni, unpacked")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    modeling, sampler, text_tokenizer, utils, codec_delay = load_source(args.source)
    utils.BOC_ID, utils.EOC_ID = BEGIN, END
    folder = args.out / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer, vocab = write_tokenizer(folder)
    adapter = text_tokenizer.HiggsTokenizerAdapter(tokenizer)
    config = model_config(vocab)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    model, codec = Higgs(config), codec_model()
    state = model.randomise(SEED)
    state |= {CODEC + name: value for name, value in randomise_codec(codec, 42).items()}
    save_file({k: v.contiguous() for k, v in state.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    codec_golden(codec, args.out)
    encoder_golden(codec, args.out)
    hubert_golden(args.out)
    sampling_golden(args.out)
    prompts_golden(adapter, args.out)
    for case in CASES:
        result = run_case(model, adapter, case, codec)
        save_file(result, args.out / f"{case['name']}.safetensors")
        print(case["name"], case["steps"], case["ended"], "margin", case["margin"])
    (args.out / "cases.json").write_text(json.dumps(CASES, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
