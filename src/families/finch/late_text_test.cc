// Tests texts that arrive in pieces and are spoken word by word.
#include <gtest/gtest.h>

#include <cmath>

#include "families/finch/config.h"
#include "families/finch/driver_test.h"
#include "families/finch/frontend.h"
#include "families/finch/state.h"
#include "model/step_runner.h"

namespace syrinx::finch {
namespace {

TEST(Finch, TakesTextInPieces) {
  SpeechRequest request = greedy("");
  request.say.open = true;
  request.say.in_prompt = true;  // speak whole sentences
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

TEST(Finch, LateTextWithoutWordsThatItReadsIsRefused) {
  for (const char* text : {"", "\u4f60\u597d", "..."}) {
    SpeechRequest request = greedy("");
    request.say.open = true;
    const auto state = open(request);
    EXPECT_TRUE(state->append_text(text, false).ok());
    const Status nothing = state->append_text(" ", true);
    ASSERT_FALSE(nothing.ok()) << text;
    EXPECT_EQ(nothing.error().param, "input");
    EXPECT_NE(nothing.error().message.find("Latin letters"), std::string::npos);
  }
}

/// A voice with random weights that speaks word by word.
std::shared_ptr<const Pipeline> wordwise_voice() {
  static const auto pipeline = dummy_voice([](auto& config) { config["lm"]["by_word"] = true; });
  return pipeline;
}

TEST(Finch, SpeaksWordsBeforeTheirSentenceEnds) {
  const Pipeline& voice = *wordwise_voice();
  EXPECT_EQ(voice.info().speech.late_text, LateText::kToken);
  SpeechRequest request = greedy("");
  request.say.open = true;
  const auto state = open(request, voice);
  EXPECT_TRUE(state->append_text("The quick brown", false).ok());
  EXPECT_FALSE(state->ready());
  EXPECT_TRUE(state->append_text(" ", false).ok());
  // The LM needs three symbols after the current one, but "the" has only two.
  EXPECT_FALSE(state->ready());
  EXPECT_TRUE(state->append_text("fox ", false).ok());
  EXPECT_TRUE(state->ready());
  // Ready: the LM reads the symbol before the first word and three more, and "Big" has three.
  request.say.text = "Big cats sat ";
  EXPECT_TRUE(open(request, voice)->ready());
}

TEST(Finch, SpeaksWordByWordWhatItSpeaksAtOnce) {
  const Pipeline& voice = *wordwise_voice();
  for (const char* text : {"Yes, of course, the apple is over there, my friend. And that is all!",
                           "Is it at 5 p.m. on March 3, 1990, or at 6 p.m.? It costs $5 million, "
                           "which Dr. Jones of Main St. paid - if I am right - in 2 ft. cubes."}) {
    SpeechRequest request = greedy(text);
    request.say.in_prompt = false;
    request.terms.max_frames = 400;  // with random weights, it may never end
    const Spoken at_once = speak(request, voice);
    for (const size_t size : {size_t{1}, size_t{7}}) {
      request.say.text.clear();
      request.say.open = true;
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

/// Returns the LM's inputs (symbol, phrase, place, accent) for an open request whose pointer always
/// moves by one. The text arrives in pieces of `size` bytes, each when the LM has nothing to speak.
/// Writes the number of frames to `count`, if it is not null.
std::vector<std::array<int32_t, 4>> heard(const Pipeline& voice, const std::string& text,
                                          size_t size, bool at_once, bool in_prompt = false,
                                          size_t* count = nullptr) {
  SpeechRequest request = greedy(at_once ? text : "");
  request.say.in_prompt = in_prompt;
  request.say.open = !at_once;
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
      if (at_once || given >= text.size()) return out;  // only after an error: all text was sent
      const std::string_view piece = std::string_view(text).substr(given, size);
      given += piece.size();
      EXPECT_TRUE(state->append_text(piece, given == text.size()).ok());
    }
    const GivenRow manner = row_of(finch, position++, false, ids);
    if (ids[kBooks] != 0) {
      const int strong = manner.data() == finch.manner()->strong.data() ? 1 : 0;
      out.push_back({ids[kBooks], ids[kBooks + kHeard], ids[kBooks + kHeard + 1], strong});
    }
    constexpr std::array<float, kMoves> kOneOn{-100, 100, -100, -100};
    StepOutput step(frames, words, nullptr, nullptr, kOneOn);
    const Verdict verdict = state->advance(std::array<int32_t, kBooks>{1, 1, 1}, step);
    if (count != nullptr) *count = frames.size();
    if (verdict.next == Verdict::kFinished) return out;
    if (verdict.next == Verdict::kNextSegment) position = 0;
  }
}

/// Returns the names of the symbols that are not pauses, without their places.
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
    // A sentence with several segments may be cut at other places, but its symbols stay the same.
    EXPECT_EQ(sounds(heard(voice, endless, 1, false)), sounds(heard(voice, endless, 0, true)));
    several.clear();
    endless.clear();
  }
  for (const char* text :
       {"I said *now*, not then.", "This is *in the end of all things* true, you see.",
        "NOW I said it again.", "And then I SAID, to all of THEM, no.",
        "Do you want *tea* or coffee?", "\"Is it late?\" she asked. \"No.\"",
        "It goes on and on and on . And then it ends .",
        "We met in Tel Aviv (\u05ea\u05dc \u05d0\u05d1\u05d9\u05d1) in the spring."}) {
    compare(text);
  }
  EXPECT_GT(cases, 500);
  EXPECT_EQ(other, 0);
}

TEST(Finch, KeepsThePauseBeforeASentenceThatArrivesLate) {
  const Pipeline& voice = *wordwise_voice();
  const std::string text = "One two.\n\nThree four five.";
  for (const bool in_prompt : {true, false}) {
    size_t at_once = 0, late = 0, plain = 0;
    heard(voice, text, 0, true, in_prompt, &at_once);
    heard(voice, text, text.find(" four"), false, in_prompt, &late);
    heard(voice, "One two. Three four five.", 0, true, in_prompt, &plain);
    EXPECT_GT(at_once, plain) << "the paragraph has no pause";
    EXPECT_EQ(late, at_once) << in_prompt;
  }
}

}  // namespace
}  // namespace syrinx::finch
