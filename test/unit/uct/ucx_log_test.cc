// SPDX-License-Identifier: BSD-3-Clause
// While a thread is quiet UCX prints none of its messages; what the program has put on UCX's stack
// of log handlers, in this thread or another, stays there until the program takes it away.
#include "uct/process/ucx_log.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <memory>
#include <thread>

#include "uct/compat/ucx.h"

namespace verity::uct {
namespace {

unsigned seen = 0, seen_by_other = 0;

template <unsigned* Count>
ucs_log_func_rc_t count(const char*, unsigned, const char*, ucs_log_level_t,
                        const ucs_log_component_config_t*, const char*, va_list) {
  ++*Count;
  return UCS_LOG_FUNC_RC_STOP;
}

void complain() { ucs_error("of the test"); }

class UctQuietLower : public testing::Test {
 protected:
  void SetUp() override {
    { const QuietLower first; }  // the handler that stays
    handlers_ = ucs_log_num_handlers();
    seen = seen_by_other = 0;
  }
  void TearDown() override { EXPECT_EQ(ucs_log_num_handlers(), handlers_); }
  unsigned handlers_ = 0;
};

TEST_F(UctQuietLower, HandlersOfTheProgramSeeNothing) {
  ucs_log_push_handler(count<&seen>);
  {
    const QuietLower quiet;
    complain();
    { const QuietLower again; }
    complain();
  }
  EXPECT_EQ(seen, 0u);
  complain();
  EXPECT_EQ(seen, 1u);
  ucs_log_pop_handler();
}

TEST_F(UctQuietLower, OtherThreadsGoOn) {
  ucs_log_push_handler(count<&seen>);
  {
    const QuietLower quiet;
    std::thread(complain).join();
  }
  EXPECT_EQ(seen, 1u);
  ucs_log_pop_handler();
}

// Another thread puts a handler there meanwhile: it is not what is taken away.
TEST_F(UctQuietLower, TakesNoHandlerButItsOwn) {
  auto quiet = std::make_unique<QuietLower>();
  std::thread([] { ucs_log_push_handler(count<&seen>); }).join();
  quiet.reset();
  complain();
  EXPECT_EQ(seen, 1u);
  std::thread([] { ucs_log_pop_handler(); }).join();
}

// Nor is it what the program takes away, where the program's was there before.
TEST_F(UctQuietLower, IsNotTakenForTheProgramsHandler) {
  ucs_log_push_handler(count<&seen_by_other>);
  ucs_log_pop_handler();
  const QuietLower quiet;
  ucs_log_push_handler(count<&seen>);
  ucs_log_pop_handler();
  ucs_log_push_handler(count<&seen>);
  std::thread(complain).join();
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(seen_by_other, 0u);
  ucs_log_pop_handler();
}

// What UCX logs above the user's level is found, and printed nowhere.
TEST_F(UctQuietLower, SearchFindsWhatIsNotPrinted) {
  const ucs_log_level_t level = ucs_global_opts.log_component.log_level;
  ucs_global_opts.log_component.log_level = UCS_LOG_LEVEL_WARN;
  ucs_log_push_handler(count<&seen>);
  {
    const LogSearch search("of the test");
    const LogSearch other("of another");
    std::thread([] { ucs_diag("of the test"); }).join();
    EXPECT_FALSE(search.found());
    ucs_diag("%s of another test", "one");
    EXPECT_FALSE(search.found());
    EXPECT_TRUE(other.found());
    EXPECT_EQ(seen, 0u);
    complain();
  }
  EXPECT_EQ(seen, 1u);
  {
    const LogSearch search("of the test");
    ucs_diag("of the test");
    EXPECT_TRUE(search.found());
  }
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(ucs_global_opts.log_component.log_level, UCS_LOG_LEVEL_WARN);
  ucs_log_pop_handler();
  ucs_global_opts.log_component.log_level = level;
}

// In a child made by fork(), of which the parent's threads are no part: one that searches just then
// neither holds it up nor leaves UCX's level as it was in the middle of a search.
TEST_F(UctQuietLower, ChildrenSearchForThemselves) {
  constexpr unsigned kChildren = 200;
  constexpr unsigned kPatience = 20;  // s
  const ucs_log_level_t level = ucs_global_opts.log_component.log_level;
  ucs_global_opts.log_component.log_level = UCS_LOG_LEVEL_WARN;
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) { const LogSearch search("of the test"); }
  });
  unsigned good = 0;
  for (unsigned i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kPatience);
      bool found;
      {
        const LogSearch search("of the test");
        ucs_diag("of the test");
        found = search.found();
      }
      _exit(found && ucs_global_opts.log_component.log_level == UCS_LOG_LEVEL_WARN ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    good += status == 0;
    if (status != 0) break;
  }
  ends = true;
  other.join();
  EXPECT_EQ(good, kChildren);
  ucs_global_opts.log_component.log_level = level;
}

}  // namespace
}  // namespace verity::uct
