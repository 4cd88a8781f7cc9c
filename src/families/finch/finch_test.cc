// The shipped voice against PyTorch (golden/, made by training/golden.py), and the promises of the
// contract: the same in any batch, the same however the stream is cut.
#include "families/finch/finch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/thread_pool.h"
#include "base/worst.h"
#include "families/finch/config.h"
#include "families/finch/frontend.h"
#include "families/finch/state.h"
#include "io/safetensors.h"
#include "text/phones.h"

namespace syrinx::finch {
namespace {

const std::string kVoice = SYRINX_SOURCE_DIR "/voices/finch";
const std::string kGolden = SYRINX_SOURCE_DIR "/src/families/finch/golden/finch.safetensors";
const std::string kGoldenText = "Can you hear me?";

std::shared_ptr<const Pipeline> voice() {
  static const auto pipeline = load({kVoice, "finch", WeightType::kF32, false});
  return pipeline;
}

/// config.json of the shipped voice, changed, with random weights.
std::shared_ptr<const Pipeline> dummy_voice(const std::function<void(nlohmann::json&)>& change) {
  std::ifstream file(kVoice + "/config.json");
  auto config = nlohmann::json::parse(file);
  change(config);
  const std::string dir = testing::TempDir() + "finch_dummy";
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/config.json") << config;
  return load({dir, "finch", WeightType::kF32, true});
}

/// Four speakers with random weights.
std::shared_ptr<const Pipeline> four_voices() {
  static const auto pipeline = dummy_voice([](nlohmann::json& config) {
    config["speakers"] = nlohmann::json::array();
    for (const char* name : {"finch", "raven", "curlew", "crake"}) {
      config["speakers"].push_back({{"name", name}});
    }
    config["speeds"] = {0.6, 1.75};
  });
  return pipeline;
}

SpeechRequest greedy(const std::string& text) {
  SpeechRequest request;
  request.text = text;
  request.temperature = 0.f;
  return request;
}

/// What one request yields.
struct Spoken {
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  std::vector<PhoneMark> phones;
  std::vector<float> first_logits;  // of the first steps, all heads but the pointer's
  int steps = 0;
  FinishReason reason = FinishReason::kError;
};

/// Steps requests together, one row each, until all have ended. No engine: greedy choices.
class Driver {
 public:
  explicit Driver(const Pipeline& pipeline = *voice())
      : pipeline_(pipeline), pool_(1), ctx_{pool_, arena_} {}

  std::vector<Spoken> run(const std::vector<Sequence*>& states) {
    const ArStage& ar = pipeline_.graph().ar();
    const ArTraits& traits = ar.traits();
    const auto pages = KvPool::pages_for(traits.max_positions);
    KvPool kv(traits.kv[0], pages * static_cast<int64_t>(states.size()));
    std::vector<Spoken> spoken(states.size());
    std::vector<int> steps(states.size(), 0);
    std::vector<bool> done(states.size(), false);
    while (std::find(done.begin(), done.end(), false) != done.end()) {
      std::vector<size_t> live;
      for (size_t i = 0; i < states.size(); ++i) {
        if (!done[i]) live.push_back(i);
      }
      step(ar, kv, pages, states, live, spoken, steps, done);
    }
    return spoken;
  }

  StepContext& context() { return ctx_; }

 private:
  void step(const ArStage& ar, const KvPool& kv, int64_t pages,
            const std::vector<Sequence*>& states, const std::vector<size_t>& live,
            std::vector<Spoken>& spoken, std::vector<int>& steps, std::vector<bool>& done) {
    const auto count = static_cast<int>(live.size());
    std::vector<ArSeq> seqs;
    std::vector<int32_t> begin = {0}, length, table;
    for (const size_t i : live) {
      seqs.push_back({states[i], steps[i], 1, true});
      begin.push_back(begin.back() + 1);
      length.push_back(steps[i] + 1);
      for (int64_t p = 0; p < pages; ++p) {
        table.push_back(static_cast<int32_t>(static_cast<int64_t>(i) * pages + p));
      }
    }
    const ArBatch batch{seqs,     count, count, {begin, length, table, static_cast<int>(pages)},
                        {&kv, 1}, {}};
    const auto& vocab = ar.traits().vocab;
    Tensor hidden({count, ar.traits().hidden}, DType::kF32);
    Tensor codes({count, static_cast<int64_t>(vocab.size())}, DType::kI32);
    ar.forward(ctx_, batch, hidden);
    for (size_t k = 0; k < vocab.size(); ++k) {
      Tensor logits({count, vocab[k]}, DType::kF32);
      ar.logits(ctx_, static_cast<int>(k), batch, hidden, codes, logits);
      for (int e = 0; e < count; ++e) {
        const float* row = logits.f32() + int64_t{e} * vocab[k];
        codes.i32()[e * vocab.size() + k] =
            static_cast<int32_t>(std::max_element(row, row + vocab[k]) - row);
        Spoken& one = spoken[live[e]];
        if (steps[live[e]] < 4 && k < kBooks) {
          one.first_logits.insert(one.first_logits.end(), row, row + vocab[k]);
        }
      }
    }
    for (int e = 0; e < count; ++e) {
      const size_t i = live[e];
      StepOutput out(spoken[i].frames, spoken[i].words, &spoken[i].phones);
      const Verdict verdict =
          states[i]->advance({codes.i32() + e * vocab.size(), vocab.size()}, out);
      ++steps[i], ++spoken[i].steps;
      if (verdict.next == Verdict::kNextSegment) steps[i] = 0;
      done[i] = verdict.next == Verdict::kFinished || steps[i] >= states[i]->max_steps();
      if (verdict.next == Verdict::kFinished) spoken[i].reason = verdict.reason;
    }
    arena_.reset();
  }

  const Pipeline& pipeline_;
  ThreadPool pool_;
  Arena arena_;
  StepContext ctx_;
};

std::unique_ptr<Sequence> open(const SpeechRequest& request, const Pipeline& pipeline = *voice()) {
  auto state = pipeline.open(request);
  EXPECT_TRUE(state.ok()) << state.error().message;
  return state.take().only();
}

Spoken speak(const SpeechRequest& request, const Pipeline& pipeline = *voice()) {
  const auto state = open(request, pipeline);
  return Driver(pipeline).run({state.get()})[0];
}

/// Samples of frames, cut into chunks of the given sizes (the last one repeats).
std::vector<float> decode(const std::vector<int32_t>& frames, std::vector<int> cuts,
                          const SpeechRequest& request = greedy("hi"),
                          const Pipeline& pipeline = *voice()) {
  const ChunkStage& stage = *pipeline.graph().links()[0].stage;
  Driver driver;
  const auto state = open(request, pipeline);
  const auto stream = open_stream(stage, *state);
  const int total = static_cast<int>(frames.size()) / stage.in_width();
  std::vector<float> samples(static_cast<size_t>(total) * stage.out_width());
  for (int at = 0, cut = 0; at < total; ++cut) {
    const int size = cuts[std::min<size_t>(cut, cuts.size() - 1)];
    ChunkJob job;
    job.state = stream.get();
    job.left = std::min(at, 1);
    job.fresh = std::min(size, total - at);
    job.ahead = std::min(1, total - at - job.fresh);
    job.last = job.ahead == 0;
    const auto window = static_cast<size_t>(job.left + job.fresh + job.ahead);
    job.codes = std::span(frames).subspan(static_cast<size_t>(at - job.left) * stage.in_width(),
                                          window * stage.in_width());
    job.out = std::span(samples).subspan(static_cast<size_t>(at) * stage.out_width(),
                                         static_cast<size_t>(job.fresh) * stage.out_width());
    stage.run(driver.context(), {&job, 1});
    at += job.fresh;
  }
  return samples;
}

/// The cases of training/golden.py: the default voice, and where the voice has several speakers
/// another one, and a mix at another speed.
SpeechRequest golden_request(int which) {
  SpeechRequest request = greedy(kGoldenText);
  if (which == 1) request.voice = "raven";
  if (which == 2) {
    request.mix = {{"crake", nullptr, 3.f}, {"finch", nullptr, 1.f}};
    request.speed = 1.3f;
  }
  return request;
}

/// One of the cases of the golden file.
void check_case(const Safetensors& golden, int number) {
  const std::string which = std::to_string(number);
  const View want = golden.view("frames." + which);
  const int64_t frames = want.shape[0];
  const View samples = golden.view("samples." + which), logits = golden.view("logits." + which);
  expect_shape("samples", samples, {frames * voice()->info().sample_rate / 25});
  expect_shape("logits", logits, {4, 3 * 256 + 4});

  const SpeechRequest request = golden_request(number);
  const Spoken spoken = speak(request);
  EXPECT_EQ(spoken.reason, FinishReason::kStop);
  ASSERT_EQ(static_cast<int64_t>(spoken.frames.size()), frames * kFrameWidth);
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
  const std::vector<float> made = decode(spoken.frames, {1000}, request);
  double error = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    error = worse(error, std::abs(static_cast<double>(made[i]) - samples.f32()[i]));
  }
  EXPECT_LT(error, 1e-4);
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
  mix.mix = {{"curlew", nullptr, 1.f}, {"raven", nullptr, 1.f}};
  const auto mixed = decode(spoken.frames, {10000}, mix, many);
  EXPECT_EQ(mixed, decode(spoken.frames, {1}, mix, many));
  EXPECT_EQ(mixed, decode(spoken.frames, {3, 2, 7}, mix, many));
  EXPECT_NE(mixed, decode(spoken.frames, {10000}, greedy("hi"), many));
}

TEST(Finch, SpeaksWithSeveralVoices) {
  const Pipeline& many = *four_voices();
  EXPECT_EQ(many.info().voices.size(), 4u);
  EXPECT_EQ(many.info().default_voice, "finch");
  EXPECT_TRUE(many.info().mixes);
  SpeechRequest request = greedy(kGoldenText);
  request.max_frames = 20;
  const auto finch = speak(request, many).frames;
  request.mix = {{"raven", nullptr, 0.5f}, {"finch", nullptr, 0.5f}};
  const auto both = speak(request, many).frames;
  request.mix = {{"raven", nullptr, 0.5f}};
  const auto raven = speak(request, many).frames;
  EXPECT_NE(finch, raven);
  EXPECT_NE(both, raven);
  request.mix.clear();
  request.voice = "raven";
  EXPECT_EQ(raven, speak(request, many).frames);  // a mix of one is that one
  request.speed = 0.7f;
  EXPECT_NE(raven, speak(request, many).frames);
  request.mix = {{"finch", nullptr, 1.f}, {"robin", nullptr, 1.f}};
  EXPECT_EQ(many.open(request).error().param, "voice");
}

TEST(Finch, SaysTheSameInABatch) {
  for (const auto& pipeline : {voice(), four_voices()}) {
    std::vector<SpeechRequest> requests = {greedy("Hello."), greedy("It costs $12.50 today."),
                                           greedy("One, two, three?")};
    if (pipeline->info().mixes) {
      requests[1].voice = "crake";
      requests[2].speed = 0.8f;
    }
    std::vector<std::unique_ptr<Sequence>> states;
    std::vector<Sequence*> all;
    for (SpeechRequest& request : requests) {
      if (pipeline != voice()) request.max_frames = 20;  // random weights may not end
      states.push_back(open(request, *pipeline));
      all.push_back(states.back().get());
    }
    const auto together = Driver(*pipeline).run(all);
    for (size_t i = 0; i < requests.size(); ++i) {
      const Spoken alone = speak(requests[i], *pipeline);
      EXPECT_EQ(alone.frames, together[i].frames) << requests[i].text;
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
  request.phone_times = true;
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

/// The times of words and phones, as text.
std::string times(const Spoken& spoken) {
  std::string out;
  for (const WordMark& word : spoken.words) {
    out += concat(word.begin, "-", word.end, "@", word.frame, " ");
  }
  for (const PhoneMark& phone : spoken.phones) out += concat(phone.phone, "@", phone.frame, " ");
  return out;
}

TEST(Finch, SpeaksEverySentenceAsIfItWereAlone) {
  SpeechRequest request = greedy("");
  request.phone_times = true;
  Spoken want;
  int first = 0;
  for (const char* sentence : {"Hello there. ", "How are you? ", "Fine!"}) {
    SpeechRequest one = request;
    one.text = sentence;
    const Spoken part = speak(one);
    const auto bytes = static_cast<int64_t>(request.text.size());
    const auto before = static_cast<int64_t>(want.frames.size()) / kFrameWidth;
    for (const WordMark& word : part.words) {
      want.words.push_back({word.begin + bytes, word.end + bytes, word.frame + before});
    }
    for (const PhoneMark& phone : part.phones) {
      want.phones.push_back({phone.phone, phone.frame + before});
    }
    want.frames.insert(want.frames.end(), part.frames.begin(), part.frames.end());
    if (first == 0) first = static_cast<int>(want.frames.size()) / kFrameWidth;
    request.text += sentence;
  }
  const Spoken all = speak(request);
  EXPECT_EQ(all.frames, want.frames);
  EXPECT_EQ(times(all), times(want));
  // One bound for all of them.
  const int total = static_cast<int>(want.frames.size()) / kFrameWidth;
  for (const int most : {first - 1, first, first + 1, total - 1, total + 1}) {
    request.max_frames = most;
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

/// Logits of the pointer's head for a probability that it stays.
std::array<float, kMoves> staying(float probability) {
  std::array<float, kMoves> logits;
  logits.fill(-100);
  logits[0] = std::log(probability), logits[1] = std::log(1 - probability);
  return logits;
}

/// The pointer stays while that is more likely than not, in each sentence anew.
TEST(Finch, ThePointerMovesAlikeInEverySentence) {
  SpeechRequest request = greedy("Hi. Hi.");
  request.temperature = 0.9f;
  request.max_frames = 60;
  const auto state = open(request);
  EXPECT_EQ(state->sampling(0).temperature, 0.9f);
  EXPECT_EQ(state->sampling(kMoveHead).temperature, 0.f);
  auto& finch = static_cast<FinchState&>(*state);
  EXPECT_EQ(finch.choose_move(staying(0.55f)), 0);
  EXPECT_EQ(finch.choose_move(staying(0.45f)), 1);
  EXPECT_EQ(finch.choose_move(staying(0.55f)), 0) << "asking changes nothing";
  Spoken spoken;
  std::vector<int> moves[2];
  for (int sentence = 0, position = 0; sentence < 2;) {
    std::array<int32_t, kInputs> ids;
    finch.row_inputs(position++, ids);
    const bool past = ids[kBooks] == 0;  // the pointer has passed the end
    const int move = finch.choose_move(staying(past ? 0.01f : 0.8f));
    if (!past) moves[sentence].push_back(move);
    const std::array<int32_t, 4> codes{1, 1, 1, past ? 0 : move};
    StepOutput out(spoken.frames, spoken.words);
    const Verdict verdict = state->advance(codes, out);
    ASSERT_LT(position, 100);
    if (verdict.next == Verdict::kContinue) continue;
    // Books end one step after the other; what is left is the whole request's.
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

TEST(Finch, TakesTextInPieces) {
  SpeechRequest request = greedy("");
  request.text_open = true;
  request.text_in_prompt = true;  // whole sentences
  const auto state = open(request);
  EXPECT_FALSE(state->ready());
  EXPECT_TRUE(state->append_text("Hello the", false).ok());
  EXPECT_FALSE(state->ready());
  EXPECT_TRUE(state->append_text("re. And", false).ok());
  EXPECT_TRUE(state->ready());
  EXPECT_TRUE(state->append_text(" bye.", true).ok());
  EXPECT_FALSE(state->append_text("More.", true).ok());
  EXPECT_EQ(Driver().run({state.get()})[0].frames, speak(greedy("Hello there. And bye.")).frames);
}

/// Random weights that speak word by word.
std::shared_ptr<const Pipeline> wordwise_voice() {
  static const auto pipeline = dummy_voice([](auto& config) { config["lm"]["by_word"] = true; });
  return pipeline;
}

TEST(Finch, SpeaksWordsBeforeTheirSentenceEnds) {
  const Pipeline& voice = *wordwise_voice();
  EXPECT_EQ(voice.info().late_text, LateText::kToken);
  SpeechRequest request = greedy("");
  request.text_open = true;
  const auto state = open(request, voice);
  EXPECT_TRUE(state->append_text("The quick brown", false).ok());
  EXPECT_FALSE(state->ready());
  EXPECT_TRUE(state->append_text(" ", false).ok());
  EXPECT_FALSE(state->ready());  // the pointer hears three symbols ahead, "the" has two
  EXPECT_TRUE(state->append_text("fox ", false).ok());
  EXPECT_TRUE(state->ready());
  // The symbol before the first word and three of that word are what the pointer hears.
  request.text = "Big cats sat ";
  EXPECT_TRUE(open(request, voice)->ready());
}

TEST(Finch, SpeaksWordByWordWhatItSpeaksAtOnce) {
  const Pipeline& voice = *wordwise_voice();
  for (const char* text : {"Yes, of course, the apple is over there, my friend. And that is all!",
                           "Is it at 5 p.m. on March 3, 1990, or at 6 p.m.? It costs $5 million, "
                           "which Dr. Jones of Main St. paid - if I am right - in 2 ft. cubes."}) {
    SpeechRequest request = greedy(text);
    request.text_in_prompt = false;
    request.max_frames = 400;  // random weights may not end
    const Spoken at_once = speak(request, voice);
    for (const size_t size : {size_t{1}, size_t{7}}) {
      request.text.clear();
      request.text_open = true;
      const auto state = open(request, voice);
      const std::string_view whole = text;
      for (size_t at = 0; at < whole.size(); at += size) {
        EXPECT_TRUE(state->append_text(whole.substr(at, size), at + size >= whole.size()).ok());
      }
      const Spoken late = Driver(voice).run({state.get()})[0];
      EXPECT_EQ(late.frames, at_once.frames) << text;
      EXPECT_EQ(times(late), times(at_once)) << text;
    }
  }
}

/// What the LM would hear of an open request when text comes in pieces of `size` bytes, each when
/// there is nothing left to say: symbol, phrase, place and accent under a pointer that always moves
/// by one.
std::vector<std::array<int32_t, 4>> heard(const Pipeline& voice, const std::string& text,
                                          size_t size, bool at_once) {
  SpeechRequest request = greedy(at_once ? text : "");
  request.text_in_prompt = false;
  request.text_open = !at_once;
  const auto state = open(request, voice);
  auto& finch = static_cast<FinchState&>(*state);
  std::vector<std::array<int32_t, 4>> out;
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  std::array<int32_t, kInputs> ids;
  size_t given = 0;
  int position = 0;
  for (;;) {
    while (!state->ready()) {
      if (at_once || given >= text.size()) return out;  // an error: the text has ended
      const std::string_view piece = std::string_view(text).substr(given, size);
      given += piece.size();
      EXPECT_TRUE(state->append_text(piece, given == text.size()).ok());
    }
    finch.row_inputs(position++, ids);
    if (ids[kBooks] != 0) {
      const int strong = finch.is_strong(position - 1) ? 1 : 0;
      out.push_back({ids[kBooks], ids[kBooks + kHeard], ids[kBooks + kHeard + 1], strong});
    }
    StepOutput step(frames, words);
    const Verdict verdict = state->advance(std::array<int32_t, 4>{1, 1, 1, 1}, step);
    if (verdict.next == Verdict::kFinished) return out;
    if (verdict.next == Verdict::kNextSegment) position = 0;
  }
}

/// Without pauses and places.
std::string sounds(const std::vector<std::array<int32_t, 4>>& symbols) {
  std::string out;
  for (const auto& [phone, phrase, place, strong] : symbols) {
    const std::string_view name = phone_names()[phone];
    if (!name.starts_with("pau")) out += concat(name, " ");
  }
  return out;
}

TEST(Finch, ReadsWordByWordAsItReadsAtOnce) {
  const Pipeline& voice = *wordwise_voice();
  std::ifstream table(SYRINX_SOURCE_DIR "/src/text/golden/english.tsv");
  std::string line, several, endless;
  int cases = 0, other = 0;
  const auto compare = [&](const std::string& text) {
    if (split_sentences(text).empty()) return;
    ++cases;
    const auto want = heard(voice, text, 0, true);
    for (const size_t size : {1, 5}) {
      if (heard(voice, text, size, false) == want) continue;
      std::printf("other: %s\n", text.c_str());
      ++other;
      break;
    }
  };
  while (std::getline(table, line)) {
    const std::string text = line.substr(0, line.find('\t'));
    if (text.empty() || text.front() == '#') continue;
    compare(text);
    several += text + "\n\n";
    endless += text + " ";
    if (cases % 20 != 0) continue;
    compare(several);
    // A sentence of more than one segment may be cut elsewhere, but says the same.
    EXPECT_EQ(sounds(heard(voice, endless, 1, false)), sounds(heard(voice, endless, 0, true)));
    several.clear();
    endless.clear();
  }
  for (const char* text :
       {"I said *now*, not then.", "This is *in the end of all things* true, you see.",
        "NOW I said it again.", "And then I SAID, to all of THEM, no.",
        "Do you want *tea* or coffee?", "\"Is it late?\" she asked. \"No.\""}) {
    compare(text);
  }
  EXPECT_GT(cases, 500);
  EXPECT_EQ(other, 0);
}

TEST(Finch, EndsAtTheBound) {
  SpeechRequest request = greedy("This sentence is longer than the bound allows.");
  request.max_frames = 10;
  const Spoken cut = speak(request);
  EXPECT_EQ(cut.frames.size(), 10u * kFrameWidth);
  EXPECT_EQ(cut.reason, FinishReason::kLength);
  request.text = "Short.";
  request.max_frames = 80;
  request.ignore_stop = true;
  EXPECT_EQ(speak(request).frames.size(), 80u * kFrameWidth);
}

TEST(Finch, LoadsACheckpointOfOneSpeaker) {
  const auto one = dummy_voice([](nlohmann::json& config) {
    config.erase("speakers");
    config.erase("speeds");
  });
  ASSERT_EQ(one->info().voices.size(), 1u);
  EXPECT_EQ(one->info().voices[0].id, "finch");
  EXPECT_FALSE(one->info().mixes);
  EXPECT_EQ(one->info().fastest, 1);
  EXPECT_TRUE(one->open(greedy("Hello.")).ok());
}

TEST(Finch, RefusesWhatItCannotDo) {
  const auto code = [](SpeechRequest request) {
    const auto state = voice()->open(request);
    return state.ok() ? std::string("ok") : state.error().param;
  };
  SpeechRequest request;
  EXPECT_EQ(code(request), "input");
  request.text = "😀 ... 日本";
  EXPECT_EQ(code(request), "input");
  request.text = "Hello.";
  EXPECT_EQ(code(request), "ok");
  request.voice = "robin";
  EXPECT_EQ(code(request), "voice");
  request.voice = "finch";
  request.mix = {{"finch", nullptr, 1.f}, {"robin", nullptr, 1.f}};
  EXPECT_EQ(code(request), "voice");
  request.mix = {{"finch", std::make_shared<Voice>(), 1.f}};
  EXPECT_EQ(code(request), "voice");
  request.mix.clear();
  request.language = "fr";
  EXPECT_EQ(code(request), "language");
  request.language = "en-US";
  request.instructions = "whisper";
  EXPECT_EQ(code(request), "instructions");
  request.instructions.clear();
  request.guidance = 2.f;
  EXPECT_EQ(code(request), "guidance");
  request.guidance.reset();
  request.text = std::string(300'000, 'a');
  EXPECT_EQ(check_request(voice()->info(), request).error().param, "input");
}

TEST(Frontend, GivesSymbolsBetweenPauses) {
  const Frontend frontend;
  const auto segments = frontend.read(split_sentences("The apple costs $5, right?")[0]);
  ASSERT_EQ(segments.size(), 1u);
  const auto& names = phone_names();
  EXPECT_EQ(names[segments[0].symbols.front().phone], "pau.start");
  EXPECT_EQ(names[segments[0].symbols.back().phone], "pau.rise");
  EXPECT_EQ(segments[0].words.size(), 5u);
  EXPECT_EQ(names[segments[0].symbols[2].phone], "iy");  // "the" before a vowel
}

/// The phones of a text's first sentence without pauses, separated by spaces.
std::string phones(const Frontend& frontend, const std::string& text) {
  std::string out;
  const auto segments = frontend.read(split_sentences(text)[0]);
  for (const PhoneSymbol& symbol : segments[0].symbols) {
    if (symbol.word < 0) continue;
    out += (out.empty() ? "" : " ") + std::string(phone_names()[symbol.phone]);
  }
  return out;
}

TEST(Frontend, SaysTheNamesOfLetters) {
  const Frontend frontend;
  EXPECT_EQ(phones(frontend, "The FBI."), "dh iy eh1 f b iy1 ay1");
  EXPECT_EQ(phones(frontend, "A man."), "ax m ae1 n");
  EXPECT_EQ(phones(frontend, "Plan A."), "p l ae1 n ey");
  EXPECT_EQ(phones(frontend, "CPUs"), "s iy1 p iy1 y uw1 z");
  // What libflite would take for something else: a numeral, a state, a title.
  EXPECT_EQ(phones(frontend, "MIX IT"), phones(frontend, "mix it"));
  EXPECT_EQ(phones(frontend, "ME OR YOU"), phones(frontend, "me or you"));
}

/// The phones of what a text is read as.
std::string phones_of(const Frontend& frontend, const std::string& text,
                      std::vector<Saying> sayings = {},
                      std::shared_ptr<const Lexicon> lexicon = nullptr) {
  SentenceReader reader(std::move(sayings), std::move(lexicon));
  reader.push(text, true);
  std::deque<Sentence> sentences;
  while (reader.next(sentences)) {
  }
  std::string out;
  for (const Sentence& sentence : sentences) {
    for (const Segment& segment : frontend.read(sentence)) {
      for (const PhoneSymbol& symbol : segment.symbols) {
        if (symbol.word < 0) continue;
        out += (out.empty() ? "" : " ") + std::string(phone_names()[symbol.phone]);
        if (symbol.lift > 0) out += '!';
      }
    }
  }
  return out;
}

TEST(Frontend, SaysGivenPhones) {
  const Frontend frontend;
  const Phones phones = phones_of_arpabet("S IH1 R IH0 NG K S").value();
  EXPECT_EQ(phones_of(frontend, "Go 12x now.", {{3, 6, "", phones}}),
            "g ow1 s ih1 r ih ng k s n aw1");
  // Equal ones beside each other, and with other words in one token.
  EXPECT_EQ(phones_of(frontend, "x x-x.", {{0, 1, "", phones}, {2, 3, "", phones}, {4, 5, "", phones}}),
            "s ih1 r ih ng k s s ih1 r ih ng k s s ih1 r ih ng k s");
  const auto lexicon = Lexicon::parse("Syrinx {S IH1 R IH0 NG K S}\nnginx engine X").take();
  EXPECT_EQ(phones_of(frontend, "Syrinx", {}, lexicon), "s ih1 r ih ng k s");
  EXPECT_EQ(phones_of(frontend, "(nginx)", {}, lexicon), phones_of(frontend, "engine X"));
  // A saying goes before a lexicon.
  EXPECT_EQ(phones_of(frontend, "nginx", {{0, 5, "", phones}}, lexicon), "s ih1 r ih ng k s");
}

TEST(Frontend, SaysHeteronymsByTheirSentence) {
  const Frontend frontend;
  EXPECT_EQ(phones_of(frontend, "They record a record."),
            "dh ey1 r ih k ao1 r d ax r eh1 k er d");
}

TEST(Frontend, GivesAccents) {
  const Frontend frontend;
  EXPECT_EQ(phones_of(frontend, "Go *to* him."), "g ow1 t! ah1! hh ih1 m");
  EXPECT_EQ(phones_of(frontend, "I said NOW."), "ay1 s eh1 d n! aw1!");
  EXPECT_EQ(phones_of(frontend, "Go to him.").find('!'), std::string::npos);
}

TEST(Frontend, LiftsTheStressedSyllable) {
  const Frontend frontend;
  const auto lifts = [&](const std::string& text) {
    std::string out;
    const auto segments = frontend.read(split_sentences(text)[0]);
    for (const PhoneSymbol& symbol : segments[0].symbols) {
      if (symbol.lift > 0) out += concat(phone_names()[symbol.phone], " ", symbol.lift, " ");
    }
    return out;
  };
  EXPECT_EQ(lifts("A *banana* fell."), "b 60 ax 60 n 300 ae1 300 n 300 ax 120 ");
  // Of several words those that mean something, and a little one by itself.
  EXPECT_EQ(lifts("It is *the end* of it."), lifts("It is the *end* of it."));
  EXPECT_EQ(lifts("It is *the* dog."), "dh 300 ah1 300 ");
}

/// Pitch in Hz and loudness in dB of what is voiced between two frames, of which a fifth is higher
/// and louder, with the frames' number.
struct Voiced {
  double pitch = 0, decibels = 0;
  int64_t frames = 0;
};

/// By autocorrelation, in windows of 40 ms.
Voiced voiced(const std::vector<float>& samples, int64_t first, int64_t end) {
  const int rate = voice()->info().sample_rate, frame = rate / 25;
  std::vector<double> pitches, powers;
  for (int64_t at = first * frame; at + frame <= end * frame; at += frame / 4) {
    const auto sum = [&](int lag) {
      double all = 0;
      for (int i = 0; i + lag < frame; ++i) all += samples[at + i] * samples[at + i + lag];
      return all / (frame - lag);
    };
    const double power = sum(0);
    int best = 0;
    for (int lag = rate / 400; lag < rate / 90; ++lag) {
      if (best == 0 || sum(lag) > sum(best)) best = lag;
    }
    if (power < 1e-4 || sum(best) < 0.6 * power) continue;
    pitches.push_back(static_cast<double>(rate) / best);
    powers.push_back(power);
  }
  if (pitches.empty()) return {};
  std::sort(pitches.begin(), pitches.end());
  std::sort(powers.begin(), powers.end());
  const size_t fifth = pitches.size() * 4 / 5;
  return {pitches[fifth], 10 * std::log10(powers[fifth]), end - first};
}

/// How a text says its word number `word`.
Voiced word_of(const std::string& text, size_t word) {
  const Spoken spoken = speak(greedy(text));
  const std::vector<float> samples = decode(spoken.frames, {1000});
  return voiced(samples, spoken.words.at(word).frame, spoken.words.at(word + 1).frame);
}

/// On the shipped voice: higher by one and a half to four semitones, louder, longer.
TEST(Finch, AnAccentIsHeard) {
  struct Case {
    const char *plain, *strong;
    size_t word;
  };
  for (const Case& one : {Case{"I want the blue car today.", "I want the *blue* car today.", 3},
                          Case{"The woman came home.", "The WOMAN came home.", 1},
                          Case{"We never said that again.", "We *never* said that again.", 1}}) {
    const Voiced plain = word_of(one.plain, one.word), strong = word_of(one.strong, one.word);
    const double semitones = 12 * std::log2(strong.pitch / plain.pitch);
    const double louder = strong.decibels - plain.decibels;
    const std::string what = concat(one.strong, ": ", semitones, " semitones, ", louder, " dB, ",
                                    plain.frames, " to ", strong.frames, " frames");
    EXPECT_GT(semitones, 1.5) << what;
    EXPECT_LT(semitones, 4) << what;
    EXPECT_GT(louder, 0.5) << what;
    EXPECT_GT(strong.frames, plain.frames) << what;
  }
}

TEST(Finch, AccentsStreamWithoutSeams) {
  const std::string text = "I want *this* one, not THAT one.";
  const Spoken spoken = speak(greedy(text));
  const auto whole = decode(spoken.frames, {1000});
  EXPECT_EQ(whole, decode(spoken.frames, {1}));
  EXPECT_EQ(whole, decode(spoken.frames, {1, 6}));
  EXPECT_EQ(whole, decode(spoken.frames, {3, 2, 7}));
  int highest = 0, before = 0;
  for (size_t i = kFrameCodes; i < spoken.frames.size(); i += kFrameWidth) {
    EXPECT_LE(std::abs(spoken.frames[i] - before), 150) << "it jumps";
    before = spoken.frames[i];
    highest = std::max(highest, before);
  }
  EXPECT_GT(highest, 250);
  EXPECT_EQ(before, 0) << "it does not end";
  // Each sentence begins anew.
  const std::vector<int32_t> two = speak(greedy("Do it NOW. Yes.")).frames;
  for (size_t i = 0; i < two.size(); i += kFrameWidth) {
    if (two[i + kBooks + 1] != 0) continue;  // no symbol before: its first
    EXPECT_EQ(two[i + kFrameCodes], 0) << i / kFrameWidth;
  }
}

TEST(Frontend, PausesAsTheLayoutSays) {
  const auto pauses = [](const std::string& text) {
    std::vector<float> out;
    for (const Sentence& sentence : split_sentences(text)) out.push_back(sentence.pause_s);
    return out;
  };
  using List = std::vector<float>;
  EXPECT_EQ(pauses("One. Two.\n\nThree."), (List{0, 0.4f, 0}));
  EXPECT_EQ(pauses("Chapter One\n\nIt began."), (List{0.6f, 0}));
  EXPECT_EQ(pauses("# Title\nIt began."), (List{0.6f, 0}));
  EXPECT_EQ(pauses("\"Yes,\" he said.\n\n\"No.\""), (List{0.25f, 0}));
  EXPECT_EQ(pauses("- one\n- two\n- three"), (List{0.2f, 0.2f, 0}));
}

/// Silence goes between what is spoken, scaled by the speed, and nothing of it hangs at the end.
TEST(Finch, PausesBetweenParagraphs) {
  const auto speak = [](const std::string& text, float speed) {
    SpeechRequest request = greedy(text);
    request.speed = speed;
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

TEST(Frontend, BoundsItsSegments) {
  const Frontend frontend;
  std::string text = "1";
  for (int i = 0; i < 14; ++i) text += ",234";
  for (const Sentence& sentence : split_sentences(text + " " + text + " www.wwwwwwww.com.")) {
    for (const Segment& segment : frontend.read(sentence)) {
      EXPECT_LE(static_cast<int>(segment.symbols.size()), kMaxSymbols);
    }
  }
}

}  // namespace
}  // namespace syrinx::finch
