#!/usr/bin/env python3
"""Adds small random encoders to the checkpoints of chatterbox and cosyvoice2 (in the layout their authors publish), and stores
the results of the authors' code for recordings.

    git clone https://github.com/resemble-ai/chatterbox
    git clone https://github.com/FunAudioLLM/CosyVoice
    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 torchaudio==2.9.1 librosa==0.11.0 onnx==1.23.2 s3tokenizer==0.3.0 safetensors \
        einops omegaconf numpy soundfile
    VENV/bin/python make_golden.py --chatterbox chatterbox --cosyvoice CosyVoice

Weights are kept in bf16 (those of the ONNX files in float32), and the original runs with the contents of the files, in float32,
with its own resamplers. recording.wav is the built-in voice of Syrinx. A file with its samples and another rate in its header is
a recording at that rate (RATES).
"""
import argparse
import contextlib
import pathlib
import sys
import tempfile
import types

import librosa
import numpy as np
import onnx
import soundfile
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

torch.version.cuda = None  # torchaudio refuses a torch built for another CUDA; only the CPU is used
import torchaudio  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent
CHATTERBOX, COSYVOICE = HERE.parent / "chatterbox/golden", HERE.parent / "cosyvoice2/golden"
TEXT = "The quick brown fox jumps over the lazy dog."
# {Hz: samples removed from the recording's beginning, so that no digit is close to the border of another}
RATES = {8000: 0, 24000: 0, 44100: 0, 48000: 0}


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


@contextlib.contextmanager
def at_rate(recording, rate):
    """Writes the recording at another rate as a WAV file; returns its path."""
    with tempfile.TemporaryDirectory() as place:
        soundfile.write(f"{place}/recording.wav", recording[RATES[rate]:], rate, subtype="PCM_16")
        yield f"{place}/recording.wav"


def randomise(module, seed):
    """Gives the module random weights of a reasonable size, and BatchNorm statistics that change the output."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in list(module.named_parameters()) + list(module.named_buffers()):
            if not p.is_floating_point() or name in ("_mel_filters", "window"):
                continue
            noise = torch.randn(p.shape, generator=g)
            if name.endswith("running_var"):
                p.copy_(1 + 0.3 * noise.abs())
            elif name.endswith("running_mean"):
                p.copy_(0.3 * noise)
            elif p.dim() == 1:
                p.copy_(0.2 * noise + (1 if name.endswith("weight") else 0))
            else:
                gain = 4 if "project_down" in name else 1.2
                p.copy_(gain * noise / np.sqrt(p[0].numel()))
    return module.eval()


def rounded(module):
    """Rounds the weights to bf16."""
    with torch.no_grad():
        for name, p in module.state_dict().items():
            if p.is_floating_point() and name not in ("_mel_filters", "window"):
                p.copy_(p.to(torch.bfloat16).float())


def small_tokenizer(cls, config, heads, layers, seed):
    model = cls("speech_tokenizer_v2_25hz", config(n_audio_state=64 * heads, n_audio_head=heads, n_audio_layer=layers))
    return randomise(model, seed)


def small_campplus(xvector, seed):
    """Returns a CAM++ of the published shape with fewer and narrower dense layers."""
    model = xvector.CAMPPlus(growth_rate=8, bn_size=2, init_channels=16, memory_efficient=False)
    channels = 16
    for i, (layers, dilation) in enumerate(zip((3, 4, 3), (1, 2, 2))):
        block = xvector.CAMDenseTDNNBlock(num_layers=layers, in_channels=channels, out_channels=8, bn_channels=16,
                                          kernel_size=3, dilation=dilation)
        channels += layers * 8
        setattr(model.xvector, f"block{i + 1}", block)
        setattr(model.xvector, f"transit{i + 1}", xvector.TransitLayer(channels, channels // 2, bias=False))
        channels //= 2
    model.xvector.out_nonlinear = xvector.get_nonlinear("batchnorm-relu", channels)
    model.xvector.dense = xvector.DenseLayer(channels * 2, 192, config_str="batchnorm_")
    return randomise(model, seed)


def tokenizer_onnx(model, path):
    """Writes the weights under the names and in the forms of the published graph, as s3tokenizer's onnx2torch reads them. The
    file contains only names, operations and weights, and cannot be run."""
    from onnx import helper, numpy_helper
    tensors, nodes = [], []

    def add(name, value):
        tensors.append(numpy_helper.from_array(np.ascontiguousarray(value.detach().numpy()), name))
        return name

    count = iter(range(2300, 9999))

    def linear(scope, layer, weight=None, bias=None):
        nodes.append(helper.make_node("MatMul", ["x", add(weight or f"onnx::MatMul_{next(count)}", layer.weight.t())],
                                      ["y"], name=scope + "/MatMul"))
        if layer.bias is not None:
            bias = add(bias or "encoders" + scope.replace("/", ".") + ".bias", layer.bias)
            nodes.append(helper.make_node("Add", [bias, "y"], ["z"], name=scope + "/Add"))

    e = model.encoder
    for i, conv in enumerate((e.conv1, e.conv2)):
        names = [f"onnx::Conv_{2216 + 2 * i}", f"onnx::Conv_{2217 + 2 * i}"]
        nodes.append(helper.make_node("Conv", ["x", add(names[0], conv.weight), add(names[1], conv.bias)], ["y"],
                                      name=f"/conv{i + 1}/Conv"))
    for i, block in enumerate(e.blocks):
        scope = f"/blocks.{i}"
        for norm in ("attn_ln", "mlp_ln"):
            layer = getattr(block, norm)
            names = [add(f"encoders.blocks.{i}.{norm}.{kind}", getattr(layer, kind)) for kind in ("weight", "bias")]
            nodes.append(helper.make_node("LayerNormalization", ["x", *names], ["y"],
                                          name=f"{scope}/{norm}/LayerNormalization"))
        for part in ("query", "key", "value", "out"):
            linear(f"{scope}/attn/{part}", getattr(block.attn, part))
        fsmn = add(f"encoders.blocks.{i}.attn.fsmn_block.weight", block.attn.fsmn_block.weight)
        nodes.append(helper.make_node("Conv", ["x", fsmn], ["y"], name=f"{scope}/attn/fsmn_block/Conv"))
        linear(f"{scope}/mlp/mlp.0", block.mlp[0])
        linear(f"{scope}/mlp/mlp.2", block.mlp[2])
    linear("/quantizer/project_in", model.quantizer._codebook.project_down, "onnx::MatMul_2536",
           "quantizer.project_in.bias")
    graph = helper.make_graph(nodes, "main_graph", [], [], tensors)
    onnx.save(helper.make_model(graph), path)
    from s3tokenizer.utils import onnx2torch
    read, want = onnx2torch(str(path), None, False), model.state_dict()
    for name, value in want.items():
        if name not in ("_mel_filters", "window"):
            assert torch.equal(read[name], value), name
    print("tokenizer onnx:", len(read), "tensors for its reader")


def campplus_onnx(model, path):
    """Merges norms after convolutions into them, as in the published graph. The norms change only the shifts, so that a recipe
    can still describe the weights of those convolutions."""
    def graph():
        torch.onnx.export(model, torch.randn(1, 200, 80), str(path), input_names=["input"], output_names=["output"],
                          dynamic_axes={"input": {1: "T"}}, opset_version=14, dynamo=False)
        return onnx.load(path).graph
    left = {name for n in graph().node if n.op_type == "BatchNormalization" for name in n.input}
    with torch.no_grad():
        for name, norm in model.named_modules():
            if isinstance(norm, torch.nn.BatchNorm1d | torch.nn.BatchNorm2d) and f"{name}.running_var" not in left:
                norm.running_var.fill_(1 - norm.eps)
                if norm.affine:
                    norm.weight.fill_(1)
    graph = graph()
    print("campplus onnx:", len(graph.initializer), "tensors,", sum(n.op_type == "BatchNormalization" for n in graph.node),
          "norms of", sum(isinstance(m, torch.nn.BatchNorm1d) for m in model.modules()))


def sweep(count, rate):
    t = np.arange(count) / rate
    return (0.4 * np.sin(2 * np.pi * (80 * t + 3500 / t[-1] * t**2))).astype(np.float32)


def murmur(count, rate):
    """Returns noise through a few resonances that change in strength, over a hum of 130 Hz."""
    rng, t = np.random.default_rng(5), np.arange(count) / rate
    x = rng.standard_normal(count) * 0.02
    for k in range(1, 25):
        x += 0.1 / k * np.sin(2 * np.pi * 130 * k * t + 3 * k) * (1 + np.sin(5 * t + k))
    return (x * (0.6 + 0.4 * np.sin(7 * t))).astype(np.float32)


def margin(model, wavs, digits=8):
    """Returns the smallest distance of any digit from the border between two values."""
    from s3tokenizer.utils import log_mel_spectrogram
    out = 1.0
    for wav in wavs:
        mel = log_mel_spectrogram(torch.from_numpy(wav), n_mels=128)[None]
        hidden, _ = model.encoder(mel, torch.tensor([mel.shape[2]]))
        h = model.quantizer._codebook.project_down(hidden)[..., :digits].tanh() * 0.9990000128746033
        out = min(out, float((h.abs() - 0.5).abs().min()))
    return out


def heard(path):
    """Reads the file at 16 kHz, as Chatterbox prepares it for the tokenizer and for the speaker network."""
    high, _ = librosa.load(path, sr=24000)
    yield librosa.resample(high, orig_sr=24000, target_sr=16000)[:96000]
    yield torchaudio.transforms.Resample(24000, 16000)(torch.from_numpy(high[:240000])).numpy()


def chatterbox(root, recording):
    sys.path.insert(0, str(pathlib.Path(root) / "src"))
    stub("perth", PerthImplicitWatermarker=object)
    # The package's own __init__ imports modules that are not needed here.
    for name in ("chatterbox", "chatterbox.models", "chatterbox.models.s3gen", "chatterbox.models.t3",
                 "chatterbox.models.t3.modules", "chatterbox.models.voice_encoder"):
        stub(name).__path__ = [str(pathlib.Path(root) / "src" / name.replace(".", "/"))]
    import importlib
    part = importlib.import_module
    xvector = part("chatterbox.models.s3gen.xvector")
    s3 = part("chatterbox.models.s3tokenizer.s3tokenizer")
    mel = part("chatterbox.models.s3gen.utils.mel")
    voice = part("chatterbox.models.voice_encoder.voice_encoder")
    config = part("chatterbox.models.voice_encoder.config")
    cond = part("chatterbox.models.t3.modules.cond_enc")

    from s3tokenizer.model_v2 import ModelConfig, S3TokenizerV2

    # The class accepts no config, so its parent is given one.
    small = ModelConfig(n_audio_state=128, n_audio_head=2, n_audio_layer=1)
    parent = S3TokenizerV2.__init__
    S3TokenizerV2.__init__ = lambda self, name, cfg=None: parent(self, name, small)
    tokenizer = randomise(s3.S3Tokenizer(), 1)
    S3TokenizerV2.__init__ = parent
    speaker = small_campplus(xvector, 2)

    class Config(config.VoiceEncConfig):
        ve_hidden_size = 32
    ve = voice.VoiceEncoder(Config())
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in ve.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.3 if p.dim() > 1 else 0.1))
    ve.eval()

    checkpoint = CHATTERBOX / "checkpoint"
    weights, own = seeded.Weights.of(checkpoint / "s3gen.safetensors"), seeded.Weights(3)
    # A draw of that name with which no digit of the signals is close to the border of another (`margin`).
    weights.over(tokenizer, "tokenizer.a.", keep=["_mel_filters", "window"])
    weights.over(speaker, "speaker_encoder.")
    own.over(ve)
    for model in (tokenizer, speaker):
        rounded(model)
    with seeded.restored(checkpoint) as whole:
        state = {k: v for k, v in load_file(whole / "s3gen.safetensors").items()
                 if not k.startswith(("tokenizer.", "speaker_encoder."))}
    for prefix, model in (("tokenizer.", tokenizer), ("speaker_encoder.", speaker)):
        for k, v in model.state_dict().items():
            if k not in ("_mel_filters", "window"):
                state[prefix + k] = (v.to(torch.bfloat16) if v.is_floating_point() else v).contiguous()
    save_file(state, checkpoint / "s3gen.safetensors")
    save_file({k: v.contiguous() for k, v in ve.state_dict().items()}, checkpoint / "ve.safetensors")
    weights.hollow(checkpoint / "s3gen.safetensors")
    own.hollow(checkpoint / "ve.safetensors")

    # The original prepare_conditionals and embed_ref run on these networks.
    class S3Gen:
        pass
    gen = S3Gen()
    gen.tokenizer, gen.speaker_encoder, gen.mel_extractor = tokenizer, speaker, mel.mel_spectrogram
    gen.device, gen.dtype = torch.device("cpu"), torch.float32
    source = (pathlib.Path(root) / "src/chatterbox/models/s3gen/s3gen.py").read_text()
    tts_source = (pathlib.Path(root) / "src/chatterbox/tts.py").read_text()

    def method(text, name, scope):
        """Compiles only one method of the original, because its module imports networks that are not needed here."""
        import ast
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                node.decorator_list = []
                exec(compile(ast.Module([node], []), name, "exec"), scope)
                return scope[name]

    scope = dict(torch=torch, np=np, logging=__import__("logging"), S3GEN_SR=24000, S3_SR=16000,
                 get_resampler=lambda a, b, device: torchaudio.transforms.Resample(a, b))
    embed = method(source, "embed_ref", scope)
    gen.embed_ref = lambda *args, **kw: embed(gen, *args, **kw)
    made = {}

    class Conditionals:
        def __init__(self, t3, gen):
            made.update(t3=t3.__dict__, gen=gen)
    prepare = method(tts_source, "prepare_conditionals",
                     dict(librosa=librosa, torch=torch, S3GEN_SR=24000, S3_SR=16000, T3Cond=cond.T3Cond,
                          Conditionals=Conditionals))
    self = types.SimpleNamespace(s3gen=gen, ve=ve, device="cpu", DEC_COND_LEN=240000, ENC_COND_LEN=96000,
                                 t3=types.SimpleNamespace(hp=types.SimpleNamespace(speech_cond_prompt_len=150)))
    with torch.no_grad():
        prepare(self, str(HERE / "golden/recording.wav"))
        torch.save(dict(t3=dict(made["t3"]), gen=dict(made["gen"])), CHATTERBOX / "cloned.pt")
        rates = {}
        for at in RATES:
            with at_rate(recording, at) as path:
                prepare(self, path)
                print(at, "closest digit:", margin(tokenizer, heard(path)))
            t3, g = made["t3"], made["gen"]
            rates.update({f"{at}.prompt_speech": t3["cond_prompt_speech_tokens"][0].int(), f"{at}.speaker": t3["speaker_emb"][0],
                          f"{at}.tokens": g["prompt_token"][0].int(), f"{at}.vector": g["embedding"][0],
                          f"{at}.mel": g["prompt_feat"][0, ::16]})
        save_file({k: v.contiguous() for k, v in rates.items()}, CHATTERBOX / "rates.safetensors")

        # Goldens of the codec's two halves, each alone.
        wavs = {"sweep": sweep(19000, 16000), "murmur": murmur(26011, 16000),
                "speech": recording[8000:32000]}
        golden = {}
        for name, wav in wavs.items():
            golden[name + ".wav"] = torch.from_numpy(wav)
            golden[name + ".tokens"] = tokenizer.forward([wav])[0][0].int()
            golden[name + ".vector"] = speaker.inference([torch.from_numpy(wav)])[0]
            golden[name + ".speaker"] = torch.from_numpy(ve.embeds_from_wavs([wav], sample_rate=16000))[0]
        print("closest digit:", margin(tokenizer, wavs.values()))
        save_file({k: v.contiguous() for k, v in golden.items()}, HERE / "golden/golden.safetensors")
    for name in wavs:
        print(name, golden[name + ".tokens"][:12].tolist())
    return xvector, mel, s3


def cosyvoice(root, parts, recording):
    xvector, mel, s3 = parts
    from s3tokenizer.model_v2 import ModelConfig, S3TokenizerV2
    from s3tokenizer.utils import log_mel_spectrogram
    small = ModelConfig(n_audio_state=64, n_audio_head=1, n_audio_layer=2)
    tokenizer = randomise(S3TokenizerV2("speech_tokenizer_v2_25hz", small), 11)
    # Matrices of linear layers are transposed, as in the graph.
    linear = {id(m.weight) for m in tokenizer.modules() if isinstance(m, torch.nn.Linear)}
    weights = seeded.Weights(11), seeded.Weights(12)
    weights[0].over({k: p.t() if id(p) in linear else p for k, p in tokenizer.named_parameters()})
    with torch.no_grad():  # the small language model has 40 codes, so only three digits may change
        down = tokenizer.quantizer._codebook.project_down
        down.weight[3:] = 0
        down.bias[3:] = -4
    speaker = small_campplus(xvector, 12)
    weights[1].over(speaker)
    checkpoint = COSYVOICE / "checkpoint"
    tokenizer_onnx(tokenizer, checkpoint / "speech_tokenizer_v2.onnx")
    campplus_onnx(speaker, checkpoint / "campplus.onnx")
    weights[0].hollow(checkpoint / "speech_tokenizer_v2.onnx")
    weights[1].hollow(checkpoint / "campplus.onnx")

    sys.path.insert(0, str(root))
    for name in ("onnxruntime", "inflect"):
        stub(name)
    stub("whisper", log_mel_spectrogram=log_mel_spectrogram)
    for name in ("cosyvoice", "cosyvoice.cli", "cosyvoice.utils"):
        stub(name).__path__ = [str(pathlib.Path(root) / name.replace(".", "/"))]

    def load_wav(path, target):
        wav, own = soundfile.read(path, dtype="float32")
        assert own == target or own >= 16000  # the authors make the same check
        return torchaudio.transforms.Resample(own, target)(torch.from_numpy(wav)[None])
    stub("cosyvoice.utils.file_utils", logging=__import__("logging"), load_wav=load_wav)
    stub("cosyvoice.utils.frontend_utils", **{name: None for name in (
        "contains_chinese", "replace_blank", "replace_corner_mark", "remove_bracket", "spell_out_number",
        "split_paragraph", "is_only_punctuation")})
    from cosyvoice.cli.frontend import CosyVoiceFrontEnd

    class Session:
        def __init__(self, run, inputs):
            self.run = lambda _, feed: [run(*[torch.from_numpy(feed[name]) for name in inputs]).numpy()]
            self.get_inputs = lambda: [types.SimpleNamespace(name=name) for name in inputs]

    front = CosyVoiceFrontEnd.__new__(CosyVoiceFrontEnd)
    front.device, front.allowed_special = torch.device("cpu"), "all"
    words = AutoTokenizer.from_pretrained(checkpoint / "CosyVoice-BlankEN")
    front.tokenizer = types.SimpleNamespace(encode=lambda text, allowed_special: words([text])["input_ids"][0])
    front.feat_extractor = mel.mel_spectrogram
    front.speech_tokenizer_session = Session(lambda feat, size: tokenizer.quantize(feat, size)[0], ["feats", "size"])
    front.campplus_session = Session(speaker, ["input"])
    with torch.no_grad():
        entry = front.frontend_zero_shot("", TEXT, str(HERE / "golden/recording.wav"), 24000, "")
        rates = {}
        for at in RATES:
            if at < 16000:  # the authors refuse these rates
                continue
            with at_rate(recording, at) as path:
                made = front.frontend_zero_shot("", TEXT, path, 24000, "")
                print(at, "closest digit:", margin(tokenizer, [load_wav(path, 16000)[0].numpy()], 3))
            rates.update({f"{at}.tokens": made["flow_prompt_speech_token"][0].int(),
                          f"{at}.vector": made["flow_embedding"][0], f"{at}.mel": made["prompt_speech_feat"][0, ::16]})
    save_file({k: v.contiguous() for k, v in rates.items()}, COSYVOICE / "rates.safetensors")
    del entry["text"], entry["text_len"]
    torch.save({"cloned": entry}, COSYVOICE / "cloned.pt")
    print({k: tuple(v.shape) for k, v in entry.items()})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chatterbox", required=True)
    parser.add_argument("--cosyvoice", required=True)
    args = parser.parse_args()
    recording, _ = soundfile.read(HERE / "golden/recording.wav", dtype="float32")
    cosyvoice(args.cosyvoice, chatterbox(args.chatterbox, recording), recording)


if __name__ == "__main__":
    main()
