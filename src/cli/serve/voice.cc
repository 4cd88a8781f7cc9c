// `syrinx voice`: stores voices, lists them, exports them.
#include "cli/serve/voice.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "base/calendar.h"
#include "base/check.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "cli/speak/voice_choice.h"
#include "io/file.h"

namespace syrinx {
namespace {

struct VoiceOptions {
  LoadOptions load;  ///< options of the model, which may be unset
  std::string store;
  NewVoice wish;
  bool trim = false;               ///< remove silence at both ends of the recording
  std::string file;                ///< file of the voice to add or to export
  std::vector<std::string> names;  ///< names of the voices to remove
};

VoiceStore& need_store(const std::unique_ptr<VoiceStore>& store) {
  if (!store) {
    throw LoadError("no directory for voices: set SYRINX_VOICES or HOME, or give --voice-store");
  }
  return *store;
}

StoredVoice need_voice(const VoiceStore& store, const std::string& name) {
  const auto voice = store.find(name);
  if (!voice) {
    throw LoadError("there is no voice '" + name + "' in " + store.directory() +
                    "; see 'syrinx voice list'");
  }
  return *voice;
}

std::string date_text(int64_t time_s) { return local_text(time_s, "%Y-%m-%d"); }

std::string made_text(const StoredVoice& voice) {
  return voice.family.empty() ? "any that can clone" : voice.family;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

/// Encodes a recording at once if a model is named. So errors are reported now, and the first use
/// is fast.
Voice encode_now(const VoiceOptions& options, const RecordedAudio& audio, VoiceEncoderInfo& info) {
  const std::unique_ptr<Engine> engine = load_engine(options.load);
  const VoiceEncoder* encoder = engine->pipeline().voice_encoder();
  if (encoder == nullptr) throw LoadError(cannot_clone(engine->pipeline().info(), "").message);
  info = encoder->info();
  return encode_recording(*engine, {.samples = audio.samples,
                                    .sample_rate = audio.sample_rate,
                                    .text = options.wish.text,
                                    .mode = options.wish.mode});
}

StoredVoice add_recording(VoiceStore& store, const VoiceOptions& options) {
  const RecordedAudio audio = need(read_recording_file(options.file, {.trim = options.trim}));
  for (const std::string& remark : recording_remarks(audio)) {
    std::fprintf(stderr, "syrinx: %s\n", remark.c_str());
  }
  if (options.load.model.empty()) return need(store.add(options.wish, audio));
  VoiceEncoderInfo info;
  const Voice voice = encode_now(options, audio, info);
  return need(add_voice(store, info, options.wish, audio, voice));
}

StoredVoice add_made(VoiceStore& store, const VoiceOptions& options) {
  const VoiceFile file = read_voice_file(options.file);
  NewVoice wish = options.wish;
  if (!wish.text.empty() || !wish.mode.empty()) {
    throw UsageError("--text and --mode need a recording; " + options.file +
                     " is an encoded voice");
  }
  if (wish.consent.empty()) wish.consent = file.notes.consent;
  return need(store.add(wish, file.voice));
}

int run_voice_add(const VoiceOptions& options) {
  const auto store = open_store(options.store);
  const bool made = options.file.ends_with(".safetensors");
  const StoredVoice voice =
      made ? add_made(need_store(store), options) : add_recording(need_store(store), options);
  std::printf("%s: %.1f s, for %s. Try: syrinx say --model MODEL --voice %s \"Hello.\"\n",
              voice.id.c_str(), voice.seconds, made_text(voice).c_str(), voice.id.c_str());
  return 0;
}

int run_voice_list(const VoiceOptions& options) {
  const auto store = open_store(options.store);
  const std::vector<StoredVoice> voices = need_store(store).list();
  if (voices.empty()) {
    std::fprintf(stderr, "no voices in %s\n", store->directory().c_str());
    return 0;
  }
  size_t width = 5;
  for (const StoredVoice& voice : voices) width = std::max(width, voice.id.size());
  std::printf("%-*s  %7s  %-10s  %-18s  %s\n", static_cast<int>(width), "voice", "seconds", "added",
              "models", "consent");
  for (const StoredVoice& voice : voices) {
    std::printf("%-*s  %7.1f  %-10s  %-18s  %s\n", static_cast<int>(width), voice.id.c_str(),
                voice.seconds, date_text(voice.created_s).c_str(), made_text(voice).c_str(),
                or_dash(shown(voice.consent, 40)).c_str());
  }
  return 0;
}

int run_voice_show(const VoiceOptions& options) {
  const auto store = open_store(options.store);
  const StoredVoice voice = need_voice(need_store(store), options.wish.name);
  const auto line = [](const char* name, const std::string& value) {
    std::printf("%-12s %s\n", name, or_dash(value).c_str());
  };
  line("voice", voice.id);
  line("name", shown(voice.name));
  line("models", made_text(voice));
  line("seconds", concat(voice.seconds));
  if (voice.sample_rate > 0) line("sample rate", concat(voice.sample_rate, " Hz"));
  line("text", shown(voice.text, 2000));
  line("mode", voice.mode.empty() && voice.family.empty() ? "the model's best" : voice.mode);
  line("consent", shown(voice.consent, 2000));
  line("description", shown(voice.description, 2000));
  line("added", date_text(voice.created_s));
  if (!voice.recording.empty()) line("recording", voice.recording);
  return 0;
}

int run_voice_remove(const VoiceOptions& options) {
  const auto store = open_store(options.store);
  for (const std::string& name : options.names) {
    need_voice(need_store(store), name);
    need(store->remove(name));
  }
  return 0;
}

int run_voice_export(const VoiceOptions& options) {
  const auto store = open_store(options.store);
  const StoredVoice stored = need_voice(need_store(store), options.wish.name);
  const bool recording = options.file.ends_with(".wav");
  if (!recording && !options.file.ends_with(".safetensors")) {
    throw UsageError(
        "-o must name a .wav file for the recording, or a .safetensors file for the voice "
        "that a model made of it");
  }
  if (recording) {
    if (stored.recording.empty()) {
      throw LoadError("the voice '" + stored.id + "' was imported without a recording");
    }
    const std::string bytes = store->recording_file(stored);
    NewFile file(options.file);
    file.append(bytes.data(), bytes.size());
    file.commit();
    return 0;
  }
  VoiceNotes notes{.name = stored.name, .consent = stored.consent, .source = stored.recording};
  if (!stored.encoded.empty()) {
    const auto voice = store->load(stored.encoded);
    if (!voice) throw LoadError("the voice '" + stored.id + "' cannot be read");
    write_voice_file(options.file, *voice, notes);
    return 0;
  }
  if (options.load.model.empty()) throw UsageError("give the model with --model");
  const std::unique_ptr<Engine> engine = load_engine(options.load);
  SpeechRequest request;
  request.voice.name = stored.id;
  choose_voice(*engine, {.store = options.store}, request);
  if (!request.voice.data) {
    throw LoadError("the model already has a voice called '" + stored.id + "'");
  }
  write_voice_file(options.file, *request.voice.data, notes);
  return 0;
}

}  // namespace

void add_voice(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<VoiceOptions>();
  VoiceOptions& voice = *options;
  CLI::App* all = app.add_subcommand("voice", "Store voices from recordings");
  all->require_subcommand(1);
  voice.load.model.clear();
  const auto below = [&chosen, &voice, options, all](const char* name, const char* what,
                                                     int (*run)(const VoiceOptions&)) {
    CLI::App* sub = all->add_subcommand(name, what);
    add_store(*sub, voice.store);
    sub->callback([&chosen, options, run] { chosen = [options, run] { return run(*options); }; });
    return sub;
  };
  CLI::App* add = below("add", "Store a recording as a voice, or import a voice", run_voice_add);
  add->add_option("name", voice.wish.name, "the voice's name")->required();
  add->add_option("recording", voice.file,
                  "an audio file, best 5 to 20 s of one speaker without noise; or a .safetensors "
                  "file from 'voice export'")
      ->required();
  add->add_option("--text", voice.wish.text, "the words of the recording; some models need them");
  add->add_flag("--trim", voice.trim, "remove the silence at both ends of the recording");
  add->add_option("--mode", voice.wish.mode, "one of the model's cloning modes");
  add->add_option("--consent", voice.wish.consent,
                  "a note: the person that agreed to the cloning, and how");
  add->add_option("--description", voice.wish.description, "a note for lists");
  add->add_flag("--replace", voice.wish.replace, "replace a voice of that name");
  add->add_option("-m,--model", voice.load.model,
                  "encode the voice now for this model; by default at its first use");
  add_load(*add, voice.load);
  add->footer(
      "Clone only voices of people that agreed to be cloned.\n\n"
      "Examples:\n"
      "  syrinx voice add anna anna.m4a --text \"What Anna says there.\" --consent \"by mail\"\n"
      "  syrinx say \"Hello.\" --model Org/Name --voice anna");
  below("list", "List the stored voices", run_voice_list);
  below("show", "Show what is stored of a voice", run_voice_show)
      ->add_option("name", voice.wish.name, "name of the voice")
      ->required();
  below("remove", "Remove voices and their recordings", run_voice_remove)
      ->add_option("names", voice.names, "names of the voices")
      ->required();
  CLI::App* out = below("export", "Write a voice or its recording into a file", run_voice_export);
  out->add_option("name", voice.wish.name, "name of the voice")->required();
  out->add_option("-o,--output", voice.file,
                  "NAME.wav: the recording; NAME.safetensors: the voice that --model makes of it")
      ->required();
  out->add_option("-m,--model", voice.load.model, "the model for which the voice is encoded");
  add_load(*out, voice.load);
}

}  // namespace syrinx
