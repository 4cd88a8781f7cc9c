"""Measures recordings for evaluate.py: loudness, leading silence, borders of chunks."""
import numpy as np
from scipy.signal import lfilter

from corpus import FRAME, HOP, N_FFT, RATE

BLOCK = RATE // 200  # samples of 5 ms
SILENCE = 0.01  # share of the loudest 5 ms, as in synth.cc
CHUNK_FRAMES = (1, 4)  # frames of the server's first chunk, and of its later chunks


def k_weighted(wave):
    """Applies the two filters of ITU-R BS.1770, computed from their analogue prototypes."""
    k, q = np.tan(np.pi * 1681.974450955533 / RATE), 0.7071752369554196
    high = 10 ** (3.999843853973347 / 20)
    band, n = high ** 0.4996667741545416, 1 + k / q + k * k
    shelf = lfilter([(high + band * k / q + k * k) / n, 2 * (k * k - high) / n,
                     (high - band * k / q + k * k) / n],
                    [1, 2 * (k * k - 1) / n, (1 - k / q + k * k) / n], wave)
    k, q = np.tan(np.pi * 38.13547087602444 / RATE), 0.5003270373238773
    n = 1 + k / q + k * k
    return lfilter([1, -2, 1], [1, 2 * (k * k - 1) / n, (1 - k / q + k * k) / n], shelf)


def loudness(wave):
    """Returns the LUFS of a mono recording in [-1, 1]: blocks of 400 ms, gated at -70 LUFS and at 10 LU below
    the mean."""
    power = np.concatenate([[0], np.cumsum(k_weighted(np.asarray(wave)) ** 2)])
    size = min(RATE * 2 // 5, len(power) - 1)
    first = np.arange(0, len(power) - size, RATE // 10)
    blocks = (power[first + size] - power[first]) / size
    blocks = blocks[blocks > 10 ** ((-70 + 0.691) / 10)]
    if not len(blocks):
        return -70.0
    return -0.691 + 10 * np.log10(blocks[blocks > blocks.mean() / 10].mean())


def lead(wave):
    """Returns the seconds before the first sound."""
    wave = np.asarray(wave)
    blocks = wave[: len(wave) // BLOCK * BLOCK].reshape(-1, BLOCK)
    level = np.sqrt((blocks ** 2).mean(-1))
    return int(np.argmax(level > SILENCE * level.max())) * BLOCK / RATE


def flux(wave):
    """Returns the spectral flux [n] at the end of hop i: the change of the spectrum within 10 ms."""
    wave = np.asarray(wave)
    steps = len(wave) // HOP
    blocks = wave[: steps * HOP].reshape(steps, HOP) * np.hanning(HOP)
    spectra = np.log(np.abs(np.fft.rfft(blocks, N_FFT // 2)) + 1e-3)
    return np.abs(np.diff(spectra, axis=0)).mean(-1)


def seams(waves):
    """Returns (mean flux at the borders of chunks, mean flux at the other borders of frames)."""
    border, inside = [], []
    for wave in waves:
        values = flux(wave)
        for frame in range(1, len(wave) // FRAME):
            at_chunk = (frame - CHUNK_FRAMES[0]) % CHUNK_FRAMES[1] == 0
            (border if at_chunk else inside).append(values[frame * 4 - 1])
    return float(np.mean(border)), float(np.mean(inside))
