// Tests of the readers of Japanese and Chinese. Expected phonemes and numbers come from misaki
// 0.9.4, cn2an 0.5.24 and pypinyin 0.55.0. Small stand-ins replace mecab and jieba's files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "families/kokoro/bopomofo.h"
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

/// Sets an environment variable and restores it on destruction.
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

/// A program with the name mecab that prints recorded output of mecab.
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
  const Pinyin pinyin(packed_pinyin());
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
  const StandInJieba files;  // 'x' is not a position in a word
  EXPECT_NE(fault(files.path()).find("finalseg/prob_emit.py"), std::string::npos);
  files.dir().write("dict.txt", "我 many r\n");
  EXPECT_NE(fault(files.path()).find("dict.txt"), std::string::npos);
}

TEST(KokoroChinese, SentencesHaveMisakisPhonemes) {
  const StandInJieba files;
  files.dir().write("finalseg/prob_emit.py", "P={'S': {'\\u5f20': -9.5}}\n");
  Result<std::unique_ptr<const Jieba>> jieba = Jieba::load(files.path());
  ASSERT_TRUE(jieba.ok());
  const ChineseReader reader{jieba.take(), Pinyin(packed_pinyin())};
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

TEST(KokoroPinyin, SyllablesHaveBopomofo) {
  const std::vector<std::pair<std::string, std::string>> said{
      {"zhong1", "ㄓ中1"}, {"shi4", "ㄕ十4"}, {"zi3", "ㄗㄭ3"},  {"yuan2", "元2"},
      {"xue2", "ㄒ月2"},   {"lve4", "ㄌ月4"}, {"nv3", "ㄋㄩ3"},  {"er2", "ㄦ2"},
      {"jiu3", "ㄐ又3"},   {"gui4", "ㄍ为4"}, {"lun2", "ㄌ文2"}, {"weng1", "瓮1"},
      {"yong3", "用3"},    {"bo1", "ㄅㄛ1"},  {"wu5", "ㄨ5"},    {"n2", "ㄋ2"},
      {"qu4", "ㄑㄩ4"},    {"ri4", "ㄖ十4"},  {"ng2", "?"},      {"", "?"}};
  for (const auto& [syllable, want] : said) {
    const std::vector<std::string> one{syllable};
    EXPECT_EQ(bopomofo_of(U"?", one, false), want) << syllable;
  }
  const std::vector<std::string> words[] = {{"ge1", "er2"}, {"wan2", "er2"}, {"e2", "er2"}};
  EXPECT_EQ(bopomofo_of(U"歌儿", words[0], true), "ㄍㄦ1");
  EXPECT_EQ(bopomofo_of(U"玩儿", words[1], true), "万R2");
  EXPECT_EQ(bopomofo_of(U"鹅儿", words[2], true), "ㄜR2");
}

/// Adds the files of jieba.posseg, and words with their parts of speech, to a stand-in.
void write_tags(const StandInJieba& files) {
  files.dir().write("dict.txt",
                    "我 328841 r\n不 360331 d\n不怕 900 c\n看 66641 v\n一 217830 m\n一个 142747 "
                    "m\n一天 8470 m\n第一 17725 m\n老虎 732 nr\n纸老虎 46 n\n你好 725 l\n朋友 9200 "
                    "n\n们 41212 k\n我们 98740 r\n走 50437 v\n了 883634 ul\n玩儿 220 n\n花儿 288 "
                    "n\n老鼠 747 n\n展览 1437 v\n展览馆 155 n\n小孩子 1026 n\n小孩 1589 n\n水果 "
                    "1510 n\n很 69103 zg\n好 92543 a\n爱 14878 v\n大学 20025 n\n北京 34488 ns\n");
  files.dir().write("finalseg/prob_emit.py", "P={'S': {'\\u5f20': -9.5}}\n");
  files.dir().write("posseg/prob_start.py",
                    "P={('B', 'nr'): -1.0,\n ('E', 'nr'): -3.14e+100,\n ('S', 'ul'): -3.0,\n ('S', "
                    "'v'): -2.0}\n");
  files.dir().write("posseg/prob_trans.py",
                    "P={('B', 'nr'): {('E', 'nr'): -0.1},\n ('E', 'nr'): {('S', 'ul'): -1, ('S', "
                    "'v'): -1.5},\n ('S', 'ul'): {},\n ('S', 'v'): {('S', 'ul'): -0.5,\n ('S', "
                    "'v'): -2}}\n");
  files.dir().write("posseg/prob_emit.py",
                    "P={('B', 'nr'): {'\\u5f20': -1.0},\n ('E', 'nr'): {'\\u4e09': -1.0},\n ('S', "
                    "'ul'): {'\\u4e86': -0.1},\n ('S', 'v'): {'\\u7231': -1.0, '\\u8d70': -2}}\n");
  files.dir().write("posseg/char_state_tab.py",
                    "P={'\\u5f20': (('B', 'nr'),\n ('S', 'v')),\n '\\u4e09': (('E', 'nr'), ('S', "
                    "'v')),\n '\\u4e86': (('S', 'ul'),),\n '\\u7231': (('S', 'v'),)}\n");
}

TEST(KokoroChinese, SentencesOfVersion11HaveMisakisPhonemes) {
  const StandInJieba files;
  write_tags(files);
  const Environment folder("SYRINX_JIEBA", files.path());
  const auto reader = chinese_reader(ChineseAlphabet::kBopomofo);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  const auto said = [&](const std::string& text) {
    return joined(chinese_words(*reader.value(), items_of(text), english_reader()).at(0));
  };
  EXPECT_EQ(said("我不怕。"), "我3/ㄅㄨ2ㄆㄚ4.");
  EXPECT_EQ(said("看一看"), "ㄎㄢ4ㄧ5ㄎㄢ4");
  EXPECT_EQ(said("一天，一个"), "ㄧ4ㄊ言1, ㄧ2ㄍㄜ5");
  EXPECT_EQ(said("第一"), "ㄉㄧ4ㄧ1");
  EXPECT_EQ(said("纸老虎"), "ㄓ十3ㄌㄠ2ㄏㄨ3");
  EXPECT_EQ(said("展览馆"), "ㄓㄢ2ㄌㄢ2ㄍ万3");
  EXPECT_EQ(said("你好"), "ㄋㄧ2ㄏㄠ3");
  EXPECT_EQ(said("朋友们"), "ㄆㄥ2又5/ㄇㄣ5");
  EXPECT_EQ(said("玩儿"), "万R2");
  EXPECT_EQ(said("花儿"), "ㄏ穵1ㄦ2");
  EXPECT_EQ(said("我们走了。"), "我3ㄇㄣ5/ㄗㄡ3/ㄌㄜ5.");
  EXPECT_EQ(said("小孩子"), "ㄒ要3ㄏㄞ2ㄗㄭ5");
  EXPECT_EQ(said("水果很好"), "ㄕ为2ㄍ我2ㄏㄣ3/ㄏㄠ3");
  EXPECT_EQ(said("《大学》"), "“ㄉㄚ4ㄒ月2”");
  EXPECT_EQ(said("张三爱北京"), "ㄓㄤ1ㄙㄢ1/ㄞ4/ㄅㄟ3ㄐ应1");
  EXPECT_EQ(said("我爱London，北京"), "我3/ㄞ4 lˈʌndən , ㄅㄟ3ㄐ应1");
  EXPECT_EQ(said("在𠀀"), "ㄗㄞ4𠀀");
  const auto words = chinese_words(*reader.value(), items_of("我爱北京"), english_reader()).at(0);
  EXPECT_EQ(words[2].begin, 6);
  EXPECT_EQ(words[2].end, 12);
}

TEST(KokoroChinese, FaultyFilesOfVersion11AreRefused) {
  const StandInJieba files;
  const auto fault = [&] {
    const auto got = TagModel::load(files.path());
    return got.ok() ? "" : got.error().message;
  };
  EXPECT_NE(fault().find("apt-get install python3-jieba"), std::string::npos);
  write_tags(files);
  EXPECT_EQ(fault(), "");
  for (const std::string text : {"", "P={", "P={('B', 'zz'): {('E', 'nr'): -0.1}}", "P={('B'"}) {
    files.dir().write("posseg/prob_trans.py", text);
    EXPECT_NE(fault().find("posseg/prob_trans.py does not have the format of jieba"),
              std::string::npos)
        << text;
  }
}

// Measures how many sentences get misaki's phonemes, without checking a bound. KOKORO_JAPANESE,
// KOKORO_CHINESE and, for version 1.1, KOKORO_CHINESE_11 name files that
// tests/real/kokoro/east_asia.py wrote, with a text and its phonemes per line. Needs mecab and
// jieba's files.
class KokoroEastAsia : public testing::TestWithParam<const char*> {};

TEST_P(KokoroEastAsia, MeasuredAgainstMisakisSentences) {
  const char* path = std::getenv(GetParam());
  if (path == nullptr) GTEST_SKIP() << GetParam() << " names no file of sentences";
  const std::string_view kind = GetParam();
  const bool chinese = kind != "KOKORO_JAPANESE";
  const auto alphabet =
      kind == "KOKORO_CHINESE" ? ChineseAlphabet::kIpa : ChineseAlphabet::kBopomofo;
  const auto without_spaces = [](std::string text) {
    std::erase(text, ' ');
    return text;
  };
  int count = 0, same = 0, same_sounds = 0;
  std::ifstream in(path);
  for (std::string text, want; std::getline(in, text, '\t') && std::getline(in, want);) {
    std::string got;
    if (chinese) {
      const auto reader = chinese_reader(alphabet);
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
                         testing::Values("KOKORO_JAPANESE", "KOKORO_CHINESE", "KOKORO_CHINESE_11"));

}  // namespace
}  // namespace syrinx::kokoro
