"""The codec: 25 frames a second, 3 residual codebooks of 256, and a causal decoder.

Only training uses the encoder and the quantiser. Beside its codes, the decoder reads each frame's symbol and
its two neighbours, which the LM's pointer provides anyway. The encoder reads them, too, so that the codes
describe only how a sound is made, not which sound it is. The decoder's first layer looks one frame ahead; no
other layer does. It is a source-filter head on a small ConvNeXt trunk. Step i of the 100 Hz part makes one
window of three hops of 10 ms that begins at hop i, so T frames give exactly 4 T hops. Pulses are made from the
decoder's own pitch track. Step i adds the pulses of the newest hop of its window, i + 2.

The speaker is a row added to the first layer's output, another row added at 100 Hz, and a mean of the pitch.
All three are linear, so speakers can be mixed by weights.

Shapes: B batch, T codec frames, S = 4 T steps, K bins.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from corpus import HOP, MELS, N_FFT, PITCH_MEANS, PITCH_STD, RATE, SPEAKERS

BOOKS, CODES, LATENT = 3, 256, 32
PHONES = 61
WINDOW, BINS = 3 * HOP, N_FFT // 2 + 1
MAX_PULSES = 5  # per 10 ms; enough for 400 Hz
LOOKAHEAD = 1   # frames


class RmsNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Depthwise(nn.Module):
    """Depthwise convolution over time on [B, T, D]. Tap 0 is the oldest; outputs depend on `ahead` later
    frames."""

    def __init__(self, size, taps, ahead=0):
        super().__init__()
        self.taps, self.ahead = taps, ahead
        self.weight = nn.Parameter(torch.randn(taps, size) * (0.5 / taps) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        padded = F.pad(x, (0, 0, self.taps - 1 - self.ahead, self.ahead))
        length = x.shape[1]
        y = self.bias
        for tap in range(self.taps):
            y = y + padded[:, tap : tap + length] * self.weight[tap]
        return y


class ConvNext(nn.Module):
    def __init__(self, size, hidden, taps, ahead=0):
        super().__init__()
        self.conv = Depthwise(size, taps, ahead)
        self.norm = RmsNorm(size)
        self.up = nn.Linear(size, hidden)
        self.down = nn.Linear(hidden, size)
        nn.init.normal_(self.down.weight, std=0.3 / hidden ** 0.5)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(self.conv(x)))))


class Encoder(nn.Module):
    """Converts mel, pitch and voicing of 4 steps, and the symbols of the frame, to one latent per frame. Not
    part of a voice."""

    def __init__(self, size=256):
        super().__init__()
        self.inp = nn.Linear(4 * (MELS + 2), size)
        self.speaker = nn.Embedding(SPEAKERS, size)
        self.symbol = nn.ModuleList([nn.Embedding(PHONES, size) for _ in range(3)])
        self.blocks = nn.Sequential(*[ConvNext(size, 512, 3, 1) for _ in range(3)])
        self.out = nn.Sequential(RmsNorm(size), nn.Linear(size, LATENT))

    def forward(self, mel, pitch, speaker, phone):
        voiced = (pitch > 0).float()
        tone = voiced * normal_pitch(pitch, speaker)
        x = torch.cat([(mel + 3.0) / 2.0, tone[..., None], voiced[..., None]], -1)
        x = self.inp(x.reshape(x.shape[0], x.shape[1] // 4, -1)) + self.speaker(speaker)
        x = x + sum(table(phone[..., i]) for i, table in enumerate(self.symbol))
        return self.out(self.blocks(x))


def normal_pitch(pitch, speaker):
    """Converts pitch [B, S] in Hz, with speaker [B, S / 4], to ln Hz relative to the speaker's mean."""
    mean = PITCH_MEANS[speaker].repeat_interleave(4, -1)
    return (torch.log(pitch.clamp(min=40)) - mean) / PITCH_STD


class Quantiser(nn.Module):
    """Residual vector quantiser with EMA codebooks; unused codes restart at random residuals."""

    def __init__(self):
        super().__init__()
        self.register_buffer("books", torch.randn(BOOKS, CODES, LATENT))
        self.register_buffer("count", torch.ones(BOOKS, CODES))
        self.register_buffer("total", torch.randn(BOOKS, CODES, LATENT))
        self.fixed = False

    def nearest(self, book, x):
        table = self.books[book]
        return (x @ table.t() * 2 - table.pow(2).sum(-1)).argmax(-1)

    def encode(self, z, beam=8):
        """Converts z [..., 32] to codes [..., 3]: the nearest codes found by a beam search with `beam`
        beginnings."""
        shape, rest = z.shape[:-1], z.reshape(-1, 1, LATENT)   # [N, beginnings, 32]
        codes = torch.zeros(len(rest), 1, 0, dtype=torch.long)
        for book in range(BOOKS):
            table = self.books[book]
            away = rest.pow(2).sum(-1, keepdim=True) - 2 * rest @ table.t() + table.pow(2).sum(-1)
            best = away.flatten(1).topk(beam if book < BOOKS - 1 else 1, largest=False).indices
            begin, code = best // CODES, best % CODES
            pick = lambda x: x.gather(1, begin[..., None].expand(-1, -1, x.shape[-1]))
            rest, codes = pick(rest) - table[code], torch.cat([pick(codes), code[..., None]], -1)
        return codes[:, 0].reshape(*shape, BOOKS)

    def decode(self, codes, used=BOOKS):
        return sum(self.books[book][codes[..., book]] for book in range(used))

    @torch.no_grad()
    def start(self, z):
        """Initialises the codebooks from the data: random latents, then random residuals."""
        residual = z.reshape(-1, LATENT)
        for book in range(BOOKS):
            pick = residual[torch.randint(len(residual), (CODES,))]
            self.books[book] = pick + torch.randn_like(pick) * 0.01
            for _ in range(10):
                code = self.nearest(book, residual)
                one = F.one_hot(code, CODES).float()
                count = one.sum(0)
                mean = one.t() @ residual / count.clamp(min=1)[:, None]
                self.books[book] = torch.where(count[:, None] > 0, mean, self.books[book])
            residual = residual - self.books[book][self.nearest(book, residual)]
        self.count.fill_(2.0)
        self.total.copy_(self.books * 2.0)

    @torch.no_grad()
    def update(self, book, code, residual, decay=0.99):
        one = F.one_hot(code, CODES).float()
        self.count[book].mul_(decay).add_(one.sum(0), alpha=1 - decay)
        self.total[book].mul_(decay).add_(one.t() @ residual, alpha=1 - decay)
        dead = self.count[book] < 0.03
        if dead.any():
            pick = residual[torch.randint(len(residual), (int(dead.sum()),))]
            self.count[book][dead] = 0.5
            self.total[book][dead] = pick * 0.5
        self.books[book] = self.total[book] / self.count[book][:, None]

    def forward(self, z, train_books):
        """Returns the latents, whose gradients pass straight through, and the loss. Uses train_books [B] books
        for each row."""
        residual, parts, loss = z, [], 0.0
        for book in range(BOOKS):
            flat = residual.detach().reshape(-1, LATENT)
            code = self.nearest(book, flat)
            part = self.books[book][code].view_as(z)
            if self.training and not self.fixed:
                self.update(book, code, flat)
            loss = loss + F.mse_loss(residual, part.detach())
            parts.append(part * (train_books > book).float()[:, None, None])
            residual = residual - part
        q = sum(parts)
        return z + (q - z).detach(), loss


class Decoder(nn.Module):
    """Converts latents to samples. Only `trunk` and the heads are learned; the rest is signal processing."""

    def __init__(self, low=256, high=192):
        super().__init__()
        self.phone = nn.ModuleList([nn.Embedding(PHONES, LATENT) for _ in range(3)])
        self.speaker = nn.ModuleDict({"low": nn.Embedding(SPEAKERS, low),
                                      "high": nn.Embedding(SPEAKERS, high)})
        for table in self.speaker.values():
            nn.init.zeros_(table.weight)
        self.gain = torch.zeros(SPEAKERS)  # ln of the gain; not learned, but computed by export.py
        self.inp = nn.Linear((1 + LOOKAHEAD + 1) * 2 * LATENT, low)  # frames t-1, t, t+1
        self.low = nn.ModuleList([ConvNext(low, 768, 5) for _ in range(3)])
        self.up = nn.Linear(low, 4 * high)
        self.high = nn.ModuleList([ConvNext(high, 512, 7) for _ in range(3)])
        self.norm = RmsNorm(high)
        self.tone = nn.Linear(high, 2)         # pitch (normalised ln Hz), voicing logit
        self.head = nn.Linear(high, 3 * BINS)  # ln pulse gain, pulse phase, ln noise gain
        self.mel = nn.Linear(high, MELS)       # training only

    def trunk(self, z, phone, mix):
        """Takes z [B, T + 1, 32] and phone [B, T + 1, 3]; of their last frame, only the lookahead is used.
        `mix` [..., S]: the weights of the speakers, for each frame [B, T] or for all. Returns [B, 4 T, high]."""
        x = torch.cat([z, sum(self.phone[i](phone[..., i]) for i in range(3))], -1)
        before = F.pad(x, (0, 0, 1, 0))
        x = self.inp(torch.cat([before[:, :-2], x[:, :-1], x[:, 1:]], -1))
        x = x + mix @ self.speaker["low"].weight
        for block in self.low:
            x = block(x)
        x = self.up(x) + (mix @ self.speaker["high"].weight).repeat(*[1] * (mix.dim() - 1), 4)
        x = x.reshape(x.shape[0], x.shape[1] * 4, -1)
        for block in self.high:
            x = block(x)
        return self.norm(x)

    @staticmethod
    def spectra(head, pulses, noise):
        """Converts head [B, S, 3 K], pulses and noise [B, S, K] complex to spectra [B, S, K] complex."""
        gain, phase, hiss = head.split(BINS, -1)
        gain = torch.exp(gain.clamp(max=6.0))
        hiss = torch.exp(hiss.clamp(max=6.0))
        voiced = torch.complex(gain * torch.cos(phase), gain * torch.sin(phase))
        return voiced * pulses + hiss * noise


OMEGA = 2 * math.pi * torch.arange(BINS) / N_FFT


def breath():
    """Returns [BINS]: the share of noise in the amplitude of voiced speech, the same as in hts_teacher.cc."""
    khz = torch.arange(BINS) * RATE / N_FFT / 1000
    return torch.tensor(np.interp(khz, (0, 1.0, 2.5, 5, 12), (0, 0.05, 0.6, 0.75, 0.9)),
                        dtype=torch.float32)


BREATH_ODDS = 2 * torch.log(breath().clamp(min=1e-3)) - torch.log1p(-breath() ** 2)


def pitch_to_pulses(pitch):
    """Converts pitch [B, S + 2] in Hz (0: unvoiced), from the hop where step 0's window starts, to pulse
    spectra [B, S, K] complex, one for each step's Hann window.

    The phase also continues through unvoiced slots, at 0 Hz. A pulse is placed where the phase passes an
    integer. Its weight is sqrt(period), so that loudness does not depend on pitch.
    """
    step = pitch.double() * HOP / RATE                   # cycles per slot
    end = torch.cumsum(step, 1)
    begin = end - step
    first = torch.floor(begin) + 1
    most = min(MAX_PULSES, int((torch.floor(end) - first).max()) + 1)
    index = first[..., None] + torch.arange(max(1, most))
    valid = (index <= end[..., None]) & (pitch[..., None] > 0)
    at = ((index - begin[..., None]) / step[..., None].clamp(min=1e-9) * HOP).float()
    at = torch.where(valid, at, torch.zeros_like(at))    # samples after the beginning of the slot
    weight = torch.where(valid, torch.sqrt(RATE / pitch.clamp(min=40))[..., None].expand_as(at),
                         torch.zeros_like(at)) * 0.1
    angle = at[..., None] * OMEGA                        # [B, S + 2, P, K]
    cos, sin = torch.cos(angle), -torch.sin(angle)
    steps = pitch.shape[1] - 2
    total = 0
    for slot in range(3):
        w = weight * (0.5 - 0.5 * torch.cos(2 * math.pi * (at + slot * HOP) / WINDOW))
        part = torch.complex((w[..., None] * cos).sum(2), (w[..., None] * sin).sum(2))
        turn = torch.exp(-1j * OMEGA * slot * HOP)
        total = total + part[:, slot : slot + steps] * turn
    return total


def hash_noise(first, steps):
    """Returns noise spectra [steps, K] complex: a constant function of the step's number (32-bit hash)."""
    mask = 0xFFFFFFFF
    n = (torch.arange(first, first + steps)[:, None] * 1024
         + torch.arange(2 * BINS)[None, :]).long() & mask
    n = ((n ^ (n >> 16)) * 0x7FEB352D) & mask
    n = ((n ^ (n >> 15)) * 0x846CA68B) & mask
    n = n ^ (n >> 16)
    u = (n >> 8).float() * (2.0 / (1 << 24)) - 1.0
    return torch.complex(u[:, :BINS], u[:, BINS:])


SYNTHESIS = torch.hann_window(WINDOW) / 1.5


def overlap_add(spectra):
    """Converts [B, S, K] complex to samples [B, HOP S]. Drops samples beyond the hop of the last step."""
    batch, steps, _ = spectra.shape
    windows = torch.fft.irfft(spectra, N_FFT)[..., :WINDOW] * SYNTHESIS
    out = torch.zeros(batch, (steps + 2) * HOP)
    thirds = windows.reshape(batch, steps, 3, HOP)
    for slot in range(3):
        out[:, slot * HOP : (slot + steps) * HOP] += thirds[:, :, slot].reshape(batch, -1)
    return out[:, : steps * HOP]


def predicted_pitch(tone, mean):
    """Converts tone [..., 2] and the mean of ln Hz to Hz; 0 where unvoiced."""
    hz = torch.exp((tone[..., 0] * PITCH_STD + mean).clamp(4.2, 5.95))
    return torch.where(tone[..., 1] > 0, hz, torch.zeros_like(hz))


@torch.no_grad()
def decode(decoder, z, phone, mix):
    """Decodes a whole utterance: z [T, 32], phone [T, 3], mix [S] -> samples [FRAME T]. The server must produce
    the same samples. Zero latents and symbol 0 follow the end."""
    hidden = decoder.trunk(F.pad(z, (0, 0, 0, 1))[None], F.pad(phone, (0, 0, 0, 1))[None], mix)
    pitch = F.pad(predicted_pitch(decoder.tone(hidden), mix @ PITCH_MEANS), (2, 0))
    noise = hash_noise(0, hidden.shape[1])[None]
    samples = overlap_add(decoder.spectra(decoder.head(hidden), pitch_to_pulses(pitch), noise))[0]
    return samples * torch.exp(mix @ decoder.gain)
