// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MPI_CHECK_SEND_FAMILY_H
#define VERITY_MPI_CHECK_SEND_FAMILY_H

#include <cstdint>

namespace verity::mpi {

// Which call sent, for the receiver, in the record's family. On the wire: the numbers stay.
enum SendFamily : uint8_t {
  kUnknownFamily = 0,
  kSend = 1,
  kIsend = 2,
  kSsend = 3,
  kIssend = 4,
  kRsend = 5,
  kIrsend = 6,
  kBsend = 7,
  kIbsend = 8,
  kSendrecv = 9,
  kSendrecvReplace = 10,
  kIsendrecv = 11,
  kSendInit = 12,
  kPsendInit = 13,
  kOtherSendInit = 14,
};
inline constexpr const char* kFamilies[] = {"a send",
                                            "MPI_Send",
                                            "MPI_Isend",
                                            "MPI_Ssend",
                                            "MPI_Issend",
                                            "MPI_Rsend",
                                            "MPI_Irsend",
                                            "MPI_Bsend",
                                            "MPI_Ibsend",
                                            "MPI_Sendrecv",
                                            "MPI_Sendrecv_replace",
                                            "MPI_Isendrecv",
                                            "MPI_Send_init",
                                            "MPI_Psend_init",
                                            "MPI_Bsend_init, MPI_Ssend_init or MPI_Rsend_init"};
// Also of a number that arrived.
[[nodiscard]] constexpr const char* family_name(uint8_t family) noexcept {
  return family < sizeof(kFamilies) / sizeof(kFamilies[0]) ? kFamilies[family] : kFamilies[0];
}

}  // namespace verity::mpi

#endif
