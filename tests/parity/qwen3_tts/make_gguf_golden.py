#!/usr/bin/env python3
"""Writes the checkpoints `projected` and `base` as GGUF files of qwentts.cpp, by its own converter.

    git clone https://github.com/ServeurpersoCom/qwentts.cpp
    pip install gguf==0.19.0 safetensors numpy torch
    python make_gguf_golden.py qwentts.cpp

Makes golden/gguf/NAME/talker.gguf and tokenizer.gguf in f32; the matrices of `base`'s talker in bf16, as in its checkpoint.
The recipes make their numbers from the seeds of the checkpoints, except the codebooks, which the converter divides.
"""
import importlib.util
import json
import pathlib
import shutil
import sys
import tempfile

import gguf

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import seeded  # noqa: E402


def load(converter):
    spec = importlib.util.spec_from_file_location("convert", converter / "convert.py")
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    return code


def narrow(path):
    """Rewrites a file with its matrices in bf16, as the project's `quantize` does."""
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(path.with_suffix(".new"), "qwen3-tts")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        writer.add_key_value(field.name, field.contents(), kind,
                             field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        if len(tensor.shape) > 1:
            bf16 = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(tensor.name, gguf.quants.quantize(tensor.data, bf16), raw_dtype=bf16)
        else:
            writer.add_tensor(tensor.name, tensor.data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    path.with_suffix(".new").rename(path)


def main():
    code = load(pathlib.Path(sys.argv[1]))
    for name in ("projected", "base"):
        out = HERE / "golden" / "gguf" / name
        out.mkdir(parents=True, exist_ok=True)
        with seeded.restored(HERE / "golden" / name / "checkpoint") as source, tempfile.TemporaryDirectory() as made:
            checkpoint = pathlib.Path(made) / "checkpoint"
            shutil.copytree(source, checkpoint)
            for path in (checkpoint / "config.json", checkpoint / "speech_tokenizer" / "config.json"):
                config = json.loads(path.read_text())
                # Keys of published files that the small configs leave out, because the package has defaults.
                for key, values in PUBLISHED.items():
                    if key in config:
                        config[key] = {**values, **config[key]}
                if "talker_config" in config:
                    inner = config["talker_config"]["code_predictor_config"]
                    config["talker_config"]["code_predictor_config"] = {**PUBLISHED["talker_config"], **inner}
                path.write_text(json.dumps(config))
            assert code.convert_talker_base(checkpoint, out / "talker.gguf", "0.6B") == 0
            assert code.convert_tokenizer_12hz(checkpoint / "speech_tokenizer", out / "tokenizer.gguf") == 0
        if name == "base":
            narrow(out / "talker.gguf")
        kept = HERE / "golden" / name / "checkpoint"
        seeded.Weights.of(kept / "model.safetensors").hollow(out / "talker.gguf")
        seeded.Weights.of(kept / "speech_tokenizer" / "model.safetensors").hollow(out / "tokenizer.gguf")


PUBLISHED = {
    "talker_config": {"position_id_per_seconds": 13, "max_position_embeddings": 32768},
    "decoder_config": {"num_semantic_quantizers": 1, "vector_quantization_hidden_dimension": 512},
    "encoder_config": {"kernel_size": 7, "last_kernel_size": 3, "residual_kernel_size": 3, "num_residual_layers": 1,
                       "dilation_growth_rate": 2, "compress": 2, "upsampling_ratios": [8, 6, 5, 4], "norm_eps": 1e-5,
                       "rope_theta": 10000.0, "layer_scale_initial_scale": 0.01, "num_semantic_quantizers": 1},
}

if __name__ == "__main__":
    main()
