#!/usr/bin/env python3
"""Renders chat templates with transformers, for tests of src/text/jinja.

  make_golden.py                          templates/*.jinja beside this file -> golden.json
  make_golden.py --templates DIR -o FILE  others (published ones, which are not kept here): run
                                          SYRINX_CHAT_GOLDENS=FILE text_test --gtest_filter='Chat*'

The templates here are our own; they use what published ones use. Needs transformers (5.23 was used) and jinja2.
"""
import argparse
import copy
import datetime
import json
import pathlib

from transformers.utils import chat_template_utils

HERE = pathlib.Path(__file__).parent
NOW = 1753531200  # 26 July 2025, noon in Greenwich
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(NOW, tz or datetime.timezone.utc)


WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Tells the weather of a <place> & day. It's \"quick\".",
    "parameters": {"type": "object", "required": ["place"], "properties": {
        "place": {"type": "string", "description": "Größe \u00e9 \u4f60"}, "days": {"type": "integer", "default": 3},
        "scale": {"type": "number", "default": 0.5, "enum": [0.5, 1e-7, 1e22, 3.0]},
        "unit": {"type": ["string", "null"], "enum": ["C", "F", None]}, "empty": {}, "none": [], "flag": True}}}}
CLOCK = {"type": "function", "function": {"name": "get_time", "description": "", "parameters": {"type": "object", "properties": {}}}}


def call(name, arguments, number=1):
    return {"id": f"call_{number:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}


def says(role, content, **more):
    return {"role": role, "content": content, **more}


CHATS = {
    "user": [says("user", "Hello!")],
    "system": [says("system", "  Be brief.\n"), says("user", "Hi <|im_end|> there\n\n")],
    "turns": [says("system", "You are kind."), says("user", "One?"), says("assistant", "  1.\n"), says("user", "Two? 你好 🙂"),
              says("assistant", "2"), says("user", "")],
    "ends_with_assistant": [says("user", "Say"), says("assistant", "said")],
    "reasoning": [says("user", "Why?"), says("assistant", "<think>\nbecause\n</think>\n\nSo."), says("user", "And?"),
                  says("assistant", "<think>more</think>And.", reasoning_content="told apart"), says("user", "Then?")],
    "late_reasoning": [says("user", "Why?"), says("assistant", "Fine.", reasoning_content="\nthinking\n")],
    "tools": [says("system", "Use tools."), says("user", "Weather in Köln?"),
              says("assistant", "", tool_calls=[call("get_weather", {"place": "Köln", "days": 2, "deep": {"a": [1, 2.5, None, True]}})]),
              says("tool", '{"sky": "grey"}', name="get_weather", tool_call_id="call_00001"), says("assistant", "Grey."), says("user", "Thanks")],
    "two_calls": [says("user", "Time and weather?"),
                  says("assistant", "Let me see.", tool_calls=[call("get_weather", {"place": "a\"b"}), call("get_time", {}, 2)]),
                  says("tool", "sun", tool_call_id="call_00001"), says("tool", "noon", tool_call_id="call_00002")],
    "call_first": [says("user", "Go"), says("assistant", "", tool_calls=[call("get_time", {})]), says("tool", "one")],
    "text_arguments": [says("user", "Go"), says("assistant", "x", tool_calls=[call("get_time", '{"a": 1}')])],
    "odd_roles": [says("assistant", "I begin."), says("user", "No."), says("user", "Twice.")],
    "parts": [says("user", [{"type": "text", "text": "in"}, {"type": "text", "text": "parts"}])],
    "empty": [],
}
CASES = [(name, chat, tools, more) for name, chat in CHATS.items() for tools in ([None, [WEATHER, CLOCK]] if name in
         ("user", "system", "tools", "two_calls", "reasoning", "empty") else [None])
         for more in ([{}, {"enable_thinking": False}] if name in ("user", "reasoning") else [{}])]


def render(source, chat, tools, more):
    out, _ = chat_template_utils.render_jinja_template(
        conversations=[copy.deepcopy(chat)], tools=copy.deepcopy(tools), chat_template=source,
        add_generation_prompt=True, **TOKENS, **more)
    return out[0]


def golden(path):
    source = path.read_text(encoding="utf-8")
    cases = []
    for name, chat, tools, more in CASES[:1] if path.name.startswith("refused") else CASES:
        case = {"chat": name, "tools": tools is not None, "more": more}
        try:
            case["text"] = render(source, chat, tools, more)
        except Exception as fault:  # the error may come from Jinja or from Python
            case["refused"] = f"{type(fault).__name__}: {fault}"[:200]
        cases.append(case)
    return {"name": path.name, "template": source, "cases": cases}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--templates", type=pathlib.Path, default=HERE / "templates")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=HERE / "golden.json")
    args = parser.parse_args()
    chat_template_utils.datetime = Clock
    templates = [golden(path) for path in sorted(args.templates.glob("*.jinja"))]
    for template in templates:
        print(template["name"], sum("text" in case for case in template["cases"]), "of", len(template["cases"]))
    # Newer versions of transformers add further names for the reasoning. Here, templates get the same names.
    chats = {name: chat_template_utils._alias_reasoning_fields(chat) for name, chat in CHATS.items()}
    document = {"now": NOW, "tokens": TOKENS, "chats": chats, "tools": [WEATHER, CLOCK], "templates": templates}
    args.output.write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
