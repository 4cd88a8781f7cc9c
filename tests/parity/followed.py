#!/usr/bin/env python3
"""Prints narrow.py's table for families without a greedy original: the errors that bf16 and 8 bits cause.

    VENV/bin/python followed.py --syrinx build/release/syrinx --voxcpm DIR [--steps 100] [--only FAMILY ...]

The environment is that of narrow.py (transformers 4.57.3) and of voxcpm2/make_golden.py. Syrinx speaks a text greedily with f32
weights. The original's language model, the class of transformers that its authors' program runs, gets that history in float32 and
in bf16. The float32 logits must equal those of Syrinx to 1e-4 of the largest, which is checked. "The first other step" is the
first at which bf16 would choose another code. Distances count up to it, as in narrow.py. Rows of Syrinx are free runs.

VoxCPM2 has no codes. Its authors' program speaks with the noise of a seed, like Syrinx. Distances are those of the latents,
relative RMS, median over the patches of a request that ends by itself. From the second patch on, errors add up.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file

import narrow
import originals
import seeded

HERE = pathlib.Path(__file__).resolve().parent
TEXT = "The quick brown fox jumps over the lazy dog, doesn't it? 12345 times!"
SEED = 7


def glm4_voice(weights, config, dtype):
    from transformers import GlmConfig, GlmForCausalLM
    model = GlmForCausalLM(GlmConfig(
        vocab_size=config["padded_vocab_size"], hidden_size=config["hidden_size"], intermediate_size=config["ffn_hidden_size"],
        num_hidden_layers=config["num_layers"], num_attention_heads=config["num_attention_heads"],
        num_key_value_heads=config["multi_query_group_num"], head_dim=config["kv_channels"], partial_rotary_factor=0.5,
        attention_bias=True, rms_norm_eps=config["layernorm_epsilon"], max_position_embeddings=config["seq_length"],
        tie_word_embeddings=False, pad_token_id=None, attn_implementation="eager"))
    queries = config["num_attention_heads"] * config["kv_channels"]
    keys = config["multi_query_group_num"] * config["kv_channels"]
    state = {"model.embed_tokens.weight": weights["transformer.embedding.word_embeddings.weight"],
             "model.norm.weight": weights["transformer.encoder.final_layernorm.weight"],
             "lm_head.weight": weights["transformer.output_layer.weight"]}
    for i in range(config["num_layers"]):
        ours, theirs = f"model.layers.{i}.", f"transformer.encoder.layers.{i}."
        for kind in ("weight", "bias"):
            parts = weights[theirs + "self_attention.query_key_value." + kind].split([queries, keys, keys])
            state |= {ours + f"self_attn.{p}_proj.{kind}": part for p, part in zip("qkv", parts)}
        for name, other in (("self_attn.o_proj", "self_attention.dense"), ("mlp.gate_up_proj", "mlp.dense_h_to_4h"),
                            ("mlp.down_proj", "mlp.dense_4h_to_h"), ("input_layernorm", "input_layernorm"),
                            ("post_attention_layernorm", "post_attention_layernorm")):
            state[ours + name + ".weight"] = weights[theirs + other + ".weight"]
    model.load_state_dict({k: v.float() for k, v in state.items()})
    model = model.eval().to(dtype)
    return lambda prompt, codes: model(torch.cat([prompt, codes[:-1, 0]])[None]).logits[0, len(prompt) - 1:]


def step_audio2(weights, config, dtype):
    from transformers import Qwen2Config, Qwen2ForCausalLM
    text = dict(config["text_config"])
    text.pop("torch_dtype")
    model = Qwen2ForCausalLM(Qwen2Config(**text, tie_word_embeddings=False, attn_implementation="eager"))
    model.load_state_dict({k: v.float() for k, v in weights.items() if k in model.state_dict()})
    model = model.eval().to(dtype)
    return lambda prompt, codes: model(torch.cat([prompt, codes[:-1, 0]])[None]).logits[0, len(prompt) - 1:]


def higgs(weights, config, dtype):
    from transformers import Qwen3Config
    from transformers.models.qwen3.modeling_qwen3 import Qwen3Model
    text = {k: v for k, v in config["text_config"].items() if k not in ("model_type", "rope_theta")}
    model = Qwen3Model(Qwen3Config(**text, rope_theta=1e6, attn_implementation="eager"))
    state = {k[5:]: v.float() for k, v in weights.items() if k.startswith("body.")}
    model.load_state_dict(state | {"embed_tokens.weight": weights["tied.embedding.text_embedding.weight"].float()})
    model = model.eval().to(dtype)
    angles = model.rotary_emb.forward
    model.rotary_emb.forward = lambda *args, **kw: tuple(t.bfloat16().to(dtype) for t in angles(*args, **kw))
    table = weights["tied.embedding.modality_embeddings.0.embedding.weight"].to(dtype)

    def logits(prompt, codes):
        each = len(table) // codes.shape[1]
        spoken = table[codes[:-1] + each * torch.arange(codes.shape[1])].sum(1)
        rows = torch.cat([model.embed_tokens(prompt), spoken])
        return model(inputs_embeds=rows[None]).last_hidden_state[0, len(prompt) - 1:] @ table[:each].T
    return logits


def opuslm(weights, config, dtype):
    from transformers import Olmo2Config
    from transformers.models.olmo2.modeling_olmo2 import Olmo2Model
    sizes = {key: config[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                                          "num_key_value_heads", "rms_norm_eps", "rope_theta", "max_position_embeddings")}
    model = Olmo2Model(Olmo2Config(vocab_size=8, attn_implementation="eager", **sizes))
    model.embed_tokens = None
    prefix = "corelm.decoders.model."
    model.load_state_dict({k[len(prefix):]: v.float() for k, v in weights.items() if k.startswith(prefix)})
    model = model.eval().to(dtype)
    table, head, bias = (weights[f"corelm.{name}.weight"].to(dtype) for name in ("emb", "lm_head", "head_emb"))
    codes_at, words_at = config["codec_token_start"], config["text_token_start"]
    ids = torch.tensor([*range(codes_at), *range(words_at, config["text_token_end"])])

    def logits(prompt, codes):
        first = ids[codes[:-1, :1]]
        each = codes[:-1, 1:]
        at = codes_at + config["codec_per_stream_size"] * torch.arange(each.shape[1]) - 1
        spoken = table[torch.cat([first, torch.where(each > 0, each + at, 0)], 1)].sum(1)
        rows = model(inputs_embeds=torch.cat([table[prompt], spoken])[None]).last_hidden_state[0, len(prompt) - 1:]
        return (rows + bias[0]) @ head[ids].T
    return logits


def bagpiper(weights, config, dtype):
    from transformers import Qwen3Config
    from transformers.models.qwen3.modeling_qwen3 import Qwen3Model
    model = Qwen3Model(Qwen3Config.from_dict(config | {"vocab_size": 8}))
    model.set_attn_implementation("eager")
    model.embed_tokens = None
    weights = weights.get("module", weights)
    parts = ("model.layers.", "model.norm.")
    model.load_state_dict({k[6:]: v.float() for k, v in weights.items() if k.startswith(parts)})
    model = model.eval().to(dtype)
    table, head = (weights[name].to(dtype) for name in ("model.embed_tokens.weight", "lm_head.weight"))
    streams = len(weights["stream_emb.weight"])
    special, each = 256, (len(table) - 256 - config["vocab_size"]) // streams

    def logits(prompt, codes):
        at = special + config["vocab_size"] + each * torch.arange(1, streams) - 1
        rest = codes[:-1, 1:]
        rows = table[codes[:-1, 0]] + (table[rest + at] * (rest > 0)[..., None]).sum(1)
        out = model(inputs_embeds=torch.cat([table[prompt], rows])[None]).last_hidden_state[0, len(prompt) - 1:]
        return out @ head[: special + config["vocab_size"] + each].T
    return logits


def latents_of(source, folder, dtype, seed):
    """Returns the latents [steps, 4 * 8] of the VoxCPM2 authors' program."""
    golden = originals.script("voxcpm2")
    golden.stub_librosa()
    sys.path.insert(0, f"{source}/src")
    from transformers import LlamaTokenizerFast
    from voxcpm.core import VoxCPM
    from voxcpm.model import voxcpm2
    config = voxcpm2.VoxCPMConfig.model_validate(
        json.loads((folder / "config.json").read_text()) | dict(device="cpu", dtype=str(dtype).split(".")[1]))
    vae = voxcpm2.AudioVAEV2(config=config.audio_vae_config).float()
    model = voxcpm2.VoxCPM2Model(config, LlamaTokenizerFast.from_pretrained(str(folder)), vae)
    state = {k: v.float() for k, v in load_file(folder / "model.safetensors").items()}
    assert not model.load_state_dict(state, strict=False).unexpected_keys
    program = VoxCPM.__new__(VoxCPM)
    program.tts_model, program.text_normalizer, program.denoiser = model.to(dtype).eval(), None, None
    model.audio_vae.float()
    with tempfile.TemporaryDirectory() as scratch:
        return golden.run_case(program, dict(name="", text=TEXT, seed=seed), scratch)["latents"].double()


def measure_latents(args, folder):
    def traced(weights):
        return trace(args.syrinx, "voxcpm2", folder, args.steps, weights)["rows"].double()

    def show(name, wide, other):
        count = min(len(wide), len(other))
        far = ((wide[:count] - other[:count]).square().mean(1) / wide[:count].square().mean(1)).sqrt()
        print(f"voxcpm2, {name}: latents of {count} patches, median distance {100 * far.median():.3f} %", flush=True)

    wide = latents_of(args.voxcpm, folder, torch.float32, SEED)
    show("Syrinx in f32 against the original", wide, traced("f32"))
    show("the original in bf16", wide, latents_of(args.voxcpm, folder, torch.bfloat16, SEED))
    for kind in ("bf16", "q8"):
        show(f"Syrinx with {kind}", traced("f32"), traced(kind))


def whole_step_audio2(folder, parity):
    """Completes the checkpoint with the voice networks from other families' goldens, as its tests do."""
    (folder / "assets").mkdir()
    for link, to in (("token2wav/campplus.onnx", "cosyvoice2/golden/checkpoint/campplus.onnx"),
                     ("token2wav/speech_tokenizer_v2_25hz.onnx", "cosyvoice2/golden/checkpoint/speech_tokenizer_v2.onnx"),
                     ("assets/default_female.wav", "s3_reference/golden/recording.wav")):
        (folder / link).symlink_to(parity / to)


FAMILIES = {"glm4_voice": glm4_voice, "step_audio2": step_audio2, "higgs": higgs, "opuslm": opuslm,
            "bagpiper": bagpiper}


def codes_of(name, folder, config, width):
    """Returns the range of speech ids in stream 0, from the config or the names of ids, or all ids if none is text."""
    if name == "opuslm":
        return config["ssl_token_start"], config["ssl_token_end"]
    if name == "bagpiper":
        return 256 + config["vocab_size"], width  # the codes, which follow the words
    names = {}
    for file in ("tokenizer.json", "tokenizer_config.json"):
        if (folder / file).exists():
            told = json.loads((folder / file).read_text())
            names |= {t["content"]: t["id"] for t in told.get("added_tokens", [])}
            names |= {t["content"]: int(id) for id, t in told.get("added_tokens_decoder", {}).items()}
    ids = sorted(id for name, id in names.items() if re.fullmatch(r"<\|?audio_\d+\|?>", name))
    if not ids:
        return 0, width
    assert ids[-1] - ids[0] + 1 == len(ids)
    return ids[0], ids[-1] + 1


def trace(program, name, folder, steps, weights):
    options = {"bagpiper": ["--guidance", "1"], "voxcpm2": ["--temperature", "1", "--seed", str(SEED)]}
    options = options.get(name, ["--repetition-penalty", "1"])
    with tempfile.TemporaryDirectory() as place:
        dump = f"{place}/trace.safetensors"
        subprocess.run([program, "trace", "--model", str(folder), "--text", TEXT, "--weights", weights, *options,
                        "--max-frames", str(2 * steps), "--logit-steps", str(steps), "--dump", dump],
                       check=True, capture_output=True)
        return load_file(dump)


@torch.inference_mode()
def measure(program, name, folder, steps):
    wide = trace(program, name, folder, steps, "f32")
    codes, told = wide["codes"][:steps].long(), wide["logits_0"].float()
    steps = len(codes)
    file = next(folder.glob("model.*[!n]"))
    weights = load_file(file) if file.suffix == ".safetensors" else torch.load(file)
    config = json.loads((folder / "config.json").read_text())
    rows = [FAMILIES[name](weights, config, dtype)(wide["prompt_ids"].long(), codes)[:steps].float()
            for dtype in (torch.float32, torch.bfloat16)]
    apart = float((rows[0] - told[:steps]).abs().max() / told.abs().max())
    assert apart < 1e-4, (name, apart)
    # The ids of a given text are not chosen, and codes are chosen only among codes.
    first, last = codes_of(name, folder, config, rows[0].shape[1])
    chosen = codes[:, 0]
    drawn = (chosen >= first) & (chosen < last)
    best = [first + row[drawn, first:last].argmax(1) for row in rows]
    assert torch.equal(best[0], chosen[drawn]), name
    narrow.compare(f"{name}, the original in bf16", *((ids[:, None], row[drawn, first:last]) for ids, row in zip(best, rows)))
    for kind in ("bf16", "q8"):
        got = trace(program, name, folder, steps, kind)
        count = min(steps, len(got["codes"]))
        both = [(each["codes"][:count][drawn[:count]].long(), each["logits_0"][:count][drawn[:count], first:last].float())
                for each in (wide, got)]
        narrow.compare(f"{name}, Syrinx with {kind}", *both)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--syrinx", required=True)
    parser.add_argument("--voxcpm", help="a checkout of VoxCPM")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    with seeded.restored(HERE) as whole:
        for name in args.only or [*FAMILIES, "voxcpm2"]:
            folder = whole / name / "golden/checkpoint"
            if name == "voxcpm2":
                measure_latents(args, folder)
                continue
            if name == "step_audio2":
                whole_step_audio2(folder, whole)
            measure(args.syrinx, name, folder, args.steps * (3 if name == "bagpiper" else 1))


if __name__ == "__main__":
    main()
