#include "server/dialects/wyoming_hearing.h"

#include <utility>

#include "base/check.h"
#include "text/languages.h"

namespace syrinx {
namespace {

constexpr double kMinRate = 8000, kMaxRate = 192'000;  // Hz

Error bad_audio(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "audio-chunk"};
}

}  // namespace

std::vector<RecogniserInfo> wyoming_recognisers(const ModelTable& models, const Ears& ears) {
  std::vector<RecogniserInfo> out;
  for (const auto& recogniser : ears.list()) out.push_back(recogniser->info());
  for (const ModelTable::Entry& model : models.list()) {
    if (model.hears) out.push_back(*model.hears);
  }
  return out;
}

Result<WyomingEar> find_wyoming_recogniser(ModelTable& models, const Ears& ears,
                                           std::string_view name) {
  const auto found = ears.find(name);
  const auto apart =
      found ? Result<WyomingEar>(WyomingEar{.recogniser = found.value()}) : found.error();
  const bool any = takes_any_ear(name);
  if (apart.ok() && (ears.asked_for() || !any)) return apart;
  const auto model = any ? models.hearer() : models.look_up(name);
  if (!model) return apart;
  auto used = models.find(model->name);  // marks the model as used
  if (!used) return used.error();
  WyomingEar ear{.backend = used.take(), .model = model->name};
  if (!ear.backend) return ear;
  ear.model.clear();
  ear.recogniser = ear.backend->recogniser();
  return ear.recogniser ? Result<WyomingEar>(std::move(ear)) : apart;
}

Result<std::unique_ptr<WyomingHearing>> WyomingHearing::open(WyomingEar ear,
                                                             std::string_view language,
                                                             std::function<void()> wake) {
  Recogniser& recogniser = *ear.recogniser;
  ListenOptions how{.live = true};
  if (!is_any_language(language)) how.language = language_code(language);
  if (const Status fit = check_listen(recogniser.info(), how); !fit) return fit.error();
  std::unique_ptr<WyomingHearing> out(new WyomingHearing(std::move(ear), std::move(wake)));
  auto listener = recogniser.open(how, out->queue_);
  if (!listener) return listener.error();
  out->listener_ = listener.take();
  return out;
}

Status WyomingHearing::hear(const JsonIn& data, std::string_view pcm) {
  const double rate = number_at(data, "rate").value_or(kHearingRate);
  const double width = number_at(data, "width").value_or(2);
  const double channels = number_at(data, "channels").value_or(1);
  if (width != 2 || (channels != 1 && channels != 2) || !(rate >= kMinRate && rate <= kMaxRate)) {
    return bad_audio(
        "audio must have a width of 2 bytes, 1 or 2 channels and a rate of 8000 to "
        "192000");
  }
  const size_t step = channels == 2 ? 4 : 2;
  if (pcm.size() % step != 0) return bad_audio("a chunk must consist of whole samples");
  if (rate_hz_ == 0) {
    rate_hz_ = static_cast<int>(rate);
    if (rate_hz_ != kHearingRate) resampler_.emplace(rate_hz_, kHearingRate);
  }
  if (static_cast<int>(rate) != rate_hz_) return bad_audio("the rate must not change");
  std::vector<float> samples;
  samples.reserve(pcm.size() / step);
  const auto sample_at = [&pcm](size_t at) {
    const auto low = static_cast<uint8_t>(pcm[at]), high = static_cast<uint8_t>(pcm[at + 1]);
    return static_cast<float>(static_cast<int16_t>(low | high << 8)) / 32768;
  };
  for (size_t at = 0; at < pcm.size(); at += step) {
    samples.push_back(step == 2 ? sample_at(at) : (sample_at(at) + sample_at(at + 2)) / 2);
  }
  if (resampler_) {
    std::vector<float> made;
    resampler_->push(samples, made);
    samples = std::move(made);
  }
  if (static_cast<double>(given_ + std::ssize(samples)) > kMaxS * kHearingRate) {
    return bad_audio(concat("a recording may have at most ", kMaxS, " s"));
  }
  pass_on(samples);
  return ok_status();
}

void WyomingHearing::pass_on(std::vector<float>& samples) {
  given_ += std::ssize(samples);
  listener_->hear(samples);
}

void WyomingHearing::end() {
  std::vector<float> rest;
  if (resampler_) resampler_->flush(rest);
  pass_on(rest);
  listener_->end();
}

}  // namespace syrinx
