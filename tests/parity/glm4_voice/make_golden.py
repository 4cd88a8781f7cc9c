#!/usr/bin/env python3
"""Writes a small random GLM-4-Voice in the published layouts and what its authors' code computes from it.

    git clone https://github.com/THUDM/GLM-4-Voice && git clone https://github.com/shivammehta25/Matcha-TTS
    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==4.57.3 diffusers==0.29.0 einops conformer omegaconf safetensors \
        numpy scipy pillow tiktoken regex
    VENV/bin/python make_golden.py --glm GLM-4-Voice --matcha Matcha-TTS

Speech tokenizer, flow and vocoder are the authors' classes; the language model is transformers' GlmForCausalLM, which computes
the same from the weights under other names; text is encoded by tiktoken with the authors' pattern. All in float32 on the CPU
(the vocoder in float64), eager attention, one thread. Recordings are not stored: `signal` generates them from integers, and
the tests do the same. README.md lists the contents of each file.
"""
import argparse
import base64
import json
import pathlib
import shutil
import sys
import types

import numpy as np
import regex
import tiktoken
import torch
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from philox import philox, philox_normal  # noqa: E402

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")
CORPUS = ("User will provide you with a speech instruction. Do it step by step. First, think about the instruction and "
          "respond in a interleaved manner, with 13 text token followed by 26 audio tokens. streaming_transcription\n "
          "User will provide you with a text instruction. Hello there, how are you? 你好，今天天气很好。 aaaaaaa   1234567 "
          "It's what we'll do, they're here.\n\n")
RANKS = 330
SPECIALS = ["<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>",
            "<|observation|>", "<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>",
            "<|begin_of_audio|>", "<|end_of_audio|>", "<|begin_of_transcription|>", "<|end_of_transcription|>"]
CODES, AUDIO_0, VOCAB = 64, 352, 424
SPEECH = ("User will provide you with a speech instruction. Do it step by step. First, think about the instruction and "
          "respond in a interleaved manner, with 13 text token followed by 26 audio tokens. ")
TEXT = ("User will provide you with a text instruction. Do it step by step. First, think about the instruction and "
        "respond in a interleaved manner, with 13 text token followed by 26 audio tokens.")
LM = dict(hidden_size=24, layers=2, heads=4, kv_heads=2, head_dim=16, ffn=40)
MEL, HOP = 16, 256
SEED = 7  # seed of the requests

# Samples at 16 kHz: one, odd counts, whole codes, blocks and segments with and without one more, several segments.
LENGTHS = [1, 401, 1280, 1281, 12800, 13121, 38400, 38401, 90003]


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
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[name] = module


def randomise(model, generator, scale=1.0):
    """Sets matrices and filters of length near `scale` and norms near one, so that signals neither vanish nor grow."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if name.endswith("weight_g"):
                value.copy_((0.3 if "conv_post" in name else 0.6) * (1 + 0.3 * noise))
            elif name.endswith("alpha"):
                value.copy_(0.5 + 1.5 * torch.rand(value.shape, generator=generator))
            elif name.endswith("weight_v"):
                value.copy_(noise)
            elif value.dim() == 1 and name.endswith("weight"):
                value.copy_(1 + 0.2 * noise)
            elif value.dim() == 1:
                value.copy_(0.1 * noise)
            elif "embed" in name or "codebook" in name or "pos_bias" in name:
                value.copy_(scale * noise)
            else:
                value.copy_(scale * noise / np.sqrt(value[0].numel()))
            value.copy_(value.bfloat16().float())


# ------------------------------------------------------------------------------------------------- text

def train_ranks():
    """Returns the bytes and the corpus's merges by count, ranked as by tiktoken's trainer."""
    ranks = {bytes([b]): b for b in range(256)}
    pieces = [[bytes([b]) for b in piece.encode()] for piece in regex.findall(PATTERN, CORPUS)]
    while len(ranks) < RANKS:
        counts = {}
        for piece in pieces:
            for pair in zip(piece, piece[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=lambda pair: (counts[pair], pair))
        ranks[best[0] + best[1]] = len(ranks)
        for piece in pieces:
            i = 0
            while i + 1 < len(piece):
                if (piece[i], piece[i + 1]) == best:
                    piece[i: i + 2] = [best[0] + best[1]]
                i += 1
    return ranks


class Text:
    def __init__(self, folder):
        self.ranks = train_ranks()
        self.specials = {text: RANKS + i for i, text in enumerate(SPECIALS)}
        self.specials |= {f"<|audio_{i}|>": AUDIO_0 + i for i in range(CODES)}
        self.coder = tiktoken.Encoding(name="glm", pat_str=PATTERN, mergeable_ranks=self.ranks,
                                       special_tokens=self.specials)
        lines = [f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in self.ranks.items()]
        (folder / "tokenizer.model").write_text("".join(lines))
        added = {str(id): dict(content=text, lstrip=False, normalized=False, rstrip=False, single_word=False, special=True)
                 for text, id in self.specials.items()}
        config = dict(added_tokens_decoder=added, tokenizer_class="ChatGLM4Tokenizer", padding_side="left",
                      eos_token="<|endoftext|>", pad_token="<|endoftext|>")
        (folder / "tokenizer_config.json").write_text(json.dumps(config, separators=(",", ":")) + "\n")

    def encode(self, text, prefix=True):
        ids = self.coder.encode(text, allowed_special="all")
        return [self.specials["[gMASK]"], self.specials["<sop>"]] * prefix + ids

    def plain(self, text):
        """Returns the ids of a client's text, without special tokens."""
        return self.coder.encode(text, disallowed_special=())


def prompts(text):
    """Returns prompts with earlier answers. As in the demo, each answer is decoded and appended to the question."""
    codes = lambda some: "".join(f"<|audio_{c}|>" for c in some)
    head = "<|assistant|>streaming_transcription\n"
    answer = "Hello there, how are you? It's" + codes(range(26)) + " what we'll do, they're here." + codes(range(30, 39))
    ids = text.encode(answer, False)
    assert text.coder.decode(ids) == answer
    asked = f"<|system|>\n{TEXT}<|user|>\nHello there?{head}"
    user, heard = dict(role="user", content="Hello there?"), dict(role="assistant", content=[dict(type="answer")])
    again = f"<|user|>\nHello there?{head}"
    cases = dict(
        heard=dict(messages=[user, heard, user, heard, user], answers=[dict(ids=ids), dict(ids=ids)],
                   ids=text.encode((asked + answer).strip() + again + answer + again)),
        cut=dict(messages=[user, heard, user], answers=[dict(ids=ids, heard_s=2.25)],
                 ids=text.encode(asked + answer[:answer.index("<|audio_32|>")] + again)))
    assert answer[:answer.index("<|audio_32|>")].count("<|audio_") == 28
    return json.dumps(cases, separators=(",", ":")) + "\n"


# ------------------------------------------------------------------------------------------------- speech to codes

def make_tokenizer(folder, generator):
    from speech_tokenizer.configuration_whisper import WhisperVQConfig
    from speech_tokenizer.modeling_whisper import WhisperVQEncoder
    from transformers import WhisperFeatureExtractor
    config = WhisperVQConfig(
        num_mel_bins=24, d_model=24, encoder_layers=4, encoder_attention_heads=3, encoder_ffn_dim=40, decoder_layers=4,
        max_source_positions=120, vocab_size=64, pooling_kernel_size=4, pooling_type="avg", pooling_position=2,
        quantize_vocab_size=CODES, quantize_position=2, quantize_ema_decay=0.99, quantize_encoder_only=True,
        quantize_causal_block_size=40, encoder_causal_convolution=True, skip_language_detection=True)
    config._attn_implementation = "eager"
    model = WhisperVQEncoder(config).eval()
    randomise(model, generator)
    # The codebook consists of outputs of the encoder, so that many different codes occur.
    folder.mkdir(parents=True)
    extractor = WhisperFeatureExtractor(feature_size=24)
    hidden = []
    model.layers[-1].register_forward_hook(lambda m, i, o: hidden.append(o[0][0].unflatten(0, (-1, 4)).mean(1)))
    speech_codes(model, extractor, signal(120 * 320 * 2, 99))
    rows = torch.cat(hidden)
    chosen = rows[torch.randperm(len(rows), generator=generator)[:CODES]]
    chosen = chosen + 0.3 * rows.std() * torch.randn(chosen.shape, generator=generator)
    with torch.no_grad():
        model.codebook.weight.zero_()
        model.codebook.weight[:len(chosen)] = chosen.bfloat16().float()
        model.codebook.weight[len(chosen):] = 50
        model.ema_weight.copy_(model.codebook.weight)
    weights = {k: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items()}
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config.to_diff_dict() | dict(
        architectures=["WhisperVQEncoder"], model_type="whisper", d_model=24, encoder_attention_heads=3,
        activation_function="gelu"), indent=0) + "\n")
    (folder / "preprocessor_config.json").write_text(json.dumps(extractor.to_dict() | dict(mel_filters=None)) + "\n")
    return model, extractor


@torch.no_grad()
def speech_codes(model, extractor, samples, segment=120 * 320, margins=None):
    """Runs the authors' extract_speech_token() on one recording, a segment at a time."""
    codes = []
    for at in range(0, len(samples), segment):
        features = extractor([samples[at: at + segment]], sampling_rate=16000, return_attention_mask=True,
                             return_tensors="pt", padding="longest", pad_to_multiple_of=1280)
        hidden = []
        hook = model.layers[-1].register_forward_hook(lambda m, i, o: hidden.append(o[0]))
        out = model(**features)
        hook.remove()
        mask = features.attention_mask[:, ::2][:, ::4]
        assert mask.shape == out.quantized_token_ids.shape and bool(mask.all())
        codes += out.quantized_token_ids[0].tolist()
        if margins is not None:
            means = hidden[0][0].unflatten(0, (-1, 4)).mean(1)
            best = torch.cdist(means, model.codebook.weight).pow(2).topk(2, largest=False).values
            margins.append(((best[:, 1] - best[:, 0]) / best[:, 0]).min().item())
    return codes


# ------------------------------------------------------------------------------------------------- language model

def make_lm(folder, ranks, generator):
    from transformers import GlmConfig, GlmForCausalLM
    config = GlmConfig(
        vocab_size=VOCAB, hidden_size=LM["hidden_size"], intermediate_size=LM["ffn"], num_hidden_layers=LM["layers"],
        num_attention_heads=LM["heads"], num_key_value_heads=LM["kv_heads"], head_dim=LM["head_dim"],
        partial_rotary_factor=0.5, attention_bias=True, rms_norm_eps=3.90625e-08, max_position_embeddings=8192,
        pad_token_id=RANKS, eos_token_id=[RANKS], tie_word_embeddings=False)
    config._attn_implementation = "eager"
    model = GlmForCausalLM(config).eval()
    randomise(model, generator)
    with torch.no_grad():
        for layer in model.model.layers:  # so that attention has an effect on the ids
            layer.self_attn.q_proj.weight.mul_(2)
            layer.self_attn.o_proj.weight.mul_(2)
        model.model.embed_tokens.weight.copy_(torch.randn(VOCAB, LM["hidden_size"], generator=generator).bfloat16().float())
        head = model.lm_head.weight
        head.mul_(3)
        head[RANKS:AUDIO_0] = 0  # no special tokens
        for token, rank in ranks.items():  # no tokens that contain a part of a character
            if token.decode(errors="replace").encode() != token or token < b" ":
                head[rank] = 0
        head[AUDIO_0 + CODES:] = 100  # ids without a token must never be drawn, even if they are likely
        for p in model.parameters():
            p.copy_(p.bfloat16().float())
    state = model.state_dict()
    out = {"transformer.embedding.word_embeddings.weight": state["model.embed_tokens.weight"],
           "transformer.encoder.final_layernorm.weight": state["model.norm.weight"],
           "transformer.output_layer.weight": state["lm_head.weight"],
           "transformer.rotary_pos_emb.inv_freq": 10000 ** -(torch.arange(0, 8, 2) / 8)}
    for i in range(LM["layers"]):
        ours, theirs = f"model.layers.{i}.", f"transformer.encoder.layers.{i}."
        for kind in ("weight", "bias"):
            out[theirs + "self_attention.query_key_value." + kind] = torch.cat(
                [state[ours + f"self_attn.{p}_proj.{kind}"] for p in "qkv"])
        out[theirs + "self_attention.dense.weight"] = state[ours + "self_attn.o_proj.weight"]
        out[theirs + "mlp.dense_h_to_4h.weight"] = state[ours + "mlp.gate_up_proj.weight"]
        out[theirs + "mlp.dense_4h_to_h.weight"] = state[ours + "mlp.down_proj.weight"]
        for norm in ("input_layernorm", "post_attention_layernorm"):
            out[theirs + norm + ".weight"] = state[ours + norm + ".weight"]
    save_file({k: v.bfloat16().contiguous() for k, v in out.items()}, str(folder / "model.safetensors"),
              metadata={"format": "pt"})
    stops = [SPECIALS.index(s) + RANKS for s in ("<|endoftext|>", "<|user|>", "<|observation|>")]
    # The published keys, with other sizes.
    (folder / "config.json").write_text(json.dumps(dict(
        _name_or_path="THUDM/glm-4-voice-9b", model_type="chatglm", architectures=["ChatGLMForConditionalGeneration"],
        add_bias_linear=False, add_qkv_bias=True, apply_query_key_layer_scaling=True,
        apply_residual_connection_post_layernorm=False, attention_dropout=0.0, attention_softmax_in_fp32=True,
        bias_dropout_fusion=True, eos_token_id=stops, ffn_hidden_size=LM["ffn"], fp32_residual_connection=False,
        hidden_dropout=0.0, hidden_size=LM["hidden_size"], kv_channels=LM["head_dim"], layernorm_epsilon=3.90625e-08,
        multi_query_attention=True, multi_query_group_num=LM["kv_heads"], num_attention_heads=LM["heads"],
        num_hidden_layers=LM["layers"], num_layers=LM["layers"], original_rope=True, pad_token_id=RANKS,
        padded_vocab_size=VOCAB, post_layer_norm=True, rmsnorm=True, rope_ratio=1, seq_length=8192,
        tie_word_embeddings=False, torch_dtype="bfloat16", use_cache=True, vocab_size=VOCAB), indent=1) + "\n")
    return model


@torch.no_grad()
def generate(model, prompt, steps, allowed):
    """Returns greedy ids, the logits of some steps, and the smallest margin."""
    from transformers import DynamicCache
    mask = torch.full((VOCAB,), -torch.inf)
    mask[:allowed] = 0
    cache, ids, kept, margin = DynamicCache(), [], [], np.inf
    feed = torch.tensor([prompt])
    for step in range(steps):
        logits = model(input_ids=feed, past_key_values=cache).logits[0, -1]
        if step in (0, 1, steps // 2, steps - 1):
            kept.append(logits.clone())
        best = (logits + mask).topk(2)
        margin = min(margin, (best.values[0] - best.values[1]).item())
        ids.append(best.indices[0].item())
        feed = best.indices[:1][None]
    return ids, torch.stack(kept), margin


# ------------------------------------------------------------------------------------------------- codes to speech

YAML = """# A small decoder of GLM-4-Voice: the keys of the published file that tell sizes.
__set_seed1: !apply:random.seed [1986]

# fixed params
sample_rate: 22050
text_encoder_input_size: {width}
spk_embed_dim: 24

flow: !new:cosyvoice.flow.flow.MaskedDiffWithXvec
    input_size: {width}
    output_size: {mel}
    spk_embed_dim: !ref <spk_embed_dim>
    output_type: 'mel'
    vocab_size: {codes}
    input_frame_rate: 12.5
    only_mask_loss: True
    encoder: !new:cosyvoice.transformer.encoder.BlockConformerEncoder
        output_size: {width}
        attention_heads: 2
        linear_units: 24
        num_blocks: 2
        dropout_rate: 0.1
        positional_dropout_rate: 0.1
        attention_dropout_rate: 0.1
        normalize_before: True
        input_layer: 'linear'
        pos_enc_layer_type: 'rel_pos_espnet'
        selfattention_layer_type: 'block_rel_selfattn'
        block_size: 10
        input_size: {width}
        use_cnn_module: False
        macaron_style: False
    length_regulator: !new:cosyvoice.flow.length_regulator.InterpolateRegulator
        channels: {mel}
        sampling_ratios: [1, 1, 1, 1]
    decoder: !new:cosyvoice.flow.flow_matching.ConditionalCFM
        in_channels: {three}
        n_spks: 1
        spk_emb_dim: {mel}
        cfm_params: !new:omegaconf.DictConfig
            content:
                sigma_min: 1e-06
                solver: 'euler'
                t_scheduler: 'cosine'
                training_cfg_rate: 0.2
                inference_cfg_rate: 0.7
                reg_loss_type: 'l1'
        estimator: !new:cosyvoice.flow.decoder.ConditionalDecoder
            in_channels: {four}
            out_channels: {mel}
            channels: [8, 8]
            dropout: 0
            attention_head_dim: 8
            n_blocks: 1
            num_mid_blocks: 1
            num_heads: 2
            act_fn: 'gelu'

hift: !new:cosyvoice.hifigan.generator.HiFTGenerator
    in_channels: {mel}
    base_channels: 8
    nb_harmonics: 8
    sampling_rate: !ref <sample_rate>
    nsf_alpha: 0.1
    nsf_sigma: 0.003
    nsf_voiced_threshold: 10
    upsample_rates: [8, 8]
    upsample_kernel_sizes: [16, 16]
    istft_params:
        n_fft: 16
        hop_len: 4
    resblock_kernel_sizes: [3, 7, 11]
    resblock_dilation_sizes: [[1, 3, 5], [1, 3, 5], [1, 3, 5]]
    source_resblock_kernel_sizes: [7, 11]
    source_resblock_dilation_sizes: [[1, 3, 5], [1, 3, 5]]
    lrelu_slope: 0.1
    audio_limit: 0.99
    f0_predictor: !new:cosyvoice.hifigan.f0_predictor.ConvRNNF0Predictor
        num_class: 1
        in_channels: {mel}
        cond_channels: 8
"""


def make_decoder(folder, generator):
    from cosyvoice.flow.decoder import ConditionalDecoder
    from cosyvoice.flow.flow import MaskedDiffWithXvec
    from cosyvoice.flow.flow_matching import ConditionalCFM
    from cosyvoice.flow.length_regulator import InterpolateRegulator
    from cosyvoice.hifigan import generator as hifigan
    from cosyvoice.hifigan.f0_predictor import ConvRNNF0Predictor
    from cosyvoice.transformer.encoder import BlockConformerEncoder
    from omegaconf import DictConfig
    width = 16
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(YAML.format(width=width, mel=MEL, codes=CODES, three=3 * MEL, four=4 * MEL))
    flow = MaskedDiffWithXvec(
        input_size=width, output_size=MEL, spk_embed_dim=24, vocab_size=CODES, input_frame_rate=12.5,
        encoder=BlockConformerEncoder(
            input_size=width, output_size=width, attention_heads=2, linear_units=24, num_blocks=2, input_layer="linear",
            pos_enc_layer_type="rel_pos_espnet", selfattention_layer_type="block_rel_selfattn", block_size=10,
            use_cnn_module=False, macaron_style=False),
        length_regulator=InterpolateRegulator(channels=MEL, sampling_ratios=[1, 1, 1, 1]),
        decoder=ConditionalCFM(
            in_channels=3 * MEL, n_spks=1, spk_emb_dim=MEL,
            cfm_params=DictConfig(dict(sigma_min=1e-6, solver="euler", t_scheduler="cosine", training_cfg_rate=0.2,
                                       inference_cfg_rate=0.7, reg_loss_type="l1")),
            estimator=ConditionalDecoder(in_channels=4 * MEL, out_channels=MEL, channels=[8, 8], dropout=0,
                                         attention_head_dim=8, n_blocks=1, num_mid_blocks=1, num_heads=2,
                                         act_fn="gelu"))).eval()
    hift = hifigan.HiFTGenerator(
        in_channels=MEL, base_channels=8, f0_predictor=ConvRNNF0Predictor(in_channels=MEL, cond_channels=8)).eval()
    randomise(flow, generator)
    randomise(hift, generator)
    with torch.no_grad():
        hift.m_source.l_linear.weight.mul_(6)
        hift.f0_predictor.condnet[8].weight_g.fill_(2.0)
        hift.f0_predictor.classifier.weight.mul_(300)
        hift.f0_predictor.classifier.bias.fill_(20.0)
        for p in hift.parameters():
            p.copy_(p.bfloat16().float())
    for model, name in ((flow, "flow.pt"), (hift, "hift.pt")):
        # All tensors are views of one storage, because a file for each small tensor would take half of the archive.
        state = model.state_dict()
        parts = torch.cat([v.flatten() for v in state.values()]).bfloat16().split([v.numel() for v in state.values()])
        torch.save({k: part.view(v.shape) for (k, v), part in zip(state.items(), parts)}, folder / name)
    return flow, hift.double(), hifigan


def make_mel(flow, token, prompt_token, prompt_feat):
    """Calls the flow as the authors' token2wav() does."""
    size = lambda x: torch.tensor([x.shape[1]], dtype=torch.int32)
    return flow.inference(token=token, token_len=size(token), prompt_token=prompt_token,
                          prompt_token_len=size(prompt_token), prompt_feat=prompt_feat, prompt_feat_len=size(prompt_feat),
                          embedding=torch.zeros(1, 24)).clone()


def stream_mel(flow, codes, fade):
    """Returns the blocks of the authors' web demo with token2wav()'s cross-fade. The vocoder's cached frame differs: the demo
    gives it to the flow a second time as part of the prompt, so each block loses a frame. The last frames are sent even if
    an answer ends with a block."""
    overlap = int(5 / 12.5 * 22050 / 256)
    window = np.hamming(2 * overlap)
    sizes = [25, 50, 100, 150, 200]
    told, held, at, block = torch.zeros(1, MEL, 0), None, 0, 0
    while at < len(codes):
        end = min(at + sizes[min(block, 4)], len(codes))
        mel = make_mel(flow, torch.tensor([codes[at:end]]), torch.tensor([codes[:at]], dtype=torch.int64),
                       told.transpose(1, 2))
        if held is not None:
            mel = fade(mel, held, window)
        if end < len(codes):
            held, mel = mel[:, :, -overlap:], mel[:, :, :-overlap]
        told = torch.cat([told, mel], dim=2)
        at, block = end, block + 1
    return told


def speak(hift, hifigan, mel):
    """Runs the vocoder over a stream's whole mel, with the noise and phases that Syrinx draws from the seed."""
    frames = mel.shape[2]
    normals = np.concatenate([philox_normal(SEED, t, 0x474C4D01, HOP) for t in range(frames)])
    weight = hift.m_source.l_linear.weight[0].detach()
    noise = (weight / weight.norm())[None, :, None] * torch.from_numpy(normals)[None, None]
    bits = [philox([np.array([n], np.uint64) for n in (0, k, 0x474C4D02, 0)], (SEED, 0))[0][0] for k in range(9)]
    phases = torch.tensor([2 * np.pi * (unit(b) - 0.5) for b in bits], dtype=torch.float64)
    saved = torch.randn_like, hifigan.Uniform.sample
    torch.randn_like = lambda x: noise if x.shape == noise.shape else torch.zeros_like(x)
    hifigan.Uniform.sample = lambda self, sample_shape: phases.clone().reshape(1, 9, 1)
    try:
        samples, _ = hift.inference(mel.double())
    finally:
        torch.randn_like, hifigan.Uniform.sample = saved
    return samples[0].float()


def unit(bits):
    return (int(bits) >> 8) * 2.0**-24


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--glm")
    parser.add_argument("--matcha")
    parser.add_argument("--out", default=str(here / "golden"))
    parser.add_argument("--prompts", action="store_true", help="only prompts.json")
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    if args.prompts:
        (out / "prompts.json").write_text(prompts(Text(out / "checkpoint")))
        return
    stub("matcha.utils.pylogger", get_pylogger=lambda name: None)
    stub("matcha.utils")
    sys.path[:0] = [args.glm, args.matcha]
    torch.set_num_threads(1)
    shutil.rmtree(out, ignore_errors=True)
    root = out / "checkpoint"
    root.mkdir(parents=True)
    random = torch.Generator().manual_seed(11)
    text = Text(root)
    lm = make_lm(root, text.ranks, random)
    hear, extractor = make_tokenizer(root / "glm-4-voice-tokenizer", random)
    flow, hift, hifigan = make_decoder(root / "glm-4-voice-decoder", random)
    from flow_inference import fade_in_out as fade

    golden, margins = {}, []
    for length in LENGTHS:
        codes = speech_codes(hear, extractor, signal(length, length), margins=margins)
        golden[f"codes_{length}"] = torch.tensor(codes, dtype=torch.int32)
    print("codes", {k: (len(v), len(set(v.tolist()))) for k, v in golden.items()}, "margin", min(margins))
    save_file(golden, str(out / "speech.safetensors"))

    golden = {}
    for name, sentence in dict(plain="Hello there, how are you? aaaaaaaa   12345 it's\n\n 你好，今天 naïve",
                               special="<|user|>\nThis <|audio_7|><|end_of_audio|>streaming_transcription\n").items():
        golden[name] = torch.tensor(text.encode(sentence, False), dtype=torch.int32)
        golden[name + ".plain"] = torch.tensor(text.plain(sentence), dtype=torch.int32)
    save_file(golden, str(out / "ids.safetensors"))

    golden = {}
    codes = torch.randint(CODES, (182,), generator=random).tolist()
    golden["codes"] = torch.tensor(codes, dtype=torch.int32)
    for tokens in (1, 10, 11):
        mel = make_mel(flow, torch.tensor([codes[:tokens]]), torch.zeros(1, 0, dtype=torch.int64),
                       torch.zeros(1, 0, MEL))[0].T.contiguous()
        golden[f"mel_{tokens}"] = mel
        if tokens == 1:
            golden["sound_1"] = speak(hift, hifigan, mel.T[None])
        print("mel", tokens, mel.shape, mel.std().item())
    for tokens in (25, 26, 76, 182):
        mel = stream_mel(flow, codes[:tokens], fade)[0].T
        golden[f"count_{tokens}"] = torch.tensor([len(mel)], dtype=torch.int32)
        golden[f"stream_{tokens}"] = mel[::7].contiguous()
        print("stream", tokens, mel.shape, mel.std().item())
    save_file(golden, str(out / "decoder.safetensors"))

    audio = lambda codes: "<|begin_of_audio|>" + "".join(f"<|audio_{c}|>" for c in codes) + "<|end_of_audio|>"
    head = "<|assistant|>streaming_transcription\n"
    first, second = (speech_codes(hear, extractor, signal(n, s)) for n, s in ((20000, 7), (41000, 8)))
    cases = dict(
        heard=dict(messages=[dict(role="user", content=[dict(type="audio", audio="")])], recordings=[20000], steps=220,
                   prompt=f"<|system|>\n{SPEECH}<|user|>\n{audio(first)}{head}"),
        text=dict(messages=[dict(role="user", content="Hello there?")], recordings=[], steps=60,
                  prompt=f"<|system|>\n{TEXT}<|user|>\nHello there?{head}"),
        turns=dict(messages=[dict(role="user", content=[dict(type="audio", audio="")]), dict(role="assistant", content="It's"),
                             dict(role="user", content=[dict(type="audio", audio="")])], recordings=[20000, 41000], steps=40,
                   prompt=f"<|system|>\n{SPEECH}<|user|>\n{audio(first)}{head}It's<|user|>\n{audio(second)}{head}"))
    for name, case in cases.items():
        prompt = text.encode(case["prompt"])
        ids, logits, margin = generate(lm, prompt, case["steps"], AUDIO_0 + CODES)
        spoken = [i - AUDIO_0 for i in ids if i >= AUDIO_0]
        written = [i for i in ids if i < RANKS]
        golden = dict(ids=torch.tensor(prompt + ids, dtype=torch.int32), logits=logits)
        case |= dict(text=text.coder.decode(written), codes=len(spoken))
        if name == "heard":
            sound = speak(hift, hifigan, stream_mel(flow, spoken, fade))
            print("rms", sound.square().mean().sqrt().item(), "peak", sound.abs().max().item())
            case["samples"] = len(sound)
            golden |= dict(head=sound[:2048].clone(), tail=sound[-2048:].clone())
        case["prompt"] = len(prompt)
        print(name, len(prompt), "spoken", len(spoken), "written", len(written), "distinct", len(set(ids)), "margin", margin,
              repr(case["text"][:60]))
        save_file(golden, str(out / f"{name}.safetensors"))
    (out / "prompts.json").write_text(prompts(text))
    (out / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
