#!/usr/bin/env python3
"""Writes small networks with which OpusLM reads recordings, and ESPnet's results with them.

    python3.11 -m venv VENV
    VENV/bin/pip install torch==2.9.1 transformers==4.57.3 scikit-learn==1.9.1 joblib==1.6.0 safetensors numpy einops \
        typeguard pyyaml tokenizers
    VENV/bin/pip download --no-deps --no-binary :all: espnet==202511 && tar xzf espnet-202511.tar.gz
    VENV/bin/python make_hearing.py --espnet espnet-202511 [--out DIR]

Run after make_golden.py: the codec and the language model are those of golden/checkpoint, to whose codec an encoder is added. These
parts of the release run: XEUS' parts (CNNFrontend, LinearProjection, EBranchformerEncoder, as espnet/xeus is configured:
convolutional positions, plain attention, macaron feed-forwards) put together by ESPnetSSLModel, whose encode() gives the rows of
every block, the last one normalised once more; SEANetEncoder and the residual quantizer. Units come from scikit-learn's KMeans,
stored by joblib, as in ESPnet's serving code. Both get as many frames as the shorter one. Olmo2Model writes transcripts greedily,
after prompts that are made here. Everything is float32 on the CPU, one thread. Two runs on one machine give the same bytes; the
smallest margins of units and codes are printed.
"""
import argparse
import json
import pathlib
import sys

import joblib
import numpy as np
import torch
from safetensors.torch import save_file
from sklearn.cluster import KMeans
from tokenizers import Tokenizer
from transformers import Olmo2Config, Olmo2Model

HERE = pathlib.Path(__file__).parent
CODEC = "espnet_codec_dac_large_v1.4_360epoch/360epoch.pth"
WIDTH, CHANNELS, FFN, GATED, BLOCKS = 64, 12, 24, 40, 2
UNITS, LENGTHS, FITTED = 40, [9333, 16000, 20111], [16000, 17000, 20111]


def signal(count, seed):
    """Returns golden_signal() of codec/qwen3_audio_fixture.h."""
    state, out = seed, np.empty(count, np.float32)
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        noise = (state >> 16) - 32768
        out[i] = np.float32((noise * ((i * 5) & 16383)) >> 14) / np.float32(32768)
    return torch.from_numpy(out)


def seeded(module, seed, scale):
    """Sets random weights that bf16 represents exactly."""
    gen = torch.Generator().manual_seed(seed)
    state = {}
    for name, t in sorted(module.state_dict().items()):
        value = scale(name, torch.randn(t.shape, generator=gen), t)
        state[name] = value.to(torch.bfloat16).contiguous()
    module.load_state_dict({k: v.float() for k, v in state.items()})
    return state


def xeus_scale(name, noise, t):
    if "norm" in name and name.endswith("weight"):
        return 1 + 0.2 * noise
    if name.endswith("original0"):
        return 6 + noise.abs()
    if name.endswith("bias"):
        return 0.2 * noise
    return 1.4 * noise / np.sqrt(max(1, t[0].numel()))


def codec_scale(name, noise, t):
    if name.endswith("alpha"):
        return 0.6 + 0.4 * noise.abs()
    if name.endswith("original0"):
        return (1.0 + 0.2 * noise) * (0.5 if "block" in name or "shortcut" in name else 1)
    if "bias" in name:
        return 0.1 * noise
    if "lstm.weight" in name:
        return 1.2 * noise / np.sqrt(t.shape[1])
    return noise / np.sqrt(max(1, t[0].numel()))


def build_xeus():
    from espnet2.asr.encoder.e_branchformer_encoder import EBranchformerEncoder
    from espnet2.asr.frontend.cnn import CNNFrontend
    from espnet2.asr.preencoder.linear import LinearProjection
    from espnet2.ssl.espnet_model import ESPnetSSLModel
    shapes = [(CHANNELS, k, s) for k, s in zip([10, 3, 3, 3, 3, 2, 2], [5, 2, 2, 2, 2, 2, 2])]
    frontend = CNNFrontend("layer_norm", "standard", True, shapes, normalize_audio=True)
    encoder = EBranchformerEncoder(
        WIDTH, output_size=WIDTH, attention_heads=8, attention_layer_type="selfattn", pos_enc_layer_type="conv",
        cgmlp_linear_units=GATED, cgmlp_conv_kernel=31, num_blocks=BLOCKS, input_layer=None, use_ffn=True,
        macaron_ffn=True, linear_units=FFN, merge_conv_kernel=31, use_flash_attn=False)
    model = ESPnetSSLModel(frontend=frontend, specaug=None, normalize=None,
                           preencoder=LinearProjection(CHANNELS, WIDTH), encoder=encoder, losses=[],
                           util_attributes=set(), required_inputs=set(), util_modules=torch.nn.ModuleDict(),
                           token_list=["<blank>"]).eval()
    parts = torch.nn.ModuleDict({k: getattr(model, k) for k in ["frontend", "preencoder", "encoder"]})
    return model, seeded(parts, 7, xeus_scale)


def encode(xeus, wav):
    with torch.no_grad():
        return [rows[0] for rows in xeus.encode(wav[None], torch.tensor([len(wav)]))["encoder_output"]]


def margin(distances):
    near = np.sort(distances, axis=1)
    return float(((near[:, 1] - near[:, 0]) / near[:, 1]).min())


class CodecEncoder(torch.nn.Module):
    """Contains the half of espnet2/gan_codec/dac/dac.py: DACGenerator.encode that has weights of its own."""

    def __init__(self, seanet):
        super().__init__()
        self.encoder = seanet.SEANetEncoder(
            channels=1, dimension=8, n_filters=2, n_residual_layers=3, ratios=[8, 5, 4, 2], activation="Snake",
            activation_params={}, norm="weight_norm", kernel_size=7, last_kernel_size=7, residual_kernel_size=7,
            dilation_base=2, causal=False, pad_mode="reflect", true_skip=False, compress=2, lstm=2)


def build_codec(golden, out):
    """Returns the codec of golden/checkpoint with an encoder."""
    from espnet2.gan_codec.shared.encoder import seanet
    from espnet2.gan_codec.shared.quantizer.residual_vq import ResidualVectorQuantizer
    file = torch.load(golden / "checkpoint" / CODEC, weights_only=True)
    codec = CodecEncoder(seanet).eval()
    state = seeded(codec, 9, codec_scale)
    last = f"encoder.model.{len(codec.encoder.model) - 1}.conv.conv."
    gain, bias = last + "parametrizations.weight.original0", last + "bias"
    with torch.no_grad():  # so that frames are among the entries
        latent = codec.encoder(signal(16000, 1)[None, None])[0]
    scale = 1.5 / latent.std(1)
    state[bias] = (scale * (state[bias].float() - latent.mean(1))).to(torch.bfloat16)
    state[gain] = (state[gain].float() * scale[:, None, None]).to(torch.bfloat16)
    codec.load_state_dict({k: v.float() for k, v in state.items()})
    prefix = "codec.generator."
    file = {k: v for k, v in file.items() if not k.startswith(prefix + "encoder.")}
    file |= {prefix + k: v for k, v in state.items()}
    path = out / CODEC
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(file, path)
    quantizer = ResidualVectorQuantizer(dimension=8, codebook_dim=8, n_q=8, bins=16, kmeans_init=True,
                                        quantizer_dropout=True).eval()
    own = {k[len(prefix) + len("quantizer."):]: v.float() for k, v in file.items() if k.startswith(prefix + "quantizer.")}
    quantizer.load_state_dict(quantizer.state_dict() | own)
    return codec.encoder, quantizer


def encode_codes(encoder, quantizer, wav):
    with torch.no_grad():
        latent = encoder(wav[None, None])
        codes = quantizer.vq.encode(latent, n_q=8)[:, 0].t()
        rest, least = latent[0].t().clone(), 1.0
        for q, layer in enumerate(quantizer.vq.layers):
            book = layer._codebook.embed
            least = min(least, margin(torch.cdist(rest, book).numpy()))
            rest -= book[codes[:, q]]
    print("codes of", len(wav), "samples: least margin", least, "of", len(codes), "frames,",
          len(torch.unique(codes[:, 0])), "different first codes")
    return codes


class Words:
    """Transcribes greedily, like ESPnet: only stream 0 is drawn, all others are pads."""

    def __init__(self, folder, config):
        self.config = c = config
        sizes = dict(vocab_size=8, hidden_size=c["hidden_size"], intermediate_size=c["intermediate_size"],
                     num_hidden_layers=c["num_hidden_layers"], num_attention_heads=c["num_attention_heads"],
                     num_key_value_heads=c["num_key_value_heads"], rms_norm_eps=c["rms_norm_eps"],
                     rope_theta=c["rope_theta"], max_position_embeddings=c["max_position_embeddings"])
        state = {k: v.float() for k, v in torch.load(folder / "model.pth", weights_only=True).items()}
        self.emb, self.head = state["corelm.emb.weight"], state["corelm.lm_head.weight"]
        self.bias = state["corelm.head_emb.weight"][0]
        self.model = Olmo2Model(Olmo2Config(**sizes)).eval()
        blocks = {k[len("corelm.decoders.model."):]: v for k, v in state.items() if k.startswith("corelm.decoders.model.")}
        self.model.load_state_dict(blocks, strict=False)

    def row(self, first):
        return [first] + [0] * (self.config["nq"] - 1)

    def prompt(self, frames):
        c, pads = self.config, [self.row(0)] * (self.config["nq"] - 1)
        offset = [c["ssl_token_start"]] + [c["codec_token_start"] + s * c["codec_per_stream_size"] for s in range(c["nq"] - 1)]
        own = (frames + torch.tensor(offset)).tolist()
        rows = [self.row(c["eos_token_id"]), self.row(c["codec_ssl_asr_task_token_id"]),
                self.row(c["codec_ssl_start_end_token_id"])] + own
        return torch.tensor(rows + [self.row(c["codec_ssl_start_end_token_id"])] + pads + [self.row(c["text_bpe_start_end_token_id"])])

    def write(self, frames, most):
        c, rows = self.config, self.prompt(frames)
        late = torch.zeros_like(rows)
        for s in range(c["nq"]):
            late[s:, s] = rows[:len(rows) - s, s]
        out, fed, least = [], self.emb[late].sum(1), 1e9
        with torch.no_grad():
            while len(out) < most and c["eos_token_id"] not in out:
                logits = self.head @ (self.model(inputs_embeds=fed[None]).last_hidden_state[0, -1] + self.bias)
                allowed = torch.full_like(logits, -torch.inf)
                allowed[c["text_token_start"]:] = logits[c["text_token_start"]:]
                kind = c["text_bpe_start_end_token_id"]  # ESPnet's mask allows it
                allowed[kind] = logits[kind]
                if out:  # at least one id, as in ESPnet's recipe
                    allowed[c["eos_token_id"]] = logits[c["eos_token_id"]]
                best = allowed.topk(2).values
                least = min(least, float(best[0] - best[1]))
                out.append(int(allowed.argmax()))
                fed = torch.cat([fed, self.emb[out[-1]][None]])
        print("transcript:", len(out), "ids,", len(set(out)), "different, least margin of logits", least)
        return late[:, 0].int(), torch.tensor(out).int()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--espnet", type=pathlib.Path, required=True, help="espnet, unpacked")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "golden")
    args = parser.parse_args()
    sys.path.insert(0, str(args.espnet))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = args.out / "hearing"
    (folder / "xeus" / "model").mkdir(parents=True, exist_ok=True)
    xeus, state = build_xeus()
    state["global_step"] = torch.tensor([5])
    state["losses.0.decoder.label_embeddings"] = torch.zeros(2)
    torch.save(state, folder / "xeus/model/xeus_checkpoint_new.pth")
    rows = torch.cat([encode(xeus, signal(n, n))[-1] for n in FITTED])
    kmeans = KMeans(UNITS, n_init=1, random_state=0).fit(rows.numpy())
    joblib.dump(kmeans, folder / "xeus/model/km_opus_lm.mdl")
    encoder, quantizer = build_codec(HERE / "golden", folder)
    config = json.loads((HERE / "golden/checkpoint/config.json").read_text())
    words = Words(HERE / "golden/checkpoint", config)
    out = {}
    for n in LENGTHS:
        layers = encode(xeus, signal(n, n))
        features = layers[-1]
        units = torch.from_numpy(kmeans.predict(features.numpy()).astype(np.int64))
        print("units of", n, "samples: least margin", margin(kmeans.transform(features.numpy())),
              len(torch.unique(units)), "different")
        codes = encode_codes(encoder, quantizer, signal(n, n))
        count = min(len(units), len(codes))
        out[f"frames_{n}"] = torch.cat([units[:count, None], codes[:count]], 1).int()
        out[f"codes_{n}"] = codes.int()
        if n == LENGTHS[1]:
            out["features"], out["first_block"] = features, layers[0]
    out["prompt_ids"], out["tokens"] = words.write(out[f"frames_{LENGTHS[2]}"].long(), 60)
    tokenizer = Tokenizer.from_file(str(HERE / "golden/checkpoint/tokenizer.json"))
    said = [int(t) - config["text_token_start"] for t in out["tokens"] if t >= config["text_token_start"]]
    (args.out / "hearing.json").write_text(json.dumps(dict(answer=tokenizer.decode(said, skip_special_tokens=True))) + "\n")
    save_file({k: v.contiguous().clone() for k, v in out.items()}, args.out / "hearing.safetensors")


if __name__ == "__main__":
    main()
