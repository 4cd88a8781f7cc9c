"""Counts the held-out questions that wren answers exactly right through the server.

    evaluate.py SYRINX [MODEL] [--each 200] [--seed 7]

Starts `SYRINX serve --model MODEL` (default: wren). Asks --each conversations of every skill with held-out
templates (and held-out values, if a rule can be learned), then the questions of asked.tsv, which a person
wrote. An answer is right if it equals the expected answer word for word. Conversations continue with wren's
real answers. Prints a table for the model card.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import subprocess
import urllib.request

import conversation

TOOLS = {name: {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
         for name in ("set_timer", "cancel_timer")}


class Server:
    def __init__(self, program, model):
        self.process = subprocess.Popen([program, "serve", "--model", model, "--port", "0", "--ears", "none",
                                         "--quiet"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if found := re.search(r"http://[0-9.:]+", line):
                self.url = found[0]
                break
        else:
            raise SystemExit("the server did not start")

    def ask(self, messages, tools):
        body = {"model": os.path.basename(self.model_name()), "messages": messages, "max_tokens": 96}
        if tools:
            body["tools"] = [TOOLS[name] for name in tools]
        request = urllib.request.Request(self.url + "/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as reply:
            return json.load(reply)["choices"][0]["message"]

    def model_name(self):
        with urllib.request.urlopen(self.url + "/v1/models", timeout=60) as reply:
            return json.load(reply)["data"][0]["id"]

    def stop(self):
        self.process.terminate()
        self.process.wait()


def talk(server, now, tools, turns):
    """Returns [(question, expected answer, wren's answer)] of a conversation."""
    messages, out = [{"role": "system", "content": "Now: " + " ".join(map(str, now))}], []
    for question, expected in turns:
        if question.startswith("tool:"):
            calls = messages[-1].get("tool_calls")
            if not calls:
                break  # the previous answer was already wrong
            messages.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": question[5:]})
        else:
            messages.append({"role": "user", "content": question})
        message = server.ask(messages, tools)
        said = message.get("content") or ""
        for call in message.get("tool_calls") or []:
            said += '<tool_call>{"name": "%s", "arguments": %s}</tool_call>' % (
                call["function"]["name"], call["function"]["arguments"])
        out.append((question, expected, said))
        kept = {"role": "assistant", "content": message.get("content") or ""}
        if message.get("tool_calls"):
            kept["tool_calls"] = message["tool_calls"]
        messages.append(kept)
    return out


def same(said, expected):
    """Returns whether two answers are equal. Ignores spaces within the JSON of a call."""
    if "<tool_call>" in expected:
        return said.replace(" ", "") == expected.replace(" ", "")
    return said == expected


def conversations(each, seed):
    rng = random.Random(seed)
    for skill in conversation.MIX:
        for _ in range(each):
            now, tools = conversation.draw_now_and_tools(rng)
            yield skill, now, tools, conversation.draw(rng, skill, True, now, tools)
    now = ("Monday", 23, "November", 2026, "14:05")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "asked.tsv"), encoding="utf-8") as file:
        for line in file:
            cells = line.rstrip("\n").split("\t")
            yield "asked by a person", now, ("set_timer", "cancel_timer"), list(zip(cells[::2], cells[1::2]))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("model", nargs="?", default="wren")
    options.add_argument("--each", type=int, default=200)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--wrong", type=int, default=3, help="number of wrong answers to print for each skill")
    options = options.parse_args()
    server = Server(options.program, options.model)
    try:
        all_ = list(conversations(options.each, options.seed))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda c: (c[0], talk(server, *c[1:])), all_))
    finally:
        server.stop()
    right, count, wrong = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for skill, turns in results:
        for i, (question, expected, said) in enumerate(turns):
            kind = (skill, i > 0)
            count[kind] += 1
            right[kind] += same(said, expected)
            if not same(said, expected):
                wrong[skill].append((question, expected, said))
    print("| skill | right | following up |\n|---|---|---|")
    for skill in [*conversation.MIX, "asked by a person"]:
        cells = [f"{100 * right[k] / count[k]:.1f} % of {count[k]}" if count[k] else "-"
                 for k in ((skill, False), (skill, True))]
        print(f"| {skill} | {cells[0]} | {cells[1]} |")
    for skill, some in wrong.items():
        print(f"\n{skill}, wrong:")
        for question, expected, said in some[:options.wrong]:
            print(f"  {question!r}: {said!r} instead of {expected!r}")


if __name__ == "__main__":
    main()
