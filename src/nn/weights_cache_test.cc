#include "nn/weights_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "io/test_dir.h"
#include "kernels/linear.h"
#include "tensor/absent.h"
#include "tensor/finite.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

/// The linears of a model, and how often their weights were read.
struct Made {
  std::vector<PackedLinear> linears;
  std::string said;
  bool same_as(const Made& other) const {
    if (linears.size() != other.linears.size()) return false;
    for (size_t i = 0; i < linears.size(); ++i) {
      const View a = linears[i].matrix().data, b = other.linears[i].matrix().data;
      if (a.bytes() != b.bytes() || std::memcmp(a.data, b.data, a.bytes()) != 0) return false;
    }
    return true;
  }
};

struct Model {
  int matrices = 5;
  unsigned seed = 1;
  int64_t wider = -1;   // index of the matrix that has `by` more outputs
  int64_t by = 16;      // may be negative, for fewer outputs
  float in_last = 0;    // added to one row in the last panel of each matrix
  bool broken = false;  // whether the third matrix has a NaN
};

constexpr int64_t kOut = 80, kIn = 100;

Made make(const Model& model, PackedStore* store, ThreadPool* pool = nullptr) {
  constexpr WeightType kTypes[] = {WeightType::kQ8, WeightType::kQ4, WeightType::kBF16,
                                   WeightType::kF32, WeightType::kQ8A8};
  const PackingScope scope(pool, store);
  std::mt19937 random(model.seed);
  std::normal_distribution<float> normal;
  Made made;
  for (int m = 0; m < model.matrices; ++m) {
    const int64_t out = kOut + (m == model.wider ? model.by : 0);
    Tensor weight({out, kIn}, DType::kF32);
    for (int64_t i = 0; i < out * kIn; ++i) weight.f32()[i] = normal(random);
    weight.f32()[(out - 1) * kIn] += model.in_last;
    if (model.broken && m == 2) weight.f32()[7] = NAN;
    made.linears.push_back(PackedLinear::pack(weight, kTypes[m % 5]));
  }
  return made;
}

/// Networks that run in another process are neither packed nor kept in the cache.
TEST(WeightsCache, IsNotAskedForAbsentNetworks) {
  struct Counting : PackedStore {
    int asked = 0;
    Tensor find(const PackedMatrix&, MakePanels) override { return ++asked, Tensor(); }
    void keep(const PackedMatrix&, const View&) override {}
  } store;
  const AbsentTensors absent(true);
  const Made none = make({.broken = true}, &store);  // a NaN that the load ignores
  EXPECT_EQ(store.asked, 0);
  EXPECT_EQ(none.linears.size(), 5u);
  const AbsentTensors kept(false);
  (void)make({}, &store);
  EXPECT_EQ(store.asked, 5);
}

struct Start {
  explicit Start(const TestDir& dir, const std::string& key = "key",
                 const std::function<void(WeightsCacheOptions&)>& change = {}) {
    options.path = dir.path("cache/model") + WeightsCache::kSuffix;
    options.key = key;
    options.leave_free = 0;
    options.say = [this](const std::string& what) { said += what + "\n"; };
    if (change) change(options);
  }
  Made operator()(const Model& model, ThreadPool* pool = nullptr) {
    WeightsCache cache(options);
    Made made = make(model, &cache, pool);
    cache.finish();
    made.said = said;
    return made;
  }
  WeightsCacheOptions options;
  std::string said;
};

void fill_cache(const TestDir& dir) {
  Start first(dir);
  first({});
}

/// Returns the options of a start without a log.
WeightsCacheOptions quiet(const TestDir& dir) {
  WeightsCacheOptions options = Start(dir).options;
  options.say = {};
  return options;
}

std::string cache_file(const TestDir& dir) {
  return dir.path("cache/model") + WeightsCache::kSuffix;
}

/// Returns whether a matrix is in the file's mapping and not in its own memory.
bool is_mapped(const PackedLinear& linear) {
  const auto at = reinterpret_cast<uintptr_t>(linear.matrix().data.view().data);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2 || at < begin || at >= end)
      continue;
    return line.find(WeightsCache::kSuffix) != std::string::npos;
  }
  return false;
}

TEST(WeightsCache, TheSecondStartMapsWhatTheFirstPacked) {
  const TestDir dir;
  const Made plain = make({}, nullptr), first = Start(dir)({}), second = Start(dir)({});
  EXPECT_TRUE(first.same_as(plain));
  EXPECT_TRUE(second.same_as(plain));
  EXPECT_EQ(first.said + second.said, "");
  for (const PackedLinear& linear : first.linears) EXPECT_FALSE(is_mapped(linear));
  for (const PackedLinear& linear : second.linears) {
    EXPECT_TRUE(is_mapped(linear));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(linear.matrix().data.view().data) % 64, 0u);
  }
  struct stat info {};
  ASSERT_EQ(::stat(dir.path("cache").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

TEST(WeightsCache, TensorsOutliveTheCacheAndTheFile) {
  const TestDir dir;
  fill_cache(dir);
  const Made second = Start(dir)({});
  fs::remove(cache_file(dir));
  EXPECT_TRUE(second.same_as(make({}, nullptr)));
}

TEST(WeightsCache, CopiesLieInMemoryOfTheirOwn) {
  const TestDir dir;
  fill_cache(dir);
  const Made second = Start(dir, "key", [](WeightsCacheOptions& o) { o.copied = true; })({});
  for (const PackedLinear& linear : second.linears) EXPECT_FALSE(is_mapped(linear));
  EXPECT_TRUE(second.same_as(make({}, nullptr)));
  EXPECT_EQ(second.said, "");
}

TEST(WeightsCache, ManyThreadsPackTheSameBits) {
  ThreadPool pool(4);
  EXPECT_TRUE(make({}, nullptr, &pool).same_as(make({}, nullptr)));
  const Model broken{.broken = true};
  EXPECT_THROW(make(broken, nullptr, &pool), NotFinite);
}

/// A scope applies until it ends. Afterwards the outer scope applies again, if one exists.
TEST(WeightsCache, ScopesEndOneInsideTheOther) {
  struct : PackedStore {
    Tensor find(const PackedMatrix&, MakePanels) override { return ++asked, Tensor(); }
    void keep(const PackedMatrix&, const View&) override {}
    int asked = 0;
  } outer, inner;
  const auto pack = [] {
    PackedMatrix::pack(16, 16, WeightType::kQ8,
                       [](int64_t, float* row) { std::fill_n(row, 16, 1.f); });
  };
  {
    const PackingScope around(nullptr, &outer);
    {
      const PackingScope within(nullptr, &inner);
      pack();
    }
    EXPECT_EQ(outer.asked, 0);
    pack();
    EXPECT_EQ(outer.asked, 1);
  }
  pack();
  EXPECT_EQ(inner.asked, 1);
  EXPECT_EQ(outer.asked, 1);
}

TEST(WeightsCache, AMatrixIsPackedOnlyForThePanelThatIsCompared) {
  const TestDir dir;
  fill_cache(dir);
  WeightsCache cache(quiet(dir));
  const PackingScope scope(nullptr, &cache);
  int asked = 0;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Tensor weight({kOut, kIn}, DType::kF32);
  for (int64_t i = 0; i < kOut * kIn; ++i) weight.f32()[i] = normal(random);
  PackedMatrix::pack(kOut, kIn, WeightType::kQ8, [&](int64_t o, float* row) {
    ++asked;
    std::copy_n(weight.f32() + o * kIn, kIn, row);
  });
  EXPECT_EQ(asked, 16);
}

TEST(WeightsCache, AnotherKeyIsPackedAnewWithAWord) {
  const TestDir dir;
  fill_cache(dir);
  const Model other{.seed = 2};
  const Made made = Start(dir, "other")(other);
  EXPECT_TRUE(made.same_as(make(other, nullptr)));
  EXPECT_NE(made.said.find("from other weights"), std::string::npos) << made.said;
  EXPECT_EQ(Start(dir, "other")(other).said, "");
}

TEST(WeightsCache, OtherWeightsUnderTheSameKeyAreFoundOut) {
  const TestDir dir;
  fill_cache(dir);
  const Model other{.seed = 2};
  const Made made = Start(dir)(other);
  EXPECT_TRUE(made.same_as(make(other, nullptr)));
  EXPECT_NE(made.said.find("matrix 0 was not made from these weights"), std::string::npos)
      << made.said;
  EXPECT_EQ(Start(dir)(other).said, "");
}

TEST(WeightsCache, AnyPanelMayBeTheOneThatIsCompared) {
  const TestDir dir;
  fill_cache(dir);
  const Model other{.in_last = 5};  // the weights differ in one of five panels
  int found = 0;
  const std::string kept = slurp(cache_file(dir));
  for (int i = 0; i < 40; ++i) {
    dir.write("cache/model" + std::string(WeightsCache::kSuffix), kept);
    found += !Start(dir)(other).said.empty();
  }
  // Each start compares one of five panels in each of five matrices, so 67 % of the starts detect
  // the difference.
  EXPECT_GT(found, 10);
  EXPECT_LT(found, 40);
}

TEST(WeightsCache, MatricesOfOtherSizesAreFoundOut) {
  const TestDir dir;
  for (int64_t i = 0; i < 10; ++i) {
    fill_cache(dir);
    const int64_t wider = i / 2;
    // With one output less, the number of panels is the same.
    const Model other{.wider = wider, .by = i % 2 == 0 ? 16 : -1};
    const Made made = Start(dir)(other);
    EXPECT_TRUE(made.same_as(make(other, nullptr)));
    EXPECT_NE(made.said.find(concat("matrix ", wider, " has another type or size")),
              std::string::npos)
        << made.said;
    const Made again = Start(dir)(other);
    EXPECT_EQ(again.said, "");
    EXPECT_TRUE(again.same_as(made));
    fs::remove(cache_file(dir));
  }
}

TEST(WeightsCache, MoreMatricesThanTheFileHasAreAdded) {
  const TestDir dir;
  const Model more{.matrices = 7};
  fill_cache(dir);
  const Made made = Start(dir)(more);
  EXPECT_TRUE(is_mapped(made.linears[4]));
  EXPECT_FALSE(is_mapped(made.linears[5]));
  EXPECT_TRUE(made.same_as(make(more, nullptr)));
  const Made again = Start(dir)(more);
  EXPECT_EQ(again.said, "");
  EXPECT_TRUE(is_mapped(again.linears[6]));
  EXPECT_TRUE(again.same_as(made));
}

TEST(WeightsCache, DamageNeverChangesAWeight) {
  const TestDir dir;
  const Made plain = make({}, nullptr);
  fill_cache(dir);
  const std::string valid = slurp(cache_file(dir));
  std::mt19937 random(3);
  const auto try_file = [&](const std::string& bytes) {
    dir.write("cache/model" + std::string(WeightsCache::kSuffix), bytes);
    const Made made = Start(dir)({});
    EXPECT_TRUE(made.same_as(plain));
    return made.said;
  };
  for (const size_t size : {size_t{0}, size_t{1}, sizeof(WeightsCache::Header) - 1,
                            sizeof(WeightsCache::Header), valid.size() / 2, valid.size() - 1}) {
    EXPECT_NE(try_file(valid.substr(0, size)), "") << size;
  }
  EXPECT_NE(try_file(valid + "x"), "");
  std::string other_sum = valid;
  other_sum[sizeof(WeightsCache::Header) - 1] ^= 1;
  EXPECT_NE(try_file(other_sum), "");
  for (int i = 0; i < 60; ++i) {
    std::string bytes = valid;
    // Half of the changes are in the header and the table, which are small.
    const size_t end = sizeof(WeightsCache::Header), table = 5 * sizeof(WeightsCache::Entry);
    const size_t at = i % 4 == 0   ? random() % end
                      : i % 4 == 2 ? bytes.size() - 1 - random() % table
                                   : end + random() % (bytes.size() - end - table);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    const std::string said = try_file(bytes);
    // Bytes between two matrices have no meaning and may change.
    if (i % 2 == 0) {
      EXPECT_NE(said, "") << at;
    }
    EXPECT_EQ(slurp(cache_file(dir)).size(), valid.size());
  }
}

/// A forged file has the right checksums and wrong offsets.
TEST(WeightsCache, OffsetsStayInsideTheFile) {
  const TestDir dir;
  const Made plain = make({}, nullptr);
  fill_cache(dir);
  const std::string valid = slurp(cache_file(dir));
  WeightsCache::Header header;
  std::memcpy(&header, valid.data(), sizeof header);
  std::vector<WeightsCache::Entry> table(header.matrices);
  std::memcpy(table.data(), valid.data() + header.table_at, table.size() * sizeof table[0]);
  for (const uint64_t at :
       {uint64_t{0}, table[1].at + 1, header.table_at, uint64_t{1} << 40, ~uint64_t{63}}) {
    for (const uint64_t bytes : {table[1].bytes, uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63}) {
      std::vector<WeightsCache::Entry> wrong = table;
      wrong[1].at = at;
      wrong[1].bytes = bytes;
      WeightsCache::Header to = header;
      to.table_sum = checksum(wrong.data(), wrong.size() * sizeof wrong[0]);
      to.sum = checksum(&to, offsetof(WeightsCache::Header, sum));
      std::string file = valid;
      std::memcpy(file.data(), &to, sizeof to);
      std::memcpy(file.data() + to.table_at, wrong.data(), wrong.size() * sizeof wrong[0]);
      dir.write("cache/model" + std::string(WeightsCache::kSuffix), file);
      const Made made = Start(dir)({});
      EXPECT_NE(made.said, "") << at << " " << bytes;
      const bool inside = at <= header.table_at && bytes <= header.table_at - at;
      EXPECT_EQ(made.said.find("its table has a wrong entry") == std::string::npos,
                inside && at % 64 == 0)
          << at << " " << bytes << ": " << made.said;
      EXPECT_TRUE(made.same_as(plain));
    }
  }
  for (const uint64_t matrices : {uint64_t{1} << 60, ~uint64_t{0}}) {
    WeightsCache::Header to = header;
    to.matrices = matrices;
    to.table_at = valid.size();  // makes the table fit: 2^60 * sizeof(Entry) overflows to 0
    to.sum = checksum(&to, offsetof(WeightsCache::Header, sum));
    std::string file = valid;
    std::memcpy(file.data(), &to, sizeof to);
    dir.write("cache/model" + std::string(WeightsCache::kSuffix), file);
    EXPECT_NE(Start(dir)({}).said, "");
  }
}

TEST(WeightsCache, FilesThatOthersMayWriteAreNotRead) {
  const TestDir dir;
  fill_cache(dir);
  fs::permissions(cache_file(dir), fs::perms::others_write, fs::perm_options::add);
  const Made made = Start(dir)({});
  EXPECT_NE(made.said.find("all users may write"), std::string::npos) << made.said;
  for (const PackedLinear& linear : made.linears) EXPECT_FALSE(is_mapped(linear));
  EXPECT_EQ(Start(dir)({}).said, "");  // the new file has default permissions
}

TEST(WeightsCache, ALoadThatFailsLeavesNoFile) {
  const TestDir dir;
  {
    WeightsCache cache(quiet(dir));
    EXPECT_THROW(make({.broken = true}, &cache), NotFinite);
  }
  EXPECT_TRUE(fs::is_empty(dir.path("cache")));
}

TEST(WeightsCache, WithoutAPlaceForTheFileItGoesOn) {
  const TestDir dir;
  const Made plain = make({}, nullptr);
  const auto at = [&](const std::string& path) {
    return Start(dir, "key",
                 [&](WeightsCacheOptions& o) { o.path = path + WeightsCache::kSuffix; });
  };
  dir.write("file", "");
  for (const std::string& place : {std::string("/proc/none/model"), dir.path("file/model")}) {
    const Made made = at(place)({});
    EXPECT_TRUE(made.same_as(plain));
    EXPECT_NE(made.said.find("are not stored"), std::string::npos) << made.said;
    EXPECT_EQ(std::count(made.said.begin(), made.said.end(), '\n'), 1);
  }
}

TEST(WeightsCache, AFullDiskLeavesNothingBehind) {
  const TestDir dir;
  const Made plain = make({}, nullptr);
  const auto is_kept = [&](Start start) {
    const Made made = start({});
    EXPECT_TRUE(made.same_as(plain));
    const bool kept = fs::exists(cache_file(dir));
    EXPECT_EQ(kept, made.said.empty()) << made.said;
    EXPECT_EQ(kept, !fs::is_empty(dir.path("cache")));
    return kept;
  };
  // The system refuses a write in the middle of the file.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{}, old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  limit = {20000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const bool refused = is_kept(Start(dir));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, SIG_DFL);
  EXPECT_FALSE(refused);
  EXPECT_FALSE(is_kept(Start(dir, "key", [](auto& o) { o.leave_free = INT64_MAX / 2; })));
  EXPECT_FALSE(is_kept(Start(dir, "key", [](auto& o) { o.most_bytes = 20000; })));
  EXPECT_TRUE(is_kept(Start(dir)));
}

TEST(WeightsCache, TwoWritersDoNotMix) {
  const TestDir dir;
  const Made plain = make({}, nullptr);
  {
    WeightsCache one(quiet(dir)), other(quiet(dir));
    EXPECT_TRUE(make({}, &one).same_as(plain));
    EXPECT_TRUE(make({}, &other).same_as(plain));
    one.finish();
    EXPECT_TRUE(Start(dir)({}).same_as(plain));
    other.finish();
  }
  const Made made = Start(dir)({});
  EXPECT_EQ(made.said, "");
  EXPECT_TRUE(is_mapped(made.linears[0]));
  EXPECT_TRUE(made.same_as(plain));
}

TEST(WeightsCache, TheFileUnusedForLongestGoes) {
  const TestDir dir;
  const auto start = [&](const std::string& name, int64_t most) {
    return Start(dir, "key", [&](WeightsCacheOptions& o) {
      o.path = dir.path("cache/" + name) + WeightsCache::kSuffix;
      o.most_bytes = most;
    });
  };
  const auto there = [&](const std::string& name) {
    return fs::exists(dir.path("cache/" + name) + WeightsCache::kSuffix);
  };
  constexpr int64_t kAny = 1 << 30;
  start("a", kAny)({});
  const auto size =
      static_cast<int64_t>(fs::file_size(dir.path("cache/a") + WeightsCache::kSuffix));
  start("b", kAny)({});
  dir.write("cache/notes", "of another program");
  const std::string left =
      dir.write("cache/c" + std::string(WeightsCache::kSuffix) + ".new-1-0", "");
  const auto ago = [](int hours) {
    return fs::file_time_type::clock::now() - std::chrono::hours(hours);
  };
  fs::last_write_time(dir.path("cache/a") + WeightsCache::kSuffix, ago(72));
  fs::last_write_time(dir.path("cache/b") + WeightsCache::kSuffix, ago(48));
  fs::last_write_time(left, ago(48));
  start("a", kAny)({});  // in use
  EXPECT_TRUE(there("b"));
  start("c", 2 * size)({});
  EXPECT_TRUE(there("a") && !there("b") && there("c"));
  EXPECT_TRUE(fs::exists(dir.path("cache/notes")));
  EXPECT_FALSE(fs::exists(left));
}

TEST(WeightsCache, AFileUnusedForAMonthGoes) {
  const TestDir dir;
  const auto start = [&](const std::string& name) {
    return Start(dir, "key", [&](WeightsCacheOptions& o) {
      o.path = dir.path("cache/" + name) + WeightsCache::kSuffix;
    });
  };
  const auto there = [&](const std::string& name) {
    return fs::exists(dir.path("cache/" + name) + WeightsCache::kSuffix);
  };
  for (const char* name : {"a", "b", "c"}) start(name)({});
  const auto unused = [&](const std::string& name, int days) {
    fs::last_write_time(dir.path("cache/" + name) + WeightsCache::kSuffix,
                        fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  };
  unused("a", 31);
  unused("b", 29);
  start("c")({});  // uses its own file and writes nothing
  EXPECT_TRUE(!there("a") && there("b") && there("c"));
  unused("c", 31);
  start("c")({});
  EXPECT_TRUE(there("c")) << "the file in use was removed";
}

TEST(WeightsCache, WhatAStartLeftThatWasEndedGoesAndWhatIsWrittenStays) {
  const TestDir dir;
  const std::string suffix = WeightsCache::kSuffix;
  const std::string left = dir.write("cache/b" + suffix + ".new-1-0", "gigabytes");
  const std::string young = dir.write("cache/c" + suffix + ".new-1-0", "");
  const NewFile other(dir.path("cache/d" + suffix));
  const std::string written = dir.path("cache/d" + suffix) + concat(".new-", ::getpid(), "-0");
  for (const std::string& each : {left, written}) {
    fs::last_write_time(each, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  }
  WeightsCache cache(quiet(dir));
  (void)make({}, &cache);
  EXPECT_FALSE(fs::exists(left)) << "before the new file needs its room";
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(written));
}

TEST(WeightsCache, ChecksumsChangeWithEveryByte) {
  std::string bytes(200, 'a');
  const uint64_t sum = checksum(bytes.data(), bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      EXPECT_NE(checksum(bytes.data(), bytes.size()), sum);
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
  EXPECT_NE(checksum(bytes.data(), 199), sum);
  EXPECT_NE(checksum("\0", 1), checksum("\0\0", 2));
}

TEST(WeightsCache, DefaultPlaces) {
  const auto with = [](const char* service, const char* cache, const char* home) {
    const std::pair<const char*, const char*> all[] = {
        {"CACHE_DIRECTORY", service}, {"XDG_CACHE_HOME", cache}, {"HOME", home}};
    std::vector<std::pair<const char*, std::string>> old;
    for (const auto& [name, value] : all) {
      const char* before = std::getenv(name);
      old.emplace_back(name, before ? before : "");
      value ? ::setenv(name, value, 1) : ::unsetenv(name);
    }
    const std::string place = default_weights_cache();
    for (const auto& [name, value] : old)
      value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
    return place;
  };
  EXPECT_EQ(with("/var/cache/syrinx:/x", "/c", "/h"), "/var/cache/syrinx/weights");
  EXPECT_EQ(with(nullptr, "/c", "/h"), "/c/syrinx/weights");
  EXPECT_EQ(with(nullptr, "relative", "/h"), "/h/.cache/syrinx/weights");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
}

}  // namespace
}  // namespace syrinx
