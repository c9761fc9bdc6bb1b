// SPDX-License-Identifier: BSD-3-Clause
#include "health/attestation.h"

#include <algorithm>

#include "health/text.h"

namespace verity::health {

namespace {

constexpr std::size_t kLabelWidth = 16;
constexpr std::size_t kValueWidth = 80 - kLabelWidth;

bool went_past(const Report& report) {
  return !report.raw_lanes.empty() || !report.mpi_components.empty() ||
         report.counters.frames_unverified > 0;
}

bool is_first_rank(const Identity& who) {
  return who.rank.empty() || who.rank == "0";
}

std::string line(std::string_view label, const std::string& value) {
  std::string text = "  ";
  text += label;
  text.resize(std::max(kLabelWidth, text.size() + 1), ' ');
  return text + value + "\n";
}

std::string frames_and_bytes(std::uint64_t frames, std::uint64_t bytes) {
  return grouped(frames) + (frames == 1 ? " frame, " : " frames, ") + human_bytes(bytes);
}

std::string heading(const Report& report) {
  std::string text = "ucx-verity: ";
  if (!report.who.rank.empty()) text += "rank " + report.who.rank + ", ";
  text += "pid " + std::to_string(report.who.pid);
  if (!report.who.host.empty()) text += " on " + report.who.host;
  return text + " (mode " + report.mode + ")\n";
}

std::string repairs(const Counters& c) {
  std::string text = grouped(c.segments_repaired + c.read_segments_repaired) + " segments repaired";
  if (c.segments_resent > 0) {
    text += ", " + grouped(c.segments_resent) + " sent again (" +
            human_bytes(c.segment_bytes_resent) + ")";
  }
  if (c.read_bytes_again > 0) text += ", " + human_bytes(c.read_bytes_again) + " read again";
  return text;
}

// "payload 3, header 1": the kinds that occurred.
std::string faults(const Counters& c) {
  struct Kind {
    const char* name;
    std::uint64_t count;
  };
  const Kind kinds[] = {{"payload", c.faults_payload},        {"header", c.faults_header},
                        {"length", c.faults_length},          {"missing", c.gaps},
                        {"source changed", c.source_changed + c.reads_source_changed},
                        {"sender's memory", c.source_faults}, {"read", c.reads_damaged_on_wire},
                        {"read, ambiguous", c.reads_ambiguous}, {"read, persistent", c.reads_persistent},
                        {"refused", c.rma_refused}};
  std::string text;
  for (const Kind& kind : kinds) {
    if (kind.count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(kind.name) + " " + grouped(kind.count);
  }
  return text.empty() ? "none" : text;
}

std::string failed(const Report& report) {
  std::string text = grouped(report.counters.links_failed);
  if (!report.failed_links.empty()) {
    text += ": " + name_list(report.failed_links, kValueWidth - text.size() - 2);
  }
  return text;
}

std::string not_verified(const Report& report) {
  std::string text;
  const auto add = [&](const std::string& value) {
    text += line(text.empty() ? "not verified:" : "", value);
  };
  if (!report.raw_lanes.empty()) {
    add("UCX transports without a wrapper: " + name_list(report.raw_lanes, kValueWidth - 34));
  }
  if (!report.mpi_components.empty()) {
    add("MPI, loaded, may have carried: " + name_list(report.mpi_components, kValueWidth - 31));
  }
  const Counters& c = report.counters;
  if (c.frames_unverified > 0) {
    add(frames_and_bytes(c.frames_unverified, c.bytes_unverified) + " on links in mode off");
  }
  if (text.empty()) add("nothing known");
  return text;
}

std::string json_counters(const Counters& counters) {
  std::string out = "{";
  for (const CounterInfo& info : kCounterInfo) {
    if (out.size() > 1) out += ",";
    out += json_string(info.name) + ":" + std::to_string(counters.*info.field);
  }
  return out + "}";
}

}  // namespace

std::optional<AttestPolicy> parse_attest_policy(std::string_view name) noexcept {
  for (int i = 0; kAttestPolicyNames[i] != nullptr; ++i) {
    if (name == kAttestPolicyNames[i]) return static_cast<AttestPolicy>(i);
  }
  return std::nullopt;
}

bool had_trouble(const Counters& c) noexcept {
  return (c.segments_repaired | c.segments_resent | c.frames_resent | c.faults_payload |
          c.faults_header | c.faults_length | c.faults_observed | c.gaps | c.source_changed |
          c.source_faults | c.read_chunks_damaged | c.rma_refused | c.links_failed) != 0;
}

bool worth_telling(const Report& report, AttestPolicy policy) {
  if (policy != AttestPolicy::kAuto) return policy == AttestPolicy::kAlways;
  if (had_trouble(report.counters)) return true;
  return report.counters.links_opened > 0 && went_past(report) && is_first_rank(report.who);
}

std::string render_text(const Report& report) {
  const Counters& c = report.counters;
  std::string text = heading(report);
  text += line("verified", frames_and_bytes(c.frames_verified, c.bytes_verified) +
                               " received; sent " + frames_and_bytes(c.frames_sent, c.bytes_sent));
  if (c.read_bytes_verified > 0) {
    text += line("remote reads", human_bytes(c.read_bytes_verified) + " verified");
  }
  if (c.puts_applied > 0) {
    text += line("remote writes", human_bytes(c.put_bytes_applied) + " to here, applied after their check");
  }
  text += line("repaired", repairs(c));
  if (c.frames_resent > 0) {
    text += line("resent whole", frames_and_bytes(c.frames_resent, c.frame_bytes_resent));
  }
  text += line("faults", faults(c));
  if (c.faults_observed > 0) {
    text += line("DELIVERED", grouped(c.faults_observed) + " faulty frames, as in mode observe");
  }
  if (c.links_failed > 0) text += line("failed links", failed(report));
  text += not_verified(report);
  // MPI does not say whether the job made any.
  if (report.shared_windows) text += line("", "shared-memory windows (osc/sm), if any: nothing to verify");
  return text;
}

std::string render_json(const Report& report) {
  const auto field = [](std::string_view key, const std::string& value) {
    return json_string(key) + ":" + value;
  };
  std::string out = "{" + field("schema", std::to_string(kAttestationSchema));
  out += "," + field("version", json_string(report.plugin_version));
  out += "," + field("ucx", json_string(report.ucx_version));
  out += "," + field("mode", json_string(report.mode));
  out += "," + field("host", json_string(report.who.host));
  out += "," + field("pid", std::to_string(report.who.pid));
  out += "," + field("rank", report.who.rank.empty() ? "null" : json_string(report.who.rank));
  out += "," + field("program", json_string(report.who.program));
  out += "," + field("trouble", had_trouble(report.counters) ? "true" : "false");
  out += "," + field("counters", json_counters(report.counters));
  out += "," + field("interfaces", json_array(report.interfaces));
  out += "," + field("failed_links", json_array(report.failed_links));
  out += "," + field("raw_lanes", json_array(report.raw_lanes));
  out += "," + field("mpi_components", json_array(report.mpi_components));
  out += "," + field("shared_windows", report.shared_windows ? "true" : "false");
  return out + "}\n";
}

std::string expand_path(std::string_view pattern, const Identity& who) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'h':
        path += who.host;
        break;
      case 'p':
        path += std::to_string(who.pid);
        break;
      case 'r':
        path += who.rank.empty() ? std::to_string(who.pid) : who.rank;
        break;
      case '%':
        path += '%';
        break;
      default:
        path += pattern[i];
        continue;
    }
    ++i;
  }
  return path;
}

}  // namespace verity::health
