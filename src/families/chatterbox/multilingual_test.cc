// Compares Chatterbox Multilingual with the authors' code: clean texts and ids of many languages.
// families/golden_models.h tests the rest.
#include "families/chatterbox/multilingual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "families/chatterbox/pipeline.h"
#include "families/s3/fixture.h"
#include "io/file.h"
#include "model/step_runner.h"

namespace syrinx::chatterbox {
namespace {

std::string mtl_path(const std::string& name) {
  return parity("chatterbox_multilingual/golden/" + name);
}

nlohmann::json mtl_cases() {
  return nlohmann::json::parse(read_file(mtl_path("cases.json"), 1 << 20));
}

class ChatterboxMultilingual : public testing::Test {
 protected:
  std::vector<int32_t> ids_of(const std::string& language, const std::string& text) const {
    SpeechRequest request;
    request.say.text = text;
    request.say.language = language;
    request.sampling.guidance = 1;
    const auto state = open_only(model_, request);
    std::vector<int32_t> out;
    const int voice = static_cast<int>(model_.voices().at("default").rows.shape()[0]);
    std::array<int32_t, 4> ids;
    for (int row = voice; row + 2 < state->prompt_rows(); ++row) {
      EXPECT_TRUE(row_of(*state, row, false, ids).empty());
      out.push_back(ids[0]);
    }
    EXPECT_EQ(out.front(), kStartText);
    EXPECT_EQ(out.back(), kStopText);
    return {out.begin() + 1, out.end() - 1};
  }

  const Chatterbox model_{{mtl_path("checkpoint"), "tiny"}, kMultilingualEdition};
};

TEST_F(ChatterboxMultilingual, TextsOfManyLanguages) {
  for (const auto& c : mtl_cases()["texts"]) {
    const std::string text = c["text"], language = c["language"];
    EXPECT_EQ(clean(text, Punctuation::kMultilingual), c["clean"].get<std::string>());
    // In a text, this program reads names of tokens as plain text; the authors' code reads tokens.
    if (text.find('[') != text.npos) continue;
    EXPECT_EQ(ids_of(language, text), c["ids"].get<std::vector<int32_t>>()) << language;
  }
}

TEST_F(ChatterboxMultilingual, LanguagesByCodeOrName) {
  EXPECT_EQ(model_.info().family, "chatterbox_multilingual");
  EXPECT_EQ(ids_of("German", "Ja."), ids_of("de-DE", "Ja."));
  EXPECT_EQ(ids_of("", "Yes."), ids_of("en", "Yes."));
  EXPECT_NE(ids_of("de", "Ja."), ids_of("en", "Ja."));
  SpeechRequest request;
  request.say.text = "Ja.";
  request.say.language = "fi";  // the small tokenizer has no token for this language
  EXPECT_EQ(refusal_of(model_, request).param, "language");
}

TEST_F(ChatterboxMultilingual, JapaneseIsReadInKana) {
  SpeechRequest request;
  request.say.text = "世界。";
  request.say.language = "ja";
  const Error refused = refusal_of(model_, request);
  EXPECT_EQ(refused.param, "input");
  EXPECT_NE(refused.message.find("世"), refused.message.npos);
}

TEST(ChatterboxMultilingualFiles, WithoutCangjieNoChinese) {
  const TextTokenizer tokenizer(
      mtl_path("checkpoint/" + std::string(kMultilingualEdition.tokenizer)));
  const MultilingualText without(tokenizer, "x.json", mtl_path("checkpoint/none.json"));
  const MultilingualText with(tokenizer, "x.json", mtl_path("checkpoint/Cangjie5_TC.json"));
  EXPECT_EQ(std::ranges::count(without.languages(), "zh"), 0);
  EXPECT_EQ(std::ranges::count(with.languages(), "zh"), 1);
  EXPECT_EQ(with.languages().front(), "en");
}

}  // namespace
}  // namespace syrinx::chatterbox
