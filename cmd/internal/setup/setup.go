// Package setup loads a configuration for the daemon and for the commands that need none, so one that
// `ticketrail check` accepts is one that the daemon accepts.
package setup

import (
	"ticketrail/cmd/internal/notify"
	"ticketrail/config"
)

// Load reads a configuration file and checks all of it. The error is [config.Problems]. All problems are found
// in one run: to correct one and start again, ten times, takes too long on a Friday evening.
func Load(path string) (*config.Config, error) { return config.Load(path, notify.Problems) }
