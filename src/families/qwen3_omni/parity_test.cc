// Thinker, talker, predictor and codec against transformers, joined by hand: what each is told and
// answers (tests/parity/qwen3_omni). pipeline_test.cc compares what comes out of the engine.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/qwen3_audio_fixture.h"
#include "families/qwen3_omni/networks.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "nn/local_kv.h"

namespace syrinx::qwen3_omni {
namespace {

constexpr double kClose = 2e-5;  // relative to the largest number
constexpr int kPositions = 96;

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

  /// The audio tower's rows of the case's recording; empty without one.
  Tensor heard() {
    if (recording_ == 0) return {};
    return fixture::encode_recording(networks_.tower, fixture::golden_signal(recording_, 7));
  }

  /// All ids through the thinker, `chunk` rows at a time: logits and the rows that the talker
  /// hears.
  std::pair<Tensor, Tensor> think(int chunk) {
    const Thinker& thinker = networks_.thinker;
    const int64_t n = std::ssize(ids_), hidden = config_.thinker.decoder.hidden;
    Tensor x({n, hidden}, DType::kF32), tap({n, hidden}, DType::kF32),
        logits({n, config_.thinker.vocab}, DType::kF32);
    const Tensor rows = heard();
    thinker.embed(bench_.ctx, input(), rows, x);
    KvSpec spec = thinker.kv_spec();
    EXPECT_EQ(spec.dtype, DType::kF32);
    LocalKv kv(spec, 1, kPositions);
    kv.begin(1);
    for (int64_t at = 0; at < n; at += chunk) {
      const int64_t end = std::min(at + chunk, n);
      const View part = x.view().slice(at, end);
      std::vector<int32_t> all(end - at);
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
      thinker.forward(bench_.ctx, part, kv.append(static_cast<int>(end - at)), kv.pool(),
                      tap.view().slice(at, end));
      const Tensor top(part.shape, DType::kF32);
      thinker.hidden(bench_.ctx, part, all, top);
      thinker.logits(bench_.ctx, top, logits.view().slice(at, end));
      bench_.arena.reset();
    }
    return {std::move(logits), std::move(tap)};
  }

  /// The ids, with the rows of the recording where they stand.
  std::vector<int32_t> input() const {
    std::vector<int32_t> out = ids_;
    int32_t row = 0;
    for (int32_t& id : out)
      if (id == config_.text.audio) id = -1 - row++;
    return out;
  }

  /// The talker's input rows: text and codec parts, with the taps of heard positions.
  Tensor rows_of(std::span<const TalkerRow> rows, const View& tap) {
    const int64_t n = std::ssize(rows), c = config_.codec.codebooks;
    std::vector<int32_t> text, codes(n * c, -1), positions;
    for (int64_t i = 0; i < n; ++i) {
      codes[i * c] = rows[i].codec;
      if (rows[i].heard >= 0) positions.push_back(rows[i].heard);
      text.push_back(rows[i].heard >= 0 ? -static_cast<int32_t>(positions.size()) : rows[i].text);
    }
    Tensor told;
    if (!positions.empty()) {
      told = Tensor({std::ssize(positions), tap.shape[1]}, DType::kF32);
      gather_rows(bench_.ctx, tap, positions, told);
    }
    Tensor x({n, config_.talker.decoder.hidden}, DType::kF32);
    networks_.talker->embed(bench_.ctx, text, codes, told, x);
    bench_.arena.reset();
    return x;
  }

  std::vector<TalkerRow> prompt() const {
    return talker_prompt(config_, std::span(ids_).first(prompt_),
                         config_.talker.speakers.at(lower(speaker_)), ids_[prompt_]);
  }
  /// The answer; its last id is never told.
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

TEST_P(OmniParity, TheThinkerWritesAndTellsAsTheAuthors) {
  const auto [logits, tap] = think(1000);
  EXPECT_LT(fixture::difference(logits, golden_.view("thinker_logits")), kClose);
  EXPECT_LT(fixture::difference(tap, golden_.view("thinker_tap")), kClose);
  for (int64_t i = prompt_; i < std::ssize(ids_); ++i) {  // greedy
    const float* row = logits.f32() + (i - 1) * config_.thinker.vocab;
    EXPECT_EQ(std::max_element(row, row + config_.thinker.vocab) - row, ids_[i]);
  }
}

TEST_P(OmniParity, TheThinkersBitsDoNotDependOnChunks) {
  const auto [logits, tap] = think(1000);
  for (const int chunk : {1, 7}) {
    const auto [parts, parts_tap] = think(chunk);
    EXPECT_TRUE(fixture::same_bits(parts, logits)) << chunk;
    EXPECT_TRUE(fixture::same_bits(parts_tap, tap)) << chunk;
  }
}

TEST_P(OmniParity, TheTalkerIsToldWhatTheAuthorsTell) {
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

// Every step with the authors' codes: logits of the talker and of its predictor.
TEST_P(OmniParity, TheTalkerAndItsPredictorSpeakAsTheAuthors) {
  const Talker& talker = *networks_.talker;
  const int64_t c = config_.codec.codebooks, hidden = config_.talker.decoder.hidden;
  const int64_t codes_each = config_.talker.predictor.code_vocab;
  const View codes = golden_.view("codes"), want = golden_.view("talker_logits"),
             want_inner = golden_.view("inner_logits");
  const int64_t steps = want.shape[0], frames = codes.shape[0];
  ASSERT_GE(steps, frames);
  Tensor x = rows_of(prompt(), think(1000).second);
  LocalKv kv(talker.kv_spec(), 1, kPositions);
  kv.begin(1);
  const Tensor scratch({static_cast<int64_t>(talker.scratch_bytes(1))}, DType::kU8);
  for (int64_t step = 0; step < steps; ++step) {
    bench_.arena.reset();
    talker.forward(bench_.ctx, x, kv.append(static_cast<int>(x.shape()[0])), kv.pool());
    const int32_t last = static_cast<int32_t>(x.shape()[0]) - 1;
    Tensor top({1, hidden}, DType::kF32), logits({1, config_.talker.vocab}, DType::kF32);
    talker.hidden(bench_.ctx, x, std::span(&last, 1), top);
    Tensor frame({1, c}, DType::kI32);
    talker.logits(bench_.ctx, 0, top, frame, scratch, logits);
    const int64_t kept = want.shape[1];
    EXPECT_LT(fixture::difference({logits.f32(), DType::kF32, {kept}},
                                  want.slice(step, step + 1).reshape({kept})),
              kClose)
        << "step " << step;
    if (step >= frames) break;
    const int32_t* given = codes.i32() + step * c;
    for (int64_t k = 1; k < c; ++k) {
      std::copy_n(given, k, frame.i32());
      Tensor inner({1, codes_each}, DType::kF32);
      talker.logits(bench_.ctx, static_cast<int>(k), top, frame, scratch, inner);
      EXPECT_LT(
          fixture::difference(inner.view().reshape({codes_each}), want_inner.slice(step, step + 1)
                                                                      .reshape({c - 1, codes_each})
                                                                      .slice(k - 1, k)
                                                                      .reshape({codes_each})),
          kClose)
          << "step " << step << ", code " << k;
    }
    x = Tensor({1, hidden}, DType::kF32);
    const int32_t beside = talker_text(config_.text, written(), true, step).value();
    talker.embed(bench_.ctx, std::span(&beside, 1), {given, static_cast<size_t>(c)}, {}, x);
  }
}

TEST_P(OmniParity, TheFramesSoundAsTheAuthors) {
  const View codes = golden_.view("codes"), want = golden_.view("samples");
  const int64_t hop = config_.codec.hop(), frames = codes.shape[0];
  Qwen3CodecState state = networks_.codec->open();
  std::vector<float> out(static_cast<size_t>(frames * hop));
  const Qwen3CodecJob job{&state, {codes.i32(), static_cast<size_t>(codes.count())}, out};
  networks_.codec->run(bench_.ctx, std::span(&job, 1));
  const int64_t made = frames * hop - config_.codec.lead(), kept = std::min(made, want.count());
  ASSERT_EQ(kept, want.count());
  float* tail = out.data() + frames * hop - kept;
  EXPECT_LT(fixture::difference({tail, DType::kF32, {kept}}, want), 1e-4);
}

// Experts are chosen by small differences, so fewer bits may change a row a lot: only parts without
// them are compared.
TEST_P(OmniParity, OtherTypesOfWeightsLoad) {
  const Tensor rows = heard();
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    LoadSpec spec;
    spec.weights = type;
    const Networks other(config_, Weights(open_weights(dir_ + "/checkpoint")), spec);
    if (type == WeightType::kBF16) {  // 8 bits come in groups of 64 inputs, more than there are
      EXPECT_LT(other.thinker.bytes(), networks_.thinker.bytes());
      EXPECT_LT(other.talker->bytes(), networks_.talker->bytes());
    }
    if (recording_ == 0) continue;
    const Tensor got =
        fixture::encode_recording(other.tower, fixture::golden_signal(recording_, 7));
    EXPECT_LT(fixture::relative_rms(got, rows), 0.05) << weight_type_name(type);
  }
}

TEST_P(OmniParity, RowsOfRecordingsMustBeThere) {
  const int64_t hidden = config_.thinker.decoder.hidden;
  const std::vector<int32_t> ids{config_.text.user, -1, -2};
  Tensor x({3, hidden}, DType::kF32);
  EXPECT_THROW(networks_.thinker.embed(bench_.ctx, ids, Tensor({1, hidden}, DType::kF32), x),
               InternalError);
}

}  // namespace
}  // namespace syrinx::qwen3_omni
