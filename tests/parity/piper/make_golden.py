#!/usr/bin/env python3
"""Writes small random Piper voices, and onnxruntime's results with them and fixed noise. With --voice, it writes the
results of a published voice.

    git clone https://github.com/rhasspy/piper
    python3.11 -m venv VENV && VENV/bin/pip install torch onnx onnxruntime numpy safetensors
    VENV/bin/python make_golden.py --piper piper
    VENV/bin/python make_golden.py --voice en_US-joe-medium.onnx --out joe.safetensors

The networks are the authors' (src/python/piper_train/vits), exported as their export_onnx.py does. The two
RandomNormalLike nodes of a graph become inputs, so that both sides read the same noise.
"""
import argparse
import pathlib
import sys
import types

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).resolve().parent
SCALES = np.array([0.667, 1.0, 0.8], np.float32)  # scales of the noise, the length, and the noise of durations

COMMON = {"n_vocab": 24, "spec_channels": 17, "segment_size": 8, "filter_channels": 24, "n_heads": 2,
          "n_layers": 2, "kernel_size": 3, "p_dropout": 0.0, "use_sdp": True}
VOICES = {
    "one_speaker": {"inter_channels": 8, "hidden_channels": 12, "resblock": "2",
                    "resblock_kernel_sizes": (3, 5), "resblock_dilation_sizes": ((1, 2), (2, 6)),
                    "upsample_rates": (4, 2), "upsample_initial_channel": 16,
                    "upsample_kernel_sizes": (8, 4)},
    "many_speakers": {"inter_channels": 6, "hidden_channels": 8, "resblock": "2",
                      "resblock_kernel_sizes": (3, 5, 7),
                      "resblock_dilation_sizes": ((1, 2), (2, 6), (3, 12)),
                      "upsample_rates": (8, 4), "upsample_initial_channel": 16,
                      "upsample_kernel_sizes": (16, 8), "n_speakers": 3, "gin_channels": 10},
    "pairs": {"inter_channels": 6, "hidden_channels": 8, "resblock": "1",
              "resblock_kernel_sizes": (3, 7), "resblock_dilation_sizes": ((1, 3, 5), (1, 3, 5)),
              "upsample_rates": (2, 2), "upsample_initial_channel": 16,
              "upsample_kernel_sizes": (4, 4)},
}


def load_models(piper):
    sys.path.insert(0, str(pathlib.Path(piper) / "src/python"))
    for name in ("piper_train", "piper_train.vits"):  # without the packages' own imports
        module = types.ModuleType(name)
        module.__path__ = [str(pathlib.Path(piper) / "src/python" / name.replace(".", "/"))]
        sys.modules[name] = module
    aligner = types.ModuleType("piper_train.vits.monotonic_align")
    aligner.maximum_path = None
    sys.modules["piper_train.vits.monotonic_align"] = aligner
    from piper_train.vits import models
    return models


def randomise(model, generator):
    import torch
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if name.endswith("gamma") or name.endswith("weight_g"):
                value.copy_(1 + 0.2 * noise)
            elif value.dim() > 1 and not name.startswith("dp.flows.0"):
                value.copy_(noise / np.sqrt(value[0].numel()))
            else:
                value.copy_(0.2 * noise)
        model.dp.flows[0].m.copy_(torch.tensor([[-0.8], [0.3]]))  # so that an id has some frames
        model.dp.flows[0].logs.copy_(torch.tensor([[0.7], [0.3]]))


def export(models, name, path):
    import torch
    torch.manual_seed(1)
    net = models.SynthesizerTrn(**COMMON, **VOICES[name])
    randomise(net, torch.Generator().manual_seed(sorted(VOICES).index(name)))
    net.eval()
    with torch.no_grad():
        net.dec.remove_weight_norm()
    many = net.n_speakers > 1

    def infer(text, text_lengths, scales, sid=None):
        return net.infer(text, text_lengths, noise_scale=scales[0], length_scale=scales[1],
                         noise_scale_w=scales[2], sid=sid)[0].unsqueeze(1)

    net.forward = infer
    ids = torch.randint(0, COMMON["n_vocab"], (1, 30))
    example = (ids, torch.tensor([30]), torch.from_numpy(SCALES)) + ((torch.tensor([0]),) if many else ())
    torch.onnx.export(net, example, str(path), opset_version=15, dynamo=False,
                      input_names=["input", "input_lengths", "scales"] + (["sid"] if many else []),
                      output_names=["output"],
                      dynamic_axes={"input": {0: "batch_size", 1: "phonemes"},
                                    "input_lengths": {0: "batch_size"},
                                    "output": {0: "batch_size", 1: "time"}})
    model = onnx.load(str(path))
    for node in model.graph.node:
        node.ClearField("doc_string")
    onnx.save(model, str(path))


def run(path, ids, speaker, seed=1):
    """Returns onnxruntime's result with a graph. All noise is drawn here."""
    model = onnx.load(str(path))
    graph, noise = model.graph, {}
    for node in list(graph.node):
        if node.op_type == "RandomNormalLike":
            noise["noise_w" if "/dp/" in node.name else "noise_z"] = node.output[0]
            graph.node.remove(node)
            graph.input.append(onnx.helper.make_tensor_value_info(node.output[0], 1, None))
    durations = [node.output[0] for node in graph.node if node.op_type == "Ceil"]
    assert len(noise) == 2 and len(durations) == 1
    graph.output.append(onnx.helper.make_tensor_value_info(durations[0], 1, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    latent = next(t.dims[0] for t in graph.initializer if t.name == "enc_p.proj.bias") // 2
    random = np.random.default_rng(seed)
    feed = {"input": np.array([ids]), "input_lengths": np.array([len(ids)]), "scales": SCALES,
            noise["noise_w"]: random.standard_normal((1, 2, len(ids)), dtype=np.float32),
            noise["noise_z"]: np.zeros((1, latent, 1), np.float32)}
    if speaker is not None:
        feed["sid"] = np.array([speaker])
    frames = int(session.run(durations, feed)[0].sum())
    feed[noise["noise_z"]] = random.standard_normal((1, latent, frames), dtype=np.float32)
    samples, lengths = session.run(["output", durations[0]], feed)
    out = {"ids": np.array(ids, np.int32), "noise_w": feed[noise["noise_w"]][0].T.copy(),
           "noise_z": feed[noise["noise_z"]][0].T.copy(), "durations": lengths.reshape(-1),
           "samples": samples.reshape(-1), "speaker": np.array([speaker or 0], np.int32)}
    print(path, frames, "frames,", samples.size, "samples, largest", np.abs(samples).max())
    return out


def strip(path):
    """Keeps only the nodes that read weights, because Syrinx reads no other parts of a graph."""
    model = onnx.load(str(path))
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    for node in list(graph.node):
        if node.op_type == "Identity" and node.input[0] in weights:
            weights.add(node.output[0])
        elif node.op_type == "Constant" or not any(name in weights for name in node.input):
            graph.node.remove(node)
    onnx.save(model, str(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--piper", help="the authors' repository")
    parser.add_argument("--voice", help="a published voice")
    parser.add_argument("--out", help="where its numbers go")
    args = parser.parse_args()
    if args.voice:
        symbols = np.random.default_rng(2).integers(3, 120, 40)  # pads are between them
        ids = [1] + [i for symbol in symbols for i in (0, int(symbol))] + [0, 2]
        save_file(run(args.voice, ids, None), args.out)
        return
    models = load_models(args.piper)
    for name in VOICES:
        path = HERE / "golden" / (name + ".onnx")
        export(models, name, path)
        ids = np.random.default_rng(3).integers(0, COMMON["n_vocab"], 40).tolist()
        numbers = run(path, ids, 2 if "n_speakers" in VOICES[name] else None)
        save_file(numbers, HERE / "golden" / (name + ".safetensors"))
        strip(path)


if __name__ == "__main__":
    main()
