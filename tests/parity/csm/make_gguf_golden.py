#!/usr/bin/env python3
"""Writes a small CSM checkpoint, and the same weights as GGUF files of llama.cpp, by its own converters.

    git clone --branch xsn/csm_tts https://github.com/ngxson/llama.cpp
    VENV/bin/pip install gguf          # VENV: as in make_golden.py
    VENV/bin/python make_gguf_golden.py llama.cpp [--out DIR]

Makes golden/gguf/checkpoint in the layout of transformers, and golden/gguf/sesame-csm-{backbone,decoder}.gguf and
kyutai-mimi.gguf in bf16 (Mimi's convolutions are always f16, which has the checkpoint's values, too). The converter reads the authors' layout: original() undoes what transformers:models/csm/convert_csm.py does. Its sizes are constants of the published
model; they are replaced here, and so is the number of heads that it pads.
"""
import argparse
import importlib.util
import json
import pathlib
import sys
import tempfile

import gguf
import torch
from safetensors.torch import save_file
from transformers import CsmForConditionalGeneration

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_golden as golden  # noqa: E402

PUBLISHED_ROPE = dict(rope_type="llama3", factor=32.0, low_freq_factor=0.125, high_freq_factor=0.5,
                      original_max_position_embeddings=1024)
DEPTH_ROPE = dict(PUBLISHED_ROPE, low_freq_factor=0.001953125, high_freq_factor=0.0078125,
                  original_max_position_embeddings=16)
SIZE = dict(
    seed=33, tied=True,
    backbone=dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                  head_dim=16, rope_scaling=PUBLISHED_ROPE),
    depth=dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=1,
               head_dim=8, rope_scaling=DEPTH_ROPE),
    codec=dict(hidden_size=64, num_filters=2, codebook_size=16, codebook_dim=16, upsample_groups=64,
               vector_quantization_hidden_dimension=16, num_hidden_layers=2, intermediate_size=64, num_attention_heads=8,
               num_key_value_heads=8, head_dim=8))
LLAMA = {"input_layernorm.weight": "sa_norm.scale", "post_attention_layernorm.weight": "mlp_norm.scale",
         "self_attn.q_proj": "attn.q_proj", "self_attn.k_proj": "attn.k_proj", "self_attn.v_proj": "attn.v_proj",
         "self_attn.o_proj": "attn.output_proj", "mlp.gate_proj": "mlp.w1", "mlp.down_proj": "mlp.w2",
         "mlp.up_proj": "mlp.w3", "norm.weight": "norm.scale"}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    return code


def original(model, converter):
    """Returns the weights of both transformers in the authors' layout."""
    out = {}
    for name, value in model.state_dict().items():
        if name.startswith("codec_model."):
            continue
        config = model.config.depth_decoder_config if name.startswith("depth_decoder.") else model.config
        for part, heads in (("q_proj", config.num_attention_heads), ("k_proj", config.num_key_value_heads)):
            if part in name:
                value = converter.CSMModelConverter.undo_permute(value, heads, heads)
        for ours, theirs in LLAMA.items():
            if "layers." in name or name.endswith("model.norm.weight"):
                name = name.replace(ours, theirs)
        name = name.replace("backbone_model.layers", "backbone.layers").replace("backbone_model.norm", "backbone.norm")
        name = name.replace("depth_decoder.model.layers", "decoder.layers")
        name = name.replace("depth_decoder.model.norm", "decoder.norm")
        name = {"embed_text_tokens.weight": "text_embeddings.weight",
                "backbone_model.embed_tokens.embed_audio_tokens.weight": "audio_embeddings.weight",
                "lm_head.weight": "codebook0_head.weight", "depth_decoder.codebooks_head.weight": "audio_head",
                "depth_decoder.model.inputs_embeds_projector.weight": "projection.weight"}.get(name, name)
        if name != "depth_decoder.model.embed_tokens.weight":  # a copy of the backbone's table
            out[name] = value.contiguous().clone()
    return out


def write_vocabulary(tokenizer, path):
    """Writes a tokenizer as llama.cpp's files of vocabularies have it."""
    root = json.loads(tokenizer.read_text())
    special = {t["id"]: t["content"] for t in root["added_tokens"]}
    words = {**{i: w for w, i in root["model"]["vocab"].items()}, **special}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list([words[i] for i in range(len(words))])
    writer.add_token_types([3 if i in special else 1 for i in range(len(words))])
    writer.add_token_merges([" ".join(pair) for pair in root["model"]["merges"]])
    ids = {word: i for i, word in special.items()}
    writer.add_bos_token_id(ids["<|begin_of_text|>"])
    writer.add_eos_token_id(ids["<|end_of_text|>"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def resize(converter, vocabulary, config):
    """Gives the converter this checkpoint's sizes."""
    for cls, sizes in ((converter.Llama_3_2_1B, config), (converter.Llama_3_2_100M, config.depth_decoder_config)):
        cls.vocab_size, cls.num_layers = vocabulary, sizes.num_hidden_layers
        cls.num_heads, cls.num_kv_heads = sizes.num_attention_heads, sizes.num_key_value_heads
        cls.embed_dim, cls.intermediate_dim = sizes.hidden_size, sizes.intermediate_size
    depth, codes, books = config.depth_decoder_config.hidden_size, config.vocab_size, config.num_codebooks
    zeros = torch.zeros

    class Torch:  # the converter pads with zeros of the published shape, and checks the published shape
        def __getattr__(self, name):
            return getattr(torch, name)

        def zeros(self, *shape):
            return zeros(1, depth, codes) if shape == (1, 1024, 2051) else zeros(*shape)

        def cat(self, tensors, dim):
            return Padded(torch.cat(tensors, dim))

    class Padded:
        def __init__(self, tensor):
            assert tensor.shape == (books + 1, depth, codes)
            self.tensor, self.shape = tensor, (33, 1024, 2051)

        def transpose(self, a, b):
            return self.tensor.transpose(a, b)

    converter.torch = Torch()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("llama", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden" / "gguf")
    args = parser.parse_args()
    torch.set_num_threads(1)
    folder = args.out / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    ids, vocab = golden.write_tokenizer(folder)
    config = golden.csm_config(SIZE, ids, vocab)
    model = CsmForConditionalGeneration(config).float().eval()
    weights = golden.randomise(model, SIZE["seed"], config.codec_config.codebook_size)
    with torch.no_grad():
        for value in [*model.parameters(), *model.codec_model.buffers()]:
            if value.is_floating_point():
                value.copy_(value.bfloat16().float())
        for name, value in model.codec_model.named_parameters():
            if ".conv.weight" in name:
                value[value.abs() < 2**-16] = 0  # f16 would round it
    model.save_pretrained(folder)
    (folder / "model.safetensors").unlink(missing_ok=True)
    for shard in folder.glob("model*.safetensors*"):
        shard.unlink()
    tensors = {k: v.bfloat16().contiguous() for k, v in model.state_dict().items()
               if k != "depth_decoder.model.embed_tokens.weight"}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    tts = args.llama / "examples" / "tts"
    csm, mimi = load(tts / "convert_csm_to_gguf.py"), load(tts / "convert_mimi_to_gguf.py")
    with tempfile.TemporaryDirectory() as made:
        made = pathlib.Path(made)
        save_file(original(model, csm), made / "model.safetensors")
        write_vocabulary(folder / "tokenizer.json", made / "vocabulary.gguf")
        resize(csm, vocab, config)
        csm.CSMModelConverter(made / "model.safetensors", made / "vocabulary.gguf",
                              args.out / "sesame-csm-<component>.gguf", gguf.LlamaFileType.MOSTLY_BF16, False).write()
        model.codec_model.save_pretrained(made / "mimi")
        mimi.MimiModelConverter(made / "mimi", args.out / "kyutai-mimi.gguf", gguf.LlamaFileType.MOSTLY_BF16, False).write()
    for path in [folder / "model.safetensors", *sorted(args.out.glob("*.gguf"))]:
        weights.hollow(path)


if __name__ == "__main__":
    main()
