// SPDX-License-Identifier: BSD-3-Clause
// What of a structure arrives, by the kinds of its members and pointers.
#include "unit/autolink/graph.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace verity::autolink::test {
namespace {

TEST(Autolink, ASingleNode) {
  node one{};
  one.value = 7;
  one.ignored = &one;
  const Structure copy = copy_of(&one);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(root_of(copy)->value, 7);
  EXPECT_EQ(root_of(copy)->ignored, nullptr);  // no address of the sender's memory
  EXPECT_EQ(describe(root_of(copy)), describe(&one));
}

// Where a packed struct leaves a pointer out, the pointer need not be aligned.
TEST(Autolink, UnalignedPointersThatAreLeftOutArriveAsNull) {
  struct Packed {
    char bytes[32];
  } one{};
  const verity_automap_field fields[] = {{"a", "MPI_CHAR", -1, 0, 1, 4},
                                         {"b", "MPI_CHAR", -1, 12, 1, 4},
                                         {"c", "MPI_CHAR", -1, 23, 1, 1}};
  verity_automap_type type{};
  type.name = "struct packed", type.size = sizeof(one), type.alignment = 1;
  type.fields = fields, type.field_count = 3;
  const verity_automap_schema schema{1, 1, &type};
  std::memset(one.bytes, 0x7f, sizeof(one.bytes));
  void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(verity_autolink_pack(&schema, 0, &one, 1, nullptr, &data, &size), 0)
      << verity_autolink_error();
  verity_autolink_structure* made = nullptr;
  ASSERT_EQ(verity_autolink_unpack(&schema, 0, data, size, nullptr, &made), 0)
      << verity_autolink_error();
  std::free(data);
  const Structure owned(made);
  Packed expected = one;
  std::memset(expected.bytes + 4, 0, 8);   // has room for a pointer
  std::memset(expected.bytes + 24, 0, 8);  // behind the last member, too; 7 bytes have not
  EXPECT_EQ(std::memcmp(verity_autolink_root(made), &expected, sizeof(expected)), 0);
}

// Also in the last of very many structs within one.
TEST(Autolink, PointersThatManyNestedStructsLeaveOutArriveAsNull) {
  struct Inner {
    int64_t value;
    void* ignored;
  };
  constexpr uint64_t kCopies = (1 << 20) + 1;
  const verity_automap_field inner[] = {{"value", "MPI_INT64_T", -1, 0, 8, 1}};
  const verity_automap_field outer[] = {
      {"all", "struct inner", 0, 0, sizeof(Inner), kCopies / 2},
      {"more", "struct inner", 0, kCopies / 2 * sizeof(Inner), sizeof(Inner), kCopies / 2 + 1}};
  verity_automap_type types[2] = {};
  types[0].name = "struct inner", types[0].size = sizeof(Inner), types[0].alignment = 8;
  types[0].fields = inner, types[0].field_count = 1;
  types[1].name = "struct outer", types[1].size = sizeof(Inner) * kCopies, types[1].alignment = 8;
  types[1].fields = outer, types[1].field_count = 2;
  const verity_automap_schema schema{1, 2, types};
  std::vector<Inner> elements(kCopies);
  for (Inner& one : elements) one = {7, &one};
  void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(verity_autolink_pack(&schema, 1, elements.data(), 1, nullptr, &data, &size), 0)
      << verity_autolink_error();
  verity_autolink_structure* made = nullptr;
  ASSERT_EQ(verity_autolink_unpack(&schema, 1, data, size, nullptr, &made), 0)
      << verity_autolink_error();
  std::free(data);
  const Structure owned(made);
  const auto* got = static_cast<const Inner*>(verity_autolink_root(made));
  EXPECT_EQ(
      std::count_if(got, got + kCopies,
                    [](const Inner& one) { return one.value != 7 || one.ignored != nullptr; }),
      0);
}

// A peer of another release, or a hostile one, sends them as they are in its memory: here by a
// schema of the same hash that leaves nothing out.
TEST(Autolink, PointersThatAreLeftOutAreNullWhateverArrives) {
  struct Inner {
    int64_t value;
    void* ignored;
  };
  const verity_automap_field all[] = {{"bytes", "MPI_BYTE", -1, 0, 1, sizeof(Inner)}};
  const verity_automap_field inner[] = {{"value", "MPI_INT64_T", -1, 0, 8, 1}};
  const verity_automap_field outer[] = {{"pair", "struct inner", 0, 0, sizeof(Inner), 2}};
  verity_automap_type types[2] = {};
  types[0].name = "struct inner", types[0].size = sizeof(Inner), types[0].alignment = 8;
  types[0].fields = inner, types[0].field_count = 1;
  types[1].name = "struct outer", types[1].size = 2 * sizeof(Inner), types[1].alignment = 8;
  types[1].fields = outer, types[1].field_count = 1;
  verity_automap_type open_types[2] = {types[0], types[1]};
  open_types[0].fields = all;
  const verity_automap_schema schema{1, 2, types}, open_schema{1, 2, open_types};
  Inner pair[2] = {{7, &pair[0]}, {8, &pair[1]}};
  for (const int type : {0, 1}) {
    void* data = nullptr;
    size_t size = 0;
    ASSERT_EQ(
        verity_autolink_pack(&open_schema, type, pair, type == 0 ? 2 : 1, nullptr, &data, &size), 0)
        << verity_autolink_error();
    verity_autolink_structure* made = nullptr;
    ASSERT_EQ(verity_autolink_unpack(&schema, type, data, size, nullptr, &made), 0)
        << verity_autolink_error();
    std::free(data);
    const Structure owned(made);
    const auto* got = static_cast<const Inner*>(verity_autolink_root(made));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(got[i].value, 7 + i) << type;
      EXPECT_EQ(got[i].ignored, nullptr) << type;
    }
  }
}

TEST(Autolink, ASchemaWhoseTypesContainThemselvesIsRefused) {
  const verity_automap_field fields[] = {{"self", "struct self", 0, 0, 8, 1}};
  verity_automap_type type{};
  type.name = "struct self", type.size = type.alignment = 8;
  type.fields = fields, type.field_count = 1;
  const verity_automap_schema schema{1, 1, &type};
  verity_autolink_sink* sink = nullptr;
  EXPECT_EQ(verity_autolink_expand(&schema, 0, nullptr, &sink), EINVAL);
  EXPECT_STREQ(verity_autolink_error(), "struct self contains itself");
}

TEST(Autolink, NothingAtAll) {
  const Structure copy = received(messages_of(nullptr, 0));
  EXPECT_EQ(root_of(copy), nullptr);
}

TEST(Autolink, CyclesAndSharedNodes) {
  node a{}, b{}, c{};
  a.value = 1, b.value = 2, c.value = 3;
  a.next = &b, b.next = &c, c.next = &a;
  a.pair[0] = a.pair[1] = &c;
  b.other = &a;
  c.other = &c;
  const Structure copy = copy_of(&a);
  const node* root = root_of(copy);
  EXPECT_EQ(root->next->next->next, root);
  EXPECT_EQ(root->pair[0], root->next->next);
  EXPECT_EQ(root->pair[0], root->pair[1]);
  EXPECT_EQ(describe(root), describe(&a));
}

TEST(Autolink, EveryKindOfPointer) {
  std::vector<double> data = {1, 2, 3, 4};
  char name[] = "a name", empty[] = "";
  node nodes[4] = {};
  node* many[3] = {&nodes[1], nullptr, &nodes[3]};
  for (int i = 0; i < 4; ++i) nodes[i].value = 10 + i;
  nodes[0].data = data.data(), nodes[0].n = 4;
  nodes[0].into = &data[2];
  nodes[0].many = many, nodes[0].n_many = 3;
  nodes[0].name = name;
  nodes[1].name = empty;
  nodes[1].into = &nodes[3].point.y, nodes[3].point.y = 2.5;  // into a member of another node
  nodes[3].data = &data[1], nodes[3].n = 2;                   // a part of another's array
  nodes[3].many = nodes[0].pair, nodes[3].n_many = 2;         // pointers inside of a node
  nodes[0].pair[1] = &nodes[2];
  const Structure copy = copy_of(nodes);
  const node* root = root_of(copy);
  EXPECT_EQ(describe(root), describe(nodes));
  EXPECT_EQ(root->into, root->data + 2);
  EXPECT_EQ(root->many[0]->into, &root->many[2]->point.y);
  EXPECT_EQ(root->many[2]->data, root->data + 1);
  EXPECT_EQ(root->many[2]->many, root->pair);
}

TEST(Autolink, MembersBesideEachOther) {
  node nodes[3] = {};
  nodes[2].point = {1.5, 2.5};
  nodes[0].next = &nodes[1], nodes[1].next = &nodes[2];
  nodes[0].data = &nodes[2].point.x, nodes[0].n = 1;
  nodes[1].data = &nodes[2].point.y, nodes[1].n = 1;
  const Structure copy = copy_of(nodes);
  const node* root = root_of(copy);
  EXPECT_EQ(root->data, &root->next->next->point.x);
  EXPECT_EQ(root->next->data, &root->next->next->point.y);
  // Two members are no array: a receiver would refuse it.
  nodes[0].n = 2;
  verity_autolink_source* source = nullptr;
  EXPECT_EQ(verity_autolink_aggregate(&node_schema, node_number_node, nodes, 1, nullptr, &source),
            EINVAL);
  EXPECT_EQ(source, nullptr);
}

TEST(Autolink, AddressesThatAreNotAligned) {
  alignas(8) char bytes[3 * sizeof(double)] = {};
  const double values[2] = {1.25, -7};
  std::memcpy(bytes + 3, values, sizeof(values));
  node one{};
  one.n = 2;
  const char* address = bytes + 3;
  std::memcpy(&one.data, &address, sizeof(address));
  const Structure copy = copy_of(&one);
  EXPECT_EQ(root_of(copy)->data[0], 1.25);
  EXPECT_EQ(root_of(copy)->data[1], -7);
}

// Elements that begin with a double, behind an array of doubles.
struct led {
  double first;
  led* next;
  double* data;
  int64_t n;
};

int led_links(const void* element, uint64_t first, size_t offset, verity_automap_visitor visit,
              void* context) {
  const auto* self = static_cast<const led*>(element);
  const int stop = verity_automap_visit_link(visit, context, VERITY_AUTOMAP_OWNED, 0, 1, 1, first,
                                             offset + offsetof(led, next), self->next);
  if (stop != 0) return stop;
  return verity_automap_visit_link(visit, context, VERITY_AUTOMAP_OWNED, 1, 1,
                                   verity_automap_count(self->n), first + 1,
                                   offset + offsetof(led, data), self->data);
}
int led_set_link(void* element, uint64_t link, void* target) {
  auto* self = static_cast<led*>(element);
  if (link == 0) self->next = static_cast<led*>(target);
  if (link == 1) self->data = static_cast<double*>(target);
  return link < 2 ? 0 : -1;
}

// A pointer that was left out of a struct without others, in elements that would travel in one
// piece.
struct plain {
  int32_t id;
  void* lock;
  double value;
};

TEST(Autolink, WhatIsLeftOutStaysAtHome) {
  const verity_automap_field fields[] = {{"id", "MPI_INT32_T", -1, 0, 4, 1},
                                         {"value", "MPI_DOUBLE", -1, 16, 8, 1}};
  const verity_automap_type types[] = {
      {"struct plain", sizeof(plain), 8, {0, 0, 0}, {0, 0, 0}, fields, 2, 0, nullptr, nullptr}};
  const verity_automap_schema schema{1, 1, types};
  plain all[3] = {{1, &all, 0.5}, {2, &all, 1.5}, {3, &all, 2.5}};
  void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(verity_autolink_pack(&schema, 0, all, 3, nullptr, &data, &size), 0)
      << verity_autolink_error();
  verity_autolink_structure* made = nullptr;
  ASSERT_EQ(verity_autolink_unpack(&schema, 0, data, size, nullptr, &made), 0)
      << verity_autolink_error();
  std::free(data);
  const Structure structure(made);
  const auto* root = static_cast<const plain*>(verity_autolink_root(made));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(root[i].id, all[i].id);
    EXPECT_EQ(root[i].lock, nullptr);
    EXPECT_EQ(root[i].value, all[i].value);
  }
}

TEST(Autolink, AnArrayInFrontOfAMember) {
  const verity_automap_field fields[] = {{"first", "MPI_DOUBLE", -1, 0, 8, 1},
                                         {"next", "link", -1, 8, 8, 1},
                                         {"data", "link", -1, 16, 8, 1},
                                         {"n", "MPI_INT64_T", -1, 24, 8, 1}};
  const verity_automap_type types[] = {
      {"struct led", sizeof(led), 8, {0, 0, 0}, {0, 0, 0}, fields, 4, 2, led_links, led_set_link},
      {"MPI_DOUBLE", 8, 8, {0, 0, 0}, {0, 0, 0}, nullptr, 0, 0, nullptr, nullptr}};
  const verity_automap_schema schema{1, 2, types};
  struct {
    double before[2];
    led here;
    double behind[2];
  } all{{1, 2}, {3, nullptr, nullptr, 1}, {4, 5}};
  static_assert(offsetof(decltype(all), here) == 16);
  led other{0, &all.here, all.before, 2}, third{0, &other, all.behind, 2};
  all.here.data = &all.here.first;
  void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(verity_autolink_pack(&schema, 0, &third, 1, nullptr, &data, &size), 0)
      << verity_autolink_error();
  verity_autolink_structure* made = nullptr;
  ASSERT_EQ(verity_autolink_unpack(&schema, 0, data, size, nullptr, &made), 0)
      << verity_autolink_error();
  std::free(data);
  const Structure structure(made);
  const auto* root = static_cast<const led*>(verity_autolink_root(made));
  const led *a = root->next, *b = a->next;
  EXPECT_EQ(b->data, &b->first);
  EXPECT_EQ(b->first, 3);
  EXPECT_EQ(a->data[0], 1);
  EXPECT_EQ(a->data[1], 2);
  EXPECT_EQ(root->data[0], 4);
  EXPECT_EQ(root->data[1], 5);
  // An array that goes on inside of the element.
  other.n = 3;
  verity_autolink_source* source = nullptr;
  EXPECT_EQ(verity_autolink_aggregate(&schema, 0, &third, 1, nullptr, &source), EINVAL);
}

TEST(Autolink, ReferencesOutOfTheStructureBecomeNull) {
  node inside{}, outside{};
  double elsewhere = 1;
  inside.other = &outside;
  inside.into = &elsewhere;
  const Structure copy = copy_of(&inside);
  EXPECT_EQ(root_of(copy)->other, nullptr);
  EXPECT_EQ(root_of(copy)->into, nullptr);
}

TEST(Autolink, NullAndNegativeCounts) {
  node one{};
  double data = 1;
  one.data = &data;
  for (const int n : {0, -5}) {
    one.n = n;
    EXPECT_EQ(root_of(copy_of(&one))->data, nullptr);
  }
}

TEST(Autolink, AnArrayAtTheRoot) {
  std::vector<node> nodes(100);
  for (size_t i = 0; i < nodes.size(); ++i)
    nodes[i].value = static_cast<int64_t>(i), nodes[i].other = &nodes[(i * 7) % 100];
  const Structure copy = received(messages_of(nodes.data(), 100, 500));
  ASSERT_EQ(verity_autolink_root_count(copy.get()), 100u);
  for (size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(root_of(copy)[i].value, static_cast<int64_t>(i));
    EXPECT_EQ(root_of(copy)[i].other, root_of(copy) + (i * 7) % 100);
  }
}

TEST(Autolink, ManyNodes) {
  std::vector<node> nodes(200'000);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].value = static_cast<int64_t>(i);
    nodes[i].next = &nodes[(i + 1) % nodes.size()];
    nodes[i].other = &nodes[(i * 7919) % nodes.size()];
  }
  const Structure copy = copy_of(nodes.data());
  const node* n = root_of(copy);
  size_t wrong = 0;
  for (size_t i = 0; i < nodes.size(); ++i, n = n->next)
    wrong += n->value != static_cast<int64_t>(i) || n->other->value != nodes[i].other->value;
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(n, root_of(copy));
}

}  // namespace
}  // namespace verity::autolink::test
