"""Measures the pitch of recordings, how periodic bands are, and the long-term spectrum."""
import numpy as np
from scipy.signal import butter, medfilt, resample_poly, sosfiltfilt

from corpus import HOP, RATE

LOWEST, HIGHEST = 60, 400   # Hz
WINDOW = RATE // 25         # samples: 40 ms
VOICED = 0.4                # smallest similarity of two periods of voiced speech
FINE = 4                    # factor of RATE at which a period is searched in a high band


def band(wave, low, high):
    return sosfiltfilt(butter(4, (low, high), btype="bandpass", fs=RATE, output="sos"), wave)


def pitch(wave):
    """Returns the pitch in Hz at 100 Hz, 0 where unvoiced: the lag at which 25 ms are most similar."""
    lags = np.arange(RATE // HIGHEST, RATE // LOWEST)
    size, steps = RATE // 40, len(wave) // HOP
    padded = np.pad(wave, (size // 2, size + lags[-1]))
    at = np.arange(steps)[:, None] * HOP + np.arange(size + lags[-1])
    windows = padded[at]
    head = windows[:, :size]
    energy = np.cumsum(np.pad(windows ** 2, ((0, 0), (1, 0))), 1)
    cross = np.fft.irfft(np.fft.rfft(windows, 2048) * np.conj(np.fft.rfft(head, 2048)))[:, lags]
    alike = cross / np.sqrt(energy[:, [size]] * (energy[:, lags + size] - energy[:, lags]) + 1e-9)
    alike -= 0.05 * lags / lags[-1]  # prefers a period to its double
    best = alike.argmax(-1)
    loud = np.sqrt(energy[:, size] / size)
    voiced = (alike.max(-1) > VOICED) & (loud > 0.03 * loud.max())
    hz = RATE / lags[best]
    usual = np.median(hz[voiced]) if voiced.any() else 0
    voiced &= (hz > usual / 1.9) & (hz < usual * 1.9)  # removes octave errors
    return np.round(medfilt(np.where(voiced, hz, 0.0), 3)).astype(int)


def heard_pitch(wave, rate=RATE):
    """Returns the pitch in Hz at 100 Hz at the middle of each step, 0 where unvoiced, as Praat finds it (package
    praat-parselmouth). A second pass searches around the median of the first, so that it finds fewer octave errors. The
    thresholds are lower than Praat's usual ones, because sentences end in a creak."""
    import parselmouth
    sound, steps = parselmouth.Sound(np.asarray(wave, float), rate), len(wave) * 100 // rate

    def track(low, high):
        found = sound.to_pitch_ac(0.01, low, silence_threshold=0.01, voicing_threshold=0.3, pitch_ceiling=high)
        at = np.round((np.arange(steps) + 0.5) - found.xs()[0] * 100).astype(int)
        hz = found.selected_array["frequency"]
        return np.where((at >= 0) & (at < len(hz)), hz[np.clip(at, 0, len(hz) - 1)], 0)

    first = track(LOWEST, HIGHEST)
    usual = np.median(first[first > 0]) if first.any() else 150
    return track(0.45 * usual, 2.2 * usual)


def spread(tracks):
    """Returns the standard deviation of the pitch in half-tones, over all voiced windows without outliers."""
    tones = np.concatenate([12 * np.log2(t[t > 0] / 100) for t in tracks])
    return float(np.std(tones[np.abs(tones - np.median(tones)) < 9]))


def harmonics_to_noise(waves, tracks, low, high):
    """Returns the dB of a band: the mean over voiced windows of the power that repeats after a period, relative
    to the rest."""
    ratios = []
    for wave, track in zip(waves, tracks):
        fine = resample_poly(band(np.asarray(wave, float), low, high), FINE, 1)
        for step in np.flatnonzero(track)[::3]:
            at, period = step * HOP * FINE, FINE * RATE / track[step]
            lags = np.arange(int(period * 0.96), int(period * 1.04) + 2)
            size = WINDOW * FINE // 2
            if at + size + lags[-1] >= len(fine):
                continue
            here = fine[at : at + size]
            then = np.lib.stride_tricks.sliding_window_view(
                fine[at + lags[0] : at + lags[-1] + size], size)
            alike = then @ here / np.sqrt((then**2).sum(1) * (here**2).sum() + 1e-12)
            share = np.clip(alike.max(), 0.01, 0.999)
            ratios.append(10 * np.log10(share / (1 - share)))
    return float(np.mean(ratios)) if ratios else float("nan")


def spectrum(waves, size=2048):
    """Returns (Hz [K], mean power [K]) of all windows that are not silent."""
    total, hz = 0.0, np.fft.rfftfreq(size, 1 / RATE)
    for wave in waves:
        blocks = np.asarray(wave)[: len(wave) // size * size].reshape(-1, size) * np.hanning(size)
        total = total + (np.abs(np.fft.rfft(blocks)) ** 2).sum(0)
    return hz, total


def energy_below(waves, part=0.99):
    """Returns the frequency in Hz below which this share of the energy is."""
    hz, power = spectrum(waves)
    return float(hz[np.searchsorted(np.cumsum(power) / power.sum(), part)])
