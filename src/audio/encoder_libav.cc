#include "audio/encoder_libav.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "audio/libav_versions.h"
#include "base/check.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
}

namespace syrinx {
namespace {

constexpr std::array<int, 9> kMp3Rates = {8000,  11025, 12000, 16000, 22050,
                                          24000, 32000, 44100, 48000};
constexpr std::array<int, 5> kOpusRates = {8000, 12000, 16000, 24000, 48000};
constexpr std::array<int, 12> kAacRates = {8000,  11025, 12000, 16000, 22050, 24000,
                                           32000, 44100, 48000, 64000, 88200, 96000};
constexpr int kOpusDecodedHz = 48000;  // rate of decoded Opus, whatever the input rate
constexpr int kWriteBytes = 4096;
constexpr size_t kFlacStreamInfoBytes = 34;  // RFC 9639, 8.2
constexpr size_t kMaxMp3Chapters = 255;      // ID3v2 counts them in one byte (CTOC)

/// Codec, muxer and options of a format. Bit rates (below) are slightly above transparency.
struct Recipe {
  const char* codec;
  const char* muxer;
  AVSampleFormat sample;
  std::array<std::pair<const char*, const char*>, 4> codec_options;
  std::array<std::pair<const char*, const char*>, 4> muxer_options;
};

/// `labelled`: the format of a file with labels, whose caller overwrites the first bytes.
Recipe recipe(AudioFormat format, bool labelled) {
  switch (format) {
    case AudioFormat::kMp3:
      return {"libmp3lame",
              "mp3",
              AV_SAMPLE_FMT_FLTP,
              {{{"compression_level", "5"}}},
              {{{"write_xing", "0"}, {"id3v2_version", labelled ? "3" : "0"}}}};
    case AudioFormat::kOpus:
      // Writes one page per packet, so that players get 20 ms at a time.
      return {"libopus",
              "ogg",
              AV_SAMPLE_FMT_FLT,
              {{{"frame_duration", "20"}, {"compression_level", "5"}}},
              {{{"page_duration", "20000"}}}};
    case AudioFormat::kAac:
      return {"aac", "adts", AV_SAMPLE_FMT_FLTP, {{{"aac_coder", "fast"}}}, {}};
    case AudioFormat::kM4a:
      // Writes fragments, because the index of an unfragmented file is only known at its end. With
      // delay_moov, the header declares the priming. Players find chapters only with an index.
      if (labelled) return {"aac", "ipod", AV_SAMPLE_FMT_FLTP, {{{"aac_coder", "fast"}}}, {}};
      return {
          "aac",
          "ipod",
          AV_SAMPLE_FMT_FLTP,
          {{{"aac_coder", "fast"}}},
          {{{"movflags", "empty_moov+delay_moov+default_base_moof"}, {"frag_duration", "250000"}}}};
    default:
      return {"flac", "flac", AV_SAMPLE_FMT_S16, {{{"compression_level", "4"}}}, {}};
  }
}

int bit_rate(AudioFormat format, int rate_hz) {
  switch (format) {
    case AudioFormat::kMp3:
      return rate_hz <= 16000 ? 64'000 : rate_hz <= 24000 ? 96'000 : 128'000;
    case AudioFormat::kOpus:
      return rate_hz <= 16000 ? 32'000 : 48'000;
    case AudioFormat::kAac:
    case AudioFormat::kM4a:
      return rate_hz <= 16000 ? 48'000 : rate_hz <= 24000 ? 64'000 : 96'000;
    default:
      return 0;
  }
}

/// Returns the block size: about 40 ms. Longer blocks are only 2 % smaller and delay playback.
int flac_block(int rate_hz) { return rate_hz <= 16000 ? 576 : rate_hz <= 32000 ? 1152 : 2304; }

/// The length that an MP3 stream declares once it has ended.
struct Mp3Length {
  int64_t frames = 0;   ///< frames with sound
  int64_t samples = 0;  ///< samples encoded
  int64_t bytes = 0;    ///< bytes of the stream, including the Info frame
};

std::string big_endian(int64_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

/// Writes into the header how many samples decoders of Opus must skip, at 48 kHz. Without this
/// correction, FFmpeg 4 would count them at the encoder's rate.
void declare_opus_priming(AVCodecContext& codec) {
  constexpr int kAt = 10;  // byte offset of the field: 16 bits, little-endian (RFC 7845, 5.1)
  if (codec.extradata == nullptr || codec.extradata_size < kAt + 2) return;
  const int64_t skipped = int64_t{codec.initial_padding} * kOpusDecodedHz / codec.sample_rate;
  codec.extradata[kAt] = static_cast<uint8_t>(skipped & 255);
  codec.extradata[kAt + 1] = static_cast<uint8_t>(skipped >> 8);
}

/// Makes an MP3 frame without sound that declares how many samples of priming to skip: "Info", the
/// numbers of frames and bytes if known, then LAME's extension. `frame` is the first frame of the
/// stream; its header is repeated. Until the length is known, the number of frames is left out and
/// the number of bytes is -1 (unknown). One field must be present, because FFmpeg would otherwise
/// play this frame.
/// Layout: http://gabriel.mp3-tech.org/mp3infotag.html.
std::string mp3_info_frame(std::string_view frame, int priming,
                           const std::optional<Mp3Length>& length) {
  constexpr size_t kHeader = 4, kExtension = 36, kDelayAt = 21;
  constexpr int kDecoderDelay = 528 + 1;  // samples by which every decoder delays its output
  constexpr int64_t kMost = 4095;         // largest delay or padding in samples: 12 bits each
  std::string out(frame.size(), '\0');
  const bool mpeg1 = (static_cast<uint8_t>(frame[1]) & 0x08) != 0;
  const size_t tag = kHeader + (mpeg1 ? 17 : 9);  // byte offset, after one channel's side info
  std::string fields = "Info" + big_endian(length ? 3 : 2);
  fields += length ? big_endian(length->frames) + big_endian(length->bytes) : big_endian(-1);
  const size_t extension = tag + fields.size();
  SYRINX_CHECK(extension + kExtension <= out.size(), "[encoder] MP3 frame too small: ", out.size());
  std::copy_n(frame.begin(), kHeader, out.begin());
  std::copy(fields.begin(), fields.end(), out.begin() + static_cast<std::ptrdiff_t>(tag));
  std::memcpy(out.data() + extension, "LAMEsyrnx", 9);
  const int64_t delay = std::clamp<int64_t>(priming - kDecoderDelay, 0, kMost);
  const int64_t decoded = length ? length->frames * (mpeg1 ? 1152 : 576) : 0;
  const int64_t padding =
      length ? std::clamp<int64_t>(decoded - delay - length->samples, 0, kMost) : 0;
  out[extension + kDelayAt] = static_cast<char>(delay >> 4);
  out[extension + kDelayAt + 1] = static_cast<char>((delay & 15) << 4 | padding >> 8);
  out[extension + kDelayAt + 2] = static_cast<char>(padding);
  return out;
}

/// Formats a time as Vorbis comments do: "01:02:03.004".
std::string chapter_time(int64_t ms) {
  char out[32];
  std::snprintf(out, sizeof out, "%02lld:%02lld:%02lld.%03lld",
                static_cast<long long>(ms / 3'600'000), static_cast<long long>(ms / 60'000 % 60),
                static_cast<long long>(ms / 1000 % 60), static_cast<long long>(ms % 1000));
  return out;
}

class LibavEncoder : public Encoder {
 public:
  LibavEncoder(AudioFormat format, int rate_hz, bool labelled)
      : format_(format), coded_rate_hz_(rate_hz), labelled_(labelled) {}
  ~LibavEncoder() override;
  LibavEncoder(const LibavEncoder&) = delete;
  LibavEncoder& operator=(const LibavEncoder&) = delete;

  /// Returns an error message; an empty string on success.
  std::string open();
  /// Adds labels after open(), before the first samples.
  void add(const AudioLabels& labels);
  int rate_hz() const override {
    return format_ == AudioFormat::kOpus ? kOpusDecodedHz : coded_rate_hz_;
  }
  bool cheap() const override { return false; }
  void encode(std::span<const float> samples, std::string& out) override;
  void flush(std::string& out) override;
  std::string first_bytes() const override;

 private:
  std::string open_codec(const Recipe& recipe);
  std::string open_muxer(const Recipe& recipe);
  void begin();
  void send_frame();
  void take_packets(bool end);
  void put(std::string_view bytes);
  void add(const AudioChapter& chapter);
  static int64_t seek(void* self, int64_t offset, int whence);
  /// `Byte` is const in FFmpeg 7 and later, and not const in earlier versions.
  template <typename Byte>
  static int write(void* self, Byte* bytes, int count);

  const AudioFormat format_;
  const int coded_rate_hz_;
  const bool labelled_;
  AVCodecContext* codec_ = nullptr;
  AVFormatContext* muxer_ = nullptr;
  AVFrame* frame_ = nullptr;
  AVPacket* packet_ = nullptr;
  std::vector<float> waiting_;  // samples that do not fill a frame yet
  int64_t samples_ = 0;         // samples sent to the codec
  int64_t frames_ = 0;          // frames received from the codec
  int64_t bytes_ = 0;           // bytes written
  int64_t at_ = 0;              // byte at which the muxer writes next
  std::string head_;            // the muxer's header, with later changes
  std::string first_frame_;     // first frame of an MP3 stream
  std::string stream_info_;     // final STREAMINFO of a FLAC stream
  bool begun_ = false;
  std::string* out_ = nullptr;  // output of the current call
};

LibavEncoder::~LibavEncoder() {
  if (muxer_ != nullptr) {
    if (muxer_->pb != nullptr) av_freep(&muxer_->pb->buffer);
    avio_context_free(&muxer_->pb);
    avformat_free_context(muxer_);
  }
  avcodec_free_context(&codec_);
  av_frame_free(&frame_);
  av_packet_free(&packet_);
}

template <typename Byte>
int LibavEncoder::write(void* self, Byte* bytes, int count) {
  auto* encoder = static_cast<LibavEncoder*>(self);
  if (encoder->out_ == nullptr) return count;  // no output, because the destructor runs
  encoder->put({reinterpret_cast<const char*>(bytes), static_cast<size_t>(count)});
  return count;
}

/// Appends bytes to the output, or changes bytes of the header or of the current call's output.
void LibavEncoder::put(std::string_view bytes) {
  if (at_ < bytes_) {
    const bool in_head = at_ + std::ssize(bytes) <= std::ssize(head_);
    std::string& changed = in_head ? head_ : *out_;
    const int64_t from = in_head ? at_ : at_ - bytes_ + std::ssize(*out_);
    SYRINX_CHECK(from >= 0 && from + std::ssize(bytes) <= std::ssize(changed),
                 "[encoder] changes byte ", at_);
    changed.replace(static_cast<size_t>(from), bytes.size(), bytes);
    at_ += std::ssize(bytes);
    return;
  }
  out_->append(bytes);
  if (!begun_) head_ += bytes;
  bytes_ += std::ssize(bytes);
  at_ = bytes_;
}

int64_t LibavEncoder::seek(void* self, int64_t offset, int whence) {
  auto* encoder = static_cast<LibavEncoder*>(self);
  if ((whence & AVSEEK_SIZE) != 0) return encoder->bytes_;
  return whence == SEEK_SET ? encoder->at_ = offset : AVERROR(EINVAL);
}

void LibavEncoder::add(const AudioLabels& labels) {
  const auto tag = [this](const char* name, const std::string& value) {
    if (!value.empty()) av_dict_set(&muxer_->metadata, name, value.c_str(), 0);
  };
  tag("title", labels.title);
  tag("album", labels.album);
  tag("artist", labels.author);
  if (labels.track > 0) tag("track", std::to_string(labels.track));
  const size_t count = labels.chapters.size();
  if (format_ == AudioFormat::kMp3 && count > kMaxMp3Chapters) return;
  muxer_->chapters = static_cast<AVChapter**>(av_calloc(count, sizeof(AVChapter*)));
  SYRINX_CHECK(count == 0 || muxer_->chapters != nullptr, "[encoder] out of memory");
  for (const AudioChapter& chapter : labels.chapters) add(chapter);
}

void LibavEncoder::add(const AudioChapter& chapter) {
  auto* made = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
  SYRINX_CHECK(made != nullptr, "[encoder] out of memory");
  made->id = muxer_->nb_chapters;
  made->time_base = {1, 1000};
  made->start = std::llround(1000 * chapter.begin_s);
  made->end = std::llround(1000 * chapter.end_s);
  av_dict_set(&made->metadata, "title", chapter.title.c_str(), 0);
  muxer_->chapters[muxer_->nb_chapters++] = made;
  if (format_ != AudioFormat::kFlac) return;
  // The muxer of FLAC leaves chapters out. https://wiki.xiph.org/Chapter_Extension
  char name[24];
  std::snprintf(name, sizeof name, "CHAPTER%03lld", static_cast<long long>(made->id));
  av_dict_set(&muxer_->metadata, name, chapter_time(made->start).c_str(), 0);
  av_dict_set(&muxer_->metadata, concat(name, "NAME").c_str(), chapter.title.c_str(), 0);
}

std::string LibavEncoder::open() {
  const Recipe how = recipe(format_, labelled_);
  if (std::string why = open_codec(how); !why.empty()) return why;
  if (std::string why = open_muxer(how); !why.empty()) return why;
  frame_ = av_frame_alloc();
  packet_ = av_packet_alloc();
  if (frame_ == nullptr || packet_ == nullptr) return "out of memory";
  frame_->format = codec_->sample_fmt;
  frame_->sample_rate = coded_rate_hz_;
  frame_->nb_samples = codec_->frame_size;
  set_mono(*frame_);
  if (av_frame_get_buffer(frame_, 0) < 0) return "out of memory";
  waiting_.reserve(codec_->frame_size);
  return "";
}

std::string LibavEncoder::open_codec(const Recipe& how) {
  const AVCodec* codec = avcodec_find_encoder_by_name(how.codec);
  if (codec == nullptr) return concat("libavcodec has no encoder ", how.codec);
  codec_ = avcodec_alloc_context3(codec);
  if (codec_ == nullptr) return "out of memory";
  codec_->sample_rate = coded_rate_hz_;
  codec_->sample_fmt = how.sample;
  set_mono(*codec_);
  codec_->time_base = {1, coded_rate_hz_};
  codec_->bit_rate = bit_rate(format_, coded_rate_hz_);
  codec_->thread_count = 1;
  codec_->flags |= AV_CODEC_FLAG_BITEXACT;  // the output must not depend on a library's version
  if (format_ == AudioFormat::kFlac) codec_->frame_size = flac_block(coded_rate_hz_);
  if (format_ != AudioFormat::kMp3) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  AVDictionary* options = nullptr;
  for (const auto& [name, value] : how.codec_options) {
    if (name != nullptr) av_dict_set(&options, name, value, 0);
  }
  const int bad = avcodec_open2(codec_, codec, &options);
  av_dict_free(&options);
  if (bad < 0 || codec_->frame_size <= 0) return concat(how.codec, " does not open");
  if (format_ == AudioFormat::kOpus) declare_opus_priming(*codec_);
  return "";
}

std::string LibavEncoder::open_muxer(const Recipe& how) {
  if (avformat_alloc_output_context2(&muxer_, nullptr, how.muxer, nullptr) < 0) {
    return concat("libavformat has no ", how.muxer);
  }
  auto* buffer = static_cast<uint8_t*>(av_malloc(kWriteBytes));
  muxer_->pb = avio_alloc_context(buffer, kWriteBytes, 1, this, nullptr, &LibavEncoder::write,
                                  labelled_ ? &LibavEncoder::seek : nullptr);
  if (muxer_->pb == nullptr) {
    av_free(buffer);
    return "out of memory";
  }
  muxer_->pb->seekable = labelled_ ? AVIO_SEEKABLE_NORMAL : 0;
  muxer_->metadata_header_padding = 0;  // otherwise FLAC would begin with 8 KiB of padding
  muxer_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT | AVFMT_FLAG_FLUSH_PACKETS;
  AVStream* stream = avformat_new_stream(muxer_, nullptr);
  if (stream == nullptr || avcodec_parameters_from_context(stream->codecpar, codec_) < 0) {
    return "out of memory";
  }
  stream->time_base = codec_->time_base;
  for (const auto& [name, value] : how.muxer_options) {
    if (name != nullptr) av_opt_set(muxer_->priv_data, name, value, 0);
  }
  return "";
}

/// Writes the header of the format.
void LibavEncoder::begin() {
  if (begun_) return;
  const int bad = avformat_write_header(muxer_, nullptr);
  SYRINX_CHECK(bad >= 0, "[encoder] cannot begin ", audio_format_name(format_), ": ", bad);
  avio_flush(muxer_->pb);
  begun_ = true;
}

void LibavEncoder::encode(std::span<const float> samples, std::string& out) {
  out_ = &out;
  begin();
  const auto whole = static_cast<size_t>(codec_->frame_size);
  while (!samples.empty()) {
    const auto part = samples.first(std::min(samples.size(), whole - waiting_.size()));
    waiting_.insert(waiting_.end(), part.begin(), part.end());
    samples = samples.subspan(part.size());
    if (waiting_.size() == whole) send_frame();
  }
  out_ = nullptr;
}

void LibavEncoder::flush(std::string& out) {
  out_ = &out;
  begin();
  if (!waiting_.empty()) send_frame();
  const int bad = avcodec_send_frame(codec_, nullptr);
  SYRINX_CHECK(bad >= 0, "[encoder] cannot end ", audio_format_name(format_), ": ", bad);
  take_packets(true);
  const int ended = av_write_trailer(muxer_);
  SYRINX_CHECK(ended >= 0, "[encoder] cannot end ", audio_format_name(format_), ": ", ended);
  avio_flush(muxer_->pb);
  out_ = nullptr;
}

/// Returns, for the beginning of the file: FLAC's marker and its STREAMINFO block, MP3's tags and
/// first frame, or the header of a labelled M4A. Empty for formats without a length.
std::string LibavEncoder::first_bytes() const {
  if (!first_frame_.empty()) {
    return head_ + mp3_info_frame(first_frame_, codec_->initial_padding,
                                  Mp3Length{frames_, samples_, bytes_ - std::ssize(head_)});
  }
  if (format_ == AudioFormat::kM4a && labelled_) return head_;
  if (format_ != AudioFormat::kFlac || stream_info_.size() != kFlacStreamInfoBytes) return {};
  // The block is not the last metadata block, because the muxer writes a comment after it.
  return concat("fLaC", std::string({0, 0, 0, static_cast<char>(kFlacStreamInfoBytes)}),
                stream_info_);
}

/// Sends the waiting samples to the codec: a whole frame, or the last, shorter frame.
void LibavEncoder::send_frame() {
  int bad = av_frame_make_writable(frame_);
  SYRINX_CHECK(bad >= 0, "[encoder] out of memory");
  frame_->nb_samples = static_cast<int>(waiting_.size());
  frame_->pts = samples_;
  for (float& sample : waiting_) {
    sample = std::isnan(sample) ? 0.0f : std::clamp(sample, -1.0f, 1.0f);
  }
  if (codec_->sample_fmt == AV_SAMPLE_FMT_S16) {
    auto* to = reinterpret_cast<int16_t*>(frame_->data[0]);
    for (const float sample : waiting_) *to++ = static_cast<int16_t>(std::lrintf(sample * 32767.f));
  } else {
    std::copy(waiting_.begin(), waiting_.end(), reinterpret_cast<float*>(frame_->data[0]));
  }
  samples_ += frame_->nb_samples;
  waiting_.clear();
  bad = avcodec_send_frame(codec_, frame_);
  SYRINX_CHECK(bad >= 0, "[encoder] ", audio_format_name(format_), " cannot take a frame: ", bad);
  take_packets(false);
}

void LibavEncoder::take_packets(bool end) {
  for (;;) {
    const int got = avcodec_receive_packet(codec_, packet_);
    if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) break;
    SYRINX_CHECK(got >= 0, "[encoder] ", audio_format_name(format_), " cannot encode: ", got);
    if (frames_++ == 0 && format_ == AudioFormat::kMp3) {
      first_frame_.assign(reinterpret_cast<const char*>(packet_->data), packet_->size);
      put(mp3_info_frame(first_frame_, codec_->initial_padding, {}));
    }
    SideDataSize size = 0;
    const uint8_t* info = av_packet_get_side_data(packet_, AV_PKT_DATA_NEW_EXTRADATA, &size);
    if (info != nullptr) stream_info_.assign(reinterpret_cast<const char*>(info), size);
    av_packet_rescale_ts(packet_, codec_->time_base, muxer_->streams[0]->time_base);
    packet_->stream_index = 0;
    const int bad = av_write_frame(muxer_, packet_);
    av_packet_unref(packet_);
    SYRINX_CHECK(bad >= 0, "[encoder] ", audio_format_name(format_), " cannot mux: ", bad);
  }
  if (!end) avio_flush(muxer_->pb);
}

}  // namespace

bool has_media() { return true; }

std::span<const int> libav_rates(AudioFormat format) {
  switch (format) {
    case AudioFormat::kMp3:
      return kMp3Rates;
    case AudioFormat::kOpus:
      return kOpusRates;
    case AudioFormat::kAac:
    case AudioFormat::kM4a:
      return kAacRates;
    default:
      return {};
  }
}

Result<std::unique_ptr<Encoder>> make_libav_encoder(AudioFormat format, int rate_hz,
                                                    const std::optional<AudioLabels>& labels) {
  static std::once_flag quiet;  // stops the libraries from printing
  std::call_once(quiet, [] { av_log_set_level(AV_LOG_QUIET); });
  auto encoder = std::make_unique<LibavEncoder>(format, rate_hz, labels.has_value());
  if (std::string why = encoder->open(); !why.empty()) {
    return Error{ErrorCode::kInternal, concat(audio_format_name(format), " cannot be encoded at ",
                                              rate_hz, " Hz: ", why)};
  }
  if (labels) encoder->add(*labels);
  return std::unique_ptr<Encoder>(std::move(encoder));
}

}  // namespace syrinx
