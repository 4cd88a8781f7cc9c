"""packaging/kubernetes against Kubernetes' own schemas, and against what the server says.

The schemas are those that kubernetes-validate (PyPI) carries; skipped (77) without it. It has none
for the inference gateway's and kustomize's kinds: of those only names and links are compared.
"""
import glob
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "http"))
import harness  # noqa: E402

try:
    import kubernetes_validate
    import yaml
except ImportError:
    print("skipped: there is no kubernetes-validate")
    sys.exit(77)

FOLDER = os.path.join(HERE, "..", "..", "packaging", "kubernetes")
WITHOUT_SCHEMA = {"Kustomization", "InferencePool", "HTTPRoute"}


def documents():
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            for document in yaml.safe_load_all(file):
                if "kind" in document:  # not the values of a Helm chart
                    yield document


def only(kind):
    (found,) = [document for document in documents() if document["kind"] == kind]
    return found


class Kubernetes(unittest.TestCase):
    def test_schemas(self):
        seen = set()
        for document in documents():
            seen.add(document["kind"])
            if document["kind"] not in WITHOUT_SCHEMA:
                kubernetes_validate.validate(document, "1.31", strict=True)
        self.assertLessEqual({"Deployment", "Service", "HorizontalPodAutoscaler",
                              "PodDisruptionBudget", "InferencePool"}, seen)

    def test_a_typing_error_is_one(self):
        broken = only("Deployment")
        broken["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(broken, "1.31", strict=True)

    def test_all_speak_of_the_same_pods(self):
        labels = only("Deployment")["spec"]["template"]["metadata"]["labels"].items()
        for kind, path in [("Service", ["selector"]),
                           ("PodDisruptionBudget", ["selector", "matchLabels"]),
                           ("InferencePool", ["selector", "matchLabels"])]:
            chosen = only(kind)["spec"]
            for name in path:
                chosen = chosen[name]
            self.assertLessEqual(chosen.items(), labels, kind)
        port = only("Deployment")["spec"]["template"]["spec"]["containers"][0]["ports"][0]
        self.assertEqual(only("InferencePool")["spec"]["targetPorts"],
                         [{"number": port["containerPort"]}])
        target = only("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
        self.assertEqual(target["name"], only("Deployment")["metadata"]["name"])

    def test_drain_fits_into_the_grace(self):
        pod = only("Deployment")["spec"]["template"]["spec"]
        container = pod["containers"][0]
        arguments = container["args"]
        drain_s = int(arguments[arguments.index("--drain-timeout") + 1])
        pause_s = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
        self.assertGreater(pod["terminationGracePeriodSeconds"], drain_s + pause_s)
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/ready")
        done = subprocess.run([harness.BIN, *arguments, "--print-config"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_series_that_are_read_exist(self):
        with open(os.path.join(FOLDER, "prometheus-adapter.yaml"), encoding="utf-8") as file:
            rules = yaml.safe_load(file)["rules"]["custom"]
        with harness.Server("--ears", "none", "--quiet") as server:
            server.speak({"input": "Hello."})
            told = set(re.findall(r"^([a-z_:]+)[{ ]", server.get("/metrics")[2], re.M))
        read = {name for rule in rules
                for name in re.findall(r"syrinx_[a-z_]+(?=\{)", str(rule))}
        self.assertTrue(read)
        self.assertLessEqual(read, told)
        self.assertLessEqual({"vllm:num_requests_running", "vllm:num_requests_waiting",
                              "vllm:kv_cache_usage_perc"}, told)
        wanted = {metric["pods"]["metric"]["name"]
                  for metric in only("HorizontalPodAutoscaler")["spec"]["metrics"]}
        self.assertEqual(wanted, {rule["name"]["as"] for rule in rules})


if __name__ == "__main__":
    harness.main()
