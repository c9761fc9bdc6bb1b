// SPDX-License-Identifier: BSD-3-Clause
//
// Random puts, gets, atomic additions, fences and flushes of UCP, whose completion callbacks start
// further ones, against a model: a get brings what was put before a fence, and a flush ends when
// all that was begun before it is applied.
//
//   ucp_order PROCESSES STEPS SEED...
//
// Odd seeds have no gets and no additions. Each process reaches all, itself too. Prints TAP, a line
// for each seed; exit status 0, or 1.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "peer.h"
#include "put_model.h"

namespace verity::test {
namespace {

constexpr unsigned kMost = 4;          // processes
constexpr size_t kSlice = 256 * 1024;  // what one process writes to another
constexpr size_t kLongest = 100'000;   // of an operation
constexpr unsigned kOpen = 40;         // operations at a time
constexpr double kPatience = 30;       // s without any completion

// In memory of all processes. The words that are added to stand in front of the slices.
struct Common {
  std::atomic<unsigned> arrived = 0, round = 0;
  std::atomic<bool> failed = false;
  std::atomic<uint64_t> added[kMost] = {};
  struct Addresses {
    size_t worker_length = 0, key_length = 0;
    uint8_t worker[8192], key[2048];
    uint64_t memory = 0;
  } of[kMost];
};

constexpr size_t kFront = PutModel::kBlock;
constexpr size_t kMemory = kFront + kMost * kSlice;

// What this process has done to one target.
struct Target {
  ucp_ep_h ep = nullptr;
  ucp_rkey_h key = nullptr;
  uint64_t address = 0;            // of this process's slice there
  const uint8_t* there = nullptr;  // the same, mapped here
  uint64_t counter = 0;            // address of the word to add to
  PutModel model{kSlice};
};

class Process;

struct Operation {
  Process* process;
  Target* target;  // nullptr: of the worker
  char kind;
  uint32_t step;
  size_t offset = 0;
  std::vector<uint8_t> bytes, wanted;
};

class Process {
 public:
  Process(Common& common, uint8_t* const* memories, unsigned count, unsigned self, uint64_t seed)
      : common_(common), count_(count), self_(self), seed_(seed), dice_(seed * 131 + self) {
    open(memories[self]);
    for (unsigned i = 0; i < count; ++i) targets_.push_back(std::make_unique<Target>());
    barrier();
    for (unsigned i = 0; i < count; ++i) connect(*targets_[i], i, memories[i]);
    // Until they are connected UCP queues, and gives no order to what callbacks start meanwhile.
    for (int round = 0; round < 2; ++round) {
      for (auto& target : targets_) add(*target);
      for (auto& target : targets_) flush(target.get());
      finish();
      barrier();
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void run(unsigned steps) {
    left_ = steps;
    while (left_ != 0) {
      for (size_t n = dice_() % 12; n != 0 && left_ != 0; --n) step();
      progress();
    }
    finish();
    flush(nullptr);
    finish();
    barrier();
    const auto* word = reinterpret_cast<const uint64_t*>(common_.of[self_].memory);
    require(*word == common_.added[self_], "additions are missing");
    barrier();
  }

  void close() {
    for (auto& target : targets_) ucp_rkey_destroy(target->key);
    std::vector<void*> closing;
    for (auto& target : targets_) {
      const ucp_request_param_t param = {};
      void* request = ucp_ep_close_nbx(target->ep, &param);
      if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
    }
    for (void* request : closing) {
      while (ucp_request_check_status(request) == UCS_INPROGRESS) progress();
      ucp_request_free(request);
    }
    barrier();
    ucp_worker_destroy(worker_);
    ucp_mem_unmap(context_, memory_);
    ucp_cleanup(context_);
  }

 private:
  void open(uint8_t* memory) {
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    ucp_config_t* config;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    check(ucp_init(&params, config, &context_), "ucp_init");
    ucp_config_release(config);
    ucp_mem_map_params_t map = {};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = memory;
    map.length = kMemory;
    check(ucp_mem_map(context_, &map, &memory_), "ucp_mem_map");
    const ucp_worker_params_t worker_params = {};
    check(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create");
    Common::Addresses& mine = common_.of[self_];
    mine.memory = reinterpret_cast<uint64_t>(memory);
    ucp_address_t* address;
    check(ucp_worker_get_address(worker_, &address, &mine.worker_length), "ucp_worker_get_address");
    require(mine.worker_length <= sizeof(mine.worker), "a worker's address is longer");
    std::memcpy(mine.worker, address, mine.worker_length);
    ucp_worker_release_address(worker_, address);
    void* key;
    check(ucp_rkey_pack(context_, memory_, &key, &mine.key_length), "ucp_rkey_pack");
    require(mine.key_length <= sizeof(mine.key), "a key is longer");
    std::memcpy(mine.key, key, mine.key_length);
    ucp_rkey_buffer_release(key);
  }

  void connect(Target& target, unsigned peer, const uint8_t* memory) {
    Common::Addresses& theirs = common_.of[peer];
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(theirs.worker);
    check(ucp_ep_create(worker_, &params, &target.ep), "ucp_ep_create");
    check(ucp_ep_rkey_unpack(target.ep, theirs.key, &target.key), "ucp_ep_rkey_unpack");
    target.address = theirs.memory + kFront + self_ * kSlice;
    target.there = memory + kFront + self_ * kSlice;
    target.counter = theirs.memory;
  }

  void progress() {
    ucp_worker_progress(worker_);
    if (common_.failed) throw Failure("another process has failed");
    require(seconds_now() < limit_, "nothing completes any more");
    sched_yield();
  }
  void finish() {
    const unsigned before = std::exchange(left_, 0);  // callbacks start nothing
    limit_ = seconds_now() + kPatience;
    while (open_ != 0) progress();
    left_ = before;
  }
  void barrier() {
    limit_ = seconds_now() + kPatience;
    const unsigned round = common_.round;
    if (++common_.arrived == count_) {
      common_.arrived = 0;
      ++common_.round;
    }
    while (common_.round == round) progress();
    limit_ = seconds_now() + kPatience;
  }

  // --- operations ---
  void step() {
    --left_;
    Target& target = *targets_[dice_() % count_];
    switch (dice_() % (seed_ % 2 == 0 ? 8 : 5)) {
      case 0:
      case 1: move(target, 'p'); break;
      case 2: flush(dice_() % 2 == 0 ? &target : nullptr); break;
      case 3:
        check(ucp_worker_fence(worker_), "ucp_worker_fence");
        fenced_ = now_++;
        break;
      case 4: break;
      case 5: move(target, 'g'); break;
      case 6: add(target); break;
      default: move(target, 'p'); break;
    }
  }

  static void completed(void* request, ucs_status_t status, void* arg) {
    ucp_request_free(request);
    auto* operation = static_cast<Operation*>(arg);
    Process& process = *operation->process;
    process.end(operation, status);
    process.go_on();
  }
  [[nodiscard]] Operation* begin(char kind, Target* target) {
    ++open_;
    return new Operation{this, target, kind, now_++, 0, {}, {}};
  }
  [[nodiscard]] static ucp_request_param_t param_of(Operation* operation) {
    ucp_request_param_t param = {};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = completed;
    param.user_data = operation;
    return param;
  }
  void started(Operation* operation, ucs_status_ptr_t request) {
    if (!UCS_PTR_IS_PTR(request)) end(operation, UCS_PTR_STATUS(request));
  }

  void move(Target& target, char kind) {
    constexpr size_t kMostOf[] = {16, 16, 200, 200, 2500, 10'000, 40'000, kLongest};
    const size_t length = 1 + dice_() % kMostOf[dice_() % std::size(kMostOf)];
    const size_t offset = dice_() % ((kSlice - length) / PutModel::kBlock) * PutModel::kBlock;
    if (open_ >= kOpen || !target.model.is_free(offset, length, fenced_)) return;
    Operation* operation = begin(kind, &target);
    const ucp_request_param_t param = param_of(operation);
    operation->offset = offset;
    operation->bytes.resize(length);
    uint8_t* data = operation->bytes.data();
    const uint64_t address = target.address + offset;
    if (kind == 'g') {
      operation->wanted = target.model.get(offset, length, operation->step);
      return started(operation, ucp_get_nbx(target.ep, data, length, address, target.key, &param));
    }
    for (size_t i = 0; i < length; ++i)
      data[i] = static_cast<uint8_t>(operation->step * 37 + i * 11 + (i >> 8));
    target.model.put(offset, operation->bytes, operation->step);
    started(operation, ucp_put_nbx(target.ep, data, length, address, target.key, &param));
  }
  void add(Target& target) {
    if (open_ >= kOpen) return;
    Operation* operation = begin('a', &target);
    operation->bytes.assign(sizeof(uint64_t), 0);
    operation->bytes[0] = 1;
    ucp_request_param_t param = param_of(operation);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucp_dt_make_contig(sizeof(uint64_t));
    ++common_.added[index_of(target)];
    started(operation, ucp_atomic_op_nbx(target.ep, UCP_ATOMIC_OP_ADD, operation->bytes.data(), 1,
                                         target.counter, target.key, &param));
  }
  void flush(Target* target) {
    Operation* operation = begin('f', target);
    const ucp_request_param_t param = param_of(operation);
    started(operation, target != nullptr ? ucp_ep_flush_nbx(target->ep, &param)
                                         : ucp_worker_flush_nbx(worker_, &param));
  }
  [[nodiscard]] size_t index_of(const Target& target) const {
    const auto is_it = [&](const auto& one) { return one.get() == &target; };
    return static_cast<size_t>(std::find_if(targets_.begin(), targets_.end(), is_it) -
                               targets_.begin());
  }

  // --- their ends ---
  // A callback must not throw through UCP.
  void end(Operation* operation, ucs_status_t status) {
    const std::unique_ptr<Operation> over(operation);
    --open_;
    limit_ = seconds_now() + kPatience;
    if (status != UCS_OK) fail(*over, ucs_status_string(status));
    if (over->kind == 'g') {
      over->target->model.get_ended(over->offset, over->bytes.size());
      if (over->bytes != over->wanted) fail(*over, "a get brought what was there before a put");
    }
    if (over->kind != 'f') return;
    for (auto& target : targets_) {
      const bool is_flushed = over->target == nullptr || over->target == target.get();
      if (is_flushed && !target->model.flush_ended(target->there, over->step))
        fail(*over, "a flush ended before a put was applied");
    }
  }
  // Within a callback of the operation that is over.
  void go_on() {
    if (depth_ == 3) return;
    ++depth_;
    while (left_ != 0 && dice_() % 3 == 0) step();
    --depth_;
  }
  [[noreturn]] void fail(const Operation& operation, const char* why) {
    std::printf("# process %u, step %u, to %zu: %s\n", self_, operation.step,
                operation.target != nullptr ? index_of(*operation.target) : count_, why);
    std::fflush(stdout);
    common_.failed = true;
    _exit(1);
  }

  Common& common_;
  const unsigned count_, self_;
  const uint64_t seed_;
  std::mt19937_64 dice_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_mem_h memory_ = nullptr;
  std::vector<std::unique_ptr<Target>> targets_;
  unsigned left_ = 0, open_ = 0, depth_ = 0;
  uint32_t now_ = 1, fenced_ = 0;  // steps
  double limit_ = 0;
};

template <typename T>
T* map_shared(size_t length) {
  void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "mmap");
  return static_cast<T*>(memory);
}

int run_process(Common& common, uint8_t* const* memories, unsigned count, unsigned self,
                uint64_t seed, unsigned steps) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    Process process(common, memories, count, self, seed);
    process.run(steps);
    process.close();
    return 0;
  } catch (const std::exception& error) {
    std::printf("# process %u: %s\n", self, error.what());
    std::fflush(stdout);
    common.failed = true;
    _exit(1);
  }
}

bool run_seed(unsigned count, unsigned steps, uint64_t seed) {
  auto* common = new (map_shared<Common>(sizeof(Common))) Common;
  uint8_t* memories[kMost];
  for (unsigned i = 0; i < count; ++i) memories[i] = map_shared<uint8_t>(kMemory);
  std::fflush(stdout);
  std::vector<pid_t> pids;
  for (unsigned i = 0; i < count; ++i) {
    pids.push_back(fork());
    if (pids.back() == 0) std::exit(run_process(*common, memories, count, i, seed, steps));
  }
  bool good = true;
  for (const pid_t pid : pids) {
    int status = 1;
    waitpid(pid, &status, 0);
    good = good && status == 0;
    common->failed = !good;
  }
  for (unsigned i = 0; i < count; ++i) munmap(memories[i], kMemory);
  munmap(common, sizeof(Common));
  return good;
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) {
  const unsigned long count = argc > 3 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (count == 0 || count > verity::test::kMost) {
    std::fprintf(stderr, "usage: ucp_order PROCESSES STEPS SEED..., at most %u processes\n",
                 verity::test::kMost);
    return 2;
  }
  const auto steps = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  bool good = true;
  for (int i = 3; i < argc; ++i) {
    const bool ok = verity::test::run_seed(static_cast<unsigned>(count), steps,
                                           std::strtoul(argv[i], nullptr, 10));
    std::printf("%sok %d - %lu processes, seed %s\n", ok ? "" : "not ", i - 2, count, argv[i]);
    good = good && ok;
  }
  std::printf("1..%d\n", argc - 3);
  return good ? 0 : 1;
}
