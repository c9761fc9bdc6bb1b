// SPDX-License-Identifier: BSD-3-Clause
//
// Structures under way over MPI.
//
// A structure is several messages of one communicator, source and tag, so MPI's own order gives
// each message to the right receive only when structures do not mix. All requests that have
// messages left stand in one line, in the order in which they were started:
//
// - A send posts its first message when every earlier send to its destination and tag has posted
//   its last one.
// - A message that is found goes to the first receive in the line that matches it, whichever
//   request was being tested. From its first message on, a receive matches that source and tag
//   alone.
//
// What is sent to MPI_PROC_NULL or received from it stands in no line: it has ended.
//
// Each test takes others in the line further as well: a peer may wait for one of them before it
// serves the one that is tested.
#ifndef VERITY_AUTOLINK_MPI_REQUESTS_H
#define VERITY_AUTOLINK_MPI_REQUESTS_H

#include <atomic>
#include <list>
#include <memory>
#include <vector>

#include "autolink/mpi_messages.h"

// Either side of a structure under way.
struct verity_autolink_request {
  enum class Side { kSending, kReceiving };

  verity_autolink_request(const verity_autolink_request&) = delete;
  verity_autolink_request& operator=(const verity_autolink_request&) = delete;
  virtual ~verity_autolink_request() = default;

  // True: it has ended. Throws the error that ended it.
  bool test();

 protected:
  verity_autolink_request(Side side, int peer, int tag, MPI_Comm comm)
      : side_(side), peer_(peer), tag_(tag), comm_(comm) {}
  // The last thing of a constructor, and the first of a destructor: another thread may take what is
  // in the line further.
  void enter();
  void leave() noexcept;
  [[nodiscard]] bool is_in_line() const noexcept { return is_in_line_; }
  // Its messages go as far as they can. Leaves the line behind the last one, and at an error.
  void progress() noexcept;
  void fail(int code) noexcept;

  // The first in the line, of this side and communicator, for which `is` holds; or nullptr.
  template <typename Is>
  verity_autolink_request* first_that(Is&& is) const {
    for (verity_autolink_request* one : line()) {
      if (one->side_ == side_ && one->comm_ == comm_ && !*one->is_freed_ && is(*one)) return one;
    }
    return nullptr;
  }

 private:
  // With messages left: see progress().
  virtual void advance() = 0;
  // What is left to do when all messages have been posted or received. True: nothing.
  virtual bool finish() = 0;
  // Makes verity_autolink_error() say why it failed: other calls came between.
  virtual void explain() noexcept {}

  static std::vector<verity_autolink_request*>& line();
  using Freed = std::shared_ptr<std::atomic<bool>>;
  static Freed watch(MPI_Comm comm);
  static int on_free(MPI_Comm comm, int keyval, void* value, void* extra);

  Side side_;
  bool is_in_line_ = false;
  Freed is_freed_;  // the communicator: its handle then names none, or another one
  int code_ = MPI_SUCCESS;

 protected:
  int peer_, tag_;
  MPI_Comm comm_;
};

namespace verity::autolink {

class Sending final : public verity_autolink_request {
 public:
  Sending(Source source, int dest, int tag, MPI_Comm comm);
  ~Sending() override;

 private:
  static constexpr size_t kInFlight = 4;  // packets of one structure
  struct Packet {
    std::vector<char> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void advance() override;
  bool finish() override;
  // Lets earlier sends to the same place go first. True: none has messages left.
  bool is_next();
  void release_sent();
  void send_next();

  Source source_;
  std::list<Packet> packets_;
};

class Receiving final : public verity_autolink_request {
 public:
  Receiving(Sink sink, int source, int tag, MPI_Comm comm, verity_autolink_structure** structure);
  ~Receiving() override;

  [[nodiscard]] const MPI_Status& status() const noexcept { return status_; }

 private:
  void advance() override;
  bool finish() override;
  void explain() noexcept override;
  [[nodiscard]] bool matches(int source, int tag) const noexcept;
  [[nodiscard]] bool overlaps(const Receiving& other) const noexcept;
  [[nodiscard]] Receiving* find_receiver(int* source_p, int* tag_p);
  bool receive(int source, int tag);
  bool begin_message(int source, int tag);

  Sink sink_;
  verity_autolink_structure** structure_;
  std::vector<char> bytes_;                 // of one message
  MPI_Request request_ = MPI_REQUEST_NULL;  // with which it comes
  MPI_Status status_{};
  int is_complete_ = 0;
  bool is_refused_ = false;  // what is in bytes_
};

// Blocks until it has ended.
void finish(verity_autolink_request& request);

}  // namespace verity::autolink

#endif
