// SPDX-License-Identifier: BSD-3-Clause
#include "autolink/places.h"

#include <algorithm>
#include <bit>
#include <new>

namespace verity::autolink {

Places::Places(uint64_t size, uint64_t granule) noexcept
    : granule_(granule),
      shift_(static_cast<unsigned>(std::countr_zero(granule))),
      stride_(size / granule) {}

// Makes the hash table anew.
void Places::index(size_t slots) {
  slots_.assign(slots, 0);
  for (size_t i = 0; i < pages_.size(); ++i)
    slots_[slot_of(pages_[i].key)] = static_cast<uint32_t>(i) + 1;
}

Places::Page& Places::find_or_make_page(uint64_t key) {
  if (pages_.size() * 2 >= slots_.size()) index(std::max<size_t>(slots_.size() * 2, 16));
  uint32_t& place = slots_[slot_of(key)];
  if (place == 0) {
    if (pages_.size() == UINT32_MAX) throw std::bad_alloc();
    pages_.emplace_back().key = key;
    place = static_cast<uint32_t>(pages_.size());
  }
  last_ = place - 1;
  return pages_[last_];
}

void Places::add_run(const void* address, uint64_t count) {
  if (stride_ != 1) {
    const auto* begin = static_cast<const uint8_t*>(address);
    for (uint64_t i = 0; i < count; ++i) add(begin + i * (stride_ << shift_));
    return;
  }
  for (uint64_t unit = number_of(address) >> shift_; count != 0;) {
    const uint64_t n = std::min(count, 64 - unit % 64);
    const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << unit % 64;
    uint64_t& word = page_of(unit / kBits).bits[unit % kBits / 64];
    count_ += ones(mask & ~word);
    word |= mask;
    unit += n;
    count -= n;
  }
}

void Places::remove(const void* address) noexcept {
  const uint64_t unit = number_of(address) >> shift_;
  pages_[slots_[slot_of(unit / kBits)] - 1].bits[unit % kBits / 64] &= ~(uint64_t{1} << unit % 64);
  --count_;
}

void Places::sort() {
  const auto is_before = [](const Page& a, const Page& b) { return a.key < b.key; };
  if (std::is_sorted(pages_.begin(), pages_.end(), is_before)) return;
  std::sort(pages_.begin(), pages_.end(), is_before);
  index(slots_.size());
}

bool Places::seek(Cursor* cursor_p) const noexcept {
  for (; cursor_p->page < pages_.size(); ++cursor_p->page, cursor_p->bit = 0) {
    const Page& page = pages_[cursor_p->page];
    for (unsigned bit = cursor_p->bit; bit < kBits; bit = bit / 64 * 64 + 64) {
      const uint64_t rest = page.bits[bit / 64] >> bit % 64;
      if (rest == 0) continue;
      cursor_p->bit = bit + static_cast<unsigned>(std::countr_zero(rest));
      return true;
    }
  }
  return false;
}

bool Places::overlaps() const noexcept {
  if (stride_ == 1) return false;
  Cursor cursor;
  const uint8_t* end = nullptr;
  for (; seek(&cursor); ++cursor.bit) {
    const uint8_t* begin = address_of(pages_[cursor.page], cursor.bit);
    if (begin < end) return true;
    end = begin + (stride_ << shift_);
  }
  return false;
}

// Elements of one granule: word by word.
uint64_t Places::dense(Cursor* cursor_p, uint64_t most) const noexcept {
  uint64_t count = 0;
  while (cursor_p->page < pages_.size()) {
    const Page& page = pages_[cursor_p->page];
    while (cursor_p->bit < kBits) {
      const unsigned at = cursor_p->bit % 64;
      const auto n = std::min<uint64_t>(
          static_cast<unsigned>(std::countr_one(page.bits[cursor_p->bit / 64] >> at)),
          most - count);
      count += n;
      cursor_p->bit += static_cast<unsigned>(n);
      if (n < 64 - at) return count;
    }
    if (cursor_p->page + 1 == pages_.size() || pages_[cursor_p->page + 1].key != page.key + 1)
      break;
    *cursor_p = {cursor_p->page + 1, 0};
  }
  return count;
}

Run Places::next(Cursor* cursor_p, uint64_t most) const noexcept {
  Run run;
  if (most == 0 || !seek(cursor_p)) return run;
  run.begin = address_of(pages_[cursor_p->page], cursor_p->bit);
  if (stride_ == 1) {
    run.count = dense(cursor_p, most);
    return run;
  }
  const uint8_t* end = run.begin;
  do {
    end += stride_ << shift_;
    ++cursor_p->bit;
  } while (++run.count < most && seek(cursor_p) &&
           address_of(pages_[cursor_p->page], cursor_p->bit) == end);
  return run;
}

void Places::number() noexcept {
  uint64_t first = 0;
  for (Page& page : pages_) {
    page.first = first;
    uint16_t before = 0;
    for (unsigned word = 0; word < kWords; ++word) {
      page.before[word] = before;
      before = static_cast<uint16_t>(before + ones(page.bits[word]));
    }
    first += before;
  }
}

const uint8_t* Places::last_until(const void* address) const noexcept {
  const uint64_t unit = number_of(address) >> shift_;
  auto page = std::upper_bound(pages_.begin(), pages_.end(), unit / kBits,
                               [](uint64_t key, const Page& p) { return key < p.key; });
  for (; page != pages_.begin(); --page) {
    const Page& at = *(page - 1);
    const uint64_t most = at.key == unit / kBits ? unit % kBits : kBits - 1;
    for (unsigned word = static_cast<unsigned>(most / 64) + 1; word-- > 0;) {
      const uint64_t kept =
          word == most / 64 ? at.bits[word] << (63 - most % 64) >> (63 - most % 64) : at.bits[word];
      if (kept != 0)
        return address_of(at, word * 64 + 63 - static_cast<unsigned>(std::countl_zero(kept)));
    }
  }
  return nullptr;
}

}  // namespace verity::autolink
