# SPDX-License-Identifier: BSD-3-Clause

# What a site's monitoring needs, to be copied from $(datadir)/ucx-verity/health; written when installing, as it names folders.
healthdir = $(datadir)/ucx-verity/health
healthexecdir = $(libexecdir)/ucx-verity
health_files = \
	contrib/health/logrotate.conf \
	contrib/health/slurm.conf.example \
	contrib/health/tmpfiles.conf \
	contrib/health/ucx-verity-export.service \
	contrib/health/ucx-verity-export.timer \
	contrib/health/ucx-verity.dashboard.json \
	contrib/health/ucx-verity.rules.yml \
	contrib/health/ucx_verity.nhc
health_scripts = contrib/health/slurm-health-check contrib/health/slurm-task-prolog
fill_health_file = $(SED) -e 's|@bindir[@]|$(bindir)|g' -e 's|@healthdir[@]|$(healthdir)|g' -e 's|@libexecdir[@]|$(libexecdir)|g' -e 's|@ledgerdir[@]|$(localstatedir)/lib/ucx-verity|g'
EXTRA_DIST += $(health_files) $(health_scripts)

install-data-local: install-health
.PHONY: install-health
install-health:
	$(MKDIR_P) "$(DESTDIR)$(healthdir)" "$(DESTDIR)$(healthexecdir)"
	for file in $(health_files); do \
	  $(fill_health_file) "$(srcdir)/$$file" > "$(DESTDIR)$(healthdir)/$${file##*/}" || exit 1; \
	done
	for file in $(health_scripts); do \
	  $(fill_health_file) "$(srcdir)/$$file" > "$(DESTDIR)$(healthexecdir)/$${file##*/}" && \
	  chmod 755 "$(DESTDIR)$(healthexecdir)/$${file##*/}" || exit 1; \
	done

uninstall-local: uninstall-health
.PHONY: uninstall-health
uninstall-health:
	for file in $(health_files); do rm -f "$(DESTDIR)$(healthdir)/$${file##*/}"; done
	for file in $(health_scripts); do rm -f "$(DESTDIR)$(healthexecdir)/$${file##*/}"; done
	-rmdir "$(DESTDIR)$(healthdir)" "$(DESTDIR)$(healthexecdir)" 2>/dev/null

TESTS += test/integration/health/check.sh test/integration/health/site_files.sh test/integration/health/user_files.sh test/integration/health/monitoring.sh test/integration/health/report_page.sh test/integration/health/slurm.sh
EXTRA_DIST += test/integration/health/check.sh test/integration/health/site_files.sh test/integration/health/user_files.sh test/integration/health/monitoring.sh test/integration/health/report_page.sh test/integration/health/slurm.sh test/integration/slurm_node.sh test/integration/mpi/hosts.sh
