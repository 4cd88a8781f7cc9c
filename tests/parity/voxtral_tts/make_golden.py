#!/usr/bin/env python3
"""Writes two small Voxtral TTS checkpoints, and the results of vllm-omni's code with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==5.24.0 safetensors numpy einops mistral-common==1.13.1 tiktoken soundfile soxr
    VENV/bin/pip download --no-deps vllm-omni==0.30.0 && unzip vllm_omni-*.whl -d SOURCE
    VENV/bin/python make_golden.py --source SOURCE [--out DIR] && python3 ../thin.py golden/*/*.safetensors

Mistral refers to vllm-omni for its model. Its acoustic transformer, codec, embedding of codes and reader of params.json run
unchanged, float32 on the CPU, as do the prompts of mistral-common. Stubs replace vLLM, which its modules import for serving:
its Mistral is transformers' MistralModel, whose wq and wk are permuted as vLLM does (maybe_remap_mistral). The loop of steps is
that of tts_preprocess() and compute_mm_logits(): the codes of a frame are the input of the next. The noise is Syrinx's (philox.py).
Layout and names are the published ones (mistralai/Voxtral-4B-TTS-2603); only sizes are smaller. "small" is stored in bf16; "other"
has sizes, windows, steps and heads that differ from the published ones. Each case stores its smallest margins: of the two best
logits, and of a number to the next code.
"""
import argparse
import base64
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import types
from unittest import mock

import numpy as np
import torch
from mistral_common.protocol.speech.request import SpeechRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from safetensors.torch import load_file, save_file
from transformers import MistralConfig, MistralModel

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402
from philox import philox_normal  # noqa: E402

PATTERN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
           r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")  # that of mistral-common's files
CONTROL = {token["rank"]: token["token_str"] for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS}
CONTROL |= {24: "[AUDIO]", 25: "[BEGIN_AUDIO]", 34: "[TRANSCRIBE]", 35: "[REPEAT_AUDIO_TEXT]", 36: "[NEXT_AUDIO_TEXT]"}
SPECIAL = 40
PIECES = [" t", "he", " a", "in", " the", "er", " s", "on", "é", " w", "an", "re", "nd", "ing", " and", " über", " Hello", " world", "日", "本", "日本"]
NOISE = 0x56580001  # the stream of noise, in src/families/voxtral_tts/speech_lm.cc
END, MARKS = 1, 2
FOX = "The quick brown fox jumps over the lazy dog, doesn't it? 12345 times!"
SHAPES = {
    "small": dict(
        seed=44, dtype=torch.bfloat16, voices=dict(cheerful_female=7, fr_male=4), rate=24000,
        lm=dict(dim=32, n_layers=2, head_dim=16, hidden_dim=48, n_heads=4, n_kv_heads=2, rope_theta=1e6, norm_eps=1e-5, max_seq_len=65536,
                model_type="voxtral_tts"),
        flow=dict(n_layers=3, head_dim=16, hidden_dim=40, n_heads=4, n_kv_heads=2, use_biases=False, rope_theta=10000.0, sigma=1e-5, sigma_max=1.0),
        codes=(64, 21, 36),
        codec=dict(pretransform_patch_size=48, patch_proj_kernel_size=7, semantic_dim=24, conv_weight_norm=True, causal=True,
                   attn_sliding_window_size=16, half_attn_window_upon_downsampling=True, dim=32, hidden_dim=48, head_dim=16, n_heads=2, n_kv_heads=2,
                   qk_norm_eps=1e-6, qk_norm=True, use_biases=False, norm_eps=0.01, layer_scale=True, layer_scale_init=0.01,
                   decoder_transformer_lengths_str="2,2,2,2", decoder_convs_kernels_str="3,4,4,4", decoder_convs_strides_str="1,2,2,2"),
        cases=[dict(name="fox", text=FOX, voice="cheerful_female", seed=3, keep=3, samples=5),
               dict(name="ends", text="naïve — 日本 world", voice="fr_male", seed=9, keep=2, guidance=2.5, prefill=True)]),
    "other": dict(
        seed=45, dtype=torch.float32, voices=dict(neutral_male=3), rate=8000,
        lm=dict(dim=48, n_layers=3, hidden_dim=32, n_heads=3, n_kv_heads=3, rope_theta=1e4, norm_eps=1e-6, max_seq_len=700,
                architectures=["VoxtralTTSForConditionalGeneration"]),
        flow=dict(n_layers=1, head_dim=8, hidden_dim=64, n_heads=6, n_kv_heads=1, norm_eps=1e-4, n_decoding_steps=4),
        codes=(100, 5, 3),
        codec=dict(pretransform_patch_size=32, patch_proj_kernel_size=5, semantic_dim=8, conv_weight_norm=False, causal=True,
                   attn_sliding_window_size=5, half_attn_window_upon_downsampling=False, dim=24, hidden_dim=32, head_dim=8, n_heads=3, n_kv_heads=1,
                   qk_norm_eps=1e-3, qk_norm=True, norm_eps=0.1, layer_scale=False, encoder_transformer_lengths_str="1,1,1",
                   encoder_convs_kernels_str="4,4,4", encoder_convs_strides_str="4,2,1", decoder_transformer_lengths_str="1,2,1",
                   decoder_convs_kernels_str="5,7,4", decoder_convs_strides_str="1,4,2"),
        cases=[dict(name="fox", text=FOX, voice="neutral_male", seed=5, keep=3, samples=8, guidance=1.0),
               dict(name="ends", text="Hello world", voice="neutral_male", seed=1, keep=2)]),
}


class Stub:
    """Stands for each class, function and object of vLLM. As a decorator it returns what it decorates."""

    def __class_getitem__(cls, _):
        return cls

    def __call__(self, *args, **more):
        return args[0] if len(args) == 1 and isinstance(args[0], type) and not more else self

    def __getattr__(self, _):
        return Stub()

    def __setitem__(self, *_):
        pass


class VllmStubs:
    """Finds modules of vLLM, whose members are stubs: classes if their names begin like those of classes."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] == "vllm" else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: type(name, (Stub,), {}) if name[0].isupper() and not name.isupper() else Stub()
        return module

    def exec_module(self, module):
        module.__path__ = []


def load_api(source):
    sys.meta_path.insert(0, VllmStubs())
    sys.modules["vllm.model_executor.model_loader.weight_utils"] = types.SimpleNamespace(default_weight_loader=lambda p, w: p.copy_(w))
    for package in ("", ".model_executor", ".model_executor.models", ".quantization", ".transformers_utils", ".transformers_utils.parsers",
                    ".transformers_utils.configs"):
        module = types.ModuleType("vllm_omni" + package)  # the package's own imports need vLLM
        module.__path__ = [str(source / ("vllm_omni" + package).replace(".", "/"))]
        sys.modules[module.__name__] = module
    sys.modules["vllm_omni.quantization.component_config"] = types.SimpleNamespace(ComponentQuantizationConfig=None)
    sys.modules["vllm_omni.platforms"] = types.SimpleNamespace(current_omni_platform=types.SimpleNamespace(device_type="cpu"))
    at = "vllm_omni.model_executor.models.voxtral_tts.voxtral_tts_audio_"
    return types.SimpleNamespace(generation=importlib.import_module(at + "generation"), codec=importlib.import_module(at + "tokenizer"),
                                 parser=importlib.import_module("vllm_omni.transformers_utils.parsers.voxtral_tts"))


def write_tekken(path, shape, frame_rate):
    tokens = [bytes([i]) for i in range(256)]
    for piece in PIECES:  # each merge needs the token before it
        data = piece.encode()
        tokens += [data[:n] for n in range(2, len(data) + 1) if data[:n] not in tokens]
    size = SPECIAL + len(tokens)
    tokens += [b"beyond", b" the ids"]
    vocab = [dict(rank=i, token_bytes=base64.b64encode(t).decode(), token_str=None) for i, t in enumerate(tokens)]
    special = [dict(rank=i, token_str=CONTROL.get(i, f"<SPECIAL_{i}>"), is_control=True) for i in range(SPECIAL)]
    config = dict(pattern=PATTERN, num_vocab_tokens=len(tokens), default_vocab_size=size, default_num_special_tokens=SPECIAL, version="v7")
    sound = dict(sampling_rate=shape["rate"], frame_rate=frame_rate, voice_num_audio_tokens=shape["voices"],
                 audio_encoding_config=dict(num_mel_bins=128, hop_length=160, window_size=400))
    path.write_text(json.dumps(dict(config=config, vocab=vocab, special_tokens=special, audio=sound)))
    return size


def params(shape, vocab):
    semantic, levels, acoustic = shape["codes"]
    codec = dict(channels=1, sampling_rate=shape["rate"], semantic_codebook_size=semantic, acoustic_codebook_size=levels,
                 acoustic_dim=acoustic, voice={name: i for i, name in enumerate(shape["voices"])}, **shape["codec"])
    hop = codec["pretransform_patch_size"] * int(np.prod([int(n) for n in codec["decoder_convs_strides_str"].split(",")]))
    audio = dict(semantic_codebook_size=semantic, acoustic_codebook_size=levels, n_acoustic_codebook=acoustic,
                 audio_encoding_args=dict(codebook_pattern="parallel", num_codebooks=1 + acoustic, sampling_rate=shape["rate"],
                                          frame_rate=shape["rate"] / hop),
                 audio_token_id=24, begin_audio_token_id=25, input_embedding_concat_type="sum",
                 acoustic_transformer_args=dict(input_dim=shape["lm"]["dim"], dim=shape["lm"]["dim"], **shape["flow"]))
    return dict(shape["lm"], vocab_size=vocab, tied_embeddings=True, causal=True,
                multimodal=dict(bos_token_id=1, audio_model_args=audio, audio_tokenizer_args=codec))


class Model:
    """The reference: a language model, an acoustic transformer and a codec, which read one file."""

    def __init__(self, api, config):
        lm, args = config, api.parser._remap_voxtral_tts_audio_args(json.loads(json.dumps(config)))
        self.heads = lm["n_heads"], lm.get("n_kv_heads", lm["n_heads"])
        dim = lm.get("head_dim", lm["dim"] // lm["n_heads"])
        self.lm = MistralModel(MistralConfig(
            hidden_size=lm["dim"], intermediate_size=lm["hidden_dim"], num_hidden_layers=lm["n_layers"], num_attention_heads=self.heads[0],
            num_key_value_heads=self.heads[1], head_dim=dim, rms_norm_eps=lm["norm_eps"], vocab_size=lm["vocab_size"], sliding_window=None,
            rope_parameters=dict(rope_type="default", rope_theta=lm["rope_theta"]), max_position_embeddings=4096)).eval()
        hf = types.SimpleNamespace(audio_config=args, text_config=types.SimpleNamespace(hidden_size=lm["dim"]))
        vllm_config = types.SimpleNamespace(model_config=types.SimpleNamespace(hf_config=hf))
        self.codec = api.codec.VoxtralTTSAudioTokenizer(vllm_config=vllm_config).eval()
        self.flow = api.generation.FlowMatchingAudioTransformer(args["audio_model_args"]).eval()

    def tensors(self):
        """Yields each parameter with its published name."""
        names = {"self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
                 "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2",
                 "mlp.up_proj": "feed_forward.w3", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
                 "embed_tokens": "mm_audio_embeddings.tok_embeddings"}
        for name, p in self.lm.named_parameters():
            for old, new in names.items():
                name = name.replace(old, new)
            yield name, p
        for name, p in self.flow.named_parameters():
            yield "acoustic_transformer." + name, p
        for name, p in self.codec.named_parameters():
            if name.startswith("audio_token_embedding."):
                yield name.replace("audio_token_embedding", "mm_audio_embeddings.audio_codebook_embeddings"), p
            elif not name.startswith(("input_proj.", "encoder_blocks.")):  # the published file has no encoder
                yield "audio_tokenizer." + name, p
        table = self.codec.quantizer.semantic_codebook
        yield "audio_tokenizer.quantizer.semantic_codebook.cluster_usage", table.cluster_usage
        yield "audio_tokenizer.quantizer.semantic_codebook.embedding_sum", table.embedding_sum

    def load(self, file):
        state = {name: t.float() for name, t in load_file(file).items()}

        def permuted(w, heads):  # pairs of rotary positions: adjacent in the file, halves in the model
            return w.view(heads, -1, 2, w.shape[1]).transpose(1, 2).reshape(w.shape)

        for name, p in list(self.tensors()):
            value = state.pop(name)
            if name.startswith("layers.") and name.endswith(("wq.weight", "wk.weight")):
                value = permuted(value, self.heads[name.endswith("wk.weight")])
            if name.startswith("acoustic_transformer."):
                self.flow.load_weight((name.removeprefix("acoustic_transformer."), value))
            elif name.startswith("audio_tokenizer."):
                self.codec.load_weight((name.removeprefix("audio_tokenizer."), value))
            else:
                p.copy_(value)
        assert not state, state.keys()

    def speak(self, ids, voice, case, most):
        """Returns the frames until the end, or `most` frames, and what led to them."""
        rows = self.lm.embed_tokens(torch.tensor([ids]))
        rows[0, [i for i, each in enumerate(ids) if each == 24]] = voice.float()
        out = dict(frames=[], hidden=[], logits=[], prefill=rows[0].clone(), ended=False, margin=np.inf, code_margin=np.inf)
        past, scale = None, torch.tensor([case.get("guidance", 1.2)])
        codec_round = torch.Tensor.round

        def rounded(x):
            out["code_margin"] = min(out["code_margin"], float((0.5 - (x - codec_round(x)).abs()).min()))
            return codec_round(x)

        for step in range(most + 1):
            made = self.lm(inputs_embeds=rows, cache=past, use_cache=True)
            past, hidden = made.cache, made.last_hidden_state[:, -1]
            logits = self.flow.semantic_codebook_output(hidden)[0, :MARKS + self.flow.model_args.semantic_codebook_size]
            best = logits[END:].topk(2).values
            out["margin"] = min(out["margin"], float(best[0] - best[1]))

            def noise(*shape, **_):
                return torch.from_numpy(philox_normal(case["seed"], step, NOISE, shape[1]))[None]

            with mock.patch.object(torch, "randn", noise), mock.patch.object(torch.Tensor, "round", rounded):
                codes = self.flow(hidden, scale)
            out["hidden"].append(hidden[0]), out["logits"].append(logits)
            if codes[0, 0] == END:
                out["ended"] = True
                break
            out["frames"].append(codes[0] - MARKS)
            rows = self.codec.encode_tokens([codes[:, :, None]])[0][None]
        out["frames"] = torch.stack(out["frames"][:most])
        return out


def random_tensor(name, p, gen):
    noise = torch.randn(p.shape, generator=gen)
    if p.numel() < seeded.SMALLEST:  # no recipe describes these, so they have few bits
        noise = (4 * noise).round() / 4
    if name.endswith("cluster_usage"):
        return 1 + (8 * noise).round().abs() / 8
    if "output_proj" in name:
        return 0.05 * (1 + 0.2 * noise) if name.endswith("original0") else 0.05 / np.sqrt(p[0].numel()) * noise
    if name.endswith("original0") or "norm" in name:
        return 1 + 0.2 * noise
    if name.endswith("_scale"):
        return 0.5 + 0.1 * noise
    if "embedding" in name:
        return 0.7 * noise
    scale = 3 if name.endswith(("wo.weight", "w2.weight")) and name.startswith("layers") else 1.3
    return noise * scale / np.sqrt(max(1, p[0].numel()))


def teach_end(table, own, others):
    """Gives the end the row of a late hidden state of the case that is to end, which no other state resembles."""
    for at in range(30, len(own["hidden"])):
        row = own["hidden"][at] * (1.1 * own["logits"][at][MARKS:].max() / own["hidden"][at].square().sum())
        before = list(zip(own["hidden"][:at], own["logits"][:at])) + [pair for o in others for pair in zip(o["hidden"], o["logits"])]
        if all(float(h @ row) < 0.9 * float(l[MARKS:].max()) for h, l in before):
            table[END] = row
            return
    raise SystemExit("no hidden state for the end; take another seed")


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    api = load_api(args.source.resolve())
    for name, shape in SHAPES.items():
        folder = args.out / name / "checkpoint"
        (folder / "voice_embedding").mkdir(parents=True, exist_ok=True)
        rate = shape["rate"] / (shape["codec"]["pretransform_patch_size"] * 8)
        config = params(shape, write_tekken(folder / "tekken.json", shape, rate))
        assert config["multimodal"]["audio_model_args"]["audio_encoding_args"]["frame_rate"] == rate
        (folder / "params.json").write_text(json.dumps(config, indent=1) + "\n")
        tokenizer = MistralTokenizer.from_file(str(folder / "tekken.json"))
        gen = torch.Generator().manual_seed(shape["seed"])
        model = Model(api, config)
        state = {each: random_tensor(each, p, gen) for each, p in model.tensors()}
        weights = seeded.Weights(shape["seed"])
        weights.over(state)
        voices = {}
        for voice, rows in shape["voices"].items():
            voices[voice] = (0.7 * torch.randn(rows, config["dim"], generator=gen)).bfloat16()
            torch.save(voices[voice], folder / "voice_embedding" / f"{voice}.pt")
        file = folder / "consolidated.safetensors"

        def stored():
            save_file({each: t.to(shape["dtype"]).contiguous() for each, t in state.items()}, file)
            model.load(file)

        def run(case):
            request = SpeechRequest(input=case["text"], voice=case["voice"])
            ids = tokenizer.encode_speech_request(request).tokens
            return ids, model.speak(ids, voices[case["voice"]], case, 205)

        end = state["acoustic_transformer.semantic_codebook_output.weight"]
        end[END] = 0
        stored()
        longer, ending = [run(case)[1] for case in shape["cases"]]
        teach_end(end, ending, [longer])
        stored()
        for case in shape["cases"]:
            ids, out = run(case)
            frames = out["frames"].int()
            tensors = dict(prompt_ids=torch.tensor(ids).int(), frames=frames, logits=torch.stack(out["logits"][:case["keep"]]))
            if case.pop("prefill", False):
                tensors["prefill"] = out["prefill"]
            if kept := case.pop("samples", 0):
                codes = frames[:kept].long().t()[None]
                tensors["samples"] = model.codec.decode(codes, dtype=torch.float32)[0, 0]
            save_file({key: t.contiguous() for key, t in tensors.items()}, folder.parent / f"{case['name']}.safetensors")
            case.update(steps=len(frames), ended=out["ended"], margin=out["margin"], code_margin=out["code_margin"])
            del case["keep"]
            print(name, case["name"], len(ids), "ids", len(frames), "frames, ended", out["ended"], "margins", out["margin"], out["code_margin"],
                  frames[:12, 0].tolist(), len(set(frames[:, 0].tolist())), "codes", frames[5, 1:].tolist())
            if "samples" in tensors:
                print("  samples", float(tensors["samples"].abs().max()), float(tensors["samples"].std()))
        (folder.parent / "cases.json").write_text(json.dumps(shape["cases"], indent=1, ensure_ascii=False) + "\n")
        weights.hollow(file)


main()
