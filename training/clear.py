"""How clearly speech says its phones, as a simple recogniser hears it: a Gaussian for each phone of each speaker in
the space where phones lie furthest apart (R. Haeb-Umbach and H. Ney, Linear discriminant analysis for improved large
vocabulary continuous speech recognition, 1992). It is found from the corpus in some seconds, without any training.
"""
import torch
import torch.nn.functional as F

from corpus import HOP, N_FFT, RATE, SPEAKERS, mel_edges, mel_filters

MELS = 40                                # bands of ear_loss (train_codec.py), as many of them as ...
HEARD = int((mel_edges(MELS, RATE)[2:] <= 6800).sum())  # ... end below 6.8 kHz: every teacher sounds there
AROUND = (-6, -4, -2, 0, 2, 4, 6)        # steps of 10 ms that are heard together: 120 ms, a phone and its neighbours
SIZE = 39                                # of the space: as many numbers as recognisers make of 13 cepstra
WINDOWS, BATCH, FRAMES = 3500, 20, 33    # of the corpus that it is found from: 77 minutes
MOST_DOUBT = 8.0                         # of what is no speech yet it would be hundreds and drown all other losses
FILTERS, WINDOW = mel_filters(N_FFT, RATE, MELS)[:, :HEARD], torch.hann_window(N_FFT)
CONSONANTS, VOWELS = 5, 29               # their first numbers in phone_stream.cc; pauses come before them
KINDS = 1 + VOWELS - CONSONANTS + 16


def kind_of(phone):
    """Numbers of phone_stream.cc -> of phones: all pauses are one, and so is a vowel with and without stress."""
    vowel = VOWELS - CONSONANTS + 1 + (phone - VOWELS) // 2
    return torch.where(phone < CONSONANTS, 0, torch.where(phone < VOWELS, phone - CONSONANTS + 1, vowel))


def heard(wave):
    """wave [B, N] -> [B, steps, 7 HEARD]: the ln amplitudes around each step of 10 ms, those left out that lack
    neighbours. The first is step -AROUND[0]."""
    power = torch.stft(wave, N_FFT, HOP, window=WINDOW, return_complex=True).abs().pow(2) / N_FFT
    bands = 0.5 * torch.log(power.transpose(1, 2) @ FILTERS + 1e-7)
    count = bands.shape[1] - AROUND[-1] + AROUND[0]
    return torch.cat([bands[:, lag - AROUND[0] :][:, :count] for lag in AROUND], -1)


class Clear:
    """`axes` [7 HEARD, SIZE] along which a phone varies by 1, `means` [SPEAKERS, KINDS, SIZE] of the phones there and
    `odds` [SPEAKERS, KINDS], ln of how often they come."""

    @torch.no_grad()
    def __init__(self, corpus, rng):
        """corpus: a Corpus."""
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
        """Of frames -> of the steps that heard() gives."""
        return values.repeat_interleave(4, 1)[:, -AROUND[0] :][:, :count]

    def kinds(self, phone, count):
        return self.steps(kind_of(phone[..., 0]), count)

    def losses(self, made, true, phone, speaker):
        """made and true [B, N], phone [B, T, 3] and speaker [B, T] -> {"clear": how far they are apart in that space,
        "doubt": -ln of how sure a listener is of the phone in made where in true it is the likeliest}."""
        a, b = ((heard(x) - self.centre) @ self.axes for x in (made, true))
        kind, who = self.kinds(phone, a.shape[1]), self.steps(speaker, a.shape[1])
        score = lambda y: self.odds[who] - 0.5 * (y[:, :, None] - self.means[who]).pow(2).sum(-1)
        sure = (score(b).argmax(-1) == kind).float()
        doubt = F.cross_entropy(score(a).flatten(0, 1), kind.flatten(), reduction="none").clamp(max=MOST_DOUBT)
        return {"clear": (a - b).abs().mean(), "doubt": (doubt * sure.flatten()).sum() / sure.sum().clamp(min=1)}
