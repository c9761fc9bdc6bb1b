// SPDX-License-Identifier: BSD-3-Clause
#include "tools/report/records.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "health/faults/fault_record.h"
#include "health/report/attestation.h"

namespace verity::tools {

using blame::EvidenceBuilder;
using blame::RecordedFault;

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestName = 256;

// Empty for anything but a text.
std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>().substr(0, kLongestName);
}

std::uint64_t number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

const Json& object_of(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}

// "1234.0"; empty: the process was in no job.
std::string job_of(const Json& json) {
  const std::string job = text_of(json, "job");
  const std::string step = text_of(json, "step");
  return job.empty() || step.empty() ? job : job + "." + step;
}

// False: of no kind that is known.
bool read_fault(const Json& json, RecordedFault* fault) {
  const auto kind = health::parse_fault_kind(text_of(json, "kind"));
  const std::string direction = text_of(json, "direction");
  *fault = {.host = text_of(json, "host"),
            .peer_host = text_of(json, "peer_host"),
            .transport = text_of(json, "transport"),
            .device = text_of(json, "device"),
            .interface = text_of(json, "interface"),
            .peer = text_of(json, "peer"),
            .time = text_of(json, "time"),
            .job = job_of(json),
            .sent = direction == "sent",
            .kind = kind.value_or(health::FaultKind::kFrame)};
  const Json& syndrome = object_of(json, "syndrome");
  const auto pattern = health::parse_pattern(text_of(syndrome, "pattern"));
  fault->has_syndrome = pattern.has_value();
  fault->pattern = pattern.value_or(health::Pattern::kNone);
  const std::string again = text_of(syndrome, "again");
  fault->again = again == "lane" || again == "position";
  const auto injected = json.find("injected");
  fault->port = {text_of(json, "port_guid"), static_cast<std::uint32_t>(number_of(json, "lid")),
                 text_of(json, "firmware")};
  fault->injected = injected != json.end() && injected->is_boolean() && injected->get<bool>();
  return kind.has_value() && !fault->host.empty() && (fault->sent || direction == "received");
}

bool is_attestation(const Json& json) {
  return json.contains("counters") && json.contains("trouble") && !json.contains("event");
}

void read_attestation(const Json& json, EvidenceBuilder& builder) {
  const Json& counters = object_of(json, "counters");
  const auto trouble = json.find("trouble");
  builder.add_process(
      text_of(json, "host"),
      number_of(counters, "bytes_verified") + number_of(counters, "read_bytes_verified"),
      trouble->is_boolean() && trouble->get<bool>(), number_of(counters, "faults_observed"));
  const auto interfaces = json.find("interfaces");
  if (interfaces == json.end() || !interfaces->is_array()) return;
  for (const Json& interface : *interfaces) {
    if (interface.is_string())
      builder.add_interface(interface.get_ref<const std::string&>().substr(0, kLongestName),
                            text_of(json, "host"));
  }
}

void read_event(const Json& json, const std::string& event, EvidenceBuilder& builder,
                LineCounts& counts) {
  if (event == "type_mismatch") {
    ++counts.type_mismatches;
    return builder.add_type_mismatch();
  }
  if (event != "fault" && event != "faults_dropped") {
    ++counts.foreign;
    return;
  }
  RecordedFault fault;
  const bool known = number_of(json, "schema") == static_cast<std::uint64_t>(health::kFaultSchema);
  if (!known || (event == "fault" && !read_fault(json, &fault))) {
    ++counts.newer;
    return;
  }
  builder.add_dropped(number_of(json, "dropped"));
  if (event != "fault") return;
  ++counts.faults;
  builder.add(fault);
}

// The last record of a line in which a full disk has cut off others. Within a text the quotes would
// be escaped.
std::string_view behind_cut(std::string_view line) {
  std::size_t at = 0;
  for (const std::string_view start : {"{\"event\":", "{\"schema\":"}) {
    const std::size_t last = line.rfind(start);
    if (last != std::string_view::npos) at = std::max(at, last);
  }
  return at != 0 ? line.substr(at) : std::string_view();
}

}  // namespace

void read_line(std::string_view line, EvidenceBuilder& builder, LineCounts& counts) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) {
    ++counts.broken;
    json = Json::parse(behind_cut(line), nullptr, false);
  }
  if (json.is_discarded()) return;
  if (!json.is_object()) {
    ++counts.foreign;
    return;
  }
  if (const std::string event = text_of(json, "event"); !event.empty())
    return read_event(json, event, builder, counts);
  if (!is_attestation(json) || text_of(json, "host").empty()) {
    ++counts.foreign;
  } else if (number_of(json, "schema") != static_cast<std::uint64_t>(health::kAttestationSchema)) {
    ++counts.newer;
  } else {
    ++counts.attestations;
    read_attestation(json, builder);
  }
}

}  // namespace verity::tools
