# SPDX-License-Identifier: BSD-3-Clause
libverity_core_la_SOURCES += \
  src/wire/address.cc \
  src/wire/address.h \
  src/wire/am_ids.h \
  src/wire/codec.cc \
  src/wire/codec.h \
  src/wire/compact.h \
  src/wire/frame.h \
  src/wire/release.h
