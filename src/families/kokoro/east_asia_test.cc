// Tests of the readers of Japanese and Chinese. Expected phonemes and numbers are those of misaki
// 0.9.4, cn2an 0.5.24 and pypinyin 0.55.0. mecab and jieba's files are small stand-ins.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "families/kokoro/chinese.h"
#include "families/kokoro/japanese.h"
#include "families/kokoro/kana.h"
#include "families/kokoro/written.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx::kokoro {
namespace {

const EnglishReader& english_reader() {
  static const EnglishReader kReader;
  return kReader;
}

/// Sets an environment variable until it is destroyed.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::setenv(name_, before_.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
};

std::string joined(const std::vector<Spoken>& words) {
  std::string out;
  for (const Spoken& each : words) out += (each.space ? " " : "") + each.phonemes;
  return out;
}

std::vector<SentenceStream::Item> items_of(const std::string& text) {
  return {{{.begin = 0, .end = text.size()}, text}};
}

Result<std::string> japanese(const std::string& text) {
  const auto words = japanese_words(items_of(text), english_reader());
  if (!words.ok()) return words.error();
  return joined(words.value().at(0));
}

std::string kana(std::string_view text) { return kana_phonemes(hiragana(utf32_of(text))); }

TEST(KokoroKana, HaveMisakisPhonemes) {
  EXPECT_EQ(kana("にほんご"), "ɲihoŋɡo");
  EXPECT_EQ(kana("シンブン"), "ɕimbɯɴ");
  EXPECT_EQ(kana("きゃっきゃ"), "kʲaʔkʲa");
  EXPECT_EQ(kana("ティーシャツ"), "tʲiːɕaʦɨ");
  EXPECT_EQ(kana("がっこー"), "ɡaʔkoː");
  EXPECT_EQ(kana("ほんや"), "hoɴja");
  EXPECT_EQ(kana("けんきゅー"), "keŋkʲɨː");
  EXPECT_EQ(kana("ファイル"), "ɸaiɾɯ");
  EXPECT_EQ(kana("あんない"), "annai");
  EXPECT_EQ(kana("ヴァイオリン"), "vaioɾʲiɴ");
  EXPECT_EQ(kana("にんじん"), "ɲiɲʥiɴ");
  EXPECT_EQ(kana("デュエット"), "dʲɨeʔto");
  EXPECT_EQ(kana("くぁ"), "kᵝa");
  EXPECT_EQ(kana("、"), "");
}

TEST(KokoroKana, NumbersAreReadOut) {
  const auto said = [](std::string_view digits) { return utf8_of(number_in_kana(digits)); };
  EXPECT_EQ(said("0"), "ゼロ");
  EXPECT_EQ(said("10"), "じゅう");
  EXPECT_EQ(said("101"), "ひゃくいち");
  EXPECT_EQ(said("8600"), "はっせんろっぴゃく");
  EXPECT_EQ(said("3333"), "さんぜんさんびゃくさんじゅうさん");
  EXPECT_EQ(said("1000"), "せん");
  EXPECT_EQ(said("10000"), "いちまん");
  EXPECT_EQ(said("10001000"), "いっせんまんいっせん");
  EXPECT_EQ(said("123456789"),
            "いちおくにせんさんびゃくよんじゅうごまんろくせんななひゃくはちじゅうきゅう");
  EXPECT_EQ(said("1000000000000"), "いっちょう");
  EXPECT_EQ(said("3.05"), "さんてんゼロご");
  EXPECT_EQ(said("10000000000000000").substr(0, 12), "いちゼロ");
}

TEST(KokoroJapanese, WidthsAndNumbersAreNormalised) {
  EXPECT_EQ(japanese_as_read("ｶﾞﾗｽ　８００円"), "ガラス  はっぴゃく円");
  EXPECT_EQ(japanese_as_read("1,980円"), " せんきゅうひゃくはちじゅう円");
  EXPECT_EQ(japanese_as_read("1,98円"), " いち, きゅうじゅうはち円");
  EXPECT_EQ(japanese_as_read("3〜5回"), " さんから ご回");
}

TEST(KokoroJapanese, KanaNeedNoProgram) {
  const Environment path("PATH", "/nowhere");
  EXPECT_EQ(japanese("わたし は ねこ です。").value(), "βataɕi βa neko desɨ.");
  EXPECT_EQ(japanese("「おはよう！」").value(), "“ohajoː!”");
  EXPECT_EQ(japanese("ラーメン、Tokyo！").value(), "ɾaːmeɴ, tˈOkiˌO!");
}

TEST(KokoroJapanese, KanjiWithoutMecabNameWhatToInstall) {
  const Environment path("PATH", "/nowhere");
  const Result<std::string> got = japanese("今日は。");
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(got.error().message.find("apt-get install mecab"), std::string::npos);
}

/// A program with mecab's name that prints recorded output of mecab.
class StandInMecab {
 public:
  explicit StandInMecab(const std::string& printed)
      : path_("PATH", (dir_.path() + ":") + std::getenv("PATH")) {
    dir_.write("printed", printed);
    const std::string program =
        dir_.write("mecab", "#!/bin/sh\ncat > /dev/null\ncat '" + dir_.path("printed") + "'\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

 private:
  const TestDir dir_;
  const Environment path_;
};

TEST(KokoroJapanese, WordsOfUnidicAreJoinedAsMisakiDoes) {
  const auto word = [](const std::string& surface, const std::string& sound) {
    return surface + "\t0\t6\t名詞,普通,,,\"五段,一般\",,ヨミ,lemma," + surface + "," + sound +
           ",a,b,c,d,e,f,g,h\n";
  };
  const StandInMecab program(word("東京", "トーキョー") + word("に", "ニ") + word("住ん", "スン") +
                             word("で", "デ") + word("い", "イ") + word("ます", "マス") +
                             word("。", "*") + "\x01\n");
  const std::string text = "東京に住んでいます。";
  EXPECT_EQ(japanese(text).value(), "toːkʲoː ɲi sɨnde imasɨ.");
  const auto words = japanese_words(items_of(text), english_reader());
  ASSERT_EQ(words.value()[0].size(), 5u);
  EXPECT_EQ(words.value()[0][2].begin, 9);
  EXPECT_EQ(words.value()[0][2].end, 18);
  EXPECT_FALSE(words.value()[0][4].word);
}

TEST(KokoroJapanese, OtherDictionariesAndOutputsAreRefused) {
  for (const std::string printed :
       {"東京\t0\t2\t名詞,地名,*,*,東京,とうきょう,代表\n\x01\n", "東京\n\x01\n", "",
        "西\t0\t2\t名詞,*,*,*,*,*,西,ニシ,ニシ\n\x01\n"}) {
    const StandInMecab program(printed);
    const Result<std::string> got = japanese("東京");
    ASSERT_FALSE(got.ok()) << printed;
    EXPECT_NE(got.error().message.find("expected UniDic, IPADIC"), std::string::npos);
  }
  const StandInMecab program("東京\t0\t2\t名詞,固有,*,*,*,*,東京,トウキョウ,トーキョー\n\x01\n");
  EXPECT_EQ(japanese("東京").value(), "toːkʲoː");
}

TEST(KokoroPinyin, SyllablesHaveMisakisPhonemes) {
  const std::vector<std::pair<std::string, std::string>> said{{"zhong1", "ꭧʊ→ŋ"},
                                                              {"shi4", "ʂɨ↘"},
                                                              {"zi3", "ʦɨ↓"},
                                                              {"yuan2", "ɥɛ↗n"},
                                                              {"xue2", "ɕɥe↗"},
                                                              {"lve4", "lɥe↘"},
                                                              {"nv3", "ny↓"},
                                                              {"er2", "ɚ↗"},
                                                              {"yo1", "wo→"},
                                                              {"ng2", "ŋ↗"},
                                                              {"jiu3", "ʨjou↓"},
                                                              {"gui4", "kwei↘"},
                                                              {"lun2", "lwə↗n"},
                                                              {"weng1", "wə→ŋ"},
                                                              {"yong3", "jʊ↓ŋ"},
                                                              {"bo1", "pwo→"},
                                                              {"hm5", "hm"},
                                                              {"wu5", "u"},
                                                              {"qu4", "ʨʰy↘"},
                                                              {"you3", "jou↓"},
                                                              {"r5", ""},
                                                              {"zhong", ""},
                                                              {"", ""}};
  for (const auto& [syllable, want] : said) EXPECT_EQ(ipa_of_pinyin(syllable), want) << syllable;
}

TEST(KokoroPinyin, PhrasesHaveTheirOwnReadings) {
  const Pinyin pinyin;
  const auto read = [&](std::string_view word) { return pinyin.read(utf32_of(word)); };
  using Syllables = std::vector<std::string>;
  EXPECT_EQ(read("银行"), (Syllables{"yin2", "hang2"}));
  EXPECT_EQ(read("行"), (Syllables{"xing2"}));
  EXPECT_EQ(read("重新"), (Syllables{"chong2", "xin1"}));
  EXPECT_EQ(read("长江银行"), (Syllables{"chang2", "jiang1", "yin2", "hang2"}));
  EXPECT_EQ(read("A"), (Syllables{""}));
}

TEST(KokoroChinese, NumbersAreWrittenOut) {
  EXPECT_EQ(chinese_numbers("2023年5月12日"), "二零二三年五月十二日");
  EXPECT_EQ(chinese_numbers("有100005000人"), "有一亿五千人");
  EXPECT_EQ(chinese_numbers("10500200"), "一千零五十万零二百");
  EXPECT_EQ(chinese_numbers("１２个"), "十二个");
  EXPECT_EQ(chinese_numbers("3-5公里"), "三到五公里");
  EXPECT_EQ(chinese_numbers("3-5"), "三负五");
  EXPECT_EQ(chinese_numbers("1/3"), "三分之一");
  EXPECT_EQ(chinese_numbers("6.5%"), "百分之六点五");
  EXPECT_EQ(chinese_numbers("-25℃"), "负二十五摄氏度");
  EXPECT_EQ(chinese_numbers("0"), "零");
  EXPECT_EQ(chinese_numbers("20010"), "二万零一十");
}

/// A folder with files in jieba's format.
class StandInJieba {
 public:
  StandInJieba() {
    dir_.write("dict.txt",
               "我 5000 r\n爱 1000 v\n北京 800 ns\n北京大学 90 nt\n大学 700 n\n京 10 n\n");
    dir_.write("finalseg/prob_emit.py",
               "P={'B': {'\\u5f20': -1.5,\n 'x': -3},\n'E': {'\\u4e09': -2.0},\n'M': {'\\u4e09': "
               "-9.0},\n'S': {'\\u5f20': -9.5e+00, '\\u4e09': -9.5}}\n");
  }
  std::string path() const { return dir_.path(); }
  const TestDir& dir() const { return dir_; }

 private:
  const TestDir dir_;
};

std::string cut(const Jieba& jieba, std::string_view text) {
  std::string out;
  for (const std::u32string& word : jieba.cut(utf32_of(text))) out += utf8_of(word) + "/";
  return out;
}

TEST(KokoroJieba, CutsByFrequencyAndUnknownWordsByPlace) {
  const StandInJieba files;
  std::ofstream(files.path() + "/finalseg/prob_emit.py")
      << "P={'B': {'\\u5f20': -1.5},\n'E': {'\\u4e09': -2.0},\n'M': {'\\u4e09': -9.0},\n"
         "'S': {'\\u5f20': -9.5e+00, '\\u4e09': -9.5}}\n";
  const auto jieba = Jieba::load(files.path());
  ASSERT_TRUE(jieba.ok()) << jieba.error().message;
  EXPECT_EQ(cut(*jieba.value(), "我爱北京大学"), "我/爱/北京大学/");
  EXPECT_EQ(cut(*jieba.value(), "我爱北京"), "我/爱/北京/");
  EXPECT_EQ(cut(*jieba.value(), "北京张三"), "北京/张三/");
  EXPECT_EQ(cut(*jieba.value(), ""), "");
}

TEST(KokoroJieba, FaultyFilesAreRefused) {
  const auto fault = [](const std::string& folder) {
    const auto got = Jieba::load(folder);
    return got.ok() ? "" : got.error().message;
  };
  EXPECT_NE(fault("/nowhere").find("apt-get install python3-jieba"), std::string::npos);
  const StandInJieba files;  // 'x' is not a place
  EXPECT_NE(fault(files.path()).find("finalseg/prob_emit.py"), std::string::npos);
  files.dir().write("dict.txt", "我 many r\n");
  EXPECT_NE(fault(files.path()).find("dict.txt"), std::string::npos);
}

TEST(KokoroChinese, SentencesHaveMisakisPhonemes) {
  const StandInJieba files;
  files.dir().write("finalseg/prob_emit.py", "P={'S': {'\\u5f20': -9.5}}\n");
  Result<std::unique_ptr<const Jieba>> jieba = Jieba::load(files.path());
  ASSERT_TRUE(jieba.ok());
  const ChineseReader reader{jieba.take(), {}};
  const auto said = [&](const std::string& text) {
    return joined(chinese_words(reader, items_of(text), english_reader()).at(0));
  };
  EXPECT_EQ(said("我爱北京。"), "wo↓ ai↘ pei↓ʨi→ŋ.");
  EXPECT_EQ(said("《大学》，我爱！"), "“ta↘ɕɥe↗” , wo↓ ai↘!");
  EXPECT_EQ(said("我爱London。"), "wo↓ ai↘ lˈʌndən.");
  const auto words = chinese_words(reader, items_of("我爱北京"), english_reader()).at(0);
  EXPECT_EQ(words[2].begin, 6);
  EXPECT_EQ(words[2].end, 12);
}

// Measures how many sentences have misaki's phonemes; checks no bound. KOKORO_JAPANESE and
// KOKORO_CHINESE name files that tests/real/kokoro/east_asia.py wrote: a text and its phonemes per
// line. They need mecab and jieba's files.
class KokoroEastAsia : public testing::TestWithParam<const char*> {};

TEST_P(KokoroEastAsia, MeasuredAgainstMisakisSentences) {
  const char* path = std::getenv(GetParam());
  if (path == nullptr) GTEST_SKIP() << GetParam() << " names no file of sentences";
  const bool chinese = std::string_view(GetParam()) == "KOKORO_CHINESE";
  const auto without_spaces = [](std::string text) {
    std::erase(text, ' ');
    return text;
  };
  int count = 0, same = 0, same_sounds = 0;
  std::ifstream in(path);
  for (std::string text, want; std::getline(in, text, '\t') && std::getline(in, want);) {
    std::string got;
    if (chinese) {
      const auto reader = chinese_reader();
      ASSERT_TRUE(reader.ok()) << reader.error().message;
      got = joined(chinese_words(*reader.value(), items_of(text), english_reader()).at(0));
    } else {
      const Result<std::string> read = japanese(text);
      ASSERT_TRUE(read.ok()) << read.error().message;
      got = read.value();
    }
    ++count;
    same += got == want ? 1 : 0;
    same_sounds += without_spaces(got) == without_spaces(want) ? 1 : 0;
    if (got != want) std::printf("%s\n  %s\n  %s\n", text.c_str(), want.c_str(), got.c_str());
  }
  std::printf("%d sentences: %d as misaki, %d but for spaces\n", count, same, same_sounds);
}

INSTANTIATE_TEST_SUITE_P(Languages, KokoroEastAsia,
                         testing::Values("KOKORO_JAPANESE", "KOKORO_CHINESE"));

}  // namespace
}  // namespace syrinx::kokoro
