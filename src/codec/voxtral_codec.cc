#include "codec/voxtral_codec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "nn/mistral_config.h"
#include "nn/weight_norm.h"

namespace syrinx {
namespace {

constexpr float kVoxtralNormEps = 1e-2f;  // default norm epsilon of the codec
constexpr float kLeastUsage = 1e-5f;      // least weight of an entry of the table
constexpr int64_t kMostVoxtralStages = 16, kMostVoxtralStride = 64;
constexpr const char* kRates = "decoder_convs_strides_str";

/// Reads numbers such as "2,2,2,1", each from 1 to `most`.
std::vector<int64_t> load_list(const Config& c, const char* key, const char* absent, int64_t most) {
  const std::string text = c.opt_s(key, absent);
  std::vector<int64_t> list;
  const char *at = text.data(), *end = at + text.size();
  for (bool more = true; more;) {
    int64_t number = 0;
    const auto [next, fault] = std::from_chars(at, end, number);
    c.check(key,
            fault == std::errc() && number >= 1 && number <= most &&
                (next == end || *next == ',') && std::ssize(list) != kMostVoxtralStages,
            concat("expected at most ", kMostVoxtralStages, " numbers of 1 to ", most,
                   " with commas between them, got \"", text, "\""));
    list.push_back(number);
    more = next != end;
    at = next + 1;
  }
  return list;
}

/// Returns the slope of each head. If their number is not a power of two, the rest of the heads get
/// every other slope of twice as many.
std::vector<float> slopes_of(int heads) {
  const auto slope = [](int i, int all) { return std::exp2(-8.f * i / static_cast<float>(all)); };
  int power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  for (int i = 0; i < power; ++i) slopes.push_back(slope(i, power));
  for (int i = 0; power + i < heads; ++i) slopes.push_back(slope(2 * i, 2 * power));
  return slopes;
}

/// Returns the window of the first stage, as the encoder leaves it. Each stride of the encoder
/// halves the window, and each stride of the decoder doubles it.
int64_t first_window(const Config& c, bool changes) {
  int64_t window = c.opt_i("attn_sliding_window_size", 16, 1, 1 << 12);
  for (const int64_t stride :
       load_list(c, "encoder_convs_strides_str", "2,2,2,1", kMostVoxtralStride)) {
    if (changes && stride > 1) window /= 2;
  }
  c.check("attn_sliding_window_size", window >= 1, "is too small for the encoder's strides");
  return window;
}

}  // namespace

int64_t VoxtralCodecConfig::rate() const {
  int64_t product = 1;
  for (const Stage& stage : stages) product *= stage.stride;
  return product;
}

VoxtralCodecConfig VoxtralCodecConfig::load(const Config& c) {
  VoxtralCodecConfig v;
  v.sample_rate = c.opt_i("sampling_rate", v.sample_rate, 8000, 192000);
  v.codebook_size = c.opt_i("semantic_codebook_size", v.codebook_size, 2, 1 << 20);
  v.codebook_dim = c.opt_i("semantic_dim", v.codebook_dim, 1, 1 << 14);
  v.levels = c.opt_i("acoustic_codebook_size", v.levels, 2, 1 << 16);
  v.codebooks = 1 + c.opt_i("acoustic_dim", v.acoustic(), 1, 62);
  v.patch = c.opt_i("pretransform_patch_size", v.patch, 1, 1 << 14);
  v.patch_taps = c.opt_i("patch_proj_kernel_size", v.patch_taps, 1, 64);
  c.only("channels", 1);
  c.only("causal", true);
  DecoderConfig net = load_mistral_sizes(c, kVoxtralNormEps);
  v.width = net.hidden;
  net.final_norm = false;
  c.only("qk_norm", true);
  net.qk_norm = net.qk_norm_wide = true;
  net.qk_norm_eps = c.opt_f<float>("qk_norm_eps", 1e-6, 1e-12, 1);
  net.layer_scale = c.opt_b("layer_scale", true);
  net.slopes = slopes_of(net.heads);

  const bool changes = c.opt_b("half_attn_window_upon_downsampling", true);
  int64_t window = first_window(c, changes);
  const char *lengths = "decoder_transformer_lengths_str", *taps = "decoder_convs_kernels_str";
  const auto layers = load_list(c, lengths, "2,2,2,2", 64),
             kernels = load_list(c, taps, "3,4,4,4", 64),
             strides = load_list(c, kRates, "1,2,2,2", kMostVoxtralStride);
  c.check(lengths, layers.size() == strides.size() && kernels.size() == strides.size(),
          concat("expected as many numbers as ", taps, " and ", kRates));
  int64_t rate = 1;
  for (size_t i = 0; i < layers.size(); ++i) {
    rate *= strides[i];
    // A stream moves its positions by whole pages of keys, which must be whole frames.
    c.check(kRates, KvPool::kPageRows % rate == 0,
            concat("makes ", rate, " rows per frame: expected a divisor of ", KvPool::kPageRows));
    c.check(taps, kernels[i] >= strides[i], concat("expected at least the strides of ", kRates));
    if (i > 0 && changes && strides[i] > 1) window *= 2;
    net.layers = static_cast<int>(layers[i]);
    net.window = static_cast<int>(window) + 1;  // the authors do not count the row itself
    v.stages.push_back({kernels[i], strides[i], net});
  }
  c.only(kRates, strides[0] == 1, "a first stride of 1");
  // The last convolution mirrors the first rows of a stream, which must be in its first frame.
  c.check(
      "patch_proj_kernel_size", v.rate() >= v.patch_taps,
      concat("only up to the ", v.rate(), " patches of a frame is supported, got ", v.patch_taps));
  c.check(kRates, v.hop() >= v.sample_rate / 200 && v.hop() <= v.sample_rate,
          concat("a frame of ", v.hop(), " samples: expected 5 ms to a second"));
  return v;
}

VoxtralCodec::VoxtralCodec(const VoxtralCodecConfig& config, const Weights& weights,
                           WeightType type)
    : config_(config) {
  const int64_t width = config.width;
  const WeightType conv = for_convolution(type);
  load_table(weights.scope("quantizer.semantic_codebook"));
  int64_t block = 0, rate = 1;
  const auto next = [&] { return weights.scope("decoder_blocks", block++); };
  for (size_t i = 0; i < config.stages.size(); ++i) {
    const VoxtralCodecConfig::Stage& stage = config.stages[i];
    rate *= stage.stride;
    if (i == 0) {
      first_ = {folded_weight(next().scope("conv"), {width, config.latent(), stage.taps}),
                {},
                {.pad = ConvPad::kReplicate, .type = conv}};
    } else {
      raises_.emplace_back();
      if (stage.taps > 1 || stage.stride > 1) {
        raises_.back() = {folded_weight(next().scope("conv"), {width, width, stage.taps}),
                          {},
                          stage.stride,
                          conv};
      }
    }
    nets_.emplace_back(stage.net, next(), type, static_cast<int>(kPassFrames * rate));
  }
  last_ = {
      folded_weight(weights.scope("output_proj.conv"), {config.patch, width, config.patch_taps}),
      {},
      {.pad = ConvPad::kReflect, .type = conv}};
}

/// Loads the entries, which are stored as sums over their uses.
void VoxtralCodec::load_table(const Weights& weights) {
  const int64_t width = config_.codebook_dim;
  table_ = weights.f32("embedding_sum", {config_.codebook_size, width});
  const Tensor usage = weights.f32("cluster_usage", {config_.codebook_size});
  for (int64_t i = 0; i < table_.shape().count(); ++i)
    table_.f32()[i] /= std::max(usage.f32()[i / width], kLeastUsage);
}

CodecState VoxtralCodec::open() const {
  CodecState state;
  state.convs.push_back(first_.open());
  for (const CausalConvTranspose1d& raise : raises_)
    if (raise.bytes() > 0) state.convs.push_back(raise.open());
  state.convs.push_back(last_.open());
  for (const StreamDecoder& net : nets_) state.kv.push_back(net.open());
  return state;
}

void VoxtralCodec::run(StepContext& ctx, std::span<const CodecJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  const int64_t q = config_.codebooks;
  for (const CodecJob& job : jobs) {
    for (int64_t k = 0; k < std::ssize(job.codes); ++k)
      check_codes(job.codes.subspan(k, 1), k % q == 0 ? config_.codebook_size : config_.levels);
  }
  const auto room = [&](CodecState& state) {
    int64_t left = kPassFrames, rate = 1;
    for (size_t i = 0; i < nets_.size(); ++i) {
      rate *= config_.stages[i].stride;
      left = std::min(left, nets_[i].room(ctx, state.kv[i]) / rate);
    }
    return left;
  };
  decode_frames(ctx, frame_jobs(ctx, jobs, q), config_.hop(), kPassFrames, room,
                [&](CodecPass& pass) {
                  View x = pass.run(ctx, first_, dequantise(ctx, jobs, pass));
                  for (size_t s = 0; s < nets_.size(); ++s) {
                    if (s > 0 && raises_[s - 1].bytes() > 0) x = pass.run(ctx, raises_[s - 1], x);
                    nets_[s].forward(ctx, x, pass.rows(ctx, s, pass.rate()));
                  }
                  return pass.run(ctx, last_, x);
                });
}

/// Returns the latents [T, latent] of a pass: the entry of the first code, and the other codes as
/// numbers in [-1, 1].
View VoxtralCodec::dequantise(StepContext& ctx, std::span<const CodecJob> jobs,
                              const CodecPass& pass) const {
  const int64_t q = config_.codebooks, width = config_.codebook_dim;
  const View latents = take_rows(ctx, pass.frames(), config_.latent());
  const Arena::Mark host_mark(ctx.host);
  const std::span<float> rows = take_array<float>(ctx, latents.count());
  const auto top = static_cast<float>(config_.levels - 1);
  for (const PassPart& part : pass.parts()) {
    const int32_t* code = jobs[part.job].codes.data() + part.from * q;
    float* to = rows.data() + part.begin * config_.latent();
    for (int64_t i = 0; i < part.frames; ++i) {
      to = std::copy_n(table_.f32() + *code++ * width, width, to);
      for (int64_t a = 0; a < config_.acoustic(); ++a)
        *to++ = static_cast<float>(*code++) * 2 / top - 1;
    }
  }
  store(ctx, rows, latents);
  return latents;
}

void VoxtralCodec::move_to(Device device) {
  syrinx::move_to(device, first_, nets_, last_);
  for (CausalConvTranspose1d& raise : raises_)
    if (raise.bytes() > 0) raise.move_to(device);
}

size_t VoxtralCodec::bytes() const { return weight_bytes(table_, first_, last_, raises_, nets_); }

}  // namespace syrinx
