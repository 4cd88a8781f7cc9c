#!/usr/bin/env python3
"""Writes a small Fish Speech S2 checkpoint, and the results of the authors' code with it.

    git clone https://github.com/fishaudio/fish-speech    (made with 3dd1f85)
    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==4.57.3 safetensors numpy einops loguru loralib tqdm click
    VENV/bin/pip install --no-deps descript-audio-codec==1.0.0
    VENV/bin/python make_golden.py --source fish-speech [--out DIR]

Everything is float32 on the CPU, one thread; the authors' tables of angles are bf16 in any case. Names and layout are the
published ones (fishaudio/s2-pro: config.json, tokenizer.json, model.safetensors, codec.pth); only sizes and ids are smaller.
Two runs on one machine give the same bytes; each case stores its smallest margin between the two best logits, which must be far
above float noise.
"""
import argparse
import json
import pathlib
import re
import sys
import types

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["convert the provided text to speech reference to the following:\n\nText:\n", "system user assistant\n",
          "\n\nSpeech:\n", "hello there, how are you? [whisper] the quick brown fox", "[laughing] die Straße"]
CODES, RESIDUAL, BOOKS = 48, 24, 10
SEED = 45
SPECIAL = ["<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>", "<|phoneme_start|>", "<|phoneme_end|>", "<|text|>",
           "<|voice|>", "<|interleave|>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>",
           "<|speaker:0|>", "<|speaker:1|>"] + [f"<|semantic:{i}|>" for i in range(CODES)]


class Stub(types.ModuleType):
    """A module in which every name exists."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (torch.nn.Module,), {"get_delay": lambda self: 0})


def stub_dac():
    """Replaces the dependencies of descript-audio-codec, from which the authors' codec needs only the layers."""
    for name in ["audiotools", "audiotools.ml", "audiotools.ml.layers", "audiotools.core", "dac", "dac.model",
                 "dac.model.base"]:
        sys.modules[name] = Stub(name)
    sys.modules["dac"].__path__ = [str(pathlib.Path(torch.__file__).parent.parent / "dac")]


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
        {"pad_token": "<|pad|>", "eos_token": "<|im_end|>", "tokenizer_class": "PreTrainedTokenizerFast"}, indent=1) + "\n")
    return {s: tok.token_to_id(s) for s in SPECIAL}, tok.get_vocab_size()


def model_config(ids, vocab):
    common = dict(head_dim=16, dim=32, rope_base=1000000, norm_eps=1e-6, attention_qkv_bias=False, attention_o_bias=False)
    return dict(
        model_type="fish_qwen3_omni", dtype="bfloat16", eos_token_id=ids["<|im_end|>"], pad_token_id=ids["<|pad|>"],
        audio_pad_token_id=ids["<|audio_pad|>"], semantic_start_token_id=ids["<|semantic:0|>"],
        semantic_end_token_id=ids[f"<|semantic:{CODES - 1}|>"],
        text_config=dict(common, model_type="fish_qwen3", vocab_size=vocab, n_layer=2, n_head=4, n_local_heads=2,
                         intermediate_size=40, max_seq_len=4096, tie_word_embeddings=True, attention_qk_norm=True),
        audio_decoder_config=dict(common, model_type="fish_qwen3_audio_decoder", vocab_size=CODES, num_codebooks=BOOKS,
                                  n_layer=2, n_head=4, n_local_heads=1, intermediate_size=40, max_seq_len=BOOKS + 1,
                                  text_dim=32, tie_word_embeddings=False, attention_qk_norm=False))


def published_name(name):
    if name.startswith("fast_"):
        return "audio_decoder." + name[5:]
    return ("audio_decoder." if name.startswith("codebook_embeddings") else "text_model.model.") + name


def lm_weights(args, seed, end):
    """Returns random tensors of the authors' own model, under their published names."""
    model = llama.DualARTransformer(args)
    gen = torch.Generator().manual_seed(seed)
    state = {}
    for name, p in sorted(model.named_parameters()):
        if "norm" in name:
            value = 1.0 + 0.2 * torch.randn(p.shape, generator=gen)
        elif "embeddings" in name:
            value = (1.0 if name == "embeddings.weight" else 0.6) * torch.randn(p.shape, generator=gen)
        else:
            value = 1.3 / np.sqrt(p.shape[1]) * torch.randn(p.shape, generator=gen)
        if name == "embeddings.weight":
            value[end] *= 0.8  # otherwise hardly any answer would be long
        state[published_name(name)] = value.to(torch.bfloat16)
    return state


def codec_model():
    """Returns the authors' codec in small. The encoder's transformers, as configured in their yaml, need widths of 64."""
    from fish_speech.models.dac import modded_dac, rvq

    def general(n_layer, n_head, dim, intermediate_size):
        return modded_dac.ModelArgs(block_size=64, n_layer=n_layer, n_head=max(n_head, 1), dim=dim, head_dim=min(64, dim),
                                    intermediate_size=24, rope_base=10000, norm_eps=1e-5)

    # Every transformer makes a mask of 32768 x 32768, which no test uses.
    ones = torch.ones
    torch.ones = lambda *size, **kwargs: ones(*(1, 1) if size[0] == 32768 else size, **kwargs)

    def transformer(layers):
        return modded_dac.WindowLimitedTransformer(
            causal=True, window_size=128, input_dim=16,
            config=modded_dac.ModelArgs(block_size=64, n_layer=layers, n_head=1, dim=16, intermediate_size=24, head_dim=16,
                                        rope_base=10000, norm_eps=1e-5))

    quantizer = rvq.DownsampleResidualVectorQuantize(
        input_dim=16, n_codebooks=BOOKS - 1, codebook_size=RESIDUAL, codebook_dim=4, quantizer_dropout=0.5,
        downsample_factor=[2, 2], pre_module=transformer(1), post_module=transformer(1), semantic_codebook_size=CODES)
    codec = modded_dac.DAC(encoder_dim=1, encoder_rates=[2, 2, 2, 4], decoder_dim=16, decoder_rates=[4, 2, 2, 2],
                          sample_rate=44100, encoder_transformer_layers=[0, 0, 0, 1],
                          decoder_transformer_layers=[0, 0, 0, 0], transformer_general_config=general, quantizer=quantizer)
    torch.ones = ones
    return codec


def randomise_codec(codec, seed):
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(codec.named_parameters()):
            noise = torch.randn(p.shape, generator=gen)
            if name.endswith("alpha"):
                p.copy_(0.6 + 0.4 * noise.abs())
            elif name.endswith("original0") or name.endswith("weight_g"):
                p.copy_(1.0 + 0.2 * noise)
            elif name.endswith("gamma"):
                p.copy_(0.3 + 0.1 * noise)
            elif "norm" in name and name.endswith("weight"):
                p.copy_(1.0 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.1 * noise)
            elif "codebook" in name:
                p.copy_(noise)
            else:
                p.copy_(noise / np.sqrt(max(1, p[0].numel())))
    return codec.eval()


def level_codec(codec):
    """Scales the codec so that tanh is not saturated."""
    gen = torch.Generator().manual_seed(1)
    tail = codec.decoder.model[len(codec.decoder.model) - 2].conv
    with torch.no_grad():
        seen = []
        hook = tail.register_forward_hook(lambda _m, _i, out: seen.append(out))
        codec.from_indices(random_codes(gen, 40)[None].clone())
        hook.remove()
        tail.parametrizations.weight.original0 *= 0.4 / seen[0].std()


def random_codes(gen, frames):
    first = torch.randint(0, CODES, (1, frames), generator=gen)
    rest = torch.randint(0, RESIDUAL, (BOOKS - 1, frames), generator=gen)
    return torch.cat([first, rest])


def codec_golden(codec, folder):
    gen = torch.Generator().manual_seed(5)
    codes = random_codes(gen, 200)
    codes[3, 7] = CODES - 1  # codes beyond the codebook, which the authors clamp
    out = {"codes": codes.t().int()}
    with torch.no_grad():
        for n in [1, 2, 3, 9, 200]:
            samples = codec.from_indices(codes[None, :, :n].clone())[0, 0]
            out[f"tail_{n}"] = samples[-7 * 128:]
    samples = speech(21000)
    margins = []
    for n in [1, 127, 128, 129, 1000, 20000]:
        codes, margin = encode(codec, samples[:n])
        out[f"encoded_{n}"] = codes
        margins.append(margin)
    print("codec: margins", margins)
    save_file({k: v.contiguous().clone() for k, v in out.items()}, folder / "codec.safetensors")


def speech(count):
    """Returns the beginning of ../mimi/speech.wav, with noise in its pauses."""
    import wave
    with wave.open(str(HERE.parent / "mimi" / "speech.wav")) as file:
        pcm = np.frombuffer(file.readframes(count), np.int16)
    return torch.from_numpy(pcm.astype(np.float32) / 32768)


def encode(codec, samples):
    """Returns codes [T, C] of a recording and the smallest margin between the two nearest entries."""
    margins = []

    def watch(module, inputs, _out):
        z = torch.nn.functional.normalize(module.in_proj(inputs[0])[0].t())
        book = torch.nn.functional.normalize(module.codebook.weight)
        best = (z @ book.t()).topk(2, dim=-1).values
        margins.append(float((best[:, 0] - best[:, 1]).min()))
    quantizers = list(codec.quantizer.semantic_quantizer.quantizers) + list(codec.quantizer.quantizer.quantizers)
    hooks = [q.register_forward_hook(watch) for q in quantizers]
    with torch.no_grad():
        codes, lengths = codec.encode(samples[None, None], torch.tensor([len(samples)]))
    for hook in hooks:
        hook.remove()
    return codes[0, :, : lengths[0]].t().int(), min(margins)


class Recorder:
    """Records the outputs of the networks during generate_long()."""

    def __init__(self, model):
        self.model, self.prompts, self.prefill, self.slow, self.fast = model, [], [], [], []
        self.forward = model.forward_generate
        self.fast_forward = model.forward_generate_fast
        self.hooks = [model.layers[0].register_forward_pre_hook(self._layer)]
        model.forward_generate = self._slow
        model.forward_generate_fast = self._fast

    def _layer(self, _module, args):
        if args[0].shape[1] > 1:
            self.prefill.append(args[0][0].clone())

    def _slow(self, x, *args, **kwargs):
        if x.shape[2] > 1:
            self.prompts.append(x[0].clone())
            self.slow.append([])
            self.fast.append([])
        result = self.forward(x, *args, **kwargs)
        self.slow[-1].append(result.logits[0, -1].clone())
        self.fast[-1].append([])
        return result

    def _fast(self, x, input_pos):
        out = self.fast_forward(x, input_pos)
        if int(input_pos) > 0:
            self.fast[-1][-1].append(out[0, -1].clone())
        return out

    def close(self):
        for hook in self.hooks:
            hook.remove()
        del self.model.forward_generate, self.model.forward_generate_fast


def lead(logits):
    best = logits.topk(2, dim=-1).values
    return float((best[..., 0] - best[..., 1]).min())


def run_case(model, case, codec):
    """Runs a case greedily: with top-k 1, both draws of the authors' sampler are the largest logit."""
    gen = torch.Generator().manual_seed(len(case["name"]))
    texts, codes = [], []
    for turn in case["references"]:
        texts.append(turn["text"])
        codes.append(random_codes(gen, turn["frames"]))
    record = Recorder(model)
    responses = list(inference.generate_long(
        model=model, device="cpu", decode_one_token=inference.decode_one_token_ar, text=case["text"], top_k=1,
        max_new_tokens=case["max_new_tokens"], chunk_length=300,
        prompt_text=texts or None, prompt_tokens=codes or None))
    record.close()
    frames = [r.codes for r in responses if r.action == "sample"]
    begin, end = model.config.semantic_begin_id, model.tokenizer.get_token_id("<|im_end|>")
    result = {}
    case["segments"], margins = [], []
    for i, (prompt, slow, fast) in enumerate(zip(record.prompts, record.slow, record.fast)):
        allowed = torch.cat([torch.stack(slow)[:, begin:begin + CODES], torch.stack(slow)[:, end:end + 1]], dim=1)
        inner = torch.stack([torch.stack(step) for step in fast])
        ended = int(torch.argmax(allowed[-1])) == CODES
        kept = min(len(slow), case["keep"][i] if i < len(case["keep"]) else 4)
        case["segments"].append(dict(steps=len(slow), ended=ended))
        margins.append(lead(allowed))
        margins.append(lead(inner[: len(slow) - ended]))
        every = torch.tensor([[int(torch.argmax(a))] + [int(torch.argmax(c)) for c in step]
                              for a, step in zip(allowed, inner)])
        assert (frames[i].t() == every[: len(slow) - 1]).all()
        result[f"prompt_ids_{i}"] = prompt[0].int()
        result[f"frames_{i}"] = every.int()
        result[f"logits_{i}"] = allowed[:kept]
        result[f"inner_logits_{i}"] = inner[: 2 if kept > 20 else 1].flatten(1)
        if i == 0:
            rows = record.prefill[0]
            result["prefill"] = rows[-24:] if len(rows) > 60 else rows
    case["margin"] = min(margins)
    for i, c in enumerate(codes):
        result[f"reference_{i}"] = c.t().int()
    if case.get("keep_samples"):
        with torch.no_grad():
            kept = result["frames_0"][: case["keep_samples"]].t().long()
            result["samples"] = codec.from_indices(kept[None].clone())[0, 0]
    return {k: v.contiguous().clone() for k, v in result.items()}


def sampling_golden(folder):
    """Writes the probabilities of the authors' sampler."""
    gen = torch.Generator().manual_seed(3)
    settings = torch.tensor([[1.0, 0.9, 30], [0.7, 0.8, 30], [1.6, 0.95, 4], [1.0, 0.05, 30], [0.5, 0.6, 40]])
    logits = 2.5 * torch.randn(len(settings), CODES + 1, generator=gen)
    probs = [inference.logits_to_probs(l, s[0], s[1], int(s[2])) for l, s in zip(logits, settings)]
    save_file({"logits": logits, "settings": settings, "chances": torch.stack(probs)}, folder / "sampling.safetensors")


FOX = "The quick brown fox jumps over the lazy dog, doesn't it? [laughing] 12345 times!"
MIXED = "Hello there… die Straße ist naß;  café – 你好，世界!\n\nNew <|phoneme_start|>HH AH<|phoneme_end|> line "
LONG = "a turn that is long enough, with the others, for a message of its own: " * 4
CASES = [
    dict(name="fox", text=FOX, references=[], max_new_tokens=230, keep=[70], keep_samples=8),
    dict(name="mixed", text=MIXED, references=[], max_new_tokens=24, keep=[20]),
    dict(name="clone", text="<|speaker:0|> and other things", references=[dict(text="hello there, how are you?", frames=21)],
         max_new_tokens=60, keep=[22]),
    dict(name="talk", text="<|speaker:1|>hello <|speaker:0|> how are you?<|speaker:2|>" + LONG + "<|speaker:0|>fine",
         references=[dict(text="the quick brown fox", frames=9), dict(text="<|speaker:1|>hello\n<|speaker:2|>there", frames=5)],
         max_new_tokens=30, keep=[13, 8, 8]),
]


def main():
    global llama, inference
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True, help="a checkout of fish-speech")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    torch.set_num_threads(1)
    sys.path.insert(0, str(args.source))
    stub_dac()
    from fish_speech import conversation
    from fish_speech.models.text2semantic import inference, llama
    conversation.Conversation.visualize = lambda *_args, **_kwargs: None
    folder = args.out / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    ids, vocab = write_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps(model_config(ids, vocab), indent=1) + "\n")
    save_file(lm_weights(llama.BaseModelArgs.from_pretrained(str(folder)), SEED, ids["<|im_end|>"]),
              folder / "model.safetensors",
              metadata={"format": "pt"})
    codec = randomise_codec(codec_model(), 42)
    level_codec(codec)
    state = {k: v.to(torch.bfloat16) for k, v in codec.state_dict().items()}
    codec.load_state_dict({k: v.float() for k, v in state.items()})
    state["quantizer.post_module.freqs_cis"] = torch.zeros(8, 16, 2, dtype=torch.bfloat16)  # differs from the angles
    state["quantizer.post_module.causal_mask"] = torch.ones(8, 8, dtype=torch.bool)
    torch.save(state, folder / "codec.pth")
    codec_golden(codec, args.out)
    sampling_golden(args.out)

    model = llama.BaseTransformer.from_pretrained(str(folder), load_weights=True).float().eval()
    for case in CASES:
        result = run_case(model, case, codec)
        save_file(result, args.out / f"{case['name']}.safetensors")
        print(case["name"], case["segments"], "margin", case["margin"])
    (args.out / "cases.json").write_text(json.dumps(CASES, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
