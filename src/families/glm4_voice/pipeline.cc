#include "families/glm4_voice/pipeline.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "families/glm4_voice/answer.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/voice_chat/chat_graph.h"
#include "io/file.h"
#include "io/hub.h"

namespace syrinx::glm4_voice {
namespace {

constexpr const char* kVoice = "glm";
// The authors' limit of the number of ids in an answer with audio.
constexpr int kMostSpokenIds = 2000;
constexpr double kHearsSeconds = 300;
// Sampling of the authors' web demo; top-k is the default of transformers.
constexpr float kTemperature = 0.2f, kTopP = 0.8f;
constexpr int kTopK = 50;

/// Returns the folder of a part of the model, from a hub repository of the organisation zai-org or,
/// by its former name, THUDM.
std::string part_dir(const LoadSpec& spec, const std::string& name, const std::string& marker) {
  try {
    return resolve_part(spec.dir, "zai-org/" + name, hub_cache(), marker);
  } catch (const LoadError&) {
    if (is_directory(join_path(spec.dir, name))) throw;
  }
  return resolve_part(spec.dir, "THUDM/" + name, hub_cache(), marker);
}

}  // namespace

Glm4Voice::Glm4Voice(const LoadSpec& spec) {
  const Config root = Config::load(join_path(spec.dir, "config.json"));
  config_.lm = load_lm_config(root);
  tokenizer_ = std::make_unique<Tokenizer>(load_tokenizer(spec.dir));
  generation_ = llm::load_generation(spec.dir, root, *tokenizer_);
  generation_.sampling.temperature = kTemperature;
  generation_.sampling.top_p = kTopP;
  generation_.sampling.top_k = kTopK;
  load_networks(spec);
  ids_ = load_ids(*tokenizer_, config_.speech.codes);
  root.check("padded_vocab_size", ids_.audio_end <= config_.lm.vocab,
             "is too small for the audio tokens");
  prompter_ = std::make_unique<Prompter>(*tokenizer_, ids_, config_.lm.max_positions - 1);
  hearing_ = std::make_unique<HearingStage>(*speech_);
  flow_stage_ = std::make_unique<FlowStage>(*flow_);
  vocoder_ = std::make_unique<VocoderStage>(*hift_);
  const Link behind[] = {{"flow", flow_stage_.get(), FlowStage::kPolicy},
                         {"vocoder", vocoder_.get(), vocoder_->policy()}};
  graph_ = chat_graph({"hearing", hearing_.get(), HearingStage::kPolicy}, "lm", *lm_, behind,
                      FlowStage::kWindow);
  describe(spec);
}

void Glm4Voice::load_networks(const LoadSpec& spec) {
  std::string speech, decoder;
  // With random weights, the parts may be missing. Then the sizes are those of the published model.
  const bool there = !spec.dummy || is_directory(join_path(spec.dir, "glm-4-voice-tokenizer"));
  config_.hift.rates = {8, 8}, config_.hift.rate_kernels = {16, 16};
  config_.hift.source_kernels = {7, 11};
  config_.hift.source.sample_rate = 22050;
  config_.hift.source.phase = SinePhase::kHeld;
  if (there) {
    speech = part_dir(spec, "glm-4-voice-tokenizer", "config.json");
    decoder = part_dir(spec, "glm-4-voice-decoder", "config.yaml");
    config_.speech = GlmSpeechConfig::load(Config::load(join_path(speech, "config.json")));
    load_decoder_config(join_path(decoder, "config.yaml"), config_);
    if (config_.flow.vocab != config_.speech.codes)
      throw LoadError(concat(decoder, ": the flow has ", config_.flow.vocab,
                             " codes, but the speech tokenizer has ", config_.speech.codes));
  }
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  weights_->build([&] { lm_ = llm::load_language_model(config_.lm, *weights_, spec.weights); },
                  {"transformer.rotary_pos_emb.inv_freq"});
  move_networks(spec, "lm", *lm_);
  const Weights ears(weights_at(spec, speech));
  ears.build(
      [&] { speech_ = std::make_unique<GlmSpeechTokenizer>(config_.speech, ears, spec.weights); });
  move_networks(spec, "hearing", *speech_);
  const Weights flow(weights_at(spec, join_path(decoder, "flow.pt")));
  flow.build([&] {
    flow_ = std::make_unique<GlmFlow>(config_.flow, flow, at_least_8_bits(spec.weights));
  });
  const Weights hift(plain_weights_at(spec, join_path(decoder, "hift.pt")));
  hift.build([&] { hift_ = std::make_unique<Hift>(config_.hift, hift, spec.weights); });
  move_networks(spec, "flow", *flow_, "vocoder", *hift_);
}

void Glm4Voice::describe(const LoadSpec& spec) {
  name("glm4_voice", spec, "GLM-4 model licence (see the checkpoint)");
  info_.writes = true;
  info_.speech.sample_rate = static_cast<int>(config_.hift.source.sample_rate);
  info_.speech.frame_rate = config_.flow.token_rate;
  info_.speech.voices = {{kVoice, "the published voice"}};
  info_.speech.default_voice = kVoice;
  info_.speech.languages = {"chinese", "english"};
  info_.hearing.seconds = kHearsSeconds;
  info_.writing.positions = config_.lm.max_positions;
  info_.hearing.first_channel = true;
  const auto seconds = [](int64_t samples) {
    return static_cast<double>(samples) / GlmSpeechTokenizer::kSampleRate;
  };
  info_.hearing.ahead = {seconds(speech_->block_samples()), seconds(speech_->segment_samples())};
  info_.writing.recalls = true;
  const GlmSpeechConfig& s = config_.speech;
  const GlmFlowConfig& f = config_.flow;
  info_.parts = {{"speech tokenizer",
                  concat(s.layers, " layers, width ", s.width, ", blocks of ", s.block / 50, " s, ",
                         s.codes, " codes"),
                  speech_->bytes()}};
  std::ranges::move(describe_lm(*lm_), std::back_inserter(info_.parts));
  info_.parts.push_back(
      {"flow",
       concat(f.layers, " encoder layers x ", f.width, ", ", (f.unet.middle + 4) * f.unet.blocks,
              " estimator blocks x ", f.unet.channels, ", ", f.steps, " steps"),
       flow_->bytes()});
  info_.parts.push_back(
      {"vocoder", concat(config_.hift.hop(), " samples a mel frame"), hift_->bytes()});
}

/// Returns the prompt of a request. Writes the samples for the hearing stage: whole frames for
/// every segment of every recording.
Result<ChatPrompt> Glm4Voice::prompt_of(const SpeechRequest& request,
                                        std::vector<float>& samples) const {
  if (!request.writing.chat && request.writing.text_only)
    return prompter_->of_text(request.say.text);
  if (!request.writing.chat) return prompter_->reading_aloud(request.say.text);
  auto recordings =
      recordings_at(request, static_cast<int>(GlmSpeechTokenizer::kSampleRate), Resampling::kHann);
  if (!recordings.ok()) return recordings.error();
  std::vector<int64_t> codes;
  std::vector<Heard> segments;
  std::vector<uint64_t> keys;
  const int64_t longest = speech_->segment_samples();
  for (const std::vector<float>& all : recordings.value()) {
    codes.push_back(0);
    for (int64_t at = 0; at < std::ssize(all); at += longest) {
      const auto part = std::span(all).subspan(
          static_cast<size_t>(at), static_cast<size_t>(std::min(longest, std::ssize(all) - at)));
      const MelExtremes extremes = speech_->extremes(part);
      segments.push_back({std::ssize(part), speech_->count(std::ssize(part)), extremes.loudest,
                          speech_->keys(part, extremes)});
      for (size_t b = 0; b < segments.back().keys.size(); ++b) {
        const int64_t some = speech_->block_codes(static_cast<int64_t>(b), std::ssize(part));
        append_row_keys(segments.back().keys[b], some, keys);
      }
      codes.back() += segments.back().rows;
      append_frames(part, hearing_->in_width(), samples);
    }
  }
  Result<ChatPrompt> made =
      prompter_->of_chat(*request.writing.chat, codes, request.writing.answers);
  if (!made.ok()) return made;
  ChatPrompt prompt = made.take();
  prompt.heard = std::move(segments);
  prompt.keys = std::move(keys);
  return prompt;
}

Result<Opened> Glm4Voice::open(const SpeechRequest& request) const {
  const bool speaks = !request.writing.text_only;
  if (speaks) {
    if (const Status known = check_voice(info_, request.voice); !known) return known.error();
  }
  Opened opened;
  Result<ChatPrompt> prompt = prompt_of(request, opened.samples);
  if (!prompt.ok()) return prompt.error();
  SpeechRequest answer = request;
  if (speaks) {
    answer.writing.max_tokens =
        most_ids(request, std::ssize(prompt.value().said), Answer::kRuns, kMostSpokenIds);
  }
  opened.sequences.push_back(std::make_unique<Answer>(ids_, config_.lm, generation_, *tokenizer_,
                                                      answer, prompt.take(), speaks));
  return opened;
}

}  // namespace syrinx::glm4_voice
