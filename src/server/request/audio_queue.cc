#include "server/request/audio_queue.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "server/request/kept.h"

namespace syrinx {
namespace {

constexpr double kUnbounded_s = std::numeric_limits<double>::max();

}  // namespace

AudioQueue::AudioQueue(int sample_rate_hz, std::function<void()> wake)
    : sample_rate_hz_(sample_rate_hz), box_(std::move(wake), {.most_s = kUnbounded_s}) {}

void AudioQueue::audio(std::span<const float> samples) {
  box_.fill([&](Sound& sound) {
    if (samples.empty()) return false;
    if (sound.first_audio_s == 0) sound.first_audio_s = now_s();
    sound.samples.insert(sound.samples.end(), samples.begin(), samples.end());
    return true;
  });
}

void AudioQueue::words(std::span<const WordMark> marks) {
  box_.fill([&](Sound& sound) {
    sound.words.insert(sound.words.end(), marks.begin(), marks.end());
    return false;
  });
}

void AudioQueue::warning(std::string_view text) {
  box_.fill([&](Sound& sound) {
    sound.warnings.push_back(std::string(text) + ".");
    return false;
  });
}

void AudioQueue::answer_ids(std::span<const int32_t> ids) {
  box_.fill([&](Sound& sound) {
    sound.ids.insert(sound.ids.end(), ids.begin(), ids.end());
    return false;
  });
}

void AudioQueue::finished(const Outcome& outcome) {
  box_.settle([&](Sound& sound) {
    sound.outcome = kept(outcome);
    return true;
  });
}

double AudioQueue::unread_s() const {
  return box_.with([&](const Sound& sound) {
    const double unread_s =
        static_cast<double>(sound.waiting() + sound.in_flight) / sample_rate_hz_;
    return unread_s < sound.most_s ? unread_s : kUnbounded_s;
  });
}

void AudioQueue::hold(double ahead_s) {
  box_.with([&](Sound& sound) { sound.most_s = ahead_s; });
}

void AudioQueue::release() { hold(kUnbounded_s); }

double AudioQueue::first_audio_s() const {
  return box_.with([](const Sound& sound) { return sound.first_audio_s; });
}

size_t AudioQueue::take(std::vector<float>& out, size_t most) {
  return box_.with([&](Sound& sound) { return sound.take(out, most); });
}

size_t AudioQueue::Sound::take(std::vector<float>& out, size_t most) {
  if (out.empty() && begin == 0 && most >= samples.size()) {  // all samples: moves the vector
    out.swap(samples);
    in_flight += out.size();
    return out.size();
  }
  const size_t count = std::min(most, waiting());
  const auto from = samples.begin() + static_cast<std::ptrdiff_t>(begin);
  out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(count));
  begin += count;
  in_flight += count;
  if (begin == samples.size()) {
    samples.clear();
    begin = 0;
  } else if (begin > (size_t{1} << 19)) {  // drops taken samples, so that few remain
    samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(begin));
    begin = 0;
  }
  return count;
}

void AudioQueue::take_words(std::vector<WordMark>& out) {
  box_.with([&](Sound& sound) {
    out.insert(out.end(), sound.words.begin(), sound.words.end());
    sound.words.clear();
  });
}

void AudioQueue::take_warnings(std::vector<std::string>& out) {
  box_.with([&](Sound& sound) {
    std::move(sound.warnings.begin(), sound.warnings.end(), std::back_inserter(out));
    sound.warnings.clear();
  });
}

std::vector<int32_t> AudioQueue::take_ids() {
  return box_.with([](Sound& sound) { return std::exchange(sound.ids, {}); });
}

void AudioQueue::written(size_t samples) {
  box_.with([&](Sound& sound) { sound.in_flight -= std::min(sound.in_flight, samples); });
}

std::optional<Outcome> AudioQueue::end() const {
  return box_.with(
      [](const Sound& sound) { return sound.waiting() == 0 ? sound.outcome : std::nullopt; });
}

void AudioQueue::detach() {
  box_.close([](Sound& sound) {
    sound.samples.clear();
    sound.words.clear();
    sound.begin = sound.in_flight = 0;
  });
}

}  // namespace syrinx
