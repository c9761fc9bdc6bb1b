# SPDX-License-Identifier: BSD-3-Clause

libverity_core_la_SOURCES += src/util/beyond_streams.h src/util/build_config.h
libverity_core_la_SOURCES += src/util/bytes.h src/util/complain.h \
	src/util/interposer.h src/util/list.h src/util/lock_soon.h src/util/memory_calls.h src/util/piece.h \
	src/util/text.h src/util/without_write_signals.h src/util/words.h src/util/write_all.h
