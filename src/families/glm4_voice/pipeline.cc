#include "families/glm4_voice/pipeline.h"

#include <algorithm>

#include "audio/resampler.h"
#include "base/check.h"
#include "families/glm4_voice/voice_answer.h"
#include "families/hearing/heard.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "io/file.h"
#include "io/hub.h"

namespace syrinx::glm4_voice {
namespace {

constexpr const char* kVoice = "glm";
constexpr int kMostSpokenIds = 2000;  // of an answer that is heard: the authors' bound
constexpr double kHearsSeconds = 300;
// As the authors' web demo draws; the number of ids is transformers', where nobody names one.
constexpr float kTemperature = 0.2f, kTopP = 0.8f;
constexpr int kTopK = 50;

/// Where a part of the model lies: under the organisation's name of today or of its publication.
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
  if (ids_.audio_end > config_.lm.vocab)
    root.fail("padded_vocab_size", "is too small for the audio");
  prompter_ = std::make_unique<Prompter>(*tokenizer_, ids_, config_.lm.max_positions - 1);
  join();
  describe(spec);
}

void Glm4Voice::load_networks(const LoadSpec& spec) {
  std::string speech, decoder;
  // With random weights the parts may be missing; they then have the published sizes.
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
      throw LoadError(concat(decoder, ": the flow knows ", config_.flow.vocab,
                             " codes, the speech tokenizer ", config_.speech.codes));
  }
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  weights_->build(
      [&] { lm_ = std::make_unique<llm::LanguageModel>(config_.lm, *weights_, spec.weights); },
      {"transformer.rotary_pos_emb.inv_freq"});
  {
    const Weights weights(weights_at(spec, speech));
    weights.build([&] {
      speech_ = std::make_unique<GlmSpeechTokenizer>(config_.speech, weights, spec.weights);
    });
  }
  {
    const Weights weights(weights_at(spec, join_path(decoder, "flow.pt")));
    weights.build([&] {
      flow_ = std::make_unique<GlmFlow>(config_.flow, weights, at_least_8_bits(spec.weights));
    });
  }
  const Weights weights(plain_weights_at(spec, join_path(decoder, "hift.pt")));
  weights.build([&] { hift_ = std::make_unique<Hift>(config_.hift, weights, spec.weights); });
}

void Glm4Voice::join() {
  hearing_ = std::make_unique<HearingStage>(*speech_);
  flow_stage_ = std::make_unique<FlowStage>(*flow_);
  vocoder_ = std::make_unique<VocoderStage>(*hift_);
  const FrameType text{Flow::kText};
  enum { kHearing, kLm, kFlow, kVocoder };
  std::vector<Node> nodes{{.name = "hearing", .chunk = hearing_.get(), .in = {}, .out = {}},
                          {.name = "lm",
                           .ar = lm_.get(),
                           .in = {text, hearing_->out()},
                           .out = {text, flow_stage_->in()}},
                          {.name = "flow", .chunk = flow_stage_.get(), .in = {}, .out = {}},
                          {.name = "vocoder", .chunk = vocoder_.get(), .in = {}, .out = {}}};
  std::vector<Edge> edges{{.from = {kClient}, .to = {kHearing}, .policy = HearingStage::kPolicy},
                          {.from = {kClient}, .to = {kLm, 0}},
                          {.from = {kHearing}, .to = {kLm, VoiceAnswer::kHearing}},
                          {.from = {kLm, 0}, .to = {kClient}},
                          {.from = {kLm, 1}, .to = {kFlow}, .policy = FlowStage::kPolicy},
                          {.from = {kFlow},
                           .to = {kVocoder},
                           .policy = vocoder_->policy(),
                           .window = FlowStage::kWindow},
                          {.from = {kVocoder}, .to = {kClient}}};
  graph_ = {std::move(nodes), std::move(edges)};
}

void Glm4Voice::describe(const LoadSpec& spec) {
  info_.family = "glm4_voice";
  info_.model = spec.model;
  info_.licence = "GLM-4 model licence (see the checkpoint)";
  info_.writes = true;
  info_.sample_rate = static_cast<int>(config_.hift.source.sample_rate);
  info_.frame_rate = config_.flow.token_rate;
  info_.voices = {{kVoice, "the published voice"}};
  info_.default_voice = kVoice;
  info_.languages = {"chinese", "english"};
  info_.hears_s = kHearsSeconds;
  info_.positions = config_.lm.max_positions;
  info_.hears_first_channel = true;
  const auto seconds = [](int64_t samples) {
    return static_cast<double>(samples) / GlmSpeechTokenizer::kSampleRate;
  };
  info_.hears_ahead = {seconds(speech_->block_samples()), seconds(speech_->segment_samples())};
  info_.recalls = true;
  const GlmSpeechConfig& s = config_.speech;
  const GlmFlowConfig& f = config_.flow;
  info_.parts = {
      {"speech tokenizer",
       concat(s.layers, " layers, width ", s.width, ", blocks of ", s.block / 50, " s, ", s.codes,
              " codes"),
       speech_->bytes()},
      {"language model", describe_decoder(config_.lm.lm), lm_->bytes()},
      {"tables", concat(config_.lm.vocab, " ids x ", config_.lm.lm.hidden, ", and the head"),
       lm_->table_bytes() + lm_->head_bytes()},
      {"flow",
       concat(f.layers, " encoder layers x ", f.width, ", ", (f.middle + 4) * f.blocks,
              " estimator blocks x ", f.channels, ", ", f.steps, " steps"),
       flow_->bytes()},
      {"vocoder", concat(config_.hift.hop(), " samples a mel frame"), hift_->bytes()}};
}

/// Also the samples for the hearing stage: whole frames for every segment of every recording.
Result<Prompt> Glm4Voice::prompt_of(const SpeechRequest& request,
                                    std::vector<float>& samples) const {
  if (!request.chat && request.text_only) return prompter_->of_text(request.text);
  if (!request.chat) return prompter_->reading_aloud(request.text);
  std::vector<int64_t> codes;
  std::vector<Segment> segments;
  std::vector<uint64_t> keys;
  const int64_t width = hearing_->in_width(), longest = speech_->segment_samples();
  for (const auto& recording : request.recordings) {
    const std::vector<float> all = resampled(recording->samples, recording->sample_rate,
                                             GlmSpeechTokenizer::kSampleRate, Resampling::kHann);
    if (all.empty())
      return Error{ErrorCode::kInvalid, concat("recording ", codes.size() + 1, " is empty"),
                   "messages"};
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
      codes.back() += segments.back().codes;
      samples.insert(samples.end(), part.begin(), part.end());
      const int64_t frames = (std::ssize(samples) + width - 1) / width;
      samples.resize(static_cast<size_t>(frames * width), 0.f);
    }
  }
  Result<Prompt> made = prompter_->of_chat(*request.chat, codes, request.answers);
  if (!made.ok()) return made;
  Prompt prompt = made.take();
  prompt.segments = std::move(segments);
  prompt.keys = std::move(keys);
  return prompt;
}

Result<Opened> Glm4Voice::open(const SpeechRequest& request) const {
  if (Status fault = llm::check_answerable(request); !fault) return fault.error();
  const bool speaks = !request.text_only;
  if (speaks) {
    if (const Status known = check_voice(info_, request.voice); !known.ok()) return known.error();
  }
  Opened opened;
  Result<Prompt> prompt = prompt_of(request, opened.samples);
  if (!prompt.ok()) return prompt.error();
  SpeechRequest answer = request;
  if (speaks) {
    // So many codes, and the ids of a text that is read aloud, of which a run stands before theirs.
    const int64_t codes = answer.max_frames, said = std::ssize(prompt.value().said);
    const int64_t runs = (codes + VoiceAnswer::kAudioRun - 1) / VoiceAnswer::kAudioRun;
    const int64_t ids = codes + std::min(said, runs * VoiceAnswer::kTextRun);
    const int64_t wish = answer.max_tokens > 0 ? answer.max_tokens : ids;
    answer.max_tokens =
        static_cast<int>(wish > 0 ? std::min<int64_t>(wish, kMostSpokenIds) : kMostSpokenIds);
  }
  opened.sequences.push_back(std::make_unique<VoiceAnswer>(
      ids_, config_.lm, generation_, *tokenizer_, answer, prompt.take(), speaks));
  return opened;
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<Glm4Voice>(spec);
}

}  // namespace syrinx::glm4_voice
