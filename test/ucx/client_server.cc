// SPDX-License-Identifier: BSD-3-Clause
//
// A client and a server that know each other by a socket's address alone (a listener of UCP's,
// whose connection manager is the lower transport's), and messages of both directions between them.
//   client_server    prints "client_server: N messages"; otherwise what failed
#include <arpa/inet.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr unsigned kMessages = 50;
constexpr size_t kSizes[] = {3000, 200000, 8};
constexpr unsigned kSeconds = 30;

void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::fprintf(stderr, "client_server: %s: %s\n", what, ucs_status_string(status));
  std::exit(1);
}

class Side {
 public:
  Side() {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    check(ucp_init(&params, nullptr, &context_), "ucp_init");
    ucp_worker_params_t worker{};
    check(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create");
  }
  ~Side() {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  [[nodiscard]] ucp_worker_h worker() const { return worker_; }

  void wait(ucs_status_ptr_t request, const char* what) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), what);
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    check(ucp_request_check_status(request), what);
    ucp_request_free(request);
  }

  ucp_ep_h open(ucp_ep_params_t params) {
    params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t status) {
      if (!over_) check(status, "endpoint");
    };
    ucp_ep_h ep = nullptr;
    check(ucp_ep_create(worker_, &params, &ep), "ucp_ep_create");
    return ep;
  }

  void send(ucp_ep_h ep, const std::vector<char>& data) {
    ucp_request_param_t param{};
    wait(ucp_tag_send_nbx(ep, data.data(), data.size(), 1, &param), "send");
  }
  void receive(std::vector<char>* data) {
    ucp_request_param_t param{};
    wait(ucp_tag_recv_nbx(worker_, data->data(), data->size(), 1, ~0ULL, &param), "receive");
  }

  void exchange(ucp_ep_h ep, bool first) {
    for (unsigned i = 0; i < kMessages; ++i) {
      for (const size_t size : kSizes) {
        const std::vector<char> wanted(size, static_cast<char>(i + 1));
        std::vector<char> got(size);
        if (first) send(ep, wanted);
        receive(&got);
        if (!first) send(ep, wanted);
        if (got != wanted) {
          std::fprintf(stderr, "client_server: message %u of %zu bytes is wrong\n", i, size);
          std::exit(1);
        }
      }
    }
    over_ = true;
    // Either side may have ended before the other's flush.
    ucp_request_param_t param{};
    const ucs_status_ptr_t request = ucp_ep_flush_nbx(ep, &param);
    if (!UCS_PTR_IS_PTR(request)) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(request);
  }

 private:
  static inline bool over_ = false;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
};

int serve(int tell) {
  Side side;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ucp_conn_request_h request = nullptr;
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = {reinterpret_cast<const sockaddr*>(&address), sizeof(address)};
  params.conn_handler.cb = [](ucp_conn_request_h made, void* arg) {
    *static_cast<ucp_conn_request_h*>(arg) = made;
  };
  params.conn_handler.arg = &request;
  ucp_listener_h listener = nullptr;
  check(ucp_listener_create(side.worker(), &params, &listener), "ucp_listener_create");
  ucp_listener_attr_t attr{};
  attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  check(ucp_listener_query(listener, &attr), "ucp_listener_query");
  const in_port_t port = reinterpret_cast<const sockaddr_in*>(&attr.sockaddr)->sin_port;
  if (::write(tell, &port, sizeof(port)) != sizeof(port)) return 1;
  while (request == nullptr) ucp_worker_progress(side.worker());
  ucp_ep_params_t ep{};
  ep.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
  ep.conn_request = request;
  side.exchange(side.open(ep), false);
  ucp_listener_destroy(listener);
  return 0;
}

int connect_to(int told) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::read(told, &address.sin_port, sizeof(address.sin_port)) != sizeof(address.sin_port))
    return 1;
  Side side;
  ucp_ep_params_t ep{};
  ep.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  ep.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  ep.sockaddr = {reinterpret_cast<const sockaddr*>(&address), sizeof(address)};
  side.exchange(side.open(ep), true);
  std::printf("client_server: %zu messages\n", 2 * kMessages * std::size(kSizes));
  return 0;
}

}  // namespace

// In an environment where $CLIENT_SERVER_RAW is "client" or "server", that side unsets the plugin's
// variables: the parent forks and executes itself.
int main(int argc, char** argv) {
  alarm(kSeconds);
  if (argc == 3)
    return argv[1][0] == 's' ? serve(std::atoi(argv[2])) : connect_to(std::atoi(argv[2]));
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  const char* raw = std::getenv("CLIENT_SERVER_RAW");
  pid_t child[2];
  for (int i = 0; i < 2; ++i) {
    const char* name = i == 0 ? "server" : "client";
    child[i] = ::fork();
    if (child[i] != 0) continue;
    if (raw != nullptr && std::strcmp(raw, name) == 0) {
      for (const char* variable : {"LD_PRELOAD", "UCX_MODULE_DIR", "UCX_PLUGIN_PATH"})
        ::unsetenv(variable);
    }
    const std::string end = std::to_string(ends[i == 0 ? 1 : 0]);
    ::close(ends[i]);
    ::execl("/proc/self/exe", argv[0], name, end.c_str(), nullptr);
    std::_Exit(127);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  bool right = true;
  for (const pid_t pid : child) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (status != 0)
      std::printf("client_server: %s ended with status 0x%x\n",
                  pid == child[0] ? "server" : "client", status);
    right &= status == 0;
  }
  return right ? 0 : 1;
}
