package app

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

// addressEvery is how often the address is asked: a tunnel that has ended is told long before silence is.
const addressEvery = 5 * time.Minute

// An address asks the webhook at the address that the service uses, as `ticketrail doctor` does.
type address struct {
	config func() *config.Config
	told   atomic.Pointer[askedAddress]
}

// An askedAddress is the state of the address of a configuration.
type askedAddress struct {
	of    *config.Config
	found []finding.Finding
}

// run asks until ctx ends, for the first time when a box that has just started has its network.
func (a *address) run(ctx context.Context) error {
	answered := false
	for wait := time.Minute; ; wait = addressEvery {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}

		conf := a.config()
		found := doctor.WebhookFindings(ctx, conf)
		answered = answered || slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Level == finding.OK })
		if !answered { // many routers do not lead their own address back inside, so that proves nothing
			found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.ID == doctor.NoAnswer })
		}
		a.told.Store(&askedAddress{conf, found})
	}
}

// findings are the ones of the last look, unless a reload has perhaps corrected the address.
func (a *address) findings() []finding.Finding {
	if told := a.told.Load(); told != nil && told.of == a.config() {
		return told.found
	}
	return nil
}
