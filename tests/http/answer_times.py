"""Measures how soon a model that takes and returns speech begins to answer. A question is spoken into the Realtime API in real
time. The model has random weights in the published shapes of a family, with as many layers as fit into memory.

    tests/http/answer_times.py glm4_voice --layers 4 --weights q8 --turns 3

Each question has its own session; with --conversation, all are in one. With --at-once a question is sent in one piece at its end,
so no part of it can be processed earlier.

Parts: from the end of the question's audio until the server reports its end (the detector's pause), then until the first text
(encoder, prompt, one step), then until the first audio (steps, flow, vocoder). The times of the model's parts before that moment
(`ahead`) and after it are from the server's metrics. --noise adds the noise of a microphone in a quiet room; without it, pauses
are digital silence. The vocabulary has as many text ids per code as the family's answers, so random answers have the family's
rhythm on average. Answers have no meaning.
"""
import argparse
import array
import base64
import itertools
import json
import os
import random
import re
import statistics
import string
import tempfile
import threading
import time

import harness
from test_realtime import Conversation, silence

QUESTION = "What is the capital of Norway, and how many people live there?"
STAGES = ["hearing", "lm", "flow", "vocoder"]


def texts(count):
    """Returns `count` tokens of text: bytes, then combinations of letters."""
    out = [bytes([b]) for b in range(256)]
    for size in itertools.count(2):
        for letters in itertools.product(string.ascii_lowercase, repeat=size):
            if len(out) == count:
                return out
            out.append("".join(letters).encode())


def token(content):
    return dict(content=content, lstrip=False, normalized=False, rstrip=False, single_word=False, special=True)


def glm4_voice(folder, layers):
    """Makes glm-4-voice-9b with another number of layers (instead of 40) and another text vocabulary. The two other checkpoints
    have their published sizes."""
    codes, ranks = 16384, texts(8192)
    lines = [f"{base64.b64encode(text).decode()} {rank}\n" for rank, text in enumerate(ranks)]
    with open(os.path.join(folder, "tokenizer.model"), "w", encoding="utf-8") as file:
        file.writelines(lines)
    specials = ["<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>",
                "<|observation|>", "<|begin_of_audio|>", "<|end_of_audio|>"] + [f"<|audio_{i}|>" for i in range(codes)]
    added = {str(len(ranks) + i): token(text) for i, text in enumerate(specials)}
    ids = {text["content"]: int(id) for id, text in added.items()}
    return dict(
        model_type="chatglm", num_layers=layers, hidden_size=4096, ffn_hidden_size=13696, num_attention_heads=32, kv_channels=128,
        multi_query_attention=True, multi_query_group_num=2, add_qkv_bias=True, layernorm_epsilon=1.5625e-07, rope_ratio=1,
        padded_vocab_size=168960, seq_length=8192,
        eos_token_id=[ids["<|endoftext|>"], ids["<|user|>"], ids["<|observation|>"]]), dict(
            added_tokens_decoder=added, tokenizer_class="ChatGLM4Tokenizer", eos_token="<|endoftext|>")


def step_audio2(folder, layers):
    """Makes Step-Audio-2-mini with another number of language model layers (instead of 28) and another text vocabulary."""
    codes, ranks = 6561, texts(1640)
    letters = [chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174 else None for b in range(256)]
    others = itertools.count(256)
    letters = [letter or chr(next(others)) for letter in letters]  # GPT-2's letters for bytes
    words = ["".join(letters[b] for b in text) for text in ranks]
    merges = [f"{word[:-1]} {word[-1]}\n" for word in words[256:]]
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as file:
        json.dump({word: i for i, word in enumerate(words)}, file)
    with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
        file.writelines(["#version: 0.2\n"] + merges)
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|BOT|>", "<|EOT|>", "<audio_start>", "<audio_end>",
                "<audio_patch>", "<tts_start>", "<tts_end>", "<tts_pad>"] + [f"<audio_{i}>" for i in range(codes + 1)]
    added = {str(len(ranks) + i): token(text) for i, text in enumerate(specials)}
    return dict(
        model_type="step_audio_2",
        audio_encoder_config=dict(n_mels=128, n_audio_ctx=1500, n_audio_state=1280, n_audio_head=20, n_audio_layer=32,
                                  n_codebook_size=4096, llm_dim=3584, kernel_size=3, adapter_stride=2),
        text_config=dict(vocab_size=158720, max_position_embeddings=16384, rms_norm_eps=1e-6, rope_theta=1000000.0,
                         rope_scaling=None, num_attention_groups=4, hidden_size=3584, intermediate_size=18944,
                         num_hidden_layers=layers, num_attention_heads=28, num_key_value_heads=4)), dict(
                             added_tokens_decoder=added, tokenizer_class="Qwen2Tokenizer", eos_token="<|endoftext|>")


FAMILIES = dict(glm4_voice=(glm4_voice, 40), step_audio2=(step_audio2, 28))


def stage_seconds(server):
    """Returns the seconds that batches took so far, by stage."""
    metrics = server.get("/metrics")[2]
    found = re.findall(r'_step_seconds_sum\{[^}]*stage="(\w+)"[^}]*\} (\S+)', metrics)
    return {stage: float(value) for stage, value in found}


def noisy(pcm, amplitude, seed):
    """Returns 16-bit samples with added white noise of the given RMS."""
    if not amplitude:
        return pcm
    noise = random.Random(seed)
    samples = array.array("h", pcm)
    for i, sample in enumerate(samples):
        samples[i] = max(-32768, min(32767, round(sample + noise.gauss(0, amplitude))))
    return samples.tobytes()


def open_session(server, name, at_once):
    turns = {"audio": {"input": {"turn_detection": None}}} if at_once else {}
    return Conversation(server, f"?model={name}", temperature=2, max_output_tokens=400, **turns)


def turn(server, ws, question, quiet, seconds, at_once):
    """Asks one question in a session. Returns times by the client's clock, and the times of the stages."""
    server.wait_running(0, 60)
    times, wanted = {}, ["input_audio_buffer.speech_stopped", "response.output_audio_transcript.delta",
                         "response.output_audio.delta"]
    before, first = stage_seconds(server), {}

    def read():
        while True:
            kind = ws.event()["type"]
            if kind in wanted and kind not in times:
                times[kind] = time.monotonic()
                first[kind] = stage_seconds(server)
            if kind in ("error", "response.done"):
                break
            if kind == wanted[-1]:
                ws.send({"type": "response.cancel"})

    reader = threading.Thread(target=read)
    reader.start()
    if at_once:
        ws.append(quiet[:300 * 48] + question)
        for kind in ("input_audio_buffer.commit", "response.create"):
            ws.send({"type": kind})
        end = times[wanted[0]] = time.monotonic()
        first[wanted[0]] = before
    else:
        ws.talk(quiet[:500 * 48] + question, pace=True)
        end = time.monotonic()
    while reader.is_alive() and wanted[0] not in times and time.monotonic() - end < 5:
        ws.talk(quiet[:40 * 48], pace=True)
        time.sleep(0.04)
    reader.join(seconds)
    if len(times) < len(wanted):
        return None
    stopped, text, audio = (times[kind] for kind in wanted)
    took = lambda since, kind: {stage: round(first[kind].get(stage, 0) - since.get(stage, 0), 3) for stage in STAGES}
    ended = first[wanted[0]]
    return dict(pause=stopped - end, text=text - stopped, audio=audio - text, all=audio - end, ahead=took(before, wanted[0]),
                until_text=took(ended, wanted[1]), until_audio=took(ended, wanted[2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--weights", default="q8")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=300, help="that an answer may take")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--at-once", action="store_true", help="the question is sent when it has ended")
    parser.add_argument("--conversation", action="store_true", help="all turns in one session")
    parser.add_argument("--noise", type=float, default=0, help="RMS of 16-bit samples (10: -70 dB of full scale)")
    args = parser.parse_args()
    make, layers = FAMILIES[args.family]
    with harness.Server("--quiet") as server:
        questions = [server.speak({"input": args.question, "response_format": "pcm", "seed": seed})[2]
                     for seed in range(args.turns)]
    questions = [noisy(pcm, args.noise, seed) for seed, pcm in enumerate(questions)]
    quiet = noisy(silence(500), args.noise, "quiet")
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, args.family)
        os.mkdir(folder)
        config, tokenizer = make(folder, args.layers)
        for name, content in (("config.json", config), ("tokenizer_config.json", tokenizer)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(content, file)
        began = time.monotonic()
        with harness.Server("--quiet", "--load-format", "dummy", "--weights", args.weights, "--ears", "none",
                            model=folder) as server:
            print(f"{args.family}: {args.layers} of {layers} layers, {args.weights}, loaded in {time.monotonic() - began:.0f} s; "
                  f"load of the machine {os.getloadavg()[0]:.1f}; questions of {len(questions[0]) / 48000:.1f} s", flush=True)
            rows, ws = [], None
            for question in questions:
                if ws is None or not args.conversation:
                    ws = open_session(server, args.family, args.at_once)
                row = turn(server, ws, question, quiet, args.seconds, args.at_once)
                print(json.dumps(row), flush=True)
                rows += [row] if row else []
                if not args.conversation:
                    ws.__exit__()
    names = dict(pause="the question's end until speech_stopped", text="then until the first text",
                 audio="then until the first audio", all="in all")
    for key, name in names.items():
        values = [1000 * row[key] for row in rows]
        if values:
            print(f"{name}: median {statistics.median(values):.0f} ms, most {max(values):.0f} ms")
    print(f"load of the machine {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
