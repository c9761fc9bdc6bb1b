// SPDX-License-Identifier: BSD-3-Clause
#include "automap/emit/signature_of.h"

namespace verity::automap {

namespace {

using signature::Type;

Type type_of(const Mapping& mapping, const std::vector<RecordTypes>& known,
             Type RecordTypes::*form) {
  std::vector<Type::Item> items;
  for (const Block& block : mapping.blocks) {
    switch (block.of) {
      case Block::Of::kBasic: items.push_back({Type::leaf(block.basic), block.copies}); break;
      case Block::Of::kRecord: items.push_back({known[block.record].*form, block.copies}); break;
      case Block::Of::kLink:
        if (form == &RecordTypes::linked) items.push_back({Type::leaf(block.basic), block.copies});
        break;
    }
  }
  return Type::sequence(items);
}

}  // namespace

std::vector<RecordTypes> types_of(const Plan& plan) {
  std::vector<RecordTypes> types(plan.mappings.size());
  for (const RecordId id : plan.order) {
    types[id].values = type_of(plan.of(id), types, &RecordTypes::values);
    types[id].linked = type_of(plan.of(id), types, &RecordTypes::linked);
  }
  return types;
}

}  // namespace verity::automap
