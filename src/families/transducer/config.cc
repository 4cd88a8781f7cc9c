#include "families/transducer/config.h"

#include <algorithm>
#include <bit>
#include <set>

#include "families/loading/checkpoint.h"
#include "io/file.h"

namespace syrinx::transducer {
namespace {

constexpr const char* kStreaming = "nemotron_asr_streaming";

Activation activation_of(const Config& c, const char* absent) {
  const std::string name = c.opt_s("hidden_act", absent);
  if (name == "silu") return Activation::kSilu;
  if (name == "relu") return Activation::kRelu;
  c.fail("hidden_act", "silu and relu are supported, not " + name);
}

void load_encoder(const Config& c, ModelConfig& m) {
  const std::string type = c.opt_s("model_type", "");
  const char* want = m.streams ? "nemotron_asr_streaming_encoder" : "parakeet_encoder";
  c.check("model_type", type.empty() || type == want, concat("expected ", want, ", got ", type));
  FastConformerConfig& f = m.conformer;
  f.causal = m.streams;
  f.width = c.opt_i("hidden_size", 1024, 2, 1 << 14);
  f.heads = c.opt_i("num_attention_heads", 8, 1, 1024);
  c.check("num_attention_heads", f.width % f.heads == 0 && f.width % 2 == 0,
          concat(f.heads, " heads do not divide an even width, ", f.width));
  f.layers = c.opt_i<int>("num_hidden_layers", 24, 1, 512);
  f.ffn = c.opt_i("intermediate_size", 4096, 1, 1 << 17);
  f.taps = c.opt_i("conv_kernel_size", 9, 1, 511);
  c.check("conv_kernel_size", f.taps % 2 != 0, "must be odd");
  f.biased = c.opt_b("attention_bias", true);
  f.conv_biased = c.opt_b("convolution_bias", true);
  c.check("hidden_act", activation_of(c, "silu") == Activation::kSilu, "only silu is supported");
  m.scale_input = c.opt_b("scale_input", true);
  ConvSubsamplingConfig& s = m.subsampling;
  s.causal = m.streams;
  s.width = f.width;
  s.mels = c.opt_i("num_mel_bins", 80, 8, 512);
  s.channels = c.opt_i("subsampling_conv_channels", 256, 1, 1 << 13);
  const int64_t factor = c.opt_i("subsampling_factor", 8, 2, 64);
  c.check("subsampling_factor", std::has_single_bit(static_cast<uint64_t>(factor)),
          "must be a power of two");
  s.layers = std::countr_zero(static_cast<uint64_t>(factor));
  c.only("subsampling_conv_kernel_size", 3);
  c.only("subsampling_conv_stride", 2);
  f.left = m.streams ? c.opt_i("sliding_window", 71, 1, 1 << 14) - 1 : -1;
  m.default_lookahead = m.streams ? c.opt_i<int>("default_num_lookahead_tokens", 13, 0, 1024) : 0;
}

void load_features(const Config& c, ModelConfig& m) {
  c.only("sampling_rate", kSampleRate);
  c.only("feature_size", m.subsampling.mels);
  m.mel.n_fft = c.opt_i<int>("n_fft", 512, 16, 1 << 14);
  m.mel.window = c.opt_i<int>("win_length", 400, 16, m.mel.n_fft);
  m.mel.hop = c.opt_i<int>("hop_length", 160, 1, m.mel.window);
  m.preemphasis = c.opt_f<float>("preemphasis", 0.97, 0, 1);
  c.only("mel_filters_dtype", "float32");
}

/// Reads the processor's file: the spectrogram, and the lookaheads used in training.
void load_processor(const std::string& dir, ModelConfig& m) {
  const std::string all = join_path(dir, "processor_config.json");
  const std::string features = join_path(dir, "preprocessor_config.json");
  if (is_file(all)) {
    const Config c = Config::load(all);
    if (const auto inner = c.opt_sub("feature_extractor")) load_features(*inner, m);
    if (m.streams && c.has("supported_num_lookahead_tokens")) {
      std::set<int, std::greater<>> listed;
      for (const int64_t each : c.ints("supported_num_lookahead_tokens", 0, 1024)) {
        listed.insert(static_cast<int>(each));
      }
      c.check("supported_num_lookahead_tokens", !listed.empty(), "must not be empty");
      m.lookaheads.assign(listed.begin(), listed.end());
    }
    if (m.streams) {
      m.default_lookahead =
          c.opt_i<int>("default_num_lookahead_tokens", m.default_lookahead, 0, 1024);
      c.check("default_num_lookahead_tokens",
              std::ranges::find(m.lookaheads, m.default_lookahead) != m.lookaheads.end(),
              concat(m.default_lookahead, " is not in supported_num_lookahead_tokens"));
    }
  }
  if (is_file(features)) load_features(Config::load(features), m);
}

}  // namespace

int ModelConfig::live_lookahead() const {
  for (const int each : lookaheads) {
    if ((each + 1) * frame_s() <= kLiveDelay_s) return each;
  }
  return lookaheads.back();
}

bool claims(const Config& root) {
  const std::string type = model_type(root);
  return type == kStreaming || type == "parakeet_tdt" || type == "parakeet_rnnt";
}

ModelConfig load_model_config(const Config& root, const std::string& dir) {
  ModelConfig m;
  const std::string type = model_type(root);
  m.streams = type == kStreaming;
  m.mel = {.sample_rate = kSampleRate, .n_fft = 512, .window = 400, .hop = 160};
  m.mel.shape = MelWindow::kHannSymmetric;
  m.mel.framing = MelFraming::kZero;
  m.mel.floor = 0;
  m.mel.offset = 1.f / (1 << 24);
  load_encoder(root.sub("encoder_config"), m);
  m.mel.mels = static_cast<int>(m.subsampling.mels);
  m.lookaheads = {13, 6, 1, 0};
  if (!m.streams) m.lookaheads = {0};
  if (std::ranges::find(m.lookaheads, m.default_lookahead) == m.lookaheads.end()) {
    m.lookaheads = {m.default_lookahead};
  }
  load_processor(dir, m);
  m.conformer.chunk = m.lookaheads.front() + 1;
  const int64_t published = m.streams ? 1025 : 8193;
  m.vocab = root.opt_i("vocab_size", published, 2, 1 << 20);
  m.blank = root.opt_i<int32_t>("blank_token_id", m.vocab - 1, 0, m.vocab - 1);
  m.hidden = root.opt_i("decoder_hidden_size", 640, 1, 1 << 14);
  m.lstm_layers = root.opt_i("num_decoder_layers", 2, 1, 16);
  m.joint = activation_of(root, "relu");
  m.max_symbols = root.opt_i<int>("max_symbols_per_step", 10, 1, 1000);
  if (type == "parakeet_tdt") {
    m.durations = {0, 1, 2, 3, 4};
    if (root.has("durations")) {
      m.durations.clear();
      for (const int64_t each : root.ints("durations", 0, 1000)) {
        m.durations.push_back(static_cast<int>(each));
      }
    }
    root.check(
        "durations",
        !m.durations.empty() && m.durations.size() <= 64 && std::ranges::max(m.durations) != 0,
        "must be 1 to 64 numbers of frames, one of them above 0");
  }
  return m;
}

}  // namespace syrinx::transducer
