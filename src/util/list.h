// SPDX-License-Identifier: BSD-3-Clause
// Intrusive circular doubly linked list: no allocation, constant-time removal from any place.
#ifndef VERITY_UTIL_LIST_H
#define VERITY_UTIL_LIST_H

namespace verity::util {

// A node is either linked into exactly one list or points at itself. The list is itself a node.
struct ListNode {
  ListNode* prev = this;
  ListNode* next = this;

  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  [[nodiscard]] bool linked() const noexcept { return next != this; }

  void unlink() noexcept {
    prev->next = next;
    next->prev = prev;
    prev = next = this;
  }

  // Links `node`, which must be unlinked, in front of this one: at the tail when this is the list.
  void push_back(ListNode& node) noexcept {
    node.prev = prev;
    node.next = this;
    prev->next = &node;
    prev = &node;
  }
};

}  // namespace verity::util

// The object of type `type` whose member `member` (a ListNode) is `*node`.
#define VERITY_CONTAINER_OF(node, type, member) \
  reinterpret_cast<type*>(reinterpret_cast<char*>(node) - offsetof(type, member))

#endif
