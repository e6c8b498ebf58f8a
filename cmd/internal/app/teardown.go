package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// A teardown stops the parts that New started, in reverse order of the pushes. New pushes the step of a part before
// anything after it can fail, so that an error half way through New leaves no goroutine and no lock behind. The
// dispatcher is pushed after the stations, because it must stop before they close.
type teardown struct {
	steps []step
	log   *slog.Logger
}

type step struct {
	name string // in the error and in the debug log
	stop func(context.Context) error
}

func (d *teardown) push(name string, stop func(context.Context) error) {
	d.steps = append(d.steps, step{name, stop})
}

// run runs all steps, once. A step that fails or takes longer than ctx does not stop the others: the
// database is closed last, and it must be closed.
// Every step ends soon after ctx has ended; only the stations may need storageTimeout (10 s) more, if
// a page was opened while the disk does not answer.
func (d *teardown) run(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(d.steps) {
		began := time.Now()
		if err := s.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
		d.log.Debug("stopped", "part", s.name, "took", time.Since(began))
	}

	// Run closes the App; a caller's deferred Close after it does nothing.
	d.steps = nil
	return errors.Join(errs...)
}
