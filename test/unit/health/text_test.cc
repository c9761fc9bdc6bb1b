// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <stdlib.h>

#include <clocale>
#include <filesystem>

#include "health/text.h"

namespace verity::health {
namespace {

TEST(HealthText, Grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(HealthText, HumanBytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(10 * 1024), "10.0 KiB");
  EXPECT_EQ(human_bytes(1024 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(human_bytes(100ULL << 30), "100 GiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

// Reports are read by programs too, and have commas between thousands.
TEST(HealthText, HumanBytesHaveAPointInEachLanguage) {
  std::string folder = (std::filesystem::temp_directory_path() / "verity-locale-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string make = "localedef -i de_DE -f UTF-8 " + folder + "/de_DE.UTF-8 2>/dev/null";
  (void)!std::system(make.c_str());
  setenv("LOCPATH", folder.c_str(), 1);
  const bool has_one = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
  unsetenv("LOCPATH");
  const std::string text = human_bytes(1536);
  std::setlocale(LC_NUMERIC, "C");
  std::filesystem::remove_all(folder);
  if (!has_one) GTEST_SKIP() << "no German locale here, and none can be made (package locales)";
  EXPECT_EQ(text, "1.50 KiB");
}

TEST(HealthText, NameList) {
  EXPECT_EQ(name_list({}, 10), "");
  EXPECT_EQ(name_list({"tcp"}, 0), "tcp");
  EXPECT_EQ(name_list({"a", "b", "c"}, 7), "a, b, c");
  EXPECT_EQ(name_list({"aaaa", "bbbb", "cccc"}, 12), "aaaa and 2 more");
  EXPECT_EQ(name_list({"aaaa", "bbbb", "cccc"}, 16), "aaaa, bbbb, cccc");
}

TEST(HealthText, JsonString) {
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
  EXPECT_EQ(json_string("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(json_string("\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xe2\x82\xac\xf0\x9f\x98\x80\"");
  // Cut, overlong, surrogate, beyond the last code point, a stray continuation.
  EXPECT_EQ(json_string("\xc3"), "\"\\ufffd\"");
  EXPECT_EQ(json_string("\xc0\xaf"), "\"\\ufffd\\ufffd\"");
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(json_string("\x80!"), "\"\\ufffd!\"");
}

TEST(HealthText, JsonArray) {
  EXPECT_EQ(json_array({}), "[]");
  EXPECT_EQ(json_array({"a", "b"}), "[\"a\",\"b\"]");
}

}  // namespace
}  // namespace verity::health
