#!/usr/bin/env python3
"""Writes a step profile of Qwen3-Omni-30B-A3B for `syrinx simulate`, modelled and not measured: bytes
of weights and cache over a device's bandwidth, operations over its speed, and a time for each kernel.

  bench/omni_profile.py [--bandwidth 2e12] [--flops 4e14] [--kernel-us 4] > omni.json

Sizes are those of the published config.json (thinker, talker, code predictor, code2wav). A request
is a prompt of 100 rows, an answer of 100 ids and 340 frames of audio (27.2 s), which is the load for
which vLLM-Omni published its figures.
"""
import argparse
import json

BF16 = 2


class Decoder:
    """A transformer: bytes that a step of B rows reads, and operations of a row."""

    def __init__(self, layers, width, heads, kv_heads, head, ffn=0, experts=0, top=0, expert_ffn=0,
                 shared_ffn=0, vocab=0):
        self.layers, self.experts, self.top = layers, experts, top
        self.attention = width * head * (2 * heads + 2 * kv_heads)
        self.dense = 3 * width * (ffn + shared_ffn) + width * experts
        self.expert = 3 * width * expert_ffn
        self.head = width * vocab
        self.kv_bytes = 2 * kv_heads * head * layers * BF16
        self.kernels = 12 * layers + 2

    def weight_bytes(self, rows):
        # Each row chooses its experts independently of the others.
        chosen = self.experts * (1 - (1 - self.top / self.experts) ** rows) if self.experts else 0
        return BF16 * (self.layers * (self.attention + self.dense + chosen * self.expert) + self.head)

    def row_flops(self):
        return 2 * (self.layers * (self.attention + self.dense + self.top * self.expert) + self.head)


THINKER = Decoder(48, 2048, 32, 4, 128, experts=128, top=8, expert_ffn=768, vocab=152064)
TALKER = Decoder(20, 1024, 16, 2, 128, experts=128, top=6, expert_ffn=384, shared_ffn=768, vocab=3072)
PREDICTOR = Decoder(5, 1024, 16, 8, 128, ffn=3072, vocab=2048)
PREDICTED = 15                  # the codes of a frame after its first
CODEC_FRAME_FLOPS = 4.8e9       # convolutions of 1536 to 96 channels at rates 8, 5, 4, 3
CODEC_KERNELS = 150
BATCHES, POSITIONS, ROWS = [1, 2, 4, 8, 16, 32], [1, 1024, 4096], [1, 16, 64, 128, 512]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bandwidth", type=float, default=2e12, help="bytes a second that are reached")
    parser.add_argument("--flops", type=float, default=4e14, help="operations a second, bf16")
    parser.add_argument("--codec-flops", type=float, default=3e13, help="the same of code2wav, f32")
    parser.add_argument("--kernel-us", type=float, default=4, help="for each kernel")
    a = parser.parse_args()

    def step(model, rows, kv):
        read = model.weight_bytes(rows) + rows * kv * model.kv_bytes
        return max(read / a.bandwidth, rows * model.row_flops() / a.flops) + model.kernels * a.kernel_us * 1e-6

    def predicted(rows):
        return PREDICTED * step(PREDICTOR, rows, 8) if rows else 0

    def node(name, model, lead, inner):
        return {"name": name, "lead": lead, "spread": [],
                "decode": [{"batch": b, "kv": POSITIONS, "seconds": [step(model, b, kv) + inner(b) for kv in POSITIONS]}
                           for b in BATCHES],
                "prefill": [{"rows": r, "seconds": step(model, r, 0) + inner(1)} for r in ROWS]}

    def chunk(jobs, frames):
        return jobs * frames * CODEC_FRAME_FLOPS / a.codec_flops + CODEC_KERNELS * a.kernel_us * 1e-6

    jobs, frames = [1, 4, 16], [1, 8, 64, 512]
    segments = [[{"prompt_rows": 100, "companion_rows": 0, "steps": 100, "frames": 0, "first_frame_step": 1}],
                [{"prompt_rows": 109, "companion_rows": 0, "steps": 340, "frames": 340, "first_frame_step": 1}]]
    print(json.dumps({
        "model": "Qwen3-Omni-30B-A3B, modelled", "weights": "bf16", "threads": 1, "sample_rate": 24000,
        "page_rows": 16, "pages": 1 << 14, "batch_overhead_s": 30e-6, "sequence_overhead_s": 2e-6,
        "wake_s": 0,
        "ars": [node("thinker", THINKER, 0, lambda rows: 0), node("talker", TALKER, 1, predicted)],
        "links": [{"name": "code2wav", "initial": 1, "steady": 8, "left": 0, "lookahead": 0, "multiple": 1,
                   "samples_per_frame": 1920, "spread": [], "jobs": jobs, "frames": frames,
                   "seconds": [[chunk(j, f) for f in frames] for j in jobs]}],
        "utterances": [{"text_bytes": 400, "open_s": 1e-3, "nodes": [{"segments": s} for s in segments]}],
        "raw": {}}))


if __name__ == "__main__":
    main()
