// Promises of the family that need no golden: batches, recomputation, options, voices, checks,
// faults.
#include "audio/resampler.h"
#include "families/voxcpm2/fixture.h"
#include "io/edit_safetensors.h"
#include "io/test_dir.h"

namespace syrinx::voxcpm2 {
namespace {

class VoxCpm2Test : public testing::Test {
 protected:
  VoxCpm2Test() : model_({golden_path("checkpoint"), "tiny"}) {}

  SpeechRequest request(const std::string& text, uint64_t seed = 1) const {
    SpeechRequest r;
    r.text = text;
    r.seed = seed;
    r.max_frames = 30;
    r.ignore_stop = true;
    return r;
  }
  std::unique_ptr<Sequence> open(const SpeechRequest& r) const {
    auto opened = model_.open(r);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    return opened.take().only();
  }
  Error refusal(const SpeechRequest& r) const {
    auto opened = model_.open(r);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error{} : opened.error();
  }
  std::vector<int32_t> ids(const SpeechRequest& r) const {
    const auto state = open(r);
    return {state->prompt_ids().begin(), state->prompt_ids().end()};
  }
  std::vector<float> latents(const SpeechRequest& r, int steps) {
    Runner runner(model_);
    Track track = runner.open(r);
    for (int i = 0; i < steps; ++i) runner.step(track);
    return track.rows;
  }
  std::shared_ptr<const Voice> voice(const std::string& mode, size_t samples = 1700) const {
    Recording recording = speech(samples);
    recording.mode = mode, recording.text = "the words of it";
    return encode(*model_.voice_encoder(), recording);
  }

  VoxCpm2 model_;
};

TEST_F(VoxCpm2Test, SameBitsAloneAndInABatch) {
  std::vector<SpeechRequest> requests{request("Hello there.", 3), request("a", 4),
                                      request("The quick brown fox jumps over", 5),
                                      request("how are you?", 6), request("fine", 7)};
  requests[0].voice_data = voice("reference+continuation");
  requests[1].guidance = 1.f;
  requests[2].guidance = 4.f;
  requests[3].voice_data = voice("reference", 900);
  requests[4].temperature = 0.5f;
  std::vector<Track> alone;
  for (const SpeechRequest& r : requests) {
    Runner runner(model_);
    alone.push_back(runner.open(r));
    for (int i = 0; i < 20; ++i) runner.step(alone.back());
  }
  Runner runner(model_, 2);
  std::vector<Track> together;
  for (const SpeechRequest& r : requests) together.push_back(runner.open(r));
  std::vector<Track*> all;
  for (Track& track : together) all.push_back(&track);
  for (int i = 0; i < 36; ++i) runner.step(all, 5);  // prompts in parts, beside decoding rows
  for (size_t i = 0; i < requests.size(); ++i) {
    const size_t count = std::min(alone[i].rows.size(), together[i].rows.size());
    ASSERT_GE(count, 10u * model_.config().patch_width());
    EXPECT_TRUE(std::equal(alone[i].rows.begin(),
                           alone[i].rows.begin() + static_cast<int64_t>(count),
                           together[i].rows.begin()))
        << "request " << i;
  }
}

TEST_F(VoxCpm2Test, ADroppedCacheIsMadeAgain) {
  Runner runner(model_);
  SpeechRequest r = request("Hello there, how are you?");
  r.voice_data = voice("continuation");
  Track kept = runner.open(r), dropped = runner.open(r);
  for (int i = 0; i < 20; ++i) {
    runner.step(kept);
    if (i % 7 == 3) runner.drop(dropped);
    runner.step(dropped);
  }
  EXPECT_TRUE(kept.rows == dropped.rows);
  EXPECT_TRUE(kept.logits == dropped.logits);
}

TEST_F(VoxCpm2Test, SeedsNoiseAndGuidanceCount) {
  const std::vector<float> plain = latents(request("hello"), 3);
  EXPECT_TRUE(latents(request("hello"), 3) == plain);
  EXPECT_FALSE(latents(request("hello", 2), 3) == plain);
  SpeechRequest quiet = request("hello");
  quiet.temperature = 0.f;
  SpeechRequest other = quiet;
  other.seed = 99;
  EXPECT_TRUE(latents(quiet, 3) == latents(other, 3)) << "without noise no seed counts";
  SpeechRequest guided = request("hello");
  guided.guidance = State::kGuidance;
  EXPECT_TRUE(latents(guided, 3) == plain) << "the authors' scale is the default";
  guided.guidance = 1.f;
  EXPECT_FALSE(latents(guided, 3) == plain);
}

TEST_F(VoxCpm2Test, BoundsAndTheStopRule) {
  SpeechRequest r;
  r.text = "Hello there.";
  const auto state = open(r);
  const auto count = std::ssize(model_.prompter().text(r.text));
  EXPECT_EQ(state->max_steps(), 6 * count + 10);
  EXPECT_EQ(state->prompt_ids().back(), Prompter::kAudioStart);
  EXPECT_EQ(std::ssize(state->prompt_ids()), count + 1);
  EXPECT_EQ(state->sampling(0).temperature, 0.f);
  const std::vector<float> patch(static_cast<size_t>(model_.config().patch_width()), 0.25f);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  std::vector<float> rows;
  const int32_t go_on = 0, stop = 1;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(state->rule(0).ranges, 1) << "it may not end before its third step";
    EXPECT_EQ(state->rule(0).allowed[0].end, 1);
    StepOutput out(frames, words, nullptr, nullptr, patch, &rows);
    EXPECT_EQ(state->advance(std::span(&go_on, 1), out).next, Verdict::kContinue);
  }
  EXPECT_EQ(state->rule(0).ranges, 0);
  StepOutput out(frames, words, nullptr, nullptr, patch, &rows);
  EXPECT_EQ(state->advance(std::span(&stop, 1), out).next, Verdict::kFinished);
  EXPECT_EQ(rows.size(), 4 * patch.size()) << "the patch that says it is the last is heard";
  r.max_frames = 7;
  EXPECT_EQ(open(r)->max_steps(), 7);
  r.text = std::string(4000, 'a');
  r.max_frames = 0;
  EXPECT_EQ(refusal(r).param, "input") << "more than the model has positions for";
}

TEST_F(VoxCpm2Test, TextIsTakenAsTheAuthorsDo) {
  EXPECT_EQ(one_spaced(" a\n\n b\t\u3000c\x1c"), " a b c ");
  const Prompter& p = model_.prompter();
  EXPECT_EQ(p.text("\u4e16\u754c").size(), 2u) << "a token for each character";
  EXPECT_EQ(p.text("\u4f60\u597d").size(), 1u) << "but where the token has no form without a mark";
  EXPECT_EQ(p.text("</s>").front(), p.text("<").front()) << "control tokens are text";
  SpeechRequest r = request("hello"), described = r;
  described.instructions = "a  warm voice";
  EXPECT_EQ(ids(described), ids(request("(a warm voice)hello")));
}

TEST_F(VoxCpm2Test, VoicesInThreeModes) {
  const auto patches = [&](const std::string& mode) {
    SpeechRequest r = request("hello");
    r.voice_data = voice(mode);
    return r;
  };
  const int64_t count = (1700 + 79) / 80, p = model_.config().patch;
  const Voice& both = *patches("reference+continuation").voice_data;
  ASSERT_TRUE(both.find("reference") && both.find("prompt"));
  EXPECT_EQ(both.find("prompt")->shape(), (Shape{count, p, model_.config().latent()}));
  EXPECT_FALSE(voice("reference")->find("prompt"));
  EXPECT_FALSE(voice("continuation")->find("reference"));
  const std::vector<int32_t> reference = ids(patches("reference"));
  EXPECT_EQ(reference[0], Prompter::kReferenceStart);
  EXPECT_EQ(reference[static_cast<size_t>(count) + 1], Prompter::kReferenceEnd);
  EXPECT_EQ(reference.back(), Prompter::kAudioStart);
  EXPECT_EQ(ids(patches("continuation")).back(), 0) << "the speech goes on from the recording";
  const auto state = open(patches("continuation"));
  EXPECT_EQ(std::ssize(static_cast<const State&>(*state).context()),
            State::kContext * model_.config().patch_width());
  EXPECT_TRUE(static_cast<const State&>(*open(patches("reference"))).context().empty());
  // Without its words a recording is a reference.
  EXPECT_EQ(check_recording(model_.voice_encoder()->info(), speech(40000)).value(), "reference");

  std::vector<uint64_t> a, b, same;
  open(patches("reference"))->prefix_keys(false, a);
  open(patches("reference"))->prefix_keys(false, same);
  SpeechRequest longer = request("hello");
  longer.voice_data = voice("reference", 1701);
  open(longer)->prefix_keys(false, b);
  EXPECT_EQ(a, same);
  EXPECT_EQ(a[1], b[1]) << "the same sounds";
  EXPECT_NE(a[static_cast<size_t>(count)], b[static_cast<size_t>(count)]);
}

TEST_F(VoxCpm2Test, RecordingsAreResampledAsTheAuthorsDo) {
  const int rate = static_cast<int>(model_.config().vae.sample_rate);
  Recording other = speech(3000), same = other;
  other.mode = same.mode = "reference";
  other.sample_rate = rate * 3;
  same.sample_rate = rate;
  same.samples = resampled(other.samples, rate * 3, rate, Resampling::kSoxr);
  const auto a = encode(*model_.voice_encoder(), other), b = encode(*model_.voice_encoder(), same);
  EXPECT_TRUE(std::ranges::equal(floats(*a->find("reference")), floats(*b->find("reference"))));
}

TEST_F(VoxCpm2Test, SaysWhatItIs) {
  const PipelineInfo& info = model_.info();
  EXPECT_EQ(info.sample_rate, 48000);
  EXPECT_EQ(info.frame_rate, 200);  // of the small one: 4 latents of 60 samples
  EXPECT_EQ(info.late_text, LateText::kNone);
  EXPECT_EQ(info.parts.size(), 7u);
  for (const PartInfo& part : info.parts) EXPECT_GT(part.bytes, 0u) << part.name;
  EXPECT_EQ(info.parts[1].shape, "1 layers, width 32, heads 4/2 x 16, ffn 40, without angles");
}

TEST_F(VoxCpm2Test, RefusesWhatItCannotDo) {
  const auto param = [&](auto change) {
    SpeechRequest r = request("hello");
    change(r);
    return refusal(r).param;
  };
  EXPECT_EQ(param([](SpeechRequest& r) { r.text = " \n "; }), "input");
  EXPECT_EQ(param([](SpeechRequest& r) { r.voice = "anna"; }), "voice");
  EXPECT_EQ(param([](SpeechRequest& r) { r.language = "german"; }), "language");
  EXPECT_EQ(param([](SpeechRequest& r) { r.text_open = true; }), "input");
  EXPECT_EQ(param([](SpeechRequest& r) { r.text_in_prompt = false; }), "text_in_prompt");
  EXPECT_EQ(param([](SpeechRequest& r) { r.top_k = 5; }), "top_k");
  EXPECT_EQ(param([](SpeechRequest& r) { r.top_p = 0.5f; }), "top_p");
  EXPECT_EQ(param([](SpeechRequest& r) { r.guidance = -1.f; }), "guidance");
  EXPECT_EQ(param([](SpeechRequest& r) { r.guidance = NAN; }), "guidance");
  EXPECT_EQ(param([](SpeechRequest& r) { r.temperature = INFINITY; }), "temperature");
  const auto told = [&](const std::function<void(Voice&)>& change) {
    Voice v{.family = "voxcpm2", .encoder = "1", .mode = "continuation", .text = "x"};
    v.tensors.emplace("prompt",
                      Tensor({2, model_.config().patch, model_.config().latent()}, DType::kF32));
    change(v);
    SpeechRequest r = request("hello");
    r.voice_data = std::make_shared<const Voice>(std::move(v));
    return refusal(r).message;
  };
  EXPECT_NE(told([](Voice& v) { v.tensors.clear(); }).find("neither"), std::string::npos);
  EXPECT_NE(told([](Voice& v) { v.text.clear(); }).find("words"), std::string::npos);
  EXPECT_NE(told([](Voice& v) { v.tensors.at("prompt").f32()[3] = NAN; }).find("not finite"),
            std::string::npos);
  EXPECT_NE(told([](Voice& v) {
              v.tensors.at("prompt") = Tensor({2, 4, 9}, DType::kF32);
            }).find("\"prompt\" is no f32 [patches, 4, 8] but f32 [2, 4, 9]"),
            std::string::npos);
  EXPECT_NE(told([](Voice& v) {
              v.tensors.at("prompt") = Tensor({2, 4, 8}, DType::kI32);
            }).find("i32"),
            std::string::npos);
}

/// What loading a changed copy of the checkpoint says.
class VoxCpm2Faults : public testing::Test {
 protected:
  VoxCpm2Faults() {
    std::filesystem::copy(golden_path("checkpoint"), dir_.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }
  std::string fault(bool dummy = false) const {
    try {
      VoxCpm2({dir_.path(), "x", WeightType::kF32, dummy});
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  }
  std::string fault_with(const std::string& key, const nlohmann::json& value) const {
    auto json = nlohmann::json::parse(read_file(golden_path("checkpoint/config.json"), 1 << 20));
    json[nlohmann::json::json_pointer(key)] = value;
    dir_.write("config.json", json.dump());
    return fault();
  }
  TestDir dir_;
};

TEST_F(VoxCpm2Faults, ConfigsNameTheEntry) {
  EXPECT_EQ(fault(), "");
  const std::tuple<const char*, nlohmann::json, const char*> wrong[] = {
      {"/lm_config/use_mup", true, "use_mup"},
      {"/lm_config/rope_scaling/type", "llama3", "rope_scaling.type"},
      {"/lm_config/rope_scaling/short_factor", {1, 2}, "kv_channels"},
      {"/lm_config/rope_scaling/short_factor", {0, 1, 1, 1, 1, 1, 1, 1}, "short_factor"},
      {"/lm_config/kv_channels", 12, "kv_channels"},
      {"/lm_config/num_key_value_heads", 3, "heads"},
      {"/lm_config/vocab_size", 104, "vocab_size"},
      {"/lm_config/vocab_size", 300, "the tokenizer has"},
      {"/dit_config/dit_mean_mode", true, "dit_mean_mode"},
      {"/dit_config/cfm_config/solver", "heun", "solver"},
      {"/feat_dim", 9, "feat_dim"},
      {"/patch_size", 0, "patch_size"},
      {"/audio_vae_config/depthwise", false, "depthwise"}};
  for (const auto& [key, value, told] : wrong)
    EXPECT_NE(fault_with(key, value).find(told), std::string::npos) << key << ": " << fault();
  EXPECT_NE(fault_with("/lm_config/hidden_size", 40).find("base_lm.layers.0"), std::string::npos)
      << "tensors of other sizes are named";
}

TEST_F(VoxCpm2Faults, WeightsAreTakenWhole) {
  for (const char* name : {"stop_head.weight", "fsq_layer.in_proj.bias",
                           "feat_decoder.estimator.delta_time_mlp.linear_2.weight",
                           "feat_encoder.special_token", "residual_lm.norm.weight"}) {
    EditableSafetensors edited(golden_path("checkpoint/model.safetensors"));
    ASSERT_EQ(edited.header().erase(name), 1u) << name;
    edited.write(dir_.path("model.safetensors"));
    EXPECT_NE(fault().find(name), std::string::npos) << fault();
  }
  std::filesystem::remove(dir_.path("model.safetensors"));
  EXPECT_NE(fault().find("model.safetensors"), std::string::npos) << fault();
}

TEST_F(VoxCpm2Faults, TensorsThatAreNotNumbersAreNamed) {
  for (const char* name : {"feat_encoder.special_token", "stop_proj.bias",
                           "feat_decoder.estimator.time_mlp.linear_1.weight"}) {
    EditableSafetensors edited(golden_path("checkpoint/model.safetensors"));
    const uint16_t infinity = 0xff80;
    std::memcpy(edited.data(name), &infinity, sizeof infinity);
    edited.write(dir_.path("model.safetensors"));
    EXPECT_NE(fault().find(std::string("tensor ") + name + ": has NaN or infinity"),
              std::string::npos)
        << fault();
  }
}

TEST_F(VoxCpm2Faults, TheVaeIsTakenWholeToo) {
  std::string bytes = slurp(golden_path("checkpoint/audiovae.pth"));
  const std::string name = "decoder.model.3.block.1.bias";
  const size_t at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  dir_.write("audiovae.pth", bytes.replace(at, name.size(), "decoder.model.3.block.1.bia_"));
  EXPECT_NE(fault().find(name), std::string::npos) << fault();
  EXPECT_NE(fault().find("bia_"), std::string::npos) << fault();
  std::filesystem::remove(dir_.path("audiovae.pth"));
  EXPECT_NE(fault().find("audiovae.pth"), std::string::npos) << fault();
  // Random weights need neither; the tokenizer is used where it is there.
  std::filesystem::remove(dir_.path("model.safetensors"));
  EXPECT_EQ(fault(true), "");
  std::filesystem::remove(dir_.path("tokenizer.json"));
  EXPECT_EQ(fault(true), "");
}

TEST(VoxCpm2Config, ClaimsItsOwn) {
  EXPECT_TRUE(claims(Config::parse(R"({"architecture": "voxcpm2"})", "x")));
  EXPECT_TRUE(claims(Config::parse(R"({"architecture": "VoxCPM2"})", "x")));
  EXPECT_FALSE(claims(Config::parse(R"({"architecture": "voxcpm"})", "x")));
  EXPECT_FALSE(claims(Config::parse(R"({"architecture": 2})", "x")));
  EXPECT_FALSE(claims(Config::parse("{}", "x")));
}

}  // namespace
}  // namespace syrinx::voxcpm2
