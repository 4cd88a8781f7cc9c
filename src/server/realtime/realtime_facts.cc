#include "server/realtime/realtime_facts.h"

#include <utility>

namespace syrinx {

void RealtimeFacts::check_voice(const AnswerConfig& wish, const AnswerConfig& now,
                                const char* param) const {
  if (wish.voice.empty() || wish.voice == now.voice || !refuse_voice) return;
  auto fault = refuse_voice(wish.voice);
  if (!fault) return;
  fault->param = param;
  throw std::move(*fault);
}

}  // namespace syrinx
