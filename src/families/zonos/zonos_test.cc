// Tests that need no golden results of the language model: numbers and phonemes equal to those
// of the authors' code, the delay pattern, rules, conditions, voices, refused requests, and
// faulty checkpoints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/zonos/fixture.h"
#include "families/zonos/numbers.h"
#include "families/zonos/pipeline.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "io/program.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx::zonos {
namespace {

nlohmann::json facts() { return nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20)); }

TEST(ZonosNumbers, AsTheAuthorsWriteThem) {
  const nlohmann::json all = facts()["numbers"];
  EXPECT_EQ(all.size(), 8u);
  for (const auto& pair : all) {
    EXPECT_EQ(normalize_numbers(pair[0].get<std::string>()), pair[1].get<std::string>());
  }
  // The authors' code fails for numbers with more than 36 digits.
  EXPECT_TRUE(normalize_numbers(std::string(40, '1')).starts_with("one one one"));
}

TEST(ZonosPhonemes, SymbolsAndLanguagesAreTheAuthors) {
  const auto symbols = facts()["symbols"].get<std::vector<std::string>>();
  EXPECT_EQ(symbol_count(), static_cast<int32_t>(symbols.size()) + 4);
  for (size_t i = 0; i < symbols.size(); ++i) {
    size_t last = i;  // if a character occurs twice, the later id counts
    for (size_t j = i; j < symbols.size(); ++j) {
      if (symbols[j] == symbols[i]) last = j;
    }
    EXPECT_EQ(symbol_ids(symbols[i]), (std::vector<int32_t>{2, static_cast<int32_t>(last) + 4, 3}))
        << symbols[i];
  }
  EXPECT_EQ(symbol_ids("\xf0\x9f\x98\x80"), (std::vector<int32_t>{2, 1, 3}));
  EXPECT_EQ(languages(), facts()["languages"].get<std::vector<std::string>>());
}

TEST(ZonosPhonemes, AreThoseOfTheAuthorsLibraryCalls) {
  const auto version = run_program({"espeak-ng", "--version"}, "");
  if (!version.ok()) GTEST_SKIP() << version.error().message;
  if (version.value().find(" 1.51 ") == std::string::npos) {
    GTEST_SKIP() << "the golden is of espeak-ng 1.51, this is " << version.value();
  }
  const nlohmann::json all = facts()["phonemes"];
  EXPECT_EQ(all.size(), 24u);
  for (const auto& row : all) {
    const auto got =
        espeak_phonemes(normalize_numbers(row[1].get<std::string>()), row[0].get<std::string>());
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got.value(), row[2].get<std::string>()) << row[1];
  }
  // SSML in a text is read as plain text. Invalid bytes cause no error.
  const auto markup = espeak_phonemes("a <break time=\"9s\"/> & b \xff</speak>", "en-us");
  ASSERT_TRUE(markup.ok());
  EXPECT_NE(markup.value().find("b"), std::string::npos);
  EXPECT_EQ(espeak_phonemes("x [[f]] y", "en-us").value(), "ˈɛks ˈɛf wˈaɪ");
}

TEST(ZonosPhonemes, SilentWordsStartNoProgramEach) {
  if (!run_program({"espeak-ng", "--version"}, "").ok()) GTEST_SKIP() << "no espeak-ng";
  // A program with the name espeak-ng counts its runs. No other test keeps a process for this
  // language.
  constexpr const char* kLanguage = "en-gb-scotland";
  const TestDir dir;
  const std::string path = std::getenv("PATH");
  const std::string program =
      dir.write("espeak-ng", "#!/bin/sh\necho run >> '" + dir.path("runs") + "'\nPATH='" + path +
                                 "' exec espeak-ng \"$@\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  std::string text;
  for (int i = 0; i < 50; ++i) text += "⁂,";
  for (const char* sign : {"§", "☭", "♖", "⌘", "❦"}) text += sign + std::string(";");
  text += "Hello,⁂";
  ::setenv("PATH", (dir.path("") + ":" + path).c_str(), 1);
  const auto got = espeak_phonemes(text, kLanguage);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(got.ok()) << got.error().message;
  const std::string runs = read_file(dir.path("runs"), 1 << 20);
  EXPECT_LE(std::ranges::count(runs, '\n'), 3);
  // The result equals that of single words: silent words stay silent, and no word gets the phonemes
  // of another word.
  std::string alone = std::string(50, ',');
  for (const char* sign : {"§", "☭", "♖", "⌘", "❦"}) {
    alone += espeak_phonemes(sign, kLanguage).value() + ";";
  }
  EXPECT_EQ(got.value(), alone + espeak_phonemes("Hello", kLanguage).value() + ",");
}

TEST(ZonosPhonemes, SaysWhatIsMissing) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  const auto got = espeak_phonemes("Hello.", "en-029");
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(got.error().message.find("apt-get install espeak-ng"), std::string::npos);
}

class ZonosTest : public FamilyTest<Zonos> {
 protected:
  ZonosTest() : FamilyTest(golden("checkpoint"), letters) {}

  /// The ids and the vector of a row.
  using Row = std::pair<std::vector<int32_t>, std::vector<float>>;
  static Row row(const Sequence& state, int pos) {
    std::vector<int32_t> ids(10);
    const GivenRow vector = row_of(state, pos, false, ids);
    return {ids, {vector.begin(), vector.end()}};
  }
  /// Makes a row of codes, which has no symbol.
  static Row column(std::vector<int32_t> codes) {
    codes.insert(codes.begin(), -1);
    return {codes, {}};
  }
  /// Takes a step in which the code of codebook k is 100 * step + k, or the end.
  Verdict feed(Sequence& state, int step, bool end = false) {
    std::vector<int32_t> codes;
    for (int k = 0; k < 9; ++k) codes.push_back(100 * step + k);
    if (end) codes[0] = 1024;
    return say(state, codes);
  }
};

TEST_F(ZonosTest, NumbersAreSpelledUnlessTheRequestSaysOtherwise) {
  const auto symbols = [this](const std::string& text, std::optional<bool> spell) {
    SpeechRequest request = plain(text);
    request.say.spell_numbers = spell;
    return ids(request);
  };
  EXPECT_EQ(symbols("In 1999.", {}), symbol_ids("In nineteen ninety-nine."));
  EXPECT_EQ(symbols("In 1999.", true), symbol_ids("In nineteen ninety-nine."));
  EXPECT_EQ(symbols("In 1999.", false), symbol_ids("In 1999."));
}

TEST_F(ZonosTest, TheDelayPattern) {
  const auto opened = open(plain("Hello."));
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(said_.size(), step < 9 ? 0u : 9u);
    EXPECT_EQ(opened->rule(0).allowed[0].end, step == 0 ? 1024 : 1025);
    EXPECT_EQ(opened->rule(8).forced, step < 8 ? 0 : -1);
    EXPECT_EQ(opened->rule(0).forced, -1);
    EXPECT_EQ(feed(*opened, step).next, Verdict::kContinue);
  }
  // The code of codebook k in frame f is from step f + k.
  EXPECT_EQ(said_, (std::vector<int32_t>{0, 101, 202, 303, 404, 505, 606, 707, 808,  //
                                         100, 201, 302, 403, 504, 605, 706, 807, 908}));
  const int prompt = opened->prompt_rows();
  EXPECT_FALSE(row(*opened, prompt - 2).second.empty()) << "a condition";
  EXPECT_EQ(row(*opened, prompt - 1), column(std::vector<int32_t>(9, 1025)));
  EXPECT_EQ(row(*opened, prompt + 2), column({200, 201, 202, 1025, 1025, 1025, 1025, 1025, 1025}));
  EXPECT_EQ(opened->history(2).size(), 10u);
}

TEST_F(ZonosTest, TheEndIsDrained) {
  const auto opened = open(plain("Hello."));
  for (int step = 0; step < 3; ++step) feed(*opened, step);
  EXPECT_EQ(feed(*opened, 3, true).next, Verdict::kContinue);  // only frames 0, 1 and 2 are spoken
  for (int step = 4; step < 10; ++step) {
    EXPECT_EQ(opened->rule(step - 3).forced, 0);
    EXPECT_EQ(opened->rule(step - 2).forced, step - 2 > step ? 0 : -1);
    EXPECT_EQ(feed(*opened, step).next, Verdict::kContinue) << step;
  }
  EXPECT_EQ(row(*opened, opened->prompt_rows() + 5),
            column({1025, 1025, 1024, 503, 504, 505, 1025, 1025, 1025}))
      << "step 5, two after the end";
  EXPECT_EQ(feed(*opened, 10).next, Verdict::kFinished);
  ASSERT_EQ(said_.size(), 27u);
  EXPECT_EQ(said_[26], 1008);
}

TEST_F(ZonosTest, ACompanionLacksOnlyConditions) {
  const auto state = open(plain("Hello."));
  const std::vector<uint64_t> own = keys(*state);
  std::vector<uint64_t> uncond;
  state->prefix_keys(true, uncond);
  ASSERT_EQ(own.size(), uncond.size());
  EXPECT_EQ(own[0], uncond[0]);
  EXPECT_EQ(own[7], uncond[7]);  // the text has the same keys
  EXPECT_NE(own[own.size() - 2], uncond[own.size() - 2]) << "the last condition";
}

TEST_F(ZonosTest, ConditionsByName) {
  SpeechRequest request = plain("Hello.");
  const auto keys_of = [&](const std::string& instructions) {
    request.say.instructions = instructions;
    return keys(*open(request));
  };
  EXPECT_EQ(keys_of(""), keys_of("pitch_std=20 fmax=22050; speaking_rate=15"));
  EXPECT_NE(keys_of(""), keys_of("pitch_std=21"));
  EXPECT_NE(keys_of(""), keys_of("emotion=none"));
  EXPECT_EQ(keys_of("emotion=1,0,0,0,0,0,0,1"), keys_of("emotion=0.5,0,0,0,0,0,0,0.5"));
  EXPECT_NE(keys_of("pitch_std=0"),
            keys_of("pitch_std=400"));  // the smallest and the largest value are allowed
  for (const char* wrong : {"slowly please", "pitch_std=loud", "pitch_std=401", "emotion=1,2",
                            "emotion=0,0,0,0,0,0,0,0", "speaker=1", "espeak=1", "pitch_std=nan"}) {
    request.say.instructions = wrong;
    EXPECT_EQ(refusal(request).param, "instructions") << wrong;
  }
}

TEST_F(ZonosTest, VoicesAndLanguages) {
  EXPECT_EQ(model_.info().speech.voices.size(), 3u);  // none, ann (.pt), bob (.safetensors)
  SpeechRequest request = plain("Hello.");
  request.voice.name = "ann";
  open(request);
  request.voice.name = "carl";
  EXPECT_EQ(refusal(request).code, ErrorCode::kNotFound);
  EXPECT_NE(refusal(request).message.find("none, ann, bob"), std::string::npos);
  request.voice.name = "";
  for (const char* known : {"en-us", "EN", "de", "fr", "auto"}) {
    request.say.language = known;
    open(request);
  }
  for (const char* unknown : {"ja", "klingon"}) {
    request.say.language = unknown;
    EXPECT_EQ(refusal(request).param, "language");
  }
}

/// A changed copy of the small checkpoint, and the error of loading it. Empty: it loads.
struct Copy : CheckpointCopy {
  Copy() : CheckpointCopy(golden("checkpoint")) {}
  std::string fault() const {
    return load_fault_of([&] { Zonos model({dir.path(), "copy"}, letters); });
  }
};

TEST(ZonosLoad, SaysWhatIsWrong) {
  Copy speaker;
  speaker.dir.write("speakers/long.safetensors", slurp(golden("plain.safetensors")));
  expect_fault(speaker.fault(), "expected one tensor");
  Copy codec;
  std::filesystem::remove_all(codec.dir.path("dac_44khz"));
  ::setenv("HF_HUB_CACHE", codec.dir.path("cache").c_str(), 1);
  expect_fault(codec.fault(), "needs descript/dac_44khz");
  ::unsetenv("HF_HUB_CACHE");
}

}  // namespace
}  // namespace syrinx::zonos
