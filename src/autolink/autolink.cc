// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface, without MPI: arguments are checked and exceptions end here.
#include "ucx-verity/autolink.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

#include "autolink/aggregate.h"
#include "autolink/expand.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using namespace verity::autolink;

struct verity_autolink_structure {
  std::unique_ptr<Structure> made;
};

struct verity_autolink_source {
  explicit verity_autolink_source(Schema schema) : aggregation(std::move(schema)) {}
  Aggregation aggregation;
  Bytes message;
};

struct verity_autolink_sink {
  verity_autolink_sink(Schema schema, TypeNumber type, uint64_t most_bytes)
      : expansion(std::move(schema), type, most_bytes) {}
  Expansion expansion;
};

namespace {

constexpr uint64_t kDefaultPacket = 65536;

thread_local std::string last_error;

int fail(int code, std::string why) {
  last_error = std::move(why);
  return code;
}

template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    last_error.clear();
    return body();
  } catch (const std::bad_alloc&) { return ENOMEM; } catch (...) {
    return EINVAL;
  }
}

uint64_t packet_bytes(const verity_autolink_options* o) {
  return o != nullptr && o->packet_bytes != 0 ? o->packet_bytes : kDefaultPacket;
}
uint64_t most_bytes(const verity_autolink_options* o) {
  return o != nullptr && o->most_bytes != 0 ? o->most_bytes : uint64_t{PTRDIFF_MAX};
}

// Numbers of structures: no two that meet in one channel should be alike.
uint64_t next_structure() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

std::optional<Schema> schema_of(const verity_automap_schema* schema, int type) {
  std::string error;
  std::optional<Schema> made = Schema::make(schema, &error);
  if (made && (type < 0 || static_cast<uint64_t>(type) >= schema->count)) {
    error = "the schema has no type " + std::to_string(type);
    made.reset();
  }
  last_error = std::move(error);
  return made;
}

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

int fail_file(const char* path) {
  return fail(EIO, std::string(path) + ": " + std::strerror(errno));
}

// A message in a block or a file: its length, then its bytes.
using Length = uint64_t;

int write_all(verity_autolink_source& source, std::FILE* out, const char* path) {
  while (source.aggregation.next(&source.message)) {
    const Length length = source.message.size();
    if (std::fwrite(&length, sizeof(length), 1, out) != 1 ||
        std::fwrite(source.message.data(), 1, length, out) != length)
      return fail_file(path);
  }
  return 0;
}

int read_all(verity_autolink_sink& sink, std::FILE* in, const char* path, uint64_t most) {
  Bytes message;
  Length length = 0;
  while (!sink.expansion.is_complete()) {
    if (std::fread(&length, sizeof(length), 1, in) != 1)
      return fail(EPROTO, std::string(path) + ": ends before the structure is complete");
    if (length > most)
      return fail(EPROTO, std::string(path) + ": a message of more bytes than allowed");
    // As it comes: a length that is wrong must not take memory that no bytes follow for.
    message.clear();
    for (constexpr size_t kPart = 1 << 20; message.size() < length;) {
      const size_t begin = message.size(), part = std::min<uint64_t>(kPart, length - begin);
      message.resize(begin + part);
      if (std::fread(message.data() + begin, 1, part, in) != part)
        return fail(EPROTO, std::string(path) + ": ends within a message");
    }
    std::string error = sink.expansion.feed(message);
    if (!error.empty()) return fail(EPROTO, std::string(path) + ": a message is refused: " + error);
  }
  return 0;
}

}  // namespace

EXPORTED const char* verity_autolink_error(void) { return last_error.c_str(); }

EXPORTED void* verity_autolink_root(const verity_autolink_structure* structure) {
  return structure != nullptr ? structure->made->root : nullptr;
}
EXPORTED uint64_t verity_autolink_root_count(const verity_autolink_structure* structure) {
  return structure != nullptr ? structure->made->root_count : 0;
}
EXPORTED void verity_autolink_free(verity_autolink_structure* structure) { delete structure; }

EXPORTED int verity_autolink_aggregate(const verity_automap_schema* schema, int type,
                                       const void* root, uint64_t count,
                                       const verity_autolink_options* options,
                                       verity_autolink_source** source) {
  return guarded([&] {
    std::optional<Schema> known = schema_of(schema, type);
    if (!known || source == nullptr) return EINVAL;
    if (root == nullptr && count != 0) return fail(EINVAL, "elements at a null pointer");
    auto made = std::make_unique<verity_autolink_source>(std::move(*known));
    std::string error = made->aggregation.start(static_cast<TypeNumber>(type), root, count,
                                                packet_bytes(options), next_structure());
    if (!error.empty()) return fail(EINVAL, std::move(error));
    *source = made.release();
    return 0;
  });
}

EXPORTED int verity_autolink_next(verity_autolink_source* source, const void** data, size_t* size) {
  return guarded([&] {
    const bool is_there = source->aggregation.next(&source->message);
    *data = is_there ? source->message.data() : nullptr;
    *size = is_there ? source->message.size() : 0;
    return 0;
  });
}

EXPORTED uint64_t verity_autolink_bytes(const verity_autolink_source* source) {
  return source->aggregation.bytes();
}
EXPORTED void verity_autolink_source_free(verity_autolink_source* source) { delete source; }

EXPORTED int verity_autolink_expand(const verity_automap_schema* schema, int type,
                                    const verity_autolink_options* options,
                                    verity_autolink_sink** sink) {
  return guarded([&] {
    std::optional<Schema> known = schema_of(schema, type);
    if (!known || sink == nullptr) return EINVAL;
    *sink = new verity_autolink_sink(std::move(*known), static_cast<TypeNumber>(type),
                                     most_bytes(options));
    return 0;
  });
}

EXPORTED int verity_autolink_feed(verity_autolink_sink* sink, const void* data, size_t size,
                                  int* is_complete) {
  return guarded([&] {
    std::string error = sink->expansion.feed({static_cast<const uint8_t*>(data), size});
    if (!error.empty()) return fail(EPROTO, "a message is refused: " + error);
    *is_complete = sink->expansion.is_complete();
    return 0;
  });
}

EXPORTED int verity_autolink_take(verity_autolink_sink* sink,
                                  verity_autolink_structure** structure) {
  return guarded([&] {
    if (!sink->expansion.is_complete()) return fail(EINVAL, "the structure is not complete");
    auto made = std::make_unique<verity_autolink_structure>();
    std::string error = sink->expansion.finish(&made->made);
    if (!error.empty()) return fail(EPROTO, std::move(error));
    *structure = made.release();
    return 0;
  });
}

EXPORTED void verity_autolink_sink_free(verity_autolink_sink* sink) { delete sink; }

EXPORTED int verity_autolink_pack(const verity_automap_schema* schema, int type, const void* root,
                                  uint64_t count, const verity_autolink_options* options,
                                  void** data, size_t* size) {
  verity_autolink_source* source = nullptr;
  const int code = verity_autolink_aggregate(schema, type, root, count, options, &source);
  if (code != 0) return code;
  const std::unique_ptr<verity_autolink_source> owned(source);
  char* block = nullptr;
  size_t length = 0;
  std::FILE* out = open_memstream(&block, &length);
  if (out == nullptr) return ENOMEM;
  int written = guarded([&] { return write_all(*source, out, "memory"); });
  if (std::fclose(out) != 0) written = ENOMEM;
  if (written != 0) {
    std::free(block);
    return written == EIO ? ENOMEM : written;
  }
  *data = block;
  *size = length;
  return 0;
}

namespace {

int load(const verity_automap_schema* schema, int type, std::FILE* in, const char* name,
         const verity_autolink_options* options, verity_autolink_structure** structure) {
  verity_autolink_sink* sink = nullptr;
  int code = verity_autolink_expand(schema, type, options, &sink);
  if (code != 0) return code;
  const std::unique_ptr<verity_autolink_sink> owned(sink);
  code = guarded([&] { return read_all(*sink, in, name, most_bytes(options)); });
  return code != 0 ? code : verity_autolink_take(sink, structure);
}

}  // namespace

EXPORTED int verity_autolink_unpack(const verity_automap_schema* schema, int type, const void* data,
                                    size_t size, const verity_autolink_options* options,
                                    verity_autolink_structure** structure) {
  if (data == nullptr || size == 0) return fail(EPROTO, "no bytes");
  const File in(fmemopen(const_cast<void*>(data), size, "rb"));
  return in == nullptr ? ENOMEM : load(schema, type, in.get(), "memory", options, structure);
}

EXPORTED int verity_autolink_save(const verity_automap_schema* schema, int type, const void* root,
                                  uint64_t count, const verity_autolink_options* options,
                                  const char* path) {
  verity_autolink_source* source = nullptr;
  const int code = verity_autolink_aggregate(schema, type, root, count, options, &source);
  if (code != 0) return code;
  const std::unique_ptr<verity_autolink_source> owned(source);
  return guarded([&] {
    // Beside the old one until it is whole.
    const std::string beside = std::string(path) + ".new";
    File out(std::fopen(beside.c_str(), "wb"));
    if (out == nullptr) return fail_file(beside.c_str());
    int written = write_all(*source, out.get(), beside.c_str());
    if (std::fclose(out.release()) != 0 && written == 0) written = fail_file(beside.c_str());
    if (written == 0 && std::rename(beside.c_str(), path) != 0) written = fail_file(path);
    if (written != 0) std::remove(beside.c_str());
    return written;
  });
}

EXPORTED int verity_autolink_load(const verity_automap_schema* schema, int type, const char* path,
                                  const verity_autolink_options* options,
                                  verity_autolink_structure** structure) {
  last_error.clear();
  const File in(std::fopen(path, "rb"));
  return in == nullptr ? fail_file(path) : load(schema, type, in.get(), path, options, structure);
}
