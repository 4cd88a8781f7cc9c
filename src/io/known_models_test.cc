#include "io/known_models.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "io/hub.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

TEST(KnownModels, NamesAreUniqueAndNeedsAreKnown) {
  std::set<std::string> names;
  for (const KnownModel& model : known_models()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_EQ(model.name.find('/'), std::string::npos) << model.name;
    EXPECT_FALSE(parse_hub_name(model.repository).organisation.empty()) << model.name;
    EXPECT_GE(model.megabytes, 0) << model.name;
    EXPECT_FALSE(model.licence.empty()) << model.name;
    const std::string page = SYRINX_SOURCE_DIR "/docs/families/" + model.page + ".md";
    EXPECT_TRUE(model.page.empty() || is_file(page)) << page;
    for (const std::string& each : model.needs) EXPECT_TRUE(find_known_model(each)) << each;
  }
}

TEST(KnownModels, VoicesOfPiperAreMadeOfTheirNames) {
  const auto voice = find_known_model("piper:de_DE-thorsten_emotional-medium");
  ASSERT_TRUE(voice);
  EXPECT_EQ(voice->repository, "rhasspy/piper-voices");
  EXPECT_EQ(voice->file, "de/de_DE/thorsten_emotional/medium/de_DE-thorsten_emotional-medium.onnx");
  EXPECT_EQ(voice->include[1], voice->file + ".json");
  for (const char* name : {"piper:", "piper:en_US", "piper:en_US-lessac", "piper:enUS-lessac-low",
                           "piper:en_US-../x-low", "piper:en_US--low", "piper:*_US-a-b"}) {
    EXPECT_THROW(find_known_model(name), LoadError) << name;
  }
  EXPECT_FALSE(find_known_model("piper:VOICE"));
  EXPECT_FALSE(find_known_model("unheard-of"));
  EXPECT_FALSE(find_known_model("Org/Name"));
}

TEST(KnownModels, AreFoundInTheCache) {
  const TestDir dir;
  const auto kokoro = find_known_model("kokoro"), voice = find_known_model("piper:en_US-a-low");
  try {
    resolve_known_model(*kokoro, dir.path());
    FAIL();
  } catch (const LoadError& error) {
    expect_fault(error.what(), "syrinx hub pull kokoro");
    expect_fault(error.what(), "355 MB, licence Apache-2.0");
  }
  try {
    resolve_known_model(*find_known_model("veena"), dir.path());
    FAIL();
  } catch (const LoadError& error) {
    expect_fault(error.what(), "Download it, licence Apache-2.0: syrinx hub pull veena");
  }
  dir.write("models--hexgrad--Kokoro-82M/snapshots/aaa/config.json", "{}");
  EXPECT_EQ(resolve_known_model(*kokoro, dir.path()),
            dir.path("models--hexgrad--Kokoro-82M/snapshots/aaa"));
  const std::string root = "models--rhasspy--piper-voices/snapshots/bbb/";
  dir.write(root + "README.md", "");
  EXPECT_THROW(resolve_known_model(*voice, dir.path()), LoadError);
  dir.write(root + voice->file, "");
  EXPECT_EQ(resolve_known_model(*voice, dir.path()), dir.path(root + voice->file));
  EXPECT_THROW(resolve_known_model(*kokoro, ""), LoadError);
}

}  // namespace
}  // namespace syrinx
