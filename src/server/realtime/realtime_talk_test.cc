// A session of the Realtime API with what hears, writes and speaks for it, without a socket.
#include "server/realtime/realtime_talk.h"

#include <gtest/gtest.h>

#include "server/models/fake_backend_test.h"
#include "server/models/fake_writer_test.h"
#include "server/realtime/realtime_caller_test.h"

namespace syrinx {
namespace {

/// The recogniser has refused, and that is known, before the turn is over.
TEST(RealtimeTalk, WhoIsNotUnderstoodMaySpeakOn) {
  RealtimeCaller caller(std::make_shared<FakeWriter>(), std::make_shared<FakeBackend>());
  caller.set({{"audio", {{"input", {{"transcription", {{"language", "fr"}}}}}}}});
  caller.sound(600, true);
  EXPECT_EQ(caller.count("input_audio_buffer.speech_started"), 1);
  caller.sound(600, true);
  caller.sound(700, false);
  EXPECT_EQ(caller.count("input_audio_buffer.committed"), 1);
  EXPECT_EQ(caller.count("conversation.item.input_audio_transcription.failed"), 1);
}

}  // namespace
}  // namespace syrinx
