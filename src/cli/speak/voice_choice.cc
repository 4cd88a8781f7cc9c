#include "cli/speak/voice_choice.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>

#include "audio/encoder_libav.h"
#include "base/check.h"
#include "base/clock.h"
#include "cli/line/exit.h"
#include "cli/line/progress_line.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "voices/voice_queue.h"

namespace syrinx {
namespace {

constexpr size_t kMaxEmbeddingBytes = 1 << 20, kMaxEmbedding = 65536;

Speaker speaker_of(const Engine& engine, const VoiceStore* store) {
  const VoiceEncoder* encoder = engine.pipeline().voice_encoder();
  return {engine.pipeline().info(), encoder == nullptr ? nullptr : &encoder->info(), store};
}

VoiceWish recording_of(const Speaker& speaker, const std::string& file, const std::string& text,
                       const std::string& mode, bool trim) {
  if (speaker.encoder == nullptr) throw LoadError(cannot_clone(*speaker.info, "").message);
  return {.source = std::make_shared<VoiceSource>(
              VoiceSource{.audio = read_file(file, RecordingLimits{}.max_bytes),
                          .text = text,
                          .mode = mode,
                          .trim = trim})};
}

/// Adds the turns of a conversation to the request, and voice requests for the audio of the turns.
void add_turns(const Speaker& speaker, const VoiceChoice& choice, SpeechRequest& request,
               std::vector<VoiceWish>& wishes) {
  for (const auto& [number, file, text] : choice.turns) {
    request.say.context.push_back({.voice = std::to_string(number), .text = text});
    if (file == "-") continue;
    wishes.push_back(recording_of(speaker, file, text, "", false));
    wishes.back().turn = static_cast<int>(request.say.context.size()) - 1;
  }
}

/// Returns the voice of every VoiceWish with a source. Looks the voice up or encodes it now.
std::vector<std::shared_ptr<const Voice>> fetch_voices(Engine& engine, const Speaker& speaker,
                                                       const VoiceChoice& choice,
                                                       const std::vector<VoiceWish>& wishes) {
  std::vector<std::shared_ptr<const Voice>> fetched;
  for (const VoiceWish& wish : wishes) {
    if (!wish.source) continue;
    // With several recordings the message names the file. A stored voice has no file.
    const std::string file = wish.turn < 0
                                 ? choice.ref_audio
                                 : std::get<1>(choice.turns[static_cast<size_t>(wish.turn)]);
    const std::string about = file.empty() ? "" : file + ": ";
    auto made =
        prepare_voice(speaker, *wish.source, {.heard = [&](const RecordedAudio& audio) {
                        for (const std::string& remark : recording_remarks(audio)) {
                          std::fprintf(stderr, "syrinx: %s%s\n", about.c_str(), remark.c_str());
                        }
                      }});
    if (!made) throw LoadError(about + made.error().message);
    auto prepared = made.take();
    if (!prepared.voice) {
      Voice voice = encode_recording(engine, std::move(prepared.recording));
      prepared.voice = keep_voice(speaker, prepared, std::move(voice), nullptr);
    }
    fetched.push_back(prepared.voice);
  }
  return fetched;
}

}  // namespace

std::unique_ptr<VoiceStore> open_store(const std::string& directory) {
  const std::string at = directory.empty() ? VoiceStore::default_directory() : directory;
  return at.empty() ? nullptr : std::make_unique<VoiceStore>(at);
}

std::vector<float> read_embedding_file(const std::string& path) {
  std::vector<float> out;
  if (path.ends_with(".safetensors")) {
    const SafetensorsFile file(path);
    if (file.entries().size() != 1 || file.entries()[0].dtype != DType::kF32) {
      load_fault(path, "", "expected one tensor of F32");
    }
    const View view = file.view(file.entries()[0]);
    if (view.count() > static_cast<int64_t>(kMaxEmbedding)) {
      load_fault(path, "", concat("expected at most ", kMaxEmbedding, " values"));
    }
    out.assign(view.f32(), view.f32() + view.count());
  } else {
    const auto json = nlohmann::json::parse(read_file(path, kMaxEmbeddingBytes), nullptr, false);
    for (const auto& value : json.is_array() ? json : nlohmann::json::array()) {
      if (!value.is_number()) load_fault(path, "", "expected a list of numbers");
      out.push_back(value.get<float>());
    }
  }
  if (out.empty()) load_fault(path, "", "expected a list of numbers");
  for (const float value : out) {
    if (!std::isfinite(value)) load_fault(path, "", "contains an infinite value or NaN");
  }
  return out;
}

Voice encode_recording(const Engine& engine, Recording recording) {
  const VoiceEncoder* encoder = engine.pipeline().voice_encoder();
  if (encoder == nullptr) throw LoadError(cannot_clone(engine.info(), "ref_audio").message);
  std::promise<Result<Voice>> promise;
  VoiceQueue queue(*encoder);
  auto result = promise.get_future();
  const double seconds = recording.seconds();
  const auto id = queue.encode(std::move(recording), 0,
                               [&](Result<Voice> voice) { promise.set_value(std::move(voice)); });
  if (!id) throw LoadError(id.error().message);
  ProgressLine progress;
  const double began_s = now_s();
  while (result.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) {
    progress.show(concat("encoding the voice of ", std::round(10 * seconds) / 10,
                         " s of recording, ", std::round(now_s() - began_s), " s so far"));
  }
  progress.clear();
  return need(result.get());
}

std::string choose_voice(Engine& engine, const VoiceChoice& choice, SpeechRequest& request) {
  const PipelineInfo& info = engine.pipeline().info();
  if (!info.speaks) {
    throw LoadError("the model '" + info.model + "' only writes; it cannot speak a text");
  }
  const bool recorded = !choice.ref_audio.empty();
  if (recorded + !choice.embedding_file.empty() + !request.voice.name.empty() > 1) {
    throw UsageError("give only one of --voice, --ref-audio and --speaker-embedding");
  }
  if (!recorded && (!choice.ref_text.empty() || !choice.ref_mode.empty())) {
    throw UsageError("--ref-text and --ref-mode need --ref-audio");
  }
  std::string name = recorded ? choice.ref_audio : request.voice.name;
  if (!choice.embedding_file.empty()) {
    const std::vector<float> embedding = read_embedding_file(choice.embedding_file);
    request.voice.data =
        std::make_shared<const Voice>(need(engine.pipeline().voice_of_embedding(embedding)));
    name = choice.embedding_file;
  }
  const std::unique_ptr<VoiceStore> store =
      recorded || !request.voice.name.empty() ? open_store(choice.store) : nullptr;
  const Speaker speaker = speaker_of(engine, store.get());
  std::vector<VoiceWish> wishes;
  if (recorded) {
    wishes.push_back(
        recording_of(speaker, choice.ref_audio, choice.ref_text, choice.ref_mode, choice.ref_trim));
  } else if (!request.voice.name.empty()) {
    auto found = find_voices(speaker, request.voice.name);
    // Leaves a name that the store lacks to the model, which reports unknown names.
    const bool plain = request.voice.name.find_first_of("+(") == std::string::npos;
    if (found || found.error().code != ErrorCode::kNotFound || !plain) {
      wishes = need(std::move(found));
    }
  }
  add_turns(speaker, choice, request, wishes);
  put_voices(wishes, fetch_voices(engine, speaker, choice, wishes), request);
  return name;
}

double share_speed(const PipelineInfo& info, SpeechRequest& request) {
  const float asked = request.voice.speed, nearest = info.offers.of("speed")->nearest(asked);
  if (nearest == asked || !has_media()) return 1;
  request.voice.speed = nearest;
  return double{asked} / nearest;
}

void add_store(CLI::App& app, std::string& directory) {
  app.add_option("--voice-store", directory,
                 "directory of stored voices (default: SYRINX_VOICES, or syrinx/voices in "
                 "XDG_DATA_HOME or ~/.local/share)");
}

void add_voice_choice(CLI::App& app, VoiceChoice& voice) {
  app.add_option("--ref-audio", voice.ref_audio,
                 "a recording whose voice is cloned, if the model supports cloning");
  app.add_option("--ref-text", voice.ref_text, "the words of the recording");
  app.add_option("--ref-mode", voice.ref_mode, "one of the model's cloning modes");
  app.add_flag("--ref-trim", voice.ref_trim, "remove the silence at both ends of the recording");
  app.add_option("--speaker-embedding", voice.embedding_file,
                 "file with a speaker's embedding: a JSON list, or safetensors with one tensor");
  app.add_option("--turn", voice.turns,
                 "an earlier turn of the conversation, if the model supports it: speaker's number, "
                 "recording ('-' means no recording) and words; may be repeated, oldest first")
      ->type_name("SPEAKER FILE WORDS");
  add_store(app, voice.store);
}

}  // namespace syrinx
