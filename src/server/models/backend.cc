#include "server/models/backend.h"

#include <utility>

#include "ears/ears.h"
#include "model/language.h"

namespace syrinx {
namespace {

class EngineBackend : public Backend {
 public:
  EngineBackend(std::shared_ptr<Engine> engine, std::shared_ptr<const SileroVad> vad,
                VoiceQueueLimits voices)
      : engine_(std::move(engine)), recogniser_(recogniser_of(engine_, std::move(vad))) {
    if (const VoiceEncoder* encoder = engine_->pipeline().voice_encoder())
      voices_ = std::make_unique<VoiceQueue>(*encoder, voices);
  }
  const PipelineInfo& info() const override { return engine_->pipeline().info(); }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override {
    return engine_->submit(request, std::move(sink));
  }
  Result<RequestId> submit_soon(const SpeechRequest& request, std::shared_ptr<Sink> sink) override {
    return engine_->submit_soon(request, std::move(sink));
  }
  void cancel(RequestId id) override { engine_->cancel(id); }
  Result<int64_t> prompt_tokens(const SpeechRequest& request) const override {
    if (Status fault = check_request(info(), request); !fault) return fault.error();
    SpeechRequest read = request;
    read.say.language = read_language(info(), request.say.language).take();
    const auto opened = engine_->pipeline().open(read);
    if (!opened.ok()) return opened.error();
    return int64_t{opened.value().sequence().prompt_rows()};
  }
  void raise_priority(RequestId id) override { engine_->raise_priority(id); }
  void append_text(RequestId id, std::string text, bool last) override {
    engine_->append_text(id, std::move(text), last);
  }
  EngineStats stats() const override { return engine_->stats(); }
  const EngineMetrics* metrics() const override { return &engine_->metrics(); }
  std::vector<RemoteNode> remote_nodes() const override {
    return engine_->pipeline().remote_nodes();
  }
  const VoiceEncoderInfo* voice_encoder() const override {
    const VoiceEncoder* encoder = engine_->pipeline().voice_encoder();
    return encoder ? &encoder->info() : nullptr;
  }
  Result<uint64_t> encode_voice(Recording recording, uint64_t client, VoiceDone done) override {
    if (!voices_) return Backend::encode_voice(std::move(recording), client, std::move(done));
    return voices_->encode(std::move(recording), client, std::move(done));
  }
  void cancel_voice(uint64_t id) override {
    if (voices_) voices_->cancel(id);
  }
  const VoiceMetrics* voice_metrics() const override {
    return voices_ ? &voices_->metrics() : nullptr;
  }
  std::shared_ptr<Recogniser> recogniser() const override { return recogniser_; }
  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override {
    return engine_->pipeline().voice_of_embedding(embedding);
  }

 private:
  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<Recogniser> recogniser_;
  std::unique_ptr<VoiceQueue> voices_;  // null if the pipeline has no encoder
};

Error cannot_clone(const char* param) {
  return {ErrorCode::kUnsupported, "this model cannot clone a voice", param};
}

}  // namespace

Result<int64_t> Backend::prompt_tokens(const SpeechRequest&) const {
  return Error{ErrorCode::kUnsupported, "the length of this model's prompts is unknown"};
}

Result<uint64_t> Backend::encode_voice(Recording, uint64_t, VoiceDone) {
  return cannot_clone("ref_audio");
}

Result<Voice> Backend::voice_of_embedding(std::span<const float>) const {
  return cannot_clone("speaker_embedding");
}

std::shared_ptr<Backend> make_backend(std::unique_ptr<Engine> engine,
                                      std::shared_ptr<const SileroVad> vad,
                                      VoiceQueueLimits voices) {
  return std::make_shared<EngineBackend>(std::move(engine), std::move(vad), voices);
}

}  // namespace syrinx
