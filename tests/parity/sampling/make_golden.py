#!/usr/bin/env python3
"""Writes which ids the families' original code may draw after all of its filters, and their probabilities.

    python3.11 -m venv VENV
    VENV/bin/pip install torch transformers==4.57.3 safetensors numpy einops tqdm librosa soundfile onnxruntime sox \\
        accelerate torchaudio phonemizer==3.3.0 inflect==7.5.0
    VENV/bin/pip install --no-deps qwen-tts==0.1.1
    VENV/bin/pip download --no-deps sglang-omni==0.1.9 && unzip sglang_omni-*.whl -d SGLANG
    VENV/bin/python make_golden.py [--only FAMILY ...] --zonos DIR --cosyvoice DIR --chatterbox DIR --fish DIR --espnet DIR \\
        --sglang SGLANG    # checkouts of the authors

This script does not repeat the originals' code. They run unchanged on the small checkpoints of the other folders, and the script
keeps the inputs of their draws.

- qwen3_tts: Qwen3TTSModel.generate_custom_voice of the package; csm: CsmForConditionalGeneration.generate; orpheus:
  LlamaForCausalLM.generate with the ids of the place in the frame as prefix_allowed_tokens_fn. Their lists of
  processors are caught in the first step and applied to the logits and histories below.
- chatterbox: T3.inference, chatterbox_turbo: T3.inference_turbo; zonos: Zonos.generate with its sample_from_logits; cosyvoice2: ras_sampling through
  sampling_ids. Their networks are replaced by the logits below, and their draws by the history.
- fish_speech: generate() with decode_one_token_ar; higgs_audio: step() of SGLang-Omni's sampler. Networks and draws as above.
- opuslm: logits_to_tokens of espnet2/speechlm/net_utils.py with the masks and settings of inference_utils.py, branch speechlm3
  (--speechlm, as for its goldens: ../opuslm/make_golden.py); bagpiper: inference_segment with prepare_inference of the release
  202611 (--espnet, as for its goldens: ../bagpiper/make_golden.py).
- glm4_voice, step_audio2: generate() of the class of transformers that the authors' program runs, with its arguments. llm:
  generate() of a Qwen3 with its generation_config.json. qwen3_omni: the arguments of generate() for its talker and predictor.

logits() makes the logits: the same float32 numbers in any language. `cases.json`: the request, the codes of each earlier step, and
the code `k` that is drawn. `golden.safetensors`: ids and probabilities of all cases in order, `counts` of each. Torch 2.15.0 (2.9.1
of the families of the last three points) and transformers 4.57.3 on x86-64 made the committed ones, torch 2.11.0 and transformers
5.14.1 those of bagpiper.
"""
import argparse
import copy
import functools
import json
import pathlib
import sys
import types

import numpy as np
import torch
from answers import glm4_voice, llm, qwen3_omni, step_audio2
from draws import PARITY, PLAIN, Caught, history, logits, module_of, softmax
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
TEXT = "Hello there."


def qwen3_tts():
    from qwen_tts import Qwen3TTSModel
    from qwen_tts.core.models import Qwen3TTSForConditionalGeneration, Qwen3TTSProcessor
    from transformers import Qwen2TokenizerFast
    folder = str(PARITY / "qwen3_tts/golden/equal_width/checkpoint")
    model = Qwen3TTSForConditionalGeneration.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    tts = Qwen3TTSModel(model, Qwen3TTSProcessor(tokenizer=Qwen2TokenizerFast.from_pretrained(folder)),
                        model.generate_config)
    model.speech_tokenizer.model.float().eval()
    for number, setting in enumerate(PLAIN):
        given = {k: v for k, v in setting.items() if k != "min_p"}
        inner = {"subtalker_" + k: v for k, v in given.items() if k != "repetition_penalty"}
        with Caught() as caught:
            tts.generate_custom_voice(text=TEXT, speaker="vivian", language="english", max_new_tokens=4,
                                      non_streaming_mode=True, **given, **inner)
        if "min_p" in setting:
            continue  # the package does not pass this setting on
        (talker, vocab), (predictor, codes) = caught.lists[:2]
        for k, steps in ((0, 0), (0, 1), (0, 2), (0, 9), (5, 3)):
            if steps < 9 and number > 3:
                continue
            case = dict(family="qwen3_tts", request=setting, history=history(steps, 48, 16, number), k=k,
                        seed=number * 10 + k, spread=[2.0, 4.0, 8.0][number % 3])
            if k:  # the codes chosen so far in this step
                case["codes"] = history(1, 48, k, number)[0]
            scores = logits(case, codes if k else vocab)[None]
            past = [step[0] for step in case["history"]] if k == 0 else case["codes"]
            yield case, softmax((predictor if k else talker)(torch.tensor([past], dtype=torch.long), scores))[0]


def csm():
    from transformers import CsmForConditionalGeneration
    folder = PARITY / "csm/golden/taught/checkpoint"
    model = CsmForConditionalGeneration.from_pretrained(folder, dtype=torch.float32,
                                                        attn_implementation="eager").eval()
    codes, depth = model.config.codec_config.codebook_size, model.depth_decoder.generation_config
    published = {name: getattr(depth, name) for name in ("temperature", "top_k", "top_p", "min_p")}
    for number, setting in enumerate(PLAIN):
        if "repetition_penalty" in setting:
            continue  # this processor fails there, because the ids have a third dimension
        for name, value in dict(published, **setting).items():
            setattr(model.depth_decoder.generation_config, name, value)
        with Caught() as caught:
            model.generate(input_ids=torch.tensor([[1, 2, 3]]), do_sample=True, max_new_tokens=2, **setting)
        for k, (processors, vocab) in zip((0, 1), caught.lists[:2]):
            case = dict(family="csm", request=setting, history=history(4, codes, model.config.num_codebooks, number), k=k,
                        seed=200 + number * 10 + k, spread=[2.0, 4.0, 8.0][number % 3])
            scores = logits(case, vocab)[None]
            scores[:, codes:] = -torch.inf  # Syrinx never speaks ids beyond the codec's codes
            past = torch.zeros((1, 5), dtype=torch.long)
            yield case, softmax(processors(past, scores))[0]


def orpheus():
    from transformers import LlamaForCausalLM
    model = LlamaForCausalLM.from_pretrained(PARITY / "orpheus/golden/checkpoint", dtype=torch.float32).eval()
    block, ids = 64, 8 + 7 * 64  # layout of the head: id 0 ends speech, then come the blocks of the seven places
    for number, setting in enumerate(PLAIN):
        given = dict(dict(temperature=0.6, top_p=0.8, repetition_penalty=1.3, top_k=0), **setting)
        for steps in (1, 7, 10, 21):
            if steps < 21 and number > 4:
                continue
            case = dict(family="orpheus", request=setting, k=0, seed=400 + number * 30 + steps,
                        spread=[2.0, 4.0, 8.0][number % 3], history=[[0] for _ in range(steps)])
            rng = np.random.default_rng(number)
            for step in range(steps):  # few different codes, so that they repeat
                case["history"][step][0] = int(8 + (step % 7) * block + rng.integers(0, 4))
            place = steps % 7
            allowed = list(range(8 + place * block, 8 + (place + 1) * block)) + ([0] if place == 0 else [])
            with Caught() as caught:
                model.generate(torch.tensor([[300, 301]]), do_sample=True, max_new_tokens=1, pad_token_id=0,
                               prefix_allowed_tokens_fn=lambda _batch, _ids: allowed, **given)
            processors = caught.lists[0][0]
            past = torch.tensor([[step[0] for step in case["history"]]], dtype=torch.long)
            yield case, softmax(processors(past, logits(case, ids)[None]))[0]


def chatterbox(root):
    for name in ("chatterbox", "chatterbox.models", "chatterbox.models.t3", "chatterbox.models.t3.modules",
                 "chatterbox.models.s3gen", "chatterbox.models.tokenizers"):
        module = types.ModuleType(name)
        module.__path__ = [f"{root}/src/" + name.replace(".", "/")]
        sys.modules[name] = module
    from chatterbox.models.t3 import llama_configs
    llama_configs.LLAMA_CONFIGS["Llama_520M"].update(
        hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1)
    from chatterbox.models.t3.modules.cond_enc import T3Cond
    from chatterbox.models.t3.modules.t3_config import T3Config
    from chatterbox.models.t3.t3 import T3
    config = T3Config(text_tokens_dict_size=300)
    config.max_text_tokens, config.max_speech_tokens, config.speech_tokens_dict_size = 120, 300, 6570
    config.use_perceiver_resampler = False
    t3 = T3(config).eval()
    cond = T3Cond(speaker_emb=torch.zeros(1, 256), cond_prompt_speech_tokens=None, cond_prompt_speech_emb=None,
                  emotion_adv=0.5 * torch.ones(1, 1, 1))
    for number, setting in enumerate(PLAIN + [dict(min_p=0.1, top_p=0.7), dict(top_p=0.6, min_p=0.3),
                                                  dict(repetition_penalty=2.0), dict(temperature=1.2, min_p=0.02)]):
        if "top_k" in setting:
            continue  # the authors have no such setting
        case = dict(family="chatterbox", request=setting, history=history(12, 60, 1, number), k=0,
                    seed=600 + number, spread=[12.0, 8.0, 14.0][number % 3])
        given = dict(dict(temperature=0.8, top_p=1.0, min_p=0.05, repetition_penalty=1.2), **setting)
        scores, drawn, next_ids = logits(case, 6570), [], [step[0] for step in case["history"]] + [6562]

        class Head(torch.nn.Module):
            weight = torch.zeros(1)  # the code uses the weight's device

            def forward(self, hidden):
                return scores.expand(*hidden.shape[:-1], -1).clone()

        def multinomial(chances, num_samples):
            drawn.append(chances[0].double())
            return torch.tensor([[next_ids[len(drawn) - 1]]])

        t3.speech_head = Head()
        saved, torch.multinomial = torch.multinomial, multinomial
        try:
            t3.inference(t3_cond=copy.copy(cond), text_tokens=torch.tensor([[255, 5, 6, 0]] * 2),
                         max_new_tokens=len(next_ids), cfg_weight=0.5, **given)
        finally:
            torch.multinomial = saved
        yield case, drawn[-1]


def chatterbox_turbo(root):
    for name in ("chatterbox", "chatterbox.models", "chatterbox.models.t3", "chatterbox.models.t3.modules"):
        module = types.ModuleType(name)
        module.__path__ = [f"{root}/src/" + name.replace(".", "/")]
        sys.modules[name] = module
    from chatterbox.models.t3.modules.cond_enc import T3Cond
    t3 = module_of("chatterbox_turbo").build_t3(dict(hidden=64, layers=1, positions=400), 300)
    cond = T3Cond(speaker_emb=torch.zeros(1, 256), cond_prompt_speech_tokens=torch.zeros(1, 2, dtype=torch.long))
    for number, setting in enumerate(PLAIN + [dict(top_p=0.3, repetition_penalty=3.0), dict(top_k=3, top_p=1.0),
                                              dict(top_k=8, repetition_penalty=2.0)]):
        if "min_p" in setting or number in (1, 2, 4, 9):
            continue  # the parameter is absent, or many similar cases would be slow with a thousand ids
        case = dict(family="chatterbox_turbo", request=setting, history=history(0 if number == 8 else 12, 60, 1, number), k=0,
                    seed=700 + number, spread=[12.0, 8.0, 14.0][number % 3])
        given = dict(dict(temperature=0.8, top_k=1000, top_p=0.95, repetition_penalty=1.2), **setting)
        scores = logits(case, 6563)
        for step, best in zip(case["history"], scores.topk(12).indices[::2].tolist()):
            step[0] = best  # the penalty applies to ids that the filters keep
        drawn, next_ids = [], [step[0] for step in case["history"]] + [6562]

        class Head(torch.nn.Module):
            weight = torch.zeros(1)  # the code uses the weight's device

            def forward(self, hidden):
                return scores.expand(*hidden.shape[:-1], -1).clone()

        def multinomial(chances, num_samples):
            drawn.append(chances[0].double())
            return torch.tensor([[next_ids[len(drawn) - 1]]])

        t3.speech_head = Head()
        saved, torch.multinomial = torch.multinomial, multinomial
        try:
            t3.inference_turbo(t3_cond=copy.copy(cond), text_tokens=torch.tensor([[5, 6]]), max_gen_len=len(next_ids) - 1,
                               **given)
        finally:
            torch.multinomial = saved
        yield case, drawn[-1]


def zonos(root):
    golden = module_of("zonos")
    _, model_module, _, _ = golden.import_zonos(root)
    from zonos import sampling
    books, vocab = 9, 1032  # loading a checkpoint pads the heads like this
    settings = [dict(), dict(temperature=0.7), dict(min_p=0.3), dict(top_p=0.5, min_p=0.0), dict(top_k=7, min_p=0.0),
                dict(repetition_penalty=1.0), dict(repetition_penalty=2.0, temperature=1.5), dict(top_p=0.8),
                dict(top_k=20, min_p=0.05)]
    for number, setting in enumerate(settings):
        for k, steps in ((0, 1), (0, 11), (1, 4), (8, 12)):
            case = dict(family="zonos", request=setting, history=history(steps, 30, books, number), k=k,
                        seed=800 + number * 100 + steps, spread=[14.0, 9.0, 11.0][number % 3])
            for step in case["history"][-2:]:
                step[k] = 3 + number  # twice in the window, so the penalty counts it twice
            scores, drawn = logits(case, vocab).expand(1, books, -1).clone(), []
            scores[..., 1025:] = -torch.inf

            def multinomial(chances, num_samples, **_):
                drawn.append(chances.double())
                at = min(len(drawn), steps) - 1
                return torch.tensor(case["history"][at])[None, :, None]

            fake = types.SimpleNamespace(
                device="cpu", masked_token_id=1025, eos_token_id=1024, can_use_cudagraphs=lambda: False,
                _decode_one_token=lambda *_args, **_kw: scores.clone(), _prefill=lambda *_args: scores.clone(),
                setup_cache=lambda **_: types.SimpleNamespace(seqlen_offset=0, lengths_per_sample=torch.zeros(2)))
            saved, sampling.multinomial = sampling.multinomial, multinomial
            try:
                model_module.Zonos.generate(fake, torch.zeros(2, 5, 32), max_new_tokens=steps + 1,
                                            sampling_params=dict(dict(min_p=0.1), **setting), progress_bar=False,
                                            disable_torch_compile=True)
            finally:
                sampling.multinomial = saved
            yield case, drawn[steps][0, k]


def cosyvoice2(root):
    sys.path.insert(0, str(root))
    text = (pathlib.Path(root) / "cosyvoice/llm/llm.py").read_text()
    begin = text.index("    def sampling_ids(")
    scope = {"torch": torch, "List": list}  # only this method is compiled: its module imports the whole project
    exec("class Lm:\n" + text[begin:text.index("    @torch.inference_mode()", begin)], scope)
    from cosyvoice.utils.common import ras_sampling
    codes = 40
    settings = [dict(), dict(top_p=0.5), dict(top_k=3), dict(top_p=0.95, top_k=40)]
    for number, setting in enumerate(settings):
        for steps in (1, 15):
            case = dict(family="cosyvoice2", request=setting, history=history(steps, 24, 1, number), k=0,
                        seed=1000 + number * 10 + steps, spread=[3.0, 6.0][number % 2])
            given = dict(dict(top_p=0.8, top_k=25), **setting)
            lm = scope["Lm"]()
            lm.speech_token_size = codes
            lm.sampling = functools.partial(
                lambda scores, past, _n, **kw: ras_sampling(scores, past, _n, **kw), win_size=10, tau_r=0.1, **given)
            past = [step[0] for step in case["history"]]
            total, first, saved = torch.zeros(codes + 3, dtype=torch.double), 0, torch.Tensor.multinomial
            while True:  # each result of the first draw, with the probabilities of a second one
                calls = []

                def multinomial(chances, num_samples, replacement=False):
                    calls.append(chances.double())
                    return torch.tensor([first if len(calls) == 1 else 0])

                torch.Tensor.multinomial = multinomial
                try:
                    chosen = lm.sampling_ids(logits(case, codes + 3).log_softmax(0), past, 25, ignore_eos=steps < 2)
                finally:
                    torch.Tensor.multinomial = saved
                share = calls[0][first] / calls[0].sum()
                if len(calls) == 1:
                    total[chosen] += share
                else:
                    total += share * calls[1] / calls[1].sum()
                first += 1
                if first == len(calls[0]):
                    break
            yield case, total


def fish_speech(root):
    fish = module_of("fish_speech")
    sys.path.insert(0, str(root))
    fish.stub_dac()
    from fish_speech.models.text2semantic import inference
    config = json.loads((PARITY / "fish_speech/golden/checkpoint/config.json").read_text())
    begin, end = config["semantic_start_token_id"], config["eos_token_id"]
    codes, books = config["audio_decoder_config"]["vocab_size"], config["audio_decoder_config"]["num_codebooks"]
    settings = [dict(), dict(temperature=0.7), dict(top_k=5), dict(top_p=0.5), dict(temperature=1.4, top_p=0.95, top_k=45),
                dict(top_k=1), dict(top_p=0.01)]
    for number, setting in enumerate(settings):
        for k, steps in ((0, 0), (0, 1), (0, 4), (0, 14), (1, 2), (9, 3)):
            if steps not in (4, 14) and number > 2:
                continue
            case = dict(family="fish_speech", request=setting, history=history(steps, 24, books, number), k=k,
                        seed=1100 + number * 30 + steps, spread=[3.0, 5.0][number % 2])
            given = dict(dict(temperature=1.0, top_p=0.9, top_k=30), **setting)
            ours = logits(case, codes + (k == 0))
            slow, fast, drawn = torch.full((1, 1, config["text_config"]["vocab_size"]), -100.0), ours[None, None], []
            if k == 0:
                slow[0, 0, begin:begin + codes], slow[0, 0, end] = ours[:codes], ours[codes]

            def draw(chances):
                """Draws the codes of the history; each step draws two first codes, of which one counts."""
                drawn.append(chances.double())
                step, place = divmod(len(drawn) - 1, books + 1)
                code = case["history"][min(step, steps - 1)][max(0, place - 1)] if step < steps else 0
                return torch.tensor([code + (begin if place < 2 else 0)], dtype=torch.int)

            model = types.SimpleNamespace(
                config=types.SimpleNamespace(num_codebooks=books, max_seq_len=64, semantic_begin_id=begin,
                                             semantic_end_id=begin + codes - 1, codebook_size=codes,
                                             vocab_size=config["text_config"]["vocab_size"]),
                tokenizer=types.SimpleNamespace(get_token_id=lambda _text: end), _cache_setup_done=True,
                parameters=lambda: iter([torch.zeros(1)]), fast_embeddings=lambda a: torch.zeros(1),
                forward_generate=lambda *_a, **_k: types.SimpleNamespace(logits=slow.clone(), hidden_states=torch.zeros(1)),
                forward_generate_fast=lambda *_args: fast.clone() if k else torch.zeros(1, 1, codes))
            saved, inference.multinomial_sample_one_no_sync = inference.multinomial_sample_one_no_sync, draw
            try:
                inference.generate(model=model, prompt=torch.zeros((books + 1, 2), dtype=torch.int), audio_masks=None,
                                   audio_parts=None, max_new_tokens=max(2, steps + 1), **given)
            finally:
                inference.multinomial_sample_one_no_sync = saved
            at = steps * (books + 1)
            if k:
                yield case, drawn[at + 1 + k]
                continue
            of = lambda chances: torch.cat([chances[begin:begin + codes], chances[end:end + 1]])
            first, again = of(drawn[at]), of(drawn[at + 1])
            # decode_one_token_ar decides which of the two counts
            window = {step[0] for step in case["history"][1:][-10:]}
            repeats = torch.tensor([i in window for i in range(codes)] + [False])
            yield case, torch.where(repeats, 0.0, first) + first[repeats].sum() * again


def higgs_audio(root):
    import transformers
    # these classes need version 5 and are not used here
    for name in ("HiggsAudioV2TokenizerConfig", "HiggsAudioV2TokenizerModel"):
        setattr(transformers, name, None)
    higgs = module_of("higgs")
    sampler = higgs.load_source(pathlib.Path(root))[1]
    books, vocab, begin, end = higgs.BOOKS, higgs.VOCAB, higgs.BEGIN, higgs.END
    settings = [dict(), dict(temperature=0.8, top_k=50), dict(temperature=0.7), dict(top_k=5), dict(top_p=0.5),
                dict(temperature=1.3, top_k=20, top_p=0.9), dict(top_k=1), dict(top_p=0.01)]
    for number, setting in enumerate(settings):
        for k, steps in ((0, 0), (0, 3), (0, 12), (3, 4), (7, 12)):
            if steps != 12 and number > 2:
                continue
            case = dict(family="higgs_audio", request=setting, history=history(steps, 24, books, number), k=k,
                        seed=1300 + number * 30 + steps, spread=[3.0, 5.0][number % 2])
            for step, codes in enumerate(case["history"]):
                # the sampler's value for codes that have not begun
                codes[step + 1:] = [begin] * len(codes[step + 1:])
            state, drawn = sampler.HiggsSamplerState(num_codebooks=books), []

            def multinomial(chances, num_samples):
                drawn.append(chances.double())
                step = len(drawn) - 1
                return torch.tensor(case["history"][step] if step < steps else [0] * books)[:, None]

            saved, torch.Tensor.multinomial = torch.Tensor.multinomial, multinomial
            try:
                for _ in range(steps + 1):
                    sampler.step(logits(case, vocab).expand(books, -1), state, **dict(dict(temperature=1.0), **setting),
                                 boc_id=begin, eoc_id=end)
            finally:
                torch.Tensor.multinomial = saved
            yield case, drawn[steps][k]


def drawn_by(call):
    """Returns the input of the call's last torch.multinomial, and the topk indices that it drew from."""
    seen = {}
    multinomial, topk = torch.multinomial, torch.topk

    def draw(chances, **_):
        seen["chances"] = chances.double()
        return torch.zeros((len(chances), 1), dtype=torch.long)

    def best(*args, **kwargs):
        seen["best"] = topk(*args, **kwargs)
        return seen["best"]

    torch.multinomial, torch.topk = draw, best
    try:
        call()
    finally:
        torch.multinomial, torch.topk = multinomial, topk
    return seen["chances"], seen["best"].indices


def spread_out(chances, ids, size):
    total = torch.zeros(size, dtype=torch.double)
    return total.index_add(0, ids.flatten(), chances.flatten())


def opuslm(root):
    opus = module_of("opuslm")
    opus.load_speechlm(pathlib.Path(root))
    words, streams = 290, opus.STREAMS
    size = opus.FIRST_WORD + words
    code = lambda s: opus.FIRST_CODE + (s - 1) * opus.CODES
    settings = [dict(), dict(temperature=1.0, top_k=10), dict(temperature=1.5), dict(top_k=3), dict(top_k=1),
                dict(temperature=0.5, top_k=15)]
    for number, setting in enumerate(settings):
        for k, steps in ((0, 1), (0, 14), (1, 3), (8, 14)):
            if steps != 14 and number > 2:
                continue
            case = dict(family="opuslm", request=setting, history=history(steps, 16, streams, number), k=k,
                        seed=1500 + number * 30 + steps, spread=[3.0, 2.0][number % 2])
            for step, codes in enumerate(case["history"]):  # choices in Syrinx' numbering: see choice()
                codes[0] = opus.FIRST_UNIT + codes[0]
                for s in range(1, streams):
                    codes[s] = 1 + codes[s] % opus.CODES if s <= step else 0
            # Syrinx' choices. Stream 0: ids below the codes, then words. Other streams: a pad, then codes.
            ids = list(range(opus.FIRST_CODE)) + list(range(opus.FIRST_WORD, size)) if k == 0 else \
                [opus.PAD] + list(range(code(k), code(k + 1)))
            all_logits = torch.zeros((1, 1, streams, size))
            all_logits[0, 0, k, ids] = logits(case, len(ids))
            asked = dict(dict(temperature=0.8, top_k=30), **setting)
            opts = opus.settings(size, opus.SPEECH, opus.LEAST, 0)
            opts.search_algo, opts.topk, opts.sampling_temperature = "topk_sampling", asked["top_k"], asked["temperature"]
            chances, best = drawn_by(lambda: opus.net_utils.logits_to_tokens(all_logits, opts, allow_eos=steps >= opus.LEAST))
            yield case, spread_out(chances[k], best[0, 0, k], size)[ids]


def bagpiper(root):
    bag = module_of("bagpiper")
    parallel = bag.load_sources(root)[0]
    Lm = parallel.build_parallel_hf_class(str(PARITY / "bagpiper/golden/checkpoint"))
    words = json.loads((PARITY / "bagpiper/golden/checkpoint/config.json").read_text())["vocab_size"]
    first = bag.SPECIAL + words
    code = lambda s: first + s * (bag.CODES + 1)  # each stream has its own pad
    size = code(bag.STREAMS)
    names = [f"<|{n}|>" for n in ["pad", "bos", "eos", "eot", "system", "user", "assistant", "text", "audio", "image", "video",
                                  "toolcall"]]
    lm = types.SimpleNamespace(
        num_stream=bag.STREAMS, vocab=names + [str(i) for i in range(len(names), size)],
        vocab_intervals={"text": [(bag.SPECIAL, first)],
                         "discrete_audio": [(code(s), code(s + 1)) for s in range(bag.STREAMS)]})
    lm.register_buffer = lambda name, value: setattr(lm, name, value)
    Lm.prepare_inference(lm)
    said = 3  # words before speech
    turn = [[bag.SPECIAL + 40 + i] for i in range(said)] + [[bag.END], [bag.ASSISTANT], [bag.AUDIO]]
    settings = [dict(), dict(temperature=1.0, top_k=5), dict(temperature=1.4), dict(top_k=1)]
    for number, setting in enumerate(settings):
        for phase, k, steps in (("text", 0, 0), ("text", 0, 2), ("audio", 0, 2), ("audio", 3, 5), ("audio", 0, 49),
                                ("audio", 0, 50), ("audio", 7, 12)):
            if number > 1 and steps > 12:
                continue
            case = dict(family="bagpiper", request=dict(setting, guidance=1.0), k=k, seed=1700 + number * 200 + steps + 7 * k,
                        spread=[3.0, 2.0][number % 2], history=[])
            pads = [0] * (bag.STREAMS - 1)
            before = turn if phase == "audio" else [[bag.SPECIAL + 40 + i] for i in range(steps)]
            case["history"] = [step + pads for step in before]
            if phase == "audio":
                for step, codes in enumerate(history(steps, bag.CODES, bag.STREAMS, number)):
                    case["history"].append([first + codes[0]] + [1 + c for c in codes[1:]])
            ids = list(range(code(1))) if k == 0 else [0] + list(range(code(k), code(k + 1)))
            all_logits = torch.zeros((1, 1, bag.STREAMS, size))
            all_logits[0, 0, k, ids] = logits(case, len(ids))
            given = dict(dict(temperature=0.8 if phase == "audio" else 0.6, top_k=20), **setting)
            config = dict(temperature=given["temperature"], topk=given["top_k"], max_step=steps + 1, num_hypo=1, cfg=1,
                          min_step=bag.LEAST if phase == "audio" else 1)
            lm._step = lambda input_ids, past_key_values, mask=None: (
                all_logits if mask is None else all_logits.masked_fill(mask, float("-inf")), None)

            def token(scores, **kwargs):
                """Keeps the scores of the last step's draw. No draw ends the segment."""
                seen.append(drawn_by(lambda: Lm._logits_to_token(lm, scores, **kwargs)))
                return torch.full((1, 1, bag.STREAMS), bag.SPECIAL)

            seen = []
            lm._logits_to_token = token
            Lm.inference_segment(lm, config, None, torch.zeros((1, 1, bag.STREAMS), dtype=torch.long),
                                 getattr(lm, f"{phase}_mask"))
            chances, best = seen[-1]
            yield case, spread_out(chances[k], best[0, 0, k], size)[ids]


def kept(only):
    """Returns the stored goldens of other families, which are not made again: cases, with ids, probabilities and counts of each."""
    if not only or not (HERE / "golden/cases.json").is_file():
        return [], [], [], []
    cases = json.loads((HERE / "golden/cases.json").read_text())
    golden = load_file(HERE / "golden/golden.safetensors")
    counts = golden["counts"].tolist()
    ids, chances = golden["ids"].split(counts), golden["chances"].split(counts)
    there = [i for i, case in enumerate(cases) if case["family"] not in only]
    return tuple([whole[i] for i in there] for whole in (cases, ids, chances, counts))


def main():
    parser = argparse.ArgumentParser()
    for name in ("zonos", "cosyvoice", "chatterbox", "fish", "sglang", "espnet", "speechlm"):
        parser.add_argument("--" + name, type=pathlib.Path)
    parser.add_argument("--only", nargs="+", default=[])
    args = parser.parse_args()
    torch.set_num_threads(1)
    makers = [qwen3_tts, csm, orpheus, functools.partial(chatterbox, args.chatterbox),
              functools.partial(chatterbox_turbo, args.chatterbox),
              functools.partial(cosyvoice2, args.cosyvoice), functools.partial(zonos, args.zonos),
              functools.partial(fish_speech, args.fish), functools.partial(higgs_audio, args.sglang),
              functools.partial(opuslm, args.speechlm), functools.partial(bagpiper, args.espnet), glm4_voice, step_audio2,
              llm, qwen3_omni]
    name_of = lambda made: getattr(made, "func", made).__name__
    cases, ids, chances, counts = kept(args.only)
    for made in makers:
        if args.only and name_of(made) not in args.only:
            continue
        for case, drawn in made():
            left = torch.nonzero(drawn > 0)[:, 0]
            cases.append(case)
            ids.append(left.to(torch.int16))
            chances.append((drawn[left] / drawn.sum()).float())
            counts.append(len(left))
            print(case["family"], case["request"], "k", case["k"], "steps", len(case["history"]), "ids", len(left))
    (HERE / "golden").mkdir(exist_ok=True)
    text = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "golden/cases.json").write_text("[\n" + text + "\n]\n")
    save_file({"ids": torch.cat(ids).int(), "chances": torch.cat(chances), "counts": torch.tensor(counts).int()},
              HERE / "golden/golden.safetensors")


if __name__ == "__main__":
    with torch.inference_mode():
        main()
