#!/usr/bin/env python3
"""Writes small Pocket TTS checkpoints, and the results of the authors' code with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch pocket-tts==4.0.1 tokenizers sentencepiece
    VENV/bin/python make_golden.py [--source FOLDER_OF_THE_PACKAGE] [--out DIR]

The authors' TTSModel runs unchanged, float32 on the CPU, one thread; only its noise is that of src/kernels/sample.h (../philox.py).
Names and layout are the published ones: model.safetensors, tokenizer.model or tokenizer.json, embeddings/, and the package's yaml
as pocket_tts.yaml; only sizes are smaller. "distilled" has the keys of english.yaml; "small" those of english_2m_2026-10.yaml:
shared heads, a wider attention, a low-rank table, a narrowed row, another decoder, a head without times. Two runs give the same
bytes, except for the last bits of samples.
"""
import argparse
import base64
import json
import pathlib
import sys

import numpy as np
import torch
import yaml
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from philox import philox_normal  # noqa: E402

RATE = 24000
CORPUS = ["Hello there, how are you today? The quick brown fox jumps over the lazy dog.", "It isn't the other one, is it?",
          "We walked along the river, and then, when it was dark, we went home; the lights were on: all of them.",
          "Numbers such as 3.5 or 1,200 are said. Voilà, c'est déjà l'été! Straße über Ärger…", "What a fine, warm morning this is."]


def write_tokenizers(folder, kind):
    """Writes a unigram model of sentencepiece, and its conversion as tokenizer.json."""
    import io
    import sentencepiece

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS * 20), model_writer=out, model_type="unigram", vocab_size=400, byte_fallback=kind == "model",
        character_coverage=1.0, num_threads=1, minloglevel=2, normalization_rule_name="nmt_nfkc", hard_vocab_limit=False)
    processor = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    if kind == "model":
        (folder / "tokenizer.model").write_bytes(out.getvalue())
    else:
        from sentencepiece import sentencepiece_model_pb2 as spec
        proto = spec.ModelProto.FromString(out.getvalue())
        special = [(i, p) for i, p in enumerate(proto.pieces) if p.type in (2, 3)]
        (folder / "tokenizer.json").write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [dict(id=i, content=p.piece, single_word=False, lstrip=False, rstrip=False, normalized=False,
                                  special=True) for i, p in special],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Precompiled",
                 "precompiled_charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()},
                {"type": "Strip", "strip_left": False, "strip_right": True},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]},
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
            "post_processor": None,
            "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
            "model": {"type": "Unigram", "unk_id": proto.trainer_spec.unk_id,
                      "vocab": [[p.piece, p.score] for p in proto.pieces], "byte_fallback": False}}, ensure_ascii=False))
    return processor.vocab_size()


def seanet(dimension, filters, taps):
    return dict(dimension=dimension, channels=1, n_filters=filters, n_residual_layers=1, ratios=[6, 5, 4], kernel_size=taps,
                residual_kernel_size=3, last_kernel_size=3, dilation_base=2, pad_mode="constant", compress=2)


def transformer(width, heads, layers, context, ffn):
    return dict(d_model=width, num_heads=heads, num_layers=layers, layer_scale=0.01, context=context, dim_feedforward=ffn,
                input_dimension=width, output_dimensions=[width])


def config_of(name, vocab):
    common = dict(weights_path="model.safetensors", default_temperature=0.3, replace_characters={"’": "'", "‘": "'"})
    mimi = dict(dtype="float32", sample_rate=RATE, inner_dim=12, outer_dim=32, channels=1, frame_rate=12.5, seanet=seanet(32, 4, 7),
                transformer=transformer(32, 4, 2, 40, 48), quantizer=dict(dimension=12, output_dimension=32))
    if name == "distilled":
        return dict(common, model_recommended_frames_after_eos=None, flow_lm=dict(
            insert_bos_before_voice=True, dtype="float32", flow=dict(depth=3, dim=24),
            transformer=dict(d_model=48, hidden_scale=2, max_period=10000, num_heads=3, num_layers=3),
            lookup_table=dict(dim=48, n_bins=vocab, tokenizer="sentencepiece", tokenizer_path="tokenizer.model")), mimi=mimi)
    mimi["outer_dim"], mimi["quantizer"]["output_dimension"] = 16, 16
    return dict(common, default_eos_threshold=-1.0, remove_semicolons=True, pad_with_spaces_for_short_inputs=True,
                replace_characters={'"': "", "–": ",", ":": ",", "’": "'"}, flow_lm=dict(
                    insert_bos_before_voice=False, dtype="float32", flow=dict(depth=2, dim=16, type="pointwise"), z_dim=20,
                    transformer=dict(d_model=24, hidden_scale=1, max_period=10000, num_heads=4, num_layers=4, dim_feedforward=40,
                                     attn_dim=64, num_kv_heads=2),
                    lookup_table=dict(dim=24, n_bins=vocab, tokenizer="tokenizers", tokenizer_path="tokenizer.json", rank=10)),
                mimi=dict(mimi, decoder_seanet=seanet(16, 2, 3), decoder_transformer=transformer(16, 2, 3, 20, 24)))


def randomise(module, seed):
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in sorted(module.state_dict().items()):
            noise = torch.randn(p.shape, generator=gen)
            if name.endswith("freqs"):
                continue
            if "norm" in name and name.endswith("weight") or name.endswith(("in_ln.weight", "alpha", "emb_std")):
                p.copy_(1.0 + 0.2 * noise)
            elif name.endswith("scale"):
                p.copy_(0.3 + 0.1 * noise)
            elif name.endswith(("bias", "emb_mean")):
                p.copy_(0.1 * noise)
            elif name.endswith(("embed.weight", "bos_emb", "bos_before_voice")):
                p.copy_(noise)
            else:
                p.copy_(noise / np.sqrt(max(1, p[0].numel())))
            # As in trained models, latents have size 1, and steps do not enlarge a difference in their input. With the plain draw
            # latents have size 10, and rounding grows by 1.2 per step, a million times in 80 steps.
            if name.endswith(("input_linear.weight", "final_layer.linear.weight")):
                p.mul_(0.25)
            p.copy_(p.to(torch.bfloat16))


def speech(count, skip=8000):
    import wave
    with wave.open(str(HERE.parent / "mimi" / "speech.wav")) as file:
        file.setpos(skip)
        return torch.from_numpy(np.frombuffer(file.readframes(count), np.int16).astype(np.float32) / 32768)[None]


class Noise:
    """Replaces torch.nn.init.normal_ with the noise of the current step and seed."""

    def __init__(self):
        self.seed, self.step = 0, 0

    def __call__(self, tensor, mean=0.0, std=1.0):
        if tensor.shape[0] == 1 and not self.prompting:
            values = philox_normal(self.seed, self.step, 0, tensor.numel()).reshape(tensor.shape)
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(values.copy()) * std)
            self.step += 1
        return tensor


def run_case(model, noise, case, voices):
    """Runs a case through the authors' generate_audio(), and records its decisions."""
    seen = {"ids": [], "latents": [], "end": [], "chunks": [], "begins": []}
    lm, frames = model.flow_lm, []
    run, prepare = model._run_flow_lm_and_increment_step, lm.conditioner.prepare

    def prepared(text):
        ids = prepare(text)
        seen["chunks"].append(text)
        seen["begins"].append((len(seen["latents"]), sum(frames)))
        noise.step = sum(frames)  # the last step of a chunk makes no frame
        seen["ids"] += [len(ids[0]), *ids[0].tolist()]
        return ids

    def watched(model_state, text_tokens=None, backbone_input_latents=None, audio_conditioning=None):
        noise.prompting = backbone_input_latents is None
        hook = lm.out_eos.register_forward_hook(lambda _m, _i, out: seen["end"].append(out.reshape(-1)))
        try:
            latent, end = run(model_state=model_state, text_tokens=text_tokens, backbone_input_latents=backbone_input_latents,
                              audio_conditioning=audio_conditioning)
        finally:
            hook.remove()
        if noise.prompting:
            seen["end"].pop()
        else:
            seen["latents"].append(latent.reshape(-1))
        return latent, end

    noise.seed, noise.step, noise.prompting = case["seed"], 0, True
    state = voices[case["voice"]] if case.get("voice") else init(model)
    model._run_flow_lm_and_increment_step, lm.conditioner.prepare = watched, prepared
    model.temp = case.get("temperature", model.config.default_temperature)
    decode = model.mimi.decode_from_latent
    model.mimi.decode_from_latent = lambda latent, s: frames.append(latent.shape[1]) or decode(latent, s)
    try:
        samples = model.generate_audio(state, case["text"])
    finally:
        model._run_flow_lm_and_increment_step, lm.conditioner.prepare = run, prepare
        model.mimi.decode_from_latent = decode
    case["chunks"] = seen["chunks"]
    case["frames"] = sum(frames)
    kept = []
    for (begin, first), (_, end) in zip(seen["begins"], [*seen["begins"][1:], (0, sum(frames))]):
        kept += range(begin, begin + end - first)
    assert samples.shape[-1] == case["frames"] * RATE * 2 // 25
    keep = case.pop("keep", 0) * 1920
    margin = (torch.stack(seen["end"])[:, 0] - model.eos_threshold).abs().min()
    case["margin"] = round(float(margin), 5)
    out = {"ids": torch.tensor(seen["ids"], dtype=torch.int32), "latents": torch.stack(seen["latents"])[kept],
           "end": torch.cat(seen["end"])[kept]}
    if keep:
        out["samples"] = samples[:keep]
    return {k: v.contiguous().clone() for k, v in out.items()}


def init(model):
    from pocket_tts.modules.stateful_module import init_states
    return init_states(model.flow_lm, batch_size=1, sequence_length=1)


def level_end(model, noise, voices, share):
    """Sets the end head's bias so that it would end at a share of the steps."""
    case = dict(CASES[0], text=CASES[0]["text"])
    model.eos_threshold = 1e9
    rows = run_case(model, noise, case, voices)["end"]
    model.eos_threshold = model.config.default_eos_threshold
    with torch.no_grad():
        bias = model.flow_lm.out_eos.bias
        shifted = bias + model.eos_threshold - float(np.quantile(rows.numpy(), 1 - share))
        bias.copy_(shifted.to(torch.bfloat16))


FOX = "the quick brown fox jumps over the lazy dog"
LONG = ("We walked along the river, and then, when it was dark, we went home; the lights were on: all of them. Is it 3.5 or 4? "
        "Hello there! It isn’t the other one, is it? “What a fine, warm morning,” she said – and so on, and on, and on, along the "
        "river and over the dog, which was lazy, and the fox, and over all of the other ones, and then home again, at last,")
CASES = [
    dict(name="fox", text=FOX, seed=7, voice="speech", keep=8),
    dict(name="brief", text="Hello there", seed=(5 << 32) + 3, voice="speech", temperature=0.7),
    dict(name="alone", text="  voilà,\n l'été…  ", seed=1, temperature=1.0, keep=4),
    dict(name="long", text=LONG, seed=11, voice="speech"),
    dict(name="odd", text="ßtraße \"déjà\"? , naïve 🙂 zażółć ﬁne ½ №5; so: yes -", seed=2, temperature=0.0),
]
TEXTS = [FOX, LONG, "a", "A.  B", "3.5.", "hm-", "\"quoted\"", "(so)", "x, ", "…", "tab\tand\r\nline", "🙂🙂 two", "<0x41> <b>",
         "Zażółć gęślą jaźń", "ｆｕｌｌ ｗｉｄｔｈ　１２", "é é", "a\u200bb", "​", "ÅNGSTRÖM " * 9]


def make(name, out):
    from pocket_tts.models.model_state import export_model_state
    from pocket_tts.models.tts_model import TTSModel
    folder = out / name / "checkpoint"
    (folder / "embeddings").mkdir(parents=True, exist_ok=True)
    kind = "model" if name == "distilled" else "json"
    config = config_of(name, write_tokenizers(folder, kind))
    (folder / "pocket_tts.yaml").write_text(yaml.safe_dump(config, allow_unicode=True, sort_keys=False))
    local = json.loads(json.dumps(config))
    local["flow_lm"]["lookup_table"]["tokenizer_path"] = str(folder / f"tokenizer.{kind}")
    local["weights_path"] = None
    path = out / name / "local.yaml"
    path.write_text(yaml.safe_dump(local, allow_unicode=True))
    model = TTSModel.load_model(config=path)
    path.unlink()
    randomise(model, 5)
    with torch.no_grad():  # so that samples are about 0.2
        tail = model.mimi.decoder.model[-1].conv
        from pocket_tts.modules.stateful_module import init_states
        noise = torch.randn(1, 20, 12, generator=torch.Generator().manual_seed(1))
        loud = model.mimi.decode_from_latent(noise, init_states(model.mimi, 1, 20 * 16)).std()
        tail.weight.copy_((tail.weight * 0.2 / loud).to(torch.bfloat16))

    torch_normal, noise = torch.nn.init.normal_, Noise()
    torch.nn.init.normal_ = noise
    try:
        noise.prompting = True
        voice = speech(21000)
        prompt = model._encode_audio(__import__("pocket_tts.data.audio_utils", fromlist=["x"]).end_on_pause(voice, RATE)[None])
        state = model.get_state_for_audio_prompt(voice)
        voices = {"speech": state}
        export_model_state(state, folder / "embeddings" / "speech.safetensors")
        level_end(model, noise, voices, 0.06)
        save_file({k: (v if k.endswith("freqs") else v.to(torch.bfloat16)).contiguous().clone() for k, v in model.state_dict().items()},
                  folder / "model.safetensors")
        cases = [dict(case) for case in CASES]
        for case in cases:
            save_file(run_case(model, noise, case, voices), out / name / f"{case['name']}.safetensors")
            print(name, case["name"], case["frames"], len(case["chunks"]), "margin", case["margin"])
        more = {}
        if name == "small":  # the same weights as a head of another kind
            model.flow_lm.flow_type = "drifting"
            more["drifting"] = case = dict(CASES[0], name="drifting", keep=0)
            save_file(run_case(model, noise, case, voices), out / name / "drifting.safetensors")
        save_file({"rows": prompt[0].contiguous().clone()}, out / name / "voice.safetensors")
    finally:
        torch.nn.init.normal_ = torch_normal
    tokenizer = model.flow_lm.conditioner.tokenizer
    texts = [dict(text=text, ids=tokenizer.encode(text), decoded=tokenizer.decode(tokenizer.encode(text))) for text in TEXTS]
    (out / name / "cases.json").write_text(json.dumps(dict(cases=cases, texts=texts, **more), indent=1, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, help="a folder that has the package, if it is not installed")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    if args.source:
        sys.path.insert(0, str(args.source))
    torch.set_num_threads(1)
    for name in ["distilled", "small"]:
        make(name, args.out)


if __name__ == "__main__":
    main()
