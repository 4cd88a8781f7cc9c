#include "io/known_models.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
#include "io/hub.h"

namespace syrinx {
namespace {

constexpr std::string_view kPiper = "piper:";
constexpr std::string_view kPiperVoice = "piper:VOICE";

constexpr const char* kLlamaLicence = "Llama 3.2 Community License";
constexpr const char* kGemmaLicence = "Gemma Terms of Use";
constexpr const char* kNotStated = "not stated by its authors";
constexpr const char* kOnPage = "that of its page at the hub";

using Patterns = std::vector<std::string>;

Patterns transformers(Patterns more = {}) {
  Patterns out{"config.json", "generation_config.json", "*tokenizer*.json",   "vocab.json",
               "merges.txt",  "chat_template*",         "model*.safetensors*"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

const Patterns kCTranslate2{"config.json", "model.bin", "tokenizer.json", "vocabulary.*",
                            "preprocessor_config.json"};

KnownModel whisper(const std::string& size, int megabytes) {
  return {.name = "whisper-" + size,
          .repository = "openai/whisper-" + size,
          .include = transformers(),
          .megabytes = megabytes,
          .licence = "Apache-2.0"};
}

KnownModel faster_whisper(const std::string& size, int megabytes) {
  return {.name = "faster-whisper-" + size,
          .repository = "Systran/faster-whisper-" + size,
          .include = kCTranslate2,
          .megabytes = megabytes,
          .licence = "MIT"};
}

/// A file of whisper.cpp.
KnownModel whisper_cpp(const std::string& size, int megabytes) {
  const std::string file = "ggml-" + size + ".bin";
  return {.name = "whisper-cpp-" + size,
          .repository = "ggerganov/whisper.cpp",
          .include = {file},
          .file = file,
          .megabytes = megabytes,
          .licence = "MIT"};
}

KnownModel qwen3_tts(const std::string& name, const std::string& edition, int megabytes = 0) {
  return {.name = "qwen3-tts-" + name,
          .repository = "Qwen/Qwen3-TTS-12Hz-" + edition,
          .megabytes = megabytes,
          .licence = "Apache-2.0"};
}

KnownModel kyutai_stt(const std::string& name, const std::string& repository) {
  return {.name = name,
          .repository = repository,
          .include = {"*.json", "*.safetensors", "tokenizer_*.model"},
          .licence = "CC-BY-4.0"};
}

KnownModel kyutai_tts() {
  KnownModel model = kyutai_stt("kyutai-tts", "kyutai/tts-1.6b-en_fr");
  model.megabytes = 4070;
  model.needs = {"kyutai-tts-voices"};
  return model;
}

/// An edition of Orpheus in the layout of transformers.
KnownModel orpheus(const std::string& name, const std::string& repository,
                   const std::string& licence = kLlamaLicence, int megabytes = 0) {
  return {.name = name,
          .repository = repository,
          .include = transformers(),
          .megabytes = megabytes,
          .licence = licence,
          .needs = {"snac"}};
}

/// An edition of Orpheus for one language.
KnownModel orpheus_in(const std::string& language) {
  std::string name = language;
  std::ranges::replace(name, '_', '-');
  return orpheus("orpheus-" + name, "canopylabs/3b-" + language + "-ft-research_release");
}

KnownModel opuslm(const std::string& name, const std::string& repository) {
  return {.name = name,
          .repository = repository,
          .licence = kNotStated,
          .needs = {"opuslm-codec", "xeus"},
          .page = "opuslm"};
}

KnownModel bagpiper(const std::string& name, const std::string& repository) {
  return {.name = name,
          .repository = repository,
          .include = {"model.pt", "*.yaml"},
          .licence = kOnPage,
          .needs = {"qwen3-8b-tokenizer"},
          .page = "bagpiper"};
}

/// A text model in the layout of transformers.
KnownModel text_model(const std::string& name, const std::string& repository, int megabytes,
                      const std::string& licence = "Apache-2.0", bool gated = false) {
  return {.name = name,
          .repository = repository,
          .include = transformers(),
          .megabytes = megabytes,
          .licence = licence,
          .gated = gated};
}

std::vector<KnownModel> table() {
  return {
      {.name = "kokoro",
       .repository = "hexgrad/Kokoro-82M",
       .include = {"config.json", "kokoro-v1_0.pth", "voices/*.pt"},
       .megabytes = 355,
       .licence = "Apache-2.0"},
      {.name = "kokoro-zh",
       .repository = "hexgrad/Kokoro-82M-v1.1-zh",
       .include = {"config.json", "kokoro-v1_1-zh.pth", "voices/*.pt"},
       .megabytes = 380,
       .licence = "Apache-2.0"},
      {.name = std::string(kPiperVoice),
       .repository = "rhasspy/piper-voices",
       .megabytes = 63,
       .licence = "the voice's own: its MODEL_CARD"},
      qwen3_tts("0.6b", "0.6B-CustomVoice", 2500),
      qwen3_tts("0.6b-base", "0.6B-Base"),
      qwen3_tts("1.7b", "1.7B-CustomVoice", 4500),
      qwen3_tts("1.7b-base", "1.7B-Base"),
      qwen3_tts("1.7b-design", "1.7B-VoiceDesign"),
      {.name = "csm-1b",
       .repository = "sesame/csm-1b",
       .include = {"config.json", "generation_config.json", "*tokenizer*.json",
                   "transformers-*.safetensors", "*.safetensors.index.json"},
       .megabytes = 6600,
       .licence = "Apache-2.0",
       .gated = true},
      {.name = "fish-speech",
       .repository = "fishaudio/s2-pro",
       .megabytes = 11000,
       .licence = "Fish Audio Research License (not commercial)"},
      {.name = "higgs-audio",
       .repository = "bosonai/higgs-tts-3-4b",
       .megabytes = 9400,
       .licence = "Boson research licence (not commercial)"},
      {.name = "omnivoice",
       .repository = "k2-fsa/OmniVoice",
       .include = {"config.json", "tokenizer*.json", "model*.safetensors*", "audio_tokenizer/*"},
       .megabytes = 3300,
       .licence = "Apache-2.0"},
      {.name = "voxcpm2",
       .repository = "openbmb/VoxCPM2",
       .megabytes = 5000,
       .licence = "Apache-2.0"},
      {.name = "pocket-tts",
       .repository = "kyutai/pocket-tts-without-voice-cloning",
       .include = {"languages/english/*"},
       .file = "languages/english",
       .licence = "CC-BY-4.0",
       .page = "pocket_tts"},
      {.name = "pocket-tts-cloning",
       .repository = "kyutai/pocket-tts",
       .include = {"languages/english/*"},
       .file = "languages/english",
       .licence = "CC-BY-4.0",
       .gated = true,
       .page = "pocket_tts"},
      {.name = "kyutai-tts-voices",
       .repository = "kyutai/tts-voices",
       .include = {"README.md", "expresso/*.1e68beda@240.safetensors"},
       .licence = kOnPage},
      kyutai_tts(),
      {.name = "voxtral-tts",
       .repository = "mistralai/Voxtral-4B-TTS-2603",
       .include = {"params.json", "consolidated.safetensors", "tekken.json",
                   "voice_embedding/*.pt"},
       .megabytes = 8040,
       .licence = "CC-BY-NC-4.0 (not commercial)",
       .page = "voxtral_tts"},
      {.name = "vibevoice",
       .repository = "microsoft/VibeVoice-Realtime-0.5B",
       .licence = "MIT",
       .needs = {"qwen2.5-0.5b-tokenizer"},
       .page = "vibevoice"},
      {.name = "moss-audio-tokenizer",
       .repository = "OpenMOSS-Team/MOSS-Audio-Tokenizer",
       .megabytes = 7000,
       .licence = "Apache-2.0"},
      {.name = "moss-tts-realtime",
       .repository = "OpenMOSS-Team/MOSS-TTS-Realtime",
       .licence = "Apache-2.0",
       .needs = {"moss-audio-tokenizer"}},
      {.name = "snac",
       .repository = "hubertsiuzdak/snac_24khz",
       .include = {"config.json", "pytorch_model.bin", "*.safetensors"},
       .megabytes = 80,
       .licence = "MIT"},
      {.name = "orpheus",
       .repository = "canopylabs/orpheus-3b-0.1-ft",
       .include = transformers(),
       .megabytes = 6600,
       .licence = kLlamaLicence,
       .gated = true,
       .needs = {"snac"}},
      {.name = "orpheus-gguf",
       .repository = "isaiahbjork/orpheus-3b-0.1-ft-Q4_K_M-GGUF",
       .include = {"orpheus-3b-0.1-ft-q4_k_m.gguf"},
       .file = "orpheus-3b-0.1-ft-q4_k_m.gguf",
       .megabytes = 2400,
       .licence = kLlamaLicence,
       .needs = {"snac"}},
      orpheus("orpheus-pretrained", "canopylabs/orpheus-3b-0.1-pretrained"),
      orpheus("orpheus-prod", "canopylabs/orpheus-tts-0.1-finetune-prod"),
      orpheus_in("fr"),
      orpheus_in("de"),
      orpheus_in("ko"),
      orpheus_in("hi"),
      orpheus_in("zh"),
      orpheus_in("es_it"),
      orpheus("veena", "maya-research/Veena", "Apache-2.0"),
      orpheus("svara", "kenpath/svara-tts-v1", "Apache-2.0", 13200),
      orpheus("maya1", "maya-research/maya1", "Apache-2.0"),
      {.name = "cosyvoice2",
       .repository = "FunAudioLLM/CosyVoice2-0.5B",
       .megabytes = 5000,
       .licence = "Apache-2.0"},
      {.name = "cosyvoice3",
       .repository = "FunAudioLLM/Fun-CosyVoice3-0.5B-2512",
       .include = {"cosyvoice3.yaml", "llm.pt", "flow.pt", "hift.pt", "campplus.onnx",
                   "speech_tokenizer_v3.onnx", "CosyVoice-BlankEN/*.json",
                   "CosyVoice-BlankEN/merges.txt"},
       .megabytes = 4400,
       .licence = "Apache-2.0"},
      {.name = "chatterbox",
       .repository = "ResembleAI/chatterbox",
       .include = {"t3_cfg.safetensors", "s3gen.safetensors", "ve.safetensors", "tokenizer.json",
                   "conds.pt"},
       .megabytes = 3200,
       .licence = "MIT"},
      {.name = "chatterbox-multilingual",
       .repository = "ResembleAI/chatterbox",
       .include = {"t3_mtl23ls_v2.safetensors", "s3gen.pt", "ve.pt",
                   "grapheme_mtl_merged_expanded_v1.json", "conds.pt", "Cangjie5_TC.json"},
       .file = "t3_mtl23ls_v2.safetensors",
       .licence = "MIT"},
      {.name = "chatterbox-turbo",
       .repository = "ResembleAI/chatterbox-turbo",
       .include = {"t3_turbo_v1.safetensors", "s3gen_meanflow.safetensors", "ve.safetensors",
                   "vocab.json", "merges.txt", "*token*.json", "conds.pt"},
       .megabytes = 3000,
       .licence = "MIT"},
      {.name = "dac-44khz",
       .repository = "descript/dac_44khz",
       .include = {"config.json", "*.safetensors"},
       .megabytes = 310,
       .licence = "MIT"},
      {.name = "zonos-speaker",
       .repository = "Zyphra/Zonos-v0.1-speaker-embedding",
       .megabytes = 30,
       .licence = "Apache-2.0"},
      {.name = "zonos",
       .repository = "Zyphra/Zonos-v0.1-transformer",
       .megabytes = 3300,
       .licence = "Apache-2.0",
       .needs = {"dac-44khz", "zonos-speaker"}},
      {.name = "glm4-voice-tokenizer",
       .repository = "zai-org/glm-4-voice-tokenizer",
       .megabytes = 1500,
       .licence = "glm-4"},
      {.name = "glm4-voice-decoder",
       .repository = "zai-org/glm-4-voice-decoder",
       .megabytes = 600,
       .licence = "glm-4"},
      {.name = "glm4-voice",
       .repository = "zai-org/glm-4-voice-9b",
       .megabytes = 19000,
       .licence = "glm-4",
       .needs = {"glm4-voice-tokenizer", "glm4-voice-decoder"}},
      {.name = "step-audio2",
       .repository = "stepfun-ai/Step-Audio-2-mini",
       .megabytes = 17000,
       .licence = "Apache-2.0"},
      {.name = "qwen3-omni",
       .repository = "Qwen/Qwen3-Omni-30B-A3B-Instruct",
       .megabytes = 70500,
       .licence = "Apache-2.0"},
      {.name = "opuslm-codec",
       .repository = "ftshijt/espnet_codec_dac_large_v1.4_360epoch",
       .licence = kOnPage},
      {.name = "xeus",
       .repository = "espnet/xeus",
       .include = {"model/xeus_checkpoint_new.pth", "model/km_opus_lm.mdl"},
       .licence = kOnPage},
      opuslm("opuslm-1.7b", "espnet/OpusLM_1.7B_Anneal"),
      opuslm("opuslm-7b", "espnet/OpusLM_7B_Anneal"),
      opuslm("opuslm-dialogue", "espnet/multi_turn_SDS_RLAIF"),
      {.name = "qwen3-8b-tokenizer",
       .repository = "Qwen/Qwen3-8B-Base",
       .include = {"config.json", "*tokenizer*.json", "vocab.json", "merges.txt"},
       .licence = "Apache-2.0"},
      bagpiper("bagpiper", "espnet/bagpiper-sft"),
      bagpiper("bagpiper-tts", "espnet/bagpiper-tts-sft"),
      {.name = "qwen2.5-0.5b-tokenizer",
       .repository = "Qwen/Qwen2.5-0.5B",
       .include = {"tokenizer.json", "tokenizer_config.json"},
       .licence = "Apache-2.0"},
      text_model("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct", 1000),
      text_model("qwen2.5-coder-0.5b", "Qwen/Qwen2.5-Coder-0.5B-Instruct", 0),
      {.name = "qwen2.5-0.5b-gguf",
       .repository = "Qwen/Qwen2.5-0.5B-Instruct-GGUF",
       .include = {"qwen2.5-0.5b-instruct-q4_k_m.gguf"},
       .file = "qwen2.5-0.5b-instruct-q4_k_m.gguf",
       .megabytes = 491,
       .licence = "Apache-2.0"},
      text_model("qwen3-0.6b", "Qwen/Qwen3-0.6B", 1500),
      text_model("llama-3.2-1b", "meta-llama/Llama-3.2-1B-Instruct", 2500, kLlamaLicence, true),
      text_model("mistral-7b", "mistralai/Mistral-7B-Instruct-v0.3", 0),
      text_model("olmo-2-1b", "allenai/OLMo-2-0425-1B-Instruct", 0),
      text_model("smollm2-360m", "HuggingFaceTB/SmolLM2-360M-Instruct", 0),
      text_model("smollm3-3b", "HuggingFaceTB/SmolLM3-3B", 0),
      text_model("gemma-2-2b", "google/gemma-2-2b-it", 0, kGemmaLicence, true),
      text_model("gemma-3-270m", "google/gemma-3-270m-it", 0, kGemmaLicence, true),
      text_model("gemma-3-1b", "google/gemma-3-1b-it", 0, kGemmaLicence, true),
      text_model("phi-3.5-mini", "microsoft/Phi-3.5-mini-instruct", 0, "MIT"),
      text_model("phi-4-mini", "microsoft/Phi-4-mini-instruct", 0, "MIT"),
      {.name = "nemotron-asr",
       .repository = "nvidia/nemotron-speech-streaming-en-0.6b",
       .include = transformers({"processor_config.json", "preprocessor_config.json"}),
       .licence = "NVIDIA Open Model License"},
      kyutai_stt("kyutai-stt-1b", "kyutai/stt-1b-en_fr"),
      kyutai_stt("kyutai-stt-2.6b", "kyutai/stt-2.6b-en"),
      {.name = "voxtral-realtime",
       .repository = "mistralai/Voxtral-Mini-4B-Realtime-2602",
       .include = {"config.json", "processor_config.json", "tekken.json", "model*.safetensors*"},
       .megabytes = 8900,
       .licence = "Apache-2.0"},
      {.name = "parakeet-tdt",
       .repository = "nvidia/parakeet-tdt-0.6b-v3",
       .include = transformers({"processor_config.json", "preprocessor_config.json"}),
       .licence = "CC-BY-4.0"},
      {.name = "qwen3-asr-0.6b",
       .repository = "Qwen/Qwen3-ASR-0.6B",
       .megabytes = 1900,
       .licence = "Apache-2.0"},
      {.name = "qwen3-asr-1.7b",
       .repository = "Qwen/Qwen3-ASR-1.7B",
       .megabytes = 4700,
       .licence = "Apache-2.0"},
      whisper("tiny", 151),
      whisper("tiny.en", 151),
      whisper("base", 290),
      whisper("base.en", 290),
      whisper("small", 967),
      whisper("small.en", 0),
      whisper("medium", 3060),
      whisper("medium.en", 0),
      whisper("large-v2", 0),
      whisper("large-v3", 3090),
      whisper("large-v3-turbo", 1620),
      faster_whisper("tiny.en", 76),
      faster_whisper("base", 145),
      faster_whisper("small", 484),
      faster_whisper("medium", 1530),
      faster_whisper("large-v3", 3090),
      whisper_cpp("tiny.en", 78),
      whisper_cpp("base.en", 148),
      whisper_cpp("base", 148),
      whisper_cpp("small", 488),
      whisper_cpp("large-v3-turbo-q5_0", 574),
  };
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// Returns a voice's model. The voice "en_US-lessac-medium" is in en/en_US/lessac/medium/.
KnownModel piper_voice(KnownModel model, const std::string& voice) {
  const size_t first = voice.find('-'), last = voice.rfind('-');
  const std::string region = voice.substr(0, first);
  const std::string speaker = first < last ? voice.substr(first + 1, last - first - 1) : "";
  const std::string quality = first < last ? voice.substr(last + 1) : "";
  const size_t bar = region.find('_');
  const bool valid = bar != region.npos && is_word(region) && is_word(speaker) && is_word(quality);
  if (!valid) {
    throw LoadError(concat("model ", shown(model.name),
                           ": expected piper:LANGUAGE_REGION-SPEAKER-QUALITY, such as "
                           "piper:en_US-lessac-medium"));
  }
  const std::string folder = concat(region.substr(0, bar), "/", region, "/", speaker, "/", quality);
  model.file = concat(folder, "/", voice, ".onnx");
  model.include = {model.file, model.file + ".json", folder + "/MODEL_CARD"};
  return model;
}

}  // namespace

const std::vector<KnownModel>& known_models() {
  static const std::vector<KnownModel> models = table();
  return models;
}

std::optional<KnownModel> find_known_model(std::string_view name) {
  const bool piper = name.starts_with(kPiper);
  const std::string_view wanted = piper ? kPiperVoice : name;
  const auto found = std::ranges::find(known_models(), wanted, &KnownModel::name);
  if (found == known_models().end() || name == kPiperVoice) return {};
  KnownModel model = *found;
  model.name = name;
  return piper ? piper_voice(std::move(model), std::string(name.substr(kPiper.size()))) : model;
}

std::string resolve_known_model(const KnownModel& model, const std::string& cache) {
  const std::string root = hub_folder(cache, parse_hub_name(model.repository));
  const std::string snapshot = cache.empty() ? "" : find_snapshot(root, "");
  const std::string path = model.file.empty() ? snapshot : join_path(snapshot, model.file);
  if (!snapshot.empty() && std::filesystem::exists(path)) return path;
  throw LoadError(concat("model ", shown(model.name), " is ", model.repository,
                         " of the hub, which is not in ", cache.empty() ? "any cache" : cache,
                         ". Download it",
                         model.megabytes > 0 ? concat(", about ", model.megabytes, " MB") : "",
                         ", licence ", model.licence, ": syrinx hub pull ", model.name));
}

}  // namespace syrinx
