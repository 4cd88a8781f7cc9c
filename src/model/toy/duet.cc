#include "model/toy/duet.h"

#include <algorithm>
#include <cmath>

#include "model/toy/toy_math.h"
#include "text/segment_queue.h"

namespace syrinx {
namespace {

constexpr int kWidth = 16, kHeadSize = 8, kTap = 4;
constexpr int kLetters = 26, kTones = 32, kFramesAnId = 2, kHopSize = 10;

/// A sequence whose row at each position, kWidth numbers, is computed from its data.
class DuetSequence : public Sequence {
 public:
  virtual void input(int pos, std::span<float> row) const = 0;
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {}; }

 protected:
  SampleParams sampling_;
};

class ThinkerSequence : public DuetSequence {
 public:
  explicit ThinkerSequence(const SpeechRequest& request) : text_(request.say.text) {
    sampling_.temperature = request.sampling.temperature.value_or(1.f);
  }
  int prompt_rows() const override { return static_cast<int>(text_.size()); }
  int max_steps() const override { return prompt_rows() + 1; }
  bool tapped(int pos) const override { return pos < prompt_rows(); }
  void input(int pos, std::span<float> row) const override {
    const int id = pos < prompt_rows() ? static_cast<unsigned char>(text_[pos])
                                       : written_[pos - prompt_rows()];
    for (int i = 0; i < kWidth; ++i) row[i] = std::sin(static_cast<float>(id * (i + 1) + pos));
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    written_.push_back(codes[0]);
    const char letter = static_cast<char>('a' + codes[0]);
    out.text({&letter, 1});
    out.id(codes[0]);
    if (written_.size() < text_.size()) return {};
    return {Verdict::kFinished, FinishReason::kStop};
  }

 private:
  std::string text_;
  std::vector<int32_t> written_;
};

class TalkerSequence : public DuetSequence {
 public:
  explicit TalkerSequence(const SpeechRequest& request)
      : most_(request.terms.max_frames > 0 ? static_cast<size_t>(request.terms.max_frames)
                                           : 2 * request.say.text.size() + 2) {
    sampling_.temperature = request.sampling.temperature.value_or(1.f);
  }
  int prompt_rows() const override { return std::max(1, known_rows()); }
  int known_rows() const override { return static_cast<int>(heard_.size()) / kTap; }
  int max_steps() const override { return static_cast<int>(most_); }
  bool ready() const override {
    return known_rows() > 0 && (step() / kFramesAnId < std::ssize(ids_) || last_);
  }
  Status take(int port, const Frames& frames) override {
    if (port == 0) heard_.insert(heard_.end(), frames.floats.begin(), frames.floats.end());
    if (port == 1) {
      ids_.insert(ids_.end(), frames.ints.begin(), frames.ints.end());
      last_ = last_ || frames.last;
    }
    return ok_status();
  }
  void input(int pos, std::span<float> row) const override {
    if (pos < prompt_rows()) {
      for (int i = 0; i < kWidth; ++i) row[i] = heard_[pos * kTap + i % kTap];
      return;
    }
    const int step = pos - prompt_rows();
    for (int i = 0; i < kWidth; ++i) {
      row[i] = std::sin(static_cast<float>(tones_[step] * (i + 2) + id_of(step + 1)));
    }
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    if (id_of(step()) < 0) return {Verdict::kFinished, FinishReason::kStop};
    tones_.push_back(codes[0]);
    out.frame(codes);
    return {};
  }

 private:
  int step() const { return static_cast<int>(tones_.size()); }
  /// Returns the id of a step. -1 after the last byte.
  int id_of(int step) const {
    const int at = step / kFramesAnId;
    return at < std::ssize(ids_) ? ids_[at] : -1;
  }
  size_t most_;
  std::vector<float> heard_;
  std::vector<int32_t> ids_, tones_;
  bool last_ = false;
};

class DuetStage : public ArStage {
 public:
  DuetStage(int vocab, int tap, uint32_t stream) : stream_(stream) {
    traits_ = {kWidth, {vocab}, {{1, kWidth / kHeadSize, kHeadSize, DType::kF32}}, 4096, tap};
  }
  const ArTraits& traits() const override { return traits_; }

  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override {
    const View x = ctx.arena.take({batch.rows, kWidth}, DType::kF32);
    const View qkv = ctx.arena.take({batch.rows, 3 * kWidth}, DType::kF32);
    const View mixed = ctx.arena.take({batch.rows, kWidth}, DType::kF32);
    int row = 0;
    for (const ArSeq& seq : batch.seqs) {
      for (int i = 0; i < seq.rows; ++i, ++row) {
        const std::span<float> in(x.f32() + row * kWidth, kWidth);
        static_cast<const DuetSequence&>(*seq.state).input(seq.first_pos + i, in);
        toy_matvec(in.data(), w_qkv_, kWidth, 3 * kWidth, qkv.f32() + row * 3 * kWidth);
      }
    }
    constexpr int kHeads = kWidth / kHeadSize;
    write_kv(ctx, {qkv, kWidth, kHeads, kHeadSize}, {qkv, 2 * kWidth, kHeads, kHeadSize},
             batch.kv[0], 0, batch.ragged);
    paged_attention(ctx, {qkv, 0, kHeads, kHeadSize}, batch.kv[0], 0, batch.ragged, {1.f}, mixed);
    for (int r = 0; !batch.taps.empty() && r < batch.rows; ++r) {
      std::copy_n(mixed.f32() + r * kWidth, kTap, batch.taps.f32() + r * kTap);
    }
    int e = 0;
    for (size_t b = 0; b < batch.seqs.size(); ++b) {
      if (!batch.seqs[b].emits) continue;
      const int last = batch.ragged.row_begin[b + 1] - 1;
      float* out = hidden.f32() + kWidth * e++;
      for (int i = 0; i < kWidth; ++i) {
        out[i] = std::tanh(x.f32()[last * kWidth + i] + mixed.f32()[last * kWidth + i]);
      }
    }
  }

  void logits(StepContext&, int, const ArBatch& batch, View hidden, View, View out) const override {
    const int vocab = traits_.vocab[0];
    for (int e = 0; e < batch.emits; ++e) {
      toy_matvec(hidden.f32() + e * kWidth, w_head_, kWidth, vocab, out.f32() + e * vocab);
    }
  }

 private:
  uint32_t stream_;
  ArTraits traits_;
  std::vector<float> w_qkv_ = toy_noise(kWidth * 3 * kWidth, 20 + stream_);
  std::vector<float> w_head_ = toy_noise(kWidth * kTones, 30 + stream_);
};

/// Makes a tone from each code.
class DuetVoice : public ChunkStage {
 public:
  FrameType in() const override { return {Flow::kCodes, 1}; }
  FrameType out() const override { return {Flow::kSamples, kHopSize}; }
  std::unique_ptr<StreamState> open(Bundle) const override {
    return std::make_unique<StreamState>();
  }
  void run(StepContext&, std::span<ChunkJob> jobs) const override {
    for (ChunkJob& job : jobs) {
      for (int i = 0; i < job.fresh * kHopSize; ++i) {
        job.out[i] = 0.01f * static_cast<float>(job.codes[i / kHopSize] * (i % kHopSize));
      }
    }
  }
};

class DuetPipeline : public Pipeline {
 public:
  DuetPipeline() {
    info_.family = info_.model = "duet";
    info_.offers.add("guidance");
    info_.speech.sample_rate = 1000;
    info_.speech.frame_rate = 100;
    info_.writes = true;
    const FrameType text{Flow::kText}, ids{Flow::kIds}, rows{Flow::kRows, kTap},
        codes{Flow::kCodes, 1};
    graph_ = {{{.name = "thinker", .ar = &thinker_, .in = {text}, .out = {text, rows, ids}},
               {.name = "talker", .ar = &talker_, .in = {rows, ids}, .out = {codes}},
               {.name = "voice", .chunk = &voice_, .in = {}, .out = {}}},
              {{.from = {kClient}, .to = {0}},
               {.from = {0, 0}, .to = {kClient}},
               {.from = {0, 1}, .to = {1, 0}},
               {.from = {0, 2}, .to = {1, 1}},
               {.from = {1}, .to = {2}, .policy = {1, 3}},
               {.from = {2}, .to = {kClient}}}};
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    if (request.say.text.empty()) return nothing_to_say();
    Opened opened;
    opened.sequences.push_back(std::make_unique<ThinkerSequence>(request));
    opened.sequences.push_back(
        request.writing.text_only ? nullptr : std::make_unique<TalkerSequence>(request));
    return opened;
  }

 private:
  PipelineInfo info_;
  DuetStage thinker_{kLetters, kTap, 0}, talker_{kTones, 0, 1};
  DuetVoice voice_;
  Graph graph_;
};

// ---------------------------------------------------------------------------- the recogniser

/// Mixes each frame with the earlier frames.
class EarStage : public ChunkStage {
 public:
  FrameType in() const override { return {Flow::kSamples, kHearerFrame}; }
  FrameType out() const override { return {Flow::kRows, kTap}; }
  int most_out() const override { return kHearerRows; }
  std::unique_ptr<StreamState> open(Bundle) const override { return std::make_unique<Trail>(); }
  void run(StepContext&, std::span<ChunkJob> jobs) const override {
    for (ChunkJob& job : jobs) {
      float& trail = static_cast<Trail*>(job.state)->level;
      for (int i = 0; i < job.fresh * kHearerRows * kTap; ++i) {
        trail = 0.9f * trail +
                0.1f * job.values[i / (kHearerRows * kTap) * kHearerFrame + i % kHearerFrame];
        job.out[i] = trail;
      }
    }
  }

 private:
  struct Trail : StreamState {
    float level = 0;
  };
};

class HearerSequence : public DuetSequence {
 public:
  int prompt_rows() const override { return 1; }
  int max_steps() const override { return kMostSteps; }
  bool ready() const override { return unused_frames() >= kHearerRowsAStep || closed_; }
  int64_t unused_frames() const override { return std::max(0, have() - used()); }
  Status take(int, const Frames& frames) override {
    rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
    closed_ = closed_ || frames.last;
    return ok_status();
  }
  void input(int pos, std::span<float> row) const override {
    const int code = pos > 0 ? written_[pos - 1] : -1;
    for (int i = 0; i < kWidth; ++i) row[i] = std::sin(static_cast<float>(code * (i + 1) + pos));
    const int end = std::min(have(), (pos + 1) * kHearerRowsAStep);
    for (int r = pos * kHearerRowsAStep; r < end; ++r)
      for (int i = 0; i < kWidth; ++i) row[i] += rows_[r * kTap + i % kTap];
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    const bool end = closed_ && used() + kHearerRowsAStep >= have();
    if (used() < have()) {  // otherwise this step has no rows left
      const char letter = static_cast<char>('a' + codes[0]);
      out.text({&letter, 1});
    }
    written_.push_back(codes[0]);
    if (!end) return {};
    return {Verdict::kFinished, FinishReason::kStop};
  }

  static constexpr int kMostSteps = 100;

 private:
  int have() const { return static_cast<int>(rows_.size()) / kTap; }
  int used() const { return static_cast<int>(written_.size()) * kHearerRowsAStep; }

  std::vector<float> rows_;
  std::vector<int32_t> written_;
  bool closed_ = false;
};

class HearerPipeline : public Pipeline {
 public:
  HearerPipeline() {
    info_.family = info_.model = "hearer";
    info_.speech.sample_rate = 1000;
    info_.speech.frame_rate = 100;
    info_.writes = true;
    const FrameType text{Flow::kText}, rows{Flow::kRows, kTap};
    graph_ = {{{.name = "ear", .chunk = &ear_, .in = {}, .out = {}},
               {.name = "writer", .ar = &writer_, .in = {rows}, .out = {text}}},
              {{.from = {kClient}, .to = {0}, .policy = {1, 1}},
               {.from = {0}, .to = {1}},
               {.from = {1}, .to = {kClient}}}};
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    Opened opened(std::make_unique<HearerSequence>());
    opened.samples = hearer_samples(request.say.text);
    opened.samples_open = request.say.open;
    return opened;
  }

 private:
  PipelineInfo info_;
  EarStage ear_;
  DuetStage writer_{kLetters, 0, 2};
  Graph graph_;
};

}  // namespace

std::shared_ptr<const Pipeline> make_duet_pipeline() { return std::make_shared<DuetPipeline>(); }

std::shared_ptr<const Pipeline> make_hearer_pipeline() {
  return std::make_shared<HearerPipeline>();
}

std::vector<float> hearer_samples(std::string_view text) {
  std::vector<float> samples;
  for (const char byte : text)
    for (int i = 0; i < kHearerFrame; ++i)
      samples.push_back(std::sin(static_cast<float>(byte * (i + 1))));
  return samples;
}

}  // namespace syrinx
