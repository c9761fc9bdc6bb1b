// SPDX-License-Identifier: BSD-3-Clause
#include "blame/evidence.h"

#include <algorithm>

#include "health/process_id.h"
#include "wire/frame.h"

namespace verity::blame {

namespace {

Tally tally_of(const RecordedFault& fault) {
  Tally tally;
  tally.faults = 1;
  tally.again = fault.again;
  tally.kinds[static_cast<std::size_t>(fault.kind)] = 1;
  if (fault.has_syndrome) tally.patterns[static_cast<std::size_t>(fault.pattern)] = 1;
  return tally;
}

template <std::size_t n>
void sum_up(std::array<std::uint64_t, n>& sum, const std::array<std::uint64_t, n>& more) noexcept {
  for (std::size_t i = 0; i < n; ++i) sum[i] += more[i];
}

// The hosts by the names that peers have for them: the first part, and that cut to what travels.
// Empty where several have the same.
std::map<std::string, std::string> names_by_short(const std::map<std::string, HostData>& hosts) {
  std::map<std::string, std::string> names;
  for (const auto& [name, data] : hosts) {
    const std::string first = name.substr(0, name.find('.'));
    for (const std::string& form :
         std::set<std::string>{first, health::short_name(first, wire::kMaxHostName), name}) {
      const auto [place, is_new] = names.emplace(form, name);
      if (!is_new && place->second != name) place->second.clear();
    }
  }
  return names;
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) noexcept {
  faults += other.faults;
  again += other.again;
  sum_up(kinds, other.kinds);
  sum_up(patterns, other.patterns);
  return *this;
}

void Evidence::add(const Way& way, const Tally& tally) {
  ways[way] += tally;
  faults += tally.faults;
}

Evidence evidence_of(const health::FaultsByPath& paths, const UserFilter& wanted) {
  const std::string own = health::kThisHost;
  struct Within {
    Evidence found, resent;
  };
  Evidence evidence;
  std::map<std::uint32_t, Within> within;  // the host, by user
  const auto add = [](Evidence& to, const Way& way, std::uint64_t faults) {
    if (faults != 0) to.add(way, {.faults = faults});
  };
  for (const auto& [path, faults] : paths) {
    if (wanted && !wanted(path.user)) continue;
    const bool local = path.peer == own;
    const std::string device = health::path_name(path.transport, path.device);
    evidence.hosts[own].bytes += faults.bytes;
    if (!path.peer.empty() && faults.bytes + faults.in + faults.out != 0)
      evidence.hosts[path.peer].compared += faults.compared;
    add(evidence, {own, own, std::string(kMemory)}, faults.memory);
    add(local ? within[path.user].found : evidence, {path.peer, own, device}, faults.in);
    add(local ? within[path.user].resent : evidence, {own, path.peer, device}, faults.out);
  }
  for (const auto& [user, sums] : within) {
    for (const auto& [way, tally] : (sums.found.faults != 0 ? sums.found : sums.resent).ways)
      evidence.add(way, tally);
  }
  return evidence;
}

void EvidenceBuilder::note_time(const std::string& time) {
  if (time.empty()) return;
  if (sum_.first.empty() || time < sum_.first) sum_.first = time;
  sum_.last = std::max(sum_.last, time);
}

// The last one that is known: LIDs change when the fabric is set up anew.
void EvidenceBuilder::note_port(const RecordedFault& fault, const std::string& device) {
  if (!fault.port.known()) return;
  const std::pair key{fault.host, device};
  if (sum_.ports.size() < kMostInterfaces || sum_.ports.contains(key)) sum_.ports[key] = fault.port;
}

void EvidenceBuilder::add(const RecordedFault& fault) {
  if (fault.injected && !with_injected_) {
    ++sum_.injected;
    return;
  }
  const health::Blame whose = health::info_of(fault.kind).blame;
  note_time(fault.time);
  HostData& host = sum_.hosts[fault.host];
  add_interface(fault.interface, fault.host);
  if (whose == health::Blame::kProgram) {
    ++host.source_changed;
    ++sum_.source_changed;
    return;
  }
  if (whose == health::Blame::kUndecided) {
    ++sum_.ambiguous;
    return;
  }
  const std::string device = health::path_name(fault.transport, fault.device);
  note_port(fault, device);
  constexpr std::size_t kToTheMinute = 16;
  if (fault.time.size() > kToTheMinute && sum_.minutes.size() < kMostMinutes)
    ++sum_.minutes[fault.time.substr(0, kToTheMinute)];
  Raw raw;
  if (whose == health::Blame::kMemory) {
    raw.way = {fault.host, fault.host, std::string(kMemory)};
  } else {
    raw.way = fault.sent ? Way{fault.host, fault.peer_host, device}
                         : Way{fault.peer_host, fault.host, device};
    if (fault.peer_host.empty()) raw.peer = fault.peer;
    raw.peer_sends = !fault.sent;
  }
  const auto found = raw_.find(raw);
  if (found == raw_.end() && raw_.size() >= kMostWays) {
    ++sum_.beyond;
    return;
  }
  raw_[raw] += tally_of(fault);
  if (!fault.job.empty() && (sum_.jobs.contains(fault.job) || sum_.jobs.size() < kMostJobs))
    ++sum_.jobs[fault.job];
}

void EvidenceBuilder::add_interface(const std::string& interface, const std::string& host) {
  if (!interface.empty() && host_of_.size() < kMostInterfaces) host_of_.emplace(interface, host);
}

void EvidenceBuilder::add_process(const std::string& host, std::uint64_t bytes_verified,
                                  bool trouble, std::uint64_t delivered) {
  HostData& data = sum_.hosts[host];
  ++data.processes;
  data.clean += !trouble;
  data.bytes += bytes_verified;
  data.delivered += delivered;
}

Evidence EvidenceBuilder::build() const {
  Evidence evidence = sum_;
  const auto full_names = names_by_short(sum_.hosts);
  for (const auto& [raw, tally] : raw_) {
    Way way = raw.way;
    std::string& peer_host = raw.peer_sends ? way.sender : way.receiver;
    const auto known = raw.peer.empty() ? host_of_.end() : host_of_.find(raw.peer);
    if (known != host_of_.end()) peer_host = known->second;
    const auto full = full_names.find(peer_host);
    if (full != full_names.end() && !full->second.empty()) peer_host = full->second;
    if (!peer_host.empty()) evidence.hosts[peer_host];
    evidence.add(way, tally);
  }
  return evidence;
}

}  // namespace verity::blame
