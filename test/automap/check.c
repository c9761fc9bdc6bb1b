/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every datatype of a generated header (HEADER, prefix t), C11 and C++17: its signature is the one decoded from the committed datatype,
 * its extent the size of the type, and it transfers the bytes of the fields and no others.
 *
 * Prints a line about each that is wrong, and last 'datatypes N wrong N'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include HEADER

#ifdef __cplusplus
extern "C"
#endif
int automap_decode(MPI_Datatype datatype, uint64_t signature[3]);

static int datatypes, wrong;

static void report(const char* name, const char* form, const char* what) {
  printf("%s (%s): %s\n", name, form, what);
  ++wrong;
}

/* Copies what the fields of one element hold. */
static void copy_fields(const verity_automap_type* type, int linked, const char* from, char* to) {
  for (uint64_t f = 0; f < type->field_count; ++f) {
    const verity_automap_field* field = &type->fields[f];
    if (strcmp(field->type, "link") == 0 && !linked) continue;
    for (uint64_t i = 0; i < field->copies; ++i) {
      const size_t at = field->offset + i * field->size;
      if (field->number < 0) {
        memcpy(to + at, from + at, field->size);
      } else {
        copy_fields(&t_types[field->number], linked, from + at, to + at);
      }
    }
  }
}

static int transfers(MPI_Datatype datatype, const verity_automap_type* type, int linked) {
  enum { kCopies = 3 };
  const size_t bytes = kCopies * type->size;
  char *sent = (char*)malloc(bytes), *received = (char*)calloc(bytes, 1), *wanted = (char*)calloc(bytes, 1);
  for (size_t i = 0; i < bytes; ++i) sent[i] = (char)(1 + i * 7 % 251);
  for (int i = 0; i < kCopies; ++i) copy_fields(type, linked, sent + (size_t)i * type->size, wanted + (size_t)i * type->size);
  MPI_Sendrecv(sent, kCopies, datatype, 0, 0, received, kCopies, datatype, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  const int same = memcmp(received, wanted, bytes) == 0;
  free(sent);
  free(received);
  free(wanted);
  return same;
}

static void check(const char* name, int number, int linked, int (*build)(MPI_Datatype*), const verity_automap_signature* signature,
                  size_t size) {
  const char* const form = linked ? "linked" : "values";
  const verity_automap_type* const type = &t_types[number];
  const verity_automap_signature* const in_table = linked ? &type->linked : &type->values;
  MPI_Datatype datatype;
  MPI_Aint low, extent;
  uint64_t decoded[3] = {0, 0, 0};
  ++datatypes;
  if (build(&datatype) != MPI_SUCCESS) {
    report(name, form, "is not built");
    return;
  }
  MPI_Type_get_extent(datatype, &low, &extent);
  if (low != 0 || (size_t)extent != size || type->size != size) report(name, form, "has another extent than its type");
  if (!automap_decode(datatype, decoded)) report(name, form, "cannot be decoded");
  if (decoded[0] != signature->elements || decoded[1] != signature->layout_hash || decoded[2] != signature->names_hash) {
    report(name, form, "has another signature");
  }
  if (memcmp(in_table, signature, sizeof *signature) != 0) report(name, form, "has another signature in the table");
  if (!transfers(datatype, type, linked)) report(name, form, "transfers other bytes than its fields");
  MPI_Type_free(&datatype);
}

#define VALUES(name, type) check(#name, t_number_##name, 0, t_mpi_##name, &t_signature_##name, sizeof(type));
#define LINKED(name, type) check(#name, t_number_##name, 1, t_mpi_linked_##name, &t_linked_signature_##name, sizeof(type));

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  t_RECORDS(VALUES)
  t_LINKED_RECORDS(LINKED)
  printf("datatypes %d wrong %d\n", datatypes, wrong);
  MPI_Finalize();
  return wrong != 0;
}
