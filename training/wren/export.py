"""Writes a trained wren as a checkpoint in a published format: a Llama with GPTQ's 4 bits.

    export.py TOKENIZER TRAINED.pt OUT_DIR
"""
import json
import os
import shutil
import sys

import conversation
import model as wren
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer


def packed(numbers, axis):
    """Packs eight 4-bit numbers into an int32 along an axis, the first number in the lowest bits."""
    parts = numbers.long().unflatten(axis, (-1, 8)).movedim(axis + 1, -1)
    words = (parts << torch.arange(0, 32, 4)).sum(-1)
    return torch.where(words >= 2 ** 31, words - 2 ** 32, words).int().contiguous()


def linear(weight):
    numbers, scale = wren.quantise(weight)
    zeros = torch.full((scale.shape[1], weight.shape[0]), 8)
    return {"qweight": packed(numbers.T, 0), "qzeros": packed(zeros, 1),
            "scales": scale.T.half().contiguous()}


def main(tokenizer_path, trained, out):
    here = os.path.dirname(os.path.abspath(__file__))
    state = torch.load(trained)["model"]
    tensors = {"model.embed_tokens.weight": state["table"].bfloat16(),
               "model.norm.weight": state["last_norm"].float()}
    for i in range(wren.LAYERS):
        for name in wren.LINEARS:
            weight = state[f"blocks.{i}.{name.replace('.', '/')}"]
            for part, tensor in linear(weight).items():
                tensors[f"model.layers.{i}.{name}.{part}"] = tensor
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{i}.{name}.weight"] = state[f"blocks.{i}.{name}"].float()
    os.makedirs(out, exist_ok=True)
    weights = os.path.join(out, "model.safetensors")
    save_file(tensors, weights, metadata={"format": "pt"})
    os.chmod(weights, 0o644)
    end = Tokenizer.from_file(tokenizer_path).token_to_id(conversation.END)

    def write(name, value):
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2)
            file.write("\n")

    write("config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": wren.VOCAB,
        "hidden_size": wren.WIDTH, "intermediate_size": wren.FFN, "num_hidden_layers": wren.LAYERS,
        "num_attention_heads": wren.HEADS, "num_key_value_heads": wren.HEADS,
        "head_dim": wren.WIDTH // wren.HEADS, "hidden_act": "silu", "rms_norm_eps": wren.EPSILON,
        "rope_theta": wren.THETA, "max_position_embeddings": 512, "tie_word_embeddings": True,
        "attention_bias": False, "mlp_bias": False, "torch_dtype": "bfloat16", "eos_token_id": end,
        "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": wren.GROUP,
                                "desc_act": False, "sym": True, "checkpoint_format": "gptq_v2"}})
    write("generation_config.json", {"do_sample": False, "temperature": 0.0, "eos_token_id": end})
    write("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast",
                                    "eos_token": conversation.END,
                                    "clean_up_tokenization_spaces": False})
    shutil.copy(tokenizer_path, os.path.join(out, "tokenizer.json"))
    shutil.copy(os.path.join(here, "chat_template.jinja"), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
