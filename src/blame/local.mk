# SPDX-License-Identifier: BSD-3-Clause

EXTRA_DIST += src/blame/README.md
# In libverity_tools.la; the plugin does not need it.
blame_sources = \
	src/blame/evidence.cc src/blame/evidence.h \
	src/blame/suspects.cc src/blame/suspects.h \
	src/blame/trust.cc src/blame/trust.h \
	src/blame/verdict.cc src/blame/verdict.h
