// Package setup loads a configuration for the daemon and for the commands that need none, so one that
// `ticketrail check` accepts is one that the daemon accepts.
package setup

import (
	"errors"
	"strings"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/notify"
	"ticketrail/config"
)

// Load reads a configuration file and checks all of it. The error is [config.Problems]. All problems are found
// in one run: to correct one and start again, ten times, takes too long on a Friday evening.
func Load(path string) (*config.Config, error) { return config.Load(path, notify.Problems) }

// Refused are the findings by which a daemon does not start with the configuration at path; err is from [Load].
func Refused(path string, err error) (refused error) {
	for _, f := range (finding.Configuration{File: path, Refused: Problems(path, err)}).Findings() {
		if f.Level == finding.Fail {
			refused = errors.Join(refused, &finding.Error{Finding: f})
		}
	}
	return refused
}

// Problems are why a daemon would not start with the configuration at path; err is from [Load]. Another error
// is none of the configuration.
func Problems(path string, err error) (out []finding.Problem) {
	problems, _ := errors.AsType[config.Problems](err)
	for _, p := range problems {
		kind := "invalid"
		switch {
		case p.Path == path:
			kind = "unreadable"
		case strings.HasSuffix(p.Path, "_file"):
			kind = "secret_missing"
		}
		out = append(out, finding.Problem{Kind: kind, Text: p.Error()})
	}

	return out
}
