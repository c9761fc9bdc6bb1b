// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_FAULT_REPORT_H
#define VERITY_TEST_FAULT_REPORT_H

namespace verity::fault {

// Appends the report of this process to the file UCX_FAULT_REPORT (%p: process id, %h: host name;
// '-': stderr). Nothing if the variable is empty. Called when the process ends.
void write_report() noexcept;

}  // namespace verity::fault

#endif
