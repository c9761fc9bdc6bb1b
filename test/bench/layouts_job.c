/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes of real programs beside what verity_type_normalize() makes of them: pack, unpack and
 * send to another rank. Started by the script of the same name.
 *
 *   layouts [PAIRS]
 *
 * The layouts are those of the halo exchanges and transpositions that DDTBench (Schneider,
 * Gerstenberger, Hoefler: "Micro-Applications for Communication Data Access Patterns and MPI
 * Datatypes", EuroMPI 2012) took from WRF, MILC, LAMMPS, NAS and FFT codes; written by us, with
 * sizes of ours. In each of PAIRS turns every operation is done with the original and with the
 * normalized datatype, in an order that changes from turn to turn. A line has the medians and the
 * median of the ratios within a turn, and its quartiles.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/types.h>

enum { kTag = 4, kRoom = 1 << 26, kMostPairs = 1000 };

static int rank;
static char *memory, *packed[2];

static unsigned long long state = 1;
static unsigned dice(unsigned sides) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % sides;
}

static MPI_Datatype freed(MPI_Datatype made, MPI_Datatype inner) {
  MPI_Type_free(&inner);
  return made;
}

/* --- WRF: several arrays (i, k, j) of floats in Fortran's order, three planes of each --- */

enum { kI = 128, kK = 40, kJ = 96, kHalo = 3, kArrays = 5 };

static MPI_Datatype wrf(int along_x, int by_subarrays) {
  MPI_Datatype members[kArrays], made;
  MPI_Aint places[kArrays];
  int lengths[kArrays];
  const int sizes[3] = {kI, kK, kJ};
  const int parts[3] = {along_x ? kHalo : kI, kK, along_x ? kJ : kHalo};
  const int starts[3] = {along_x ? kI - 2 * kHalo : 0, 0, along_x ? 0 : kJ - 2 * kHalo};
  for (int a = 0; a < kArrays; ++a) {
    lengths[a] = 1;
    places[a] = (MPI_Aint)a * kI * kK * kJ * 4;
    if (by_subarrays) {
      MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_FLOAT, &members[a]);
    } else {
      MPI_Datatype plane;
      MPI_Type_vector(parts[1], parts[0], kI, MPI_FLOAT, &plane);
      MPI_Type_create_hvector(parts[2], 1, (MPI_Aint)kI * kK * 4, plane, &members[a]);
      MPI_Type_free(&plane);
      places[a] += 4 * (starts[0] + kI * (starts[1] + (MPI_Aint)kK * starts[2]));
    }
  }
  MPI_Type_create_struct(kArrays, lengths, places, members, &made);
  for (int a = 0; a < kArrays; ++a) MPI_Type_free(&members[a]);
  return made;
}
static MPI_Datatype wrf_x_subarrays(void) { return wrf(1, 1); }
static MPI_Datatype wrf_x_vectors(void) { return wrf(1, 0); }
static MPI_Datatype wrf_y_subarrays(void) { return wrf(0, 1); }
static MPI_Datatype wrf_y_vectors(void) { return wrf(0, 0); }

/* --- MILC: one face in z of a lattice of su3 vectors (three complex floats) --- */

static MPI_Datatype milc_su3_z(void) {
  enum { kX = 16, kY = 16, kZ = 16, kT = 16 };
  MPI_Datatype su3, made;
  MPI_Type_contiguous(6, MPI_FLOAT, &su3);
  MPI_Type_vector(kT, kX * kY / 2, kX * kY * kZ / 2, su3, &made);
  return freed(made, su3);
}

/* --- LAMMPS: the properties of atoms that leave, each an array of its own --- */

enum { kAtoms = 40000, kLeaving = 3000 };

static MPI_Datatype lammps(int arrays, int every) {
  static const int per_atom[6] = {3, 1, 1, 1, 1, 3};
  int indices[kLeaving], scaled[kLeaving], lengths[6];
  MPI_Datatype members[6], made;
  MPI_Aint places[6], place = 0;
  for (int i = 0, at = 0; i < kLeaving; ++i) {
    at += every != 0 ? every : 1 + (int)dice(2 * kAtoms / kLeaving - 1);
    indices[i] = at;
  }
  for (int a = 0; a < arrays; ++a) {
    for (int i = 0; i < kLeaving; ++i) scaled[i] = indices[i] * per_atom[a];
    MPI_Type_create_indexed_block(kLeaving, per_atom[a], scaled, MPI_DOUBLE, &members[a]);
    lengths[a] = 1;
    places[a] = place;
    place += (MPI_Aint)kAtoms * per_atom[a] * 8;
  }
  MPI_Type_create_struct(arrays, lengths, places, members, &made);
  for (int a = 0; a < arrays; ++a) MPI_Type_free(&members[a]);
  return made;
}
static MPI_Datatype lammps_full(void) { return lammps(6, 0); }
static MPI_Datatype lammps_atomic(void) { return lammps(2, 0); }
/* A list of atoms that are a plane of a crystal: what is sent by index and is a vector in truth. */
static MPI_Datatype lammps_crystal(void) { return lammps(6, 10); }

/* --- NAS: LU has five unknowns in each point of a plane, MG faces of a cube --- */

static MPI_Datatype nas_lu_x(void) {
  MPI_Datatype point, made;
  MPI_Type_contiguous(5, MPI_DOUBLE, &point);
  MPI_Type_contiguous(1000, point, &made);
  return freed(made, point);
}
static MPI_Datatype nas_lu_y(void) {
  MPI_Datatype point, made;
  MPI_Type_contiguous(5, MPI_DOUBLE, &point);
  MPI_Type_vector(1000, 1, 34, point, &made);
  return freed(made, point);
}

enum { kN = 130 };

static MPI_Datatype nas_mg_x(void) {
  MPI_Datatype line, made;
  MPI_Type_vector(kN - 2, 1, kN, MPI_DOUBLE, &line);
  MPI_Type_create_hvector(kN - 2, 1, (MPI_Aint)8 * kN * kN, line, &made);
  return freed(made, line);
}
static MPI_Datatype nas_mg_y(void) {
  MPI_Datatype made;
  MPI_Type_vector(kN - 2, kN - 2, kN * kN, MPI_DOUBLE, &made);
  return made;
}
static MPI_Datatype nas_mg_z(void) {
  MPI_Datatype line, made;
  MPI_Type_contiguous(kN, MPI_DOUBLE, &line);
  MPI_Type_create_hvector(kN - 2, 1, (MPI_Aint)8 * kN, line, &made);
  return freed(made, line);
}
/* The face in x by its points, as an unstructured code has them. */
static MPI_Datatype nas_mg_x_list(void) {
  static int places[(kN - 2) * (kN - 2)];
  MPI_Datatype made;
  int n = 0;
  for (int k = 1; k < kN - 1; ++k) {
    for (int j = 1; j < kN - 1; ++j) places[n++] = (k * kN + j) * kN + 1;
  }
  MPI_Type_create_indexed_block(n, 1, places, MPI_DOUBLE, &made);
  return made;
}

/* --- FFT: what one process sends another in the transposition of a matrix of complex numbers ---
 */

static MPI_Datatype fft(int by_columns) {
  enum { kSize = 512, kOwn = 64 };
  MPI_Datatype inner, resized, made;
  if (!by_columns) {
    MPI_Type_vector(kOwn, kOwn, kSize, MPI_C_DOUBLE_COMPLEX, &made);
    return made;
  }
  MPI_Type_vector(kOwn, 1, kSize, MPI_C_DOUBLE_COMPLEX, &inner);
  MPI_Type_create_resized(inner, 0, 16, &resized);
  MPI_Type_contiguous(kOwn, resized, &made);
  MPI_Type_free(&resized);
  return freed(made, inner);
}
static MPI_Datatype fft_rows(void) { return fft(0); }
static MPI_Datatype fft_columns(void) { return fft(1); }

static const struct {
  const char* name;
  MPI_Datatype (*make)(void);
} layouts[] = {
    {"WRF x, subarrays", wrf_x_subarrays},
    {"WRF x, vectors", wrf_x_vectors},
    {"WRF y, subarrays", wrf_y_subarrays},
    {"WRF y, vectors", wrf_y_vectors},
    {"MILC su3 z", milc_su3_z},
    {"LAMMPS full", lammps_full},
    {"LAMMPS atomic", lammps_atomic},
    {"LAMMPS crystal, list", lammps_crystal},
    {"NAS LU x", nas_lu_x},
    {"NAS LU y", nas_lu_y},
    {"NAS MG x", nas_mg_x},
    {"NAS MG x, list", nas_mg_x_list},
    {"NAS MG y", nas_mg_y},
    {"NAS MG z", nas_mg_z},
    {"FFT rows", fft_rows},
    {"FFT columns", fft_columns},
};

/* --- measuring --- */

enum operation { kPack, kUnpack, kSend, kOperations };
static const char* const names[kOperations] = {"pack", "unpack", "send"};

/* One operation; the other rank does its part of a send. */
static void once(enum operation operation, MPI_Datatype type, int size) {
  int place = 0;
  char answer = 0;
  switch (operation) {
    case kPack: MPI_Pack(memory, 1, type, packed[0], size, &place, MPI_COMM_SELF); break;
    case kUnpack: MPI_Unpack(packed[0], size, &place, memory, 1, type, MPI_COMM_SELF); break;
    default:
      if (rank == 0) {
        MPI_Send(memory, 1, type, 1, kTag, MPI_COMM_WORLD);
        MPI_Recv(&answer, 1, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(memory, 1, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&answer, 1, MPI_CHAR, 0, kTag, MPI_COMM_WORLD);
      }
  }
}

static double seconds_of(enum operation operation, MPI_Datatype type, int size, int turns) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < turns; ++i) once(operation, type, size);
  return (MPI_Wtime() - begin) / turns;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double at_part(double* list, int n, double part) {
  qsort(list, (size_t)n, sizeof(double), by_value);
  return list[(int)(part * (n - 1) + 0.5)];
}

static void compare(enum operation operation, MPI_Datatype types[2], int size, int pairs) {
  static double seconds[2][kMostPairs], ratios[kMostPairs];
  if (operation != kSend && rank != 0) return;
  int turns = (int)(0.001 / (seconds_of(operation, types[0], size, 3) + 1e-7)) + 1;
  if (operation == kSend) MPI_Bcast(&turns, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int pair = 0; pair < pairs; ++pair) {
    for (int i = 0; i < 2; ++i) {
      const int which = (i + pair) % 2;
      seconds[which][pair] = seconds_of(operation, types[which], size, turns);
    }
    ratios[pair] = seconds[1][pair] / seconds[0][pair];
  }
  if (rank != 0) return;
  printf("  %-7s %9.1f %9.1f %7.2f  %.2f to %.2f\n", names[operation],
         at_part(seconds[0], pairs, 0.5) * 1e6, at_part(seconds[1], pairs, 0.5) * 1e6,
         at_part(ratios, pairs, 0.5), at_part(ratios, pairs, 0.25), at_part(ratios, pairs, 0.75));
}

/* How many numbers describe it, without those of its inner types. */
static int numbers_of(MPI_Datatype type) {
  int integers, addresses, types, combiner, all;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) return 0;
  int* i = malloc(sizeof(int) * (size_t)(integers + 1));
  MPI_Aint* a = malloc(sizeof(MPI_Aint) * (size_t)(addresses + 1));
  MPI_Datatype* t = malloc(sizeof(MPI_Datatype) * (size_t)(types + 1));
  MPI_Type_get_contents(type, integers, addresses, types, i, a, t);
  all = integers + addresses;
  for (int k = 0; k < types; ++k) {
    all += numbers_of(t[k]);
    MPI_Type_get_envelope(t[k], &integers, &addresses, &integers, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&t[k]);
  }
  free(i);
  free(a);
  free(t);
  return all;
}

static int differ(MPI_Datatype types[2], int size) {
  for (int which = 0; which < 2; ++which) {
    int place = 0;
    MPI_Pack(memory, 1, types[which], packed[which], size, &place, MPI_COMM_SELF);
    if (place != size) return 1;
  }
  return memcmp(packed[0], packed[1], (size_t)size) != 0;
}

int main(int argc, char** argv) {
  int wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int pairs = argc > 1 ? atoi(argv[1]) : 15;
  if (pairs < 1 || pairs > kMostPairs) pairs = 15;
  memory = malloc(kRoom);
  packed[0] = malloc(kRoom);
  packed[1] = malloc(kRoom);
  for (int i = 0; i < kRoom; ++i) memory[i] = (char)((unsigned)i * 2654435761u >> 13);
  if (rank == 0)
    printf("%-22s original, normalized in us; ratio and its quartiles of %d pairs\n", "layout",
           pairs);
  for (size_t l = 0; l < sizeof layouts / sizeof *layouts; ++l) {
    MPI_Datatype types[2];
    int size;
    types[0] = layouts[l].make();
    const double begin = MPI_Wtime();
    if (verity_type_normalize(types[0], &types[1]) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    const double seconds = MPI_Wtime() - begin;
    for (int which = 0; which < 2; ++which) MPI_Type_commit(&types[which]);
    MPI_Type_size(types[0], &size);
    if (rank == 0)
      printf("%-22s %d bytes, described by %d numbers, normalized by %d in %.0f us\n",
             layouts[l].name, size, numbers_of(types[0]), numbers_of(types[1]), seconds * 1e6);
    if (differ(types, size)) {
      printf("  WRONG: other data\n");
      ++wrong;
    }
    for (int operation = 0; operation < kOperations; ++operation)
      compare((enum operation)operation, types, size, pairs);
    for (int which = 0; which < 2; ++which) MPI_Type_free(&types[which]);
  }
  if (rank == 0) printf("%d layouts, %d wrong\n", (int)(sizeof layouts / sizeof *layouts), wrong);
  MPI_Finalize();
  return wrong != 0;
}
