"""Writes the golden of src/ears/silero.cc: probabilities of Silero's own ONNX graph with weights of this script.

    python3 -m venv v && v/bin/pip install numpy onnx onnxruntime silero-vad==6.2.3 --no-deps
    v/bin/python make_golden.py          # beside it: golden.json

The graph is that of the package. Its weights are replaced by numbers of made(), which src/ears/silero_test.cc generates
again, so the repository needs no weights."""
import importlib.util
import json
import pathlib

import numpy as np
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).parent
CHUNKS = 48
# Name of the tensor in the graph, and the fan-in that sets its scale (0: a bias).
NAMES = [("model.stft.forward_basis_buffer", 256), ("model.encoder.0.reparam_conv.weight", 387),
         ("model.encoder.0.reparam_conv.bias", 0), ("model.encoder.1.reparam_conv.weight", 384),
         ("model.encoder.1.reparam_conv.bias", 0), ("model.encoder.2.reparam_conv.weight", 192),
         ("model.encoder.2.reparam_conv.bias", 0), ("model.encoder.3.reparam_conv.weight", 192),
         ("model.encoder.3.reparam_conv.bias", 0), ("model.decoder.rnn.weight_ih", 128),
         ("model.decoder.rnn.weight_hh", 128), ("model.decoder.rnn.bias_ih", 0),
         ("model.decoder.rnn.bias_hh", 0), ("model.decoder.decoder.2.weight", 1),
         ("model.decoder.decoder.2.bias", 0)]


def made(seed, count):
    """Returns numbers in [-1, 1): splitmix64 of seed * 2^32 + i."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed << 32) + np.arange(count, dtype=np.uint64)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(40)).astype(np.float64) / 2 ** 23 - 1).astype(np.float32)


def main():
    folder = pathlib.Path(importlib.util.find_spec("silero_vad").submodule_search_locations[0])
    model = onnx.load(folder / "data" / "silero_vad_16k_op15.onnx")
    tensors = {each.name: each for each in model.graph.initializer}
    for place, (name, fan_in) in enumerate(NAMES):
        shape = tuple(tensors[name].dims)
        scale = np.float32(np.sqrt(6 / fan_in) if fan_in else 0.1)
        values = made(place + 1, int(np.prod(shape))).reshape(shape) * scale
        tensors[name].CopyFrom(onnx.numpy_helper.from_array(values, name))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    samples = made(99, CHUNKS * 512) * np.repeat(np.arange(CHUNKS, dtype=np.float32) / CHUNKS, 512)
    state, before, out = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32), []
    for chunk in samples.reshape(CHUNKS, 512):
        heard = np.concatenate([before, chunk])[None]
        probability, state = session.run(None, {"input": heard, "state": state,
                                                "sr": np.array(16000, np.int64)})
        before = chunk[-64:]
        out.append(round(float(probability[0, 0]), 7))
    (HERE / "golden.json").write_text(json.dumps({"probabilities": out}) + "\n")
    print(min(out), max(out))


if __name__ == "__main__":
    main()
