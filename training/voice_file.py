"""Reads and writes the tensors of a voice folder, and makes networks from them."""
import json
import struct
from pathlib import Path

import numpy as np
import torch

import codec
import lm
from corpus import MELS, PITCH_MEANS, RATE, TEACHERS, VOICES, mel_edges

DTYPES = {"F16": np.float16, "F32": np.float32, "I32": np.int32, "I16": np.int16, "I8": np.int8}


def write_safetensors(path, tensors, metadata):
    """Writes tensors: name -> numpy array of a type in DTYPES."""
    names = {np.dtype(v): k for k, v in DTYPES.items()}
    header, at = {"__metadata__": metadata}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            out.write(np.ascontiguousarray(array).tobytes())


def in_8_bits(tensors):
    """Returns the tensors, with each matrix as int8 and a scale for each row: NAME.scale [rows] f16."""
    out = {}
    for name, array in tensors.items():
        if array.ndim != 2:
            out[name] = array
            continue
        values = array.astype(np.float32)
        scale = (np.maximum(np.abs(values).max(1), 1e-6) / 127).astype(np.float16)
        scaled = values / scale[:, None].astype(np.float32)
        out[name], out[name + ".scale"] = np.clip(np.rint(scaled), -127, 127).astype(np.int8), scale
    return out


def read_safetensors(path):
    """Returns the arrays of a file by name; matrices of in_8_bits() are converted to float32."""
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            first, last = (8 + size + o for o in entry["data_offsets"])
            out[name] = np.frombuffer(data[first:last], DTYPES[entry["dtype"]]).reshape(
                entry["shape"])
    for name in [n for n in out if n + ".scale" in out]:
        out[name] = out[name] * out.pop(name + ".scale").astype(np.float32)[:, None]
    return out


def nearest(pitch):
    """Returns for each speaker the index of the nearest mean pitch in `pitch` [n], ln Hz."""
    return (PITCH_MEANS[:, None] - pitch).abs().argmin(-1)


def begun_as(rows):
    """Returns the rows [SPEAKERS, n] of the speakers. A speaker in `begin_as` of speakers.json gets another's row."""
    names, rows = list(TEACHERS.values()), rows.clone()
    for name, other in VOICES.get("begin_as", {}).items():
        rows[names.index(name)] = rows[names.index(other)]
    return rows


def load_known(module, scope, tensors, begins=False):
    """Loads the tensors of the module that were exported under `scope`. If the exported speakers differ, each
    speaker gets the row of the exported speaker with the nearest pitch. With `begins`, rows of the same speakers follow `begin_as`."""
    state = module.state_dict()
    for k in state:
        if scope + k in tensors:
            value = torch.tensor(tensors[scope + k].astype(np.float32))
            if "speaker" in k and value.shape != state[k].shape:
                value = value[nearest(torch.tensor(tensors["decoder.speaker.pitch"]))]
            elif "speaker" in k and begins:
                value = begun_as(value)
            state[k] = value[:, 0].t().contiguous() if k.endswith("conv.weight") else value
    module.load_state_dict(state)


@torch.no_grad()
def at_this_rate(tensors, rate):
    """Converts the tensors of a voice or its encoder, learned at `rate` samples a second, to a start at RATE.
    Bins have the same width at any rate; bins above the known ones repeat the last known bin."""
    out, louder = dict(tensors), np.log(RATE / rate)  # windows of 32 ms have more samples
    if "encoder.inp.weight" in out:
        weight = out["encoder.inp.weight"].astype("f4")
        known = weight.shape[1] // 4 - 2
        weight = weight.reshape(len(weight), 4, known + 2)
        at = np.interp(mel_edges(known, rate)[1:-1], mel_edges(MELS, RATE)[1:-1], np.arange(MELS))
        turn = np.zeros((known + 2, MELS + 2), "f4")
        for band, place in enumerate(at):
            low = min(int(place), MELS - 2)
            turn[band, low], turn[band, low + 1] = low + 1 - place, place - low
        turn[known, MELS] = turn[known + 1, MELS + 1] = 1  # pitch and voicing
        out["encoder.inp.weight"] = (weight @ turn).reshape(len(weight), -1)
        out["encoder.inp.bias"] = (out["encoder.inp.bias"].astype("f4")
                                   - weight[..., :known].sum((1, 2)) * louder / 2)
    if "decoder.head.weight" in out:
        for name, offset in (("weight", (0, 0, 0)), ("bias", (louder / 2, 0, louder))):
            known = out[f"decoder.head.{name}"].astype("f4")
            parts = known.reshape(3, len(known) // 3, -1)  # pulse gain, pulse phase, noise gain
            more = np.repeat(parts[:, -1:], max(0, codec.BINS - parts.shape[1]), 1)
            parts = np.concatenate([parts, more], 1)[:, : codec.BINS]
            parts = parts + np.array(offset, "f4")[:, None, None]
            out[f"decoder.head.{name}"] = parts.reshape(3 * codec.BINS, *known.shape[1:])
    return out


def pace_of(folder, tensors):
    """Returns the pace [SPEAKERS] of a voice folder with these tensors. Other speakers get that of the nearest
    pitch."""
    known = json.loads((Path(folder) / "config.json").read_text())
    pace = torch.tensor([s.get("pace", 1.0) for s in known.get("speakers", [{}])])
    if len(pace) == len(PITCH_MEANS):
        return pace
    pitch = torch.tensor(tensors.get("decoder.speaker.pitch", [known["decoder"]["pitch_mean"]]))
    return pace[nearest(pitch)]


def from_folder(folder):
    """Returns the networks of a voice folder as from_tensors() does, with the speakers' pace of its
    config.json."""
    tensors = read_safetensors(Path(folder) / "model.safetensors")
    networks = from_tensors(tensors)
    known = json.loads((Path(folder) / "config.json").read_text())
    networks[0].pace.copy_(pace_of(folder, tensors))
    networks[0].speeds = known.get("speeds", networks[0].speeds)
    return networks


def from_tensors(tensors):
    """Returns the two networks with exactly the exported tensors: (speech LM, decoder, books)."""
    speech_lm, decoder = lm.SpeechLm(), codec.Decoder()
    if "lm.speaker.weight" not in tensors:  # a voice of one speaker
        with torch.no_grad():
            speech_lm.speaker.weight.zero_()
            speech_lm.speed.zero_()
    load_known(speech_lm, "lm.", tensors)
    load_known(decoder, "decoder.", tensors)
    if "decoder.speaker.gain" in tensors:
        decoder.gain = torch.tensor(tensors["decoder.speaker.gain"])
    books = torch.stack([torch.tensor(tensors[f"decoder.book.{b}"].astype(np.float32))
                         for b in range(codec.BOOKS)])
    return speech_lm.eval(), decoder.eval(), books


def encoder_of(path):
    """Returns the encoder in a file that export.py wrote."""
    encoder = codec.Encoder()
    load_known(encoder, "encoder.", read_safetensors(path))
    return encoder.eval()
