// SPDX-License-Identifier: BSD-3-Clause
//
// Several threads, each with its own UCP contexts and workers, opened, used and closed at the same
// time: what belongs to the process and not to one interface is touched by all of them. In each
// round every thread sends to the next one and receives from the one before.
//
//   contexts [THREADS [ROUNDS [given | serialized]]]
//
// given: the first thread opens and connects all of them, and gives each of the others its own.
// UCX forbids that for workers of UCS_THREAD_MODE_SINGLE, and checks it only with assertions.
// serialized: the same with workers that allow it.
#include <ucp/api/ucp.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kMessages = 60;
constexpr size_t kLongest = 40'000;
constexpr size_t kHashed =
    300'000;  // the last message: where a transport reads, UCX_VERITY_THREADS make its digest

std::atomic<unsigned> wrong{0};

bool good(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return true;
  std::printf("# %s: %s\n", what, ucs_status_string(status));
  ++wrong;
  return false;
}

size_t length_of(unsigned message) {
  return message == kMessages - 1 ? kHashed : message * message * 37 % kLongest;
}

uint8_t byte_of(unsigned thread, unsigned message, size_t at) {
  return static_cast<uint8_t>(thread * 31 + message * 7 + at);
}

// What the threads of a round share.
struct Ring {
  explicit Ring(unsigned threads) : addresses(threads), meeting(threads) {}
  std::vector<std::string> addresses;
  std::barrier<> meeting;
  std::atomic<unsigned> done{0};
};

class Member {
 public:
  Member(Ring& ring, unsigned index, ucs_thread_mode_t mode = UCS_THREAD_MODE_SINGLE)
      : ring_(ring), index_(index), mode_(mode) {}

  void run() {
    const bool opened = open();
    ring_.meeting.arrive_and_wait();
    if (opened && connect()) exchange();
    finish();
    close();
  }

  // With open() and connect() in another thread.
  void run_given() {
    exchange();
    finish();
    close();
  }

  bool open() {
    ucp_config_t* config;
    if (!good(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read")) return false;
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    const ucs_status_t status = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    if (!good(status, "ucp_init")) return false;
    ucp_worker_params_t worker = {};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = mode_;
    if (!good(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create")) return false;
    ucp_address_t* address;
    size_t length;
    if (!good(ucp_worker_get_address(worker_, &address, &length), "address")) return false;
    ring_.addresses[index_].assign(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(worker_, address);
    return true;
  }

  bool connect() {
    const std::string& next = ring_.addresses[(index_ + 1) % ring_.addresses.size()];
    if (next.empty()) return false;
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(next.data());
    return good(ucp_ep_create(worker_, &params, &ep_), "ucp_ep_create");
  }

  void progress() {
    if (worker_ != nullptr && ucp_worker_progress(worker_) == 0) std::this_thread::yield();
  }

 private:
  void finish() {
    ++ring_.done;
    while (ring_.done < ring_.addresses.size()) progress();
  }

  void exchange() {
    const auto before =
        static_cast<unsigned>((index_ + ring_.addresses.size() - 1) % ring_.addresses.size());
    std::vector<std::vector<uint8_t>> out(kMessages);
    std::vector<std::vector<uint8_t>> in(kMessages);
    std::vector<ucs_status_ptr_t> requests;
    const ucp_request_param_t param = {};
    for (unsigned m = 0; m < kMessages; ++m) {
      in[m].resize(length_of(m));
      requests.push_back(ucp_tag_recv_nbx(worker_, in[m].data(), in[m].size(), m, ~0ull, &param));
      for (size_t at = 0; at < length_of(m); ++at) out[m].push_back(byte_of(index_, m, at));
      requests.push_back(ucp_tag_send_nbx(ep_, out[m].data(), out[m].size(), m, &param));
    }
    for (ucs_status_ptr_t request : requests) wait(request);
    for (unsigned m = 0; m < kMessages; ++m) {
      for (size_t at = 0; at < in[m].size(); ++at) wrong += in[m][at] != byte_of(before, m, at);
    }
  }

  void close() {
    if (ep_ != nullptr) {
      const ucp_request_param_t param = {};
      const ucs_status_ptr_t request = ucp_ep_close_nbx(ep_, &param);
      // The other side may have closed first, of which raw transports complain.
      while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS)
        progress();
      if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  void wait(ucs_status_ptr_t request) {
    if (!UCS_PTR_IS_PTR(request)) {
      (void)good(UCS_PTR_STATUS(request), "a request");
      return;
    }
    ucs_status_t status;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) progress();
    (void)good(status, "a request");
    ucp_request_free(request);
  }

  Ring& ring_;
  unsigned index_;
  ucs_thread_mode_t mode_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
};

// The first thread has progressed all of them, and goes on with its own while the others begin.
void run_given(Ring& ring, unsigned threads, ucs_thread_mode_t mode) {
  std::vector<std::unique_ptr<Member>> members;
  bool opened = true;
  for (unsigned i = 0; i < threads; ++i)
    opened = members.emplace_back(std::make_unique<Member>(ring, i, mode))->open() && opened;
  for (auto& member : members) opened = opened && member->connect();
  for (unsigned n = 0; n < 1000; ++n) {
    for (auto& member : members) member->progress();
  }
  std::vector<std::thread> others;
  for (unsigned i = 1; opened && i < threads; ++i) {
    others.emplace_back([&members, i] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * i));
      members[i]->run_given();
    });
  }
  if (opened) members[0]->run_given();
  for (std::thread& thread : others) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 4;
  const unsigned rounds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 5;
  const bool serialized = argc > 3 && std::strcmp(argv[3], "serialized") == 0;
  const bool given = serialized || (argc > 3 && std::strcmp(argv[3], "given") == 0);
  for (unsigned round = 0; round < rounds; ++round) {
    Ring ring(threads);
    if (given) {
      run_given(ring, threads, serialized ? UCS_THREAD_MODE_SERIALIZED : UCS_THREAD_MODE_SINGLE);
      continue;
    }
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) all.emplace_back([&ring, i] { Member(ring, i).run(); });
    for (std::thread& thread : all) thread.join();
  }
  std::printf("threads %u rounds %u wrong %u\n", threads, rounds, wrong.load());
  return wrong == 0 ? 0 : 1;
}
