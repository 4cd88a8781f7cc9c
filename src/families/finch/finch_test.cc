// Compares the shipped voice with PyTorch (golden/, made by training/golden.py). Also tests the
// contract: the same results in any batch and with any chunks.
#include "families/finch/finch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "families/finch/config.h"
#include "families/finch/driver_test.h"
#include "families/finch/frontend.h"
#include "families/finch/state.h"
#include "families/finch/vocoder.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::finch {
namespace {

const std::string kGolden = SYRINX_SOURCE_DIR "/src/families/finch/golden/finch.safetensors";
const std::string kGoldenText = "Can you hear me?";

/// Returns case `which` of training/golden.py: the default speaker. If the voice has several
/// speakers, also another speaker, and a mix with another speed.
SpeechRequest golden_request(int which) {
  SpeechRequest request = greedy(kGoldenText);
  if (which == 1) request.voice.name = "raven";
  if (which == 2) {
    request.voice.mix = {{"crake", nullptr, 3.f}, {"finch", nullptr, 1.f}};
    request.voice.speed = 1.3f;
  }
  return request;
}

void check_case(const Safetensors& golden, int number) {
  const std::string which = std::to_string(number);
  const View want = golden.view("frames." + which);
  const int64_t frames = want.shape[0];
  const GoldenSamples samples(golden, which + ".samples");
  const View logits = golden.view("logits." + which);
  EXPECT_EQ(samples.count(), frames * voice()->info().speech.sample_rate / 25);
  expect_shape("logits", logits, {4, 3 * 256 + 4});

  const SpeechRequest request = golden_request(number);
  Spoken spoken = speak(request);
  EXPECT_EQ(spoken.reason, FinishReason::kStop);
  // The program repeats the last frame, which the decoder shortens. The reference does neither.
  ASSERT_EQ(static_cast<int64_t>(spoken.frames.size()), (frames + 1) * kFrameWidth);
  EXPECT_TRUE(std::equal(spoken.frames.end() - kFrameWidth, spoken.frames.end(),
                         spoken.frames.end() - int64_t{2 * kFrameWidth}));
  spoken.frames.resize(static_cast<size_t>(frames * kFrameWidth));
  for (int64_t i = 0; i < frames; ++i) {
    for (int k = 0; k < kFrameCodes; ++k) {
      ASSERT_EQ(spoken.frames[i * kFrameWidth + k], want.i32()[i * kFrameCodes + k])
          << "frame " << i;
    }
    ASSERT_EQ(spoken.frames[i * kFrameWidth + kFrameCodes], 0) << "an accent in plain text";
  }
  double worst = 0, size = 0;
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 768; ++i) {
      const double expected = logits.f32()[t * 772 + i];
      worst = worse(worst, std::abs(spoken.first_logits[t * 768 + i] - expected));
      size = std::max(size, std::abs(expected));
    }
  }
  EXPECT_LT(worst / size, 1e-4);
  const std::vector<float> got = decode(spoken.frames, {1000}, request);
  const int64_t step = voice()->info().speech.sample_rate / kStepsASecond;
  ASSERT_EQ(std::ssize(got), samples.count() - (kStepsPerFrame - kLastSteps) * step);
  EXPECT_LT(samples.distance_of_beginning(got), 1e-4);
}

TEST(Finch, EqualsTheReference) {
  const Safetensors golden(kGolden);
  for (int number = 0; number == 0 || golden.find(concat("frames.", number)); ++number) {
    SCOPED_TRACE(concat("case ", number));
    check_case(golden, number);
  }
}

TEST(Finch, StreamsWithoutSeams) {
  const Spoken spoken = speak(greedy("Yes, it does. How about you?"));
  const auto whole = decode(spoken.frames, {10000});
  EXPECT_EQ(whole, decode(spoken.frames, {1}));
  EXPECT_EQ(whole, decode(spoken.frames, {1, 6}));
  EXPECT_EQ(whole, decode(spoken.frames, {3, 2, 7}));

  const Pipeline& many = *four_voices();
  SpeechRequest mix = greedy("hi");
  mix.voice.mix = {{"curlew", nullptr, 1.f}, {"raven", nullptr, 1.f}};
  const auto mixed = decode(spoken.frames, {10000}, mix, many);
  EXPECT_EQ(mixed, decode(spoken.frames, {1}, mix, many));
  EXPECT_EQ(mixed, decode(spoken.frames, {3, 2, 7}, mix, many));
  EXPECT_NE(mixed, decode(spoken.frames, {10000}, greedy("hi"), many));
}

TEST(Finch, SpeaksWithSeveralVoices) {
  const Pipeline& many = *four_voices();
  EXPECT_EQ(many.info().speech.voices.size(), 4u);
  EXPECT_EQ(many.info().speech.default_voice, "finch");
  EXPECT_TRUE(many.info().speech.mixes);
  SpeechRequest request = greedy(kGoldenText);
  request.terms.max_frames = 20;
  const auto finch = speak(request, many).frames;
  request.voice.mix = {{"raven", nullptr, 0.5f}, {"finch", nullptr, 0.5f}};
  const auto both = speak(request, many).frames;
  request.voice.mix = {{"raven", nullptr, 0.5f}};
  const auto raven = speak(request, many).frames;
  EXPECT_NE(finch, raven);
  EXPECT_NE(both, raven);
  request.voice.mix.clear();
  request.voice.name = "raven";
  EXPECT_EQ(raven, speak(request, many).frames);  // a mix of one speaker sounds like this speaker
  request.voice.speed = 0.7f;
  EXPECT_NE(raven, speak(request, many).frames);
  request.voice.mix = {{"finch", nullptr, 1.f}, {"robin", nullptr, 1.f}};
  EXPECT_EQ(many.open(request).error().param, "voice");
}

TEST(Finch, SaysTheSameInABatch) {
  for (const auto& pipeline : {voice(), four_voices()}) {
    std::vector<SpeechRequest> requests = {greedy("Hello."), greedy("It costs $12.50 today."),
                                           greedy("One, two, three?")};
    if (pipeline->info().speech.mixes) {
      requests[1].voice.name = "crake";
      requests[2].voice.speed = 0.8f;
    }
    std::vector<std::unique_ptr<Sequence>> states;
    std::vector<Sequence*> all;
    for (SpeechRequest& request : requests) {
      if (pipeline != voice()) request.terms.max_frames = 20;  // random weights may never end it
      states.push_back(open(request, *pipeline));
      all.push_back(states.back().get());
    }
    const auto together = Driver(*pipeline).run(all);
    for (size_t i = 0; i < requests.size(); ++i) {
      const Spoken alone = speak(requests[i], *pipeline);
      EXPECT_EQ(alone.frames, together[i].frames) << requests[i].say.text;
      if (pipeline == voice()) {
        EXPECT_EQ(together[i].reason, FinishReason::kStop);
      }
    }
  }
}

TEST(Finch, KeepsTheTimesOfWords) {
  const std::string text = "Pay €5 now. Good-bye!";
  const Spoken spoken = speak(greedy(text));
  std::vector<std::string> words;
  int64_t last = -1;
  for (const WordMark& word : spoken.words) {
    words.push_back(text.substr(word.begin, word.end - word.begin));
    EXPECT_GT(word.frame, last);
    last = word.frame;
  }
  EXPECT_EQ(words, (std::vector<std::string>{"Pay", "€5", "now", "Good-bye"}));
  EXPECT_LT(last, static_cast<int64_t>(spoken.frames.size()) / kFrameWidth);
}

TEST(Finch, KeepsTheTimesOfPhones) {
  SpeechRequest request = greedy("Hi there.");
  EXPECT_TRUE(speak(request).phones.empty());
  request.terms.phone_times = true;
  const Spoken spoken = speak(request);
  std::string phones;
  int64_t last = 0;
  for (const PhoneMark& mark : spoken.phones) {
    phones += concat(mark.phone, " ");
    EXPECT_GE(mark.frame, last);
    last = mark.frame;
  }
  EXPECT_EQ(phones, "pau.start hh ay1 dh eh1 r pau.end ");
  EXPECT_LT(last, static_cast<int64_t>(spoken.frames.size()) / kFrameWidth);
}

TEST(Finch, SpeaksEverySentenceAsIfItWereAlone) {
  SpeechRequest request = greedy("");
  request.terms.phone_times = true;
  Spoken want;
  int first = 0;
  for (const char* sentence : {"Hello there. ", "How are you? ", "Fine!"}) {
    SpeechRequest one = request;
    one.say.text = sentence;
    const Spoken part = speak(one);
    const auto bytes = static_cast<int64_t>(request.say.text.size());
    const auto before = static_cast<int64_t>(want.frames.size()) / kFrameWidth;
    for (const WordMark& word : part.words) {
      want.words.push_back({word.begin + bytes, word.end + bytes, word.frame + before});
    }
    for (const PhoneMark& phone : part.phones) {
      want.phones.push_back({phone.phone, phone.frame + before});
    }
    // Only the whole text repeats its last frame.
    want.frames.insert(want.frames.end(), part.frames.begin(), part.frames.end() - kFrameWidth);
    if (first == 0) first = static_cast<int>(want.frames.size()) / kFrameWidth;
    request.say.text += sentence;
  }
  const std::vector<int32_t> end(want.frames.end() - kFrameWidth, want.frames.end());
  want.frames.insert(want.frames.end(), end.begin(), end.end());
  const Spoken all = speak(request);
  EXPECT_EQ(all.frames, want.frames);
  EXPECT_EQ(times(all), times(want));
  // A single limit of frames holds for all sentences together.
  const int total = static_cast<int>(want.frames.size()) / kFrameWidth;
  for (const int most : {first - 1, first, first + 1, total - 1, total + 1}) {
    request.terms.max_frames = most;
    const Spoken cut = speak(request);
    const size_t size = std::min(want.frames.size(), static_cast<size_t>(most) * kFrameWidth);
    EXPECT_EQ(cut.frames, std::vector<int32_t>(want.frames.begin(),
                                               want.frames.begin() + static_cast<long>(size)));
    EXPECT_EQ(cut.reason, most < total ? FinishReason::kLength : FinishReason::kStop) << most;
    if (most == first) {
      EXPECT_EQ(cut.steps, first + kBooks - 1) << "the next sentence begins";
    }
  }
}

/// Returns logits of the pointer's head for a given probability of not moving.
std::array<float, kMoves> staying(float probability) {
  std::array<float, kMoves> logits;
  logits.fill(-100);
  logits[0] = std::log(probability), logits[1] = std::log(1 - probability);
  return logits;
}

/// The pointer moves when the probability of not having moved falls below 1/2, in every sentence.
TEST(Finch, ThePointerMovesAlikeInEverySentence) {
  SpeechRequest request = greedy("Hi. Hi.");
  request.sampling.temperature = 0.9f;
  request.terms.max_frames = 60;
  const auto state = open(request);
  EXPECT_EQ(state->sampling(0).temperature, 0.9f);
  auto& finch = static_cast<FinchState&>(*state);
  EXPECT_EQ(finch.choose_move(staying(0.55f)).move, 0);
  EXPECT_NEAR(finch.choose_move(staying(0.55f)).survival, 0.55f, 1e-6f);
  EXPECT_EQ(finch.choose_move(staying(0.45f)).move, 1);
  Spoken spoken;
  std::vector<int> moves[2];
  for (int sentence = 0, position = 0; sentence < 2;) {
    std::array<int32_t, kInputs> ids;
    row_of(finch, position++, false, ids);
    const bool past = ids[kBooks] == 0;  // whether the pointer is past the last symbol
    const std::array<float, kMoves> logits = staying(past ? 0.01f : 0.8f);
    if (!past) moves[sentence].push_back(finch.choose_move(logits).move);
    const std::array<int32_t, kBooks> codes{1, 1, 1};
    StepOutput out(spoken.frames, spoken.words, nullptr, nullptr, logits);
    const Verdict verdict = state->advance(codes, out);
    ASSERT_LT(position, 100);
    if (verdict.next == Verdict::kContinue) continue;
    // The codebooks end one after another. The limit of frames holds for the whole request.
    const int none = FinchConfig{}.codes;
    EXPECT_EQ(std::vector<int32_t>(ids.begin(), ids.begin() + kBooks),
              (std::vector<int32_t>{none, 1, 1}));
    ++sentence, position = 0;
    if (sentence == 1) {
      EXPECT_EQ(state->max_steps(),
                60 - static_cast<int>(spoken.frames.size()) / kFrameWidth + kBooks - 1);
    }
  }
  EXPECT_EQ(std::vector<int>(moves[0].begin(), moves[0].begin() + 4),
            (std::vector<int>{0, 0, 0, 1}));
  EXPECT_EQ(moves[0], moves[1]);
}

TEST(Finch, EndsAtTheBound) {
  SpeechRequest request = greedy("This sentence is longer than the bound allows.");
  request.terms.max_frames = 10;
  const Spoken cut = speak(request);
  EXPECT_EQ(cut.frames.size(), 10u * kFrameWidth);
  EXPECT_EQ(cut.reason, FinishReason::kLength);
  request.say.text = "Short.";
  request.terms.max_frames = 80;
  request.terms.ignore_stop = true;
  EXPECT_EQ(speak(request).frames.size(), 80u * kFrameWidth);
}

TEST(Finch, PaceTurnsSpeedIntoWhatTheLmHasLearned) {
  const auto at_pace = [](double pace) {  // makes a voice with random weights
    return dummy_voice([pace](nlohmann::json& config) {
      for (auto& speaker : config["speakers"]) speaker["pace"] = pace;
      config["speeds"] = {0.5, 2.0};
    });
  };
  const auto plain = at_pace(1), paced = at_pace(2);
  const auto logits = [](const auto& voice, float speed) {
    SpeechRequest request = greedy("Hello.");
    request.voice.speed = speed;
    request.terms.max_frames = 4;
    return speak(request, *voice).first_logits;
  };
  const std::vector<float> want = logits(plain, 1.44f), made = logits(paced, 1.2f);
  ASSERT_EQ(made.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(made[i], want[i], 1e-4);
  EXPECT_NE(logits(plain, 1.2f), made);
  EXPECT_EQ(logits(paced, 1.9f), logits(plain, 2.f)) << "faster than it has learned to be";
  EXPECT_EQ(logits(paced, 1), logits(plain, 1));
}

TEST(Finch, LoadsACheckpointOfOneSpeaker) {
  const auto one = dummy_voice([](nlohmann::json& config) {
    config.erase("speakers");
    config.erase("speeds");
  });
  ASSERT_EQ(one->info().speech.voices.size(), 1u);
  EXPECT_EQ(one->info().speech.voices[0].id, "finch");
  EXPECT_FALSE(one->info().speech.mixes);
  EXPECT_EQ(one->info().offers.of("speed")->high, 1);
  EXPECT_TRUE(one->open(greedy("Hello.")).ok());
}

TEST(Finch, RefusesWhatItCannotDo) {
  const auto code = [](SpeechRequest request) { return refusal_of(*voice(), request).param; };
  SpeechRequest request;
  EXPECT_EQ(code(request), "input");
  request.say.text = "😀 ... 日本";
  EXPECT_EQ(code(request), "input");
  request.say.text = "Hello.";
  EXPECT_TRUE(voice()->open(request).ok());
  request.voice.name = "robin";
  EXPECT_EQ(code(request), "voice");
  request.voice.name = "finch";
  request.voice.mix = {{"finch", nullptr, 1.f}, {"robin", nullptr, 1.f}};
  EXPECT_EQ(code(request), "voice");
  request.voice.mix = {{"finch", std::make_shared<Voice>(), 1.f}};
  EXPECT_EQ(code(request), "voice");
  request.voice.mix.clear();
  request.say.language = "fr";
  EXPECT_EQ(code(request), "language");
  request.say.language = "en-US";
  request.sampling.guidance = 2.f;
  EXPECT_EQ(code(request), "guidance");
  request.sampling.guidance.reset();
  request.say.text = std::string(300'000, 'a');
  EXPECT_EQ(code(request), "input");
}

/// Paragraphs are separated by silence, which the speed scales. No silence follows the last one.
TEST(Finch, PausesBetweenParagraphs) {
  const auto speak = [](const std::string& text, float speed) {
    SpeechRequest request = greedy(text);
    request.voice.speed = speed;
    auto state = voice()->open(request).value().only();
    return Driver().run({state.get()})[0];
  };
  for (const float speed : {1.f, 1.5f}) {
    const Spoken near = speak("One. Two.", speed), far = speak("One.\n\nTwo.", speed);
    const auto more = std::lround(0.4 * 25 / speed);
    EXPECT_EQ(far.frames.size(), near.frames.size() + static_cast<size_t>(more) * kFrameWidth)
        << speed;
    ASSERT_EQ(far.words.size(), 2u);
    EXPECT_EQ(far.words[1].frame, near.words[1].frame + more) << speed;
  }
  EXPECT_EQ(speak("One.\n\n", 1).frames, speak("One.", 1).frames);
}

}  // namespace
}  // namespace syrinx::finch
