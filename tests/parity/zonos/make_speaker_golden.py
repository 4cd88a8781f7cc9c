"""Writes a small network of the speaker encoder in the published files, and the vectors of the authors' code.

The authors' zonos/speaker_cloning.py (https://github.com/Zyphra/Zonos, given with --source) runs unchanged, with fewer
planes and blocks than ResNet293. The signals are those of ../qwen3_tts/golden/base at 24 kHz. The script takes two
samples of three after a short filter to get 16 kHz. The contents do not matter, so the signals at 16 kHz are goldens
too. Needs torch, torchaudio, safetensors, numpy and huggingface_hub (imported only).

  python make_speaker_golden.py --source DIR      # DIR: a checkout of the repository
"""
import argparse
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

HERE = pathlib.Path(__file__).parent
PLANES, BLOCKS, INNER, WIDTH = 4, [2, 2, 3, 1], 16, 128


def randomise(model, seed):
    """Sets weights and running statistics at which every part has an effect."""
    gen = torch.Generator().manual_seed(seed)
    state = model.state_dict()
    with torch.no_grad():
        for name, value in sorted(state.items()):
            if name.startswith("featCal") or "num_batches" in name:
                continue
            noise = torch.randn(value.shape, generator=gen)
            if name.endswith("running_var"):
                value.copy_(0.5 + torch.rand(value.shape, generator=gen))
            elif name.endswith("weight") and value.dim() == 1:
                value.copy_(1 + 0.2 * noise)
            elif value.dim() == 1:
                value.copy_(0.2 * noise)
            else:
                value.copy_(noise * (1.3 / value[0].numel() ** 0.5))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    sys.path.insert(0, str(parser.parse_args().source))
    from zonos import speaker_cloning as theirs

    torch.set_num_threads(1)
    theirs.ResNet293 = lambda in_planes: theirs.ResNet(in_planes, theirs.SimAMBasicBlock, BLOCKS)
    network = theirs.ResNet293_based(in_planes=PLANES, embd_dim=INNER).eval()
    randomise(network, 3)
    random = seeded.Weights(5)
    random.over(network, keep=["featCal"])
    projection = torch.nn.Linear(INNER, WIDTH)
    randomise(projection, 4)
    folder = HERE / "golden" / "checkpoint" / "Zonos-v0.1-speaker-embedding"
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(network.state_dict(), folder / "ResNet293_SimAM_ASP_base.pt")
    torch.save(projection.state_dict(), folder / "ResNet293_SimAM_ASP_base_LDA-128.pt")

    network.featCal = theirs.logFbankCal()
    with seeded.restored(HERE.parent / "qwen3_tts/golden/base") as base:
        recordings = load_file(base / "recordings.safetensors")
    out = {}
    with torch.inference_mode():
        for name in ("speech", "sweep", "noise"):
            wave = torch.nn.functional.avg_pool1d(recordings[name][None], 2, 1)[0]
            wave = wave[: len(wave) // 3 * 3].view(-1, 3)[:, :2].flatten().contiguous()
            out[name] = wave
            features = network.featCal(wave[None])
            inner = network(wave[None])
            out[f"{name}_vector"] = projection(inner)[0]
            print(name, len(wave), "features", tuple(features.shape), "vector rms",
                  float(out[f"{name}_vector"].pow(2).mean().sqrt()))
        # The same samples, stored at other rates, pass through the authors' own resampling.
        reader = theirs.SpeakerEmbedding.__new__(theirs.SpeakerEmbedding)
        torch.nn.Module.__init__(reader)
        reader.device = "cpu"
        for rate in (8000, 44100, 48000):
            out[f"speech_{rate}_vector"] = projection(network(reader.prepare_input(out["speech"][None], rate)))[0]
    print("apart", float((out["speech_vector"] - out["sweep_vector"]).abs().max()),
          float((out["speech_vector"] - out["noise_vector"]).abs().max()))
    save_file({k: v.clone() for k, v in out.items()}, HERE / "golden" / "speaker_vectors.safetensors")
    random.hollow(folder / "ResNet293_SimAM_ASP_base.pt")


if __name__ == "__main__":
    main()
