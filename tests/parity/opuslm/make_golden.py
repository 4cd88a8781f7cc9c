#!/usr/bin/env python3
"""Writes small OpusLM checkpoints, and the results of ESPnet with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==4.57.3 safetensors numpy einops typeguard pyyaml
    VENV/bin/pip download --no-deps --no-binary :all: espnet==202511 && tar xzf espnet-202511.tar.gz
    git -C ESPNET archive speechlm3 espnet2 | tar x -C SOURCE
    VENV/bin/python make_golden.py --codec espnet-202511 --speechlm SOURCE [--out DIR] && python3 ../thin.py golden/*.safetensors

ESPNET is a clone of ESPnet with the branch speechlm3 (5f0a39acd00d), on which OpusLM was made and which the released packages do
not have. Its own files run: espnet2/speechlm/core_lm/{ar_delay,ar_parallel}.py (the loop with its delay, drain and end),
net_utils.py (the choice of ids), inference_utils.py (masks, settings) and espnet2/train/preprocessor.py, whose SpeechLMPreprocessor
lays out every prompt. Their unused imports are replaced: kaldiio, torchaudio, and the tokenizers of training data. Words are given
as ids, which the preprocessor accepts, too. In these files, the master branch has the same code for everything that runs here. One
row of the serving code of ESPnet's group (espnet/vllm) that the preprocessor does not have is added by hand: the end of speech
after a plain model's recording. The decoders are Olmo2Model and LlamaModel of transformers, as there. The codec is ESPnet's decoder
and quantizer as released. Everything is float32 on the CPU, one thread; the samples are exact (float64). Names are the published
ones; only sizes are smaller, tensors of the codec are bf16, and it has only some of the encoder and buffers. Two runs on one
machine give the same bytes; each case stores its smallest margin between the two best logits.
"""
import argparse
import importlib
import importlib.abc
import importlib.machinery
import json
import pathlib
import sys
import types

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaModel, Olmo2Config, Olmo2Model

HERE = pathlib.Path(__file__).parent
GPT2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CORPUS = ["hello there, how are you? the quick brown fox jumps over the lazy dog", "and other things"]
STREAMS, UNITS, CODES, SPECIAL, WIDTH = 9, 40, 16, 96, 16
FIRST_UNIT = SPECIAL
FIRST_CODE = FIRST_UNIT + UNITS
FIRST_WORD = FIRST_CODE + (STREAMS - 1) * CODES
PAD, END, SYSTEM, USER, ASSISTANT = 0, 5, 8, 9, 10
SPEECH, TEXT, SPEAKER = 34, 35, 37
ASR, TTS, PLAIN_TTS, TEXT_DIALOGUE, AUDIO_DIALOGUE = 80, 81, 82, 88, 89
SPEAKER_FRAMES, LEAST, LEAST_WORDS = 12, 5, 1
CODEC = "espnet_codec_dac_large_v1.4_360epoch"


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(GPT2), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=["<|endoftext|>"])
    tok.train_from_iterator(CORPUS * 20, trainer)
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    return tok


def config_json(words, dialogue):
    return dict(
        model_type="opuslm_dialogue" if dialogue else "opuslm", vocab_size=FIRST_WORD + words, hidden_size=WIDTH,
        intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
        max_position_embeddings=2048, rms_norm_eps=1e-5, rope_theta=130000.0 if dialogue else 500000.0,
        tie_word_embeddings=False, torch_dtype="bfloat16", ssl_token_start=FIRST_UNIT, ssl_token_end=FIRST_CODE,
        codec_token_start=FIRST_CODE, codec_token_end=FIRST_WORD, text_token_start=FIRST_WORD,
        text_token_end=FIRST_WORD + words, nq=STREAMS, num_codec_streams=STREAMS - 1, codec_per_stream_size=CODES,
        speaker_prompt_length=SPEAKER_FRAMES, bos_token_id=1, pad_token_id=PAD, eos_token_id=END,
        system_prompt_token_id=SYSTEM, user_input_token_id=USER, assistant_output_token_id=ASSISTANT, eou_token_id=11,
        codec_ssl_start_end_token_id=SPEECH, text_bpe_start_end_token_id=TEXT, spk_start_end_token_id=SPEAKER,
        textlm_task_token_id=64, codec_ssl_asr_task_token_id=ASR, codec_ssl_tts_task_token_id=TTS,
        codec_ssl_plain_tts_task_token_id=PLAIN_TTS, codec_ssl_audiolm_task_token_id=83,
        text_dialogue_task_token_id=TEXT_DIALOGUE, audio_dialogue_task_token_id=AUDIO_DIALOGUE,
        dac_hf_model_tag="ftshijt/" + CODEC, xeus_hf_model_tag="espnet/xeus", km_model_filename="model/km_opus_lm.mdl",
        dac_sample_rate=16000, xeus_layer=18, audio_temperature=0.8, audio_topk=30, audio_minlen=LEAST)


class Decoders(torch.nn.Module):
    """Contains a model of transformers, like espnet2/speechlm/module/huggingface.py."""

    def __init__(self, config):
        super().__init__()
        sizes = dict(vocab_size=8, hidden_size=WIDTH, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
                     num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=config["rope_theta"], max_position_embeddings=2048)
        dialogue = config["model_type"] == "opuslm_dialogue"
        self.model = LlamaModel(LlamaConfig(**sizes)) if dialogue else Olmo2Model(Olmo2Config(**sizes))
        self.model.embed_tokens = None
        self.d_model, self.n_ctx, self.kv_cache, self.use_cache = WIDTH, 2048, None, False

    def init(self):
        self.use_cache = True

    def reset(self):
        self.kv_cache, self.use_cache = None, False

    def forward(self, x):
        out = self.model(inputs_embeds=x, past_key_values=self.kv_cache, use_cache=self.use_cache)
        self.kv_cache = out.past_key_values
        return out.last_hidden_state


def build(config, seed):
    lm = ar_delay.ARDelayLM(Decoders(config), {}, vocab_size=config["vocab_size"], aux_vocab_size=0, nq=STREAMS).eval()
    gen = torch.Generator().manual_seed(seed)
    state = {}
    with torch.no_grad():
        for name, p in sorted(lm.named_parameters()):
            noise = torch.randn(p.shape, generator=gen)
            if "norm" in name:
                value = 1 + 0.2 * noise
                if "post_" in name and config["model_type"] == "opuslm":
                    value *= 2  # otherwise the steps repeat in a circle
            elif name == "emb.weight":
                value = 0.5 * noise
                value[PAD] = 0
            elif name == "head_emb.weight":
                value = 0.8 * noise
            elif name == "lm_head.weight":
                value = 2 / np.sqrt(WIDTH) * noise
                value[END] *= 1.5  # so that some answers end
            elif name.endswith(("o_proj.weight", "down_proj.weight")):
                value = 4 / np.sqrt(p.shape[1]) * noise
            else:
                value = 1.3 / np.sqrt(p.shape[1]) * noise
            state["corelm." + name] = value.to(torch.bfloat16).contiguous()
            p.copy_(state["corelm." + name].float())
    state["criterion.dummy"] = torch.zeros(1, dtype=torch.bfloat16)
    return lm, state


# Prompts: lists of rows of S ids.
def row(first):
    return [first] + [PAD] * (STREAMS - 1)


def rows(ids):
    return [row(i) for i in ids]


TOKENS = {PAD: "<pad>", 1: "<unk>", END: "<sos/eos>", SYSTEM: "<system_prompt>", USER: "<user_input>", ASSISTANT: "<assistant_output>",
          SPEECH: "<codec_ssl_start/end>", TEXT: "<text_bpe_start/end>", SPEAKER: "<spk_start/end>", ASR: "<codec_ssl_asr_task>",
          TTS: "<codec_ssl_tts_task>", PLAIN_TTS: "<codec_ssl_plain_tts_task>", TEXT_DIALOGUE: "<text_dialogue_task>",
          AUDIO_DIALOGUE: "<audio_dialogue_task>"}


def trained_with(vocab):
    """Returns the settings that ESPnet keeps from the training."""
    return types.SimpleNamespace(token_list=[TOKENS.get(i, f"<{i}>") for i in range(vocab)], codec_token_in_use=STREAMS,
                                 token_bias=dict(ssl=(FIRST_UNIT, FIRST_CODE), codec=(FIRST_CODE, FIRST_WORD),
                                                 text_bpe=(FIRST_WORD, vocab)))


def preprocessor_of(vocab):
    args = trained_with(vocab)
    return preprocessor.SpeechLMPreprocessor(token_list=args.token_list, token_bias=args.token_bias, train=False,
                                             codec_token_per_frame=STREAMS, codec_token_in_use=STREAMS,
                                             speaker_prompt_length=SPEAKER_FRAMES, inter_segment_pad=STREAMS - 1)


def words(text):
    return np.array(tokenizer.encode(text, add_special_tokens=False).ids)


def local_codes(local):
    """Returns [T, S] of a unit and codes, as in ESPnet's codec_ssl files: the ranges of the streams follow one another."""
    offset = torch.tensor([0] + [UNITS + s * CODES for s in range(STREAMS - 1)])
    return (local + offset).numpy()


def first_frames(local):
    """Returns the first frames of a voice. ESPnet takes a random part of a longer voice; here it is the beginning."""
    return local_codes(local)[:SPEAKER_FRAMES]


def prompt_of(vocab, task, data, parts):
    """Returns the rows of ESPnet's preprocessor, up to and including `parts` ids of the last segment, which is to be generated."""
    seq = preprocessor_of(vocab)(task, data)["dec_seq"]
    starts = [i for i, first in enumerate(seq[:, 0]) if 32 <= first < 64]
    end = starts[-1] + 1
    assert seq[end - parts:end, 1:].max() == PAD
    return seq[:end].tolist()


NOTHING = np.zeros(0, dtype=np.int64)


def settings(vocab, start, least, most):
    """Returns ESPnet's settings for a greedy answer after `start`."""
    modality = "text_bpe" if start == TEXT else "codec_ssl"
    kind = inference_utils.TextInferenceConfig if start == TEXT else inference_utils.SpeechInferenceConfig
    return kind(device="cpu", nbest=1, nq=STREAMS, search_algo="greedy_search", eos=END, length_method="absolute",
                maxlen=most, minlen=least, mask=inference_utils.build_mask(trained_with(vocab), modality))


def lead(logits):
    best = logits.topk(2, dim=-1).values
    return best[..., 0] - best[..., 1]


def generate(lm, prompt, least, most):
    """Runs ESPnet's loop. The prompt ends with the id of the answer's kind. Returns tokens [L, S], logits [L, S, V], margin,
    whether it ended by itself, and the frames or words."""
    start = prompt[-1][0]
    fed, logits, margins = [], [], []
    inner = net_utils.logits_to_tokens

    def record(values, config, **kwargs):
        logits.append(values[0, 0].clone())
        got = inner(values, config, **kwargs)
        live = 1 if start == TEXT else min(len(logits), STREAMS)
        margins.append(float(lead(values[0, 0, :live]).min()))
        return got

    ar_delay.logits_to_tokens = record
    hook = lm.emb.register_forward_hook(lambda module, inputs, output: fed.append(inputs[0][0, 0].clone()))
    lm.decoders.init()
    done, _ = lm.inference(torch.tensor(prompt)[None], None, settings(lm.lm_head.out_features, start, least, most + STREAMS))
    lm.decoders.reset()
    hook.remove()
    ar_delay.logits_to_tokens = inner
    tokens = torch.stack(fed[2:])  # the first two are the prompt and its last row
    ends = (tokens[:most - (0 if start == TEXT else STREAMS - 2), 0] == END).nonzero()
    ended = len(ends) > 0
    last = int(ends[0]) + STREAMS if ended else most  # with the steps that complete the last frame
    tokens = tokens[:last]
    if ended:
        assert len(done[0]) == int(ends[0])
    return tokens, torch.stack(logits[:last]), min(margins[:last]), ended, done[0]


def guided(lm, prompt, scale, most):
    """Runs the loop by hand with a companion, whose prompt is all pads: u + w (c - u), before the masks."""
    delayed = lm.delay_interleave(torch.tensor(prompt)[None])[0]
    mask = settings(lm.lm_head.out_features, SPEECH, 0, most).mask
    inputs, caches, tokens, logits, margins = [delayed, torch.zeros_like(delayed)], [None, None], [], [], []
    head = lambda h: lm.lm_head(h[:, -1:, None] + lm.head_emb.weight[None, None, :STREAMS])[0, 0]
    with torch.no_grad():
        while len(tokens) < most:
            each = []
            for i in range(2):
                lm.decoders.use_cache, lm.decoders.kv_cache = True, caches[i]
                each.append(head(lm.decoders(lm.emb(inputs[i]).sum(2))))
                caches[i] = lm.decoders.kv_cache
            merged = each[1] + scale * (each[0] - each[1])
            logits.append(each[0].clone())
            choice = merged.masked_fill(mask, torch.finfo(torch.float32).min)
            margins.append(float(lead(choice[:min(len(tokens) + 1, STREAMS)]).min()))
            step = choice.argmax(-1)
            tokens.append(step)
            fed = torch.where(torch.arange(STREAMS) < len(tokens), step, torch.zeros_like(step))
            inputs = [fed[None, None]] * 2
    lm.decoders.reset()
    return torch.stack(tokens), torch.stack(logits), min(margins)


def codes_of(frames):
    """Returns the codes [T, S - 1] of ids [T, S]; a pad becomes the first code."""
    offset = torch.tensor([FIRST_CODE + s * CODES for s in range(STREAMS - 1)])
    return (frames[:, 1:] - offset).clamp_min(0).int()


def own_choices(logits):
    """Cuts [L, S, V] to the choices of each stream: control ids, units and text in stream 0, pad and codes in others."""
    first = torch.cat([logits[:, 0, :FIRST_CODE], logits[:, 0, FIRST_WORD:]], 1)
    rest = [torch.cat([logits[:, s, :1], logits[:, s, FIRST_CODE + (s - 1) * CODES: FIRST_CODE + s * CODES]], 1)
            for s in range(1, STREAMS)]
    return torch.cat([first] + rest, 1).contiguous()


def dialogue_of(messages, voice=None):
    """Returns a dialogue in the form of ESPnet's files: role, kind, whether it was generated, content."""
    out = [] if voice is None else [("system", "codec_ssl", False, first_frames(voice).flatten())]
    return out + [(m["role"], "text_bpe", m["role"] == "assistant", words(m["content"])) for m in messages]


def speech_result(prompt, tokens, logits, keep):
    count = len(tokens) - STREAMS + 1
    frames = torch.stack([tokens[s:s + count, s] for s in range(STREAMS)], 1)
    ends = (tokens[:, 0] == END).nonzero()
    if len(ends):
        frames = frames[:int(ends[0])]
    return dict(prompt_ids=delayed_first(prompt), frames=codes_of(frames), logits=own_choices(logits[:keep]))


def delayed_first(prompt):
    return torch.tensor([r[0] for r in prompt]).int()


def run_case(lm, case, codec):
    gen = torch.Generator().manual_seed(len(case["name"]))
    local = None
    if case.get("frames"):
        local = torch.cat([torch.randint(0, UNITS, (case["frames"], 1), generator=gen),
                           torch.randint(0, CODES, (case["frames"], STREAMS - 1), generator=gen)], 1)
    kind, keep = case["kind"], case["keep"]
    vocab = lm.lm_head.out_features
    if kind == "read":
        made = dict(text=words(case["text"]), codec_ssl=NOTHING)
        if local is not None:
            made = dict(text=made["text"], utt2spk=first_frames(local).flatten(), codec_ssl=NOTHING)
        task = "codec_ssl_plain_tts" if local is None else "codec_ssl_tts"
        names = [name for name, _, _ in preprocessor_of(vocab).tasks[task].data_triplets]
        prompt = prompt_of(vocab, task, dict(zip(names, made.values())), 1)
        if case.get("guidance"):
            tokens, logits, case["margin"] = guided(lm, prompt, case["guidance"], case["most"])
            ended = False
        else:
            least = 10**6 if case.get("ignore_stop") else LEAST
            tokens, logits, case["margin"], ended, done = generate(lm, prompt, least, case["most"])
        out = speech_result(prompt, tokens, logits, keep)
        if not case.get("guidance") and ended:
            assert torch.equal(out["frames"], codes_of(done))
        if case.get("keep_samples"):
            out["samples"] = exact(codec, out["frames"][:case["keep_samples"]])
        prefix, _ = lm.delay_interleave(torch.tensor(prompt)[None])
        out["prefill"] = lm.emb(prefix[0]).sum(1).detach()[-16:]
    elif kind == "hear":
        names = [name for name, _, _ in preprocessor_of(vocab).tasks["codec_ssl_asr"].data_triplets]
        prompt = prompt_of(vocab, "codec_ssl_asr", dict(zip(names, (local_codes(local).flatten(), NOTHING))), 1)
        prompt.insert(len(prompt) - STREAMS, row(SPEECH))
        tokens, logits, case["margin"], ended, _ = generate(lm, prompt, LEAST_WORDS, case["most"])
        out = text_result(case, prompt, tokens, logits, keep)
        ended = case["ended_text"]
    else:
        task = "audio_dialogue" if case["spoken"] else "text_dialogue"
        turns = dialogue_of(case["messages"], local)
        prompt = prompt_of(vocab, task, dict(dialogue=tuple(turns + [("assistant", "text_bpe", True, NOTHING)])), 2)
        tokens, logits, margin, ended, _ = generate(lm, prompt, LEAST_WORDS, case["max_tokens"])
        out = text_result(case, prompt, tokens, logits, keep)
        ended = case["ended_text"]
        case["margin"] = margin
        if case["spoken"]:
            said = np.array([t - FIRST_WORD for t in out["tokens"].tolist() if t != END])
            turns += [("assistant", "text_bpe", True, said), ("assistant", "codec_ssl", True, NOTHING)]
            prompt = prompt_of(vocab, task, dict(dialogue=tuple(turns)), 2)
            tokens, logits, spoken_margin, ended, _ = generate(lm, prompt, LEAST, case["most"])
            speech = speech_result(prompt, tokens, logits, keep)
            out |= {"speech_" + k: v for k, v in speech.items()}
            case["margin"] = min(margin, spoken_margin)
    # After the end, ESPnet also generates the codes of the end's own frame.
    case.update(steps=len(tokens) - (kind == "read" and ended), ended=bool(ended))
    if local is not None:
        out["local"] = local.int()
    return {k: v.contiguous().clone() for k, v in out.items()}


def text_result(case, prompt, tokens, logits, keep):
    first = tokens[:, 0]
    ends = (first == END).nonzero()
    case["ended_text"] = len(ends) > 0
    if len(ends):
        first = first[:int(ends[0]) + 1]
    said = [t - FIRST_WORD for t in first.tolist() if t != END]
    case["answer"] = tokenizer.decode(said, skip_special_tokens=True)
    return dict(prompt_ids=delayed_first(prompt), tokens=first.int(), logits=own_choices(logits[:min(keep, len(first))]))


class Codec(torch.nn.Module):
    """Contains the parts of DACGenerator.decode, from espnet2/gan_codec/dac/dac.py."""

    def __init__(self):
        super().__init__()
        self.quantizer = residual_vq.ResidualVectorQuantizer(dimension=8, codebook_dim=8, n_q=STREAMS - 1, bins=CODES,
                                                             kmeans_init=True, quantizer_dropout=True)
        sizes = dict(channels=1, dimension=8, n_filters=2, n_residual_layers=3, ratios=[8, 5, 4, 2], activation="Snake",
                     activation_params={}, norm="weight_norm", kernel_size=7, last_kernel_size=7, residual_kernel_size=7,
                     dilation_base=2, causal=False, pad_mode="reflect", true_skip=False, compress=2, lstm=2)
        self.decoder = seanet.SEANetDecoder(**sizes, trim_right_ratio=1.0)

    def forward(self, codes):
        return self.decoder(self.quantizer.decode(codes))


def codec_model(seed):
    codec = Codec().eval()
    gen = torch.Generator().manual_seed(seed)
    state = {}
    for name, t in sorted(codec.state_dict().items()):
        noise = torch.randn(t.shape, generator=gen)
        if name.endswith("alpha"):
            value = 0.6 + 0.4 * noise.abs()
        elif name.endswith("original0"):
            value = 1.0 + 0.2 * noise
            if "block" in name or "shortcut" in name:
                value *= 0.5  # otherwise numbers are large, and their sines are rounding errors
        elif "bias" in name:
            value = 0.1 * noise
        elif name.endswith(("embed", "embed_avg", "cluster_size")):
            value = noise
        elif name.endswith("inited"):
            value = torch.ones(t.shape)
        elif "lstm.weight" in name:
            value = 1.2 * noise / np.sqrt(t.shape[1])
        else:
            value = noise / np.sqrt(max(1, t[0].numel()))
        state[name] = value.to(torch.bfloat16)
    last = f"decoder.model.{len(codec.decoder.model) - 1}.conv.conv."
    codec.load_state_dict({k: v.float() for k, v in state.items()})
    with torch.no_grad():  # so that samples are about as loud as speech
        sound = codec(torch.randint(0, CODES, (STREAMS - 1, 1, 40), generator=gen))
    for part in ["bias", "parametrizations.weight.original0"]:
        state[last + part] = (state[last + part].float() * 0.3 / sound.std()).to(torch.bfloat16)
    codec.load_state_dict({k: v.float() for k, v in state.items()})
    buffers = ("inited", "cluster_size", "embed_avg")  # only those of the first quantizer
    file = {"codec.generator." + k: v.contiguous() for k, v in state.items()
            if not k.endswith(buffers) or "layers.0." in k}
    file["codec.generator.encoder.model.0.conv.conv.bias"] = torch.zeros(2)
    file["codec.discriminator.msmpmb_discriminator.discriminators.0.bias"] = torch.zeros(2)
    file["codec.mel_loss.mel_transform.window"] = torch.zeros(2)
    return codec, file


def exact(codec, codes):
    """Returns samples of frames [T, Q], in float64."""
    codes = codes.t()[:, None].long()
    with torch.no_grad():
        single = codec.float()(codes)[0, 0]
        double = codec.double()(codes)[0, 0]
    print("samples of", codes.shape[2], "frames: largest", float(double.abs().max()), "float32 is off by",
          float((single - double).abs().max()))
    codec.float()
    return double.float()


def codec_golden(codec, folder):
    gen = torch.Generator().manual_seed(5)
    codes = torch.randint(0, CODES, (9, STREAMS - 1), generator=gen)
    out = {"codes": codes.int()}
    for n in [1, 2, 3, 4, 9]:
        out[f"samples_{n}"] = exact(codec, codes[:n])
    save_file({k: v.contiguous().clone() for k, v in out.items()}, folder / "codec.safetensors")


FOX = "The quick brown fox jumps over the lazy dog, doesn't it? 12345 times!"
HELLO = [dict(role="user", content="hello there, how are you?")]
LONG = [dict(role="system", content="the fox"), dict(role="user", content="hello"), dict(role="assistant", content="and you?"),
        dict(role="user", content="die Straße")]
CASES = [
    dict(name="fox", kind="read", text=FOX, ignore_stop=True, most=230, keep=2, keep_samples=6),
    dict(name="short", kind="read", text="hello there", most=400, keep=2),
    dict(name="clone", kind="read", text="and other things", frames=9, most=60, keep=2, ignore_stop=True),
    dict(name="longvoice", kind="read", text="and other things", frames=20, most=40, keep=2, ignore_stop=True),
    dict(name="guided", kind="read", text="hello there", guidance=2.5, most=60, keep=2, ignore_stop=True),
    dict(name="heard", kind="hear", frames=15, most=40, keep=2),
    dict(name="text", kind="chat", messages=LONG, spoken=False, max_tokens=30, keep=2),
]
DIALOGUE = [
    dict(name="spoken", kind="chat", messages=HELLO, spoken=True, max_tokens=12, most=50, keep=2),
    dict(name="voiced", kind="chat", messages=LONG, spoken=True, frames=7, max_tokens=8, most=60, keep=2),
]


def stub(names, path):
    for name in names:
        module = types.ModuleType(name)
        module.__path__ = [str(path / name.replace(".", "/"))]
        sys.modules[name] = module


def load_codec(codec):
    global seanet, residual_vq
    stub(["espnet2", "espnet2.gan_codec", "espnet2.gan_codec.shared"], codec)
    seanet = importlib.import_module("espnet2.gan_codec.shared.decoder.seanet")
    residual_vq = importlib.import_module("espnet2.gan_codec.shared.quantizer.residual_vq")


def load_speechlm(speechlm):
    global ar_delay, net_utils, inference_utils, preprocessor

    class Unused(types.ModuleType):
        """Replaces names that are imported there but not called here."""
        __path__ = []

        def __getattr__(self, name):
            return type(name, (), {"__init__": lambda self, *args, **kwargs: None})

    class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        """Replaces modules that are neither installed nor in the sources."""

        def find_spec(self, name, path=None, target=None):
            return importlib.machinery.ModuleSpec(name, self)

        def create_module(self, spec):
            return Unused(spec.name)

        def exec_module(self, module):
            pass

    stub(["espnet2", "espnet2.text", "espnet2.train", "espnet2.speechlm", "espnet2.speechlm.core_lm"], speechlm)
    missing = Missing()
    sys.meta_path.append(missing)
    ar_delay = importlib.import_module("espnet2.speechlm.core_lm.ar_delay")
    net_utils = importlib.import_module("espnet2.speechlm.net_utils")
    inference_utils = importlib.import_module("espnet2.speechlm.inference_utils")
    preprocessor = importlib.import_module("espnet2.train.preprocessor")
    sys.meta_path.remove(missing)


def main():
    global tokenizer
    parser = argparse.ArgumentParser()
    parser.add_argument("--codec", type=pathlib.Path, required=True, help="espnet, unpacked")
    parser.add_argument("--speechlm", type=pathlib.Path, required=True, help="espnet of the time of OpusLM")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    parser.add_argument("--seed", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    load_codec(args.codec)
    load_speechlm(args.speechlm)
    folder = args.out / "checkpoint"
    (folder / CODEC).mkdir(parents=True, exist_ok=True)
    tokenizer = write_tokenizer(folder)
    codec, file = codec_model(42)
    torch.save(file, folder / CODEC / "360epoch.pth")
    codec_golden(codec, args.out)
    for cases, dialogue, name in [(CASES, False, "checkpoint"), (DIALOGUE, True, "dialogue")]:
        (args.out / name).mkdir(exist_ok=True)
        config = config_json(tokenizer.get_vocab_size(), dialogue)
        (args.out / name / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        lm, state = build(config, args.seed + dialogue)
        torch.save(state, args.out / name / ("2epoch.pth" if dialogue else "model.pth"))
        for case in cases:
            case["dialogue"] = dialogue
            result = run_case(lm, case, codec)
            save_file(result, args.out / f"{case['name']}.safetensors")
            print(case["name"], case["steps"], case["ended"], "margin", case["margin"], case.get("answer", ""))
    (args.out / "cases.json").write_text(json.dumps(CASES + DIALOGUE, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
