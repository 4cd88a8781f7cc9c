#include "model/toy/toy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "model/toy/toy_math.h"
#include "text/segment_queue.h"

namespace syrinx {
namespace {

constexpr int kHidden = 16, kHeads = 2, kHeadDim = 8;
constexpr int kVocab[2] = {64, 32};
constexpr int kFeatures = 4, kHop = 20;

/// The bytes that make calls fail (toy.h).
enum Break : char { kReady = 1, kAdvance, kKeys, kCut, kRun, kRefuse, kAppend };

constexpr std::string_view kSilent = "\u266a\u4f60";  // bytes that alone are nothing to speak

bool is_silent(std::string_view text) { return text.find_first_not_of(kSilent) == text.npos; }

[[noreturn]] void stumble(const char* where) {
  throw std::runtime_error(concat("the toy model stumbled in ", where));
}

class ToyState : public Sequence {
 public:
  ToyState(const SpeechRequest& request, const ToyOptions& options)
      : options_(options), open_(request.say.open) {
    for (SampleParams& params : sampling_) {
      params.temperature = request.sampling.temperature.value_or(1.f);
      params.top_k = request.sampling.top_k.value_or(0);
      params.repetition_penalty = request.sampling.repetition_penalty.value_or(1.f);
    }
    sampling_[1].temperature *= 0.5f;  // each code has a temperature of its own
    max_steps_ = request.terms.max_frames > 0 ? request.terms.max_frames : 1000;
    text_ = request.say.text;
    instructions_ = request.say.instructions;
    guidance_ = request.sampling.guidance;
    add_voice(request.voice.data.get(), 1);
    float total = 0;
    for (const VoiceShare& share : request.voice.mix) total += share.weight;
    for (const VoiceShare& share : request.voice.mix)
      add_voice(share.data.get(), share.weight / total);
    codes_.reserve(2 * max_steps_);
    for (auto& history : history_) history.reserve(max_steps_);
  }

  int prompt_rows() const override { return own_rows(false) + gone_on_; }
  int companion_rows() const override { return own_rows(true) + gone_on_; }
  std::optional<float> guidance() const override { return guidance_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override {
    if (begin_ < text_.size() && text_[begin_] == kKeys) stumble("prefix_keys()");
    for (const char byte : instructions_) {
      keys.push_back(static_cast<unsigned char>(seen(byte, companion)));
    }
  }
  int max_steps() const override { return std::max(1, max_steps_ - gone_on_); }
  bool ready() const override {
    const size_t at = begin_ + step();
    if (at < text_.size() && text_[at] == kReady) stumble("ready()");
    if (open_ && is_silent(text_)) return false;
    // The byte after this step must have arrived: advance() needs it to see whether the text ends.
    return !open_ || begin_ + (step() + 1) / options_.steps_per_byte < text_.size();
  }
  const SampleParams& sampling(int k) const override { return sampling_[k]; }
  SampleRule rule(int) const override { return {}; }
  std::span<const int32_t> history(int k) const override { return history_[k]; }

  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    if (begin_ + step() < text_.size() && text_[begin_ + step()] == kAdvance) stumble("advance()");
    out.frame(codes);
    for (int k = 0; k < 2; ++k) history_[k].push_back(codes[k]);
    codes_.insert(codes_.end(), codes.begin(), codes.end());
    if (step() % options_.steps_per_byte != 0) return {};
    const size_t at = begin_ + step() / options_.steps_per_byte;
    if (at < text_.size() && (text_[at] == '|' || text_[at] == '@')) {
      Verdict verdict{Verdict::kNextSegment};
      verdict.new_streams = text_[at] == '@';
      begin_ = at + 1;
      gone_on_ = 0;
      codes_.clear();
      return verdict;
    }
    if (at < text_.size() && text_[at] == '&') {
      gone_on_ = static_cast<int>(step());
      const int some = static_cast<int>(text_.size() % 4);  // fewer keys than rows must work, too
      return {Verdict::kNextSegment, FinishReason::kStop, prompt_rows() - 1 - some};
    }
    if (at >= text_.size() && !open_) return {Verdict::kFinished, FinishReason::kStop};
    return {};
  }

  Status append_text(std::string_view text, bool last) override {
    if (text.find(kRefuse) != std::string_view::npos) {
      return Error{ErrorCode::kInvalid, "the toy model does not like this text", "text"};
    }
    if (text.find(kAppend) != std::string_view::npos) stumble("append_text()");
    text_ += text;
    open_ = open_ && !last;
    return last && is_silent(text_) ? nothing_to_say() : ok_status();
  }

  size_t step() const { return codes_.size() / 2; }
  const std::string& text() const { return text_; }
  std::span<const float> voice() const { return voice_; }
  char byte_at(int pos, bool companion) const {
    if (pos < static_cast<int>(instructions_.size())) return seen(instructions_[pos], companion);
    if (companion) return 0;
    const size_t at = begin_ + std::max(0, pos - own_rows(false) + 1) / options_.steps_per_byte;
    return at < text_.size() ? text_[at] : 0;
  }
  /// Returns the codes of the input row at `pos`. Null for a row of the prompt.
  const int32_t* codes_at(int pos, bool companion) const {
    const int prompt = own_rows(companion);
    return pos < prompt ? nullptr : &codes_[2 * (pos - prompt)];
  }

 private:
  /// Returns the number of rows before the row of the first step.
  int own_rows(bool companion) const {
    return static_cast<int>(instructions_.size()) + (companion ? 2 : 3);
  }
  /// Returns the byte of the instructions that the sequence or its companion sees.
  static char seen(char byte, bool companion) { return companion && byte == '#' ? '.' : byte; }
  void add_voice(const Voice* voice, float weight) {
    const Tensor* speaker = voice ? voice->find("speaker") : nullptr;
    for (int i = 0; speaker && i < 4; ++i) voice_[i] += weight * speaker->f32()[i];
  }

  ToyOptions options_;
  float voice_[4] = {};
  std::string text_, instructions_;
  std::optional<float> guidance_;
  bool open_;
  size_t begin_ = 0;  // first byte of the segment
  int gone_on_ = 0;   // number of earlier steps that the segment's prompt contains
  int max_steps_;
  SampleParams sampling_[2];
  std::vector<int32_t> codes_, history_[2];
};

class ToyAr : public ArStage {
 public:
  explicit ToyAr(int max_positions) {
    traits_ = {
        kHidden, {kVocab[0], kVocab[1]}, {{1, kHeads, kHeadDim, DType::kF32}}, max_positions};
  }
  const ArTraits& traits() const override { return traits_; }

  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override {
    const View x = ctx.arena.take({batch.rows, kHidden}, DType::kF32);
    const View qkv = ctx.arena.take({batch.rows, 3 * kHidden}, DType::kF32);
    const View mixed = ctx.arena.take({batch.rows, kHidden}, DType::kF32);
    int row = 0;
    for (const ArSeq& seq : batch.seqs) {
      for (int i = 0; i < seq.rows; ++i, ++row) {
        input(static_cast<const ToyState&>(*seq.state), seq.first_pos + i, seq.companion,
              x.f32() + row * kHidden);
        toy_matvec(x.f32() + row * kHidden, w_qkv_, kHidden, 3 * kHidden,
                   qkv.f32() + row * 3 * kHidden);
      }
    }
    write_kv(ctx, {qkv, kHidden, kHeads, kHeadDim}, {qkv, 2 * kHidden, kHeads, kHeadDim},
             batch.kv[0], 0, batch.ragged);
    paged_attention(ctx, {qkv, 0, kHeads, kHeadDim}, batch.kv[0], 0, batch.ragged, {1.f}, mixed);
    int e = 0;
    for (size_t b = 0; b < batch.seqs.size(); ++b) {
      if (!batch.seqs[b].emits) continue;
      const int last = batch.ragged.row_begin[b + 1] - 1;
      float* out = hidden.f32() + kHidden * e++;
      for (int i = 0; i < kHidden; ++i) {
        out[i] = std::tanh(x.f32()[last * kHidden + i] + mixed.f32()[last * kHidden + i]);
      }
    }
  }

  void logits(StepContext&, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override {
    int e = 0;
    for (const ArSeq& seq : batch.seqs) {
      if (!seq.emits) continue;
      float* row = out.f32() + int64_t{e} * kVocab[k];
      float h[kHidden];
      for (int i = 0; i < kHidden; ++i) {
        h[i] = hidden.f32()[e * kHidden + i];
        if (k == 1) h[i] += embed_[codes.i32()[2 * e] * kHidden + i];
      }
      toy_matvec(h, w_head_[k], kHidden, kVocab[k], row);
      const char byte = static_cast<const ToyState&>(*seq.state)
                            .byte_at(seq.first_pos + seq.rows - 1, seq.companion);
      // '`' affects only the logits of the second code.
      if (byte == '~' || (byte == '`' && k == 1)) row[3] = std::numeric_limits<float>::quiet_NaN();
      ++e;
    }
  }

 private:
  void input(const ToyState& state, int pos, bool companion, float* x) const {
    const char byte = state.byte_at(pos, companion);
    if (byte == '^') throw std::runtime_error("the toy model stumbled over '^'");
    const float* text = &embed_[(64 + static_cast<unsigned char>(byte)) * kHidden];
    for (int i = 0; i < kHidden; ++i) {
      x[i] = text[i] + 0.01f * static_cast<float>(pos % 7) + 4 * state.voice()[i % 4];
    }
    const int32_t* codes = state.codes_at(pos, companion);
    for (int k = 0; codes && k < 2; ++k) {
      const float* code = &embed_[codes[k] * kHidden];
      for (int i = 0; i < kHidden; ++i) x[i] += code[i];
    }
  }

  ArTraits traits_;
  std::vector<float> embed_ = toy_noise((64 + 256) * kHidden, 1);
  std::vector<float> w_qkv_ = toy_noise(kHidden * 3 * kHidden, 2);
  std::vector<float> w_head_[2] = {toy_noise(kHidden * kVocab[0], 3),
                                   toy_noise(kHidden* kVocab[1], 4)};
};

/// Converts codes to features; frame t uses codes t-2 .. t+1.
class ToyFeatures : public ChunkStage {
 public:
  FrameType in() const override { return {Flow::kCodes, 2}; }
  FrameType out() const override { return {Flow::kRows, kFeatures}; }
  Bundle bundle(const Sequence& sequence) const override {
    const std::string& text = static_cast<const ToyState&>(sequence).text();
    Bundle bundle;
    bundle.set("breaks cut", uint64_t{text.find(kCut)});
    bundle.set("breaks run", uint64_t{text.find(kRun)});
    return bundle;
  }
  std::unique_ptr<StreamState> open(Bundle bundle) const override {
    auto stream = std::make_unique<Stream>();
    stream->breaks_cut = bundle.number("breaks cut");
    stream->breaks_run = bundle.number("breaks run");
    return stream;
  }
  void follow(StreamState& state, const ChunkJob& job) const override {
    static_cast<Stream&>(state).taken += job.fresh;
  }
  int cut(const StreamState& state, const WaitingFrames& waiting, int planned) const override {
    const auto& stream = static_cast<const Stream&>(state);
    if (stream.taken + waiting.codes.size() / 2 > stream.breaks_cut) stumble("cut()");
    return planned;
  }
  void run(StepContext&, std::span<ChunkJob> jobs) const override {
    for (ChunkJob& job : jobs) {
      auto& stream = *static_cast<Stream*>(job.state);
      stream.taken += job.fresh;
      if (stream.taken > stream.breaks_run) stumble("run()");
      for (const int32_t code : job.codes) {  // codes from another process may be invalid
        SYRINX_CHECK(code >= 0 && code < kVocab[0], "[toy] code ", code);
      }
      const int frames = job.left + job.fresh + job.ahead;
      for (int t = 0; t < job.fresh; ++t) {
        for (int f = 0; f < kFeatures; ++f) {
          float sum = 0;
          for (int d = -2; d <= 1; ++d) {
            const int at = job.left + t + d;
            if (at < 0 || at >= frames) continue;
            sum += static_cast<float>(d + 3) * embed_[job.codes[2 * at] * kFeatures + f] +
                   embed_[job.codes[2 * at + 1] * kFeatures + f];
          }
          job.out[t * kFeatures + f] = sum;
        }
      }
    }
  }

 private:
  struct Stream : StreamState {
    size_t taken = 0;  ///< frames that chunks have taken
    size_t breaks_cut = std::string::npos, breaks_run = std::string::npos;
  };
  std::vector<float> embed_ = toy_noise(64 * kFeatures, 5);
};

/// Converts features to samples with a filter that has memory.
class ToyVocoder : public ChunkStage {
 public:
  FrameType in() const override { return {Flow::kRows, kFeatures}; }
  FrameType out() const override { return {Flow::kSamples, kHop}; }
  std::unique_ptr<StreamState> open(Bundle) const override { return std::make_unique<Memory>(); }
  void run(StepContext&, std::span<ChunkJob> jobs) const override {
    for (ChunkJob& job : jobs) {
      float& memory = static_cast<Memory*>(job.state)->last;
      for (int i = 0; i < job.fresh * kHop; ++i) {
        memory = 0.9f * memory + 0.01f * job.values[i / kHop * kFeatures + i % kFeatures];
        job.out[i] = memory;
      }
    }
  }

 private:
  struct Memory : StreamState {
    float last = 0;
  };
};

/// Computes the loudness of each quarter of a recording, a tenth of a second at a time.
class ToyEncoding : public VoiceEncoding {
 public:
  explicit ToyEncoding(const Recording& recording) : recording_(recording) {}
  bool done() const override { return at_ == recording_.samples.size(); }
  void step() {
    const std::vector<float>& samples = recording_.samples;
    const size_t end = std::min(samples.size(), at_ + recording_.sample_rate / 10 + 1);
    for (; at_ < end; ++at_) loud_[4 * at_ / samples.size()] += std::fabs(samples[at_]);
  }
  Voice take() override {
    Voice voice{.family = "toy",
                .encoder = "toy-1",
                .mode = recording_.mode,
                .text = recording_.text,
                .seconds = recording_.seconds()};
    Tensor speaker(Shape{4}, DType::kF32);
    for (int i = 0; i < 4; ++i) {
      speaker.f32()[i] = loud_[i] / static_cast<float>(recording_.samples.size());
    }
    voice.tensors.emplace("speaker", std::move(speaker));
    return voice;
  }

 private:
  const Recording recording_;
  size_t at_ = 0;
  float loud_[4] = {};
};

class ToyEncoder : public VoiceEncoder {
 public:
  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override {
    return std::make_unique<ToyEncoding>(recording);
  }
  void run(StepContext&, std::span<VoiceEncoding* const> batch) const override {
    for (VoiceEncoding* encoding : batch) static_cast<ToyEncoding*>(encoding)->step();
  }

 private:
  const VoiceEncoderInfo info_{.family = "toy",
                               .version = "toy-1",
                               .modes = {{"in-context", true}, {"x-vector", false}},
                               .min_s = 0.5,
                               .max_s = 10};
};

class ToyPipeline : public Pipeline {
 public:
  explicit ToyPipeline(ToyOptions options) : options_(options), ar_(options.max_positions) {
    info_.family = info_.model = "toy";
    info_.speech.sample_rate = 1000;
    info_.speech.frame_rate = 50;
    info_.speech.voices = {{"toy", "the only voice"}};
    info_.speech.default_voice = "toy";
    info_.speech.late_text = LateText::kToken;
    info_.offers.add({{"instructions"}, {"guidance"}});
    info_.speech.mixes = options.clones;
    const Link links[] = {{"features", &features_, {2, 3, 2, 1}},
                          {"vocoder", &vocoder_, {1, 4, 0, 0}}};
    graph_ = chain(ar_, links);
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    if (is_silent(request.say.text) && !request.say.open) return nothing_to_say();
    return Opened(std::make_unique<ToyState>(request, options_));
  }
  const VoiceEncoder* voice_encoder() const override {
    return options_.clones ? &encoder_ : nullptr;
  }
  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override {
    if (!options_.clones) return Pipeline::voice_of_embedding(embedding);
    if (embedding.size() != 4) {
      return Error{ErrorCode::kInvalid,
                   concat("a speaker's embedding has 4 values here, not ", embedding.size()),
                   "speaker_embedding"};
    }
    Voice voice{.family = "toy", .encoder = "given", .mode = "x-vector"};
    Tensor speaker(Shape{4}, DType::kF32);
    std::copy(embedding.begin(), embedding.end(), speaker.f32());
    voice.tensors.emplace("speaker", std::move(speaker));
    return voice;
  }

 private:
  ToyOptions options_;
  PipelineInfo info_;
  ToyAr ar_;
  ToyFeatures features_;
  ToyVocoder vocoder_;
  ToyEncoder encoder_;
  Graph graph_;
};

}  // namespace

std::shared_ptr<const Pipeline> make_toy_pipeline(ToyOptions options) {
  return std::make_shared<ToyPipeline>(options);
}

}  // namespace syrinx
