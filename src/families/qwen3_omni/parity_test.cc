// Compares thinker, talker, predictor and codec with transformers, each separately and without an
// engine (tests/parity/qwen3_omni). pipeline_test.cc compares the output of the engine.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/qwen3_audio_fixture.h"
#include "families/qwen3_omni/networks.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/copy.h"
#include "kernels/fixture.h"
#include "nn/local_kv.h"

namespace syrinx::qwen3_omni {
namespace {

constexpr double kClose = 2e-5;  // error relative to the largest value
constexpr int kPositions = 96;

struct GivenRows : Sequence {
  std::vector<int32_t> ids;  // [rows, tables]
  std::vector<GivenRow> vectors;

  int prompt_rows() const override { return static_cast<int>(vectors.size()); }
  int max_steps() const override { return 1; }
  const SampleParams& sampling(int) const override { return params; }
  SampleRule rule(int) const override { return {}; }
  Verdict advance(std::span<const int32_t>, StepOutput&) override { return {}; }
  void rows(int first, bool, InputRows& out) const override {
    const size_t tables = ids.size() / vectors.size();
    for (int i = 0; i < out.count(); ++i) {
      const auto row = static_cast<size_t>(first + i);
      std::ranges::copy(std::span(ids).subspan(row * tables, tables), out.ids(i).begin());
      if (!vectors[row].empty()) out.give(i, vectors[row]);
    }
  }
  SampleParams params;
};

class OmniParity : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  OmniParity()
      : dir_(std::string(SYRINX_BINARY_DIR "/parity/qwen3_omni/golden/") + std::get<0>(GetParam())),
        config_(load_model_config(Config::load(dir_ + "/checkpoint/config.json"))),
        networks_(config_, Weights(open_weights(dir_ + "/checkpoint")), LoadSpec()),
        golden_(dir_ + "/" + std::get<1>(GetParam()) + ".safetensors") {
    const auto cases = nlohmann::json::parse(read_file(dir_ + "/cases.json", 1 << 16));
    const auto& c = cases[std::get<1>(GetParam())];
    prompt_ = c["prompt"];
    speaker_ = c["speaker"];
    if (!c["recordings"].empty()) recording_ = c["recordings"][0];
    const View ids = golden_.view("ids");
    ids_.assign(ids.i32(), ids.i32() + ids.count());
  }

  /// Returns the audio tower's rows for the case's recording. Empty without a recording.
  Tensor heard() {
    if (recording_ == 0) return {};
    return fixture::encode_recording(networks_.tower, fixture::golden_signal(recording_, 7));
  }

  /// Runs all ids through the thinker, `chunk` rows at a time. Returns the logits and the rows for
  /// the talker.
  std::pair<Tensor, Tensor> think(int chunk) {
    const CodecLm& thinker = *networks_.thinker;
    const int64_t n = std::ssize(ids_), hidden = thinker.decoder().hidden;
    const Tensor rows = heard();
    GivenRows input;
    for (int64_t row = 0; const int32_t id : ids_) {
      const bool hears = id == config_.text.audio;
      input.ids.push_back(hears ? -1 : id);
      input.vectors.push_back(hears ? row_at(rows, row++) : GivenRow());
    }
    Tensor tap({n, hidden}, DType::kF32), logits({n, config_.thinker.vocab}, DType::kF32);
    EXPECT_EQ(thinker.traits().kv[0].dtype, DType::kF32);
    LocalKv kv(thinker.traits().kv[0], 1, kPositions);
    kv.begin(1);
    for (int64_t at = 0; at < n; at += chunk) {
      const int64_t end = std::min(at + chunk, n);
      const auto count = static_cast<int>(end - at);
      const ArSeq seq{&input, static_cast<int>(at), count, count};
      const ArBatch batch{
          std::span(&seq, 1),       count, count, kv.append(count), std::span(&kv.pool(), 1), {},
          tap.view().slice(at, end)};
      const Tensor top({count, hidden}, DType::kF32);
      thinker.forward(bench_.ctx, batch, top);
      thinker.logits(bench_.ctx, 0, batch, top, {}, logits.view().slice(at, end));
      bench_.arena.reset();
    }
    return {std::move(logits), std::move(tap)};
  }

  static GivenRow row_at(const View& rows, int64_t row) {
    return {rows.f32() + row * rows.shape[1], static_cast<size_t>(rows.shape[1])};
  }

  /// Makes the talker's input: parts of text and codes, with taps at positions of recordings.
  GivenRows input_of(std::span<const TalkerRow> rows, const View& tap) const {
    GivenRows input;
    for (const TalkerRow& row : rows) {
      input.ids.push_back(row.codec);
      input.ids.resize(input.ids.size() + static_cast<size_t>(config_.codec.codebooks - 1), -1);
      input.ids.push_back(row.text);
      input.vectors.push_back(row.heard >= 0 ? row_at(tap, row.heard) : GivenRow());
    }
    return input;
  }
  Tensor rows_of(std::span<const TalkerRow> rows, const View& tap) {
    GivenRows input = input_of(rows, tap);
    const auto count = static_cast<int>(rows.size());
    const ArSeq seq{&input, 0, count};
    Tensor x({count, config_.talker.decoder.hidden}, DType::kF32);
    copy(bench_.ctx,
         networks_.talker->embed_rows(bench_.ctx, {std::span(&seq, 1), count, 0, {}, {}, {}}), x);
    bench_.arena.reset();
    return x;
  }

  std::vector<TalkerRow> prompt() const {
    return talker_prompt(config_, std::span(ids_).first(prompt_),
                         config_.talker.speakers.at(lower(speaker_)), ids_[prompt_]);
  }
  /// Returns the answer without its last id, which is not sent to the client.
  std::span<const int32_t> written() const {
    return std::span(ids_).subspan(prompt_, ids_.size() - prompt_ - 1);
  }
  static std::string lower(std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    return name;
  }

  std::string dir_;
  ModelConfig config_;
  Networks networks_;
  Safetensors golden_;
  fixture::Bench bench_{2};
  int prompt_ = 0, recording_ = 0;
  std::string speaker_;
  std::vector<int32_t> ids_;
};
INSTANTIATE_TEST_SUITE_P(Cases, OmniParity,
                         testing::Combine(testing::Values("published", "other"),
                                          testing::Values("heard", "turns")));

TEST_P(OmniParity, TheThinkerWritesAndSendsAsTheAuthors) {
  const auto [logits, tap] = think(1000);
  EXPECT_LT(fixture::difference(logits, golden_.view("thinker_logits")), kClose);
  EXPECT_LT(fixture::difference(tap, golden_.view("thinker_tap")), kClose);
  for (int64_t i = prompt_; i < std::ssize(ids_); ++i) {  // chooses greedily
    const float* row = logits.f32() + (i - 1) * config_.thinker.vocab;
    EXPECT_EQ(std::max_element(row, row + config_.thinker.vocab) - row, ids_[i]);
  }
}

TEST_P(OmniParity, TheTalkerGetsTheAuthorsInputs) {
  const Tensor tap = think(1000).second;
  EXPECT_LT(fixture::difference(rows_of(prompt(), tap), golden_.view("talker_prefill")), kClose);
  std::vector<TalkerRow> later;
  for (int64_t frame = 0; frame + 1 <= std::ssize(written()); ++frame)
    later.push_back({.text = talker_text(config_.text, written(), true, frame).value()});
  EXPECT_LT(fixture::difference(rows_of(later, tap), golden_.view("talker_trailing")), kClose);
  const TalkerRow pad{.text = talker_text(config_.text, written(), true, 100).value()};
  EXPECT_LT(fixture::difference(rows_of(std::span(&pad, 1), tap), golden_.view("talker_pad")),
            kClose);
}

// Takes every step with the authors' codes. Compares the logits of the talker and the predictor.
TEST_P(OmniParity, TheTalkerAndItsPredictorSpeakAsTheAuthors) {
  const CodecLm& talker = *networks_.talker;
  const int64_t c = config_.codec.codebooks, hidden = config_.talker.decoder.hidden;
  const int64_t codes_each = config_.talker.predictor.code_vocab;
  const View codes = golden_.view("codes"), want = golden_.view("talker_logits"),
             want_inner = golden_.view("inner_logits");
  const int64_t steps = want.shape[0], frames = codes.shape[0];
  ASSERT_GE(steps, frames);
  const Tensor tap = think(1000).second;
  GivenRows input = input_of(prompt(), tap);
  int first = 0;
  LocalKv kv(talker.traits().kv[0], 1, kPositions);
  kv.begin(1);
  const Tensor scratch({static_cast<int64_t>(talker.scratch_bytes(1))}, DType::kU8);
  for (int64_t step = 0; step < steps; ++step) {
    bench_.arena.reset();
    const int rows = input.prompt_rows() - first;
    const ArSeq seq{&input, std::exchange(first, input.prompt_rows()), rows};
    const ArBatch batch{std::span(&seq, 1),       rows,   1, kv.append(rows),
                        std::span(&kv.pool(), 1), scratch};
    const Tensor top({1, hidden}, DType::kF32), logits({1, config_.talker.vocab}, DType::kF32);
    Tensor frame({1, c}, DType::kI32);
    talker.forward(bench_.ctx, batch, top);
    talker.logits(bench_.ctx, 0, batch, top, frame, logits);
    const int64_t kept = want.shape[1];
    EXPECT_LT(fixture::difference({const_cast<float*>(logits.f32()), DType::kF32, {kept}},
                                  want.slice(step, step + 1).reshape({kept})),
              kClose)
        << "step " << step;
    if (step >= frames) break;
    const int32_t* given = codes.i32() + step * c;
    for (int64_t k = 1; k < c; ++k) {
      std::copy_n(given, k, frame.i32());
      const Tensor inner({1, codes_each}, DType::kF32);
      talker.logits(bench_.ctx, static_cast<int>(k), batch, top, frame, inner);
      EXPECT_LT(
          fixture::difference(inner.view().reshape({codes_each}), want_inner.slice(step, step + 1)
                                                                      .reshape({c - 1, codes_each})
                                                                      .slice(k - 1, k)
                                                                      .reshape({codes_each})),
          kClose)
          << "step " << step << ", code " << k;
    }
    input.ids.insert(input.ids.end(), given, given + c);
    input.ids.push_back(talker_text(config_.text, written(), true, step).value());
    input.vectors.emplace_back();
  }
}

TEST_P(OmniParity, TheFramesSoundAsTheAuthors) {
  const View codes = golden_.view("codes"), want = golden_.view("samples");
  const int64_t hop = config_.codec.hop(), frames = codes.shape[0];
  CodecState state = networks_.codec->open();
  std::vector<float> out(static_cast<size_t>(frames * hop));
  const CodecJob job{&state, {codes.i32(), static_cast<size_t>(codes.count())}, out};
  networks_.codec->run(bench_.ctx, std::span(&job, 1));
  const int64_t made = frames * hop - config_.codec.lead(), kept = std::min(made, want.count());
  ASSERT_EQ(kept, want.count());
  float* tail = out.data() + frames * hop - kept;
  EXPECT_LT(fixture::difference({tail, DType::kF32, {kept}}, want), 1e-4);
}

// Small differences decide which experts are chosen, so weights with fewer bits may change a row a
// lot. Only networks without experts are compared.
TEST_P(OmniParity, OtherTypesOfWeightsLoad) {
  const Tensor rows = heard();
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    LoadSpec spec;
    spec.weights = type;
    const Networks other(config_, Weights(open_weights(dir_ + "/checkpoint")), spec);
    if (type == WeightType::kBF16) {  // 8 bits need groups of 64 inputs; the model has fewer
      EXPECT_LT(other.thinker->bytes(), networks_.thinker->bytes());
      EXPECT_LT(other.talker->bytes(), networks_.talker->bytes());
    }
    if (recording_ == 0) continue;
    const Tensor got =
        fixture::encode_recording(other.tower, fixture::golden_signal(recording_, 7));
    EXPECT_LT(fixture::relative_rms(got, rows), 0.05) << weight_type_name(type);
  }
}

TEST_P(OmniParity, RowsOfRecordingsMustBeThere) {
  const TalkerRow untold{};
  EXPECT_THROW(rows_of(std::span(&untold, 1), {}), InternalError);
}

}  // namespace
}  // namespace syrinx::qwen3_omni
