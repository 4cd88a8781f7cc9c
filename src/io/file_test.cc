#include "io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "io/abandoned.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

TEST(File, ReadsWithABound) {
  const TestDir dir;
  const auto path = dir.write("a", "12345");
  EXPECT_EQ(read_file(path, 5), "12345");
  EXPECT_THROW(read_file(path, 4), LoadError);
  EXPECT_THROW(read_file(dir.path(), 4), LoadError);
  EXPECT_THROW(read_file(dir.path("none"), 4), LoadError);
  ASSERT_EQ(::mkfifo(dir.path("pipe").c_str(), 0600), 0);
  EXPECT_THROW(read_file(dir.path("pipe"), 4), LoadError);  // does not wait for a writer
}

TEST(File, MapsAlsoEmptyOnes) {
  const TestDir dir;
  EXPECT_EQ(MappedFile::open(dir.write("a", "12345"))->bytes().size(), 5u);
  EXPECT_TRUE(MappedFile::open(dir.write("b", ""))->bytes().empty());
  EXPECT_THROW(MappedFile::open(dir.path()), LoadError);
}

TEST(File, WhatWasReadStaysWhenTheFileIsCutOff) {
  const TestDir dir;
  const auto path = dir.write("a", std::string(100'000, 'x'));
  const auto file = MappedFile::read(path);
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  const auto bytes = file->bytes();
  ASSERT_EQ(bytes.size(), 100'000u);
  EXPECT_EQ(static_cast<char>(bytes[99'999]), 'x');  // in a mapping, this read would raise SIGBUS
  EXPECT_TRUE(MappedFile::read(path)->bytes().empty());
  EXPECT_THROW((void)MappedFile::read(dir.path("none")), LoadError);
}

TEST(File, AFileThatIsEmptyAtFirstIsNotMapped) {
  const TestDir dir;
  const auto path = dir.write("a", "");
  std::atomic<bool> done = false;
  std::thread writer([&] {  // like a program that replaces the file in place
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string page(4096, 'x');
    while (!done) {
      EXPECT_EQ(::pwrite(fd, page.data(), page.size(), 0), 4096);
      EXPECT_EQ(::ftruncate(fd, 0), 0);
    }
    ::close(fd);
  });
  for (int i = 0; i < 20'000; ++i) {
    try {
      const auto file = MappedFile::read(path);
      for (const std::byte byte : file->bytes()) {
        ASSERT_TRUE(byte == std::byte{'x'} || byte == std::byte{0});
      }
    } catch (const LoadError&) {
      // The file changed during the read.
    }
  }
  done = true;
  writer.join();
}

TEST(File, WhatBelongsTogetherIsLoadedAgainWhereItChanged) {
  const TestDir dir;
  const auto a = dir.write("a", "1"), b = dir.write("b", "1");
  int loads = 0;
  const auto both = [&] {
    const std::string first = read_file(a, 9);
    if (++loads == 1) dir.write("b", "2"), dir.write("a", "2");
    return first + read_file(b, 9);
  };
  EXPECT_EQ(load_together({a, b}, both), "22");
  EXPECT_EQ(loads, 2);
  // A fault of mixed versions is not reported. A fault of unchanged files is reported immediately.
  loads = 0;
  const auto faulty = [&]() -> int {
    if (++loads == 1) dir.write("b", "3");
    if (loads == 1) throw LoadError("a mixture");
    throw LoadError("really wrong");
  };
  try {
    load_together({a, b}, faulty);
    FAIL();
  } catch (const LoadError& error) {
    EXPECT_STREQ(error.what(), "really wrong");
  }
  EXPECT_EQ(loads, 2);
  loads = 0;
  const auto never = [&] { return dir.write("b", std::string(static_cast<size_t>(++loads), 'x')); };
  EXPECT_THROW((void)load_together({a, b}, never), LoadError);
  EXPECT_EQ(loads, 3);
}

TEST(File, NewFilesAppearWhole) {
  const TestDir dir;
  dir.write("a", "old");
  {
    NewFile file(dir.path("a")), other(dir.path("a"));
    file.append("new text", 8);
    file.overwrite(0, "N", 1);
    other.append_part_of(file, 4, 8);
    EXPECT_EQ(slurp(dir.path("a")), "old");
    file.commit();
    EXPECT_EQ(slurp(dir.path("a")), "New text");
    other.commit();
  }
  EXPECT_EQ(slurp(dir.path("a")), "text");
  struct stat info {};
  ASSERT_EQ(::stat(dir.path("a").c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777u, 0666u & ~mask);
}

TEST(File, ShownTextIsHarmless) {
  EXPECT_EQ(shown("plain"), "plain");
  EXPECT_EQ(shown(std::string("a\n\x1b[0m\0", 7)), "a\\x0a\\x1b[0m\\x00");
  EXPECT_EQ(shown(std::string(1000, 'x'), 4), "xxxx... (1000 bytes)");
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
}

TEST(File, SizesAreForPeople) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(3 << 20), "3.0 MiB");
  EXPECT_EQ(size_text(uint64_t{5} << 28), "1.25 GiB");
}

TEST(File, ANewFileThatIsNotCommittedLeavesNothing) {
  const TestDir dir;
  {
    NewFile file(dir.path("a"));
    file.append("text", 4);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

/// Writing to /dev/null as root must not replace it by a file.
TEST(File, WhatIsNoFileIsWrittenToAndNotReplaced) {
  const TestDir dir;
  const std::string pipe = dir.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_NO_THROW(need_writable(pipe));
  std::string got;
  std::thread reader([&] { got = slurp(pipe); });
  {
    NewFile file(pipe);
    file.append("text", 4);
    file.overwrite(0, "T", 1);
    file.commit();
  }
  reader.join();
  EXPECT_EQ(got, "text");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  EXPECT_THROW(NewFile("/dev/full").append("x", 1), LoadError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(File, BehindALinkTheFileIsReplaced) {
  const TestDir dir;
  dir.write("below/a", "old");
  std::filesystem::create_symlink("below/a", dir.path("link"));
  NewFile file(dir.path("link"));
  file.append("new", 3);
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(dir.path("link")));
  EXPECT_EQ(slurp(dir.path("below/a")), "new");
}

TEST(File, ALinkThatLeadsToNothingYetStays) {
  const TestDir dir;
  dir.write("below/a", "");
  std::filesystem::create_symlink("below/b", dir.path("link"));
  NewFile file(dir.path("link"));
  file.append("new", 3);
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(dir.path("link")));
  EXPECT_EQ(slurp(dir.path("below/b")), "new");
  std::filesystem::create_symlink("circle", dir.path("circle"));
  EXPECT_THROW(NewFile(dir.path("circle")), LoadError);
}

TEST(File, TheNewFileIsForWhomTheOldOneWas) {
  const TestDir dir;
  const std::string path = dir.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 1234, 1235), 0);
  }
  struct stat old {
  }, now{};
  ASSERT_EQ(::stat(path.c_str(), &old), 0);
  NewFile file(path);
  for (const auto& each : std::filesystem::directory_iterator(dir.path())) {
    ASSERT_EQ(::stat(each.path().c_str(), &now), 0);
    EXPECT_EQ(now.st_mode & 0777u, 0600u) << each.path();
  }
  file.commit();
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(slurp(path), "");
  EXPECT_EQ(now.st_mode & 0777u, 0600u);
  EXPECT_EQ(now.st_uid, old.st_uid);
  EXPECT_EQ(now.st_gid, old.st_gid);
}

TEST(File, NamesMayBeAsLongAsTheyGet) {
  std::string name;
  for (int i = 0; i < 85; ++i) name += "あ";
  const std::pair<std::string, size_t> kept_of[] = {{name, 198}, {std::string(255, 'x'), 200}};
  for (const auto& [each, kept] : kept_of) {
    const TestDir dir;
    NewFile file(dir.path(each));
    const auto temporary = std::filesystem::directory_iterator(dir.path())->path().filename();
    EXPECT_EQ(temporary.string().find(".new-"), kept);
    file.append("text", 4);
    file.commit();
    EXPECT_EQ(slurp(dir.path(each)), "text");
    EXPECT_THROW(need_writable(dir.path(each + "x")), LoadError);
  }
}

/// A process that removes abandoned files at any moment takes no file that another one writes.
TEST(File, WhatIsBeingWrittenIsNotAbandoned) {
  const TestDir dir;
  std::atomic<bool> over = false;
  std::thread remover([&] {
    std::error_code none;
    while (!over) {
      for (const auto& entry : std::filesystem::directory_iterator(dir.path(), none))
        if (entry.path().string().find(".new-") != std::string::npos)
          remove_abandoned_file(entry.path().string());
    }
  });
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    try {
      NewFile file(dir.path("a"));
      file.append(&i, sizeof(i));
      file.commit(false);
    } catch (const LoadError& error) {
      ADD_FAILURE() << error.what();
    }
  }
  over = true;
  remover.join();
  const std::string left = dir.write("a.new-1-0", "half");
  remove_abandoned_file(left);
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST(File, InAStickyDirectoryOnlyOnesOwnFilesAreReplaced) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  const TestDir dir;
  dir.write("a", "old");
  ASSERT_EQ(::chmod(dir.path().c_str(), 01777), 0);
  ASSERT_EQ(::seteuid(65534), 0);
  EXPECT_THROW(need_writable(dir.path("a")), LoadError);
  EXPECT_NO_THROW(need_writable(dir.path("b")));
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_NO_THROW(need_writable(dir.path("a")));
}

TEST(File, WhatCannotBeWrittenIsKnownBefore) {
  const TestDir dir;
  dir.write("a", "old");
  ASSERT_NO_THROW(need_writable(dir.path("a")));
  ASSERT_NO_THROW(need_writable(dir.path("b")));
  ASSERT_NO_THROW(need_writable("/dev/null"));
  EXPECT_THROW(need_writable(dir.path()), LoadError);
  EXPECT_THROW(need_writable(dir.path("none/b")), LoadError);
  EXPECT_EQ(slurp(dir.path("a")), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(File, ShownTextMayBeAsLongAsItsLimit) {
  EXPECT_EQ(shown("abcd", 4), "abcd");
  EXPECT_EQ(shown("abcde", 4), "abcd... (5 bytes)");
}

/// On a full disk a write is short or fails. The old file must remain.
TEST(File, AShortWriteIsAFaultAndLeavesTheOldFile) {
  const TestDir dir;
  dir.write("a", "old");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit whole{}, small{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &whole), 0);
  small = whole;
  small.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string bytes(1000, 'x');
  EXPECT_THROW(
      {
        NewFile file(dir.path("a"));
        file.append(bytes.data(), bytes.size());
        file.commit();
      },
      LoadError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &whole), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(slurp(dir.path("a")), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

}  // namespace
}  // namespace syrinx
