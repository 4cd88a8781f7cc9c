#!/usr/bin/env python3
"""Writes a small random CosyVoice2 checkpoint in the published layout, and the results of the authors' code with it.

    git clone https://github.com/FunAudioLLM/CosyVoice && git clone https://github.com/shivammehta25/Matcha-TTS
    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 torchaudio==2.9.1 transformers==4.46.3 diffusers==0.29.2 einops conformer \
        omegaconf safetensors numpy scipy tqdm pillow regex tiktoken
    VENV/bin/python make_golden.py --cosyvoice CosyVoice --matcha Matcha-TTS

Language model and flow run in float32 on the CPU, the flow in streaming mode; the vocoder in float64, with the noise
that Syrinx draws for the request's seed (its counter-based generator is written out below). Sampling takes the largest
logit. Each case stores its smallest margin between the two best logits. It must be far above float noise, so that
greedy tokens are reproducible. Text normalisers (wetext, ttsfrd) and spelled numbers are omitted.
"""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import types

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import Qwen2Config, Qwen2ForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import seeded  # noqa: E402

CODES, HIDDEN, WIDTH, CHANNELS, CHUNK = 40, 32, 32, 16, 5
WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["the quick brown fox jumps over the lazy dog", "hello there, how are you?", "speak slowly please",
          "numbers 1 2 3 and other things", "die Straße ist naß", "你好，今天天气很好。"]
LONG = "One day the fox said hello to the lazy dog. " * 6 + "\"Stop!\" It did."
CASES = [
    dict(name="zero_shot", voice="fox", text="The quick brown fox jumps over the lazy dog, again", steps=220),
    dict(name="instructed", voice="fox", text="Hello there, how are you today?", instruct="speak slowly", steps=210),
    dict(name="speaker", voice="plain", text="Hello there!  [laughter] It is 5 o'clock", steps=30, samples=True),
    dict(name="ends", voice="owl", text="Hello", steps=400, samples=True),
    dict(name="parts", voice="owl", text=LONG, steps=12, samples=True),
    dict(name="chinese", voice="owl", text=" 你好， 今天 天气 very good 很好²，", steps=15),
    dict(name="markup", voice="plain", text="<|endofprompt|>Hello. Stop! [breath]", steps=10),
]

YAML = """# A small CosyVoice2: the keys of the published file that tell sizes.
sample_rate: 24000
llm_input_size: {hidden}
llm_output_size: {hidden}
spk_embed_dim: 192
qwen_pretrain_path: ''
token_frame_rate: 25
token_mel_ratio: 2
chunk_size: {chunk} # in tokens
num_decoding_left_chunks: -1

llm: !new:cosyvoice.llm.llm.Qwen2LM
    llm_input_size: !ref <llm_input_size>
    llm_output_size: !ref <llm_output_size>
    speech_token_size: {codes}
    mix_ratio: [5, 15]
    llm: !new:cosyvoice.llm.llm.Qwen2Encoder
        pretrain_path: !ref <qwen_pretrain_path>
    sampling: !name:cosyvoice.utils.common.ras_sampling
        top_p: 0.8
        top_k: 25
        win_size: 10
        tau_r: 0.1

flow: !new:cosyvoice.flow.flow.CausalMaskedDiffWithXvec
    input_size: {width}
    output_size: 80
    spk_embed_dim: !ref <spk_embed_dim>
    vocab_size: {codes}
    token_mel_ratio: !ref <token_mel_ratio>
    pre_lookahead_len: 3
    encoder: !new:cosyvoice.transformer.upsample_encoder.UpsampleConformerEncoder
        output_size: {width}
        attention_heads: 4
        linear_units: 48
        num_blocks: 2
        pos_enc_layer_type: 'rel_pos_espnet'
        selfattention_layer_type: 'rel_selfattn'
        input_size: {width}
        use_cnn_module: False
        macaron_style: False
        static_chunk_size: !ref <chunk_size>
    decoder: !new:cosyvoice.flow.flow_matching.CausalConditionalCFM
        cfm_params: !new:omegaconf.DictConfig
            content:
                solver: 'euler'
                t_scheduler: 'cosine'
                inference_cfg_rate: 0.7
        estimator: !new:cosyvoice.flow.decoder.CausalConditionalDecoder
            in_channels: 320
            out_channels: 80
            channels: [{channels}]
            attention_head_dim: 8
            n_blocks: 1
            num_mid_blocks: 1
            num_heads: 2
            act_fn: 'gelu'
            static_chunk_size: !ref <chunk_size> * <token_mel_ratio>

hift: !new:cosyvoice.hifigan.generator.HiFTGenerator
    in_channels: 80
    base_channels: 16
    nb_harmonics: 8
    sampling_rate: !ref <sample_rate>
    nsf_alpha: 0.1
    nsf_sigma: 0.003
    nsf_voiced_threshold: 10
    upsample_rates: [8, 5, 3]
    upsample_kernel_sizes: [16, 11, 7]
    istft_params:
        n_fft: 16
        hop_len: 4
    resblock_kernel_sizes: [3, 7, 11]
    resblock_dilation_sizes: [[1, 3, 5], [1, 3, 5], [1, 3, 5]]
    source_resblock_kernel_sizes: [7, 7, 11]
    source_resblock_dilation_sizes: [[1, 3, 5], [1, 3, 5], [1, 3, 5]]
    lrelu_slope: 0.1
    audio_limit: 0.99
    f0_predictor: !new:cosyvoice.hifigan.f0_predictor.ConvRNNF0Predictor
        num_class: 1
        in_channels: 80
        cond_channels: 8

mel_spec_transform: [
    !ref <sample_rate>
]
"""


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def philox_normals(seed, step, stream, count):
    """Returns normal numbers of Philox 4x32-10 and Box-Muller: key = seed, counter = (step, i, stream, 1)."""
    c = [np.full(count // 4, step, np.uint64), np.arange(count // 4, dtype=np.uint64),
         np.full(count // 4, stream, np.uint64), np.full(count // 4, 1, np.uint64)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]), b & low,
             (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    bits = np.stack([x.astype(np.float64) for x in c], 1)
    out = np.empty((count // 4, 4))
    for pair in (0, 2):
        radius = np.sqrt(-2 * np.log((bits[:, pair] + 0.5) / 2**32))
        angle = 2 * np.pi * bits[:, pair + 1] / 2**32
        out[:, pair], out[:, pair + 1] = radius * np.cos(angle), radius * np.sin(angle)
    return out.reshape(-1)


def write_tokenizer(folder):
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(WORDS), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.train_from_iterator(CORPUS * 20, trainers.BpeTrainer(
        vocab_size=360, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tok.model.save(str(folder))
    base = tok.get_vocab_size()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    added = {str(base + i): {"content": name, "lstrip": False, "normalized": False, "rstrip": False,
                             "single_word": False, "special": True} for i, name in enumerate(special)}
    config = {"add_prefix_space": False, "added_tokens_decoder": added, "additional_special_tokens": special[1:],
              "bos_token": None, "clean_up_tokenization_spaces": False, "eos_token": "<|endoftext|>",
              "errors": "replace", "model_max_length": 32768, "pad_token": "<|endoftext|>",
              "split_special_tokens": False, "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))
    return base + 32


def build_models(folder):
    from omegaconf import DictConfig
    from cosyvoice.flow.decoder import CausalConditionalDecoder
    from cosyvoice.flow.flow import CausalMaskedDiffWithXvec
    from cosyvoice.flow.flow_matching import CausalConditionalCFM
    from cosyvoice.hifigan.f0_predictor import ConvRNNF0Predictor
    from cosyvoice.hifigan.generator import HiFTGenerator
    from cosyvoice.llm.llm import Qwen2Encoder, Qwen2LM
    from cosyvoice.transformer.upsample_encoder import PreLookaheadLayer, Upsample1D, UpsampleConformerEncoder
    llm = Qwen2LM(HIDDEN, HIDDEN, CODES, Qwen2Encoder(str(folder)), lambda scores, *_: scores.argmax().item())
    encoder = UpsampleConformerEncoder(
        output_size=WIDTH, attention_heads=4, linear_units=48, num_blocks=2, dropout_rate=0.1,
        positional_dropout_rate=0.1, attention_dropout_rate=0.1, normalize_before=True, input_layer="linear",
        pos_enc_layer_type="rel_pos_espnet", selfattention_layer_type="rel_selfattn", input_size=WIDTH,
        use_cnn_module=False, macaron_style=False, static_chunk_size=CHUNK)
    encoder.pre_lookahead_layer = PreLookaheadLayer(in_channels=WIDTH, channels=WIDTH, pre_lookahead_len=3)
    encoder.up_layer = Upsample1D(WIDTH, WIDTH, 2)
    estimator = CausalConditionalDecoder(
        in_channels=320, out_channels=80, channels=[CHANNELS], dropout=0.0, attention_head_dim=8, n_blocks=1,
        num_mid_blocks=1, num_heads=2, act_fn="gelu", static_chunk_size=2 * CHUNK, num_decoding_left_chunks=-1)
    params = DictConfig({"sigma_min": 1e-06, "solver": "euler", "t_scheduler": "cosine", "training_cfg_rate": 0.2,
                         "inference_cfg_rate": 0.7, "reg_loss_type": "l1"})
    decoder = CausalConditionalCFM(in_channels=240, n_spks=1, spk_emb_dim=80, cfm_params=params, estimator=estimator)
    flow = CausalMaskedDiffWithXvec(
        input_size=WIDTH, output_size=80, spk_embed_dim=192, vocab_size=CODES, input_frame_rate=25, token_mel_ratio=2,
        pre_lookahead_len=3, encoder=encoder, decoder=decoder)
    hift = HiFTGenerator(
        in_channels=80, base_channels=16, sampling_rate=24000, upsample_rates=[8, 5, 3],
        upsample_kernel_sizes=[16, 11, 7], source_resblock_kernel_sizes=[7, 7, 11],
        source_resblock_dilation_sizes=[[1, 3, 5]] * 3,
        f0_predictor=ConvRNNF0Predictor(in_channels=80, cond_channels=8))
    return llm.eval(), flow.eval(), hift.eval()


def randomise(llm, flow, hift, random):
    def normal(shape, scale=1.0):
        return torch.randn(shape, generator=random) * scale

    with torch.no_grad():
        for model in (llm, flow):
            for name, value in model.named_parameters():
                norm = name.endswith("weight") and value.dim() == 1
                table = "embed" in name and "linear" not in name and value.dim() == 2 and "out.0" not in name
                spread = 0.2 if value.dim() == 1 else 1.0 if table else 1.2 / value[0].numel() ** 0.5
                value.copy_(normal(value.shape, spread) + (1 if norm else 0))
        llm.llm_decoder.weight.mul_(2)
        for name, value in hift.named_parameters():
            if name.endswith("original0"):
                value.copy_((0.3 if "conv_post" in name else 0.6) * (1 + 0.3 * normal(value.shape)))
            elif name.endswith("alpha"):
                value.copy_(0.5 + 1.5 * torch.rand(value.shape, generator=random))
            elif name.endswith("bias"):
                value.copy_(normal(value.shape, 0.1))
            else:
                value.copy_(normal(value.shape, 1 if name.endswith("original1") else value[0].numel() ** -0.5))
        hift.m_source.l_linear.weight.mul_(6)
        hift.f0_predictor.classifier.weight.mul_(60)
        hift.f0_predictor.classifier.bias.fill_(40.0)
        weights = {"llm": seeded.Weights(11), "flow": seeded.Weights(12), "hift": seeded.Weights(14)}
        for name, model in (("llm", llm), ("flow", flow), ("hift", hift)):
            weights[name].over(model, keep=["stft_window"])
        llm.llm_decoder.bias[CODES:] = -30
    return weights


def make_voices(random, frontend):
    def zero_shot(text, tokens):
        vector = torch.randn(1, 192, generator=random)
        ids, length = frontend._extract_text_token(text)
        codes = torch.randint(0, CODES, (1, tokens), generator=random, dtype=torch.int32)
        count = torch.tensor([tokens], dtype=torch.int32)
        return {"prompt_text": ids, "prompt_text_len": length,
                "llm_prompt_speech_token": codes, "llm_prompt_speech_token_len": count,
                "flow_prompt_speech_token": codes, "flow_prompt_speech_token_len": count,
                "prompt_speech_feat": torch.randn(1, 2 * tokens, 80, generator=random) * 0.5 - 1,
                "prompt_speech_feat_len": 2 * count, "llm_embedding": vector, "flow_embedding": vector}

    return {"fox": zero_shot("the lazy dog.", 17), "owl": zero_shot("hello there", 10),
            "plain": {"embedding": torch.randn(1, 192, generator=random)}}


def generate(llm, inputs, case, logits):
    """Returns the greedy tokens of one part, at most case["steps"], and collects the logits of every step."""
    empty = torch.zeros(1, 0, dtype=torch.int32)
    prompt_text = inputs.get("prompt_text", empty)
    prompt_speech = inputs.get("llm_prompt_speech_token", empty)
    tokens = []
    stream = llm.inference(
        text=inputs["text"], text_len=torch.tensor([inputs["text"].shape[1]], dtype=torch.int32),
        prompt_text=prompt_text, prompt_text_len=torch.tensor([prompt_text.shape[1]], dtype=torch.int32),
        prompt_speech_token=prompt_speech,
        prompt_speech_token_len=torch.tensor([prompt_speech.shape[1]], dtype=torch.int32),
        embedding=torch.zeros(0, 192))
    for token in stream:
        tokens.append(token)
        if len(tokens) == case["steps"]:
            return tokens, False
    return tokens, True


def speak(flow, hift, inputs, tokens, first_frame):
    empty = torch.zeros(1, 0, dtype=torch.int32)
    prompt = inputs.get("flow_prompt_speech_token", empty)
    feat = inputs.get("prompt_speech_feat", torch.zeros(1, 0, 80))
    mel, _ = flow.inference(
        token=torch.tensor([tokens], dtype=torch.int32), token_len=torch.tensor([len(tokens)], dtype=torch.int32),
        prompt_token=prompt, prompt_token_len=torch.tensor([prompt.shape[1]], dtype=torch.int32), prompt_feat=feat,
        prompt_feat_len=torch.tensor([feat.shape[1]], dtype=torch.int32), embedding=inputs["flow_embedding"],
        streaming=True, finalize=True)
    normals = np.concatenate([philox_normals(7, first_frame + t, 0x53330002, 480) for t in range(mel.shape[2])])
    weight = hift.m_source.l_linear.weight[0].detach()
    noise = (torch.from_numpy(normals)[:, None] * weight / weight.norm())[None]
    saved = torch.randn_like
    torch.randn_like = lambda x: noise if x.shape == noise.shape else torch.zeros_like(x)
    samples, _ = hift.inference(speech_feat=mel.double())
    torch.randn_like = saved
    return samples[0].float(), mel.shape[2]


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--cosyvoice", required=True)
    parser.add_argument("--matcha", required=True)
    parser.add_argument("--out", default=str(here / "golden"))
    args = parser.parse_args()
    sys.path[:0] = [args.cosyvoice, args.matcha]
    stub("cosyvoice.utils.onnx", SpeechTokenExtractor=None, online_feature=False, onnx_path="")
    stub("matcha.utils.pylogger", get_pylogger=lambda name: None)
    stub("matcha.utils")
    sys.modules["matcha.utils"].__path__ = []
    torch.set_num_threads(1)
    out = pathlib.Path(args.out)
    checkpoint = out / "checkpoint"
    shutil.rmtree(out, ignore_errors=True)
    blank = checkpoint / "CosyVoice-BlankEN"
    blank.mkdir(parents=True)
    vocab = write_tokenizer(blank)
    config = Qwen2Config(vocab_size=vocab, hidden_size=HIDDEN, intermediate_size=64, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, rope_theta=1000000.0, rms_norm_eps=1e-6,
                         max_position_embeddings=2048, tie_word_embeddings=True, use_sliding_window=False)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        Qwen2ForCausalLM(config).save_pretrained(folder)
        llm, flow, hift = build_models(folder)
        shutil.copy(pathlib.Path(folder) / "config.json", blank / "config.json")
    random = torch.Generator().manual_seed(11)
    weights = randomise(llm, flow, hift, random)
    noise = flow.decoder.rand_noise
    (checkpoint / "cosyvoice2.yaml").write_text(
        YAML.format(hidden=HIDDEN, chunk=CHUNK, codes=CODES, width=WIDTH, channels=CHANNELS))
    for stubbed in ("onnxruntime", "whisper", "inflect"):
        stub(stubbed)
    stub("whisper.tokenizer", Tokenizer=None)
    from cosyvoice.cli.frontend import CosyVoiceFrontEnd
    from cosyvoice.tokenizer.tokenizer import get_qwen_tokenizer
    frontend = CosyVoiceFrontEnd.__new__(CosyVoiceFrontEnd)
    frontend.tokenizer = get_qwen_tokenizer(str(blank), skip_special_tokens=True)
    frontend.device, frontend.allowed_special, frontend.text_frontend = torch.device("cpu"), "all", ""
    frontend.inflect_parser = types.SimpleNamespace(number_to_words=lambda digits: digits)
    frontend.spk2info = make_voices(random, frontend)
    torch.save(llm.state_dict(), checkpoint / "llm.pt")
    torch.save(flow.state_dict(), checkpoint / "flow.pt")
    torch.save({"generator." + k: v for k, v in hift.state_dict().items()}, checkpoint / "hift.pt")
    torch.save(frontend.spk2info, checkpoint / "spk2info.pt")
    hift.double()
    hift.stft_window = hift.stft_window.double()
    flow.decoder.rand_noise = noise

    steps = []
    decode = llm.llm_decoder.forward
    llm.llm_decoder.forward = lambda x: steps.append(decode(x)[0]) or decode(x)
    cases = []
    for case in CASES:
        golden, frame = {}, 0
        parts = frontend.text_normalize(case["text"])
        prompt, tokens, rows, samples, counts = [], [], [], [], []
        voice = frontend.spk2info[case["voice"]]
        for part in parts:
            if "instruct" in case:
                ids, _ = frontend._extract_text_token(case["instruct"] + "<|endofprompt|>")
                inputs = {**voice, "prompt_text": ids, "text": frontend._extract_text_token(part)[0]}
                del inputs["llm_prompt_speech_token"]
            elif "embedding" in voice:
                inputs = frontend.frontend_sft(part, case["voice"])
            else:
                inputs = frontend.frontend_zero_shot(part, "", None, 24000, case["voice"])
            empty = torch.zeros(1, 0, dtype=torch.int32)
            prompt.append(torch.cat([torch.tensor([[0]]), inputs.get("prompt_text", empty), inputs["text"],
                                     torch.tensor([[1]]), inputs.get("llm_prompt_speech_token", empty)], 1)[0])
            steps.clear()
            said, ended = generate(llm, inputs, case, steps)
            tokens += said
            counts.append(len(said))
            rows += [step.detach() for step in steps]
            if case.get("samples"):
                made, frames = speak(flow, hift, inputs, said, frame)
                samples.append(made)
                frame += frames
        golden["prompt_ids"] = torch.cat(prompt).to(torch.int32)
        golden["prompt_sizes"] = torch.tensor([len(p) for p in prompt], dtype=torch.int32)
        golden["tokens"] = torch.tensor(tokens, dtype=torch.int32)
        golden["counts"] = torch.tensor(counts, dtype=torch.int32)
        golden["logits"] = torch.stack(rows)
        if samples:
            golden["samples"] = torch.cat(samples)
        best = golden["logits"].topk(2, dim=-1).values
        margin = (best[:, 0] - best[:, 1]).min().item()
        save_file({k: v.contiguous() for k, v in golden.items()}, out / f"{case['name']}.safetensors")
        cases.append({**case, "parts": parts, "ended": ended, "margin": margin})
        print(case["name"], len(parts), "parts,", counts, "tokens, margin", margin, "ended", ended,
              "kinds", len(set(tokens)), "peak", golden["samples"].abs().max().item() if samples else "")
    (out / "cases.json").write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
    for name, made in weights.items():
        made.hollow(checkpoint / f"{name}.pt")


if __name__ == "__main__":
    main()
