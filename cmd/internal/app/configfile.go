package app

import (
	"errors"
	"sync"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/setup"
	"ticketrail/config"
)

// A configFile knows whether the daemon would start from the present files: the configuration, and the secrets and
// keys that it names. The running daemon does not notice a broken file, and the next boot, perhaps weeks later, would
// end without a kitchen. So all of it is read whenever somebody looks for findings, also without a reload.
type configFile struct {
	path string // empty: a daemon without one

	mu     sync.Mutex        // guards the fields below
	reload finding.Problem   // why the last reload failed although the file is valid; else zero
	found  []finding.Problem // at the last look
}

// reloaded stores how a reload went. A file that is valid and cannot be used, because a port is taken, stays a
// problem until the next reload.
func (f *configFile) reloaded(err error) {
	var failed finding.Problem
	if _, ok := errors.AsType[config.Problems](err); !ok && err != nil {
		failed = finding.Problem{Kind: "invalid", Text: err.Error()}
	}

	f.mu.Lock()
	f.reload = failed
	f.mu.Unlock()
	f.problems()
}

// problems are why the next start would fail; none if it would not. It reads the files that the next start would read,
// and applies nothing. An editor that is writing just then is judged again at the next look.
func (f *configFile) problems() []finding.Problem {
	if f.path == "" {
		return nil
	}

	_, err := setup.Load(f.path)
	found := setup.Problems(f.path, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reload.Kind != "" {
		found = append(found, f.reload)
	}
	f.found = found
	return found
}

// known are the problems of the last look. No file is read for it: the watchdog must not wait for a disk that may be
// another one than the orders'.
func (f *configFile) known() []finding.Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found
}
