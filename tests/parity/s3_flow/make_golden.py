#!/usr/bin/env python3
"""Writes a small random S3 flow, and the mels of the authors' code with it in streaming mode.

    git clone https://github.com/FunAudioLLM/CosyVoice && git clone https://github.com/shivammehta25/Matcha-TTS
    git clone https://github.com/resemble-ai/chatterbox
    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 torchaudio==2.9.1 transformers==4.46.3 diffusers==0.29.2 einops conformer \
        omegaconf safetensors numpy scipy tqdm pillow
    VENV/bin/python make_golden.py --cosyvoice CosyVoice --matcha Matcha-TTS --chatterbox chatterbox

Only sizes differ from the published ones: the encoder's 512 channels are fixed in two of its layers, so those are
replaced by smaller ones. Float32 on the CPU. The Chatterbox copy of the network gets the same weights and the chunk
sizes that its own code leaves at 0, so that it, too, runs in the streaming mode.
"""
import argparse
import pathlib
import sys
import types

import torch
from safetensors.torch import save_file

VOCAB, WIDTH, CHANNELS, CHUNK = 40, 32, 16, 5
PROMPTS = [0, 7, 18]
LENGTHS = [1, 4, 5, 6, 8, 31]


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


def build_cosyvoice():
    from omegaconf import DictConfig
    from cosyvoice.flow.decoder import CausalConditionalDecoder
    from cosyvoice.flow.flow import CausalMaskedDiffWithXvec
    from cosyvoice.flow.flow_matching import CausalConditionalCFM
    from cosyvoice.transformer.upsample_encoder import PreLookaheadLayer, Upsample1D, UpsampleConformerEncoder
    encoder = UpsampleConformerEncoder(
        output_size=WIDTH, attention_heads=4, linear_units=48, num_blocks=2, dropout_rate=0.1,
        positional_dropout_rate=0.1, attention_dropout_rate=0.1, normalize_before=True, input_layer="linear",
        pos_enc_layer_type="rel_pos_espnet", selfattention_layer_type="rel_selfattn", input_size=WIDTH,
        use_cnn_module=False, macaron_style=False, static_chunk_size=CHUNK)
    encoder.pre_lookahead_layer = PreLookaheadLayer(in_channels=WIDTH, channels=WIDTH, pre_lookahead_len=3)
    encoder.up_layer = Upsample1D(WIDTH, WIDTH, 2)
    estimator = CausalConditionalDecoder(
        in_channels=320, out_channels=80, channels=[CHANNELS], dropout=0.0, attention_head_dim=8, n_blocks=2,
        num_mid_blocks=2, num_heads=2, act_fn="gelu", static_chunk_size=2 * CHUNK, num_decoding_left_chunks=-1)
    params = DictConfig({"sigma_min": 1e-06, "solver": "euler", "t_scheduler": "cosine", "training_cfg_rate": 0.2,
                         "inference_cfg_rate": 0.7, "reg_loss_type": "l1"})
    decoder = CausalConditionalCFM(in_channels=240, n_spks=1, spk_emb_dim=80, cfm_params=params, estimator=estimator)
    return CausalMaskedDiffWithXvec(
        input_size=WIDTH, output_size=80, spk_embed_dim=192, output_type="mel", vocab_size=VOCAB, input_frame_rate=25,
        only_mask_loss=True, token_mel_ratio=2, pre_lookahead_len=3, encoder=encoder, decoder=decoder).eval()


def build_chatterbox(root):
    stub("perth")
    for name in ("chatterbox", "chatterbox.models", "chatterbox.models.s3gen"):
        stub(name).__path__ = [f"{root}/src/" + name.replace(".", "/")]
    stub("chatterbox.models.utils", AttrDict=type("AttrDict", (dict,), {"__getattr__": dict.__getitem__}))
    from chatterbox.models.s3gen.decoder import ConditionalDecoder
    from chatterbox.models.s3gen.flow import CausalMaskedDiffWithXvec
    from chatterbox.models.s3gen.flow_matching import CausalConditionalCFM
    from chatterbox.models.s3gen.transformer.upsample_encoder import (
        PreLookaheadLayer, Upsample1D, UpsampleConformerEncoder)
    encoder = UpsampleConformerEncoder(
        output_size=WIDTH, attention_heads=4, linear_units=48, num_blocks=2, input_layer="linear",
        pos_enc_layer_type="rel_pos_espnet", selfattention_layer_type="rel_selfattn", input_size=WIDTH,
        use_cnn_module=False, macaron_style=False, static_chunk_size=CHUNK)
    encoder.pre_lookahead_layer = PreLookaheadLayer(channels=WIDTH, pre_lookahead_len=3)
    encoder.up_layer = Upsample1D(WIDTH, WIDTH, 2)
    estimator = ConditionalDecoder(in_channels=320, out_channels=80, causal=True, channels=[CHANNELS], dropout=0.0,
                                   attention_head_dim=8, n_blocks=2, num_mid_blocks=2, num_heads=2, act_fn="gelu")
    estimator.static_chunk_size = 2 * CHUNK
    decoder = CausalConditionalCFM(spk_emb_dim=80, estimator=estimator)
    return CausalMaskedDiffWithXvec(input_size=WIDTH, vocab_size=VOCAB, encoder=encoder, decoder=decoder).eval()


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--cosyvoice", required=True)
    parser.add_argument("--matcha", required=True)
    parser.add_argument("--chatterbox", required=True)
    parser.add_argument("--out", default=str(here / "golden"))
    args = parser.parse_args()
    sys.path[:0] = [args.cosyvoice, args.matcha]
    stub("cosyvoice.utils.onnx", SpeechTokenExtractor=None, online_feature=False, onnx_path="")
    stub("matcha.utils.pylogger", get_pylogger=lambda name: None)
    stub("matcha.utils").__path__ = []
    torch.set_num_threads(1)
    flow = build_cosyvoice()
    random = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, value in flow.named_parameters():
            norm = name.endswith("weight") and value.dim() == 1
            spread = 0.2 if value.dim() == 1 else 1.2 / value[0].numel() ** 0.5
            value.copy_(torch.randn(value.shape, generator=random) * spread + (1 if norm else 0))
    sys.path.insert(0, str(here.parent))
    import seeded
    weights = seeded.Weights("s3_flow")
    weights.over(flow)
    other = build_chatterbox(args.chatterbox)
    print(other.load_state_dict(flow.state_dict()))
    save_file({k: v.clone() for k, v in flow.state_dict().items()}, f"{args.out}/model.safetensors")

    longest = PROMPTS[-1] + LENGTHS[-1]
    golden = {
        "tokens": torch.randint(0, VOCAB, (LENGTHS[-1],), generator=random, dtype=torch.int32),
        "prompt_tokens": torch.randint(0, VOCAB, (PROMPTS[-1],), generator=random, dtype=torch.int32),
        "prompt_mel": torch.randn(2 * PROMPTS[-1], 80, generator=random) * 0.5 - 1,
        "speaker": torch.randn(192, generator=random) * 3,
        "noise": flow.decoder.rand_noise[0, :, :2 * longest].T.contiguous(),
    }
    for prompt in PROMPTS:
        for length in LENGTHS:
            common = dict(
                token=golden["tokens"][None, :length], token_len=torch.tensor([length], dtype=torch.int32),
                prompt_token=golden["prompt_tokens"][None, :prompt],
                prompt_token_len=torch.tensor([prompt], dtype=torch.int32),
                prompt_feat=golden["prompt_mel"][None, :2 * prompt],
                prompt_feat_len=torch.tensor([2 * prompt], dtype=torch.int32), embedding=golden["speaker"][None])
            mel, _ = flow.inference(streaming=True, finalize=True, **common)
            assert mel.shape == (1, 80, 2 * length)
            saved, torch.randn_like = torch.randn_like, lambda mu: flow.decoder.rand_noise[:, :, :mu.size(2)]
            same, _ = other.inference(finalize=True, **common)
            torch.randn_like = saved
            worst = (same - mel).abs().max().item()
            assert worst < 1e-4, f"the two originals differ by {worst}"
            golden[f"mel.{prompt}.{length}"] = mel[0].T.contiguous()
            print(prompt, length, "rms", mel.square().mean().sqrt().item(), "peak", mel.abs().max().item(), worst)
    save_file({k: v.detach().clone().contiguous() for k, v in golden.items()}, f"{args.out}/golden.safetensors")
    weights.hollow(f"{args.out}/model.safetensors")


if __name__ == "__main__":
    main()
