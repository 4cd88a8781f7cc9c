// Implements audio/recording_libav.h in builds without FFmpeg (SYRINX_MEDIA=OFF), which cannot read
// recordings.
#include "audio/recording_libav.h"

namespace syrinx {
namespace {

class NothingDecoded : public Decoding {
 public:
  Result<bool> read(size_t, std::vector<float>&) override {
    return Error{ErrorCode::kUnsupported, "this build has no FFmpeg and cannot read recordings.",
                 "ref_audio"};
  }
  int sample_rate() const override { return 0; }
  const std::string& format() const override { return format_; }
  double claimed_s() const override { return 0; }

 private:
  const std::string format_;
};

}  // namespace

std::unique_ptr<Decoding> decode_here(std::string_view, const RecordingLimits&) {
  return std::make_unique<NothingDecoded>();
}

}  // namespace syrinx
