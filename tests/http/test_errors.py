"""Tests that each invalid request gets a clear error in OpenAI's format and does not affect other requests."""
import json
import unittest

import harness


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--quiet", "--ears", "none").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def refused(self, body, status, param, code, says="", headers=None):
        got, answer_headers, data = self.server.speak(body, headers)
        self.assertEqual(got, status, data)
        self.assertEqual(answer_headers["Content-Type"], "application/json")
        self.assertTrue(answer_headers["X-Request-Id"].startswith("req_"))
        error = json.loads(data)["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual(error["param"], param)
        self.assertEqual(error["code"], code)
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertIn(says, error["message"])

    def test_json(self):
        for body in [b"", b"{", b"not json", b"[]", b"null", b'{"input": "\xff\xfe"}',
                     b'{"input": "a",}', b"[" * 100000]:
            with self.subTest(body=body[:40]):
                self.refused(body, 400, None, "invalid_json")

    def test_types(self):
        for name, value in [("input", 5), ("input", ["a"]), ("model", {}), ("voice", 7),
                            ("voice", []), ("response_format", 1), ("speed", "fast"),
                            ("seed", "one"), ("seed", 1.5), ("temperature", "hot"),
                            ("top_p", []), ("top_k", 0.5), ("language", 3),
                            ("instructions", {}), ("max_new_tokens", "many"),
                            ("stream_format", True)]:
            with self.subTest(name=name, value=value):
                self.refused({"input": "Hello.", name: value}, 400, name, "invalid_type",
                             f"'{name}'")

    def test_values(self):
        for body, param, code, says in [
                ({}, "input", "invalid_value", "text"),
                ({"input": ""}, "input", "invalid_value", "text"),
                ({"input": " \n\t"}, "input", "invalid_value", "text"),
                ({"input": None}, "input", "invalid_value", "text"),
                ({"input": "a", "voice": "nobody"}, "voice", "voice_not_found", "nobody"),
                ({"input": "a", "voice": {"id": "nobody"}}, "voice", "voice_not_found", "nobody"),
                ({"input": "a", "voice": {}}, "voice.id", "invalid_value", "id"),
                ({"input": "a", "response_format": "tape"}, "response_format", "invalid_value",
                 "wav"),
                ({"input": "a", "ref_audio": "x"}, "ref_audio", "unsupported_value", "clone"),
                ({"input": "a", "response_format": "mp3", "sample_rate": 12345}, "sample_rate",
                 "invalid_value", "22050"),
                ({"input": "a", "speed": 100}, "speed", "invalid_value", "between"),
                ({"input": "a", "temperature": -0.1}, "temperature", "invalid_value", "between"),
                ({"input": "a", "top_p": 2}, "top_p", "invalid_value", "between"),
                ({"input": "a", "max_new_tokens": 0}, "max_new_tokens", "invalid_value",
                 "between")]:
            with self.subTest(body=body):
                self.refused(body, 400, param, code, says)

    def test_signs_alone_are_silence(self):
        for text in ["\U0001f44d", "...", "\u2764\ufe0f \u2014"]:
            status, _, audio = self.server.speak({"input": text, "response_format": "pcm"})
            self.assertEqual((status, audio), (200, bytes(2 * 4800)), text)
        self.refused({"input": "\u4f60\u597d"}, 400, "input", "invalid_value", "Latin letters")

    def test_unknown_voice_names_those_that_exist(self):
        voices = self.server.get("/v1/audio/voices")[2]["voices"]
        for voice in voices:
            self.refused({"input": "a", "voice": "nobody"}, 400, "voice", "voice_not_found",
                         voice["id"])

    def test_unknown_model(self):
        self.refused({"input": "a", "model": "gpt-99"}, 404, "model", "model_not_found", "gpt-99")

    def test_too_long_text(self):
        self.refused({"input": "word " * 60_000}, 400, "input", "string_above_max_length",
                     "at most")

    def test_too_large_body(self):
        self.refused(b'{"input": "' + b"a" * (2 << 20) + b'"}', 413, None, "body_too_large")

    def test_wrong_content_type(self):
        self.refused({"input": "a"}, 415, None, "unsupported_media_type", "application/json",
                     {"Content-Type": "text/plain"})

    def test_paths_and_methods(self):
        status, _, body = self.server.get("/v2/nothing")
        self.assertEqual((status, body["error"]["code"]), (404, "not_found"))
        status, headers, body = self.server.get(harness.SPEECH)
        self.assertEqual((status, body["error"]["code"]), (405, "method_not_allowed"))
        self.assertEqual(headers["Allow"], "POST")

    def test_garbage(self):
        for data in [b"\x16\x03\x01\x02\x00garbage\r\n\r\n", b"GET\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                     b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000 + b"\r\n\r\n"]:
            with self.subTest(data=data[:30]), self.server.raw() as client:
                client.sendall(data)
                answer = client.recv(100)
                self.assertTrue(answer.startswith(b"HTTP/1.1 4"), answer)

    def test_one_host(self):
        for lines, status in [(b"", b"400"), (b"Host: a\r\nHost: b\r\n", b"400"),
                              (b"Host: localhost\r\n", b"200")]:
            with self.server.raw() as client:
                client.sendall(b"GET /live HTTP/1.1\r\n" + lines + b"\r\n")
                self.assertEqual(client.recv(100).split()[1], status, lines)

    def test_health_tells_of_every_model(self):
        models = self.server.get("/v1/models")[2]["data"]
        health = self.server.get("/health")[2]["models"]
        self.assertEqual([m["id"] for m in health], [m["id"] for m in models])
        self.assertGreaterEqual(health[0]["engine"]["accepted"], 0)

    def test_errors_disturb_nobody(self):
        alone = self.server.speak({"input": "Hello there.", "seed": 1})[2]
        stream = self.server.open_speech({"input": "Hello there.", "seed": 1})
        self.test_values()
        self.assertTrue(stream.read() == alone)
        stream.connection.close()


if __name__ == "__main__":
    harness.main()
