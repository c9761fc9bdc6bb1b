# SPDX-License-Identifier: BSD-3-Clause
libverity_core_la_SOURCES += \
  src/rma/answers.cc \
  src/rma/client.cc \
  src/rma/client.h \
  src/rma/descent.cc \
  src/rma/descent.h \
  src/rma/digests.cc \
  src/rma/hasher.h \
  src/rma/order.cc src/rma/order.h \
  src/rma/peer.h \
  src/rma/port.h \
  src/rma/regions.cc \
  src/rma/regions.h \
  src/rma/repair.cc \
  src/rma/requests.cc \
  src/rma/server.cc \
  src/rma/server.h src/rma/server_job.h \
  src/rma/spares.h src/rma/tickets.h \
  src/wire/rma.h

EXTRA_DIST += src/rma/README.md
