// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_FAULT_OWNED_H
#define VERITY_TEST_FAULT_OWNED_H

#include <memory>

#include "fault/iface.h"

namespace verity::fault {

// A damaged copy that a zero-copy operation sends from: registered with the lower memory domain,
// released, and the caller's completion told, when the lower transport is done with it.
class OwnedBuffer {
 public:
  // `comp` may be null.
  [[nodiscard]] static ucs_status_t make(FaultEp& ep, Bytes bytes, uct_completion_t* comp,
                                         std::unique_ptr<OwnedBuffer>* buffer_p);
  ~OwnedBuffer();

  [[nodiscard]] Bytes& bytes() noexcept { return bytes_; }
  [[nodiscard]] uct_completion_t* completion() noexcept { return &completion_; }
  // The bytes from `offset` on.
  [[nodiscard]] uct_iov_t iov(size_t offset) noexcept;

  // `status` is what the lower operation returned: in progress, the buffer lives on by itself.
  static ucs_status_t posted(std::unique_ptr<OwnedBuffer> buffer, ucs_status_t status) noexcept;

 private:
  explicit OwnedBuffer(Bytes bytes) : bytes_(std::move(bytes)) {}
  static void done(uct_completion_t* completion) noexcept;

  uct_completion_t completion_{};
  Bytes bytes_;
  uct_md_h md_ = nullptr;
  uct_mem_h memh_ = nullptr;
  uct_completion_t* user_ = nullptr;
};

}  // namespace verity::fault

#endif
