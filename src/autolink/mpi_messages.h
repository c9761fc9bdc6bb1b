// SPDX-License-Identifier: BSD-3-Clause
//
// What the calls over MPI share: errors, ownership, and structures under way. By the C interface of
// autolink.h alone.
#ifndef VERITY_AUTOLINK_MPI_MESSAGES_H
#define VERITY_AUTOLINK_MPI_MESSAGES_H

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <list>
#include <memory>
#include <new>
#include <vector>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "ucx-verity/autolink_mpi.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Either side of a message under way.
struct verity_autolink_request {
  virtual ~verity_autolink_request() = default;
  // True: it has ended.
  virtual bool advance() = 0;
};

namespace verity::autolink {

struct MpiError {
  int code;
};
inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError{code};
}
// Of autolink.h's functions.
inline void check_link(int code) {
  if (code == ENOMEM) throw std::bad_alloc();
  if (code != 0) throw MpiError{MPI_ERR_TRUNCATE};
}

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    body();
    return MPI_SUCCESS;
  } catch (const MpiError& error) { return error.code; } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (...) { return MPI_ERR_INTERN; }
}

struct Free {
  void operator()(verity_autolink_source* source) const { verity_autolink_source_free(source); }
  void operator()(verity_autolink_sink* sink) const { verity_autolink_sink_free(sink); }
  void operator()(verity_autolink_structure* structure) const { verity_autolink_free(structure); }
  void operator()(void* memory) const { std::free(memory); }
};
using Source = std::unique_ptr<verity_autolink_source, Free>;
using Sink = std::unique_ptr<verity_autolink_sink, Free>;
using Block = std::unique_ptr<void, Free>;

inline void check_type(const verity_autolink_type* type) {
  if (type == nullptr || type->schema == nullptr) throw MpiError{MPI_ERR_ARG};
}

inline Source aggregate(const verity_autolink_type& type, const void* root, uint64_t count) {
  verity_autolink_source* source = nullptr;
  check_link(verity_autolink_aggregate(type.schema, type.type, root, root == nullptr ? 0 : count,
                                       type.options, &source));
  return Source(source);
}
inline Sink expand(const verity_autolink_type& type) {
  verity_autolink_sink* sink = nullptr;
  check_link(verity_autolink_expand(type.schema, type.type, type.options, &sink));
  return Sink(sink);
}
inline verity_autolink_structure* take(verity_autolink_sink* sink) {
  verity_autolink_structure* structure = nullptr;
  check_link(verity_autolink_take(sink, &structure));
  return structure;
}

inline int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size));
  return size;
}
inline int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  return rank;
}

inline constexpr size_t kInFlight = 4;  // packets of one structure

class Sending : public verity_autolink_request {
 public:
  Sending(Source source, int dest, int tag, MPI_Comm comm)
      : source_(std::move(source)), dest_(dest), tag_(tag), comm_(comm) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  // After an error: the buffers are MPI's until their sends have ended.
  ~Sending() override {
    for (Packet& packet : packets_) MPI_Wait(&packet.request, MPI_STATUS_IGNORE);
  }

  bool advance() override {
    while (!packets_.empty()) {
      int is_sent = 0;
      check(MPI_Test(&packets_.front().request, &is_sent, MPI_STATUS_IGNORE));
      if (is_sent == 0) break;
      packets_.pop_front();
    }
    while (!at_end_ && packets_.size() < kInFlight) send_next();
    return at_end_ && packets_.empty();
  }

 private:
  struct Packet {
    std::vector<char> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send_next() {
    const void* data = nullptr;
    size_t size = 0;
    check_link(verity_autolink_next(source_.get(), &data, &size));
    at_end_ = data == nullptr;
    if (at_end_) return;
    if (size > INT_MAX) throw MpiError{MPI_ERR_COUNT};
    Packet& packet = packets_.emplace_back();
    packet.bytes.assign(static_cast<const char*>(data), static_cast<const char*>(data) + size);
    check(MPI_Isend(packet.bytes.data(), static_cast<int>(size), MPI_BYTE, dest_, tag_, comm_,
                    &packet.request));
  }

  Source source_;
  int dest_, tag_;
  MPI_Comm comm_;
  std::list<Packet> packets_;
  bool at_end_ = false;
};

class Receiving : public verity_autolink_request {
 public:
  Receiving(Sink sink, int source, int tag, MPI_Comm comm, verity_autolink_structure** structure)
      : sink_(std::move(sink)), source_(source), tag_(tag), comm_(comm), structure_(structure) {}

  bool advance() override {
    for (;;) {
      int is_there = 0;
      MPI_Message message;
      check(MPI_Improbe(source_, tag_, comm_, &is_there, &message, &status_));
      if (is_there == 0) return false;
      receive(&message);
      if (!is_complete_) continue;
      *structure_ = take(sink_.get());
      return true;
    }
  }
  [[nodiscard]] const MPI_Status& status() const noexcept { return status_; }

 private:
  void receive(MPI_Message* message) {
    int size = 0;
    check(MPI_Get_count(&status_, MPI_BYTE, &size));
    bytes_.resize(static_cast<size_t>(size));
    check(MPI_Mrecv(bytes_.data(), size, MPI_BYTE, message, &status_));
    // The rest comes from where the first message came from.
    source_ = status_.MPI_SOURCE;
    tag_ = status_.MPI_TAG;
    check_link(verity_autolink_feed(sink_.get(), bytes_.data(), bytes_.size(), &is_complete_));
  }

  Sink sink_;
  int source_, tag_;
  MPI_Comm comm_;
  verity_autolink_structure** structure_;
  std::vector<char> bytes_;
  MPI_Status status_{};
  int is_complete_ = 0;
};

// Blocks until it has ended.
void finish(verity_autolink_request& request);

}  // namespace verity::autolink

#endif
