// Tests GLM-4-Voice's small checkpoint through the real server's sockets: speech in, text and
// speech out, by chat and by the Realtime API.
#include "families/glm4_voice/pipeline.h"
#include "io/file.h"
#include "server/http/spoken_chats_test.h"

namespace syrinx::glm4_voice {
namespace {

std::string glm_golden(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/glm4_voice/golden/" + name;
}

class GlmServer : public testing::Test {
 protected:
  spoken::Server server_{load_as<glm4_voice::Glm4Voice>(
      {glm_golden("checkpoint"), "glm", WeightType::kF32, false, Device::kCpu})};
};

TEST_F(GlmServer, ChatsWithSpeech) {
  const auto cases = nlohmann::ordered_json::parse(read_file(glm_golden("cases.json"), 1 << 20));
  spoken::expect_chats(server_, cases, "glm", 12.5);
}

TEST_F(GlmServer, RepeatsAnswersAsTheyWereMade) {
  const Tokenizer tokenizer = glm4_voice::load_tokenizer(glm_golden("checkpoint"));
  const std::string more = "<|user|>\nHello there?<|assistant|>streaming_transcription\n";
  spoken::expect_recall(server_, "glm", tokenizer.encode(more).size());
}

TEST_F(GlmServer, HearsAhead) {
  spoken::Server fresh{load_as<glm4_voice::Glm4Voice>(
      {glm_golden("checkpoint"), "glm", WeightType::kF32, false, Device::kCpu})};
  spoken::expect_hearing_ahead(server_, fresh, "glm", 10);
}

TEST_F(GlmServer, HoldsAConversation) { spoken::expect_conversation(server_, "glm", 12.5); }

}  // namespace
}  // namespace syrinx::glm4_voice
