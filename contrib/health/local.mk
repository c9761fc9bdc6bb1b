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
fill_health_file = $(SED) -e 's|@bindir[@]|$(bindir)|g' -e 's|@libexecdir[@]|$(libexecdir)|g' -e 's|@ledgerdir[@]|$(localstatedir)/lib/ucx-verity|g'
EXTRA_DIST += $(health_files) contrib/health/slurm-health-check

install-data-local: install-health
.PHONY: install-health
install-health:
	$(MKDIR_P) "$(DESTDIR)$(healthdir)" "$(DESTDIR)$(healthexecdir)"
	for file in $(health_files); do \
	  $(fill_health_file) "$(srcdir)/$$file" > "$(DESTDIR)$(healthdir)/$${file##*/}" || exit 1; \
	done
	$(fill_health_file) $(srcdir)/contrib/health/slurm-health-check > "$(DESTDIR)$(healthexecdir)/slurm-health-check"
	chmod 755 "$(DESTDIR)$(healthexecdir)/slurm-health-check"

uninstall-local: uninstall-health
.PHONY: uninstall-health
uninstall-health:
	for file in $(health_files); do rm -f "$(DESTDIR)$(healthdir)/$${file##*/}"; done
	rm -f "$(DESTDIR)$(healthexecdir)/slurm-health-check"
	-rmdir "$(DESTDIR)$(healthdir)" "$(DESTDIR)$(healthexecdir)" 2>/dev/null

TESTS += test/integration/check.sh test/integration/monitoring.sh test/integration/report_page.sh test/integration/slurm.sh
EXTRA_DIST += test/integration/check.sh test/integration/monitoring.sh test/integration/report_page.sh test/integration/slurm.sh test/integration/hosts.sh
