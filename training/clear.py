"""Measures how clearly speech contains its phones, by a simple recogniser: a Gaussian for each phone of each
speaker, in the space in which phones are farthest apart (R. Haeb-Umbach and H. Ney, Linear discriminant
analysis for improved large vocabulary continuous speech recognition, 1992). It is computed from the corpus in
some seconds, without training.
"""
import torch
import torch.nn.functional as F

from corpus import HOP, N_FFT, RATE, SPEAKERS, mel_edges, mel_filters

MELS = 40                                # number of mel bands, as in ear_loss (train_codec.py)
HEARD = int((mel_edges(MELS, RATE)[2:] <= 6800).sum())  # bands below 6.8 kHz, which all teachers have
AROUND = (-6, -4, -2, 0, 2, 4, 6)        # steps of 10 ms that are used together: 120 ms, a phone and its neighbours
SIZE = 39                                # dimensions of the space: as many as recognisers compute from 13 cepstra
WINDOWS, BATCH, FRAMES = 3500, 20, 33    # windows of the corpus from which the space is computed: 77 minutes
MOST_DOUBT = 8.0                         # limit of a doubt: at the beginning of a training it would be hundreds
FILTERS, WINDOW = mel_filters(N_FFT, RATE, MELS)[:, :HEARD], torch.hann_window(N_FFT)
CONSONANTS, VOWELS = 5, 29               # first numbers of consonants and vowels in phone_stream.cc
KINDS = 1 + VOWELS - CONSONANTS + 16


def kind_of(phone):
    """Converts numbers of phone_stream.cc to numbers of phones: all pauses are one phone, and so is a vowel
    with and without stress."""
    vowel = VOWELS - CONSONANTS + 1 + (phone - VOWELS) // 2
    return torch.where(phone < CONSONANTS, 0, torch.where(phone < VOWELS, phone - CONSONANTS + 1, vowel))


def heard(wave):
    """Returns for wave [B, N] the ln amplitudes around each step of 10 ms: [B, steps, 7 HEARD]. Omits the steps
    that lack neighbours, so the first step is -AROUND[0]."""
    power = torch.stft(wave, N_FFT, HOP, window=WINDOW, return_complex=True).abs().pow(2) / N_FFT
    bands = 0.5 * torch.log(power.transpose(1, 2) @ FILTERS + 1e-7)
    count = bands.shape[1] - AROUND[-1] + AROUND[0]
    return torch.cat([bands[:, lag - AROUND[0] :][:, :count] for lag in AROUND], -1)


class Clear:
    """The space and its phones: the `axes` [7 HEARD, SIZE], along which a phone has the variance 1; the `means`
    [SPEAKERS, KINDS, SIZE] of the phones; the `odds` [SPEAKERS, KINDS], the ln of how frequent each phone
    is."""

    @torch.no_grad()
    def __init__(self, corpus, rng):
        """Computes the space from windows of `corpus` (a Corpus)."""
        rows, kinds = [], []
        for _ in range(WINDOWS // BATCH):
            wave, _, _, phone, speaker = corpus.windows(corpus.starts(rng, BATCH, FRAMES), FRAMES)
            y = heard(wave)
            rows.append(y.flatten(0, 1))
            kinds.append((self.kinds(phone, y.shape[1]) + KINDS * self.steps(speaker, y.shape[1])).flatten())
        x, kind = torch.cat(rows), torch.cat(kinds)
        count = torch.bincount(kind, minlength=SPEAKERS * KINDS).float()[:, None]
        means = torch.zeros(SPEAKERS * KINDS, x.shape[1]).index_add_(0, kind, x) / count.clamp(min=1)
        self.centre = x.mean(0)
        within = (x - means[kind]).t() @ (x - means[kind]) / len(x)
        values, vectors = torch.linalg.eigh(within)
        white = vectors / (values + 1e-4).sqrt()
        apart = ((means - self.centre) * count.sqrt()) @ white
        _, across = torch.linalg.eigh(apart.t() @ apart)
        self.axes = white @ across[:, -SIZE:]
        self.means = ((means - self.centre) @ self.axes).reshape(SPEAKERS, KINDS, SIZE)
        self.odds = torch.log(count + 0.1).reshape(SPEAKERS, KINDS)

    @staticmethod
    def steps(values, count):
        """Converts values of frames to values of the steps that heard() returns."""
        return values.repeat_interleave(4, 1)[:, -AROUND[0] :][:, :count]

    def kinds(self, phone, count):
        return self.steps(kind_of(phone[..., 0]), count)

    def losses(self, made, true, phone, speaker):
        """Compares made and true samples [B, N], with phone [B, T, 3] and speaker [B, T]. Returns {"clear":
        their mean distance in the space, "doubt": -ln of the phone's probability in made, where this phone is
        the likeliest one in true}."""
        a, b = ((heard(x) - self.centre) @ self.axes for x in (made, true))
        kind, who = self.kinds(phone, a.shape[1]), self.steps(speaker, a.shape[1])
        score = lambda y: self.odds[who] - 0.5 * (y[:, :, None] - self.means[who]).pow(2).sum(-1)
        sure = (score(b).argmax(-1) == kind).float()
        doubt = F.cross_entropy(score(a).flatten(0, 1), kind.flatten(), reduction="none").clamp(max=MOST_DOUBT)
        return {"clear": (a - b).abs().mean(), "doubt": (doubt * sure.flatten()).sum() / sure.sum().clamp(min=1)}
