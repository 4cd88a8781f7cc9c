#include "audio/decode_test.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "audio/libav_versions.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
}

namespace syrinx {
namespace {

struct Source {
  const std::string* bytes;
  size_t at = 0;
};

int read_source(void* opaque, uint8_t* to, int count) {
  auto* source = static_cast<Source*>(opaque);
  const size_t left = source->bytes->size() - source->at;
  if (left == 0) return AVERROR_EOF;
  const size_t part = std::min<size_t>(left, count);
  std::memcpy(to, source->bytes->data() + source->at, part);
  source->at += part;
  return static_cast<int>(part);
}

/// Makes memory seekable like a file. FFmpeg reads the length that MP3 declares only from seekable
/// input.
int64_t seek_source(void* opaque, int64_t offset, int whence) {
  auto* source = static_cast<Source*>(opaque);
  const auto size = std::ssize(*source->bytes);
  if ((whence & AVSEEK_SIZE) != 0) return size;
  const int64_t from = whence == SEEK_CUR   ? static_cast<int64_t>(source->at)
                       : whence == SEEK_END ? size
                                            : 0;
  source->at = static_cast<size_t>(std::clamp<int64_t>(from + offset, 0, size));
  return static_cast<int64_t>(source->at);
}

void need(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("cannot decode: ") + what);
}

void append(const AVFrame& frame, std::vector<float>& out) {
  const auto* data = frame.data[0];
  const int step =
      av_sample_fmt_is_planar(static_cast<AVSampleFormat>(frame.format)) ? 1 : channel_count(frame);
  for (int i = 0; i < frame.nb_samples; ++i) {
    switch (frame.format) {
      case AV_SAMPLE_FMT_S16:
      case AV_SAMPLE_FMT_S16P:
        out.push_back(static_cast<float>(reinterpret_cast<const int16_t*>(data)[i * step]) / 32767);
        break;
      case AV_SAMPLE_FMT_FLT:
      case AV_SAMPLE_FMT_FLTP:
        out.push_back(reinterpret_cast<const float*>(data)[i * step]);
        break;
      default:
        need(false, "sample format");
    }
  }
}

std::string tag(const AVDictionary* from, const char* name) {
  const AVDictionaryEntry* entry = av_dict_get(from, name, nullptr, 0);
  return entry == nullptr ? "" : entry->value;
}

/// Reads tags of a file, or those of its stream (Ogg), and chapters.
AudioLabels labels_of(const AVFormatContext& format) {
  const AVDictionary* tags =
      format.metadata != nullptr ? format.metadata : format.streams[0]->metadata;
  AudioLabels out{
      .title = tag(tags, "title"), .album = tag(tags, "album"), .author = tag(tags, "artist")};
  for (unsigned i = 0; i < format.nb_chapters; ++i) {
    const AVChapter& chapter = *format.chapters[i];
    const double unit_s = av_q2d(chapter.time_base);
    out.chapters.push_back({tag(chapter.metadata, "title"),
                            static_cast<double>(chapter.start) * unit_s,
                            static_cast<double>(chapter.end) * unit_s});
  }
  return out;
}

}  // namespace

DecodedAudio decode_audio(const std::string& bytes) {
  Source source{&bytes};
  AVFormatContext* format = avformat_alloc_context();
  AVIOContext* io = avio_alloc_context(static_cast<uint8_t*>(av_malloc(4096)), 4096, 0, &source,
                                       read_source, nullptr, seek_source);
  format->pb = io;
  need(avformat_open_input(&format, nullptr, nullptr, nullptr) >= 0, "no known format");
  need(avformat_find_stream_info(format, nullptr) >= 0 && format->nb_streams > 0, "no stream");
  const AVCodecParameters* parameters = format->streams[0]->codecpar;
  const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
  AVCodecContext* context = avcodec_alloc_context3(codec);
  avcodec_parameters_to_context(context, parameters);
  context->pkt_timebase = format->streams[0]->time_base;
  need(avcodec_open2(context, codec, nullptr) >= 0, "no decoder");
  DecodedAudio out{.rate_hz = parameters->sample_rate, .samples = {}, .labels = labels_of(*format)};
  AVPacket* packet = av_packet_alloc();
  AVFrame* frame = av_frame_alloc();
  for (bool more = true; more;) {
    more = av_read_frame(format, packet) >= 0;
    const bool ours = !more || packet->stream_index == 0;  // chapters of M4A are a second stream
    need(!ours || avcodec_send_packet(context, more ? packet : nullptr) >= 0, "a packet");
    av_packet_unref(packet);
    while (avcodec_receive_frame(context, frame) >= 0) append(*frame, out.samples);
  }
  av_frame_free(&frame);
  av_packet_free(&packet);
  avcodec_free_context(&context);
  avformat_close_input(&format);
  av_freep(&io->buffer);
  avio_context_free(&io);
  return out;
}

}  // namespace syrinx
