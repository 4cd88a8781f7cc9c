#include "families/s3/cloning.h"

#include "io/file.h"
#include "io/onnx_weights.h"

namespace syrinx {
namespace {

using Encoder = std::unique_ptr<S3ReferenceEncoder>;

Encoder load_encoder(const S3Cloning::Files& files, const S3FlowConfig& flow,
                     const S3CloningOptions& options) {
  const bool dummy = options.dummy;
  const Weights tokenizer(dummy ? dummy_weights() : open_s3_tokenizer_onnx(files.tokenizer));
  const Weights speaker(dummy ? dummy_weights() : open_onnx_weights(files.speaker));
  Encoder encoder;
  speaker.build([&] {
    tokenizer.build([&] {
      encoder = std::make_unique<S3ReferenceEncoder>(tokenizer, speaker, flow, options.mel_top_hz);
    });
  });
  return encoder;
}

Pieces hear(const Encoder& encoder, bool filled, RecordedVoice& recorded) {
  S3ReferenceEncoder::Work work =
      encoder->open(recorded.at(S3Tokenizer::kSampleRate, Resampling::kHann),
                    recorded.at(S3ReferenceEncoder::kMelRate, Resampling::kHann));
  while (!work.done()) {
    co_await PieceEnd();
    encoder->run(recorded.ctx(), work);
  }
  put_reference(filled ? encoder->take_filled(work) : encoder->take(work), recorded.voice);
}

}  // namespace

std::string S3Cloning::Files::missing() const {
  for (const std::string& file : {tokenizer, speaker}) {
    if (!is_file(file)) return concat(file.substr(file.rfind('/') + 1), " is missing");
  }
  return "";
}

S3Cloning::S3Cloning(VoiceEncoderInfo info, Files files, const S3FlowConfig& flow,
                     const S3CloningOptions& options)
    : RecordedVoices(
          std::move(info),
          [files = std::move(files), flow, options] { return load_encoder(files, flow, options); },
          [filled = options.filled](const Encoder& encoder, RecordedVoice& recorded) {
            return hear(encoder, filled, recorded);
          }) {}

}  // namespace syrinx
