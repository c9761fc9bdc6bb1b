# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += src/link/README.md
libverity_core_la_SOURCES += \
  src/link/control_sender.cc \
  src/link/control_sender.h \
  src/link/handshake.cc \
  src/link/handshake.h \
  src/link/hub.cc \
  src/link/hub.h \
  src/link/lifecycle.cc \
  src/link/lifecycle.h \
  src/link/port/faults.cc \
  src/link/port/faults.h \
  src/link/port/frame_writer.cc \
  src/link/port/frame_writer.h \
  src/link/port/interface.h \
  src/link/port/port.h \
  src/link/receiver.cc \
  src/link/receiver.h \
  src/link/retransmit_timer.cc \
  src/link/retransmit_timer.h \
  src/link/retransmitter.cc \
  src/link/retransmitter.h \
  src/link/sealing.cc \
  src/link/sealing.h \
  src/link/sender.cc \
  src/link/sender.h \
  src/link/state/bounce_buffers.cc \
  src/link/state/bounce_buffers.h \
  src/link/state/connection.h \
  src/link/state/control_queue.h \
  src/link/state/link.h \
  src/link/state/link_table.cc \
  src/link/state/link_table.h \
  src/link/state/pool.cc \
  src/link/state/pool.h \
  src/link/state/receive_window.cc \
  src/link/state/receive_window.h \
  src/link/state/send_window.h \
  src/link/state/slot.h \
  src/link/state/timer_wheel.h \
  src/link/zero_copy.cc \
  src/link/zero_copy.h
