"""Tests packaging/haproxy/haproxy.cfg with four workers on this machine: the promises to users when workers start,
stop, drain and die. Skipped (77) without haproxy. Standard library only.
"""
import http.client
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import fleet
import harness
from ws import WebSocket, Wyoming

SHORT = {"input": "All is well.", "voice": "finch", "response_format": "pcm", "seed": 1}
# Longer than all buffers between worker and client, so most of it is still in the worker when its head arrives.
LONG = dict(SHORT, input=harness.SENTENCE * 16)


class Asking:
    """Sends short requests one after another, in the background."""

    def __init__(self, whole_fleet):
        self.fleet, self.answers, self.ended = whole_fleet, [], threading.Event()
        self.thread = threading.Thread(target=self.ask)

    def ask(self):
        while not self.ended.is_set():
            stream = self.fleet.stream(SHORT)
            try:
                stream.head()
                self.answers.append((stream.status, stream.worker, stream.rest()))
            except (OSError, http.client.HTTPException) as error:
                self.answers.append((0, getattr(stream, "worker", None), repr(error)))
            time.sleep(0.02)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


class OwnVoices(unittest.TestCase):
    def test_the_file_lists_all_voices_of_finch(self):
        text = pathlib.Path(fleet.CONFIG).read_text()
        listed = next(line for line in text.splitlines() if "acl own_voice" in line).split()
        config = json.loads((pathlib.Path(fleet.CONFIG).parents[2] / "voices/finch/config.json").read_text())
        self.assertEqual([], [each["name"] for each in config["speakers"] if each["name"] not in listed])


class Haproxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = fleet.Fleet().__enter__()
        cls.short = cls.fleet.speak(SHORT)[2]
        cls.long = cls.fleet.speak(LONG)[2]

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__()

    def tearDown(self):
        for name, worker in self.fleet.workers.items():
            if worker.process.poll() is not None:
                worker.start()
        for name, worker in self.fleet.workers.items():
            fleet.wait_until(worker.ready, name + " is ready")
            fleet.wait_until(lambda at=worker: at.running() == 0, name + " is idle")
            fleet.wait_until(lambda at=name: self.fleet.takes(at), name + " is up")

    def long_streams(self, count):
        streams = [self.fleet.stream(LONG) for _ in range(count)]
        for stream in streams:
            self.assertEqual(stream.head().status, 200)
        return streams

    def busiest(self, streams):
        names = [stream.worker for stream in streams]
        return max(set(names), key=names.count)

    def whole(self, stream):
        """Returns whether the audio is complete. Incomplete audio must be an error, never a short success."""
        try:
            audio = stream.rest()
        except (OSError, http.client.HTTPException):
            return False
        self.assertTrue(audio == self.long)
        return True

    def fates(self, streams):
        """Returns whether each stream is complete. Reads them in parallel, because workers do not wait forever."""
        with ThreadPoolExecutor(len(streams)) as readers:
            return list(readers.map(self.whole, streams))

    def test_file_is_valid(self):
        done = subprocess.run(["haproxy", "-c", "-f", fleet.CONFIG], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, "WARNING|ALERT")

    def test_requests_spread(self):
        # At first, a worker that the last test restarted or loaded has a small share.
        for name, worker in self.fleet.workers.items():
            fleet.wait_until(lambda at=worker: at.says() == "up 100%\n", name + " has its full share")
            fleet.wait_until(lambda at=name: self.fleet.table()["workers", at]["weight"] == "100",
                             name + " has its weight")
        streams = self.long_streams(8)
        served = [stream.worker for stream in streams]
        self.assertEqual(set(served), set(self.fleet.workers))
        self.assertLessEqual(served.count(self.busiest(streams)), 3)
        # All workers generate the same speech.
        self.assertTrue(all(self.fates(streams)))

    def test_weights_follow_what_is_free(self):
        worker = self.fleet.workers["w1"]
        # The worker forgets the waits of the last test's requests within seconds.
        fleet.wait_until(lambda: worker.says() == "up 100%\n", "the worker has its full share")
        streams = [fleet.Stream(worker.port, LONG) for _ in range(8)]
        for stream in streams:
            self.assertEqual(stream.head().status, 200)
        self.assertRegex(worker.says(), r"^up \d+%\n$")
        fleet.wait_until(lambda: int(worker.says()[3:-2]) < 100, "the worker lowers its share")
        fleet.wait_until(lambda: int(self.fleet.table()["workers", "w1"]["weight"]) < 100,
                         "the weight follows")
        head = worker.get("/v1/models", {"endpoint-load-metrics-format": "JSON"})[1]
        load = json.loads(head["endpoint-load-metrics"].removeprefix("JSON "))
        self.assertEqual(load["named_metrics"]["num_requests_running"], 8)
        self.assertGreater(load["application_utilization"], 0)
        for stream in streams:
            stream.__exit__()
        fleet.wait_until(lambda: worker.says() == "up 100%\n", "the worker has its full share again")
        self.assertIsNone(worker.get("/v1/models")[1]["endpoint-load-metrics"])

    def test_a_dead_worker_costs_its_own_streams_only(self):
        streams = self.long_streams(8)
        victim = self.busiest(streams)
        with Asking(self.fleet) as asking:
            time.sleep(0.1)
            self.fleet.kill(victim)
            fates = list(zip([stream.worker for stream in streams], self.fates(streams)))
            fleet.wait_until(lambda: not self.fleet.takes(victim), "HAProxy removes the worker")
        for worker, whole in fates:
            self.assertEqual(whole, worker != victim, fates)
        # At most one short request fails: the request of the killed worker.
        cut = [worker for status, worker, _ in asking.answers if status == 0]
        self.assertIn(cut, ([], [victim]))
        whole = [answer for answer in asking.answers if answer[0] != 0]
        self.assertTrue(whole)
        for status, worker, audio in whole:
            self.assertEqual((status, audio), (200, self.short), worker)

    def test_who_comes_back_begins_with_a_small_share(self):
        self.fleet.kill("w1")
        fleet.wait_until(lambda: not self.fleet.takes("w1"), "HAProxy removes the worker")
        self.fleet.workers["w1"].start()
        fleet.wait_until(lambda: self.fleet.takes("w1"), "HAProxy adds the worker again")
        row = self.fleet.table()["workers", "w1"]
        self.assertLess(int(row["throttle"]), 90, row)  # percent of its share, in the last ten seconds
        fleet.wait_until(lambda: int(self.fleet.table()["workers", "w1"]["throttle"] or 100) > int(row["throttle"]),
                         "its share grows")

    def test_what_had_not_begun_is_served_elsewhere(self):
        """Tests requests by load and by voice. A stopped worker accepts requests but does not answer."""
        for voice in ["finch", "finch(3)+raven(1)"]:
            body = dict(SHORT, voice=voice)
            expected = self.fleet.speak(body)[2]
            victims = {}
            for name, worker in self.fleet.workers.items():
                if name in ("w1", "w2"):
                    worker.signal(signal.SIGSTOP)
                    victims[name] = worker
            streams = [self.fleet.stream(body) for _ in range(8)]
            time.sleep(0.2)
            for name in victims:
                self.fleet.kill(name)
            for stream in streams:
                self.assertEqual(stream.head().status, 200, voice)
                self.assertIn(stream.worker, ("w3", "w4"))
                self.assertEqual(stream.rest(), expected)
            self.tearDown()

    def test_two_balancers(self):
        """Two balancers do not see each other's requests, but agents report to both. A dead worker ends its own
        streams, and a dead balancer the streams that pass through it. All others continue."""
        with fleet.Fleet(workers=self.fleet.workers) as other:
            streams = [each.stream(LONG) for _ in range(6) for each in (self.fleet, other)]
            for stream in streams:
                self.assertEqual(stream.head().status, 200)
            served = [stream.worker for stream in streams]
            self.assertEqual(set(served), set(self.fleet.workers))
            self.assertLessEqual(served.count(self.busiest(streams)), 6, served)  # twelve requests for four workers
            victim = self.busiest(streams)
            with Asking(self.fleet) as here, Asking(other) as there:
                time.sleep(0.1)
                self.fleet.kill(victim)
                fates = list(zip(served, self.fates(streams)))
                for each in (self.fleet, other):
                    fleet.wait_until(lambda at=each: not at.takes(victim), "HAProxy removes the worker")
            for worker, whole in fates:
                self.assertEqual(whole, worker != victim, fates)
            for asking in (here, there):
                cut = [worker for status, worker, _ in asking.answers if status == 0]
                self.assertIn(cut, ([], [victim]))
                for status, worker, audio in asking.answers:
                    self.assertIn((status, audio == self.short), ((200, True), (0, False)), worker)
            lost = other.stream(LONG)
            kept = self.fleet.stream(LONG)
            self.assertEqual((lost.head().status, kept.head().status), (200, 200))
            other.proxy.kill()
            other.proxy.wait()
            self.assertFalse(self.whole(lost))
            self.assertTrue(self.whole(kept))
            for name, worker in self.fleet.workers.items():
                if name != victim:
                    fleet.wait_until(lambda at=worker: at.running() == 0, name + " ends its cut requests")
            self.assertEqual(self.fleet.speak(SHORT)[2], self.short)

    def test_drain_loses_nothing(self):
        streams = self.long_streams(8)
        name = self.busiest(streams)
        worker = self.fleet.workers[name]
        with Asking(self.fleet) as asking:
            time.sleep(0.1)
            worker.signal(signal.SIGTERM)
            fleet.wait_until(lambda: worker.says() == "down #draining\n", "the agent reports the drain")
            fleet.wait_until(
                lambda: not self.fleet.table()["workers", name]["status"].startswith("UP"),
                "HAProxy removes the worker")
            drained = len(asking.answers)
            time.sleep(0.3)
            self.assertIsNone(worker.process.poll(), "the worker ended before its streams")
            self.assertTrue(all(self.fates(streams)))
        self.assertEqual(worker.process.wait(60), 0)
        for status, _, audio in asking.answers:
            self.assertEqual((status, audio), (200, self.short))
        self.assertGreater(len(asking.answers), drained + 1)
        self.assertNotIn(name, [served for _, served, _ in asking.answers[drained + 1:]])

    def test_a_voice_stays_and_a_hot_one_spreads(self):
        body = dict(LONG, voice="finch(2)+curlew(1)")
        asked = dict(body, input=SHORT["input"])
        home = {self.fleet.speak(asked)[1] for _ in range(5)}
        self.assertEqual(len(home), 1)
        # Tests other forms of the same voice.
        for way in [dict(asked, voice={"id": "finch(2)+curlew(1)"})]:
            self.assertEqual({self.fleet.speak(way)[1]}, home)
        self.assertEqual({self.fleet.speak(asked, {"X-Voice": "FINCH(2)+curlew(1)"})[1]}, home)
        homes = {self.fleet.speak(dict(asked, voice=f"finch({i})+curlew(1)"))[1]
                 for i in range(3, 15)}
        self.assertGreater(len(homes), 1)
        streams = [self.fleet.stream(body) for _ in range(12)]
        served = [stream.head().worker for stream in streams]
        for stream in streams:
            stream.__exit__()
        # HAProxy's limit uses the requests that it has counted. Simultaneous requests exceed the limit by a
        # few.
        self.assertLessEqual(max(map(served.count, served)), 8, served)

    def test_who_hangs_up_is_not_spoken_to(self):
        streams = self.long_streams(4)
        began = time.monotonic()
        for stream in streams:
            stream.__exit__()
        for name, worker in self.fleet.workers.items():
            fleet.wait_until(lambda at=worker: at.running() == 0, name + " is idle", 10)
        self.assertLess(time.monotonic() - began, 5)

    def test_events_websockets_and_wyoming(self):
        status, _, events = self.fleet.speak(dict(SHORT, stream_format="sse"))
        self.assertEqual(status, 200)
        self.assertIn(b"speech.audio.done", events)
        with WebSocket(self.fleet.port, "/v1/audio/speech/stream") as socket:
            self.assertEqual(socket.status, 101)
            socket.send({"type": "session.config", "voice": "finch", "seed": 1})
            socket.send({"type": "input.text", "text": SHORT["input"]})
            socket.send({"type": "input.done"})
            self.assertGreater(len(socket.until("session.done")[0]), 8000)
        with Wyoming(self.fleet.wyoming_port) as home:
            home.send("describe")
            self.assertEqual(home.recv()[0], "info")

    def test_without_any_worker(self):
        for name in self.fleet.workers:
            self.fleet.workers[name].end()
        fleet.wait_until(lambda: not any(map(self.fleet.takes, self.fleet.workers)), "HAProxy removes all workers")
        with self.fleet.stream(SHORT) as stream:
            self.assertEqual(stream.head().status, 503)
            self.assertEqual(stream.answer.headers["Retry-After"], "1")
            self.assertEqual(json.loads(stream.answer.read())["error"]["code"], "unavailable")


if __name__ == "__main__":
    if not shutil.which("haproxy"):
        print("skipped: there is no haproxy")
        sys.exit(77)
    harness.main()
