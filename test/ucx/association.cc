// SPDX-License-Identifier: BSD-3-Clause
//
// Does each receive learn the signature of the very message that it got? Processes send each other
// messages whose first bytes say which they are, and attach to each a signature that says the same;
// receives with all kinds of wildcards, removing probes, cancelled, truncated and given up ones,
// messages without a signature and internal ones between them, several threads.
//
//   association [-p PROCESSES] [-t THREADS] [-n MESSAGES per thread] [-s SEED] [-m MIX] [-r
//   TRANSPORTS]
//
// MIX says what there is most of: all (a bit of each), wildcards, cancels, probes, freed or own
// requests of sends, or restarts, where sends and receives are done again with the same buffers,
// tags and lengths, as persistent requests are. With -r every second process has
// UCX_TLS=TRANSPORTS, so that wrapped and unwrapped peers talk to one another.
//
// The UCP calls of this program are those of libverity_mpi, linked in. UCX_TLS must name wrapped
// transports. Prints 'messages N reported N unreported N wrong N' (unreported: signed, but not
// certain); exit status 1 when any was wrong.
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "association.h"
#include "own_requests.h"

namespace {

using verity::mpi::attachments;
using namespace verity::test;  // NOLINT: one program in two files

class Process {
 public:
  Process(const Options& options, Shared& shared, unsigned me)
      : options_(options), shared_(shared), me_(me) {
    verity::mpi::enable_ucp_calls(options.threads > 1);
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    check(ucp_init(&params, nullptr, &context_), "ucp_init");
    ucp_worker_params_t worker = {};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = options.threads > 1 ? UCS_THREAD_MODE_MULTI : UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create");
    ucp_address_t* address;
    size_t length;
    check(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
    if (length > sizeof(shared.address[0])) die("address", UCS_ERR_BUFFER_TOO_SMALL);
    std::memcpy(shared.address[me], address, length);
    ucp_worker_release_address(worker_, address);
    barrier(0);
    for (unsigned peer = 0; peer < options.processes; ++peer) {
      ucp_ep_params_t ep = {};
      ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
      ep.address = reinterpret_cast<const ucp_address_t*>(shared.address[peer]);
      check(ucp_ep_create(worker_, &ep, &eps_[peer]), "ucp_ep_create");
    }
  }

  void run() {
    std::vector<std::thread> threads;
    for (unsigned t = 1; t < options_.threads; ++t) threads.emplace_back([this, t] { work(t); });
    work(0);
    for (auto& thread : threads) thread.join();
    barrier(2);
    for (unsigned peer = 0; peer < options_.processes; ++peer) {
      ucp_request_param_t param = {};
      ucs_status_ptr_t request = ucp_ep_close_nbx(eps_[peer], &param);
      while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(worker_);
      if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
    barrier(3);
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

 private:
  // Progresses while it waits.
  void barrier(unsigned which) {
    shared_.arrived[which]++;
    while (shared_.arrived[which] < options_.processes) {
      if (worker_ != nullptr) ucp_worker_progress(worker_);
    }
  }

  struct Thread {
    unsigned id;
    std::mt19937_64 dice;
    uint64_t sent = 0;
    std::list<Sending> sends;
    std::list<std::unique_ptr<Receiving>> receives;  // under way
    std::list<std::unique_ptr<Receiving>> finished;  // complete, perhaps not reported yet
    std::list<Sending> sends_again;                  // to be started again
    std::list<std::unique_ptr<Receiving>> receives_again;
    struct Probed {
      ucp_tag_message_h message;
      size_t length;
    };
    std::list<Probed> probed;
    OwnRequests own;
  };

  void work(unsigned id) {
    Thread thread{id, std::mt19937_64(options_.seed * 1000 + me_ * 50 + id),
                  0,  {},
                  {}, {},
                  {}, {},
                  {}, OwnRequests(context_)};
    while (thread.sent < options_.messages) {
      if (thread.sends.size() < 64) send(thread);
      receive(thread);
      tidy(thread);
      if (thread.dice() % 3 == 0) ucp_worker_progress(worker_);
    }
    shared_.done_sending++;
    const unsigned everybody = options_.processes * options_.threads;
    while (shared_.done_sending < everybody || got_ < shared_.sent[me_]) {
      receive(thread);
      tidy(thread);
      ucp_worker_progress(worker_);
    }
    for (auto& receiving : thread.receives) {
      if (receiving->request != nullptr) ucp_request_cancel(worker_, receiving->request);
    }
    while (!thread.receives.empty() || !thread.sends.empty() || !thread.finished.empty()) {
      ucp_worker_progress(worker_);
      tidy(thread);
    }
  }

  bool one_in_100(Thread& thread, unsigned of) { return thread.dice() % 100 < of; }

  Sending next_send(Thread& thread) {
    auto& dice = thread.dice;
    if (!thread.sends_again.empty() && one_in_100(thread, options_.mix->restarted)) {
      Sending again = std::move(thread.sends_again.front());
      thread.sends_again.pop_front();
      return again;
    }
    const unsigned peer = dice() % options_.processes, kind = dice() % 32;
    const size_t length = 8 + (kind == 0  ? dice() % (kLongest - 8)
                               : kind < 6 ? dice() % 12000
                                          : dice() % 100);
    return {std::vector<uint8_t>(length), peer,
            (dice() % 8 == 0 ? kInternal : 0) | uint64_t{me_} << 32 | dice() % 3};
  }

  void send(Thread& thread) {
    Sending sending = next_send(thread);
    const bool is_signed = (sending.tag & kInternal) == 0 && thread.dice() % 10 != 0;
    const uint64_t number = number_of(me_, thread.id, thread.sent++, is_signed);
    std::memcpy(sending.buffer.data(), &number, sizeof(number));
    uint8_t signature[kSignature] = {};
    std::memcpy(signature, &number, sizeof(number));
    static constexpr verity::mpi::TagFilter kUsers{0, kInternal};
    verity::mpi::SendAttachment attachment = {.filter = &kUsers,
                                              .tail = signature + sizeof(attachment.head),
                                              .length = is_signed ? kSignature : 0,
                                              .caller = {}};
    std::memcpy(attachment.head, signature, sizeof(attachment.head));
    attachments.send = &attachment;
    shared_.sent[sending.peer]++;
    ucp_request_param_t param = {};
    sending.own = one_in_100(thread, options_.mix->own) && thread.own.take(thread.dice, &param);
    const auto call = thread.dice() % 10 == 0 ? ucp_tag_send_sync_nbx : ucp_tag_send_nbx;
    const ucs_status_ptr_t request =
        call(eps_[sending.peer], sending.buffer.data(), sending.buffer.size(), sending.tag, &param);
    attachments.send = nullptr;
    if (UCS_PTR_IS_ERR(request)) die("send", UCS_PTR_STATUS(request));
    sending.request = request;
    if (sending.own && request == nullptr) thread.own.give_back(param.request);
    (request != nullptr ? thread.sends : thread.sends_again).push_back(std::move(sending));
  }

  std::unique_ptr<Receiving> next_receive(Thread& thread) {
    auto& dice = thread.dice;
    // One at least takes anything, or all could wait for what has been sent already.
    const bool anything = thread.receives.empty();
    if (!anything && !thread.receives_again.empty() &&
        one_in_100(thread, options_.mix->restarted)) {
      auto again = std::move(thread.receives_again.front());
      thread.receives_again.pop_front();
      again->begin();
      return again;
    }
    static constexpr uint64_t kMasks[] = {
        kInternal | 0xff, kInternal | 0xffffffff00000000, kInternal, 0, kExact, kExact, kExact};
    auto receiving = std::make_unique<Receiving>();
    receiving->mask = anything ? 0 : kMasks[dice() % (options_.mix->exact ? 7 : 4)];
    receiving->tag =
        (dice() % 8 == 0 ? kInternal : 0) | dice() % options_.processes << 32 | dice() % 3;
    receiving->buffer.resize(dice() % 40 == 0 ? 64 : kLongest);
    return receiving;
  }

  void receive(Thread& thread) {
    while (thread.receives.size() < kOutstanding) {
      if (one_in_100(thread, options_.mix->probes) && probe(thread)) continue;
      auto receiving = next_receive(thread);
      const verity::mpi::TagFilter any{
          receiving->tag & 1, 1};  // whatever the tag: nothing is reported of internal messages
      attachments.receive = {&any, receiving.get()};
      ucp_request_param_t param = {};
      param.op_attr_mask =
          UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
      param.cb.recv = on_receive;
      param.user_data = receiving.get();
      const ucs_status_ptr_t request =
          ucp_tag_recv_nbx(worker_, receiving->buffer.data(), receiving->buffer.size(),
                           receiving->tag, receiving->mask, &param);
      attachments.receive = {};
      if (UCS_PTR_IS_ERR(request)) die("receive", UCS_PTR_STATUS(request));
      receiving->request = request;
      thread.receives.push_back(std::move(receiving));
    }
    if (!one_in_100(thread, options_.mix->cancelling)) return;
    auto it = std::next(thread.receives.begin(),
                        static_cast<long>(thread.dice() % thread.receives.size()));
    ucp_request_cancel(worker_, (*it)->request);
    for (auto& receiving : thread.receives) {
      if (one_in_100(thread, options_.mix->cancelled))
        ucp_request_cancel(worker_, receiving->request);
    }
  }

  bool probe(Thread& thread) {
    ucp_tag_recv_info_t info;
    const ucp_tag_message_h message = ucp_tag_probe_nb(worker_, 0, 0, 1, &info);
    if (message != nullptr) thread.probed.push_back({message, info.length});
    if (thread.probed.empty() || (message != nullptr && thread.dice() % 2 == 0))
      return message != nullptr;
    const auto probed = thread.probed.front();
    thread.probed.pop_front();
    auto receiving = std::make_unique<Receiving>();
    receiving->buffer.resize(kLongest);
    receiving->probed = true;
    attachments.receive = {{}, receiving.get()};
    ucp_request_param_t param = {};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv = on_receive;
    param.user_data = receiving.get();
    const ucs_status_ptr_t request = ucp_tag_msg_recv_nbx(
        worker_, receiving->buffer.data(), receiving->buffer.size(), probed.message, &param);
    attachments.receive = {};
    if (UCS_PTR_IS_ERR(request)) die("message receive", UCS_PTR_STATUS(request));
    receiving->request = request;
    thread.receives.push_back(std::move(receiving));
    return true;
  }

  static void on_receive(void*, ucs_status_t status, const ucp_tag_recv_info_t*, void* argument) {
    auto& receiving = *static_cast<Receiving*>(argument);
    if (status == UCS_OK)
      std::memcpy(&receiving.number, receiving.buffer.data(), sizeof(receiving.number));
    std::atomic_ref(receiving.status).store(status);
  }

  void tidy(Thread& thread) {
    for (auto it = thread.sends.begin(); it != thread.sends.end();) {
      const ucs_status_t status = OwnRequests::status(thread.dice, *it);
      if (status == UCS_INPROGRESS && (it->own || !one_in_100(thread, options_.mix->freed))) {
        ++it;
        continue;
      }
      if (status == UCS_INPROGRESS) {  // no callback when it is complete
        (thread.dice() % 2 == 0 ? ucp_request_free : ucp_request_release)(it->request);
        const std::lock_guard lock(freed_mutex_);
        freed_.push_back(std::move(*it));
        it = thread.sends.erase(it);
        continue;
      }
      check(status, "send");
      thread.own.end(*it, thread.dice() % 2 == 0 ? ucp_request_free : ucp_request_release);
      thread.sends_again.push_back(std::move(*it));
      it = thread.sends.erase(it);
    }
    for (auto it = thread.receives.begin(); it != thread.receives.end();) {
      Receiving& receiving = **it;
      const ucs_status_t status = std::atomic_ref(receiving.status).load();
      if (status == UCS_INPROGRESS || receiving.request == nullptr) {
        ++it;
        continue;
      }
      ucp_request_free(receiving.request);
      if (status != UCS_ERR_CANCELED) ++got_;
      thread.finished.push_back(std::move(*it));
      it = thread.receives.erase(it);
    }
    for (auto it = thread.finished.begin(); it != thread.finished.end();) {
      if (!(*it)->reported) {
        ++it;
        continue;
      }
      judge(**it);
      if (!(*it)->probed) thread.receives_again.push_back(std::move(*it));
      it = thread.finished.erase(it);
    }
    keep_few(thread.sends_again);
    keep_few(thread.receives_again);
  }

  // What is to be started again, as far as this mix does so.
  template <typename List>
  void keep_few(List& list) {
    while (list.size() > (options_.mix->restarted != 0 ? kOutstanding : 0)) list.pop_front();
  }

  void judge(const Receiving& receiving) {
    Totals& totals = shared_.totals;
    if (receiving.status == UCS_ERR_CANCELED) {
      totals.wrong += receiving.signed_number != 0;
      return;
    }
    ++totals.messages;
    const bool is_signed = (receiving.number >> 60) != 0;
    if (receiving.status == UCS_ERR_MESSAGE_TRUNCATED)
      return;  // its buffer does not say which it was
    if (receiving.signed_number == 0) {
      totals.unreported += is_signed;
    } else if (receiving.signed_number == receiving.number && is_signed) {
      ++totals.reported;
    } else {
      ++totals.wrong;
    }
  }

  const Options& options_;
  Shared& shared_;
  unsigned me_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h eps_[kMostProcesses];
  std::atomic<uint64_t> got_{0};
  std::mutex freed_mutex_;
  std::list<Sending> freed_;  // sends whose request was freed; their buffers are kept to the end
};

int run(const Options& options) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto& shared = *new (memory) Shared{};
  std::vector<pid_t> pids;
  for (unsigned i = 0; i < options.processes; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      if (options.raw != nullptr && i % 2 == 1) setenv("UCX_TLS", options.raw, 1);
      Process(options, shared, i).run();
      std::exit(0);
    }
    pids.push_back(pid);
  }
  int worst = 0;
  for (const pid_t pid : pids) {
    int status;
    waitpid(pid, &status, 0);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  const Totals& totals = shared.totals;
  std::printf("messages %lu reported %lu unreported %lu wrong %lu\n", totals.messages.load(),
              totals.reported.load(), totals.unreported.load(), totals.wrong.load());
  return worst != 0 ? worst : totals.wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int option; (option = getopt(argc, argv, "p:t:n:s:m:r:")) != -1;) {
    const uint64_t value = std::strtoull(optarg != nullptr ? optarg : "", nullptr, 10);
    switch (option) {
      case 'p':
        options.processes = static_cast<unsigned>(std::min<uint64_t>(value, kMostProcesses));
        break;
      case 't': options.threads = static_cast<unsigned>(value); break;
      case 'n': options.messages = value; break;
      case 's': options.seed = value; break;
      case 'm': options.mix = mix_named(optarg); break;
      case 'r': options.raw = optarg; break;
      default: options.mix = nullptr;
    }
  }
  if (options.mix == nullptr) {
    std::fprintf(stderr,
                 "usage: association [-p processes] [-t threads] [-n messages] [-s seed] [-m mix] "
                 "[-r transports]\n");
    return 2;
  }
  return run(options);
}
