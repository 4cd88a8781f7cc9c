"""Writes an evaluation as a single HTML file: tables, recordings and spectrograms."""
import base64
import html
import io
import struct
import wave
import zlib

import numpy as np

from corpus import HOP, N_FFT, RATE

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;
color-scheme:light dark}table{border-collapse:collapse}td,th{padding:.3rem .7rem;text-align:right;
border-bottom:1px solid #8886}td:first-child,th:first-child{text-align:left}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(16rem,1fr));gap:1rem;margin-bottom:2rem}img{width:100%;
image-rendering:auto}audio{width:100%}"""


def shown(value):
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def data_uri(kind, data):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def wav_bytes(samples, rate=RATE):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return out.getvalue()


def png_bytes(grey):
    """Returns an image [H, W] of values 0 to 255 as PNG."""
    rows = np.pad(grey.astype(np.uint8), ((0, 0), (1, 0)))  # each row begins with filter 0
    chunk = lambda kind, data: (struct.pack(">I", len(data)) + kind + data
                                + struct.pack(">I", zlib.crc32(kind + data)))
    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def spectrogram(samples):
    """Returns a spectrogram: frequencies upwards, 5 ms a column, 60 dB from black to white."""
    size = RATE // 40
    samples = np.pad(np.asarray(samples), (size // 2, size // 2))
    starts = np.arange(0, len(samples) - size, HOP // 2)
    blocks = np.stack([samples[s : s + size] for s in starts]) * np.hanning(size)
    level = 20 * np.log10(np.abs(np.fft.rfft(blocks, N_FFT)) + 1e-4)
    return 255 * np.clip((level - level.max()) / 60 + 1, 0, 1)[:, ::-1].T


def table(figures):
    names = list(figures)
    rows = "".join(
        f"<tr><td>{html.escape(key)}</td>"
        + "".join(f"<td>{html.escape(shown(figures[n][key]))}</td>" for n in names) + "</tr>"
        for key in figures[names[0]])
    head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
    return f"<table><tr><th></th>{head}</tr>{rows}</table>"


def recording(title, samples):
    return (f"<div>{html.escape(title)}<audio controls preload=none "
            f"src='{data_uri('audio/wav', wav_bytes(samples))}'></audio>"
            f"<img alt='spectrogram' src='{data_uri('image/png', png_bytes(spectrogram(samples)))}'>"
            "</div>")


def write(path, figures, examples):
    """Writes the report. figures: speaker -> {name: value}; examples: speaker -> [(text, {title: samples or
    None})]."""
    parts = [f"<!doctype html><meta charset=utf-8><title>finch, measured</title>"
             f"<style>{STYLE}</style><h1>finch, measured</h1>{table(figures)}"]
    for speaker, sentences in examples.items():
        parts.append(f"<h2>{html.escape(speaker)}</h2>")
        for text, waves in sentences:
            shown_waves = "".join(recording(*pair) for pair in waves.items() if pair[1] is not None)
            parts.append(f"<p>{html.escape(text)}</p><div class=pair>{shown_waves}</div>")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(parts))
