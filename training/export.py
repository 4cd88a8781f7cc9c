"""Writes a voice folder from the trained tensors: model.safetensors (f16) and config.json.

    python3 export.py LM.pt DECODER.pt SPOKEN_DIR VOICE_DIR [ENCODER.safetensors]

The encoder is not part of a voice. own_voice.sh needs it to compute codes of a person's recordings.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch

import codec
import lm
from corpus import PITCH_MEANS, PITCH_STD, RATE, SPEAKERS, TEACHERS, VOICES
from evaluate import one_speaker, sentences_of, speak
from infer import load_codec, load_lm
from measure import loudness
from voice_file import from_tensors, in_8_bits, write_safetensors

# The numbers in src/families/finch/phone_stream.cc; the server refuses any other list.
PHONE_NAMES = (
    "pad pau.start pau.mid pau.end pau.rise b ch d dh f g hh jh k l m n ng p r s sh t th v w y z "
    "zh aa aa1 ae ae1 ah ah1 ao ao1 aw aw1 ax ax1 ay ay1 eh eh1 er er1 ey ey1 ih ih1 iy iy1 ow "
    "ow1 oy oy1 uh uh1 uw uw1").split()
SAFE_SPEEDS = (0.66, 1.75)  # of the speeds in training: slower ones made pointers stop


def named(module, scope):
    """Returns a module's tensors in f16. The taps of depthwise convolutions become torch's [D, 1, taps]."""
    turn = lambda k, v: v.t()[:, None] if k.endswith("conv.weight") else v
    return {scope + k: turn(k, v).numpy().astype(np.float16)
            for k, v in module.state_dict().items()}


def to_tensors(speech_lm, trained_codec):
    """Returns the tensors with the names that src/families/finch reads."""
    tensors = {**named(speech_lm, "lm."), **named(trained_codec.decoder, "decoder.")}
    unheard = ("decoder.mel.", "lm.pace")  # used by a loss only; stored in config.json
    tensors = {k: v for k, v in tensors.items() if not k.startswith(unheard)}
    for book in range(codec.BOOKS):
        tensors[f"decoder.book.{book}"] = trained_codec.quantiser.books[book].numpy().astype("f2")
    tensors["decoder.speaker.pitch"] = PITCH_MEANS.numpy()
    tensors["decoder.speaker.gain"] = np.zeros(SPEAKERS, np.float32)
    return tensors


def level(tensors, spoken):
    """Sets the gains of the speakers so that each is as loud as its teacher, measured on some sentences of
    stop.TEACHER in the folder `spoken`."""
    voice, gains = from_tensors(tensors), []
    for speaker, teacher in enumerate(TEACHERS):
        records, waves = sentences_of(spoken, teacher, 25)
        made, _, _ = speak(voice, records, one_speaker(speaker))
        gap = np.mean([loudness(a) - loudness(b) for a, b in zip(waves, made)])
        gains.append(gap * np.log(10) / 20)
        print(f"{teacher}: {gap:+.1f} dB")
    tensors["decoder.speaker.gain"] = np.array(gains, np.float32)


def about(index, pace):
    name = list(TEACHERS.values())[index]
    said = {"name": name, "description": VOICES["descriptions"][name]}
    return said if pace == 1 else {**said, "pace": round(float(pace), 4)}


def config(pace, decoder, temperature):
    return {
        "model_type": "finch", "voice": VOICES["default"],
        "licence": "CMU flite (permissive), notices of hibari and Kokoro-82M (Apache-2.0); see LICENSE",
        "speakers": [about(index, p) for index, p in enumerate(pace)],
        "speeds": SAFE_SPEEDS,
        "sample_rate": RATE,
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
                    "pitch_mean": round(float(PITCH_MEANS[0]), 4), "pitch_std": PITCH_STD},
        "phones": PHONE_NAMES,
    }


def main(lm_path, decoder_path, spoken, out, encoder_out=None, temperature=(0.2, 0.4, 0.4)):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    trained = load_codec(decoder_path)
    speech_lm = load_lm(lm_path)
    tensors = to_tensors(speech_lm, trained)
    level(tensors, spoken)
    write_safetensors(out / "model.safetensors", tensors, {"format": "pt"})
    if encoder_out:
        pitch = {"decoder.speaker.pitch": PITCH_MEANS.numpy()}
        write_safetensors(encoder_out, in_8_bits({**named(trained.encoder, "encoder."), **pitch}),
                          {"format": "pt"})
    text = json.dumps(config(speech_lm.pace, trained.decoder, temperature), indent=2)
    (out / "config.json").write_text(text + "\n")
    count = sum(v.size for v in tensors.values())
    print(f"{out}: {count / 1e6:.2f} M numbers, "
          f"{(out / 'model.safetensors').stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:6])
