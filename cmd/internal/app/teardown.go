package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// A teardown takes apart what New put together: last in, first out. A step is registered
// on the line after the thing exists, so that a failure half way through New leaves
// neither a goroutine nor a lock behind.
type teardown struct {
	steps []step
	log   *slog.Logger
}

type step struct {
	name string
	stop func(context.Context) error
}

func (d *teardown) push(name string, stop func(context.Context) error) {
	d.steps = append(d.steps, step{name, stop})
}

// run stops everything, once. A step that fails or overruns ctx does not keep the others
// from running: the store is closed last and must be.
func (d *teardown) run(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(d.steps) {
		began := time.Now()
		if err := s.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
		d.log.Debug("stopped", "part", s.name, "took", time.Since(began))
	}
	d.steps = nil
	return errors.Join(errs...)
}
