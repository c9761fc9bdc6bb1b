// SPDX-License-Identifier: BSD-3-Clause
#include "fault/owned.h"

namespace verity::fault {

ucs_status_t OwnedBuffer::make(FaultEp& ep, Bytes bytes, uct_completion_t* comp,
                               std::unique_ptr<OwnedBuffer>* buffer_p) {
  std::unique_ptr<OwnedBuffer> buffer(new OwnedBuffer(std::move(bytes)));
  buffer->completion_ = {.func = done, .count = 1, .status = UCS_OK};
  buffer->user_ = comp;
  const uct::WrapMd& md = ep.iface().memory_domain();
  if (md.lower_registers() && !buffer->bytes_.empty()) {
    const ucs_status_t status =
        uct_md_mem_reg(md.lower(), buffer->bytes_.data(), buffer->bytes_.size(),
                       UCT_MD_MEM_ACCESS_RMA, &buffer->memh_);
    if (status != UCS_OK) { return status; }
    buffer->md_ = md.lower();
  }
  *buffer_p = std::move(buffer);
  return UCS_OK;
}

OwnedBuffer::~OwnedBuffer() {
  if (md_ != nullptr) { (void)uct_md_mem_dereg(md_, memh_); }
}

uct_iov_t OwnedBuffer::iov(size_t offset) noexcept {
  return {.buffer = bytes_.data() + offset,
          .length = bytes_.size() - offset,
          .memh = memh_,
          .stride = 0,
          .count = 1};
}

ucs_status_t OwnedBuffer::posted(std::unique_ptr<OwnedBuffer> buffer,
                                 ucs_status_t status) noexcept {
  if (status == UCS_INPROGRESS) {
    (void)buffer.release();  // done() takes it back
  }
  return status;
}

void OwnedBuffer::done(uct_completion_t* completion) noexcept {
  // The completion is the first member.
  const std::unique_ptr<OwnedBuffer> buffer(reinterpret_cast<OwnedBuffer*>(completion));
  if (buffer->user_ != nullptr) { uct::invoke_completion(buffer->user_, completion->status); }
}

}  // namespace verity::fault
