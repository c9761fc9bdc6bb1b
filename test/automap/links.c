/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The links of struct node in shapes.h, C11 and C++17: every one is visited and can be set, and those of a union only while the tag says
 * so. Needs no MPI. Prints the links of three elements, one line each. */
#include <stdio.h>
#include <string.h>
#include HEADER

static int print(void* context, const verity_automap_link* link) {
  printf("%s %d: kind %d of type %s, levels %d, count %d, offset %d, %s\n", (const char*)context, (int)link->number, link->kind,
         t_types[link->type].name, link->levels, (int)link->count, (int)link->offset,
         (uintptr_t)link->target == link->number + 1 ? "as set" : "not as set");
  return 0;
}

static int stop(void* context, const verity_automap_link* link) {
  ++*(int*)context;
  return link->number == 4 ? 42 : 0;
}

static void set_links(struct node* node, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; ++i) {
    if (t_set_link_node(node, i, (void*)(uintptr_t)(i + 1)) != 0) printf("link %d cannot be set\n", (int)i);
  }
}

int main(void) {
  struct node node;
  char name[] = "int", other_name[] = "node", last_name[] = "pair";
  int visits = 0;
  const uint64_t all = t_types[t_number_node].link_count;
  memset(&node, 0, sizeof node);
  set_links(&node, 0, all);
  node.n = 3;
  node.kind = KIND_INT;
  t_visit_node(&node, print, name);
  node.n = -3;
  node.kind = KIND_NODE;
  t_visit_node(&node, print, other_name);
  node.kind = (enum kind)KIND_DOUBLE;
  node.which = 2;
  t_visit_node(&node, print, last_name);
  const int result = t_visit_node(&node, stop, &visits);
  printf("stopped with %d after %d\n", result, visits);
  printf("a link too many: %d\n", t_set_link_node(&node, all, NULL));
  printf("schema: %d types\n", (int)t_schema.count);
  return 0;
}
