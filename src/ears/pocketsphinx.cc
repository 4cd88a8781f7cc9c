#include "ears/pocketsphinx.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/cores.h"
#include "ears/full_scale.h"
#include "ears/hearing_threads.h"
#include "ears/pocketsphinx_decoder.h"
#include "ears/voice_gate.h"

namespace syrinx {
namespace {

constexpr size_t kDecoderBytes = size_t{100} << 20;  // measured memory of a decoder
constexpr double kRetryS = 2;
/// Length of the stretches that the gate passes or rejects: Whisper's window of 30 s, in samples.
constexpr int64_t kStretch = 30 * kHearingRate;

int16_t to_int16(float sample) {
  return static_cast<int16_t>(std::lrintf(std::clamp(sample * 32768.f, -32768.f, 32767.f)));
}

/// The state of a recording that is being recognised.
struct Hearing {
  Hearing(const ListenOptions& how, std::shared_ptr<TranscriptSink> where)
      : options(how), sink(std::move(where)) {
    transcript.language = "en";
  }

  /// Returns whether more samples will arrive. This and the next members require the mutex.
  bool goes_on() const { return !ended && !cancelled; }
  /// Returns how many samples at the beginning of `waiting` the gate has processed. Only these may
  /// be decoded.
  size_t ready() const {
    const auto given = static_cast<int64_t>(waiting.size());
    if (!gate || (ended && looked == taken + given)) return waiting.size();
    const int64_t known = looked / kStretch * kStretch - taken;
    return static_cast<size_t>(std::clamp<int64_t>(known, 0, given));
  }
  /// Returns how many samples of `waiting` the gate has not yet processed.
  size_t unknown() const { return gate ? waiting.size() - static_cast<size_t>(looked - taken) : 0; }

  FullScale fit;  // used by the thread that calls hear()
  const ListenOptions options;
  const std::shared_ptr<TranscriptSink> sink;
  std::deque<int16_t> waiting;
  int64_t taken = 0;   // number of samples removed from `waiting`
  int64_t looked = 0;  // number of samples that the gate has processed or is processing
  bool ended = false, cancelled = false;
  bool placed = false;  // whether the recording has a place, so that it may use a decoder
  bool queued = false;  // whether a piece of its work is posted or runs
  bool over = false;    // whether finished() was called, or is about to be called

  // Only the thread that runs its piece of work uses these members:
  std::unique_ptr<PocketSphinxDecoder> decoder;
  std::optional<VoiceGate> gate;  // empty if recordings are not gated; constant
  int64_t heard = 0;              // number of samples decoded so far
  Transcript transcript;
  std::string partial;
};

class PocketSphinx final : public Recogniser {
 public:
  explicit PocketSphinx(const PocketSphinxOptions& options);
  ~PocketSphinx() override;
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override;

  void hear(const std::shared_ptr<Hearing>& hearing, std::span<const float> samples);
  void end(const std::shared_ptr<Hearing>& hearing);
  void cancel(const std::shared_ptr<Hearing>& hearing);

 private:
  // These require mutex_:
  void admit_waiting();
  void post(const std::shared_ptr<Hearing>& hearing);
  bool has_work(const Hearing& hearing) const;

  /// Runs on a thread of the pool, one call at a time for each recording.
  void run_piece(const std::shared_ptr<Hearing>& hearing);
  void look_at(Hearing& hearing, std::span<const int16_t> block);
  void hear_block(Hearing& hearing, std::span<int16_t> block, bool last);
  void take_segment(Hearing& hearing, std::optional<TranscriptSegment> segment);
  void finish(const std::shared_ptr<Hearing>& hearing, std::optional<Error> error);

  const std::shared_ptr<const PocketSphinxLibrary> library_;
  const std::string model_dir_;
  const int max_waiting_;
  const std::shared_ptr<const SileroVad> vad_;
  int places_ = 0;
  RecogniserInfo info_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Hearing>> hearings_;  // unfinished recordings, in order of arrival
  std::vector<std::unique_ptr<PocketSphinxDecoder>> free_;
  std::optional<HearingThreads> threads_;  // destroyed first: its pieces use the other members
};

class PocketSphinxListener final : public Listener {
 public:
  PocketSphinxListener(PocketSphinx& recogniser, std::shared_ptr<Hearing> hearing)
      : recogniser_(recogniser), hearing_(std::move(hearing)) {}
  ~PocketSphinxListener() override { cancel(); }
  void hear(std::span<const float> samples) override { recogniser_.hear(hearing_, samples); }
  void end() override { recogniser_.end(hearing_); }
  void cancel() override { recogniser_.cancel(hearing_); }

 private:
  PocketSphinx& recogniser_;
  const std::shared_ptr<Hearing> hearing_;
};

PocketSphinx::PocketSphinx(const PocketSphinxOptions& options)
    : library_(PocketSphinxLibrary::open()),
      model_dir_(options.model_dir),
      max_waiting_(options.max_waiting),
      vad_(options.vad) {
  if (!std::filesystem::exists(model_dir_ + "/en-us.lm.bin")) {
    throw LoadError(concat(model_dir_,
                           "/en-us.lm.bin is missing; on Debian: apt install "
                           "pocketsphinx-en-us"));
  }
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  places_ = options.places > 0 ? options.places : 2 * threads;
  info_ = {.name = "pocketsphinx",
           .family = "pocketsphinx",
           .languages = {"en"},
           .streams = true,
           .word_times = true,
           .scores = true,
           .bytes = kDecoderBytes * static_cast<size_t>(places_)};
  threads_.emplace(threads);
}

PocketSphinx::~PocketSphinx() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& hearing : hearings_) {
      hearing->cancelled = true;
      post(hearing);
    }
  }
  threads_.reset();
}

Result<std::unique_ptr<Listener>> PocketSphinx::open(const ListenOptions& options,
                                                     std::shared_ptr<TranscriptSink> sink) {
  if (const Status fit = check_listen(info_, options); !fit) return fit.error();
  const std::lock_guard lock(mutex_);
  const auto waiting = std::count_if(hearings_.begin(), hearings_.end(),
                                     [](const auto& each) { return !each->placed; });
  if (waiting >= max_waiting_) {
    return Error{ErrorCode::kOverloaded,
                 concat(waiting, " recordings wait to be transcribed, which is the limit."),
                 {},
                 kRetryS};
  }
  auto hearing = std::make_shared<Hearing>(options, std::move(sink));
  if (vad_ && !options.live) hearing->gate.emplace(vad_);
  hearings_.push_back(hearing);
  admit_waiting();
  return std::unique_ptr<Listener>(
      std::make_unique<PocketSphinxListener>(*this, std::move(hearing)));
}

void PocketSphinx::hear(const std::shared_ptr<Hearing>& hearing, std::span<const float> samples) {
  std::vector<int16_t> values(samples.size());
  std::transform(samples.begin(), samples.end(), values.begin(),
                 [&](float sample) { return to_int16(hearing->fit(sample)); });
  const std::lock_guard lock(mutex_);
  SYRINX_CHECK(!hearing->ended, "hear() was called after end()");
  if (hearing->over || hearing->cancelled) return;
  hearing->waiting.insert(hearing->waiting.end(), values.begin(), values.end());
  post(hearing);
}

void PocketSphinx::end(const std::shared_ptr<Hearing>& hearing) {
  const std::lock_guard lock(mutex_);
  hearing->ended = true;
  post(hearing);
  admit_waiting();  // because this recording may get the place
}

void PocketSphinx::cancel(const std::shared_ptr<Hearing>& hearing) {
  const std::lock_guard lock(mutex_);
  hearing->cancelled = true;
  post(hearing);
}

/// Gives free places to recordings: to ended recordings first, then to the client with the fewest
/// places, then in order of arrival. Unfinished recordings get at most half of the places, because
/// their decoders are idle most of the time, and long files keep a place for a long time. So a turn
/// that has ended, for which a client waits, is recognised at once.
void PocketSphinx::admit_waiting() {
  while (true) {
    int taken = 0, going_on = 0;
    for (const auto& each : hearings_) {
      taken += each->placed;
      going_on += each->placed && each->goes_on();
    }
    if (taken >= places_) return;
    const bool half = going_on >= std::max(1, places_ / 2);
    const auto places_of = [&](uint64_t client) {
      return std::count_if(hearings_.begin(), hearings_.end(), [&](const auto& each) {
        return each->placed && each->options.client == client;
      });
    };
    std::shared_ptr<Hearing> next;
    std::pair<bool, int64_t> before;  // rank of `next`; the lowest one gets the place
    for (const auto& each : hearings_) {
      if (each->placed || (each->goes_on() && half)) continue;
      const std::pair rank(each->goes_on(), int64_t{places_of(each->options.client)});
      if (next && rank >= before) continue;
      next = each;
      before = rank;
    }
    if (!next) return;
    next->placed = true;
    post(next);
  }
}

bool PocketSphinx::has_work(const Hearing& hearing) const {
  if (hearing.over) return false;
  if (hearing.cancelled) return true;
  constexpr size_t kBlock = PocketSphinxDecoder::kBlock;
  return hearing.placed &&
         (hearing.ended || hearing.ready() >= kBlock || hearing.unknown() >= kBlock);
}

void PocketSphinx::post(const std::shared_ptr<Hearing>& hearing) {
  if (hearing->queued || !has_work(*hearing)) return;
  hearing->queued = true;
  threads_->run([this, hearing] { run_piece(hearing); });
}

void PocketSphinx::run_piece(const std::shared_ptr<Hearing>& hearing) {
  std::vector<int16_t> block;
  bool cancelled = false, last = false, looks = false;
  {
    const std::lock_guard lock(mutex_);
    cancelled = hearing->cancelled;
    constexpr size_t kBlock = PocketSphinxDecoder::kBlock;
    const size_t ready = hearing->ready();
    looks = ready < kBlock && hearing->unknown() > 0;
    const auto from = hearing->waiting.begin() +
                      static_cast<std::ptrdiff_t>(looks ? hearing->looked - hearing->taken : 0);
    const size_t count = std::min(looks ? hearing->unknown() : ready, kBlock);
    block.assign(from, from + static_cast<std::ptrdiff_t>(count));
    if (looks) {
      hearing->looked += static_cast<int64_t>(count);
    } else {
      hearing->waiting.erase(from, from + static_cast<std::ptrdiff_t>(count));
      hearing->taken += static_cast<int64_t>(count);
      last = hearing->ended && hearing->waiting.empty();
    }
  }
  std::optional<Error> error;
  if (cancelled) {
    error = Error{ErrorCode::kCancelled, "cancelled"};
  } else {
    try {
      if (looks) {
        look_at(*hearing, block);
      } else {
        hear_block(*hearing, block, last);
      }
    } catch (const std::exception& fault) {
      hearing->decoder.reset();  // after an error, its state is unknown
      error = Error{ErrorCode::kInternal, fault.what()};
    }
  }
  if (error || last) return finish(hearing, std::move(error));
  const std::lock_guard lock(mutex_);
  hearing->queued = false;
  post(hearing);
}

void PocketSphinx::look_at(Hearing& hearing, std::span<const int16_t> block) {
  std::vector<float> samples(block.size());
  std::transform(block.begin(), block.end(), samples.begin(),
                 [](int16_t sample) { return static_cast<float>(sample) / 32768.f; });
  hearing.gate->hear(samples);
}

/// Decodes a block. Silence replaces the samples of stretches without a voice.
void PocketSphinx::hear_block(Hearing& hearing, std::span<int16_t> block, bool last) {
  for (size_t i = 0; hearing.gate && i < block.size();) {
    const int64_t at = hearing.heard + static_cast<int64_t>(i), begin = at / kStretch * kStretch;
    const auto end =
        static_cast<size_t>(std::min<int64_t>(std::ssize(block), begin + kStretch - hearing.heard));
    if (!hearing.gate->speaks(begin, begin + kStretch))
      std::fill(block.begin() + static_cast<std::ptrdiff_t>(i),
                block.begin() + static_cast<std::ptrdiff_t>(end), int16_t{0});
    i = end;
  }
  if (!hearing.decoder) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        hearing.decoder = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!hearing.decoder) {
      hearing.decoder = std::make_unique<PocketSphinxDecoder>(library_, model_dir_);
    }
    hearing.decoder->begin();
  }
  take_segment(hearing, hearing.decoder->hear(block));
  hearing.heard += static_cast<int64_t>(block.size());
  if (!block.empty()) hearing.sink->heard(static_cast<double>(hearing.heard) / kHearingRate);
  if (last) {
    take_segment(hearing, hearing.decoder->end());
  } else if (hearing.options.live) {
    std::string partial = hearing.decoder->partial();
    if (partial != hearing.partial) hearing.sink->partial(partial);
    hearing.partial = std::move(partial);
  }
}

void PocketSphinx::take_segment(Hearing& hearing, std::optional<TranscriptSegment> segment) {
  if (!segment) return;
  if (!hearing.options.word_times) segment->words.clear();
  hearing.sink->segment(*segment);
  hearing.partial.clear();
  hearing.transcript.segments.push_back(std::move(*segment));
}

void PocketSphinx::finish(const std::shared_ptr<Hearing>& hearing, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    hearing->over = true;
    hearing->waiting.clear();
    hearings_.remove(hearing);
    if (hearing->decoder) free_.push_back(std::move(hearing->decoder));
    admit_waiting();
  }
  hearing->transcript.duration_s = static_cast<double>(hearing->heard) / kHearingRate;
  if (error) {
    hearing->sink->finished(std::move(*error));
  } else {
    hearing->sink->finished(std::move(hearing->transcript));
  }
}

}  // namespace

std::shared_ptr<Recogniser> open_pocketsphinx(const PocketSphinxOptions& options) {
  return std::make_shared<PocketSphinx>(options);
}

}  // namespace syrinx
