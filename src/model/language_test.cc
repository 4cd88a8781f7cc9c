#include "model/language.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {
namespace {

constexpr const char* kRefused = "refused";

/// The languages that families list, and the expected result for each name that clients send.
TEST(Language, OneReadingForAllFamilies) {
  using Names = std::vector<std::string>;
  const Names asked = {"",         "auto",  "Auto",    "en",      "EN",     "en-US", "en_us",
                       "en-AU",    "eng",   "English", "ENGLISH", "zh-CN",  "cmn",   "zh",
                       "Mandarin", "pt-BR", "nb",      "tlh",     "Klingon"};
  const std::vector<std::pair<Names, Names>> families = {
      // Languages of finch and PocketSphinx.
      {{"en"},
       {"", "", "", "en", "en", "en", "en", "en", "en", "en", "en", kRefused, kRefused, kRefused,
        kRefused, kRefused, kRefused, kRefused, kRefused}},
      // Languages of Orpheus and Chatterbox.
      {{"english"},
       {"", "", "", "english", "english", "english", "english", "english", "english", "english",
        "english", kRefused, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused}},
      // Languages of GLM-4-Voice and Step-Audio-2.
      {{"chinese", "english"},
       {"", "", "", "english", "english", "english", "english", "english", "english", "english",
        "english", "chinese", "chinese", "chinese", "chinese", kRefused, kRefused, kRefused,
        kRefused}},
      // Languages of Qwen3-TTS.
      {{"auto", "beijing_dialect", "chinese", "english", "portuguese"},
       {"", "", "", "english", "english", "english", "english", "english", "english", "english",
        "english", "chinese", "chinese", "chinese", "chinese", "portuguese", kRefused, kRefused,
        kRefused}},
      // Languages of Zonos, with the codes of espeak.
      {{"cmn", "en-029", "en-gb", "en-us", "nb", "pt", "pt-br"},
       {"", "", "", "en-us", "en-us", "en-us", "en-us", "en-us", "en-us", "en-us", "en-us", "cmn",
        "cmn", "cmn", "cmn", "pt-br", "nb", kRefused, kRefused}},
      // Languages of Whisper.
      {{"en", "no", "pt", "zh"},
       {"", "", "", "en", "en", "en", "en", "en", "en", "en", "en", "zh", "zh", "zh", "zh", "pt",
        "no", kRefused, kRefused}},
      // No languages: CSM, Fish Speech, Higgs Audio, OpusLM, Bagpiper, VoxCPM2, CosyVoice2.
      {{"auto"},
       {"", "", "", kRefused, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused,
        kRefused, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused, kRefused}},
  };
  for (const auto& [known, wanted] : families) {
    PipelineInfo info;
    info.speech.languages = known;
    ASSERT_EQ(wanted.size(), asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      const auto read = read_language(info, asked[i]);
      EXPECT_EQ(read ? read.value() : kRefused, wanted[i]) << asked[i] << " of " << known.front();
      SpeechRequest request;
      request.say.language = asked[i];
      EXPECT_EQ(check_request(info, request).ok(), wanted[i] != kRefused) << asked[i];
    }
  }
}

TEST(Language, RefusalsListWhatThereIs) {
  PipelineInfo info;
  info.speech.languages = {"auto", "chinese", "english"};
  EXPECT_EQ(read_language(info, "Klingon").error().message,
            "unsupported language \"Klingon\"; supported are auto, chinese, english");
  EXPECT_EQ(read_language(info, "Klingon").error().param, "language");
  info.speech.languages = {"auto"};
  EXPECT_NE(read_language(info, "en").error().message.find("\"auto\""), std::string::npos);
  info.speech.languages = {"en-gb-x-rp", "en-gb"};
  EXPECT_EQ(read_language(info, "en_GB_scotland").value(), "en-gb");
}

}  // namespace
}  // namespace syrinx
