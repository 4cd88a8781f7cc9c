// The small checkpoints behind the real server's sockets: the plain model in a conversation, of
// which it does all three parts by itself, one after another.
#include "families/opuslm/fixture.h"
#include "server/http/spoken_chats_test.h"

namespace syrinx::opuslm {
namespace {

class OpusLmServer : public testing::Test {
 protected:
  ModelDir dir_{false, true};
  spoken::Server server_{load({dir_.path(), "opus"})};
};

/// It hears none in conversations and does not answer aloud: what is said is written down, answered
/// in words, and the words are read aloud, turn after turn.
TEST_F(OpusLmServer, ThePlainModelHoldsAConversationInThreeSteps) {
  spoken::Talk talk(server_, "opus", 60);
  std::vector<spoken::Talk::Answer> answers;
  // Of this recording these weights write little enough to be answered.
  for (int turn = 0; turn < 2; ++turn) {
    answers.push_back(talk.ask(spoken::pcm_of(16000, 1)));
    ASSERT_FALSE(HasFailure());
    EXPECT_FALSE(answers.back().text.empty());
    EXPECT_GT(answers.back().bytes, 4800u) << "a tenth of a second";
  }
  EXPECT_GT(answers[1].prompt_tokens, answers[0].prompt_tokens) << "turns are remembered";
}

TEST_F(OpusLmServer, ThePlainModelAnswersChatsInWords) {
  const spoken::ordered_json user{{"role", "user"}, {"content", "Hello there?"}};
  const auto messages = spoken::ordered_json::array({user});
  EXPECT_EQ(server_.chat(messages, {{"max_completion_tokens", 6}}).status, 200);
  const TestAnswer refused = server_.chat(messages, spoken::aloud("default", 6));
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.body.find("answers in words"), std::string::npos) << refused.body;
}

}  // namespace
}  // namespace syrinx::opuslm
