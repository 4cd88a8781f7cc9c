"""Runs originals of the families that speak by codes, on their small golden checkpoints, for narrow.py and long.py.

Each class takes a folder of goldens with a complete checkpoint (seeded.restored), and a dtype for the whole language model.
speak(case, steps) takes a case of the goldens, greedily and without a penalty unless the case has one (Zonos and Chatterbox
keep their own), and returns a Speech. `margin` is the smallest distance of the two best allowed logits so far.
"""
import functools
import importlib.util
import json
import pathlib
import sys
from typing import NamedTuple

import torch
from safetensors.torch import load_file

HERE = pathlib.Path(__file__).resolve().parent


def script(family):
    """Returns the family's make_golden.py as a module."""
    path = HERE / family / "make_golden.py"
    spec = importlib.util.spec_from_file_location(f"{family}_golden", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    sys.path.pop(0)
    return module


def lead(row):
    best = row.float().topk(2).values
    return float(best[0] - best[1])


@functools.cache
def directions(count):
    """Returns two directions [2, count] of numbers in [-1, 1), which long_test.cc generates again."""
    out = []
    for state in (1, 2):
        row = []
        for _ in range(count):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            row.append(((state >> 16) - 32768) / 32768)
        out.append(row)
    return torch.tensor(out, dtype=torch.float64) / count ** 0.5


def fingerprints(rows):
    """Returns two numbers for each row [..., N], which change if any of the N numbers changes."""
    return (rows.double() @ directions(rows.shape[-1]).T).float()


class Speech(NamedTuple):
    frames: torch.Tensor   # [T, C], or tokens [T, 1]
    logits: torch.Tensor   # [T, V], of codebook 0 in every step, before any rule
    prints: torch.Tensor   # [T, 2] of every step's logits of all codebooks, concatenated
    widths: list           # the number of logits of each codebook in `prints`


class Original:
    def __init__(self, folder, dtype):
        self.folder, self.dtype, self.margin = folder, dtype, float("inf")

    def golden(self, case, name):
        return load_file(self.folder / f"{case['name']}.safetensors")[name].long()

    def decided(self, row):
        self.margin = min(self.margin, lead(row))
        return int(row.argmax())


class Csm(Original):
    def __init__(self, folder, dtype):
        super().__init__(folder, dtype)
        from transformers import CsmConfig, CsmForConditionalGeneration
        config = CsmConfig.from_pretrained(folder / "checkpoint")
        config._attn_implementation = config.depth_decoder_config._attn_implementation = "eager"
        model = CsmForConditionalGeneration(config).eval()
        state = {k: v for file in (folder / "checkpoint").glob("*.safetensors") for k, v in load_file(file).items()}
        state["depth_decoder.model.embed_tokens.weight"] = state["backbone_model.embed_tokens.embed_audio_tokens.weight"]
        model.load_state_dict(state)
        self.model = model.to(dtype)
        self.codes = config.codec_config.codebook_size  # ids after them are never sampled

    def speak(self, case, steps):
        ids, rows = self.golden(case, "prompt_ids")[None], []

        def heard(_module, _inputs, out):
            rows.append([])
            inner(_module, _inputs, out)

        def inner(_module, _inputs, out):
            rows[-1].append(out[0, -1, :self.codes].float().clone())
            self.margin = min(self.margin, lead(rows[-1][-1]))

        hooks = [self.model.lm_head.register_forward_hook(heard),
                 self.model.depth_decoder.codebooks_head.register_forward_hook(inner)]
        with torch.inference_mode():
            frames = self.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False,
                                         depth_decoder_do_sample=False, max_new_tokens=steps)[0]
        for hook in hooks:
            hook.remove()
        rows = torch.stack([torch.cat(step) for step in rows])
        return Speech(frames, rows[:, :self.codes], fingerprints(rows), [self.codes] * frames.shape[1])


class Qwen(Original):
    def __init__(self, folder, dtype):
        super().__init__(folder, dtype)
        from qwen_tts import Qwen3TTSModel
        from qwen_tts.core.models import Qwen3TTSForConditionalGeneration, Qwen3TTSProcessor
        from transformers import Qwen2TokenizerFast
        model = Qwen3TTSForConditionalGeneration.from_pretrained(
            str(folder / "checkpoint"), dtype=dtype, attn_implementation="eager").eval()
        model.speech_tokenizer.model.float()
        self.tts = Qwen3TTSModel(model, Qwen3TTSProcessor(
            tokenizer=Qwen2TokenizerFast.from_pretrained(str(folder / "checkpoint"))), model.generate_config)

    def speak(self, case, steps):
        return self.batch([case], steps)[0]

    def batch(self, cases, steps):
        """Speaks all cases in one call of the package, with its padding."""
        model, made, rows = self.tts.model, [], []
        codes = model.config.talker_config.vocab_size - 1024
        generate = model.generate

        def kept(**kwargs):
            made.append(generate(**kwargs))
            return made[0]

        def heard(_module, _inputs, out):
            rows.append([out[:, -1, :codes].float().clone()])

        def inner(_module, _inputs, out):
            rows[-1].append(out[:, -1].float().clone())
            for row in out[:, -1]:
                self.margin = min(self.margin, lead(row))

        hooks = [model.talker.codec_head.register_forward_hook(heard)]
        hooks += [head.register_forward_hook(inner) for head in model.talker.code_predictor.lm_head]
        model.generate = kept
        with torch.inference_mode():
            self.tts.generate_custom_voice(
                text=[c["text"] for c in cases], language=[c["language"] for c in cases],
                speaker=[c["speaker"] for c in cases], instruct=None, do_sample=False, subtalker_dosample=False,
                non_streaming_mode=True, max_new_tokens=steps + 1, repetition_penalty=1.0)
        model.generate = generate
        for hook in hooks:
            hook.remove()
        widths = [row.shape[1] for row in rows[0]]
        whole = [step for step in rows if len(step) == len(widths)]  # the frame of the last step is not made
        rows = torch.stack([torch.cat(step, 1) for step in whole], 1)  # [B, T, N]
        return [Speech(frames, rows[i, :len(frames), :codes], fingerprints(rows[i, :len(frames)]), widths)
                for i, frames in enumerate(made[0][0])]


class Orpheus(Original):
    def __init__(self, folder, dtype):
        super().__init__(folder, dtype)
        from transformers import LlamaForCausalLM
        self.model = LlamaForCausalLM.from_pretrained(folder / "checkpoint", dtype=dtype,
                                                      attn_implementation="eager").eval()
        added = json.loads((folder / "checkpoint/tokenizer.json").read_text())["added_tokens"]
        self.ids = {t["content"]: t["id"] for t in added}

    def speak(self, case, steps):
        """Speaks `steps` tokens; the end of speech is never chosen. Frames [T] are codes of their places."""
        from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor
        first, end, block = self.ids["<custom_token_10>"], self.ids["<custom_token_2>"], 64
        penalty = RepetitionPenaltyLogitsProcessor(case["penalty"]) if case.get("penalty", 1) != 1 else None
        prompt = self.golden(case, "prompt_ids")[None]
        rows, said, cache, ids = [], [], None, prompt
        while len(said) < steps:
            with torch.inference_mode():
                out = self.model(ids, past_key_values=cache, use_cache=True)
            cache, row = out.past_key_values, out.logits[0, -1].float()
            rows.append(row[end:first + 7 * block].clone())
            if penalty:
                row = penalty(torch.cat([prompt, torch.tensor([said], dtype=torch.long)], 1), row[None].clone())[0]
            place = first + len(said) % 7 * block
            said.append(place + self.decided(row[place:place + block]))
            ids = torch.tensor([[said[-1]]])
        codes = [(token - first) % block for token in said]
        rows = torch.stack(rows)
        return Speech(torch.tensor(codes)[:, None], rows, fingerprints(rows), [rows.shape[1]])


class Zonos(Original):
    """Zonos' language model. `source` is a checkout of the authors' repository. The codec does not run."""

    def __init__(self, folder, dtype, source):
        super().__init__(folder, dtype)
        golden = script("zonos")
        self.conditioning, module, backbone, config = golden.import_zonos(source)
        model = module.Zonos(config.from_dict(golden.CONFIG), backbone).eval()
        model.load_state_dict({k: v.float() for k, v in load_file(folder / "checkpoint/model.safetensors").items()})
        self.model = model.to(dtype)
        setup = model.setup_cache
        self.model.setup_cache = lambda **kw: setup(**kw, dtype=dtype)
        self.speakers = {"ann": torch.load(folder / "checkpoint/speakers/ann.pt").float(),
                         "bob": load_file(folder / "checkpoint/speakers/bob.safetensors")["speaker"].float()[None, None]}

    def speak(self, case, steps, end=True):
        """Returns frames of all codebooks. If `end` is false, the end of speech is never chosen."""
        rows, compute = [], self.model._compute_logits

        def record(*args):
            row = compute(*args)[0, :, :1025].float()
            rows.append(row.clone())
            if not end:
                row = torch.cat([row[:, :1024], torch.full_like(row[:, :1], -torch.inf)], 1)
            for each in row[:, :1024]:
                self.margin = min(self.margin, lead(each))
            return torch.nn.functional.pad(row, (0, 1), value=-torch.inf)[None].clone()

        cond = self.conditioning.make_cond_dict(
            text=case["text"], language=case["language"], device="cpu", speaker=self.speakers.get(case["speaker"]),
            **case["conditions"])
        cond = {k: v.to(self.dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
                for k, v in cond.items()}
        self.model._compute_logits = record
        with torch.inference_mode():
            prefix = self.model.prepare_conditioning(cond)
            self.model.autoencoder = None
            codes = self.model.generate(prefix, max_new_tokens=steps + 9, cfg_scale=case["guidance"],
                                        sampling_params=dict(temperature=0.0), progress_bar=False,
                                        disable_torch_compile=True)
        self.model._compute_logits = compute
        frames = codes[0].t()[:steps]
        rows = torch.stack(rows)[:len(frames)]
        return Speech(frames, rows[:, 0], fingerprints(rows.flatten(1)), [rows.shape[2]] * rows.shape[1])


class Chatterbox(Original):
    """Only T3; `source` as for Zonos. The small checkpoint has 300 positions of speech."""

    def __init__(self, folder, dtype, source):
        super().__init__(folder, dtype)
        self.script = script("chatterbox")
        t3 = self.script.build(str(source))[0]
        t3.load_state_dict({k: v.float() for k, v in load_file(folder / "checkpoint/t3_cfg.safetensors").items()})
        self.t3 = t3.to(dtype)

    def speak(self, case, steps, voice=None):
        from chatterbox.models.t3.modules.cond_enc import T3Cond
        conds = voice or torch.load(self.folder / "checkpoint/conds.pt", weights_only=False)["t3"]
        conds = {k: v.to(self.dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
                 for k, v in conds.items()}
        ids = self.golden(case, "text_ids").tolist()[1:-1]
        tokens, merged = self.script.generate(self.t3, T3Cond(**conds), ids, {**case, "steps": steps})
        for row in merged:
            self.margin = min(self.margin, lead(row))
        rows = merged.float()
        return Speech(torch.tensor(tokens)[:, None], rows, fingerprints(rows), [rows.shape[1]])


class CosyVoice2(Original):
    """Only the language model; `source` as for Zonos. Works only with transformers 4.46.3, like its own script."""

    def __init__(self, folder, dtype, source):
        super().__init__(folder, dtype)
        from transformers import Qwen2Config, Qwen2ForCausalLM
        self.script = golden = script("cosyvoice2")
        if str(source) not in sys.path:
            sys.path.insert(0, str(source))
        golden.stub("cosyvoice.utils.onnx", SpeechTokenExtractor=None, online_feature=False, onnx_path="")
        for name in ("onnxruntime", "whisper", "inflect"):
            golden.stub(name)
        golden.stub("whisper.tokenizer", Tokenizer=None)
        from cosyvoice.llm.llm import Qwen2Encoder, Qwen2LM
        blank = folder / "checkpoint/CosyVoice-BlankEN"
        from_pretrained = Qwen2ForCausalLM.from_pretrained
        Qwen2ForCausalLM.from_pretrained = classmethod(lambda cls, path: cls(Qwen2Config.from_pretrained(path)))
        llm = Qwen2LM(golden.HIDDEN, golden.HIDDEN, golden.CODES, Qwen2Encoder(str(blank)),
                      lambda scores, *_: self.decided(scores))
        Qwen2ForCausalLM.from_pretrained = from_pretrained
        llm.load_state_dict(torch.load(folder / "checkpoint/llm.pt"))
        self.llm = llm.eval().to(dtype)
        self.voices = torch.load(folder / "checkpoint/spk2info.pt")

    def speak(self, case, steps):
        """Speaks the first part of the text. The end is chosen as soon as the original allows it."""
        voice, rows = self.voices[case["voice"]], []
        empty = torch.zeros(1, 0, dtype=torch.int32)
        golden = load_file(self.folder / f"{case['name']}.safetensors")
        prompt = golden["prompt_ids"][: int(golden["prompt_sizes"][0])][None]
        speech = voice.get("llm_prompt_speech_token", empty) if "instruct" not in case else empty
        text = prompt[:, 1:prompt.shape[1] - 1 - speech.shape[1]]  # with the voice's words before it
        heard = self.llm.llm_decoder.register_forward_hook(lambda _m, _i, out: rows.append(out[0].float().clone()))
        tokens, sizes = [], lambda x: torch.tensor([x.shape[1]], dtype=torch.int32)
        stream = self.llm.inference(text=text, text_len=sizes(text), prompt_text=empty, prompt_text_len=sizes(empty),
                                    prompt_speech_token=speech, prompt_speech_token_len=sizes(speech),
                                    embedding=torch.zeros(0, 192), max_token_text_ratio=steps,
                                    min_token_text_ratio=case.get("least", 2))
        with torch.inference_mode():
            for token in stream:
                tokens.append(token)
                if len(tokens) == steps:
                    break
        heard.remove()
        rows = torch.stack(rows)[:len(tokens)]
        return Speech(torch.tensor(tokens)[:, None], rows, fingerprints(rows), [rows.shape[1]])


class FishSpeech(Original):
    """Both networks, through the authors' generate_long(); `source` as for Zonos. The text must be one message."""

    def __init__(self, folder, dtype, source):
        super().__init__(folder, dtype)
        self.script = golden = script("fish_speech")
        if str(source) not in sys.path:
            sys.path.insert(0, str(source))
        golden.stub_dac()
        from fish_speech import conversation
        from fish_speech.models.text2semantic import inference, llama
        golden.inference, golden.llama = inference, llama
        conversation.Conversation.visualize = lambda *_args, **_kwargs: None
        model = llama.BaseTransformer.from_pretrained(str(folder / "checkpoint"), load_weights=True)
        self.model = model.to(dtype).eval()

    def speak(self, case, steps):
        assert not case["references"]
        record = self.script.Recorder(self.model)
        with torch.inference_mode():
            list(self.script.inference.generate_long(
                model=self.model, device="cpu", decode_one_token=self.script.inference.decode_one_token_ar,
                text=case["text"], top_k=1, max_new_tokens=steps + 1, chunk_length=300))
        record.close()
        begin, end = self.model.config.semantic_begin_id, self.model.tokenizer.get_token_id("<|im_end|>")
        slow = torch.stack(record.slow[0])[:steps]
        rows = torch.cat([slow[:, begin:begin + self.script.CODES], slow[:, end:end + 1]], 1).float()
        inner = torch.stack([torch.stack(step) for step in record.fast[0][:steps]]).float()  # [T, C - 1, V]
        frames = torch.cat([rows.argmax(1)[:, None], inner.argmax(2)], 1)
        every = torch.cat([rows, inner.flatten(1)], 1)
        return Speech(frames, rows, fingerprints(every), [rows.shape[1]] + [inner.shape[2]] * inner.shape[1])
