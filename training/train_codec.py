"""Trains encoder, quantiser and decoder together. Log-mel, pitch and voicing decide what a code expresses; the
samples decide how it sounds, and how clear its phones are. train_decoder.py continues with the decoder alone.

    python3 train_codec.py CORPUS OUT.pt MINUTES [--start VOICE_DIR [--encoder FILE]] [--rate R] [--resume]

--start begins with the decoder and the codebooks of a finished voice, --encoder with the encoder that made its
codes. With 0 minutes, they are only combined. Without --encoder, decoder and codebooks are constant until a new
encoder has learned to use them, so that codes keep their meaning, also for the voice's speech LM.
"""
import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import codec
from clear import Clear
from corpus import (BANDS, Corpus, FRAME, HOP, MEL_HZ, N_FFT, RATE, SPEAKERS, mel_edges,
                    mel_filters)
from voice_file import at_this_rate, load_known, read_safetensors

RESOLUTIONS = tuple((size * RATE // 16000, size * RATE // 64000) for size in (128, 256, 512, 1024, 2048))
BATCH, FRAMES, WARM_STEPS = 8, 33, 150


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = codec.Encoder()
        self.quantiser = codec.Quantiser()
        self.decoder = codec.Decoder()


RECENT = hasattr(torch, "compile")  # PyTorch 2


def compiled(function, dynamic=False):
    """Returns the function compiled by PyTorch 2 (needs g++), or unchanged with PyTorch 1."""
    return torch.compile(function, dynamic=dynamic) if RECENT else function


def adamw(parameters, decay):
    """Returns the optimiser. The caller sets its rate before each step."""
    extra = {"fused": True} if RECENT else {}
    return torch.optim.AdamW(parameters, betas=(0.9, 0.98), weight_decay=decay, **extra)


def multiplies_bf16():
    """Returns whether the processor multiplies bf16. With AMX this is several times faster; without it,
    PyTorch's emulation is several times slower than f32."""
    info = Path("/proc/cpuinfo")
    flags = info.read_text().split() if info.exists() else []
    return "amx_bf16" in flags or "avx512_bf16" in flags


def reduced():
    """Returns a context in which networks run in bf16 if that is faster."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=multiplies_bf16())


def stft_loss(made, true, bands, resolutions=RESOLUTIONS):
    """Returns the distance of the ln magnitudes of made and true [B, N], below bands [B] in Hz. Plain
    magnitudes would favour noise that is too quiet: they differ randomly, and small ones differ less."""
    loss = 0.0
    for size, hop in resolutions:
        window = torch.hann_window(size)
        spec = lambda x: torch.stft(x, size, hop, window=window, return_complex=True).abs()
        a, b = spec(made) / size ** 0.5, spec(true) / size ** 0.5
        floor = 3e-3
        hears = (torch.arange(size // 2 + 1) * RATE / size <= bands[:, None]).float()[..., None]
        apart = (torch.log(a + floor) - torch.log(b + floor)).abs()
        loss = loss + (apart * hears).sum() / (hears.sum() * a.shape[-1])
    return loss / len(resolutions)


# Windows, and the filters of their power: 40 mel bands of 32 ms as recognisers use, 20 of 11 ms for bursts.
EARS = tuple((size, hop, mel_filters(size, RATE, mels), torch.tensor(mel_edges(mels, RATE)[2:]))
             for size, hop, mels in ((N_FFT, HOP, 40), (N_FFT // 3, HOP // 3, 20)))


def ear_loss(made, true, bands):
    """Returns the distance of made and true [B, N] in a recogniser's features, the ln amplitudes of mel bands,
    and in their change within 20 ms. The power of a band varies randomly much less than that of a bin."""
    loss = 0.0
    for size, hop, filters, upper in EARS:
        window = torch.hann_window(size)

        def heard(x):
            power = torch.stft(x, size, hop, window=window, return_complex=True).abs().pow(2) / size
            return 0.5 * torch.log(power.transpose(1, 2) @ filters + 1e-7)

        apart = heard(made) - heard(true)
        lag = HOP * 2 // hop
        moved = apart[:, lag:] - apart[:, :-lag]
        hears = (upper <= bands[:, None]).float()[:, None]
        mean = lambda x: (x.abs() * hears).sum() / (hears.sum() * x.shape[1])
        loss = loss + mean(apart) + 0.5 * mean(moved)
    return loss / len(EARS)


def frame_losses(decoder, z, phone, mel, pitch, speaker):
    """Takes z [B, T + 1, 32], phone [B, T + 1, 3] and speaker [B, T + 1]. Returns (hidden [B, 4 T, high], the
    losses of the features of each 10 ms)."""
    with reduced():
        hidden = decoder.trunk(z, phone, F.one_hot(speaker[:, :-1], SPEAKERS).float())
    hidden = hidden.float()
    steps = hidden.shape[1]
    tone = decoder.tone(hidden)
    voiced = (pitch[:, 2 : steps + 2] > 0).float()
    true_tone = codec.normal_pitch(pitch, speaker)[:, 2 : steps + 2]
    pitch_loss = ((tone[..., 0] - true_tone).abs() * voiced).sum() / voiced.sum().clamp(min=1)
    voice_loss = F.binary_cross_entropy_with_logits(tone[..., 1], voiced)
    hears = (torch.tensor(MEL_HZ) <= bands_of(speaker)[:, None]).float()[:, None]
    apart = (decoder.mel(hidden) - mel[:, 1 : steps + 1]).abs() * hears
    mel_loss = apart.sum() / (hears.sum() * steps)
    return hidden, {"mel": mel_loss, "pitch": pitch_loss, "voice": voice_loss}


def bands_of(speaker):
    """Returns the highest frequency in Hz of the speakers in speaker [B, T]: [B]."""
    return BANDS[speaker].amin(-1)


# ln power of codec.hash_noise (2/3 a bin) after overlap_add, relative to pulses of the same gain. Windows of 3 hops
# with Hann's weights keep HOP / N_FFT * 1.125 / 1.5**2 of the noise a hop. Of a pulse, weighted twice, they keep
# (1.125 / 1.5)**2 of the power, of which 3 * 0.375 is counted. Two factors of one half cancel.
NOISE_LEFT = math.log(2 / 3 * HOP / N_FFT)


def breath_loss(head, pulses, pitch):
    """Returns how far the share of noise in voiced speech is from codec.breath(), in nats of its ratio to the
    pulses. With magnitudes alone, a voice becomes too periodic. head [B, S, 3 K], pulses [B, S, K], pitch of
    the steps [B, S]."""
    gain, _, hiss = head.split(codec.BINS, -1)
    tone = 2 * gain + torch.log(pulses.abs().pow(2).mean(-1, keepdim=True) + 1e-9)
    noise = 2 * hiss + NOISE_LEFT
    where = (pitch > 0).float()[..., None] * (codec.BREATH_ODDS > -5)
    apart = (noise - tone - codec.BREATH_ODDS).abs().clamp(max=6) * where
    return apart.sum() / where.sum().clamp(min=1)


def make_wave(decoder, hidden, pitch, rng):
    """Converts hidden [B, S, high] to (samples [B, HOP S], head, pulses). Pulses follow the pitch of the
    corpus."""
    steps = hidden.shape[1]
    noise = torch.stack([codec.hash_noise(int(rng.integers(0, 100000)), steps) for _ in hidden])
    pulses = codec.pitch_to_pulses(pitch[:, : steps + 2])
    head = decoder.head(hidden)
    return codec.overlap_add(decoder.spectra(head, pulses, noise)), head, pulses


def heard_losses(made, true, phone, speaker, clear, rng):
    """Compares made and true samples [B, N], with phone [B, T, 3] and speaker [B, T]. Returns {"stft" at two
    random resolutions of the five, "ear"} and the losses of `clear`, a Clear."""
    some = [RESOLUTIONS[i] for i in rng.choice(len(RESOLUTIONS), 2, replace=False)]
    bands = bands_of(speaker)
    return {"stft": stft_loss(made, true, bands, some), "ear": ear_loss(made, true, bands),
            **clear.losses(made, true, phone, speaker)}


def wave_loss(decoder, hidden, wave, pitch, phone, speaker, clear, rng):
    """Compares the samples made from hidden [B, S, high] with wave [B, HOP S + FRAME]. Returns {"breath"} and
    the losses of heard_losses(). Ignores the first frame, because pulses and windows before the crop are
    missing there."""
    steps = hidden.shape[1]
    made, head, pulses = make_wave(decoder, hidden, pitch, rng)
    first = FRAME + int(rng.integers(0, HOP))  # windows begin at a random sample
    return {"breath": breath_loss(head[:, 4:], pulses[:, 4:], pitch[:, 5 : steps + 1]),
            **heard_losses(made[:, first:], wave[:, first : steps * HOP], phone[:, 1:], speaker[:, 1:], clear, rng)}


def hide_ahead(z, phone, rng):
    """Removes the next frame in a tenth of the rows, as at the end of a stream."""
    seen = torch.tensor(rng.random(len(z)) > 0.1)
    z = torch.cat([z[:, :-1], z[:, -1:] * seen.float()[:, None, None]], 1)
    return z, torch.cat([phone[:, :-1], phone[:, -1:] * seen.long()[:, None, None]], 1)


def batch_losses(model, corpus, clear, rng, step, started):
    wave, mel, pitch, phone, speaker = corpus.windows(corpus.starts(rng, BATCH, FRAMES), FRAMES)
    with reduced():
        z = model.encoder(mel, pitch, speaker, phone)
    z = z.float()
    if step == WARM_STEPS and not started:
        model.quantiser.start(z.detach())
    extra = {}
    if started or step >= WARM_STEPS:
        books = torch.tensor(rng.choice([1, 2] + [3] * 14, size=BATCH))
        z, commit = model.quantiser(z, books)
        extra = {"commit": commit}
    z, phone = hide_ahead(z, phone, rng)
    hidden, losses = frame_losses(model.decoder, z, phone, mel, pitch, speaker)
    return {**losses, **wave_loss(model.decoder, hidden, wave, pitch, phone, speaker, clear, rng), **extra}


# With these weights, the gradient of `clear` has a third of the norm of that of `ear`, and so has the gradient of
# `doubt`. (Norms without weights: 3.4, 13.9 and 1.0, for the decoder of November 2026.) A phone is clearer without
# noise, so a small weight of `breath` removes noise: with a third of this weight, voices are half a dB too periodic
# from 2 to 4 kHz.
WEIGHTS = {"stft": 1.0, "ear": 1.5, "mel": 1.0, "pitch": 0.5, "voice": 0.5, "breath": 0.3, "clear": 0.15,
           "doubt": 0.1, "commit": 0.1}


def state_of(model):
    """Returns a module's tensors; for a ModuleDict, one table per entry."""
    if isinstance(model, nn.ModuleDict):
        return {name: part.state_dict() for name, part in model.items()}
    return model.state_dict()


def save(path, model, optimiser, step, spent):
    torch.save({"model": state_of(model), "optimiser": optimiser.state_dict(), "step": step,
                "spent": spent}, str(path) + ".new")
    Path(str(path) + ".new").rename(path)


START_HOLD = 0.35  # share of the time in which a given decoder and given codebooks are constant


def start_from(model, voice, encoder):
    """Loads decoder and codebooks from a voice folder. Tensors that it lacks keep their initial values."""
    known = json.loads((Path(voice) / "config.json").read_text())
    read = lambda path: at_this_rate(read_safetensors(path), known["sample_rate"])
    tensors = read(Path(voice) / "model.safetensors")
    if encoder:
        load_known(model.encoder, "encoder.", read(encoder), begins=True)
    load_known(model.decoder, "decoder.", tensors)
    for book in range(codec.BOOKS):
        model.quantiser.books[book] = torch.tensor(tensors[f"decoder.book.{book}"].astype("f4"))
    model.quantiser.count.fill_(2.0)
    model.quantiser.total.copy_(model.quantiser.books * 2.0)


def parameter_groups(model, waits):
    """Returns groups: new tensors learn at the full rate; given tensors wait, then learn more slowly."""
    new, given = [], []
    for name, p in model.named_parameters():
        fresh = not name.startswith("decoder.") or "speaker" in name or ".mel." in name
        (new if fresh or not waits else given).append(p)
    groups = [{"params": new, "scale": 1.0}, {"params": given, "scale": 0.4, "hold": START_HOLD}]
    return [group for group in groups if group["params"]]


def learning_rate(part, step, most):
    decay = 1.0 if part < 0.4 else 0.03 + 0.97 * 0.5 * (1 + np.cos(np.pi * (part - 0.4) / 0.6))
    return float(most * min(1.0, (step + 1) / 100) * decay)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("corpus")
    args.add_argument("out")
    args.add_argument("minutes", type=float)
    args.add_argument("--start")
    args.add_argument("--encoder")
    args.add_argument("--rate", type=float, default=1.5e-3, help="largest learning rate")
    args.add_argument("--resume", action="store_true")
    args = args.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    corpus, model = Corpus(args.corpus), Codec()
    clear = Clear(corpus, np.random.default_rng(1))
    started = args.start is not None
    waits = started and not args.encoder
    if started:
        start_from(model, args.start, args.encoder)
    optimiser = adamw(parameter_groups(model, waits), 0.01)
    step, spent = 0, 0.0
    if args.resume and Path(args.out).exists():
        saved = torch.load(args.out)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        step, spent = saved["step"], saved["spent"]
    model.encoder.forward = compiled(model.encoder.forward)
    model.decoder.trunk = compiled(model.decoder.trunk)
    rng = np.random.default_rng(1000 + step)
    begun, mean, budget = time.time() - spent, {}, args.minutes * 60
    while (spent := time.time() - begun) < budget:
        part = spent / budget
        for group in optimiser.param_groups:
            rate = 0.0 if part < group.get("hold", 0.0) else group["scale"]
            group["lr"] = rate * learning_rate(part, step, args.rate)
        model.quantiser.fixed = waits and part < START_HOLD
        losses = batch_losses(model, corpus, clear, rng, step, started)
        optimiser.zero_grad(set_to_none=True)
        sum(WEIGHTS[k] * v for k, v in losses.items()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        for k, v in losses.items():
            mean[k] = 0.98 * mean.get(k, v.item()) + 0.02 * v.item()
        step += 1
        if step % 25 == 0:
            shown = " ".join(f"{k} {v:.3f}" for k, v in mean.items())
            print(f"codec step {step} {spent / 60:.1f}/{args.minutes:.0f} min "
                  f"(ETA {(budget - spent) / 60:.1f}) {shown}", flush=True)
        if step % 200 == 0:
            save(args.out, model, optimiser, step, spent)
    save(args.out, model, optimiser, step, budget)


if __name__ == "__main__":
    main()
