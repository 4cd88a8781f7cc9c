#include "audio/recording_libav.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "audio/libav_versions.h"
#include "base/check.h"
#include "base/clock.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
}

namespace syrinx {
namespace {

// Formats that phones, browsers, recorders and editors use. The list excludes playlists and other
// formats that open a second file.
constexpr const char* kReadFormats =
    "wav,w64,aiff,au,caf,flac,mp3,aac,ogg,mov,matroska,amr,amrnb,amrwb";
constexpr const char* kCodecs =
    "pcm_u8,pcm_s8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,"
    "pcm_f64le,pcm_f64be,pcm_alaw,pcm_mulaw,adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,flac,alac,mp3,"
    "mp3float,aac,vorbis,opus,libopus,amrnb,amrwb";
constexpr int kBufferBytes = 32 << 10;
constexpr size_t kProbedBytes = 4096;  // beginning of a file, which identifies its format
constexpr int kMaxStreams = 16;
constexpr int kMaxChannels = 8;

/// Bytes in memory that libav reads. After the deadline, reading fails.
struct Source {
  std::string_view bytes;
  double deadline_s = 0;
  int64_t at = 0;

  bool late() const { return now_s() > deadline_s; }

  static int read(void* opaque, uint8_t* to, int count) {
    auto* source = static_cast<Source*>(opaque);
    if (source->late()) return AVERROR_EXIT;
    const int64_t left = static_cast<int64_t>(source->bytes.size()) - source->at;
    if (left <= 0) return AVERROR_EOF;
    const int64_t part = std::min<int64_t>(left, count);
    std::memcpy(to, source->bytes.data() + source->at, static_cast<size_t>(part));
    source->at += part;
    return static_cast<int>(part);
  }

  static int64_t seek(void* opaque, int64_t offset, int whence) {
    auto* source = static_cast<Source*>(opaque);
    const auto size = static_cast<int64_t>(source->bytes.size());
    if ((whence & AVSEEK_SIZE) != 0) return size;
    if (source->late()) return AVERROR_EXIT;
    int64_t from = 0;
    switch (whence & ~AVSEEK_FORCE) {
      case SEEK_SET:
        break;
      case SEEK_CUR:
        from = source->at;
        break;
      case SEEK_END:
        from = size;
        break;
      default:
        return AVERROR(EINVAL);
    }
    int64_t to = 0;
    if (__builtin_add_overflow(from, offset, &to) || to < 0 || to > size) return AVERROR(EINVAL);
    source->at = to;
    return to;
  }
};

/// Refuses libav's request to open another file.
int refuse_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

struct FreeFormat {
  void operator()(AVFormatContext* format) const {
    AVIOContext* io = format->pb;
    avformat_close_input(&format);
    if (io != nullptr) av_freep(&io->buffer);
    avio_context_free(&io);
  }
};
struct FreeCodec {
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
};
struct FreePacket {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
struct FreeFrame {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};

/// Returns sample `i` of a plane; full scale is 1.
template <typename T>
float sample_at(const uint8_t* plane, int64_t i) {
  T value;
  std::memcpy(&value, plane + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  if constexpr (std::is_same_v<T, uint8_t>) {
    return (static_cast<float>(value) - 128.f) / 128.f;
  } else if constexpr (std::is_same_v<T, int16_t>) {
    return static_cast<float>(value) / 32768.f;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return static_cast<float>(static_cast<double>(value) / 2147483648.0);
  } else {
    return static_cast<float>(value);
  }
}

using SampleAt = float (*)(const uint8_t*, int64_t);

SampleAt sample_reader(AVSampleFormat format) {
  switch (av_get_packed_sample_fmt(format)) {
    case AV_SAMPLE_FMT_U8:
      return sample_at<uint8_t>;
    case AV_SAMPLE_FMT_S16:
      return sample_at<int16_t>;
    case AV_SAMPLE_FMT_S32:
      return sample_at<int32_t>;
    case AV_SAMPLE_FMT_FLT:
      return sample_at<float>;
    case AV_SAMPLE_FMT_DBL:
      return sample_at<double>;
    default:
      return nullptr;
  }
}

/// Returns whether the beginning of a file is that of a supported container.
bool is_supported(std::string_view file) {
  std::string head(file.substr(0, kProbedBytes));
  head.resize(head.size() + AVPROBE_PADDING_SIZE);
  AVProbeData probe{};
  probe.buf = reinterpret_cast<unsigned char*>(head.data());
  probe.buf_size = static_cast<int>(head.size()) - AVPROBE_PADDING_SIZE;
  probe.filename = "";
  int score = AVPROBE_SCORE_RETRY;  // up to this score, libav guesses
  const AVInputFormat* format = av_probe_input_format2(&probe, 1, &score);
  return format != nullptr && av_match_list(format->name, kReadFormats, ',') > 0;
}

constexpr int kMean = -1;  // the mean of all channels, instead of one channel

/// Finds channels that cancel each other, so that their mean is silence, e.g. stereo with one side
/// inverted. Powers are averaged over about the last second.
class ChannelPowers {
 public:
  void open(int channels, int rate) {
    each_.assign(static_cast<size_t>(channels), 0.);
    rate_ = rate;
  }
  /// Returns the channel to use for a frame: kMean, or the loudest channel if the mean is 20 dB
  /// below the channels.
  template <typename Value, typename Mean>
  int heard(int samples, const Value& value, const Mean& mean) {
    constexpr double kCancelled = 0.01;
    const double kept = std::exp(-static_cast<double>(samples) / rate_);
    mean_ *= kept;
    for (int i = 0; i < samples; ++i) mean_ += double{mean(i)} * mean(i);
    double all = 0;
    for (int c = 0; c < static_cast<int>(each_.size()); ++c) {
      each_[c] *= kept;
      for (int i = 0; i < samples; ++i) each_[c] += double{value(c, i)} * value(c, i);
      all += each_[c];
    }
    if (!(mean_ < kCancelled * all / static_cast<double>(each_.size()))) return kMean;
    return static_cast<int>(std::max_element(each_.begin(), each_.end()) - each_.begin());
  }

 private:
  std::vector<double> each_;
  double mean_ = 0;
  int rate_ = 1;
};

class FileDecoder {
 public:
  FileDecoder(std::string_view file, const RecordingLimits& limits)
      : limits_(limits), source_{file, 0} {}

  /// Sets the deadline of the following reads.
  void expires_after_s(double seconds) { source_.deadline_s = now_s() + seconds; }
  /// Opens the file; called once, before step().
  std::optional<Error> open();
  /// Decodes a packet. done() is true after the last packet.
  std::optional<Error> step();
  bool done() const { return done_; }
  double claimed_s() const {
    return format_ && format_->duration > 0 ? static_cast<double>(format_->duration) / AV_TIME_BASE
                                            : 0;
  }
  /// Returns the decoded samples. The caller may remove samples that it has read.
  DecodedFile& out() { return out_; }
  const DecodedFile& out() const { return out_; }

 private:
  std::optional<Error> open_format();
  std::optional<Error> open_codec();
  std::optional<Error> receive();
  std::optional<Error> append(const AVFrame& frame);
  std::optional<Error> check(int rate, int channels) const;
  Error late() const {
    return bad_audio(
        concat("decoding the recording took longer than ", limits_.max_decode_s, " s"));
  }

  const RecordingLimits limits_;
  Source source_;
  std::unique_ptr<AVFormatContext, FreeFormat> format_;
  std::unique_ptr<AVCodecContext, FreeCodec> codec_;
  std::unique_ptr<AVPacket, FreePacket> packet_{av_packet_alloc()};
  std::unique_ptr<AVFrame, FreeFrame> frame_{av_frame_alloc()};
  int stream_ = -1;
  int channels_ = 0;
  ChannelPowers powers_;
  bool done_ = false;
  size_t decoded_ = 0;  // all samples so far, including removed samples
  DecodedFile out_;
};

std::optional<Error> FileDecoder::open() {
  // Stops libav from writing to the standard error about untrusted files.
  static std::once_flag quiet;
  std::call_once(quiet, [] { av_log_set_level(AV_LOG_QUIET); });
  if (source_.bytes.empty()) return bad_audio("the recording is empty");
  if (source_.bytes.size() > limits_.max_bytes) {
    return too_many_bytes(source_.bytes.size(), limits_.max_bytes);
  }
  if (auto error = open_format()) return error;
  return open_codec();
}

std::optional<Error> FileDecoder::open_format() {
  AVFormatContext* format = avformat_alloc_context();
  auto* buffer = static_cast<uint8_t*>(av_malloc(kBufferBytes));
  SYRINX_CHECK(format != nullptr && buffer != nullptr && packet_ && frame_, "no memory");
  AVIOContext* io =
      avio_alloc_context(buffer, kBufferBytes, 0, &source_, Source::read, nullptr, Source::seek);
  SYRINX_CHECK(io != nullptr, "no memory");
  format->pb = io;
  format->flags |= AVFMT_FLAG_CUSTOM_IO;
  format->io_open = refuse_open;
  format->max_streams = kMaxStreams;
  format->format_whitelist = av_strdup(kReadFormats);
  format->codec_whitelist = av_strdup(kCodecs);
  format->interrupt_callback = {
      [](void* source) -> int { return static_cast<const Source*>(source)->late() ? 1 : 0; },
      &source_};
  // This call frees `format` on failure.
  if (avformat_open_input(&format, "", nullptr, nullptr) < 0) {
    av_freep(&io->buffer);
    avio_context_free(&io);
    if (source_.late()) return late();
    if (is_supported(source_.bytes)) return bad_audio("the recording is damaged or incomplete");
    return bad_audio(
        "unsupported audio format: expected wav, flac, mp3, m4a, ogg, opus, webm, aac, aiff, caf "
        "or amr");
  }
  format_.reset(format);
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (format->streams[i]->codecpar->codec_type != AVMEDIA_TYPE_AUDIO) {
      format->streams[i]->discard = AVDISCARD_ALL;
    }
  }
  if (avformat_find_stream_info(format, nullptr) < 0) {
    if (source_.late()) return late();
    return bad_audio("the audio in the recording cannot be found; the file may be damaged");
  }
  stream_ = av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
  if (stream_ < 0) return bad_audio("the file has no audio");
  return {};
}

std::optional<Error> FileDecoder::check(int rate, int channels) const {
  if (rate < kMinHz || rate > kMaxHz) {
    return bad_audio(concat("the recording has ", rate, " samples per second; expected ", kMinHz,
                            " to ", kMaxHz));
  }
  if (channels < 1 || channels > kMaxChannels) {
    return bad_audio(
        concat("the recording has ", channels, " channels; expected 1 to ", kMaxChannels));
  }
  return {};
}

std::optional<Error> FileDecoder::open_codec() {
  const AVStream* stream = format_->streams[stream_];
  const AVCodecParameters* parameters = stream->codecpar;
  const AVCodec* codec = avcodec_find_decoder(parameters->codec_id);
  codec_.reset(codec == nullptr ? nullptr : avcodec_alloc_context3(codec));
  const char* name = avcodec_get_name(parameters->codec_id);
  const auto unknown = [&] {
    return bad_audio(concat("the audio codec '", name, "' is not supported"));
  };
  if (!codec_) return unknown();
  if (auto error = check(parameters->sample_rate, channel_count(*parameters))) return error;
  codec_->codec_whitelist = av_strdup(kCodecs);
  codec_->thread_count = 1;
  if (avcodec_parameters_to_context(codec_.get(), parameters) < 0) return unknown();
  codec_->pkt_timebase = stream->time_base;
  // In all these formats a frame is a fraction of a second. A file with longer frames is invalid.
  codec_->max_samples = kMaxHz;
  if (avcodec_open2(codec_.get(), codec, nullptr) < 0) return unknown();
  std::string container = format_->iformat->name;
  out_.format = container.substr(0, container.find(',')) + "/" + name;
  return {};
}

std::optional<Error> FileDecoder::step() {
  if (source_.late()) return late();
  const int got = av_read_frame(format_.get(), packet_.get());
  if (source_.late()) return late();
  // A packet that libav cannot read ends the recording like the end of the file. So a truncated
  // file is used up to its last complete packet.
  const bool more = got >= 0;
  if (more && packet_->stream_index != stream_) {
    av_packet_unref(packet_.get());
    return {};
  }
  const int sent = avcodec_send_packet(codec_.get(), more ? packet_.get() : nullptr);
  av_packet_unref(packet_.get());
  // A damaged packet is skipped.
  if (sent >= 0 || sent == AVERROR(EAGAIN)) {
    if (auto error = receive()) return error;
  }
  if (more) return {};
  done_ = true;
  if (decoded_ == 0) return bad_audio("the recording has no audio");
  return {};
}

std::optional<Error> FileDecoder::receive() {
  while (avcodec_receive_frame(codec_.get(), frame_.get()) >= 0) {
    auto error = append(*frame_);
    av_frame_unref(frame_.get());
    if (error) return error;
  }
  return {};
}

std::optional<Error> FileDecoder::append(const AVFrame& frame) {
  const int channels = channel_count(frame);
  if (auto error = check(frame.sample_rate, channels)) return error;
  if (channels_ == 0) {
    channels_ = channels;
    out_.sample_rate = frame.sample_rate;
    powers_.open(channels, frame.sample_rate);
  }
  if (channels != channels_ || frame.sample_rate != out_.sample_rate) {
    return bad_audio("the rate or the channels change within the recording");
  }
  const auto total = decoded_ + static_cast<size_t>(frame.nb_samples);
  if (static_cast<double>(total) > limits_.max_s * out_.sample_rate) {
    return bad_audio(concat("the recording is longer than ", limits_.max_s, " s"));
  }
  const auto format = static_cast<AVSampleFormat>(frame.format);
  const SampleAt read = sample_reader(format);
  if (read == nullptr) return bad_audio("the samples of the recording have an unknown format");
  const bool planar = av_sample_fmt_is_planar(format) != 0;
  const auto value = [&](int c, int i) {
    return planar ? read(frame.extended_data[c], i)
                  : read(frame.extended_data[0], int64_t{i} * channels + c);
  };
  const auto mean = [&](int i) {
    float sum = 0;
    for (int c = 0; c < channels; ++c) sum += value(c, i);
    return sum / static_cast<float>(channels);
  };
  const int one = limits_.first_channel ? 0
                  : channels == 1       ? kMean
                                        : powers_.heard(frame.nb_samples, value, mean);
  for (int i = 0; i < frame.nb_samples; ++i) {
    const float sample = one == kMean ? mean(i) : value(one, i);
    if (!std::isfinite(sample)) {
      return bad_audio(
          concat("the recording has NaN or infinity at ",
                 static_cast<double>(decoded_ + static_cast<size_t>(i)) / out_.sample_rate, " s"));
    }
    out_.samples.push_back(sample);
  }
  decoded_ = total;
  return {};
}

class DecodingHere : public Decoding {
 public:
  DecodingHere(std::string_view file, const RecordingLimits& limits)
      : decoder_(file, limits), max_decode_s_(limits.max_decode_s) {}

  Result<bool> read(size_t count, std::vector<float>& out) override {
    decoder_.expires_after_s(max_decode_s_);
    if (!std::exchange(opened_, true)) {
      if (auto error = decoder_.open()) return *error;
    }
    std::vector<float>& samples = decoder_.out().samples;
    while (!decoder_.done() && samples.size() < count) {
      if (auto error = decoder_.step()) return *error;
    }
    if (out.empty()) {
      out.swap(samples);
    } else {
      const size_t before = out.size();
      out.resize(before + samples.size());
      std::copy(samples.begin(), samples.end(), out.data() + before);
      samples.clear();
    }
    return !decoder_.done();
  }
  int sample_rate() const override { return decoder_.out().sample_rate; }
  const std::string& format() const override { return decoder_.out().format; }
  double claimed_s() const override { return decoder_.claimed_s(); }

 private:
  FileDecoder decoder_;
  const double max_decode_s_;
  bool opened_ = false;
};

}  // namespace

std::unique_ptr<Decoding> decode_here(std::string_view file, const RecordingLimits& limits) {
  return std::make_unique<DecodingHere>(file, limits);
}

}  // namespace syrinx
