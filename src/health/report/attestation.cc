// SPDX-License-Identifier: BSD-3-Clause
#include "health/report/attestation.h"

#include "health/report/account_text.h"
#include "health/text.h"

namespace verity::health {

namespace {

bool is_first_rank(const Identity& who) { return who.rank.empty() || who.rank == "0"; }

std::string heading(const Report& report) {
  std::string text = "ucx-verity: ";
  if (!report.who.rank.empty()) text += "rank " + report.who.rank + ", ";
  text += "pid " + std::to_string(report.who.pid);
  if (!report.who.host.empty()) text += " on " + report.who.host;
  return text + " (mode " + report.mode + ")\n";
}

std::string json_links(const std::vector<LinkFaults>& links) {
  std::string out = "[";
  for (const LinkFaults& link : links) {
    out += out.size() > 1 ? ",{" : "{";
    out += "\"from\":" + (link.from.empty() ? "null" : json_string(link.from)) +
           ",\"to\":" + json_string(link.to) + ",\"path\":" + json_string(link.path) +
           ",\"faults\":" + std::to_string(link.faults) + "}";
  }
  return out + "]";
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

bool had_trouble(const Counters& c) noexcept {
  return (c.segments_repaired | c.segments_resent | c.faults_sent | c.frames_resent |
          c.faults_payload | c.faults_header | c.faults_length | c.faults_observed | c.gaps |
          c.source_changed | c.source_faults | c.read_chunks_damaged | c.rma_refused |
          c.links_failed) != 0;
}

bool has_unverified(const Report& report) noexcept {
  return !report.raw_lanes.empty() || !report.mpi_components.empty() ||
         report.counters.frames_unverified > 0;
}

bool should_print(const Report& report, AttestPolicy policy) {
  if (!report.active && !is_first_rank(report.who)) return false;
  if (policy != AttestPolicy::kAuto) return policy == AttestPolicy::kAlways;
  if (!report.active) return true;
  if (had_trouble(report.counters)) return true;
  return report.counters.links_opened > 0 && has_unverified(report) && is_first_rank(report.who);
}

std::string render_text(const Report& report) {
  if (!report.active) return unused_line(report.unused);
  return heading(report) + account_lines(report) +
         (report.alone.empty() ? "" : "  by itself     " + report.alone + "\n");
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
  out += "," + field("job", report.who.job.empty() ? "null" : json_string(report.who.job));
  out += "," + field("step", report.who.step.empty() ? "null" : json_string(report.who.step));
  out += "," + field("active", report.active ? "true" : "false");
  out += "," + field("trouble", had_trouble(report.counters) ? "true" : "false");
  out += "," + field("counters", json_counters(report.counters));
  out += "," + field("links", json_links(report.links));
  out += "," + field("interfaces", json_array(report.interfaces));
  out += "," + field("failed_links", json_array(report.failed_links));
  out += "," + field("raw_lanes", json_array(report.raw_lanes));
  out += "," + field("mpi_components", json_array(report.mpi_components));
  out += "," + field("shared_windows", report.shared_windows ? "true" : "false");
  return out + "}\n";
}

}  // namespace verity::health
