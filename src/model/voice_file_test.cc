#include "model/voice_file.h"

#include <gtest/gtest.h>

#include <limits>

#include "io/safetensors.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

Voice some_voice() {
  Voice voice{.family = "toy",
              .encoder = "toy-1",
              .mode = "in-context",
              .text = "What it \"says\",\nin two lines. \xc3\xa9",
              .seconds = 3.25};
  Tensor speaker(Shape{4}, DType::kF32);
  for (int i = 0; i < 4; ++i) speaker.f32()[i] = 0.5f * static_cast<float>(i);
  Tensor codes(Shape{3, 2}, DType::kI32);
  for (int i = 0; i < 6; ++i) codes.i32()[i] = i;
  voice.tensors.emplace("speaker", std::move(speaker));
  voice.tensors.emplace("codes", std::move(codes));
  return voice;
}

const VoiceNotes kNotes{
    .name = "Anna", .consent = "by mail", .source = "ab12", .created = "2026-11-21T18:00:00Z"};

std::string fault_of(const std::string& path) {
  try {
    read_voice_file(path);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(VoiceFile, WritesAndReadsBack) {
  const TestDir dir;
  const Voice voice = some_voice();
  const std::string path = dir.path("anna.safetensors");
  write_voice_file(path, voice, kNotes);
  const VoiceFile back = read_voice_file(path);
  EXPECT_EQ(voice_hash(back.voice), voice_hash(voice));
  EXPECT_EQ(back.voice.seconds, voice.seconds);
  EXPECT_EQ(back.notes.name, kNotes.name);
  EXPECT_EQ(back.notes.consent, kNotes.consent);
  EXPECT_EQ(back.notes.source, kNotes.source);
  EXPECT_EQ(back.notes.created, kNotes.created);
}

TEST(VoiceFile, FaultsAreNamed) {
  const TestDir dir;
  const std::string path = dir.path("v.safetensors");
  EXPECT_NE(fault_of(path).find("cannot be read"), std::string::npos);
  dir.write("v.safetensors", std::string(kMaxVoiceFileBytes + 1, 'x'));
  EXPECT_NE(fault_of(path).find("at most"), std::string::npos);
  Voice nan = some_voice();
  nan.tensors["speaker"].f32()[2] = std::numeric_limits<float>::quiet_NaN();
  write_voice_file(path, nan, kNotes);
  EXPECT_NE(fault_of(path).find("tensor speaker: value 2 is not finite"), std::string::npos);
  Voice nobody = some_voice();
  nobody.family.clear();
  write_voice_file(path, nobody, kNotes);
  EXPECT_NE(fault_of(path).find("family: is empty"), std::string::npos);
  {
    SafetensorsWriter plain(path);
    plain.add("x", some_voice().tensors.at("codes"));
    plain.finish();
  }
  EXPECT_NE(fault_of(path).find("not a voice file"), std::string::npos);
  Voice empty = some_voice();
  empty.tensors.clear();
  write_voice_file(path, empty, kNotes);
  EXPECT_NE(fault_of(path).find("got 0"), std::string::npos);
  Voice endless = some_voice();
  endless.seconds = 1e9;
  write_voice_file(path, endless, kNotes);
  EXPECT_NE(fault_of(path).find("seconds: expected 0 to 3600"), std::string::npos);
}

TEST(VoiceFileDamage, IsRefusedOrRead) {
  const TestDir dir;
  const std::string path = dir.path("v.safetensors");
  write_voice_file(path, some_voice(), kNotes);
  for_each_damage(slurp(path), 2000, [&](const std::string& bytes) {
    fault_of(dir.write("damaged.safetensors", bytes));
  });
}

}  // namespace
}  // namespace syrinx
