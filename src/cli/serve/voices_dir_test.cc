#include "cli/serve/voices_dir.h"

#include <gtest/gtest.h>

#include "cli/line/exit.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

TEST(VoicesDir, GivesVoicesWithTheirConfigs) {
  const TestDir dir;
  std::string reported;
  const auto report = [&](const std::string& line) { reported += line; };
  EXPECT_THROW(voice_files(dir.path("absent"), report), UsageError);
  EXPECT_THROW(voice_files(dir.path(), report), UsageError);
  for (const char* name : {"b.onnx", "b.onnx.json", "a.onnx", "a.onnx.json", "c.onnx", "d.json"}) {
    dir.write(name, "");
  }
  EXPECT_EQ(voice_files(dir.path(), report),
            (std::vector<std::string>{dir.path("a.onnx"), dir.path("b.onnx")}));
  EXPECT_NE(reported.find("c.onnx.json is missing"), std::string::npos) << reported;
}

}  // namespace
}  // namespace syrinx
