"""Tests Qwen2.5-Coder-0.5B-Instruct with its trained weights: Syrinx beside llama.cpp, each kind of weights beside f32.

llama.cpp reads the same numbers, which its own quantizer converted to f32. Answers to questions.txt are greedy, with 40
tokens. The texts of passages.txt are given token by token and scored (text_scores.cc).
"""
import concurrent.futures
import json
import math
import socket
import subprocess
import time
import urllib.error
import urllib.request

import fetch
import models

KINDS = ("f32", "bf16", "q8", "q8a8", "mixed", "q4")
TOKENS = 40
HERE = fetch.HERE


def questions():
    return (HERE / "questions.txt").read_text(encoding="utf-8").splitlines()


def in_f32(model):
    """Writes the model with all weights in f32; returns the file."""
    target = fetch.cache() / "models" / "qwen-f32" / "qwen-f32.gguf"
    if not target.is_file():
        import ctypes

        import llama_cpp
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        how = llama_cpp.llama_model_quantize_default_params()
        how.ftype, how.allow_requantize = llama_cpp.LLAMA_FTYPE_ALL_F32, True
        if llama_cpp.llama_model_quantize(str(model).encode(), str(partial).encode(), ctypes.byref(how)) != 0:
            raise ValueError("llama.cpp could not write the model in f32")
        partial.rename(target)
    return target


def reference(model, threads):
    """Returns llama.cpp's answers."""
    place = fetch.cache() / "references" / "qwen.json"
    if place.is_file() and (known := json.loads(place.read_text()))["questions"] == questions():
        return known["answers"]
    import llama_cpp
    network = llama_cpp.Llama(str(in_f32(model)), n_ctx=512, n_threads=threads, n_threads_batch=threads, verbose=False)
    answers = []
    for each in questions():
        network.reset()
        answer = network.create_chat_completion([{"role": "user", "content": each}], max_tokens=TOKENS, temperature=0,
                                                repeat_penalty=1.0)
        answers.append(answer["choices"][0]["message"]["content"])
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(dict(questions=questions(), answers=answers), ensure_ascii=False))
    return answers


class Server:
    """Runs `syrinx serve` on a free port."""

    def __init__(self, syrinx, model, *options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.model = ""
        self.process = subprocess.Popen([syrinx, "serve", "-m", model, "--port", str(self.port), *options],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(6000):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5):
                    break
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None:
                    raise ValueError("the server ended") from None
                time.sleep(0.1)
        else:
            raise ValueError("the server is not ready")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/models", timeout=60) as models_json:
            self.model = json.load(models_json)["data"][0]["id"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)

    def answer(self, question, tokens=TOKENS):
        body = dict(model=self.model, messages=[dict(role="user", content=question)], max_tokens=tokens, temperature=0)
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]


def same_words(a, b):
    """Returns how many words two texts share at their beginnings."""
    a, b = a.split(), b.split()
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def scores(tool, model, weights, threads):
    done = subprocess.run([tool, model, weights, HERE / "passages.txt", str(threads)], check=True, capture_output=True)
    return json.loads(done.stdout)


def run(syrinx, tool, threads, say):
    model = models.qwen()
    say("qwen: llama.cpp in f32 first")
    theirs = reference(model, threads)
    result = dict(questions=len(theirs), kinds={})
    exact_scores, exact_answers = None, None
    for weights in KINDS:
        say(f"qwen: syrinx --weights {weights}")
        row = {}
        with Server(syrinx, model, "--weights", weights, "--threads", str(threads)) as server:
            with concurrent.futures.ThreadPoolExecutor(len(theirs)) as clients:  # answers are the same alone and together
                answers = list(clients.map(server.answer, questions()))
        exact_answers = exact_answers or answers
        row["as_llama_cpp"] = sum(a == b for a, b in zip(answers, theirs))
        row["as_f32"] = sum(a == b for a, b in zip(answers, exact_answers))
        row["words_alike"] = sum(same_words(a, b) for a, b in zip(answers, exact_answers)) / len(answers)
        passages = scores(tool, model, weights, threads)
        exact_scores = exact_scores or passages
        ids = [s for each in passages for s in each["scores"]]
        pairs = [(a, b) for each, exact in zip(passages, exact_scores) for a, b in zip(each["likeliest"], exact["likeliest"])]
        row["tokens"], row["perplexity"] = len(ids), math.exp(-sum(ids) / len(ids))
        row["same_next"] = sum(a == b for a, b in pairs) / len(pairs)
        row["answers"] = answers
        result["kinds"][weights] = row
    result["theirs"] = theirs
    return result


def faults(result):
    found = []
    f32, q8 = result["kinds"]["f32"], result["kinds"]["q8"]
    if f32["as_llama_cpp"] < 0.9 * result["questions"]:
        found.append(f"{f32['as_llama_cpp']} of {result['questions']} greedy answers in f32 are llama.cpp's")
    if q8["perplexity"] > 1.02 * f32["perplexity"]:
        found.append(f"q8's perplexity is {q8['perplexity']:.3f}, that of f32 {f32['perplexity']:.3f}")
    return found
