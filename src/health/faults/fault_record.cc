// SPDX-License-Identifier: BSD-3-Clause
#include "health/faults/fault_record.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "health/text.h"

namespace verity::health {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Keys and values of one JSON object.
class Object {
 public:
  void raw(std::string_view key, std::string_view value) {
    if (text_.size() > 1) text_ += ',';
    text_ += json_string(key);
    text_ += ':';
    text_ += value;
  }
  void add(std::string_view key, std::uint64_t value) { raw(key, std::to_string(value)); }
  void add(std::string_view key, std::string_view value) { raw(key, json_string(value)); }
  void add_known(std::string_view key, std::string_view value) {
    raw(key, value.empty() ? "null" : json_string(value));
  }
  [[nodiscard]] std::string done() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

void add_who(Object& object, std::string_view event, std::int64_t time_ns, const Identity& who) {
  object.add("event", event);
  object.add("schema", static_cast<std::uint64_t>(kFaultSchema));
  object.add("time", utc_text(time_ns));
  object.add("host", who.host);
  object.add("pid", static_cast<std::uint64_t>(who.pid));
  object.add_known("rank", who.rank);
  object.add("program", who.program);
  object.add_known("job", who.job);
  object.add_known("step", who.step);
}

std::string syndrome_json(const Syndrome& s) {
  Object object;
  object.add("pattern", name_of(s.pattern));
  object.add("again", name_of(s.again));
  object.add("compared", s.compared);
  object.add("bytes", s.bytes);
  object.add("bits", s.bits);
  object.add("first", s.first);
  object.add("last", s.last);
  if (s.pattern == Pattern::kShifted) object.raw("shift", std::to_string(s.shift));
  std::string positions = "[";
  for (unsigned i = 0; i < s.positions; ++i)
    positions += (i == 0 ? "" : ",") + std::to_string(s.bit[i]);
  object.raw("positions", positions + "]");
  return object.done();
}

// A value of key=value text: nothing that a reader of logs would take for the next key or line.
std::string word(std::string_view text) {
  std::string out(text.empty() ? "unknown" : text.substr(0, 64));
  for (char& c : out) {
    if (c <= ' ' || c == '"' || c == '=' || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return out;
}

}  // namespace

// 64 bits are more than a JSON number holds everywhere.
std::string interface_text(std::uint64_t id) {
  if (id == 0) return {};
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016" PRIx64, id);
  return text.data();
}

std::string utc_text(std::int64_t time_ns) {
  const std::int64_t floor = time_ns / kSecond - (time_ns % kSecond < 0);
  const std::time_t seconds = floor;
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "1970-01-01T00:00:00.000000Z";
  std::array<char, 80> date;
  std::array<char, 96> text;
  if (std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts) == 0) date[0] = '\0';
  std::snprintf(text.data(), text.size(), "%s.%06dZ", date.data(),
                static_cast<int>((time_ns % kSecond + kSecond) % kSecond / 1000));
  return text.data();
}

std::string render_json(const FaultRecord& r) {
  Object object;
  add_who(object, "fault", r.time_ns, r.who);
  object.add_known("peer_host", r.peer_host);
  object.add("transport", r.transport);
  object.add("device", r.device);
  if (!r.port.guid.empty()) object.add("port_guid", r.port.guid);
  if (r.port.lid != 0) object.add("lid", r.port.lid);
  if (!r.port.firmware.empty()) object.add("firmware", r.port.firmware);
  object.add_known("interface", interface_text(r.interface));
  object.add_known("peer", interface_text(r.peer));
  object.add("direction", r.sent ? "sent" : "received");
  object.add("operation", kOperationNames[static_cast<std::size_t>(r.operation)]);
  object.add("kind", info_of(r.kind).name);
  object.add("sequence", r.sequence);
  object.add("length", r.length);
  object.add("offset", r.offset);
  object.add("segment_size", r.segment_size);
  object.raw("segment", r.syndrome && r.segment_size != 0
                            ? std::to_string(r.syndrome->first / r.segment_size)
                            : "null");
  object.add("attempts", r.attempts);
  object.raw("syndrome", r.syndrome ? syndrome_json(*r.syndrome) : "null");
  if (r.injected) object.raw("injected", "true");
  if (r.dropped != 0) object.add("dropped", r.dropped);
  return object.done() + "\n";
}

std::string render_text(const FaultRecord& r) {
  std::string text = "kind=";
  text += info_of(r.kind).name;
  const auto add = [&](std::string_view key, std::string_view value) {
    text += ' ';
    text += key;
    text += '=';
    text += word(value);
  };
  add("host", r.who.host);
  add("peer_host", r.peer_host);
  if (!r.who.job.empty()) add("job", r.who.job + (r.who.step.empty() ? "" : "." + r.who.step));
  add("transport", r.transport);
  add("device", r.device);
  if (!r.port.guid.empty()) add("port_guid", r.port.guid);
  add("direction", r.sent ? "sent" : "received");
  add("operation", kOperationNames[static_cast<std::size_t>(r.operation)]);
  add("sequence", std::to_string(r.sequence));
  add("length", std::to_string(r.length));
  add("attempts", std::to_string(r.attempts));
  if (r.syndrome) {
    add("pattern", name_of(r.syndrome->pattern));
    add("bits", std::to_string(r.syndrome->bits));
    add("first", std::to_string(r.syndrome->first));
    add("again", name_of(r.syndrome->again));
  }
  if (r.injected) add("injected", "yes");
  if (r.dropped != 0) add("dropped", std::to_string(r.dropped));
  return text;
}

std::string render_dropped(const Identity& who, std::int64_t time_ns, std::uint64_t dropped) {
  Object object;
  add_who(object, "faults_dropped", time_ns, who);
  object.add("dropped", dropped);
  return object.done() + "\n";
}

bool FaultBudget::take(std::int64_t now_ns) noexcept {
  // Whatever the clock said before it went back, the next interval begins now.
  if (!started_ || now_ns < filled_at_) filled_at_ = now_ns;
  started_ = true;
  if (now_ns > filled_at_ && interval_ != 0) {
    const std::uint64_t more = static_cast<std::uint64_t>(now_ns - filled_at_) / interval_;
    tokens_ = more >= burst_ - tokens_ ? burst_ : tokens_ + more;
    filled_at_ += static_cast<std::int64_t>(more * interval_);
  }
  if (tokens_ == 0 || left_ == 0) return false;
  --tokens_;
  --left_;
  return true;
}

}  // namespace verity::health
