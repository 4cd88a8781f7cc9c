// Compares Mimi's codes with the moshi package, and with transformers, on small random checkpoints.
// The suite of live recognisers has the other tests.
#include "families/kyutai_stt/hearing_stage.h"
#include "families/kyutai_stt/pipeline.h"
#include "families/live/fixture.h"

namespace syrinx::kyutai_stt {
namespace {

TEST(KyutaiStt, CodesOfTheRecording) {
  fixture::Bench bench(2);
  for (const std::string name : {"small", "other", "transformers"}) {
    const KyutaiStt model({live::golden_path("kyutai_stt", name + "/checkpoint"), "x"});
    const auto& stage = dynamic_cast<const HearingStage&>(*model.graph().nodes()[0].chunk);
    const auto cases = live::cases_of("kyutai_stt", name);
    for (size_t i = 0; i < cases.size(); ++i) {
      live::Stream stream(model);
      stream.hear(live::samples_of(cases[i]), stage.in_width(), true, model.info().hearing.tail);
      const Safetensors file(
          live::golden_path("kyutai_stt", concat(name, "/case", i, ".safetensors")));
      const View want = file.view("codes");
      // In the layout of transformers, Mimi does not hear the frame of the code before the
      // recording; generate() encodes the end of the silence, but does not read its codes.
      const bool whole = name != "transformers";
      const std::span<const float> samples(stream.encoder.values);
      const std::vector<int32_t> codes =
          stage.encoder().encode(bench.ctx, samples.subspan(size_t(whole ? 0 : stage.in_width())));
      const int64_t heard = stage.encoder().config().codebooks, all = want.shape[1];
      ASSERT_EQ(std::ssize(codes), (want.shape[0] - (whole ? 0 : 2)) * heard);
      for (int64_t at = 0; at < std::ssize(codes); ++at)
        ASSERT_EQ(codes[size_t(at)], want.i32()[at / heard * all + at % heard]) << at;
    }
  }
}

}  // namespace
}  // namespace syrinx::kyutai_stt
