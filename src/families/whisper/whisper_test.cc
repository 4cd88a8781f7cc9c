#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/worst.h"
#include "families/whisper/fixture.h"
#include "families/whisper/token_rules.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"
#include "model/run_streams.h"

namespace syrinx::whisper {
namespace {

using nlohmann::json;

/// Returns the encoder's rows for a window.
std::vector<float> encoded(StepContext& ctx, const Whisper& model, const Sequence& sequence,
                           std::span<const float> samples) {
  return run_stream(ctx, model.encoder(), model.graph().edges()[0].policy,
                    stream_of(model.encoder(), sequence, samples), 1);
}

Track open_window(Runner& runner, const Whisper& model, std::shared_ptr<Window> window) {
  SpeechRequest request;
  request.task = window;
  Track track = runner.open(request);
  const auto rows = encoded(runner.context(), model, *track.state, window->audio.samples);
  EXPECT_FALSE(track.state->ready());
  EXPECT_TRUE(take_rows(model.graph(), *track.state, rows).ok());
  EXPECT_TRUE(track.state->ready());
  return track;
}

class WhisperParity : public testing::TestWithParam<const char*> {
 protected:
  const Whisper model_{{checkpoint(GetParam()), "whisper", WeightType::kF32}};
  const json cases_ = golden_cases(GetParam());
  const Safetensors golden_{checkpoint(GetParam()) + "/golden/networks.safetensors"};
  const std::vector<float> recording_ = golden_recording(cases_, 0);
};

TEST_P(WhisperParity, Encoder) {
  int number = 0;
  Runner runner(model_, 2);
  for (const json& c : cases_["windows"]) {
    const auto window = golden_window(model_, recording_, c);
    EXPECT_EQ(window->audio.frames, c["frames"]);
    SpeechRequest request;
    request.task = window;
    const Track track = runner.open(request);
    const auto rows = encoded(runner.context(), model_, *track.state, window->audio.samples);
    const auto width = static_cast<size_t>(model_.config().width());
    ASSERT_EQ(rows.size(), WhisperEncoder::kRows * width);
    const View golden = golden_.view("rows_" + std::to_string(number++));
    std::vector<float> some;
    for (size_t row = 0; row < WhisperEncoder::kRows; row += 75)
      some.insert(some.end(), rows.begin() + static_cast<int64_t>(row * width),
                  rows.begin() + static_cast<int64_t>((row + 1) * width));
    EXPECT_LT(relative(some, floats(golden)), 2e-5f) << "from frame " << c["first"];
  }
}

/// Compares logits with narrow and with f32 weights, for the first window and the ids of f32. The
/// bound is for the median over the steps of the relative RMS (docs/fidelity.md has the figures).
TEST_P(WhisperParity, NarrowWeightsStayClose) {
  const json& c = cases_["windows"][0];
  const auto written = [&](WeightType weights, std::span<const int32_t> ids) {
    const Whisper model({checkpoint(GetParam()), "whisper", weights});
    Runner runner(model);
    Track track = open_window(runner, model, golden_window(model, recording_, c));
    track.follow = ids;
    while (!track.finished && track.logits.size() < 40) runner.step(track);
    track.state.reset();
    return track;
  };
  const Track wide = written(WeightType::kF32, {});
  for (const auto& [type, bound] : {std::pair{WeightType::kBF16, 0.007},
                                    {WeightType::kQ8, 0.017},
                                    {WeightType::kQ8A8, 0.021},
                                    {WeightType::kMixed, 0.017},
                                    {WeightType::kQ4, 0.017}}) {
    const Track other = written(type, wide.codes);
    ASSERT_EQ(other.codes, wide.codes);
    std::vector<double> far;
    for (size_t step = 0; step < wide.logits.size(); ++step) {
      const Computed both(other.logits[step], wide.logits[step], 1);
      far.push_back(rms_off(both.got, both.want));
    }
    std::ranges::nth_element(far, far.begin() + std::ssize(far) / 2);
    const double off = far[far.size() / 2];
    EXPECT_LT(off, bound) << weight_type_name(type);
    EXPECT_GT(off, 0) << weight_type_name(type);
    RecordProperty(weight_type_name(type), std::to_string(100 * off) + " %");
  }
}

/// Returns the relative RMS difference of the encoder's rows from the rows with f32 weights.
double encoder_off(const std::string& dir, WeightType type, std::span<const float> recording) {
  const auto rows = [&](WeightType weights) {
    const Whisper model({dir, "whisper", weights});
    Runner runner(model, 2);
    WhisperRecording heard(static_cast<int>(model.config().encoder.mels));
    heard.push(recording, true);
    auto window = std::make_shared<Window>();
    window->audio = heard.window(0);
    window->language = "en";
    SpeechRequest request;
    request.task = window;
    const Track track = runner.open(request);
    return encoded(runner.context(), model, *track.state, window->audio.samples);
  };
  return rms_off(rows(type), rows(WeightType::kF32));
}

/// Even with 8-bit weights, the encoder's products for queries, keys and values read 16-bit
/// numbers.
TEST_P(WhisperParity, TheEncoderInEightBitsStaysClose) {
  for (const auto& [type, bound] : {std::pair{WeightType::kBF16, 0.004},
                                    {WeightType::kQ8, 0.006},
                                    {WeightType::kQ8A8, 0.0115},
                                    {WeightType::kQ4, 0.006}}) {
    const double off = encoder_off(checkpoint(GetParam()), type, recording_);
    EXPECT_LT(off, bound) << weight_type_name(type);
    RecordProperty(weight_type_name(type), std::to_string(100 * off) + " %");
  }
}

/// Compares steps with the masks, ids and values of the authors' decode().
TEST_P(WhisperParity, Windows) {
  int number = 0;
  for (const json& c : cases_["windows"]) {
    SCOPED_TRACE(c["first"].dump());
    Runner runner(model_);
    const auto window = golden_window(model_, recording_, c);
    Track track = open_window(runner, model_, window);
    const std::string key = "logits_" + std::to_string(number++);
    const auto allowed = c["allowed"].get<std::vector<int>>();
    // This runner draws other random numbers than the goldens, so only the first draw can agree.
    const bool random = window->temperature > 0;
    size_t drawn = 0;
    while (!track.finished && (!random || drawn < 1)) {
      runner.step(track);
      if (track.logits.size() <= (window->timestamps ? 2u : 3u)) continue;
      const std::vector<float>& logits = track.logits.back();
      EXPECT_EQ(
          std::count_if(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }),
          allowed[drawn])
          << drawn;
      if (number % 2 == 1 && drawn < 2) {
        const View golden = golden_.view(key);
        std::vector<float> got, want;
        for (size_t i = 0; i < logits.size(); ++i) {
          if (!std::isfinite(logits[i])) continue;
          got.push_back(logits[i]);
          want.push_back(golden.f32()[drawn * logits.size() + i]);
        }
        EXPECT_LT(relative(got, want), 2e-5f) << drawn;
      }
      ++drawn;
    }
    const Heard& heard = window->heard;
    EXPECT_EQ(heard.language, c["language"].get<std::string>());
    EXPECT_NEAR(heard.no_speech_prob, c["no_speech_prob"].get<double>(), 1e-5);
    if (!random) {
      EXPECT_EQ(heard.ids, c["ids"].get<std::vector<int32_t>>());
    }
  }
}

/// A window with kept rows yields the same text without running the encoder.
TEST_P(WhisperParity, RowsOfAnEarlierAttempt) {
  Runner runner(model_);
  const auto window = golden_window(model_, recording_, cases_["windows"][0]);
  window->keep_rows = true;
  Track track = open_window(runner, model_, window);
  while (!track.finished) runner.step(track);
  const Heard first = window->heard;
  ASSERT_TRUE(first.rows);
  const auto again = std::make_shared<Window>(*window);
  again->rows = first.rows;
  SpeechRequest request;
  request.task = again;
  auto opened = model_.open(request);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened.value().samples.empty());
  const auto keys = [&](const std::shared_ptr<Window>& of) {
    SpeechRequest each;
    each.task = of;
    std::vector<uint64_t> out;
    model_.open(each).value().sequences.at(0)->prefix_keys(false, out);
    return out;
  };
  EXPECT_TRUE(keys(window).empty()) << "the rows are not known yet";
  const std::vector<uint64_t> shared = keys(again);
  EXPECT_EQ(std::ssize(shared), window->audio.rows);
  EXPECT_EQ(std::set(shared.begin(), shared.end()).size(), shared.size());
  auto changed = std::make_shared<std::vector<float>>(*first.rows);
  changed->back() += 1;
  const auto other = std::make_shared<Window>(*again);
  other->rows = changed, other->temperature = 1;
  EXPECT_NE(keys(other), shared);
  other->rows = std::make_shared<std::vector<float>>(*first.rows);
  EXPECT_EQ(keys(other), shared) << "another attempt";
  Track second = runner.open(request);
  ASSERT_TRUE(second.state->ready());
  while (!second.finished) runner.step(second);
  EXPECT_EQ(second.logits, track.logits);
  EXPECT_EQ(again->heard.ids, first.ids);
  EXPECT_EQ(again->heard.rows, first.rows);
  again->rows = std::make_shared<std::vector<float>>(8);
  EXPECT_FALSE(model_.open(request).ok()) << "some rows are no window";
  again->rows = nullptr;
  for (const int rows : {0, again->audio.frames / 2 - 1, WhisperEncoder::kRows + 1}) {
    again->audio.rows = rows;
    EXPECT_FALSE(model_.open(request).ok()) << rows;
  }
}

TEST_P(WhisperParity, RefusesWhatItCannotDo) {
  const auto fault = [&](const SpeechRequest& request) {
    const auto opened = model_.open(request);
    return opened.ok() ? std::string() : opened.error().message;
  };
  SpeechRequest request;
  EXPECT_EQ(fault(request), "a recording is needed");
  request.say.text = "x";
  EXPECT_NE(fault(request).find("does not accept text"), std::string::npos);
  const auto window = golden_window(model_, recording_, cases_["windows"][0]);
  request.task = window;
  EXPECT_EQ(fault(request), "");
  window->language = "tlh";
  EXPECT_EQ(fault(request), "this model does not support the language tlh");
  window->language = "en", window->before = {1, 1 << 20};
  EXPECT_EQ(fault(request), "unknown id 1048576");
  window->before.clear(), window->temperature = NAN;
  EXPECT_NE(fault(request).find("temperature"), std::string::npos);
  request.task = std::make_shared<FamilyTask>("whisper");
  EXPECT_EQ(fault(request), "this model has no such task");
}

/// Makes a checkpoint that lists its alignment heads.
std::string with_heads(const TestDir& dir, const std::string& name, const json& heads) {
  std::filesystem::copy(checkpoint(name), dir.path(), std::filesystem::copy_options::recursive);
  json file = json::parse(read_file(dir.path("generation_config.json"), 1 << 20));
  file["alignment_heads"] = heads;
  dir.write("generation_config.json", file.dump());
  return dir.path();
}

/// Runs an alignment whose rows are given, as a whole or in chunks.
void align(Runner& runner, const std::shared_ptr<Alignment>& alignment, int chunk) {
  SpeechRequest request;
  request.task = alignment;
  Track track = runner.open(request);
  Track* one[] = {&track};
  for (int turn = 0; turn < 400 && !track.finished; ++turn) {
    if (turn == 2) runner.drop(track);
    runner.step(one, chunk);
  }
  EXPECT_TRUE(track.finished);
}

/// Compares attention, and the time at which each id begins, with the authors' find_alignment().
TEST_P(WhisperParity, Alignments) {
  const json words = json::parse(read_file(checkpoint(GetParam()) + "/golden/words.json", 1 << 20));
  const auto columns = words["columns"].get<int64_t>();
  const std::vector<float> recording = golden_recording(words, 0);
  for (const json& c : words["alignments"]) {
    SCOPED_TRACE(concat(c["first"].dump(), " ", c["heads"].dump()));
    const TestDir dir;
    const Whisper model(
        {c["heads"].is_null() ? checkpoint(GetParam()) : with_heads(dir, GetParam(), c["heads"]),
         "whisper", WeightType::kF32});
    Runner runner(model, 2);
    const auto alignment = std::make_shared<Alignment>();
    {
      json without = c;
      without["options"] = json::object();
      const auto window = golden_window(model, recording, without);
      window->audio.frames = c["frames"];  // as if the recording were shorter
      SpeechRequest request;
      request.task = window;
      const Track track = runner.open(request);
      alignment->rows = std::make_shared<const std::vector<float>>(
          encoded(runner.context(), model, *track.state, window->audio.samples));
    }
    alignment->frames = c["frames"];
    alignment->language = c["language"];
    alignment->translate = c["task"] == "translate";
    alignment->text = c["text"].get<std::vector<int32_t>>();
    align(runner, alignment, 1 << 20);
    const auto weights = alignment->weights;
    ASSERT_EQ(std::ssize(weights),
              (std::ssize(alignment->text) + 1) * int64_t{alignment->columns()});
    for (size_t row = 0; row < c["weights"].size(); ++row) {
      const auto& want = c["weights"][row];
      for (size_t i = 0; i < want.size(); ++i) {
        const auto at = int64_t(row) * alignment->columns() + int64_t(i) * columns;
        EXPECT_NEAR(weights[at], want[i].get<double>(), 2e-4) << row << ", " << i * columns;
      }
    }
    size_t id = 0;
    for (const json& word : c["words"]) {
      const size_t end = id + word[1].get<size_t>();
      double sum = 0;
      for (size_t i = id; i < end; ++i) sum += alignment->probabilities[i];
      EXPECT_NEAR(sum / static_cast<double>(end - id), word[4].get<double>(), 1e-5);
      id = end;
    }
    for (const int chunk :
         // The prompt runs whole, or in pieces with its cache dropped. The bits must be the same.
         {333, 7}) {
      const auto again = std::make_shared<Alignment>(*alignment);
      align(runner, again, chunk);
      EXPECT_EQ(again->weights, weights);
      EXPECT_EQ(again->probabilities, alignment->probabilities);
    }
  }
}

/// Reversing the rows reverses the result: attention ignores their order, the median is symmetric.
TEST_P(WhisperParity, AlignmentsOfReversedRowsAreReversed) {
  Runner runner(model_, 2);
  const auto width = static_cast<std::ptrdiff_t>(model_.config().width());
  const auto of = [&](const std::vector<float>& rows, int columns) {
    const auto alignment = std::make_shared<Alignment>();
    alignment->rows = std::make_shared<const std::vector<float>>(rows);
    alignment->frames = 2 * columns, alignment->language = "en", alignment->text = {1, 2, 5};
    align(runner, alignment, 1 << 20);
    return alignment->weights;
  };
  for (const int columns : {4, 5, 30}) {
    std::vector<float> rows = fixture::golden_signal(int64_t{WhisperEncoder::kRows} * width, 7);
    const std::vector<float> forth = of(rows, columns);
    for (int i = 0; i < columns / 2; ++i) {
      const auto one = rows.begin() + i * width, other = rows.begin() + (columns - 1 - i) * width;
      std::swap_ranges(one, one + width, other);
    }
    std::vector<float> back = of(rows, columns);
    for (auto row = back.begin(); row != back.end(); row += columns)
      std::reverse(row, row + columns);
    float apart = 0, largest = 0;
    for (size_t i = 0; i < forth.size(); ++i) {
      apart = worse(apart, std::abs(forth[i] - back[i]));
      largest = std::max(largest, std::abs(forth[i]));
    }
    EXPECT_LT(apart, 1e-3f) << columns;
    EXPECT_GT(largest, 0.1f) << "the rows are not alike";
  }
}

TEST_P(WhisperParity, RefusesAlignmentsOfNothing) {
  Alignment whole;
  whole.rows = std::make_shared<const std::vector<float>>(size_t{WhisperEncoder::kRows} *
                                                          size_t(model_.config().width()));
  whole.frames = 10, whole.language = "en", whole.text = {1, 2};
  const auto fault = [&](const Alignment& alignment) {
    SpeechRequest request;
    request.task = std::make_shared<Alignment>(alignment);
    const auto opened = model_.open(request);
    return opened.ok() ? std::string() : opened.error().message;
  };
  EXPECT_EQ(fault(whole), "");
  Alignment other = whole;
  other.rows = nullptr;
  EXPECT_NE(fault(other).find("the rows of its window"), std::string::npos);
  other = whole, other.frames = 1;
  EXPECT_NE(fault(other).find("the rows of its window"), std::string::npos);
  other = whole, other.text.clear();
  EXPECT_NE(fault(other).find("1 to 91 ids, got 0"), std::string::npos) << fault(other);
  other = whole, other.text.assign(92, 1);
  EXPECT_NE(fault(other).find("got 92"), std::string::npos);
  other = whole, other.text = {model_.generation().end};
  EXPECT_NE(fault(other).find("is not an id of text"), std::string::npos);
  other = whole, other.language = "";
  EXPECT_NE(fault(other).find("language"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Goldens, WhisperParity, testing::Values("small", "large"),
                         [](const auto& each) { return std::string(each.param); });

TEST(WhisperRecordings, SameWindowsHoweverTheyCome) {
  const auto all = fixture::golden_signal(16000 * 70 + 77, 3);
  WhisperRecording whole(80);
  whole.push(all, true);
  for (const size_t piece : {size_t{7001}, size_t{90}, all.size()}) {
    WhisperRecording parts(80);
    for (size_t at = 0; at < all.size(); at += piece) {
      const auto next = std::span(all).subspan(at, std::min(piece, all.size() - at));
      parts.push(next, at + piece >= all.size());
      if (at > 16000 * 50) parts.forget(4000);
    }
    EXPECT_EQ(parts.frames(), whole.frames());
    for (const int64_t first : {int64_t{4000}, int64_t{6999}, whole.frames()}) {
      const WhisperWindow a = whole.window(first), b = parts.window(first);
      EXPECT_EQ(a.samples, b.samples) << first << ", pieces of " << piece;
      EXPECT_EQ(a.loudest, b.loudest);
      EXPECT_EQ(a.frames, b.frames);
      EXPECT_EQ(a.lead, b.lead);
    }
  }
  WhisperRecording short_one(80);
  short_one.push({}, true);
  EXPECT_EQ(short_one.window(0).frames, 0);
  whole.forget(20000);  // position after the end
  EXPECT_EQ(whole.window(whole.frames()).frames, 0);
}

// ------------------------------------------------------------------------------- the rules alone

/// Ids: 0 to 9 text, 10 end, 11 start, 12 and 13 languages, 14 no speech, 15 no timestamps, 16 and
/// above timestamps.
Generation small_rules() {
  Generation g;
  g.start = 11, g.end = 10, g.no_timestamps = 15;
  g.languages = {{"en", 12}, {"zh", 13}};
  g.suppressed = {3, 14};
  g.suppressed_first = {0, 10};
  g.max_first_timestamp = 2;
  return g;
}

std::vector<int32_t> allowed_after(std::vector<int32_t> sampled, std::vector<float> logits,
                                   bool timestamps = true) {
  const Generation g = small_rules();
  IdSet allowed(std::ssize(logits));
  const IdLimits limits = rules_after(g, timestamps, sampled, allowed);
  fixture::Bench bench;
  limit_ids(bench.ctx, {logits.data(), DType::kF32, {1, std::ssize(logits)}}, {&limits, 1});
  std::vector<int32_t> out;
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isfinite(logits[i])) out.push_back(static_cast<int32_t>(i));
  return out;
}

TEST(WhisperRules, ASetOfIdsHasItsRanges) {
  IdSet set(200);
  std::vector<bool> want(256, false);
  const auto change = [&](int64_t begin, int64_t end, bool in) {
    in ? set.add(begin, end) : set.remove(begin, end);
    for (int64_t id = begin; id < std::min<int64_t>(end, 200); ++id) want[id] = in;
    for (size_t id = 0; id < want.size(); ++id)
      EXPECT_EQ((set.mask()[id / 64] >> (id % 64) & 1) != 0, want[id]) << id;
  };
  change(3, 300, true), change(64, 128, false), change(100, 101, true), change(127, 129, false);
  change(0, 64, false), change(63, 64, true), change(9, 9, true), change(250, 260, false);
}

TEST(WhisperRules, TimestampsComeInPairsAndRise) {
  using Ids = std::vector<int32_t>;
  std::vector<float> text(22, -9.f);  // makes text likelier than all timestamps together
  text[5] = 9, text[10] = 8;
  EXPECT_EQ(allowed_after({}, text), (Ids{16, 17, 18}));  // a small timestamp must come first
  EXPECT_EQ(allowed_after({17}, text), (Ids{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
  // Within a segment, text or a later timestamp is allowed. An equal timestamp is not, because the
  // segment would have length 0.
  EXPECT_EQ(allowed_after({17, 4}, text),
            (Ids{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 19, 20, 21}));
  // After a segment, the same time, a later time or the end is allowed, but no text.
  EXPECT_EQ(allowed_after({17, 4, 19}, text), (Ids{10, 11, 12, 13, 19, 20, 21}));
  EXPECT_EQ(allowed_after({17, 4, 19, 19}, text), (Ids{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
  EXPECT_EQ(allowed_after({17, 4, 21, 21, 2}, text),
            (Ids{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));  // no later timestamp exists
}

TEST(WhisperRules, TimestampsTogetherOutweighText) {
  std::vector<float> logits(22, 0.f);
  logits[5] = 1.f;  // the weight of the 4 allowed timestamps together, 4 e^0, exceeds the text's, e
  EXPECT_EQ(allowed_after({17, 4}, logits), (std::vector<int32_t>{18, 19, 20, 21}));
  logits[5] = 1.5f;
  EXPECT_EQ(allowed_after({17, 4}, logits).size(), 17u);
}

TEST(WhisperRules, WithoutTimestampsOnlySuppressionCounts) {
  const std::vector<float> logits(22, 0.f);
  EXPECT_EQ(allowed_after({}, logits, false).size(), 18u);
  EXPECT_EQ(allowed_after({4}, logits, false).size(), 20u);
}

TEST(WhisperRules, Probabilities) {
  std::vector<float> logits{0.f, std::log(2.f), -INFINITY, std::log(5.f)};
  EXPECT_NEAR(probability(logits, 1), 0.25, 1e-6);
  EXPECT_EQ(probability(logits, 2), 0);
}

}  // namespace
}  // namespace syrinx::whisper
