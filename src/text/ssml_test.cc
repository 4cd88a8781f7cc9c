#include "text/ssml.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/fuzzing.h"
#include "text/say_as.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

Ssml read(const std::string& inside) {
  auto ssml = read_ssml("<speak>" + inside + "</speak>", true);
  EXPECT_TRUE(ssml.ok()) << inside << ": " << (ssml.ok() ? "" : ssml.error().message);
  return ssml.ok() ? ssml.take() : Ssml{};
}
std::string text(const std::string& inside) { return read(inside).text; }
std::string fault(const std::string& document) {
  auto ssml = read_ssml(document, true);
  return ssml.ok() ? "" : ssml.error().message;
}
/// Returns the text to which saying i applies.
std::string about(const Ssml& ssml, size_t i) {
  const Saying& saying = ssml.sayings.at(i);
  return ssml.text.substr(static_cast<size_t>(saying.begin),
                          static_cast<size_t>(saying.end - saying.begin));
}

TEST(Ssml, IsRecognisedByItsBeginning) {
  for (const char* yes : {"<speak>a</speak>", " \n<speak version='1.1'>", "<speak/>",
                          "<?xml version=\"1.0\"?>\n<speak>", "\xef\xbb\xbf<speak>a",
                          "<!DOCTYPE speak><speak>a</speak>",
                          "<?xml version='1.0'?><!DOCTYPE speak PUBLIC '-//W3C//DTD SYNTHESIS "
                          "1.0//EN' 'synthesis.dtd'>\n<speak>a</speak>",
                          "<!doctype speak [<!ENTITY a 'b'>]><speak>&a;</speak>",
                          "<!-- a --> <speak>a</speak>", "<!DOCTYPE x><speak>a</speak>"}) {
    EXPECT_TRUE(is_ssml(yes)) << yes;
  }
  for (const char* no :
       {"", "speak", "<speaker>", "<b>a</b>", "a <speak>", "<?xml <speak>", "<speak",
        "<!DOCTYPE html><html>", "<!-- <speak>", "<!DOCTYPE speaker>a"}) {
    EXPECT_FALSE(is_ssml(no)) << no;
  }
}

TEST(Ssml, WhiteSpaceIsOneSpace) {
  EXPECT_EQ(text("\n  Hello,\n   <w>world</w>  <!-- so --> &amp; all&#46; "),
            "Hello, world & all.");
  EXPECT_EQ(text("<p>One.</p>\n<p>Two.</p>"), "One.\n\nTwo.");
  EXPECT_EQ(text("<s>One</s><s>Two?</s>"), "One. Two?");
  EXPECT_EQ(text("<s>I like café</s><s>He said \"no\"</s><s>“So!”</s><s>好</s>"),
            "I like café. He said \"no\". “So!” 好。");
  EXPECT_EQ(text("<![CDATA[<b>]]>"), "<b>");
}

TEST(Ssml, BreaksBecomeTags) {
  EXPECT_EQ(text("a<break time='0.5s'/>b"), "a <break time=\"500ms\"/> b");
  EXPECT_EQ(text("a <break time='250ms' strength='weak'/> b"), "a <break time=\"250ms\"/> b");
  EXPECT_EQ(text("a <break/> b"), "a <break time=\"750ms\"/> b");
  EXPECT_EQ(text("a <break strength='x-strong'/> b"), "a <break time=\"1250ms\"/> b");
  EXPECT_EQ(text("a <break strength='none'/> b"), "a b");
}

TEST(Ssml, SubstitutesAndSays) {
  EXPECT_EQ(text("the <sub alias='World Wide Web'>WWW</sub>."), "the World Wide Web.");
  EXPECT_EQ(text("<say-as interpret-as='characters'>aB3</say-as>!"), "A B three!");
  EXPECT_EQ(text("<say-as interpret-as='characters'>CA7</say-as>"), "C A, seven");
  EXPECT_EQ(text("km<say-as interpret-as='cardinal'>5</say-as>km"), "km five km");
  EXPECT_EQ(text("<say-as interpret-as='ordinal'>5</say-as>-day"), "fifth-day");
  EXPECT_EQ(text("<say-as interpret-as='cardinal'>1,984</say-as>"),
            "one thousand nine hundred eighty four");
  EXPECT_EQ(text("<say-as interpret-as='odd'>x</say-as>"), "x");
  EXPECT_EQ(read("<say-as interpret-as='odd'>x</say-as>").ignored.size(), 1u);
}

TEST(Ssml, PhonemesAreSaidOfTheirWords) {
  const Ssml ssml = read(
      "I say <phoneme alphabet='ipa' ph='təˈmeɪtoʊ'>tomato</phoneme>, "
      "<phoneme alphabet='x-cmu' ph='T AH0 M AA1 T OW0'> to ma to </phoneme>.");
  EXPECT_EQ(ssml.text, "I say tomato, to ma to .");
  ASSERT_EQ(ssml.sayings.size(), 2u);
  EXPECT_EQ(about(ssml, 0), "tomato");
  EXPECT_EQ(about(ssml, 1), "to ma to");
  using List = std::vector<std::string>;
  EXPECT_EQ(ssml.sayings[0].phones.arpabet, (List{"t", "ax0", "m", "ey1", "t", "ow0"}));
  EXPECT_EQ(ssml.sayings[1].phones.arpabet, (List{"t", "ax0", "m", "aa1", "t", "ow0"}));
  EXPECT_EQ(ssml.sayings[1].phones.ipa, "təmˈɑːtoʊ");
}

TEST(Ssml, EmphasisIsStrong) {
  const Ssml ssml = read(
      "a <emphasis level='strong'>big</emphasis> and <emphasis level='none'>small"
      "</emphasis> <emphasis><phoneme ph='dɔɡ'>dog</phoneme></emphasis>");
  ASSERT_EQ(ssml.sayings.size(), 2u);
  EXPECT_EQ(about(ssml, 0), "big");
  EXPECT_TRUE(ssml.sayings[0].strong);
  EXPECT_EQ(about(ssml, 1), "dog");
  EXPECT_TRUE(ssml.sayings[1].strong);
  EXPECT_FALSE(ssml.sayings[1].phones.empty());
}

TEST(Ssml, ProsodyNests) {
  const Ssml ssml = read(
      "a <prosody rate='50%'>b <prosody rate='+50%' pitch='+2st'>c</prosody> d"
      "</prosody> e");
  EXPECT_EQ(ssml.text, "a b c d e");
  ASSERT_EQ(ssml.deliveries.size(), 4u);
  const float rates[] = {0.5f, 0.75f, 0.5f, 1}, pitches[] = {0, 2, 0, 0};
  const int64_t begins[] = {2, 4, 5, 7};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(ssml.deliveries[i].rate, rates[i]) << i;
    EXPECT_FLOAT_EQ(ssml.deliveries[i].pitch, pitches[i]) << i;
    EXPECT_EQ(ssml.deliveries[i].begin, begins[i]) << i;
  }
  EXPECT_TRUE(read("<prosody rate='medium'>a</prosody>").deliveries.empty());
  EXPECT_FLOAT_EQ(read("<prosody rate='1.2'>a</prosody>").deliveries.at(0).rate, 1.2f);
  EXPECT_NEAR(read("<prosody pitch='+100%'>a</prosody>").deliveries.at(0).pitch, 12, 1e-4);
}

TEST(Ssml, MarksStandInTheText) {
  const Ssml ssml = read("one <mark name='a'/>two<mark name='b'/>");
  ASSERT_EQ(ssml.marks.size(), 2u);
  EXPECT_EQ(ssml.marks[0].name, "a");
  EXPECT_EQ(ssml.marks[0].at, 4);
  EXPECT_EQ(ssml.marks[1].at, 7);
}

TEST(Ssml, UnknownElementsAreSpokenAndReported) {
  const Ssml ssml = read(
      "<voice name='x'>a</voice> <amazon:effect>b</amazon:effect> "
      "<prosody volume='loud'>c</prosody><metadata>never</metadata>");
  EXPECT_EQ(ssml.text, "a b c");
  EXPECT_EQ(ssml.ignored,
            (std::vector<std::string>{"<voice>", "<amazon:effect>", "prosody volume"}));
  for (const std::string& what : read("<say-as interpret-as='a&#10;X: b'>c</say-as>").ignored) {
    EXPECT_EQ(what.find('\n'), what.npos);
  }
}

TEST(Ssml, FaultsNameTheLine) {
  EXPECT_NE(fault("<speak>\n<phoneme ph='t#'>x</phoneme></speak>").find("line 2: '#'"),
            std::string::npos)
      << fault("<speak>\n<phoneme ph='t#'>x</phoneme></speak>");
  EXPECT_NE(fault("<speak>\n\n<break time='5'/></speak>").find("line 3"), std::string::npos);
  for (const char* bad : {"<speak>",
                          "<speak><p></speak>",
                          "<p>a</p>",
                          "<speak>a</speak>b",
                          "<speak>&x;</speak>",
                          "<speak><speak/></speak>",
                          "<speak><sub>a</sub></speak>",
                          "<speak><mark/></speak>",
                          "<speak><break strength='huge'/></speak>",
                          "<speak><prosody rate='quick'>a</prosody></speak>",
                          "<speak><prosody pitch='up'>a</prosody></speak>",
                          "<speak><prosody rate='nan'>a</prosody></speak>",
                          "<speak><prosody rate='inf%'>a</prosody></speak>",
                          "<speak><prosody pitch='nanst'>a</prosody></speak>",
                          "<speak><prosody pitch='+inf%'>a</prosody></speak>",
                          "<speak><break time='nans'/></speak>",
                          "<speak><break time='infms'/></speak>",
                          "<speak><phoneme ph='a' alphabet='x'>b</phoneme></speak>",
                          "<speak>\xff</speak>",
                          ""}) {
    EXPECT_NE(fault(bad), "") << bad;
  }
}

TEST(Ssml, ReportsHoldWholeCharacters) {
  EXPECT_NE(
      fault("<speak><mark name='" + std::string(1001, 'a') + "'/></speak>").find("1000 bytes"),
      std::string::npos);
  const Ssml odd = read("<say-as interpret-as='aéééééééééééééééééééé'>b</say-as>");
  ASSERT_EQ(odd.ignored.size(), 1u);
  EXPECT_TRUE(utf8_valid(odd.ignored[0]));
}

TEST(Ssml, HostileDocumentsAreRefused) {
  const std::string bomb =
      "<!DOCTYPE speak [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]><speak>&b;</speak>";
  EXPECT_NE(fault(bomb).find("document type"), std::string::npos);
  for (const char* typed : {"<!DOCTYPE speak><speak>a</speak>", "<!doctype speak><speak>a</speak>",
                            "<!DOCTYPE speak SYSTEM 'synthesis.dtd'>\n<speak>a</speak>"}) {
    EXPECT_NE(fault(typed), "") << typed;
  }
  EXPECT_NE(fault("<!DOCTYPE speak SYSTEM 'file:///etc/passwd'><speak>a</speak>"), "");
  std::string deep = "<speak>", many = "<speak>";
  for (int i = 0; i < 1000; ++i) deep += "<p>";
  for (int i = 0; i < 30'000; ++i) many += "<mark name='a'/>";
  EXPECT_NE(fault(deep).find("deep"), std::string::npos);
  EXPECT_NE(fault(many + "</speak>").find("elements"), std::string::npos);
  EXPECT_NE(fault("<speak><say-as interpret-as='characters'>" + std::string(5000, '1') +
                  "</say-as></speak>"),
            "");
}

TEST(SayAs, SaysWhatIsMeant) {
  struct Case {
    const char *kind, *format, *text, *said;
  };
  const Case cases[] = {
      {"spell-out", "", "Ab-1", "A B dash one"},
      {"digits", "", "0451", "zero four five one"},
      {"telephone", "", "+44 20 79", "plus four four, two zero, seven nine"},
      {"ordinal", "", "22nd", "twenty second"},
      {"ordinal", "", "3", "third"},
      {"cardinal", "", "-12.5", "minus twelve point five"},
      {"date", "dmy", "5/12/2026", "december fifth, twenty twenty six"},
      {"date", "mdy", "5/12/2026", "may twelfth, twenty twenty six"},
      {"date", "yyyymmdd", "20261123", "november twenty third, twenty twenty six"},
      {"date", "md", "7-4", "july fourth"},
      {"time", "", "2:30pm", "two thirty P M"},
      {"time", "", "14:05", "fourteen oh five"},
      {"time", "", "1'21\"", "one minute twenty one seconds"},
      {"fraction", "", "3/8", "three eighths"},
      {"fraction", "", "1 1/2", "one and one half"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(say_as(c.kind, c.format, c.text, true).value_or("-"), c.said) << c.text;
  }
  EXPECT_EQ(say_as("characters", "", "aß1", false).value_or("-"), "a ß 1");
  EXPECT_FALSE(say_as("cardinal", "", "12", false));
  for (const Case& c : {Case{"date", "dmy", "5/13", ""}, Case{"date", "dmy", "5/13/26", ""},
                        Case{"cardinal", "", "many", ""}, Case{"time", "", "99:00", ""},
                        Case{"fraction", "", "1/0", ""}, Case{"color", "", "red", ""}}) {
    EXPECT_FALSE(say_as(c.kind, c.format, c.text, true)) << c.text;
  }
}

/// A delivery or mark that lies past the end of the text, or within replaced text, moves to the end
/// of that text.
TEST(Ssml, DeliveriesAndMarksLieInTheText) {
  const Ssml end = read("a <prosody rate='slow'>b </prosody> ");
  EXPECT_EQ(end.text, "a b");
  ASSERT_EQ(end.deliveries.size(), 2u);
  EXPECT_EQ(end.deliveries[1].begin, 3);
  const Ssml sub =
      read("a <sub alias='x'><prosody rate='slow'>very long<mark name='m'/></prosody></sub> b");
  EXPECT_EQ(sub.text, "a x b");
  ASSERT_EQ(sub.marks.size(), 1u);
  EXPECT_EQ(sub.marks[0].at, 2);
  for (const Delivery& delivery : sub.deliveries) EXPECT_LE(delivery.begin, 2);
}

/// Damaged documents are either read or refused with a line number. The parts of a read document
/// are within the text, in order and within the limits.
TEST(SsmlFuzz, Documents) {
  Mutator mutator(
      {"<speak>Hello, <break time='0.5s'/><emphasis>you</emphasis> &amp; <mark "
       "name='m'/>all.</speak>",
       "<?xml version=\"1.0\"?><speak version='1.1'><p><s>One</s><s>Two?</s></p></speak>",
       "<speak>the <sub alias='World Wide Web'>WWW</sub>, <say-as interpret-as='date' format='dmy'>"
       "1/2/2026</say-as> <say-as interpret-as='cardinal'>1,984</say-as></speak>",
       "<speak><prosody rate='+10%' pitch='-2st'>slow <prosody rate='x-slow'>er</prosody></prosody>"
       "</speak>",
       "<speak><phoneme alphabet='ipa' ph='t\u0259\u02c8m\u0251\u02d0to\u028a'>tomato</phoneme> "
       "<phoneme alphabet='x-cmu' ph='T AH0 M EY1'>x</phoneme><![CDATA[<b>]]></speak>"},
      {"<speak>",
       "</speak>",
       "<p>",
       "</p>",
       "<s>",
       "<break",
       "/>",
       "'",
       "\"",
       ">",
       "<!--",
       "-->",
       "&lt;",
       "&#0;",
       "&#x10FFFF;",
       "&x;",
       "<!DOCTYPE a [",
       "<![CDATA[",
       "]]>",
       "time='9e9s'",
       "rate='1e-9'",
       "pitch='nan'",
       "<say-as interpret-as='digits'>",
       "</say-as>",
       "<mark name='",
       "99999999999999999999",
       "\xff",
       "\xed\xa0\x80",
       " ",
       "<prosody rate='2'>",
       "</prosody>"});
  const int inputs = fuzz_inputs(8000);
  int read = 0;
  for (int i = 0; i < inputs && !testing::Test::HasFailure(); ++i) {
    const std::string document = mutator.next();
    const auto result = read_ssml(document, i % 2 == 0);
    if (!result) {
      EXPECT_FALSE(result.error().message.empty()) << document;
      continue;
    }
    if (++read % 16 == 0) mutator.keep(document);
    const Ssml& ssml = result.value();
    const auto size = std::ssize(ssml.text);
    EXPECT_LE(ssml.ignored.size(), 17u) << document;
    int64_t end = 0;
    for (const Saying& saying : ssml.sayings) {
      EXPECT_TRUE(end <= saying.begin && saying.begin < saying.end && saying.end <= size)
          << document;
      end = saying.end;
    }
    int64_t at = 0;
    for (const Delivery& delivery : ssml.deliveries) {
      EXPECT_TRUE(at <= delivery.begin && delivery.begin <= size) << document;
      EXPECT_TRUE(delivery.rate >= 0.2f && delivery.rate <= 5) << document;
      EXPECT_TRUE(std::fabs(delivery.pitch) <= 24) << document;
      at = delivery.begin;
    }
    at = 0;
    for (const TextMark& mark : ssml.marks) {
      EXPECT_TRUE(at <= mark.at && mark.at <= size) << document;
      at = mark.at;
    }
  }
  EXPECT_GT(read, inputs / 20);
}

}  // namespace
}  // namespace syrinx
