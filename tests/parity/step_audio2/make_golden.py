#!/usr/bin/env python3
"""Writes a small random Step-Audio-2-mini in the published layout, and the results of its authors' code with it.

    git clone https://github.com/stepfun-ai/Step-Audio2 && git clone https://github.com/vox-serve/vox-serve
    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==4.57.3 tokenizers einops safetensors numpy scipy
    VENV/bin/python make_golden.py --step Step-Audio2 --vox vox-serve

Flow and vocoder are the authors' classes. Audio encoder and adapter are vox-serve's copies of the authors'
modeling_step_audio_2.py, which their model repository has and GitHub does not; the log-mel and the count of its tokens
are the authors' (utils.py). The language model is transformers' Qwen2ForCausalLM, text is encoded by its
Qwen2TokenizerFast. All in float32 on the CPU (the vocoder in float64), one thread. Recordings, prompts' mels and noise
are not stored: they are generated from integers or by Philox, and the tests do the same. README.md lists the contents of
each file.
"""
import argparse
import ast
import importlib.machinery
import json
import os
import pathlib
import shutil
import sys
import types
from typing import Iterable, Optional, Tuple

import numpy as np
import torch
from safetensors.torch import save_file

os.environ["TORCHDYNAMO_DISABLE"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from philox import philox_normal  # noqa: E402
from seeded import Weights  # noqa: E402

CORPUS = ["You are a helpful assistant. Give me a brief introduction to the Great Wall.", "Hello there, how are you? 12345",
          "Now write a 4-line poem about it. It's what we'll do, they're here.", "你好，今天天气很好。", "system\n human\n assistant\n"]
CODES, MEL, WIDTH = 40, 80, 16
CONTROLS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|BOT|>", "<|EOT|>", "<audio_start>", "<audio_end>", "<audio_patch>",
            "<tts_start>", "<tts_end>", "<tts_pad>"]
HEARING = dict(n_mels=80, n_audio_ctx=1500, n_audio_state=16, n_audio_head=2, n_audio_layer=2, n_codebook_size=4096, llm_dim=32,
               kernel_size=3, adapter_stride=2)
LM = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
SYSTEM = "You are a helpful assistant."
SEED, PENALTY, PIECE = 7, 1.05, 25 * 16000
# Counts of samples at 16 kHz: the fewest, one token, odd counts, a piece with and without a little more, two pieces.
LENGTHS = [1, 160, 1281, 12800, 13121, 48001, 400000, 405000]


def signal(count, seed):
    """Returns noise from integers that swells and falls: the same bits in any language."""
    out = np.empty(count, np.float32)
    state = seed
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = (((state >> 16) - 32768) * ((i * 5) & 16383) >> 14) / 32768
    return out


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules[name] = module
    return module


def pieces_of(path, names, scope):
    """Loads classes and functions of a file without its imports."""
    tree = ast.parse(pathlib.Path(path).read_text())
    tree.body = [node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in names]
    assert len(tree.body) == len(names), path
    exec(compile(tree, str(path), "exec"), scope)
    return scope


def randomise(model, generator, scale=1.0):
    """Sets matrices and filters of length near `scale` and norms near one, so that signals neither vanish nor grow."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if name.endswith("original0"):
                value.copy_((0.3 if "conv_post" in name else 0.6) * (1 + 0.3 * noise))
            elif name.endswith("alpha"):
                value.copy_(0.5 + 1.5 * torch.rand(value.shape, generator=generator))
            elif name.endswith("original1"):
                value.copy_(noise)
            elif value.dim() == 1 and name.endswith("weight"):
                value.copy_(1 + 0.2 * noise)
            elif value.dim() == 1:
                value.copy_(0.1 * noise)
            elif "embed" in name or "pos_bias" in name:
                value.copy_(scale * noise)
            else:
                value.copy_(scale * noise / np.sqrt(value[0].numel()))


# ------------------------------------------------------------------------------------------------- text

def make_tokenizer(folder):
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
    from transformers import Qwen2TokenizerFast
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
               r"|\s+(?!\S)|\s+")
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.train_from_iterator(CORPUS * 20, trainers.BpeTrainer(vocab_size=300, show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tok.model.save(str(folder))
    base = tok.get_vocab_size()
    added = {text: base + i for i, text in enumerate(CONTROLS + [f"<audio_{i}>" for i in range(CODES + 1)])}
    # It is not known which ids are special in the published file. In the tests, only Qwen's are special.
    listed = {str(id): dict(content=text, lstrip=False, normalized=False, rstrip=False, single_word=False,
                            special=text.startswith("<|")) for text, id in added.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps(
        dict(added_tokens_decoder=listed, tokenizer_class="Qwen2Tokenizer", eos_token="<|endoftext|>",
             pad_token="<|endoftext|>", bos_token=None, unk_token=None, add_prefix_space=False, errors="replace",
             model_max_length=16384, split_special_tokens=False), separators=(",", ":")) + "\n")
    (folder / "added_tokens.json").write_text(json.dumps(added, separators=(",", ":")) + "\n")
    return Qwen2TokenizerFast.from_pretrained(str(folder)), added


def prompts(encode):
    """Returns prompts with tools and with earlier spoken answers, in the form of the authors' examples."""
    turn = lambda role, text: encode(f"<|BOT|>{role}\n{text}<|EOT|>")
    written, spoken = encode("<|BOT|>assistant\n"), encode("<|BOT|>assistant\n<tts_start>")
    told = lambda ids: written + encode("<tts_start>") + ids + encode("<|EOT|>")
    system, asked = turn("system", SYSTEM), turn("human", "Hello there?")
    call = '<tool_call>function\nsearch\n{"query": "今天", "n": [2]}</tool_call>'
    tools = [dict(type="function", function=dict(name="search", description="搜索", parameters=dict(
        type="object", properties=dict(query=dict(type="string")), required=["query"])))]
    tools = json.dumps(tools, ensure_ascii=False)
    schemas = turn("tool_json_schemas", tools)
    function = dict(name="search", arguments=dict(query="今天", n=[2]))
    code = lambda i: encode(f"<audio_{i}>")
    answer = encode("It's") + code(3) + code(39) + code(0) + code(5) + encode(" nice") + code(7) + encode("<tts_end>" + call)
    user, heard = dict(role="user", content="Hello there?"), dict(role="assistant", content=[dict(type="answer")])
    cases = dict(
        tools=dict(messages=[dict(role="system", content="Be brief."), user], tools=tools, speaks=True,
                   ids=turn("system", "Be brief.") + schemas + asked + spoken),
        result=dict(messages=[user, dict(role="assistant", content="So.", tool_calls=[dict(type="function", function=function)]),
                              dict(role="tool", tool_call_id="c", content="Monday"), user], tools=tools, speaks=False,
                    ids=system + schemas + asked + turn("assistant", "So." + call) + turn("input", "Monday") + asked + written),
        parts=dict(messages=[user, dict(role="assistant", content=[dict(type="text", text="So.")],
                                        tool_calls=[dict(type="function", function=function)])], speaks=True,
                   ids=system + asked + written + encode("So.") + encode(call) + encode("<|EOT|>") + spoken),
        heard=dict(messages=[user, heard | dict(tool_calls=[dict(type="function", function=function)]),
                             dict(role="tool", content="Monday")], tools=tools, speaks=True, answers=[dict(ids=answer)],
                   ids=system + schemas + asked + told(answer) + turn("input", "Monday") + spoken),
        cut=dict(messages=[user, heard, user], speaks=True, answers=[dict(ids=answer, heard_s=0.13)],
                 ids=system + asked + told(answer[:len(encode("It's")) + 3]) + asked + spoken))
    return json.dumps(cases, ensure_ascii=False, separators=(",", ":")) + "\n"


# ------------------------------------------------------------------------------------------------- hearing

class Ears:
    def __init__(self, args, generator):
        self.utils = pieces_of(f"{args.step}/utils.py", ["_mel_filters", "log_mel_spectrogram", "compute_token_num"],
                               dict(torch=torch, F=torch.nn.functional, librosa=sys.modules["librosa"]))
        scope = dict(torch=torch, nn=torch.nn, F=torch.nn.functional, Iterable=Iterable, Optional=Optional, Tuple=Tuple)
        pieces_of(f"{args.vox}/vox_serve/encoder/step_audio_2.py",
                  ["make_non_pad_mask", "mask_to_bias", "StepAudio2EncoderAttention", "StepAudio2EncoderBlock",
                   "StepAudio2Encoder"], scope)
        pieces_of(f"{args.vox}/vox_serve/model/step_audio_2.py", ["StepAudio2Adaptor"], scope)
        h = HEARING
        self.encoder = scope["StepAudio2Encoder"](h["n_mels"], h["n_audio_ctx"], h["n_audio_state"], h["n_audio_head"],
                                                  h["n_audio_layer"]).eval()
        self.adapter = scope["StepAudio2Adaptor"](h["n_audio_state"], h["llm_dim"], h["kernel_size"],
                                                  h["adapter_stride"]).eval()
        randomise(self.encoder, generator)
        randomise(self.adapter, generator)

    @torch.no_grad()
    def rows(self, samples):
        """Returns the encoder's rows for each piece of a recording, encoded alone."""
        out = []
        for at in range(0, len(samples), PIECE):
            mel = self.utils["log_mel_spectrogram"](torch.from_numpy(samples[at:at + PIECE]), n_mels=HEARING["n_mels"],
                                                    padding=479)
            count = self.utils["compute_token_num"](mel.shape[1])
            if count == 0:
                out.append(torch.zeros(0, HEARING["llm_dim"]))
                continue
            hidden, lengths = self.encoder(mel[None], torch.tensor([mel.shape[1] - 2], dtype=torch.int32))
            rows = self.adapter(hidden)[0]
            assert (lengths.item() - 1) // 2 + 1 == count
            out.append(rows[:count])
        return out


# ------------------------------------------------------------------------------------------------- language model

def make_lm(generator, vocab):
    from transformers import Qwen2Config, Qwen2ForCausalLM
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=vocab, max_position_embeddings=4096, rms_norm_eps=1e-6, rope_theta=1e6, tie_word_embeddings=False,
        attn_implementation="eager", **LM)).eval()
    randomise(model, generator)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight", "lm_head.weight")):
                value.mul_(4)
            if "embed_tokens" in name:
                value.mul_(0.25)
    return model


@torch.no_grad()
def generate(model, prompt, rows, places, steps, allowed):
    """Returns greedy ids with the authors' penalty, some logits before it, and the smallest margin after it."""
    from transformers import DynamicCache
    mask = torch.full((model.config.vocab_size,), -torch.inf)
    mask[:allowed] = 0
    cache, ids, kept, margin = DynamicCache(), list(prompt), [], np.inf
    embeds = model.model.embed_tokens(torch.tensor([prompt]))
    if len(places):
        embeds[0, places] = rows
    for step in range(steps):
        logits = model(inputs_embeds=embeds, past_key_values=cache).logits[0, -1]
        if step in (0, 1, steps // 2, steps - 1):
            kept.append(logits.clone())
        seen = torch.tensor(sorted(set(ids)))
        scores = logits + mask
        scores[seen] = torch.where(scores[seen] < 0, scores[seen] * PENALTY, scores[seen] / PENALTY)
        best = scores.topk(2)
        margin = min(margin, (best.values[0] - best.values[1]).item())
        ids.append(best.indices[0].item())
        embeds = model.model.embed_tokens(best.indices[:1][None])
    return ids[len(prompt):], torch.stack(kept), margin


# ------------------------------------------------------------------------------------------------- codes to speech

YAML = """flow: !new:cosyvoice2.flow.flow.CausalMaskedDiffWithXvec
  input_size: {width}
  output_size: 80
  spk_embed_dim: 192
  output_type: 'mel'
  vocab_size: {codes}
  encoder: !new:cosyvoice2.transformer.upsample_encoder_v2.UpsampleConformerEncoderV2
    input_size: {width}
    output_size: {width}
    input_layer: 'linear'
    pre_lookahead_len: 3
    num_blocks: 2
    num_up_blocks: 1
    up_stride: 2
    up_scale_factor: 2
    attention_heads: 2
    pos_enc_layer_type: 'rel_pos_espnet'
    selfattention_layer_type: 'rel_selfattn'
    key_bias: true
    linear_units: 24
    dropout_rate: 0.1
    positional_dropout_rate: 0.1
    attention_dropout_rate: 0.1
    normalize_before: True
  decoder: !new:cosyvoice2.flow.flow_matching.CausalConditionalCFM
    inference_cfg_rate: 0.7
    estimator: !new:cosyvoice2.flow.decoder_dit.DiT
      in_channels: 320
      out_channels: 80
      mlp_ratio: 4.0
      depth: 2
      num_heads: 2
      head_dim: 8
      hidden_size: {width}
"""
DEPTH, HEADS, DIM, STEPS = 2, 2, 8, 10


def make_flow():
    from cosyvoice2.flow.decoder_dit import DiT
    from cosyvoice2.flow.flow import CausalMaskedDiffWithXvec
    from cosyvoice2.flow.flow_matching import CausalConditionalCFM
    from cosyvoice2.transformer.upsample_encoder_v2 import UpsampleConformerEncoderV2
    dit = DiT(in_channels=320, out_channels=MEL, mlp_ratio=4.0, depth=DEPTH, num_heads=HEADS, head_dim=DIM, hidden_size=WIDTH)
    flow = CausalMaskedDiffWithXvec(
        input_size=WIDTH, output_size=MEL, spk_embed_dim=192, vocab_size=CODES,
        encoder=UpsampleConformerEncoderV2(
            input_size=WIDTH, output_size=WIDTH, input_layer="linear", pre_lookahead_len=3, num_blocks=2, num_up_blocks=1,
            up_stride=2, up_scale_factor=2, attention_heads=2, pos_enc_layer_type="rel_pos_espnet",
            selfattention_layer_type="rel_selfattn", key_bias=True, linear_units=24, normalize_before=True),
        decoder=CausalConditionalCFM(dit, 0.7)).eval()
    # Caches get this model's sizes, because the authors' code contains the published ones.
    dit.att_cache_buffer = torch.zeros(DEPTH, 2, HEADS, 1000, 2 * DIM)
    dit.cnn_cache_buffer = torch.zeros(DEPTH, 2, 2 * WIDTH, 2)
    flow.decoder.cnn_cache_buffer = torch.zeros(STEPS, DEPTH, 2, 2 * WIDTH, 2)
    flow.decoder.att_cache_buffer = torch.zeros(STEPS, DEPTH, 2, HEADS, 1000, 2 * DIM)
    return flow


def make_hift():
    from flashcosyvoice.modules.hifigan import ConvRNNF0Predictor, HiFTGenerator
    return HiFTGenerator(in_channels=MEL, base_channels=16, f0_predictor=ConvRNNF0Predictor(in_channels=MEL, cond_channels=8))


class Voice:
    """A voice prompt: tokens, mel, speaker. The tests generate the same."""

    def __init__(self, tokens):
        self.tokens = torch.tensor([[(11 * i + 5) % CODES for i in range(tokens)]], dtype=torch.int32)
        self.mel = torch.from_numpy(np.stack([philox_normal(4, t, 2, MEL) for t in range(2 * tokens)]))[None] * 0.5 - 1
        self.speaker = torch.from_numpy(philox_normal(4, 0, 3, 192))[None] * 3
        self.frames = 2 * tokens


def request_noise(voice):
    """Returns the noise that S3FlowStage gives a request: a table for the prompt, then the request's own numbers."""
    table = torch.randn([1, MEL, 15000], generator=torch.Generator().manual_seed(0))[0].T

    def at(frame):
        if frame < voice.frames:
            return table[frame]
        return torch.from_numpy(philox_normal(SEED, frame - voice.frames, 0x53330001, MEL))
    return at


def plain_noise(frame):
    return torch.from_numpy(philox_normal(3, frame, 1, MEL))


class Decoder:
    def __init__(self, flow, hift):
        self.flow, self.hift = flow, hift

    def fill(self, noise, first, count, offset):
        """Writes `count` frames of noise, from frame `first` on, to the place where the next call reads them."""
        table = torch.zeros(1, MEL, offset + count)
        table[0, :, offset:] = torch.stack([noise(first + i) for i in range(count)]).T
        self.flow.decoder.rand_noise = table

    def whole(self, codes, voice, noise):
        self.fill(noise, 0, voice.frames + 2 * len(codes), 0)
        size = lambda x: torch.tensor([x], dtype=torch.int32)
        return self.flow.inference(torch.tensor([codes], dtype=torch.int32), size(len(codes)), voice.tokens,
                                   size(voice.tokens.shape[1]), voice.mel, size(voice.frames), voice.speaker, STEPS)

    def stream(self, codes, voice, noise):
        """Returns the mel of Token2wav.set_stream_cache() and stream(), called as in the authors' examples."""
        self.fill(noise, 0, voice.frames, 0)
        cache = self.flow.setup_cache(torch.cat([voice.tokens, voice.tokens[:, :3]], dim=1), voice.mel, voice.speaker,
                                      n_timesteps=STEPS)
        cache = {key: value.clone() for key, value in cache.items()}
        out, at, frame = [], 0, voice.frames
        while at < len(codes):
            last = len(codes) - at < 25 + 3
            some = codes[at:] if last else codes[at:at + 28]
            made = 2 * (len(some) if last else 25)
            self.fill(noise, frame, made, cache["estimator_att_cache"].shape[4])
            mel, cache = self.flow.inference_chunk(torch.tensor([some], dtype=torch.int32), voice.speaker, cache,
                                                   last_chunk=last, n_timesteps=STEPS)
            kept = cache["estimator_att_cache"]
            if kept.shape[4] > voice.frames + 100:
                kept = torch.cat([kept[:, :, :, :, :voice.frames], kept[:, :, :, :, -100:]], dim=4)
            cache = {key: value.clone() for key, value in (cache | {"estimator_att_cache": kept}).items()}
            assert mel.shape[2] == made
            out.append(mel)
            at, frame = at + 25, frame + made
            if last:
                break
        return torch.cat(out, dim=2)

    def speak(self, mel):
        """Runs the vocoder over a stream's whole mel, with the noise that Syrinx draws for the request's seed."""
        normals = np.concatenate([philox_normal(SEED, t, 0x53330002, 480) for t in range(mel.shape[2])]).astype(np.float64)
        weight = self.hift.m_source.l_linear.weight[0].detach()
        noise = (torch.from_numpy(normals)[:, None] * weight / weight.norm())[None]
        saved = torch.randn_like
        torch.randn_like = lambda x: noise if x.shape == noise.shape else torch.zeros_like(x)
        samples, _ = self.hift(speech_feat=mel.double())
        torch.randn_like = saved
        return samples[0].float()


# ------------------------------------------------------------------------------------------------- all

def write_checkpoint(root, ears, lm, flow, hift, vocab, ends):
    weights = Weights(23)
    weights.over(lm, keep=("embed_tokens", "lm_head"))
    weights.over({"model.embed_tokens.weight": lm.model.embed_tokens.weight, "lm_head.weight": lm.lm_head.weight})
    for name, part in (("encoder.", ears.encoder), ("adapter.", ears.adapter)):
        weights.over(part, prefix=name)
    with torch.no_grad():
        lm.lm_head.weight[vocab - 7 - CODES - 1:vocab - 7] *= 1.5  # so that answers have more speech than text
        lm.lm_head.weight[ends] = 0  # so that no answer ends by itself
    state = lm.state_dict() | {f"encoder.{k}": v for k, v in ears.encoder.state_dict().items()} | {
        f"adapter.{k}": v for k, v in ears.adapter.state_dict().items()}
    save_file({k: v.contiguous() for k, v in state.items()}, str(root / "model.safetensors"))
    (root / "config.json").write_text(json.dumps(dict(
        architectures=["StepAudio2ForCausalLM"], model_type="step_audio_2", torch_dtype="bfloat16", audio_encoder_config=HEARING,
        text_config=dict(architectures=["Qwen2ForCausalLM"], vocab_size=vocab, max_position_embeddings=4096, rms_norm_eps=1e-6,
                         rope_theta=1000000.0, rope_scaling=None, num_attention_groups=LM["num_key_value_heads"],
                         hidden_act="silu", torch_dtype="bfloat16", **LM)), indent=1) + "\n")
    decoder = root / "token2wav"
    decoder.mkdir()
    (decoder / "flow.yaml").write_text(YAML.format(width=WIDTH, codes=CODES))
    weights.over(flow, prefix="flow.")
    weights.over(hift, prefix="hift.")
    with torch.no_grad():
        flow.decoder.estimator.final_layer.linear.weight.mul_(0.15)
        flow.decoder.estimator.final_layer.linear.bias.mul_(0.15)
        hift.m_source.l_linear.weight.mul_(6)
        hift.f0_predictor.condnet[8].parametrizations.weight.original0.fill_(2.0)
        # The voice's pitch hardly changes. Otherwise its float32 errors would add up in the phases.
        hift.f0_predictor.classifier.bias.fill_(90.0)
    for model, name in ((flow, "flow.pt"), (hift, "hift.pt")):
        # All tensors are views of one storage, because a file for each small tensor would take half of the archive.
        state = {k: v for k, v in model.state_dict().items()}
        parts = torch.cat([v.flatten() for v in state.values()]).split([v.numel() for v in state.values()])
        torch.save({k: part.view(v.shape) for (k, v), part in zip(state.items(), parts)}, decoder / name)
    for file in (root / "model.safetensors", decoder / "flow.pt", decoder / "hift.pt"):
        weights.hollow(file)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--step")
    parser.add_argument("--vox")
    parser.add_argument("--out", default=str(here / "golden"))
    parser.add_argument("--prompts", action="store_true", help="only prompts.json, of the tokenizer that is there")
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    if args.prompts:
        from transformers import Qwen2TokenizerFast
        tokenizer = Qwen2TokenizerFast.from_pretrained(str(out / "checkpoint"))
        (out / "prompts.json").write_text(prompts(lambda text: tokenizer(text)["input_ids"]))
        return
    from transformers.audio_utils import mel_filter_bank

    def mel(sr, n_fft, n_mels, fmin=0, fmax=None):
        return mel_filter_bank(1 + n_fft // 2, n_mels, fmin, fmax or sr / 2, sr, norm="slaney", mel_scale="slaney").T.astype(
            np.float32)
    stub("librosa", filters=stub("librosa.filters", mel=mel))
    stub("onnxruntime")
    sys.path.insert(0, args.step)
    torch.set_num_threads(1)
    shutil.rmtree(out, ignore_errors=True)
    root = out / "checkpoint"
    root.mkdir(parents=True)
    random = torch.Generator().manual_seed(8)
    tokenizer, added = make_tokenizer(root)
    audio_0 = added["<audio_0>"]
    known = audio_0 + CODES + 1
    ears, lm = Ears(args, random), make_lm(random, known + 7)
    flow, hift = make_flow(), make_hift().eval()
    randomise(flow, random)
    randomise(hift, random)
    write_checkpoint(root, ears, lm, flow, hift, known + 7,
                     [added[text] for text in ("<|EOT|>", "<|im_end|>", "<|endoftext|>")])
    speech = Decoder(flow, hift.double())

    golden = {}
    for length in LENGTHS:
        rows = torch.cat(ears.rows(signal(length, length)))
        golden[f"count_{length}"] = torch.tensor([len(rows)], dtype=torch.int32)
        golden[f"rows_{length}"] = rows[::16 if length > 100000 else 1].contiguous()
        print("rows", length, tuple(rows.shape), rows.std().item() if len(rows) > 1 else None)
    save_file(golden, str(out / "hearing.safetensors"))

    encode = lambda text: tokenizer(text)["input_ids"]
    golden = {name: torch.tensor(encode(text), dtype=torch.int32) for name, text in dict(
        plain="Hello there, how are you? aaaaaaaa   12345 it's\n\n 你好，今天 naïve",
        special="<|BOT|>human\nThis <audio_7><tts_pad><tts_end> is<|EOT|>").items()}
    save_file(golden, str(out / "ids.safetensors"))

    golden = {}
    codes = torch.randint(CODES, (139,), generator=random).tolist()
    golden["codes"] = torch.tensor(codes, dtype=torch.int32)
    for prompt in (9, 60):
        voice = Voice(prompt)
        for tokens in (1, 33):
            made = speech.whole(codes[:tokens], voice, plain_noise)[0].T
            golden[f"whole_{prompt}_{tokens}"] = made[::3].contiguous()
            print("whole", prompt, tokens, tuple(made.shape), made.std().item())
        for tokens in (3, 27, 28, 139):
            made = speech.stream(codes[:tokens], voice, plain_noise)[0].T
            golden[f"stream_{prompt}_{tokens}"] = made[::11].contiguous()
            print("stream", prompt, tokens, tuple(made.shape), made.std().item())
    golden["sound"] = speech.speak(speech.whole(codes[:1], Voice(9), plain_noise))
    save_file(golden, str(out / "decoder.safetensors"))

    first, second = (ears.rows(signal(n, s)) for n, s in ((20000, 7), (405000, 8)))
    turn = lambda role, text: encode(f"<|BOT|>{role}\n{text}<|EOT|>")
    system, spoken, written = turn("system", SYSTEM), encode("<|BOT|>assistant\n<tts_start>"), encode("<|BOT|>assistant\n")

    def heard(pieces, text=""):
        ids = encode("<|BOT|>human\n")
        if text:
            ids += encode(text)
        for piece in pieces:
            ids += encode("<audio_start>" + "<audio_patch>" * len(piece) + "<audio_end>")
        return ids + encode("<|EOT|>")
    part = dict(type="audio", audio="")
    cases = dict(
        heard=dict(messages=[dict(role="user", content=[part])], recordings=[20000], steps=220, speaks=True,
                   ids=system + heard(first) + spoken, rows=first),
        text=dict(messages=[dict(role="system", content="Be brief."), dict(role="user", content="Hello there?")], recordings=[],
                  steps=60, speaks=True, ids=turn("system", "Be brief.") + turn("human", "Hello there?") + spoken, rows=[]),
        turns=dict(messages=[dict(role="user", content=[dict(type="text", text="Listen: "), part]),
                             dict(role="assistant", content="It's"), dict(role="user", content=[part])],
                   recordings=[20000, 405000], steps=40, speaks=False, rows=first + second,
                   ids=system + heard(first, "Listen: ") + turn("assistant", "It's") + heard(second) + written))
    voice = Voice(20)
    for name, case in cases.items():
        prompt, rows = case.pop("ids"), case.pop("rows")
        places = [i for i, id in enumerate(prompt) if id == added["<audio_patch>"]]
        allowed = known if case["speaks"] else audio_0
        ids, logits, margin = generate(lm, prompt, torch.cat(rows) if rows else None, places, case["steps"], allowed)
        said = [i - audio_0 for i in ids if audio_0 <= i < audio_0 + CODES]
        text = tokenizer.decode([i for i in ids if i < added["<|endoftext|>"]])
        golden = dict(ids=torch.tensor(prompt + ids, dtype=torch.int32), logits=logits)
        ends = [i for i in ids if i in (added["<|EOT|>"], added["<|im_end|>"], added["<|endoftext|>"])]
        assert not ends, "another seed"
        case |= dict(text=text, codes=len(said), prompt=len(prompt))
        if name == "heard":
            sound = speech.speak(speech.stream(said, voice, request_noise(voice)))
            print("rms", sound.square().mean().sqrt().item(), "peak", sound.abs().max().item())
            case["samples"] = len(sound)
            golden |= dict(head=sound[:2048].clone(), tail=sound[-2048:].clone())
        print(name, len(prompt), "spoken", len(said), "distinct", len(set(ids)), "margin", margin, repr(text[:60]))
        save_file(golden, str(out / f"{name}.safetensors"))
    (out / "prompts.json").write_text(prompts(encode))
    (out / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
