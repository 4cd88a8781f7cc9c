"""Tests chat and text completions of a small random text model on the real server, also with the official client if
it is installed."""
import json
import os
import pathlib
import re
import unittest

MODEL = pathlib.Path(os.environ.get("SYRINX_BIN", "build/release/syrinx")).resolve().parent / "parity/llm/qwen3"
os.environ["SYRINX_MODEL"] = str(MODEL)
import harness  # noqa: E402  (reads SYRINX_MODEL)

try:
    import openai
except ImportError:
    openai = None

CASES = json.loads((MODEL / "golden" / "cases.json").read_text(encoding="utf-8"))
GREEDY = {"temperature": 0, "top_p": 1, "top_k": 0, "max_tokens": 96}


def body_of(case):
    body = dict(GREEDY, repetition_penalty=case["penalty"])
    if "prompt" in case:
        return dict(body, prompt=case["prompt"])
    body["messages"] = json.loads(json.dumps(case["messages"]))
    for message in body["messages"]:
        for call in message.get("tool_calls", []):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
    return dict(body, tools=case["tools"]) if "tools" in case else body


class Chat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--weights", "f32").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def post(self, path, body):
        """Returns (status, headers, text)."""
        connection = self.server.connect()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def chat(self, **body):
        status, _, text = self.post("/v1/chat/completions", body)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def test_writes_what_transformers_writes(self):
        for case in CASES:
            path = "/v1/completions" if "prompt" in case else "/v1/chat/completions"
            status, _, text = self.post(path, body_of(case))
            self.assertEqual(status, 200, text)
            answer = json.loads(text)
            choice = answer["choices"][0]
            written = choice["text"] if "prompt" in case else choice["message"]["content"]
            self.assertEqual(written, case["text"], case["name"])
            self.assertEqual(choice["finish_reason"], "stop" if case["ended"] else "length")
            self.assertEqual(answer["usage"]["completion_tokens"], case["steps"])

    def test_stream_is_the_same(self):
        case = CASES[0]
        body = dict(body_of(case), stream=True, stream_options={"include_usage": True})
        status, headers, text = self.post("/v1/chat/completions", body)
        self.assertEqual(status, 200, text)
        self.assertEqual(headers["Content-Type"], "text/event-stream")
        lines = [line[6:] for line in text.split("\n") if line]
        self.assertEqual(lines[-1], "[DONE]")
        events = [json.loads(line) for line in lines[:-1]]
        self.assertEqual(events[0]["choices"][0]["delta"]["role"], "assistant")
        pieces = [event["choices"][0]["delta"].get("content", "") for event in events if event["choices"]]
        self.assertEqual("".join(pieces), case["text"])
        self.assertEqual(events[-2]["choices"][0]["finish_reason"], "length")
        self.assertEqual(events[-1]["usage"]["completion_tokens"], case["steps"])

    def test_stop_and_seed(self):
        case = next(case for case in CASES if len(case["text"]) > 40)
        stop = case["text"][20:23]
        answer = self.chat(**dict(body_of(case), stop=["never so", stop]))
        self.assertEqual(answer["choices"][0]["message"]["content"], case["text"][:case["text"].index(stop)])
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        drawn = [self.chat(messages=[{"role": "user", "content": "Hi"}], seed=seed, max_tokens=20)["choices"] for seed in (5, 5, 6)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_logprobs(self):
        answer = self.chat(**dict(body_of(CASES[0]), logprobs=True, top_logprobs=2))
        content = answer["choices"][0]["logprobs"]["content"]
        self.assertEqual(len(content), CASES[0]["steps"])
        for token in content:
            self.assertEqual(token["logprob"], token["top_logprobs"][0]["logprob"])
            self.assertLessEqual(token["logprob"], 0)
        self.assertEqual(b"".join(bytes(token["bytes"]) for token in content).decode(errors="replace"), CASES[0]["text"])

    def test_shares_prefixes(self):
        message = {"role": "user", "content": "The same long beginning. " * 20}
        self.chat(messages=[message], max_tokens=1)
        again = self.chat(messages=[message], max_tokens=1)
        self.assertGreater(again["usage"]["prompt_tokens_details"]["cached_tokens"], 16)

    def test_errors(self):
        for path, body, status, param in [
                ("/v1/chat/completions", {"messages": []}, 400, "messages"),
                ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x" * 100_000}]}, 400, "messages"),
                ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, 400,
                 "messages[0].content[0].type"),
                ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], "n": 2}, 400, "n"),
                ("/v1/completions", {"prompt": ""}, 400, "prompt"),
                ("/v1/audio/speech", {"input": "Hello"}, 400, "model"),
                ("/v1/chat/completions", {"model": "none", "messages": [{"role": "user", "content": "a"}]}, 404, "model")]:
            got, _, text = self.post(path, body)
            self.assertEqual(got, status, text)
            self.assertEqual(json.loads(text)["error"]["param"], param, text)

    def test_many_messages(self):
        """A body with the largest number of messages is refused because its prompt is too long. No other request waits long for
        that."""
        body = {"messages": [{"role": "user", "content": ""}] * 30_000}
        status, _, text = self.post("/v1/chat/completions", json.dumps(body, separators=(",", ":")).encode())
        self.assertEqual(status, 400, text[:300])
        self.assertIn("token", json.loads(text)["error"]["message"])
        self.chat(messages=[{"role": "user", "content": "a"}], max_tokens=1)

    def test_models_tell_what_they_do(self):
        model = self.server.get("/v1/models")[2]["data"][0]
        self.assertTrue(model["writes"] and not model["speaks"])

    def test_what_is_said_to_try_works(self):
        with harness.Server("--quiet") as server:
            lines = [server.process.stdout.readline() for _ in range(3)]
            path = f"http://127.0.0.1:{server.port}/v1/chat/completions"
            self.assertIn(path, lines[1])
            body = re.search("-d '(.*)'", lines[2]).group(1).encode()
            connection = server.connect()
            connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()

    @unittest.skipIf(openai is None, "the package openai is not installed")
    def test_official_client(self):
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none", max_retries=0)
        case = CASES[0]
        options = {"model": "qwen3", "temperature": 0, "top_p": 1, "max_tokens": 96,
                   "extra_body": {"top_k": 0, "repetition_penalty": case["penalty"]}}
        whole = client.chat.completions.create(messages=case["messages"], **options)
        self.assertEqual(whole.choices[0].message.content, case["text"])
        stream = client.chat.completions.create(messages=case["messages"], stream=True, stream_options={"include_usage": True},
                                                **options)
        chunks = list(stream)
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), case["text"])
        self.assertEqual(chunks[-1].usage.completion_tokens, case["steps"])
        with self.assertRaises(openai.BadRequestError) as caught:
            client.chat.completions.create(messages=[], model="qwen3")
        self.assertEqual(caught.exception.param, "messages")
        text = CASES[2]
        options["extra_body"]["repetition_penalty"] = text["penalty"]
        self.assertEqual(client.completions.create(prompt=text["prompt"], **options).choices[0].text, text["text"])
        client.close()


if __name__ == "__main__":
    harness.main()
