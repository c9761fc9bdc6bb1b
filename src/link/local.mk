# SPDX-License-Identifier: BSD-3-Clause
libverity_core_la_SOURCES += \
  src/link/buffers.cc \
  src/link/buffers.h \
  src/link/control.cc \
  src/link/diagnose.cc \
  src/link/hub.cc \
  src/link/hub.h \
  src/link/link.h \
  src/link/pool.cc \
  src/link/pool.h \
  src/link/port.h \
  src/link/receiver.cc \
  src/link/repair.cc \
  src/link/repaired.cc \
  src/link/sender.cc \
  src/link/slot.h \
  src/link/timers.cc
