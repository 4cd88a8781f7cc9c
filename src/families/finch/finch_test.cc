// The shipped voice against PyTorch (golden/, made by training/golden.py), and the promises of the
// contract: the same in any batch, the same however the stream is cut.
#include "families/finch/finch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "families/finch/config.h"
#include "families/finch/frontend.h"
#include "families/finch/state.h"
#include "io/weights.h"

namespace syrinx::finch {
namespace {

const std::string kVoice = SYRINX_SOURCE_DIR "/voices/finch";
const std::string kGolden = SYRINX_SOURCE_DIR "/src/families/finch/golden/finch.safetensors";
const std::string kGoldenText = "Can you hear me?";

std::shared_ptr<const Pipeline> voice() {
  static const auto pipeline = load({kVoice, "finch", WeightType::kF32, false});
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
  std::vector<float> first_logits;  // of the first steps, all heads but the pointer's
  FinishReason reason = FinishReason::kError;
};

/// Steps requests together, one row each, until all have ended. No engine: greedy choices.
class Driver {
 public:
  Driver() : pool_(1), ctx_{pool_, arena_} {}

  std::vector<Spoken> run(const std::vector<RequestState*>& states) {
    const ArStage& ar = voice()->ar();
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
            const std::vector<RequestState*>& states, const std::vector<size_t>& live,
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
      StepOutput out(spoken[i].frames, spoken[i].words);
      const Verdict verdict =
          states[i]->advance({codes.i32() + e * vocab.size(), vocab.size()}, out);
      ++steps[i];
      if (verdict.next == Verdict::kNextSegment) steps[i] = 0;
      done[i] = verdict.next == Verdict::kFinished || steps[i] >= states[i]->max_steps();
      if (verdict.next == Verdict::kFinished) spoken[i].reason = verdict.reason;
    }
    arena_.reset();
  }

  ThreadPool pool_;
  Arena arena_;
  StepContext ctx_;
};

std::unique_ptr<RequestState> open(const SpeechRequest& request) {
  auto state = voice()->open(request);
  EXPECT_TRUE(state.ok()) << state.error().message;
  return state.take();
}

Spoken speak(const SpeechRequest& request) {
  const auto state = open(request);
  return Driver().run({state.get()})[0];
}

/// Samples of frames, cut into chunks of the given sizes (the last one repeats).
std::vector<float> decode(const std::vector<int32_t>& frames, std::vector<int> cuts) {
  const ChunkStage& stage = *voice()->links()[0].stage;
  Driver driver;
  const auto state = open(greedy("hi"));
  const auto stream = stage.open(*state);
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

TEST(Finch, EqualsTheReference) {
  Weights golden(open_weights(kGolden));
  const int64_t frames = (*golden.shape("frames"))[0];
  const View want = golden.take("frames", {frames, kFrameWidth});
  const Tensor samples = golden.f32("samples", {frames * 640});
  const Tensor logits = golden.f32("logits", {4, 3 * 256 + 4});

  const Spoken spoken = speak(greedy(kGoldenText));
  EXPECT_EQ(spoken.reason, FinishReason::kStop);
  ASSERT_EQ(static_cast<int64_t>(spoken.frames.size()), frames * kFrameWidth);
  for (size_t i = 0; i < spoken.frames.size(); ++i) {
    const auto* bytes = static_cast<const int32_t*>(want.data);
    ASSERT_EQ(spoken.frames[i], bytes[i]) << "frame " << i / kFrameWidth;
  }
  double worst = 0, size = 0;
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 768; ++i) {
      const double expected = logits.f32()[t * 772 + i];
      worst = std::max(worst, std::abs(spoken.first_logits[t * 768 + i] - expected));
      size = std::max(size, std::abs(expected));
    }
  }
  EXPECT_LT(worst / size, 1e-4);
  const std::vector<float> made = decode(spoken.frames, {1000});
  golden.finish();
  double error = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    error = std::max(error, std::abs(static_cast<double>(made[i]) - samples.f32()[i]));
  }
  EXPECT_LT(error, 1e-4);
}

TEST(Finch, StreamsWithoutSeams) {
  const Spoken spoken = speak(greedy("Yes, it does. How about you?"));
  const auto whole = decode(spoken.frames, {10000});
  EXPECT_EQ(whole, decode(spoken.frames, {1}));
  EXPECT_EQ(whole, decode(spoken.frames, {1, 6}));
  EXPECT_EQ(whole, decode(spoken.frames, {3, 2, 7}));
}

TEST(Finch, SaysTheSameInABatch) {
  const std::vector<std::string> texts = {"Hello.", "It costs $12.50 today.", "One, two, three?"};
  std::vector<std::unique_ptr<RequestState>> states;
  std::vector<RequestState*> all;
  for (const auto& text : texts) {
    states.push_back(open(greedy(text)));
    all.push_back(states.back().get());
  }
  const auto together = Driver().run(all);
  for (size_t i = 0; i < texts.size(); ++i) {
    const Spoken alone = speak(greedy(texts[i]));
    EXPECT_EQ(alone.frames, together[i].frames) << texts[i];
    EXPECT_EQ(together[i].reason, FinishReason::kStop);
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

TEST(Finch, TakesTextInPieces) {
  SpeechRequest request = greedy("");
  request.text_open = true;
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
  request.language = "fr";
  EXPECT_EQ(code(request), "language");
  request.language = "en-US";
  request.instructions = "whisper";
  EXPECT_EQ(code(request), "instructions");
  request.instructions.clear();
  request.text = std::string(300'000, 'a');
  EXPECT_EQ(code(request), "input");
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
