// Compares the ids that may be sampled and their probabilities with those that the originals sample
// from (see make_golden.py): each family's own parameters, rules and history, with many settings.
// The ids must be equal, the probabilities nearly equal, and samples must follow them.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "../small_checkpoints.h"
#include "base/worst.h"
#include "families/qwen3_omni/talker_sequence.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/sample_chances.h"
#include "tensor/context.h"

namespace syrinx::sampling_parity {
namespace {

/// mixed() and logits() compute the same numbers as in make_golden.py; mixed() is a bijection.
uint32_t mixed(uint32_t x) {
  for (const auto& [shift, factor] : {std::pair{16, 0x85EBCA6Bu}, std::pair{13, 0xC2B2AE35u}}) {
    x = (x ^ (x >> shift)) * factor;
  }
  return x ^ (x >> 16);
}

std::vector<float> logits(const nlohmann::json& c, int count) {
  std::vector<float> out;
  const auto seed = c["seed"].get<uint32_t>();
  for (uint32_t id = 0; id < static_cast<uint32_t>(count); ++id) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < 4; ++i) total += mixed(id * 4 + i + seed * 1'000'003u) >> 16;
    out.push_back(static_cast<float>((total / 65536.0 - 2.0) * c["spread"].get<double>()));
  }
  return out;
}

SpeechRequest request_of(const nlohmann::json& c) {
  SpeechRequest request = parity::small_request(c["family"], "Hello there.");
  if (c.contains("chat")) request.writing.chat = std::make_shared<Chat>(Chat{c["chat"].dump(), ""});
  request.sampling.seed = 11;
  if (c["family"] == "higgs_audio")  // the sampler's defaults instead of those of speech requests
    request.sampling.temperature = request.sampling.top_p = 1.f, request.sampling.top_k = 0;
  const nlohmann::json& asked = c["request"];
  const auto take = [&]<typename T>(const char* name, std::optional<T>& to) {
    if (asked.contains(name)) to = asked[name].get<T>();
  };
  take("temperature", request.sampling.temperature);
  take("top_k", request.sampling.top_k);
  take("top_p", request.sampling.top_p);
  take("min_p", request.sampling.min_p);
  take("repetition_penalty", request.sampling.repetition_penalty);
  take("guidance", request.sampling.guidance);
  return request;
}

class SamplingParity : public testing::TestWithParam<std::string> {
 protected:
  /// Returns the sequence of a case's request after the steps of its history.
  std::unique_ptr<Sequence> after_history(const nlohmann::json& c) const {
    auto opened = model_->open(request_of(c));
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    if (!opened.ok()) return nullptr;
    // The sequence of the stage that samples codes (for Qwen3-Omni, the talker).
    std::unique_ptr<Sequence> sequence = std::move(opened.value().sequences.back());
    if (GetParam() == "qwen3_omni") {
      const int32_t written = 20;
      EXPECT_TRUE(sequence->take(qwen3_omni::TalkerSequence::kText,
                                 {.type = {Flow::kIds}, .count = 1, .ints = {&written, 1}}));
    }
    for (const nlohmann::json& step : c["history"]) {
      const auto codes = step.get<std::vector<int32_t>>();
      std::vector<int32_t> frames;
      std::vector<WordMark> words;
      StepOutput out(frames, words);
      EXPECT_FALSE(sequence->advance(codes, out).next == Verdict::kFinished);
    }
    return sequence;
  }

  const std::shared_ptr<const Pipeline> model_ = parity::load_small(GetParam());
};

/// Expects that 20,000 samples follow `want`, by a chi-squared test. Rare ids count as one cell.
void expect_drawn(std::span<const float> row, SampleRow how, std::span<const double> want,
                  const std::string& what) {
  constexpr int kDraws = 20'000, kBatch = 500;
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  Tensor many({kBatch, std::ssize(row)}, DType::kF32);
  for (int i = 0; i < kBatch; ++i) std::ranges::copy(row, many.f32() + i * std::ssize(row));
  std::vector<int> seen(row.size(), 0);
  std::vector<SampleRow> rows(kBatch, how);
  std::vector<int32_t> ids(kBatch);
  std::vector<SampleStatus> status(kBatch);
  for (uint32_t step = 0; step < kDraws;) {
    for (SampleRow& r : rows) r.step = step++;
    sample(ctx, many, rows, ids, status);
    arena.reset();
    for (const int32_t id : ids) {
      ASSERT_GE(id, 0) << what;
      ++seen[static_cast<size_t>(id)];
    }
  }
  double chi = 0, rest_want = 0, rest_seen = 0;
  int cells = 0;
  const auto add = [&](double expected, double got) {
    chi += (got - expected) * (got - expected) / expected;
    ++cells;
  };
  for (size_t id = 0; id < want.size(); ++id) {
    const double expected = want[id] * kDraws;
    if (want[id] == 0) {
      EXPECT_EQ(seen[id], 0) << what << ", id " << id;
    } else if (expected < 5) {
      rest_want += expected;
      rest_seen += seen[id];
    } else {
      add(expected, seen[id]);
    }
  }
  if (rest_want > 5) add(rest_want, rest_seen);
  // Wilson and Hilferty's approximation: a correct sampler exceeds it once in a million tests.
  const double freedom = std::max(cells - 1, 1), part = 2 / (9 * freedom);
  EXPECT_LT(chi, freedom * std::pow(1 - part + 4.75 * std::sqrt(part), 3)) << what;
}

TEST_P(SamplingParity, TheOriginalsMayDrawTheSame) {
  ASSERT_TRUE(model_);
  const auto cases =
      nlohmann::json::parse(read_file(parity::kParity + "sampling/golden/cases.json", 1 << 20));
  const Safetensors golden(parity::kParity + "sampling/golden/golden.safetensors");
  const int32_t* ids = golden.view("ids").i32();
  const float* chances = golden.view("chances").f32();
  std::vector<int> vocabularies;
  for (const Node& node : model_->graph().nodes())
    if (node.ar) vocabularies = node.ar->traits().vocab;
  double worst = 0;
  int compared = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const nlohmann::json& c = cases[i];
    const int32_t count = golden.view("counts").i32()[i];
    const auto kept = std::span(ids, static_cast<size_t>(count));
    const auto likely = std::span(chances, static_cast<size_t>(count));
    ids += count;
    chances += count;
    if (c["family"] != GetParam()) continue;
    ++compared;
    const std::string what = "case " + std::to_string(i) + ": " + c.dump().substr(0, 160);
    const int k = c["k"];
    const auto sequence = after_history(c);
    ASSERT_TRUE(sequence) << what;
    const std::vector<float> row = logits(c, vocabularies[static_cast<size_t>(k)]);
    std::vector<double> want(row.size(), 0.0);
    for (size_t j = 0; j < kept.size(); ++j) want[static_cast<size_t>(kept[j])] = likely[j];

    const SampleRow how{sequence->sampling(k),   sequence->rule(k), sequence->history(k), i, 0,
                        static_cast<uint32_t>(k)};
    const std::vector<double> got = sample_chances(row, how);
    for (size_t id = 0; id < row.size(); ++id) {
      EXPECT_EQ(got[id] > 0, want[id] > 0)
          << what << ", id " << id << ": " << got[id] << ", there " << want[id];
      worst = worse(worst, std::fabs(got[id] - want[id]));
    }
    expect_drawn(row, how, got, what);
  }
  EXPECT_GE(compared, 6);
  EXPECT_LT(worst, 1e-5);
  RecordProperty("cases", compared);
  RecordProperty("worst_chance", std::to_string(worst * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(Families, SamplingParity,
                         testing::Values("qwen3_tts", "csm", "orpheus", "chatterbox",
                                         "chatterbox_turbo", "cosyvoice2", "zonos", "fish_speech",
                                         "higgs_audio", "opuslm", "bagpiper", "glm4_voice",
                                         "step_audio2", "qwen3_omni", "llm"));

}  // namespace
}  // namespace syrinx::sampling_parity
