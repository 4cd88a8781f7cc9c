#include "ears/voice_activity.h"

#include <dlfcn.h>

#include "base/check.h"
#include "base/error.h"
#include "ears/recogniser.h"

namespace syrinx {
namespace {

/// The versions 0.3 (Debian 12) and 1.3 (Debian 13) export the same detector.
constexpr const char* kWebRtcNames[] = {"libwebrtc_audio_processing.so.1",
                                        "libwebrtc-audio-processing-1.so.3"};

/// The C functions that the library exports, but for which no header is installed.
struct WebRtcLibrary {
  struct Detector;
  Detector* (*create)() = nullptr;
  void (*free)(Detector*) = nullptr;
  int (*init)(Detector*) = nullptr;
  int (*set_mode)(Detector*, int) = nullptr;
  int (*process)(Detector*, int, const int16_t*, size_t) = nullptr;
};

template <typename Function>
void bind_webrtc(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) {
    throw LoadError(concat("this libwebrtc_audio_processing has no ", name, "()"));
  }
}

/// Returns the library. It is opened once and never closed.
const WebRtcLibrary& webrtc() {
  static const WebRtcLibrary library = [] {
    void* handle = nullptr;
    for (const char* name : kWebRtcNames) {
      if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == nullptr) {
      throw LoadError(concat("the voice detector is not installed (", dlerror(),
                             "); on Debian 13: apt install libwebrtc-audio-processing-1-3, on "
                             "Debian 12: apt install libwebrtc-audio-processing1"));
    }
    WebRtcLibrary out;
    bind_webrtc(handle, "WebRtcVad_Create", out.create);
    bind_webrtc(handle, "WebRtcVad_Free", out.free);
    bind_webrtc(handle, "WebRtcVad_Init", out.init);
    bind_webrtc(handle, "WebRtcVad_set_mode", out.set_mode);
    bind_webrtc(handle, "WebRtcVad_Process", out.process);
    return out;
  }();
  return library;
}

class WebRtcActivity final : public VoiceActivity {
 public:
  explicit WebRtcActivity(int strictness) : library_(webrtc()), detector_(library_.create()) {
    const bool ready = detector_ != nullptr && library_.init(detector_) == 0 &&
                       library_.set_mode(detector_, strictness) == 0;
    SYRINX_CHECK(ready, "[voice_activity] cannot set the strictness ", strictness);
  }
  ~WebRtcActivity() override { library_.free(detector_); }
  WebRtcActivity(const WebRtcActivity&) = delete;
  WebRtcActivity& operator=(const WebRtcActivity&) = delete;

  bool speaks(std::span<const int16_t> frame) override {
    SYRINX_CHECK(frame.size() == kActivityFrame, "expected a frame of 10 ms, got ", frame.size(),
                 " samples");
    return library_.process(detector_, kHearingRate, frame.data(), frame.size()) == 1;
  }

 private:
  const WebRtcLibrary& library_;
  WebRtcLibrary::Detector* const detector_;
};

}  // namespace

std::unique_ptr<VoiceActivity> open_webrtc_activity(int strictness) {
  return std::make_unique<WebRtcActivity>(strictness);
}

}  // namespace syrinx
