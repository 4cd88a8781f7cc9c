#include "model/toy/latent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/toy/toy_math.h"
#include "text/segment_queue.h"

namespace syrinx {
namespace {

constexpr int kWide = 16, kPart = 8, kValues = 4, kThoughts = 12;

class LatentSequence : public Sequence {
 public:
  explicit LatentSequence(const SpeechRequest& request)
      : seed_(request.sampling.seed),
        text_(request.say.text),
        guidance_(request.sampling.guidance) {
    sampling_.temperature = request.sampling.temperature.value_or(1.f);
  }
  int prompt_rows() const override { return static_cast<int>(text_.size()); }
  int max_steps() const override { return kLatentThoughts + kLatentsAByte * prompt_rows(); }
  std::optional<float> guidance() const override { return guidance_; }
  float step_guidance(int) const override { return speaks() ? guidance_.value_or(1) : 1; }
  int companion_rows() const override { return prompt_rows() + 2; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override {
    if (!companion) keys.insert(keys.end(), text_.begin(), text_.end());
    if (companion) keys.resize(keys.size() + static_cast<size_t>(companion_rows()));
  }
  /// Appends keys of the steps without a latent, which are equal for a sequence and its companion.
  void step_keys(bool, std::vector<uint64_t>& keys) const override {
    for (int at = 0; at < std::min(step(), kLatentThoughts); ++at) keys.push_back(codes_[at]);
  }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    if (speaks()) out.row(out.values());
    codes_.push_back(codes[0]);
    latents_.insert(latents_.end(), out.values().begin(), out.values().end());
    if (step() < max_steps()) return {};
    return {Verdict::kFinished, FinishReason::kStop};
  }

  void input(int pos, bool companion, std::span<float> row) const {
    const int rows = companion ? companion_rows() : prompt_rows();
    const int at = pos - rows;
    for (int i = 0; i < kWide; ++i) {
      const int id = at >= 0 ? codes_[at] : companion ? 0 : static_cast<unsigned char>(text_[pos]);
      row[i] = std::sin(static_cast<float>(id * (i + 1) + pos));
      if (at >= kLatentThoughts) row[i] += latents_[at * kValues + i % kValues];
    }
  }
  uint64_t seed() const { return seed_; }
  int step() const { return static_cast<int>(codes_.size()); }
  bool broken() const { return speaks() && text_.find('^') != text_.npos; }

 private:
  bool speaks() const { return step() >= kLatentThoughts; }

  uint64_t seed_;
  std::string text_;
  std::optional<float> guidance_;
  SampleParams sampling_;
  std::vector<int32_t> codes_;
  std::vector<float> latents_;
};

class LatentStage : public ArStage {
 public:
  LatentStage() {
    traits_.hidden = kWide;
    traits_.vocab = {kThoughts};
    traits_.kv = {{1, kWide / kPart, kPart, DType::kF32}};
    traits_.max_positions = 2048;
    traits_.values = kValues;
  }
  const ArTraits& traits() const override { return traits_; }

  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override {
    const View x = ctx.arena.take({batch.rows, kWide}, DType::kF32);
    const View qkv = ctx.arena.take({batch.rows, 3 * kWide}, DType::kF32);
    const View mixed = ctx.arena.take({batch.rows, kWide}, DType::kF32);
    int row = 0;
    for (const ArSeq& seq : batch.seqs) {
      for (int i = 0; i < seq.rows; ++i, ++row) {
        const std::span<float> in(x.f32() + row * kWide, kWide);
        static_cast<const LatentSequence&>(*seq.state).input(seq.first_pos + i, seq.companion, in);
        toy_matvec(in.data(), w_qkv_, kWide, 3 * kWide, qkv.f32() + row * 3 * kWide);
      }
    }
    constexpr int kHeads = kWide / kPart;
    write_kv(ctx, {qkv, kWide, kHeads, kPart}, {qkv, 2 * kWide, kHeads, kPart}, batch.kv[0], 0,
             batch.ragged);
    paged_attention(ctx, {qkv, 0, kHeads, kPart}, batch.kv[0], 0, batch.ragged, {1.f}, mixed);
    float* out = hidden.f32();
    for (const int at : emitting_rows(ctx, batch)) {
      for (int i = 0; i < kWide; ++i) {
        *out++ = std::tanh(x.f32()[at * kWide + i] + mixed.f32()[at * kWide + i]);
      }
    }
  }

  void logits(StepContext&, int, const ArBatch& batch, View hidden, View, View out) const override {
    for (int e = 0; e < batch.emits; ++e) {
      toy_matvec(hidden.f32() + e * kWide, w_head_, kWide, kThoughts, out.f32() + e * kThoughts);
    }
  }

  void values(StepContext&, const ArBatch& batch, View hidden, View codes,
              View out) const override {
    int e = 0;
    for (const ArSeq& seq : batch.seqs) {
      if (seq.emits == 0) continue;
      const auto& state = static_cast<const LatentSequence&>(*seq.state);
      float noise[kValues];
      philox_normal(state.seed(), static_cast<uint32_t>(state.step()), 1, noise);
      float* to = out.f32() + e * kValues;
      toy_matvec(hidden.f32() + e * kWide, w_value_, kWide, kValues, to);
      for (int i = 0; i < kValues; ++i) to[i] += noise[i] + 0.01f * codes.i32()[e];
      if (seq.companion) {
        float* with = to - kValues;
        const float scale = state.step_guidance(0);
        for (int i = 0; i < kValues; ++i) with[i] = to[i] + scale * (with[i] - to[i]);
      } else if (state.broken()) {
        to[1] = std::numeric_limits<float>::infinity();
      }
      ++e;
    }
  }

 private:
  ArTraits traits_;
  std::vector<float> w_qkv_ = toy_noise(kWide * 3 * kWide, 40);
  std::vector<float> w_head_ = toy_noise(kWide * kThoughts, 41);
  std::vector<float> w_value_ = toy_noise(kWide * kValues, 42);
};

/// Mixes each frame with the earlier frames.
class LatentVoice : public ChunkStage {
 public:
  FrameType in() const override { return {Flow::kRows, kValues}; }
  FrameType out() const override { return {Flow::kSamples, kLatentSamples}; }
  std::unique_ptr<StreamState> open(Bundle) const override { return std::make_unique<Trail>(); }
  void run(StepContext&, std::span<ChunkJob> jobs) const override {
    for (ChunkJob& job : jobs) {
      float& trail = static_cast<Trail*>(job.state)->level;
      for (int i = 0; i < job.fresh * kLatentSamples; ++i) {
        trail = 0.9f * trail +
                0.1f * job.values[i / kLatentSamples * kValues + i % kLatentSamples % kValues];
        job.out[i] = trail;
      }
    }
  }

 private:
  struct Trail : StreamState {
    float level = 0;
  };
};

class LatentPipeline : public Pipeline {
 public:
  LatentPipeline() {
    info_.family = info_.model = "latent";
    info_.offers.add("guidance");
    info_.speech.sample_rate = 1000;
    info_.speech.frame_rate = 100;
    const FrameType text{Flow::kText}, rows{Flow::kRows, kValues};
    graph_ = {{{.name = "lm", .ar = &lm_, .in = {text}, .out = {rows}},
               {.name = "voice", .chunk = &voice_, .in = {}, .out = {}}},
              {{.from = {kClient}, .to = {0}},
               {.from = {0}, .to = {1}, .policy = {1, 3}},
               {.from = {1}, .to = {kClient}}}};
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    if (request.say.text.empty()) return nothing_to_say();
    return Opened(std::make_unique<LatentSequence>(request));
  }

 private:
  PipelineInfo info_;
  LatentStage lm_;
  LatentVoice voice_;
  Graph graph_;
};

}  // namespace

std::shared_ptr<const Pipeline> make_latent_pipeline() {
  return std::make_shared<LatentPipeline>();
}

}  // namespace syrinx
