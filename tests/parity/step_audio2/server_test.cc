// Tests Step-Audio-2-mini's small checkpoint through the real server's sockets: speech in, text and
// speech out, by chat, by transcription and by the Realtime API.
#include "families/step_audio2/fixture.h"
#include "server/http/spoken_chats_test.h"

namespace syrinx::step_audio2 {
namespace {

constexpr const char* kVoice = "default_female";

class StepServer : public testing::Test {
 protected:
  step_audio2::WholeCheckpoint checkpoint_;
  spoken::Server server_{
      load_as<step_audio2::StepAudio2>(step_audio2::spec_of(checkpoint_.dir.path()))};
};

TEST_F(StepServer, ChatsWithSpeech) {
  spoken::expect_chats(server_, step_audio2::golden_cases(), kVoice, 25);
}

TEST_F(StepServer, RepeatsAnswersAsTheyWereMade) {
  const Tokenizer tokenizer = step_audio2::load_tokenizer(checkpoint_.dir.path(), 40);
  const std::string more = "<|EOT|><|BOT|>human\nHello there?<|EOT|><|BOT|>assistant\n<tts_start>";
  spoken::expect_recall(server_, kVoice, tokenizer.encode(more).size());
}

TEST_F(StepServer, HoldsAConversation) { spoken::expect_conversation(server_, "step", 25); }

TEST_F(StepServer, WritesTheFirstChannelDown) {
  const std::string pcm = spoken::pcm_of(30000, 7);
  const auto text = [&](int channels) {
    const TestAnswer answer = server_.transcribe(spoken::wav_of(pcm, channels));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return nlohmann::json::parse(answer.body)["text"].get<std::string>();
  };
  EXPECT_FALSE(text(1).empty());
  EXPECT_EQ(text(2), text(1));
}

}  // namespace
}  // namespace syrinx::step_audio2
