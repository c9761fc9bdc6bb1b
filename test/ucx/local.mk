# SPDX-License-Identifier: BSD-3-Clause

# Programs on the public UCT and UCP interfaces; test/integration runs them.
check_PROGRAMS += association close_threads contexts flush_threads kept_messages lanes own_worker segments uct_am ucp_order wakeup peer_death steady turns two_workers
# What they share.
EXTRA_LTLIBRARIES += libucx_peer.la
libucx_peer_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
libucx_peer_la_SOURCES = \
	test/ucx/flow.cc test/ucx/flow.h \
	test/ucx/peer.cc test/ucx/peer.h \
	test/ucx/ucp_peer.cc test/ucx/ucp_peer.h \
	test/ucx/window.cc test/ucx/window.h

check_PROGRAMS += client_server
client_server_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
client_server_LDADD = $(UCX_LIBS)
client_server_SOURCES = test/ucx/client_server.cc

uct_am_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
uct_am_LDADD = libucx_peer.la $(UCX_LIBS)
uct_am_SOURCES = \
	test/ucx/cases/cases.h \
	test/ucx/cases/async.cc \
	test/ucx/cases/closing.cc \
	test/ucx/cases/completion.cc \
	test/ucx/cases/lifetime.cc \
	test/ucx/cases/links.cc \
	test/ucx/cases/memory.cc \
	test/ucx/cases/reads.cc \
	test/ucx/cases/failover.cc \
	test/ucx/cases/flush.cc \
	test/ucx/cases/fork.cc \
	test/ucx/cases/queue.cc \
	test/ucx/cases/receive.cc \
	test/ucx/cases/rma.cc \
	test/ucx/cases/rma_order.cc \
	test/ucx/cases/send.cc \
	test/ucx/cases/setup.cc \
	test/ucx/cases/pending.h \
	test/ucx/uct_am.cc

# With the interposer's UCP calls in the program, where the plugin finds them.
association_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
association_LDADD = libverity_ucp_calls.la $(UCX_LIBS) -lpthread -ldl
association_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
association_SOURCES = test/ucx/association.cc test/ucx/association.h test/ucx/own_requests.h

close_threads_CPPFLAGS = $(association_CPPFLAGS)
close_threads_LDADD = $(association_LDADD)
close_threads_LDFLAGS = $(association_LDFLAGS)
close_threads_SOURCES = test/ucx/close_threads.cc test/ucx/two_ucp_workers.h

flush_threads_CPPFLAGS = $(association_CPPFLAGS)
flush_threads_LDADD = $(association_LDADD)
flush_threads_LDFLAGS = $(association_LDFLAGS)
flush_threads_SOURCES = test/ucx/flush_threads.cc test/ucx/two_ucp_workers.h

turns_CPPFLAGS = $(association_CPPFLAGS)
turns_LDADD = $(association_LDADD)
turns_LDFLAGS = $(association_LDFLAGS)
turns_SOURCES = test/ucx/turns.cc test/ucx/association.h

segments_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
segments_LDADD = $(UCX_LIBS)
segments_SOURCES = test/ucx/segments.cc

contexts_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
contexts_LDADD = $(UCX_LIBS) -lpthread
contexts_SOURCES = test/ucx/contexts.cc

lanes_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
lanes_LDADD = libucx_peer.la $(UCX_LIBS)
lanes_SOURCES = test/ucx/cases/cases.h test/ucx/lanes.cc

wakeup_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
wakeup_LDADD = libucx_peer.la $(UCX_LIBS)
wakeup_SOURCES = test/ucx/wakeup.cc

own_worker_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
own_worker_LDADD = libucx_peer.la $(UCX_LIBS)
own_worker_SOURCES = test/ucx/own_worker.cc

ucp_order_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
ucp_order_LDADD = libucx_peer.la $(UCX_LIBS)
ucp_order_SOURCES = test/ucx/put_model.h test/ucx/ucp_order.cc

kept_messages_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
kept_messages_LDADD = libucx_peer.la $(UCX_LIBS)
kept_messages_SOURCES = test/ucx/kept_messages.cc

two_workers_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
two_workers_LDADD = libucx_peer.la $(UCX_LIBS)
two_workers_SOURCES = test/ucx/two_workers.cc

peer_death_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
peer_death_LDADD = libucx_peer.la $(UCX_LIBS)
peer_death_SOURCES = test/ucx/peer_death.cc

steady_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
steady_LDADD = libucx_peer.la $(UCX_LIBS) -ldl
steady_SOURCES = test/ucx/count.h test/ucx/steady.cc

# A preload: the process of another release.
check_LTLIBRARIES += libverity_other_release.la
libverity_other_release_la_SOURCES = test/ucx/other_release.c
libverity_other_release_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
libverity_other_release_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
libverity_other_release_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# A preload, so visible symbols; -fno-builtin as it defines malloc itself.
check_LTLIBRARIES += libverity_count.la
libverity_count_la_SOURCES = test/ucx/count.c test/ucx/count.h
libverity_count_la_CFLAGS = $(AM_CFLAGS) -fno-builtin -fvisibility=default
libverity_count_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
