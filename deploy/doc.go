// Package deploy contains the files that install the daemon on a box: the systemd units, the
// configuration with every key explained, the user and the folders.
//
// Where each file goes:
//
//	ticketrail.service           /usr/lib/systemd/system/
//	relay/ticketrail-relay.service /usr/lib/systemd/system/
//	sysusers.d/ticketrail.conf   /usr/lib/sysusers.d/
//	tmpfiles.d/ticketrail.conf   /usr/lib/tmpfiles.d/
//	modules-load.d/ticketrail.conf /usr/lib/modules-load.d/
//	ticketrail.yaml              /etc/ticketrail/
//
// then
//
//	systemd-sysusers && systemd-tmpfiles --create && systemctl daemon-reload
//	systemctl enable --now ticketrail.service
//
// Tests compare the files with the program: the configuration has every key with the default of
// package config, and systemd reports nothing about the units.
package deploy

import "embed"

// Files are the files to install, under the names above.
//
//go:embed ticketrail.service ticketrail-backup.service ticketrail-backup.timer ticketrail.yaml low-port.conf
//go:embed README.md CHANGELOG.md prometheus proxy relay sysusers.d tmpfiles.d modules-load.d
var Files embed.FS

// Config is ticketrail.yaml: every key with its default and its effect.
//
//go:embed ticketrail.yaml
var Config string
