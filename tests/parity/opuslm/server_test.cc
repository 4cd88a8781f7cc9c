// Tests the small checkpoints through the real server's sockets: transcription by its route and by
// chat; the dialogue model, which answers speech with speech; and the plain model in a
// conversation, as recogniser, language model and speaker in turn.
#include "base/ascii.h"
#include "families/opuslm/fixture.h"
#include "server/http/spoken_chats_test.h"

namespace syrinx::opuslm {
namespace {

class OpusLmServer : public testing::Test {
 protected:
  ModelDir dir_{false, true};
  spoken::Server server_{load_as<OpusLm>({dir_.path(), "opus"})};
};

/// The plain model takes no recordings in conversations and does not answer with speech. So each
/// turn is transcribed and answered in words, and the words are read aloud.
TEST_F(OpusLmServer, ThePlainModelHoldsAConversationInThreeSteps) {
  spoken::Talk talk(server_, "opus", 60);
  std::vector<spoken::Talk::Answer> answers;
  // Sampling is greedy, and with these weights some transcripts are empty and cannot be answered.
  for (int turn = 0; turn < 20 && answers.size() < 2; ++turn) {
    spoken::Talk::Answer answer =
        talk.ask(spoken::pcm_of(9000 + 1000 * turn, static_cast<uint32_t>(turn + 1)));
    ASSERT_FALSE(HasFailure());
    if (answer.bytes == 0) continue;
    EXPECT_FALSE(answer.text.empty());
    EXPECT_GE(answer.bytes, 4800u) << "a tenth of a second";
    answers.push_back(std::move(answer));
  }
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_GT(answers[1].prompt_tokens, answers[0].prompt_tokens) << "the prompt has the first turn";
}

/// All routes give ESPnet's transcript.
TEST_F(OpusLmServer, WritesARecordingDown) {
  const std::string golden =
      nlohmann::json::parse(read_file(golden_path("hearing.json"), 1 << 10))["answer"];
  const std::string want(trimmed(golden));
  ASSERT_FALSE(want.empty());
  const std::string wav = spoken::wav_of(spoken::pcm_of(20111, 20111), 1);
  const TestAnswer form = server_.transcribe(wav);
  ASSERT_EQ(form.status, 200) << form.body;
  EXPECT_EQ(nlohmann::json::parse(form.body)["text"], want);
  const TestAnswer chat = server_.chat(spoken::asked_aloud(wav), {{"max_completion_tokens", 200}});
  ASSERT_EQ(chat.status, 200) << chat.body;
  EXPECT_EQ(nlohmann::json::parse(chat.body)["choices"][0]["message"]["content"], golden);
}

TEST_F(OpusLmServer, RecordingsOfTheWrongKindAreRefused) {
  const std::string wav = spoken::wav_of(spoken::pcm_of(9333, 9333), 1);
  EXPECT_EQ(server_.transcribe(wav.substr(0, 20)).status, 400) << "half a head";
  EXPECT_EQ(server_.transcribe("It is a fine day.").status, 400) << "a text";
  const TestAnswer brief = server_.chat(
      spoken::asked_aloud(spoken::wav_of(spoken::pcm_of(300, 1), 1)), {{"temperature", 0}});
  EXPECT_EQ(brief.status, 400);
  EXPECT_NE(brief.body.find("at least 400"), std::string::npos) << brief.body;
}

TEST_F(OpusLmServer, TheDialogueModelHearsAndAnswersAloud) {
  const ModelDir dir(true, true);
  spoken::Server server(load_as<OpusLm>({dir.path(), "dialogue"}));
  const TestAnswer answer =
      server.chat(spoken::asked_aloud(spoken::wav_of(spoken::pcm_of(16000, 1), 1)),
                  spoken::aloud("default", 6));
  ASSERT_EQ(answer.status, 200) << answer.body.substr(0, 300);
  const auto audio = nlohmann::json::parse(answer.body)["choices"][0]["message"]["audio"];
  EXPECT_FALSE(audio["transcript"].get<std::string>().empty());
  EXPECT_GT(spoken::seconds_of(audio["data"]), 0.1);
}

TEST_F(OpusLmServer, ThePlainModelAnswersChatsInWords) {
  const spoken::ordered_json user{{"role", "user"}, {"content", "Hello there?"}};
  const auto messages = spoken::ordered_json::array({user});
  EXPECT_EQ(server_.chat(messages, {{"max_completion_tokens", 6}}).status, 200);
  const TestAnswer refused = server_.chat(messages, spoken::aloud("default", 6));
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.body.find("this model writes only text"), std::string::npos) << refused.body;
}

}  // namespace
}  // namespace syrinx::opuslm
