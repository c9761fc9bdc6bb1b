// SPDX-License-Identifier: BSD-3-Clause
//
// A ping-pong in its steady state between two marks, so that what it costs can be counted: run with
// libverity_count.so in LD_PRELOAD for allocations and locks, under strace for system calls (the
// marks are writes to descriptor -1).
//
//   steady [-n TURNS] [-k short|bcopy|zcopy|put|get] [-s BYTES] [-x] TRANSPORT [DEVICE]
//
//   -k  how a turn's BYTES go: in an active message, by put_bcopy, or by get_bcopy with a short
//       message behind it
//   -x  allocates and locks itself in every turn, to see that the counts are true
//
// Prints 'steady KIND BYTES turns N' and with the preload also 'allocations N own N locks N own N',
// for one process of the two.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "count.h"
#include "peer.h"
#include "window.h"

namespace verity::test {
namespace {

constexpr uint8_t kId = 2;
constexpr uint8_t kAsyncId = 1;
constexpr int kWarmUp = 5000;

struct Arguments {
  Options options;
  int turns = 20000;
  std::string kind = "short";
  size_t length = 8;
  bool control = false;
};

// One message in flight; nothing here allocates between the marks.
class PingPong {
 public:
  // `window`: for one-sided kinds, as long as a turn's bytes; else nullptr.
  PingPong(Iface& iface, uct_ep_h ep, const Arguments& arguments, Window* window)
      : iface_(iface),
        ep_(ep),
        window_(window),
        kind_(arguments.kind),
        buffer_(std::max<size_t>(arguments.length, 8)) {
    check(uct_iface_set_am_handler(iface.handle(), kId, handle, this, 0), "set_am_handler");
    if (iface.has(UCT_IFACE_FLAG_CB_ASYNC)) {
      // As UCP does for its connection messages: brings in the lock against the asynchronous
      // thread.
      check(uct_iface_set_am_handler(iface.handle(), kAsyncId, handle, this, UCT_CB_FLAG_ASYNC),
            "set_am_handler");
    }
    if ((iface.md_attr().cap.flags & UCT_MD_FLAG_NEED_MEMH) != 0) {
      check(
          uct_md_mem_reg(iface.md(), buffer_.data(), buffer_.size(), UCT_MD_MEM_ACCESS_ALL, &memh_),
          "uct_md_mem_reg");
    }
  }
  ~PingPong() {
    if (memh_ != UCT_MEM_HANDLE_NULL) { uct_md_mem_dereg(iface_.md(), memh_); }
  }
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;

  void run(int role, int turns) {
    for (int i = 0; i < turns; ++i) {
      if (role == 0) { send(); }
      uint64_t due = ++due_;
      for (int idle = 1; received() < due; ++idle) {
        iface_.progress();
        if (idle % 500 == 0) {
          sched_yield();  // on a busy machine the other process may need this core
        }
      }
      if (role == 1) { send(); }
    }
  }

 private:
  static ucs_status_t handle(void* self, void*, size_t, unsigned) {
    auto* game = static_cast<PingPong*>(self);
    game->received_ = game->received_ + 1;
    return UCS_OK;
  }
  static size_t pack(void* target, void* self) {
    const Bytes& buffer = static_cast<PingPong*>(self)->buffer_;
    std::memcpy(target, buffer.data(), buffer.size());
    return buffer.size();
  }
  static void unpack(void* self, const void* bytes, size_t length) {
    std::memcpy(static_cast<PingPong*>(self)->buffer_.data(), bytes, length);
  }
  // Turns of the other side: the last bytes of a put are the number of its turn.
  [[nodiscard]] uint64_t received() {
    if (kind_ != "put") return received_;
    return *reinterpret_cast<volatile uint64_t*>(window_->at(last_word()));
  }
  [[nodiscard]] size_t last_word() const { return buffer_.size() - sizeof(uint64_t); }
  static void completed(uct_completion_t* completion) {
    reinterpret_cast<PingPong*>(completion)->busy_ = false;
  }
  void send() {
    ++sent_;
    if (kind_ == "get") {
      finish([this] { return try_get(); });
      finish([this] { return uct_ep_am_short(ep_, kId, due_, nullptr, 0); });
    } else {
      finish([this] { return try_send(); });
    }
  }
  template <typename Try>
  void finish(Try&& one) {
    ucs_status_t status;
    do {
      status = one();
      if (status == UCS_ERR_NO_RESOURCE || busy_) { iface_.progress(); }
    } while (status == UCS_ERR_NO_RESOURCE);
    if (status != UCS_OK && status != UCS_INPROGRESS) { check(status, "send"); }
    while (busy_) { iface_.progress(); }
  }
  ucs_status_t try_get() {
    completion_ = {.func = completed, .count = 1, .status = UCS_OK};
    const ucs_status_t status = uct_ep_get_bcopy(ep_, unpack, this, buffer_.size(),
                                                 window_->remote(0), window_->key(), &completion_);
    busy_ = status == UCS_INPROGRESS;
    return status;
  }
  ucs_status_t try_send() {
    if (kind_ == "put") {
      std::memcpy(buffer_.data() + last_word(), &sent_, sizeof(sent_));
      const ssize_t packed = uct_ep_put_bcopy(ep_, pack, this, window_->remote(0), window_->key());
      return packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
    }
    if (kind_ == "short") {
      uint64_t header = due_;
      return uct_ep_am_short(ep_, kId, header, buffer_.data(),
                             static_cast<unsigned>(buffer_.size() - 8));
    }
    if (kind_ == "bcopy") {
      ssize_t packed = uct_ep_am_bcopy(ep_, kId, pack, this, 0);
      return packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
    }
    uct_iov_t iov = {
        .buffer = buffer_.data(), .length = buffer_.size(), .memh = memh_, .stride = 0, .count = 1};
    completion_ = {.func = completed, .count = 1, .status = UCS_OK};
    ucs_status_t status = uct_ep_am_zcopy(ep_, kId, nullptr, 0, &iov, 1, 0, &completion_);
    busy_ = status == UCS_INPROGRESS;
    return status;
  }

  uct_completion_t completion_ = {};  // first: the completion callback casts back
  Iface& iface_;
  uct_ep_h ep_;
  Window* window_;
  std::string kind_;
  Bytes buffer_;
  uct_mem_h memh_ = UCT_MEM_HANDLE_NULL;
  uint64_t due_ = 0;
  uint64_t sent_ = 0;  // turns
  volatile uint64_t received_ = 0;
  volatile bool busy_ = false;
};

// An allocation, a lock and a system call.
void misbehave() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static void* volatile block;
  block = std::malloc(8);
  std::free(block);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  (void)getppid();
}

void mark(const char* text) { (void)!write(-1, text, std::strlen(text)); }

void run_side(Channel& channel, int role, const Arguments& arguments) {
  Iface iface(arguments.options);
  bool has = arguments.kind == "short"   ? iface.has(UCT_IFACE_FLAG_AM_SHORT)
             : arguments.kind == "zcopy" ? iface.has(UCT_IFACE_FLAG_AM_ZCOPY)
             : arguments.kind == "put"   ? iface.has(UCT_IFACE_FLAG_PUT_BCOPY)
             : arguments.kind == "get"   ? iface.has(UCT_IFACE_FLAG_GET_BCOPY)
                                         : true;
  if (!has) throw Skip(arguments.kind + " is not offered by " + arguments.options.transport);
  std::vector<uct_ep_h> eps = iface.connect(channel, 1);
  std::unique_ptr<Window> window;
  if (arguments.kind == "put" || arguments.kind == "get") {
    window = std::make_unique<Window>(iface, channel, std::max<size_t>(arguments.length, 8));
    std::memset(window->at(0), 0, std::max<size_t>(arguments.length, 8));
    channel.barrier({});
  }
  {
    PingPong game(iface, eps[0], arguments, window.get());
    auto* start =
        reinterpret_cast<verity_count_start_fn*>(dlsym(RTLD_DEFAULT, "verity_count_start"));
    auto* stop = reinterpret_cast<verity_count_stop_fn*>(dlsym(RTLD_DEFAULT, "verity_count_stop"));
    channel.barrier([&] { iface.progress(); });
    game.run(role, std::min(kWarmUp, arguments.turns));
    if (start != nullptr) { start(iface.async(), malloc_usable_size(iface.async())); }
    mark("verity-mark-begin");
    for (int i = 0; i < arguments.turns; ++i) {
      game.run(role, 1);
      if (arguments.control) { misbehave(); }
    }
    mark("verity-mark-end");
    verity_counts counts = stop != nullptr ? stop() : verity_counts{};
    channel.barrier([&] { iface.progress(); });
    if (role == 0) {
      std::printf("steady %s %zu turns %d", arguments.kind.c_str(), arguments.length,
                  arguments.turns);
      if (stop != nullptr) {
        std::printf(" allocations %lu own %lu locks %lu own %lu", counts.allocations,
                    counts.own_allocations, counts.locks, counts.own_locks);
      }
      std::printf("\n");
    }
  }
  uct_ep_destroy(eps[0]);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int option;
  while ((option = getopt(argc, argv, "n:k:s:x")) != -1) {
    switch (option) {
      case 'n': arguments.turns = std::atoi(optarg); break;
      case 'k': arguments.kind = optarg; break;
      case 's': arguments.length = std::strtoul(optarg, nullptr, 0); break;
      case 'x': arguments.control = true; break;
      default: optind = argc;
    }
  }
  if (optind >= argc) {
    std::fprintf(
        stderr,
        "usage: steady [-n turns] [-k short|bcopy|zcopy|put|get] [-s bytes] [-x] transport "
        "[device]\n");
    std::exit(2);
  }
  arguments.options.transport = argv[optind];
  arguments.options.device = optind + 1 < argc ? argv[optind + 1] : "";
  return arguments;
}

int run(const Arguments& arguments) {
  int fds[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
  pid_t other = fork();
  int role = other == 0 ? 1 : 0;
  close(fds[1 - role]);
  int code = 0;
  alarm(120);
  try {
    Channel channel(fds[role]);
    run_side(channel, role, arguments);
  } catch (const Skip& skip) {
    std::printf("SKIP: %s\n", skip.what());
    code = 77;
  } catch (const std::exception& error) {
    std::printf("# side %d: %s\n", role, error.what());
    code = 1;
  }
  if (role == 0) {
    int status;
    waitpid(other, &status, 0);
    return code != 0 ? code : status != 0;
  }
  return code;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) { return verity::test::run(verity::test::parse(argc, argv)); }
