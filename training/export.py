"""Writes a voice folder from the trained tensors: model.safetensors (f16) and config.json.

    python3 export.py LM.pt DECODER.pt SPOKEN_DIR VOICE_DIR [ENCODER.safetensors]

The encoder is not part of a voice; own_voice.sh needs it for codes of a person's recordings.
"""
import json
import struct
import sys
from pathlib import Path

import numpy as np
import torch

import codec
import lm
from corpus import PITCH_MEANS, PITCH_STD, SPEAKERS, TEACHERS, VOICES
from infer import load_codec, load_lm
from sentences import SPEEDS

# As src/families/finch/phone_stream.cc numbers them; the server refuses any other list.
PHONE_NAMES = (
    "pad pau.start pau.mid pau.end pau.rise b ch d dh f g hh jh k l m n ng p r s sh t th v w y z "
    "zh aa aa1 ae ae1 ah ah1 ao ao1 aw aw1 ax ax1 ay ay1 eh eh1 er er1 ey ey1 ih ih1 iy iy1 ow "
    "ow1 oy oy1 uh uh1 uw uw1").split()
CONTRAST = 0.3  # codec.sharpener(), of the pulses' gains; of 0, 0.3 and 0.7 the fewest word errors of crake
DTYPES = {"F16": np.float16, "F32": np.float32, "I32": np.int32, "I16": np.int16}


def write_safetensors(path, tensors, metadata):
    """tensors: name -> numpy array of a type in DTYPES."""
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


def read_safetensors(path):
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            first, last = (8 + size + o for o in entry["data_offsets"])
            out[name] = np.frombuffer(data[first:last], DTYPES[entry["dtype"]]).reshape(
                entry["shape"])
    return out


def named(module, scope):
    """A module's tensors in f16. Depthwise taps become torch's [D, 1, taps]."""
    turn = lambda k, v: v.t()[:, None] if k.endswith("conv.weight") else v
    return {scope + k: turn(k, v).numpy().astype(np.float16)
            for k, v in module.state_dict().items()}


@torch.no_grad()
def sharpen(decoder, matrix):
    """What `matrix` does to the ln gains of the pulses becomes part of the head's weights."""
    weight, bias = decoder.head.weight[: codec.BINS], decoder.head.bias[: codec.BINS]
    weight.copy_(matrix @ weight)
    bias.copy_(matrix @ bias)


def to_tensors(speech_lm, trained_codec):
    """The names that src/families/finch reads."""
    sharpen(trained_codec.decoder, codec.sharpener(CONTRAST))
    tensors = {**named(speech_lm, "lm."), **named(trained_codec.decoder, "decoder.")}
    tensors = {k: v for k, v in tensors.items() if not k.startswith("decoder.mel.")}  # a loss only
    for book in range(codec.BOOKS):
        tensors[f"decoder.book.{book}"] = trained_codec.quantiser.books[book].numpy().astype("f2")
    tensors["decoder.speaker.pitch"] = PITCH_MEANS.numpy()
    tensors["decoder.speaker.gain"] = np.zeros(SPEAKERS, np.float32)
    return tensors


def level(tensors, spoken):
    """Sets the speakers' gains so that each is as loud as its teacher, on some sentences of
    stop.TEACHER in the folder `spoken`."""
    from evaluate import one_speaker, speak, sentences_of as sentences  # which reads voices itself
    from measure import loudness
    voice, gains = from_tensors(tensors), []
    for speaker, teacher in enumerate(TEACHERS):
        records, waves = sentences(spoken, teacher, 25)
        made, _, _ = speak(voice, records, one_speaker(speaker))
        gap = np.mean([loudness(a) - loudness(b) for a, b in zip(waves, made)])
        gains.append(gap * np.log(10) / 20)
        print(f"{teacher}: {gap:+.1f} dB")
    tensors["decoder.speaker.gain"] = np.array(gains, np.float32)


def load_known(module, scope, tensors):
    """Those of the module's tensors that were exported under `scope`. Each of other speakers than
    the exported ones takes the row of the one whose pitch is nearest."""
    state = module.state_dict()
    for k in state:
        if scope + k in tensors:
            value = torch.tensor(tensors[scope + k].astype(np.float32))
            if "speaker" in k and value.shape != state[k].shape:
                pitch = torch.tensor(tensors["decoder.speaker.pitch"])
                value = value[(PITCH_MEANS[:, None] - pitch).abs().argmin(-1)]
            state[k] = value[:, 0].t().contiguous() if k.endswith("conv.weight") else value
    module.load_state_dict(state)


def from_tensors(tensors):
    """The two networks with exactly the exported tensors: (speech LM, decoder, books)."""
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


def config(decoder, temperature):
    return {
        "model_type": "finch", "voice": VOICES["default"],
        "licence": "CMU flite (permissive), see LICENSE",
        "speakers": [{"name": name, "description": VOICES["descriptions"][name]}
                     for name in TEACHERS.values()],
        "speeds": SPEEDS,
        "sample_rate": 16000,
        "lm": {"codes": codec.CODES, "hidden_size": lm.WIDTH, "num_hidden_layers": lm.LAYERS,
               "num_attention_heads": lm.HEADS, "head_dim": lm.HEAD_DIM,
               "intermediate_size": lm.HIDDEN, "ages": lm.AGES, "by_word": True, "rope_theta": lm.ROPE_BASE,
               "max_position_embeddings": 2304, "temperature": list(temperature)},
        "decoder": {"latent_size": codec.LATENT,
                    "low_width": decoder.up.in_features, "low_layers": len(decoder.low),
                    "low_ffn": decoder.low[0].up.out_features, "low_taps": decoder.low[0].conv.taps,
                    "high_width": decoder.head.in_features, "high_layers": len(decoder.high),
                    "high_ffn": decoder.high[0].up.out_features,
                    "high_taps": decoder.high[0].conv.taps,
                    "contrast": CONTRAST,
                    "pitch_mean": round(float(PITCH_MEANS[0]), 4), "pitch_std": PITCH_STD},
        "phones": PHONE_NAMES,
    }


def main(lm_path, decoder_path, spoken, out, encoder_out=None, temperature=(0.4, 0.4, 0.4)):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    trained = load_codec(decoder_path)
    tensors = to_tensors(load_lm(lm_path), trained)
    level(tensors, spoken)
    write_safetensors(out / "model.safetensors", tensors, {"format": "pt"})
    if encoder_out:
        pitch = {"decoder.speaker.pitch": PITCH_MEANS.numpy()}
        write_safetensors(encoder_out, {**named(trained.encoder, "encoder."), **pitch},
                          {"format": "pt"})
    text = json.dumps(config(trained.decoder, temperature), indent=2)
    (out / "config.json").write_text(text + "\n")
    count = sum(v.size for v in tensors.values())
    print(f"{out}: {count / 1e6:.2f} M numbers, "
          f"{(out / 'model.safetensors').stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:6])
