#pragma once
// Common names for functions and types whose names differ between FFmpeg 4 and 7.
#include <cstddef>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/channel_layout.h>
#include <libavutil/samplefmt.h>
#include <libavutil/version.h>
#include <libswresample/swresample.h>
}

namespace syrinx {

/// The type of a size in bytes of a packet's side data.
#if LIBAVCODEC_VERSION_MAJOR < 59
using SideDataSize = int;
#else
using SideDataSize = size_t;
#endif

// FFmpeg 5.1 replaced the fields `channels` and `channel_layout` by `ch_layout`.
#define SYRINX_LIBAV_LAYOUTS (LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 28, 100))

/// Gives a codec context or a frame one channel.
template <typename T>
void set_mono(T& of) {
#if SYRINX_LIBAV_LAYOUTS
  av_channel_layout_default(&of.ch_layout, 1);
#else
  of.channels = 1;
  of.channel_layout = AV_CH_LAYOUT_MONO;
#endif
}

/// Counts the channels of a frame or of a codec's parameters.
template <typename T>
int channel_count(const T& of) {
#if SYRINX_LIBAV_LAYOUTS
  return of.ch_layout.nb_channels;
#else
  return of.channels;
#endif
}

/// Makes a resampler for one channel of floats. The caller must initialize it. Null without memory.
inline SwrContext* mono_resampler(int in_rate_hz, int out_rate_hz) {
#if SYRINX_LIBAV_LAYOUTS
  AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
  SwrContext* context = nullptr;
  swr_alloc_set_opts2(&context, &mono, AV_SAMPLE_FMT_FLT, out_rate_hz, &mono, AV_SAMPLE_FMT_FLT,
                      in_rate_hz, 0, nullptr);
  return context;
#else
  return swr_alloc_set_opts(nullptr, AV_CH_LAYOUT_MONO, AV_SAMPLE_FMT_FLT, out_rate_hz,
                            AV_CH_LAYOUT_MONO, AV_SAMPLE_FMT_FLT, in_rate_hz, 0, nullptr);
#endif
}

#undef SYRINX_LIBAV_LAYOUTS

}  // namespace syrinx
