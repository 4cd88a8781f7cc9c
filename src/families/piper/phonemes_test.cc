// Tests how texts become clauses, phonemes and ids. A table of phonemes replaces espeak-ng.
#include "families/piper/phonemes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "families/loading/espeak.h"
#include "families/piper/clauses.h"
#include "families/piper/piper.h"
#include "families/piper/voice_fixture.h"
#include "io/program.h"
#include "io/test_dir.h"

namespace syrinx::piper {
namespace {

std::vector<std::string> cut(const std::string& text) {
  std::vector<std::string> out;
  for (const Clause& clause : clauses_of({text, 0})) {
    out.push_back(clause.say + "|" + (clause.mark ? std::string(1, clause.mark) : "") + "|" +
                  std::to_string(clause.words.size()));
  }
  return out;
}

TEST(PiperClauses, EndAtMarksBeforeSpaces) {
  using Cut = std::vector<std::string>;
  EXPECT_EQ(cut("One, two: three; four."),
            (Cut{"One,|,|1", " two:|:|1", " three;|;|1", " four.|.|1"}));
  EXPECT_EQ(cut("At 10:30, 3.5 or 1,000."), (Cut{"At 10:30,|,|2", " 3.5 or 1,000.|.|3"}));
  EXPECT_EQ(cut("Dr. Who (really?) came."), (Cut{"Dr. Who (really?|?|3", ") came.|.|1"}));
  EXPECT_EQ(cut("He said \"no.\""), (Cut{"He said \"no.|.|3"}));
  EXPECT_EQ(cut("Well - yes — no"), (Cut{"Well - yes —|;|2", " no||1"}));
  EXPECT_EQ(cut("[[x]] a"), (Cut{"  x   a||2"}));
  EXPECT_EQ(cut("你好，世界。"), (Cut{"你好，|,|1", "世界。|.|1"}));
  EXPECT_EQ(cut("..."), Cut{});
  EXPECT_EQ(cut(""), Cut{});
}

TEST(PiperClauses, SayingsStandInTheirPlaces) {
  WrittenText text{"ab cd ef.", 0};
  text.sayings = {{.begin = 0, .end = 2, .words = "xx"},
                  {.begin = 3, .end = 5, .phones = {.ipa = "kd", .arpabet = {"k", "d"}}}};
  const std::vector<Clause> all = clauses_of(text);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].say, "xx ");
  EXPECT_TRUE(all[1].ipa);
  EXPECT_EQ(all[1].say, "kd");
  EXPECT_EQ(all[2].say, " ef.");
  EXPECT_EQ(all[2].mark, '.');
}

/// Returns the ids as characters of the fixture's map, without ids of begin, end and pads.
std::string shown_ids(const PiperConfig& config, const SpokenText& text) {
  std::string out;
  for (size_t i = 2; i + 1 < text.ids.size(); i += 2) {
    for (const auto& [phoneme, ids] : config.ids) {
      if (ids[0] == text.ids[i]) out += phoneme;
    }
    EXPECT_EQ(text.ids[i + 1], 0) << "a pad";
  }
  return out;
}

SpokenText read_one(const PiperConfig& config, const std::string& text, int64_t begin = 0) {
  const WrittenText written{text, begin};
  auto all = read_aloud(config, say_letters, {&written, 1});
  EXPECT_TRUE(all.ok());
  return all.value().at(0);
}

TEST(PiperPhonemes, AreThoseOfTheClausesWithTheirMarks) {
  const PiperConfig config = small_config();
  const SpokenText text = read_one(config, "Abc def, g.", 100);
  EXPECT_EQ(shown_ids(config, text), "abc def, g.");
  EXPECT_EQ(text.ids.front(), 1);
  EXPECT_EQ(text.ids.back(), 2);
  ASSERT_EQ(text.words.size(), 3U);
  EXPECT_EQ(text.words[1].begin, 104);
  EXPECT_EQ(text.words[1].end, 107);
  EXPECT_EQ(text.words[1].id, 2 + 2 * 4);
  EXPECT_EQ(text.words[2].id, 2 + 2 * 9);
  EXPECT_TRUE(read_one(config, "ß !").ids.empty());  // the voice knows none of these phonemes
}

TEST(PiperPhonemes, WordsAreSpreadWhereTheirNumberDiffers) {
  const PiperConfig config = small_config();
  const SayClauses say = [](const std::vector<std::string>& clauses, const std::string&) {
    return Result<std::vector<std::string>>(std::vector<std::string>(clauses.size(), "ab cd"));
  };
  const WrittenText written[] = {{"one two three four", 0}, {"one", 0}};
  const auto all = read_aloud(config, say, written);
  ASSERT_TRUE(all.ok());
  std::vector<int32_t> starts;
  for (const WordStart& word : all.value()[0].words) starts.push_back(word.id);
  EXPECT_EQ(starts, (std::vector<int32_t>{2, 2, 8, 8}));
  EXPECT_EQ(all.value()[1].words.size(), 1U);
}

TEST(PiperPhonemes, SwitchesOfLanguageAreLeftOutAndMarksDecomposed) {
  PiperConfig config = small_config();
  config.ids["\xcc\x83"] = {23};  // a combining tilde
  config.ids["ab"] = {22};        // a cluster
  const SayClauses say = [](const std::vector<std::string>&, const std::string&) {
    return Result<std::vector<std::string>>(std::vector<std::string>{"(en)cab(fr)\xc3\xb1"});
  };
  const WrittenText written{"x", 0};
  const auto all = read_aloud(config, say, {&written, 1});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value()[0].ids, (std::vector<int32_t>{1, 0, config.ids["c"][0], 0, 22, 0,
                                                      config.ids["n"][0], 0, 23, 0, 2}));
}

TEST(PiperPhonemes, ATextOfCharactersNeedsNoProgram) {
  PiperConfig config = small_config();
  config.espeak = false;
  const WrittenText written{"ab cd\n", 10};
  const auto all = read_aloud(config, nullptr, {&written, 1});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(shown_ids(config, all.value()[0]), "ab cd");
  ASSERT_EQ(all.value()[0].words.size(), 2U);
  EXPECT_EQ(all.value()[0].words[1].begin, 13);
  EXPECT_EQ(all.value()[0].words[1].end, 15);
}

TEST(PiperPhonemes, ATooLongSentenceIsRefused) {
  const PiperConfig config = small_config();
  const WrittenText written{std::string(kMostIds, 'a'), 0};
  const auto all = read_aloud(config, say_letters, {&written, 1});
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::kInvalid);
}

TEST(PiperPhonemes, EspeakSaysEachClause) {
  if (!run_program({"espeak-ng", "--version"}, "").ok()) GTEST_SKIP() << "no espeak-ng";
  const auto said = say_by_espeak({"Hello world,", "...", "Mr. Smith", "hello"}, "en-us");
  ASSERT_TRUE(said.ok()) << said.error().message;
  ASSERT_EQ(said.value().size(), 4U);
  EXPECT_EQ(said.value()[0], "həlˈoʊ wˈɜːld");
  EXPECT_EQ(said.value()[1], "");
  EXPECT_EQ(said.value()[3], "həlˈoʊ");
  EXPECT_NE(said.value()[2].find("smˈɪθ"), std::string::npos) << said.value()[2];
}

/// Ends the espeak-ng processes that this process has started. Returns their number.
int end_espeaks() {
  int ended = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string id = entry.path().filename().string();
    if (id.find_first_not_of("0123456789") != id.npos) continue;
    const std::string stat = slurp(entry.path().string() + "/stat");
    const std::string mine = ") S " + std::to_string(::getpid()) + " ";
    if (stat.find("(espeak-ng") == stat.npos || stat.find(mine) == stat.npos) continue;
    ended += ::kill(std::stoi(id), SIGKILL) == 0 ? 1 : 0;
  }
  return ended;
}

TEST(PiperPhonemes, AKeptEspeakSaysWhatANewOneSays) {
  if (!run_program({"espeak-ng", "--version"}, "").ok()) GTEST_SKIP() << "no espeak-ng";
  const std::pair<const char*, std::vector<std::string>> all[] = {
      {"en-us",
       {"Hello world,", "", "...", "Mr. Smith", "At 10:30, 3.5 or 1,000.",
        "Dr. Who (really?) came.", "*", "I am not a", "the", "NASA and the U.S. in 1984",
        "<b>bold</b> & so on", "read\tread", "caf\xc3\xa9 na\xc3\xafve", std::string(2000, 'a'),
        "one\ntwo", "\xff"}},
      {"de",
       {"Guten Morgen!", "Das kostet 3,50 \xe2\x82\xac", "Computer und Handy", "z.B. 3. Mai"}},
      {"fr-fr", {"les enfants ont mang\xc3\xa9", "21 personnes", "C'est l'\xc3\xa9t\xc3\xa9!"}},
      {"en-us", {"zdragzvok", "a wubbleflink", "wubbleflink. zdragzvok, zdragzvok"}},
      {"en-us", {"after it"}}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& [voice, clauses] : all) {
      std::vector<std::string> later;  // phonemes must not depend on earlier clauses
      for (const std::string& clause : clauses) {
        const auto kept = say_by_espeak({clause}, voice), fresh = say_by_process({clause}, voice);
        ASSERT_EQ(kept.ok(), fresh.ok()) << voice << " " << clause;
        if (kept.ok()) {
          EXPECT_EQ(kept.value(), fresh.value()) << voice << " " << clause;
        }
      }
      const auto kept = say_by_espeak(clauses, voice), fresh = say_by_process(clauses, voice);
      ASSERT_EQ(kept.ok(), fresh.ok()) << voice;
      if (kept.ok()) {
        EXPECT_EQ(kept.value(), fresh.value()) << voice;
      }
    }
    if (round == 0) {
      EXPECT_GT(end_espeaks(), 0);  // so that the next round starts new processes
    }
  }
}

TEST(PiperPhonemes, ManyClausesKeepTheirOrder) {
  if (!run_program({"espeak-ng", "--version"}, "").ok()) GTEST_SKIP() << "no espeak-ng";
  std::vector<std::string> clauses(150, "one");
  clauses[63] = clauses[149] = "two";
  const auto said = say_by_espeak(clauses, "en-us");
  ASSERT_TRUE(said.ok()) << said.error().message;
  ASSERT_EQ(said.value().size(), clauses.size());
  for (size_t i = 0; i < clauses.size(); ++i) {
    EXPECT_EQ(said.value()[i], said.value()[clauses[i] == "two" ? 149 : 0]) << i;
  }
  EXPECT_NE(said.value()[0], said.value()[149]);
}

TEST(PiperPhonemes, ChineseIsNotReadAsEnglish) {
  if (!run_program({"espeak-ng", "--version"}, "").ok()) GTEST_SKIP() << "no espeak-ng";
  const auto said = say_by_espeak({"\u4f60\u597d", "\u6211\u7231\u4f60"}, "cmn");
  ASSERT_TRUE(said.ok()) << said.error().message;
  ASSERT_EQ(said.value().size(), 2u);
  for (const std::string& each : said.value()) {
    EXPECT_EQ(each.find("(en)"), std::string::npos) << each;
    EXPECT_NE(each.find(each == said.value()[0] ? "\u03c7" : "ai"), std::string::npos) << each;
  }
}

TEST(PiperPhonemes, KeptEspeaksAreFewAndServeManyThreads) {
  if (!run_program({"espeak-ng", "--version"}, "").ok()) GTEST_SKIP() << "no espeak-ng";
  const std::string want = say_by_process({"Good morning"}, "en-us").value()[0];
  const char* voices[] = {"en-us", "de", "fr-fr", "es", "it", "pt-br", "nl", "sv", "pl", "en-us"};
  std::vector<std::thread> threads;
  for (const char* voice : voices) {
    threads.emplace_back([voice, &want] {
      for (int i = 0; i < 5; ++i) {
        const auto said = say_by_espeak({"Good morning"}, voice);
        ASSERT_TRUE(said.ok()) << voice;
        if (voice == std::string("en-us")) {
          EXPECT_EQ(said.value()[0], want);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(end_espeaks(), kMostEspeaks);
}

TEST(PiperPhonemes, UnknownSymbolsAreNamed) {
  const PiperConfig config = small_config();
  const SayClauses say = [](const std::vector<std::string>&, const std::string&) {
    return Result<std::vector<std::string>>(std::vector<std::string>{"a\xc9\xa3\xc9\xa3z b"});
  };
  const WrittenText written{"x", 0};
  const auto all = read_aloud(config, say, {&written, 1});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value()[0].unsaid, (std::set<char32_t>{U'z', U'\u0263'}));
  EXPECT_TRUE(read_one(config, "Abc def, g.").unsaid.empty());
}

TEST(PiperConfig, TextsForEspeakAreShort) {
  const TestDir dir;
  std::string json = small_json();
  dir.write("a.onnx.json", json);
  EXPECT_EQ(facts({dir.path("a.onnx"), "a"})->max_text_bytes, 20'000u);
  json.replace(json.find("\"espeak\", \"inf"), 8, "\"text\"");
  dir.write("b.onnx.json", json);
  EXPECT_GT(facts({dir.path("b.onnx"), "b"})->max_text_bytes, 20'000u);
}

TEST(PiperConfig, FaultsNameWhatIsWrong) {
  const auto fault = [](const std::string& from, const std::string& to) -> std::string {
    std::string text = small_json();
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      PiperConfig::from(Config::parse(text, "a.onnx.json"));
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(fault("16000", "1"), "sample_rate");
  has(fault("\"phoneme_type\": \"espeak\"", "\"phoneme_type\": \"pinyin\""),
      "need another program");
  has(fault("\"en-us\"", "\"../../etc/passwd\""), "espeak.voice");
  has(fault("\"_\"", "\"~\""), "expected ids for '_'");
  has(fault("\"num_speakers\": 1", "\"num_speakers\": 0"), "num_speakers");
  has(fault("\"noise_w\": 0.8", "\"noise_w\": -1"), "noise_w");
}

}  // namespace
}  // namespace syrinx::piper
