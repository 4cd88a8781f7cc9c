"""Trains the decoder further on the constant codes against an adversary: networks that separate the speech of
natural teachers from the decoder's by spectrograms of several resolutions. Distances between magnitudes are
smallest at the mean of the likely magnitudes, which is smoother than any speech. An adversary requires
magnitudes that are themselves likely.

    python3 train_adversary.py CORPUS DECODER.pt OUT.pt MINUTES [--steps N] [--rate R] [--resume]

--steps: a number of steps in place of minutes, for a busy machine.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from clear import Clear
from corpus import FRAME, HOP, RATE, TEACHERS, VOICES, Corpus
from infer import load_codec
from train_codec import (FRAMES, WEIGHTS, breath_loss, compiled, frame_losses, heard_losses, hide_ahead, make_wave,
                         reduced, save)
from train_decoder import learning_rate, move_mean

NAMES = list(TEACHERS.values())
NATURAL = [NAMES.index(name) for name in VOICES.get("natural", NAMES)]
WINDOWS = 5, 3  # windows in a step: of speakers that the adversary judges, and of any speakers
ALIKE = 4.0     # weight relative to "fooled"
SHARE = 3.0     # norm of the adversary's gradient of the samples, divided by that of the distances
ALONE = 100     # first steps, in which only the adversary learns
SIZES = (6, 20, 64)  # ms of the windows: pulses, the windows of DNSMOS, harmonics
WIDTHS = (16, 32, 32, 32)
FINE_HZ, COARSE_HZ = 4000, 100  # above FINE_HZ, bins are joined to bands of about COARSE_HZ


class Judge(nn.Module):
    """Converts [B, N] to (scores [B, 1, K', T'], inner layers) of spectrograms of one resolution: convolutions
    over bins and windows, with the bin's position as a further input. Above FINE_HZ, neighbouring bins are joined: with
    each bin alone, two thirds of the scores would judge what is above 4 kHz."""

    def __init__(self, ms):
        super().__init__()
        self.size = RATE * ms // 1000
        self.fine, self.joined = self.size * FINE_HZ // RATE, max(1, round(COARSE_HZ * self.size / RATE))
        self.register_buffer("window", torch.hann_window(self.size))
        layers, before = [], 2
        for width, taps, stride in zip(WIDTHS, (7, 5, 5, 3), ((2, 1), (2, 1), (2, 2), (2, 2))):
            layers.append(nn.Conv2d(before, width, (taps, 3), stride, (taps // 2, 1)))
            before = width
        self.layers = nn.ModuleList(layers).to(memory_format=torch.channels_last)
        self.out = nn.Conv2d(before, 1, 3, 1, 1)

    def forward(self, wave):
        spectrogram = torch.stft(wave, self.size, self.size // 4, window=self.window, return_complex=True).abs()
        if self.joined > 1:
            power = F.avg_pool1d(spectrogram[:, self.fine :].pow(2).transpose(1, 2), self.joined).transpose(1, 2)
            spectrogram = torch.cat([spectrogram[:, : self.fine], (power + 1e-9).sqrt()], 1)
        x = (torch.log(spectrogram / self.size**0.5 + 1e-3) + 3)[:, None] / 2
        place = torch.linspace(-1, 1, x.shape[2])[:, None].expand_as(x)
        x, inner = torch.cat([x, place], 1).contiguous(memory_format=torch.channels_last), []
        with reduced():
            for layer in self.layers:
                x = F.leaky_relu(layer(x), 0.1)
                inner.append(x)
            return self.out(x).float(), inner


class Adversary(nn.Module):
    def __init__(self):
        super().__init__()
        self.judges = nn.ModuleList(Judge(ms) for ms in SIZES)

    def losses(self, made, true):
        """Compares made and true samples [B, N]. Returns {"told": the adversary's loss, 0 if it separates them;
        "fooled": the decoder's loss, smaller if made passes for a teacher's speech; "alike": the distance of
        inner layers}."""
        told, fooled, alike = 0.0, 0.0, 0.0
        for judge in self.judges:
            real, wanted = judge(true)
            fake, inner = judge(made)
            told = told + (F.relu(1 - real).mean() + F.relu(1 + fake).mean()) / 2
            fooled = fooled - fake.mean()
            alike = alike + sum((a - b.detach()).abs().mean() / b.detach().abs().mean() for a, b in zip(inner, wanted))
        count = len(self.judges)
        return {"told": told / count, "fooled": fooled / count, "alike": alike / count / len(WIDTHS)}


class Balance:
    """Adds two gradients of the samples. The adversary's gradient is scaled so that its norm is SHARE times
    that of the distances, on average over steps."""

    def __init__(self):
        self.norms = {}

    def norm(self, name, gradient):
        now = gradient.norm().item()
        self.norms[name] = 0.98 * self.norms.get(name, now) + 0.02 * now
        return self.norms[name]

    def sum(self, distances, asked, heard):
        """Returns the sum of the gradients [B, N] of the distances and of the adversary, which judges only the
        first rows."""
        most = self.norm("distances", distances[:heard])
        return distances + asked * (SHARE * most / max(self.norm("asked", asked), 1e-12))


def batch(corpus, codes, quantiser, rng):
    starts = np.concatenate([corpus.starts(rng, WINDOWS[0], FRAMES, NATURAL), corpus.starts(rng, WINDOWS[1], FRAMES)])
    wave, mel, pitch, phone, speaker = corpus.windows(starts, FRAMES)
    code = np.stack([codes[s : s + FRAMES] for s in starts]).astype(np.int64)
    z, phone = hide_ahead(quantiser.decode(torch.tensor(code)), phone, rng)
    return wave, mel, pitch, z, phone, speaker


def decoder_step(decoder, adversary, balance, clear, data, rng, alone):
    """Computes gradients of the adversary and, unless `alone`, of the decoder. Returns the losses."""
    wave, mel, pitch, z, phone, speaker = data
    with torch.set_grad_enabled(not alone):
        hidden, losses = frame_losses(decoder, z, phone, mel, pitch, speaker)
        made, head, pulses = make_wave(decoder, hidden, pitch, rng)
    del losses["mel"]
    steps, heard = hidden.shape[1], WINDOWS[0]
    first = FRAME + int(rng.integers(0, HOP))
    made, true = made[:, first:], wave[:, first : steps * HOP]
    samples = made.detach().requires_grad_()
    asked = adversary.losses(samples[:heard], true[:heard])
    asked["told"].backward(inputs=list(adversary.parameters()), retain_graph=True)
    losses |= asked
    if alone:
        return losses
    # The adversary judges how noisy a natural voice is. The share of noise that breath_loss keeps is that of HTS voices.
    kept = ~torch.isin(speaker[:, steps // 8], torch.tensor(NATURAL))
    losses["breath"] = (breath_loss(head[kept, 4:], pulses[kept, 4:], pitch[kept, 5 : steps + 1]) if kept.any()
                        else torch.zeros(()))
    direct = sum(WEIGHTS[k] * losses[k] for k in ("pitch", "voice", "breath"))
    distances = heard_losses(samples, true, phone[:, 1:], speaker[:, 1:], clear, rng)
    near = torch.autograd.grad(sum(WEIGHTS[k] * v for k, v in distances.items()), samples)[0]
    far = torch.autograd.grad(asked["fooled"] + ALIKE * asked["alike"], samples)[0]
    torch.autograd.backward([made, direct], [balance.sum(near, far, heard), None])
    return {**losses, **distances}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("corpus")
    args.add_argument("decoder")
    args.add_argument("out")
    args.add_argument("minutes", type=float)
    args.add_argument("--steps", type=int)
    args.add_argument("--rate", type=float, default=4e-4, help="largest learning rate")
    args.add_argument("--resume", action="store_true")
    args = args.parse_args()
    torch.manual_seed(4)
    torch.set_num_threads(1)
    corpus, adversary = Corpus(args.corpus), Adversary()
    model, smooth = load_codec(args.decoder), load_codec(args.decoder)
    codes = np.load(Path(args.corpus) / "codes.npy")
    clear = Clear(corpus, np.random.default_rng(3))
    adamw = lambda parameters, rate: torch.optim.AdamW(parameters, lr=rate, betas=(0.8, 0.98), weight_decay=0.01)
    optimiser, judging = adamw(model.decoder.parameters(), args.rate), adamw(adversary.parameters(), 2 * args.rate)
    both = nn.ModuleDict({"raw": model, "mean": smooth, "adversary": adversary})
    step, spent, balance = 0, 0.0, Balance()
    if args.resume and Path(args.out).exists():
        saved = torch.load(args.out)
        for name, part in both.items():
            part.load_state_dict(saved["model"][name])
        optimiser.load_state_dict(saved["optimiser"])
        step, spent = saved["step"], saved["spent"]
    model.decoder.trunk = compiled(model.decoder.trunk)
    rng = np.random.default_rng(4000 + step)
    begun, mean, budget = time.time() - spent, {}, args.minutes * 60
    done = lambda: step / args.steps if args.steps else (time.time() - begun) / budget
    while (part := done()) < 1:
        spent = time.time() - begun
        alone = step < ALONE
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(part, max(0, step - ALONE), args.rate)
        optimiser.zero_grad(set_to_none=True)
        judging.zero_grad(set_to_none=True)
        data = batch(corpus, codes, model.quantiser, rng)
        losses = decoder_step(model.decoder, adversary, balance, clear, data, rng, alone)
        judging.step()
        if not alone:
            nn.utils.clip_grad_norm_(model.decoder.parameters(), 1.0)
            optimiser.step()
            move_mean(smooth.decoder, model.decoder, step)
        for k, v in losses.items():
            mean[k] = 0.98 * mean.get(k, v.item()) + 0.02 * v.item()
        step += 1
        if step % 25 == 0:
            shown = " ".join(f"{k} {v:.3f}" for k, v in mean.items())
            print(f"adversary step {step} {spent / 60:.1f} min "
                  f"(ETA {spent / 60 * (1 / max(part, 1e-3) - 1):.1f}) {shown}", flush=True)
        if step % 150 == 0:
            save(args.out, both, optimiser, step, spent)
    save(args.out, both, optimiser, step, time.time() - begun)


if __name__ == "__main__":
    main()
