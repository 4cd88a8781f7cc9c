#!/usr/bin/env python3
"""Writes two small VibeVoice-Realtime checkpoints, and the results of the authors' code with them.

    git clone https://github.com/microsoft/VibeVoice SOURCE && git -C SOURCE checkout e73d1e1
    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==4.57.3 diffusers==0.35.2 numpy scipy tqdm
    VENV/bin/python make_golden.py --source SOURCE [--out DIR]

The authors' generate() runs unchanged, float32 on the CPU, one thread; only its noise is that of src/kernels/sample.h
(../philox.py). Names and layout are the published ones: config.json, model.safetensors, preprocessor_config.json, the tokenizer of
Qwen2.5 and voices/NAME.pt, whose pickles name the classes that those of transformers 4.51 name. "plain" has the seven stages of the
published decoder; "other" other sizes everywhere, depths of its own and no encoder of recordings. Two runs give the same bytes,
except for the last bits of samples.
"""
import argparse
import json
import pathlib
import pickle
import sys
import types

import numpy as np
import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402
from philox import philox_normal  # noqa: E402

WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["the quick brown fox jumps over the lazy dog", "Hello there, how are you today?", "numbers 1 2 3 4 5 and other things",
          "We walked along the river and then, when it was dark, we went home.", "die Straße ist naß"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>"]

SHAPES = {
    "plain": dict(
        seed=3, rows=(7, 16), steps=5,
        decoder=dict(hidden_size=48, intermediate_size=80, num_hidden_layers=5, num_attention_heads=3, num_key_value_heads=1,
                     max_position_embeddings=1024, rope_theta=1000000.0),
        upper=3, head=dict(head_layers=2, head_ffn_ratio=2.0), latent=12,
        codec=dict(encoder_n_filters=2, encoder_ratios=[8, 5, 5, 4, 2, 2], encoder_depths="1-1-1-1-1-1-2", decoder_n_filters=2,
                   decoder_ratios=[8, 5, 5, 4, 2, 2])),
    "other": dict(
        seed=9, rows=(4, 9), steps=5,
        decoder=dict(hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2,
                     max_position_embeddings=900, rope_theta=10000.0),
        upper=2, head=dict(head_layers=3, head_ffn_ratio=1.5), latent=8,
        codec=dict(encoder_n_filters=2, encoder_ratios=[5, 4, 3, 2], encoder_depths="1-1-1-1-1", decoder_n_filters=3,
                   decoder_ratios=[5, 4, 3, 2], decoder_depths="2-1-3-1-1", layer_scale_init_value=0)),
}


def write_tokenizer(folder):
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(WORDS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(CORPUS * 20, trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    tok.add_special_tokens(SPECIAL)
    tok.save(str(folder / "tokenizer.json"))
    added = {str(tok.token_to_id(name)): dict(content=name, lstrip=False, normalized=False, rstrip=False, single_word=False,
                                              special=True) for name in SPECIAL}
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(
        add_prefix_space=False, added_tokens_decoder=added, bos_token=None, eos_token="<|endoftext|>", errors="replace",
        model_max_length=32768, pad_token="<|endoftext|>", tokenizer_class="Qwen2Tokenizer", unk_token=None), indent=1) + "\n")
    return tok.get_vocab_size()


def randomise(model, seed):
    """Scales random weights so that every part has an effect and steps do not enlarge a difference in their input."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(model.state_dict().items()):
            if name.endswith("factor"):
                continue
            noise = torch.randn(p.shape, generator=gen)
            if "norm" in name and name.endswith("weight"):
                p.copy_(1.0 + 0.2 * noise)
            elif "gamma" in name:
                p.copy_(0.4 + 0.1 * noise)
            elif name.endswith("bias"):
                p.copy_(0.1 * noise)
            elif name.endswith("embed_tokens.weight") or "tts_input_types" in name:
                p.copy_(noise * (1.0 if "embed" in name else 0.3))
            else:
                p.copy_(noise / np.sqrt(max(1, p[0].numel())))
            if "adaLN" in name or name.endswith(("final_layer.linear.weight", "acoustic_connector.fc2.weight")):
                p.mul_(0.5)
        model.model.speech_scaling_factor.fill_(0.1962890625)
        model.model.speech_bias_factor.fill_(-0.04931640625)


def transformers_classes():
    """Makes empty classes with the names that published voices contain, for the pickler."""
    def stub(module, name, base):
        kind = type(name, (base,), {"__module__": module})
        return kind
    cache = stub("transformers.cache_utils", "DynamicCache", object)
    output = stub("transformers.modeling_outputs", "BaseModelOutputWithPast", dict)

    def reduce(self):
        fields = {"last_hidden_state": self["last_hidden_state"], "past_key_values": self["past_key_values"]}
        return (output, (*fields.values(), None, None), dict(fields, hidden_states=None, attentions=None), None,
                iter(fields.items()))
    output.__reduce__ = reduce
    return cache, output


def save_voice(path, parts):
    """Saves a voice. parts: name -> (last hidden row [1, T, H], keys, values). Keys are transposed views of the linear layers'
    output, as published; they are stored in bf16."""
    cache_class, output_class = transformers_classes()
    real = {name: sys.modules[name] for name in ("transformers.cache_utils", "transformers.modeling_outputs")}
    for name, kind in zip(real, (cache_class, output_class)):
        sys.modules[name] = types.ModuleType(name)
        setattr(sys.modules[name], kind.__name__, kind)
    try:
        out = {}
        for name, (hidden, keys, values) in parts.items():
            cache = cache_class()
            flat = [[t.transpose(1, 2).contiguous().transpose(1, 2) for t in group] for group in (keys, values)]
            cache.__dict__.update(_seen_tokens=hidden.shape[1], key_cache=flat[0], value_cache=flat[1])
            out[name] = output_class(last_hidden_state=hidden, past_key_values=cache)
        torch.save(out, path, pickle_protocol=2)
    finally:
        sys.modules.update(real)


def make_voice(model, shape, gen, image_pad):
    """Makes a voice with the authors' code, which runs a prompt of text and one of text and speech."""
    from transformers.cache_utils import DynamicCache
    texts, rows = shape["rows"]
    hidden = model.config.decoder_config.hidden_size

    def run(forward, count, **inputs):
        out = forward(past_key_values=DynamicCache(), use_cache=True, return_dict=True, **inputs,
                      attention_mask=torch.ones(1, count, dtype=torch.long), cache_position=torch.arange(count))
        layers = out.past_key_values.layers
        short = lambda t: t.detach().to(torch.bfloat16)
        return out.last_hidden_state, (short(out.last_hidden_state), [short(l.keys) for l in layers],
                                       [short(l.values) for l in layers])

    parts = {}
    for name, ids in (("", torch.randint(0, 300, (1, texts), generator=gen)), ("neg_", torch.tensor([[image_pad]]))):
        count = ids.shape[1]
        text, parts[name + "lm"] = run(model.forward_lm, count, input_ids=ids)
        spoken = 0 if name else rows - texts
        speech = model.model.acoustic_connector(torch.randn(1, spoken, shape["latent"], generator=gen))
        mask = torch.cat([torch.ones(1, count), torch.zeros(1, spoken)], 1)
        _, parts[name + "tts_lm"] = run(
            model.forward_tts_lm, count + spoken, inputs_embeds=torch.zeros(1, count + spoken, hidden),
            lm_last_hidden_state=torch.cat([text, speech], 1), tts_text_masks=mask)
    return {name: parts[name] for name in ("lm", "tts_lm", "neg_lm", "neg_tts_lm")}


def load_voice(path):
    """Loads a voice like torch.load() in the authors' demo."""
    from transformers.modeling_outputs import BaseModelOutputWithPast
    loaded = torch.load(path, map_location="cpu", weights_only=False)
    assert all(isinstance(part, BaseModelOutputWithPast) for part in loaded.values())
    return loaded


class Noise:
    """Replaces torch.randn within generate(), and gives the step's noise in the row that counts."""

    def __init__(self, seed):
        self.seed, self.step = seed, 0

    def __call__(self, *shape, **_):
        assert len(shape) == 2 and shape[0] == 2, shape
        own = torch.from_numpy(philox_normal(self.seed, self.step, 0, shape[1]).copy())
        self.step += 1
        return torch.stack([own, torch.zeros_like(own)])


def run_case(model, processor, folder, case):
    """Runs a case through the authors' processor and generate(), and records the decisions."""
    voice = load_voice(folder / "voices" / f"{case['voice']}.pt")
    inputs = processor.process_input_with_cached_prompt(
        text=case["text"].replace("’", "'").replace("“", '"').replace("”", '"'), cached_prompt=voice, padding=True,
        return_tensors="pt", return_attention_mask=True)
    seen, events = [], []
    sample, randn = model.sample_speech_tokens, torch.randn
    hook = model.tts_eos_classifier.register_forward_hook(lambda _m, _i, out: events.append(float(out)))

    def marked(condition, neg_condition, cfg_scale):
        latent = sample(condition, neg_condition, cfg_scale=cfg_scale)
        events.append(None)
        seen.append((latent[0].clone(), condition[0].clone(), neg_condition[0].float().clone()))
        return latent

    model.sample_speech_tokens, torch.randn = marked, Noise(case["seed"])
    model.set_ddpm_inference_steps(num_steps=5)  # like the demos
    try:
        out = model.generate(**inputs, max_new_tokens=case.get("most"), cfg_scale=case.get("guidance", 1.5), tokenizer=processor.tokenizer,
                             generation_config={"do_sample": False}, verbose=False, show_progress_bar=False,
                             all_prefilled_outputs=voice)
    finally:
        model.sample_speech_tokens, torch.randn = sample, randn
        hook.remove()
    marks = [i for i, e in enumerate(events) if e is None]
    # The third call after a frame is for the frame's own row; the first two are for the runs of the rows.
    ends = [events[i + 3] if i + 3 < len(events) else None for i in marks]
    ends = ends[:-1] if ends[-1] is None else ends  # the answer ended at the length limit
    first = next((i for i, e in enumerate(ends) if e > 0), None)
    hop = int(np.prod(model.config.acoustic_tokenizer_config.decoder_ratios))
    frames = out.speech_outputs[0].shape[-1] // hop
    assert frames == (first + 1 if first is not None else len(seen)), (frames, first, len(seen))
    ends = ends[:frames]
    case["frames"], case["ended"] = frames, first is not None
    case["margin"] = round(min(abs(e) for e in ends), 5)
    keep = case.pop("keep", 0)
    result = {"ids": inputs["tts_text_ids"][0].to(torch.int32), "latents": torch.stack([s[0] for s in seen[:frames]]),
              "end": torch.tensor(ends)}
    if case.get("rows"):
        result["rows"] = torch.stack([s[1] for s in seen[:case["rows"]]])
        result["companion_rows"] = torch.stack([s[2] for s in seen[:case["rows"]]])
    if keep:
        result["samples"] = out.speech_outputs[0].reshape(-1)[:keep * hop]
    return {k: v.detach().contiguous().clone() for k, v in result.items()}


FOX = "the quick brown fox jumps over the lazy dog"
LONG = ("We walked along the river and then, when it was dark, we went home; the lights were on: all of them. Is it 3.5 or 4? Hello "
        "there! It isn’t the other one, is it? “What a fine, warm morning,” she said – and so on, and on, over the dog.")
CASES = [
    dict(name="fox", text=FOX, seed=7, voice="anna", rows=9, keep=3, most=240),
    dict(name="alone", text="  voilà,\n l'été…  ", seed=1, voice="anna", guidance=1.0, keep=2),
    dict(name="long", text=LONG, seed=11, voice="ben"),
    dict(name="plain", text=FOX + " and " + FOX + ".", seed=(5 << 32) + 3, voice="ben", guidance=1.0, most=400),
    dict(name="odd", text="ßtraße \"déjà\"? , naïve 🙂 zażółć ﬁne ½ №5; so: yes -", seed=2, voice="anna", guidance=2.5),
]


def level_end(model, processor, folder, share):
    """Sets the end classifier's bias so that a share of the steps ends."""
    bias = model.tts_eos_classifier.fc2.bias
    with torch.no_grad():
        bias.fill_(-1000.0)
    rows = run_case(model, processor, folder, dict(CASES[2], most=200))["end"] + 1000.0
    with torch.no_grad():
        bias.fill_(float(-np.quantile(rows.numpy(), 1 - share)))
        bias.copy_(bias.to(torch.bfloat16))


def make(name, out):
    from vibevoice.modular.configuration_vibevoice import VibeVoiceAcousticTokenizerConfig, VibeVoiceDiffusionHeadConfig
    from vibevoice.modular.configuration_vibevoice_streaming import VibeVoiceStreamingConfig
    from vibevoice.modular.modeling_vibevoice_streaming_inference import VibeVoiceStreamingForConditionalGenerationInference as Model
    from vibevoice.processor.vibevoice_streaming_processor import VibeVoiceStreamingProcessor
    from transformers import Qwen2Config
    shape, folder = SHAPES[name], out / name / "checkpoint"
    (folder / "voices").mkdir(parents=True, exist_ok=True)
    vocab = write_tokenizer(folder)
    width = shape["decoder"]["hidden_size"]
    config = VibeVoiceStreamingConfig(
        acoustic_tokenizer_config=VibeVoiceAcousticTokenizerConfig(vae_dim=shape["latent"], **shape["codec"]),
        decoder_config=Qwen2Config(vocab_size=(vocab + 7) // 8 * 8, tie_word_embeddings=False, **shape["decoder"]),
        diffusion_head_config=VibeVoiceDiffusionHeadConfig(hidden_size=width, latent_size=shape["latent"],
                                                           speech_vae_dim=shape["latent"], **shape["head"]),
        tts_backbone_num_hidden_layers=shape["upper"], torch_dtype="float32")
    config.tie_word_embeddings = False
    model = Model(config).eval()
    randomise(model, shape["seed"])
    weights = seeded.Weights(shape["seed"])
    weights.over({k: v for k, v in model.state_dict(keep_vars=True).items() if not k.endswith("factor")})
    with torch.no_grad():
        for p in model.state_dict().values():
            p.copy_(p.to(torch.bfloat16))
    (folder / "preprocessor_config.json").write_text(json.dumps(dict(
        processor_class="VibeVoiceStreamingProcessor", speech_tok_compress_ratio=3200, db_normalize=True,
        audio_processor=dict(feature_extractor_type="VibeVoiceTokenizerProcessor", sampling_rate=24000, normalize_audio=True,
                             target_dB_FS=-25, eps=1e-6), language_model_pretrained_name="Qwen/Qwen2.5-0.5B"), indent=2) + "\n")
    from vibevoice.modular.modular_vibevoice_text_tokenizer import VibeVoiceTextTokenizerFast
    processor = VibeVoiceStreamingProcessor(tokenizer=VibeVoiceTextTokenizerFast.from_pretrained(folder))
    assert len(processor.tokenizer) == vocab
    gen = torch.Generator().manual_seed(shape["seed"])
    with torch.no_grad():
        for voice in ("anna", "ben"):
            rows = shape["rows"] if voice == "anna" else (shape["rows"][0] + 2, shape["rows"][1] + 5)
            save_voice(folder / "voices" / f"{voice}.pt", make_voice(model, dict(shape, rows=rows), gen,
                                                                      processor.tokenizer.convert_tokens_to_ids("<|image_pad|>")))
        head = model.model.acoustic_tokenizer.decoder.head.conv.conv
        loud = model.model.acoustic_tokenizer.decode(torch.randn(1, shape["latent"], 9, generator=gen)).std()
        head.weight.mul_(0.2 / loud)
        head.weight.copy_(head.weight.to(torch.bfloat16))
    level_end(model, processor, folder, 0.004)
    config.torch_dtype = "bfloat16"
    config.save_pretrained(folder)
    left_out = ("acoustic_tokenizer.encoder.", "tts_language_model.embed_tokens.") if name == "other" else ()
    save_file({k: v.to(torch.bfloat16).contiguous().clone() for k, v in model.state_dict().items()
               if not any(part in k for part in left_out)}, folder / "model.safetensors")
    if not left_out:  # the folder in the form that the authors' loader reads
        again = Model.from_pretrained(folder, torch_dtype=torch.float32, attn_implementation="sdpa").eval()
        for (key, a), b in zip(model.state_dict().items(), again.state_dict().values()):
            assert torch.equal(a, b), key
        model = again
    cases = [dict(case) for case in CASES]
    for case in cases:
        save_file(run_case(model, processor, folder, case), out / name / f"{case['name']}.safetensors")
        print(name, case["name"], case["frames"], case["ended"], "margin", case["margin"])
    (out / name / "cases.json").write_text(json.dumps(dict(cases=cases), indent=1, ensure_ascii=False) + "\n")
    weights.hollow(folder / "model.safetensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True, help="a clone of microsoft/VibeVoice")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    sys.path.insert(0, str(args.source))
    torch.set_num_threads(1)
    for name in SHAPES:
        make(name, args.out)
        seeded.pack(args.out / name)


if __name__ == "__main__":
    main()
