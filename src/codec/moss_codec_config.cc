#include "codec/moss_codec_config.h"

#include <bit>
#include <span>
#include <utility>

#include "nn/llama_config.h"

namespace syrinx {
namespace {

constexpr int64_t kMostWidth = 1 << 14, kMostWindow = 1 << 14;
constexpr int64_t kMostRate = KvPool::kPageRows;  // most rows per frame: they must divide a page

DecoderNames moss_names() {
  DecoderNames names;
  names.attention_norm = "norm1", names.mlp_norm = "norm2";
  names.qkv = "self_attn.in_projs.0", names.o = "self_attn.out_projs.0";
  names.fc1 = "linear1", names.fc2 = "linear2";
  names.attention_scale = "layer_scale_1.scale", names.mlp_scale = "layer_scale_2.scale";
  return names;
}

/// Returns the config of a transformer in this codec, without window and scales.
DecoderConfig moss_net(int64_t hidden, int64_t heads, int64_t layers, int64_t ffn) {
  DecoderConfig d;
  d.hidden = static_cast<int>(hidden);
  d.heads = d.kv_heads = static_cast<int>(heads);
  d.head_dim = d.hidden / d.heads;
  d.layers = static_cast<int>(layers);
  d.ffn = static_cast<int>(ffn);
  d.norm_eps = 1e-5f;
  d.rope.theta = 10000;
  d.rope.layout = RopeLayout::kInterleaved;
  d.norm = NormKind::kLayer;
  d.mlp = MlpKind::kGelu;
  d.final_norm = false;
  d.names = moss_names();
  return d;
}

/// Reads a transformer with `rows` rows a second, whose attention covers `seconds`.
DecoderConfig load_net(const Config& c, double rows, int64_t seconds) {
  c.only("norm", c.s("norm") == "layer_norm", "layer_norm");
  c.only("gating", c.s("gating") == "none", "none");
  c.only("positional_embedding", c.s("positional_embedding") == "rope", "rope");
  c.only("causal", c.opt_b("causal", false), "true");
  const int64_t hidden = c.i("d_model", 1, kMostWidth), heads = c.i("num_heads", 1, 512);
  head_size(c, "num_heads", hidden, heads);
  DecoderConfig d =
      moss_net(hidden, heads, c.i("num_layers", 1, 512), c.i("dim_feedforward", 1, 1 << 16));
  d.rope.theta = c.opt_f("max_period", d.rope.theta, 1);
  d.layer_scale = c.has("layer_scale") && c.f("layer_scale") > 0;
  const double window = rows * static_cast<double>(seconds);
  c.check("num_layers", window >= 1 && window <= kMostWindow,
          concat("attention would see ", window, " rows: expected 1 to ", kMostWindow));
  d.window = static_cast<int>(window);
  return d;
}

/// Reads the modules of one side, in their order: from samples to latents or, if `up`, back. In the
/// decoder (`up`), a patch follows its transformer.
std::vector<MossBlock> load_side(const Config& root, const char* key, bool up, int64_t rate,
                                 int64_t frame, int64_t seconds) {
  const std::vector<Config> modules = root.subs(key);
  std::vector<MossBlock> blocks;
  const size_t pairs = modules.size() / 2;
  root.check(key, modules.size() % 2 == 0 && pairs != 0, "expected pairs of modules");
  int64_t rows = up ? 1 : frame;  // rows per frame
  for (size_t i = 0; i < pairs; ++i) {
    const Config& net = modules[2 * i + (up ? 0 : 1)];
    const Config& patch = modules[2 * i + (up ? 1 : 0)];
    net.check("module_type", net.s("module_type") == "Transformer", "expected Transformer");
    patch.check("module_type", patch.s("module_type") == "PatchedPretransform",
                "expected PatchedPretransform");
    MossBlock block;
    block.number = static_cast<int64_t>(2 * i + (up ? 0 : 1));
    block.patch = patch.i("patch_size", 1, 1 << 14);
    block.in = net.i("input_dimension", 1, kMostWidth);
    block.out = net.i("output_dimension", 1, kMostWidth);
    patch.check("patch_size", up || rows % block.patch == 0, "must divide the rows per frame");
    block.rate = up ? rows : rows / block.patch;
    rows = up ? rows * block.patch : block.rate;
    patch.check("patch_size",
                std::has_single_bit(static_cast<uint64_t>(block.rate)) && block.rate <= kMostRate,
                concat("makes ", block.rate,
                       " rows per frame: expected a power of "
                       "two, at most ",
                       kMostRate));
    block.net = load_net(
        net,
        static_cast<double>(rate) / static_cast<double>(frame) * static_cast<double>(block.rate),
        seconds);
    blocks.push_back(block);
  }
  if (rows != (up ? frame : 1)) {
    root.fail(key, concat("the patches make ", rows, " rows per frame: expected ", up ? frame : 1));
  }
  return blocks;
}

/// Checks that the channels of one side lead from `first` to `last`.
void check_channels(const Config& root, const char* key, const std::vector<MossBlock>& blocks,
                    bool up, int64_t first, int64_t last) {
  int64_t channels = first;
  for (const MossBlock& block : blocks) {
    if (!up) channels *= block.patch;
    root.check(key, block.in == channels,
               concat("a transformer reads ", block.in, " channels, but gets ", channels));
    root.check(key, !up || block.out % block.patch == 0,
               concat("a patch of ", block.patch, " cannot divide ", block.out, " channels"));
    channels = up ? block.out / block.patch : block.out;
  }
  root.check(key, channels == last,
             concat("the last module makes ", channels, " channels: expected ", last));
}

/// Sizes of a block in the published codec.
struct PublishedBlock {
  int64_t in, out, hidden, heads, layers, patch;
};

std::vector<MossBlock> published_side(std::span<const PublishedBlock> rows, bool up) {
  constexpr int64_t kFrame = 1920, kWindow = 125;  // samples per frame; frames of the window
  std::vector<MossBlock> blocks;
  int64_t rate = up ? 1 : kFrame, number = up ? 0 : 1;
  for (const PublishedBlock& row : rows) {
    MossBlock block{number,    row.in,
                    row.out,   up ? rate : rate / row.patch,
                    row.patch, moss_net(row.hidden, row.heads, row.layers, 4 * row.hidden)};
    rate = up ? rate * row.patch : block.rate;
    number += 2;
    block.net.layer_scale = true;
    block.net.window = static_cast<int>(kWindow * block.rate);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

MossCodecConfig MossCodecConfig::published() {
  constexpr PublishedBlock kEncoder[] = {{240, 384, 768, 12, 12, 240},
                                         {768, 384, 768, 12, 12, 2},
                                         {768, 640, 768, 12, 12, 2},
                                         {1280, 768, 1280, 20, 32, 2}};
  constexpr PublishedBlock kDecoder[] = {{768, 1280, 1280, 20, 32, 2},
                                         {640, 768, 768, 12, 12, 2},
                                         {384, 768, 768, 12, 12, 2},
                                         {384, 240, 768, 12, 12, 240}};
  MossCodecConfig c;
  c.encoder = published_side(kEncoder, false);
  c.decoder = published_side(kDecoder, true);
  return c;
}

MossCodecConfig MossCodecConfig::load(const Config& root) {
  MossCodecConfig c;
  c.sample_rate = root.i("sampling_rate", 1000, 192000);
  const int64_t frame = root.i("downsample_rate", 1, c.sample_rate);
  const int64_t seconds = root.i("causal_transformer_context_duration", 1, 1 << 10);
  const Config quantizer = root.sub("quantizer_kwargs");
  const std::string type = quantizer.opt_s("quantizer_type", root.opt_s("quantizer_type", "rvq"));
  quantizer.check("quantizer_type", type == "rlfq" || type == "random_prefix_rlfq",
                  "only rlfq is supported, got " + type);
  c.codebooks = quantizer.i("num_quantizers", 1, 64);
  c.codebook_size = quantizer.i("codebook_size", 2, 1 << 16);
  c.codebook_dim = quantizer.i("codebook_dim", 1, 1 << 10);
  c.latent = quantizer.i("input_dim", 1, kMostWidth);
  c.rvq = quantizer.i("rvq_dim", 1, kMostWidth);
  const auto other = [&](const char* key, int64_t width, bool same) {
    quantizer.check(key, (quantizer.i(key, 1, kMostWidth) == width) == same,
                    concat("must ", same ? "be " : "not be ", width));
  };
  other("output_dim", c.latent, true);
  other("codebook_dim", c.rvq, false);
  c.encoder = load_side(root, "encoder_kwargs", false, c.sample_rate, frame, seconds);
  c.decoder = load_side(root, "decoder_kwargs", true, c.sample_rate, frame, seconds);
  check_channels(root, "encoder_kwargs", c.encoder, false, 1, c.latent);
  check_channels(root, "decoder_kwargs", c.decoder, true, c.latent, 1);
  return c;
}

}  // namespace syrinx
