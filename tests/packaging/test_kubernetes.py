"""Compares packaging/kubernetes with Kubernetes' own schemas, and with the server's names.

The schemas come from kubernetes-validate (PyPI); skipped (77) without it. It has no schemas for the kinds of the
inference gateway and of kustomize. For these, only names and links are compared.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
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
STAGES = os.path.join(FOLDER, "stages")
PATCH = "server.yaml"
WITHOUT_SCHEMA = {"Kustomization", "InferencePool", "HTTPRoute"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def documents(folder=FOLDER):
    for path in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
        for document in read(path):
            # Skips the values of a Helm chart, and patches.
            if "kind" in document and os.path.basename(path) != PATCH:
                yield document


def only(kind, folder=FOLDER):
    (found,) = [document for document in documents(folder) if document["kind"] == kind]
    return found


def patched(base, patch):
    """Merges like kustomize: entries of lists by their name or mount path. Other lists are replaced."""
    if isinstance(base, dict):
        both = {key: patched(base[key], patch[key]) for key in base.keys() & patch.keys()}
        return {**base, **patch, **both}
    if not isinstance(base, list) or not isinstance(patch[0], dict):
        return patch
    key = "mountPath" if "mountPath" in patch[0] else "name"
    new = {each[key]: each for each in patch}
    merged = [patched(each, new.pop(each[key])) if each[key] in new else each for each in base]
    return merged + list(new.values())


def container_of(workload):
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    return found


def values_of(arguments, option):
    return [value for name, value in zip(arguments, arguments[1:]) if name == option]


class Kubernetes(unittest.TestCase):
    def test_schemas(self):
        seen = set()
        for document in [*documents(), *documents(STAGES), self.server_with_stages()]:
            seen.add(document["kind"])
            if document["kind"] not in WITHOUT_SCHEMA:
                kubernetes_validate.validate(document, "1.31", strict=True)
        self.assertLessEqual({"Deployment", "Service", "HorizontalPodAutoscaler", "StatefulSet",
                              "PodDisruptionBudget", "InferencePool"}, seen)

    def server_with_stages(self):
        (patch,) = read(os.path.join(STAGES, PATCH))
        return patched(only("Deployment"), patch)

    def test_servers_and_holders_fit(self):
        holder, server = only("StatefulSet", STAGES), self.server_with_stages()
        name, service = holder["metadata"]["name"], only("Service", STAGES)
        self.assertEqual(holder["spec"]["serviceName"], service["metadata"]["name"])
        labels = holder["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(service["spec"]["selector"], labels)
        self.assertEqual(only("PodDisruptionBudget", STAGES)["spec"]["selector"]["matchLabels"], labels)
        self.assertNotEqual(labels, only("Service")["spec"]["selector"])  # stage processes have no clients
        (port,) = container_of(holder)["ports"]
        arguments = container_of(holder)["args"]
        (stage,), (address,) = values_of(arguments, "--stage"), values_of(arguments, "--listen-stage")
        self.assertTrue(address.endswith(f":{port['containerPort']}"))
        self.assertEqual(service["spec"]["ports"][0]["port"], port["containerPort"])
        self.assertEqual(values_of(container_of(server)["args"], "--remote"),
                         [f"{stage}=grpc://{name}-{number}.{name}:{port['containerPort']}"
                          for number in range(holder["spec"]["replicas"])])
        (drain_s,) = values_of(arguments, "--drain-timeout")
        self.assertGreater(holder["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], int(drain_s))
        plain = only("Deployment")
        self.assertEqual(container_of(server)["args"][:len(container_of(plain)["args"])],
                         container_of(plain)["args"])
        for workload in (holder, server):
            mounted = {mount["name"] for mount in container_of(workload)["volumeMounts"]}
            volumes = {volume["name"] for volume in workload["spec"]["template"]["spec"]["volumes"]}
            self.assertEqual(mounted, volumes)

    @harness.NEEDS_GRPC
    def test_both_roles_start(self):
        """Runs the commands of the manifests, except for addresses and paths of keys."""
        with tempfile.TemporaryDirectory() as folder:
            keys = harness.stage_keys(folder, "pods")
            def here(arguments, address):
                paths = dict(zip(("tls.crt", "tls.key", "ca.crt"), keys[1::2]))
                out = [paths.get(word.removeprefix("/keys/"), word) for word in arguments]
                return [re.sub("grpc://.*", address, word) for word in out]

            command = here(container_of(only("StatefulSet", STAGES))["args"], "grpc://127.0.0.1:0")
            with subprocess.Popen([harness.BIN, *command], stdout=subprocess.PIPE, text=True) as holder:
                address = holder.stdout.readline().split("; servers connect to ")[1].split(" (ready")[0]
                serve, *options = here(container_of(self.server_with_stages())["args"], address)
                remote = options[options.index("--remote"):]
                del remote[2:4]  # the test runs only one stage process
                self.assertEqual(serve, "serve")
                with harness.Server("--quiet", *remote) as server:
                    self.assertEqual(server.get("/ready")[0], 200)
                holder.terminate()
                self.assertEqual(holder.wait(60), 0)

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
