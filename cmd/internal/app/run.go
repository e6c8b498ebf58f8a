package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A graceful stop must end before systemd kills the daemon: TimeoutStopSec is 30 s in the unit
// file. The steps of a stop and their longest times are:
//
//	12 s  ticketTimeout: the tickets that are being printed may finish
//	10 s  then they are interrupted; only a station that ignores this takes so long (dispatch.Stop)
//	 6 s  the webhook answers the requests in progress (contract.WebhookTimeout and 1 s);
//	      the other servers stop at the same time and faster
//
// This is 28 s, stopTimeout. Closing the parts has the rest of it, which is nothing only if a station
// and a request hang in the same stop. The database is closed in any case; a disk that does not answer
// then delays the end no longer. A kill by systemd would lose nothing either: it is a crash, and every
// promise holds through a crash.
const (
	stopTimeout   = 28 * time.Second
	ticketTimeout = 12 * time.Second
)

// Run serves until ctx ends or a part fails. Then it stops gracefully: it finishes the tickets that
// are being printed, answers the requests in progress and closes the database. It returns nil if ctx
// ended and everything stopped without an error.
func (a *App) Run(ctx context.Context) error {
	// Not derived from ctx: the servers must go on after ctx has ended, until printing has stopped.
	serving, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var wg sync.WaitGroup
	for _, s := range a.serve {
		wg.Go(func() {
			if err := s.run(serving); err != nil {
				stop(fmt.Errorf("%s: %w", s.name, err))
			}
		})
	}

	wg.Go(func() { a.runWatchdog(serving) })
	conf := a.startConfig
	a.log.Info("ready", "webhook", addrString(a.webhookAt), "metrics", addrString(a.metricsAt),
		"display", addrString(a.DisplayAddr()), "stations", len(conf.Stations()), "venues", len(conf.Venues))
	a.tellSystemd("READY=1\nSTATUS=" + a.statusLine())

	for {
		select {
		case <-a.o.Reload:
			// The outcome is in the log and the metrics; a signal has no answer.
			_, _ = a.Reload()
			continue
		case <-ctx.Done():
		case <-serving.Done():
		}
		break
	}

	cause := context.Cause(serving)
	if cause == nil {
		cause = context.Cause(ctx)
	}

	a.log.Info("stopping", "reason", cause)
	a.tellSystemd("STOPPING=1\nSTATUS=finishing the current tickets")
	// Printing stops first, because a ticket may take seconds. The webhook still accepts
	// orders, because the service gives up after three retries. They print after the next start.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	stopped := a.stopPrinting(stopping)

	// Ends the servers: each answers the requests that it has begun, within its own grace.
	stop(nil)
	wg.Wait()
	err := errors.Join(stopped, a.down.run(stopping))

	// A stop by signal is no failure: systemd would otherwise show the unit as failed after each
	// stop.
	if ctx.Err() == nil { // a part failed
		err = errors.Join(cause, err)
	}
	a.log.Info("stopped")
	return err
}

// stopPrinting waits for the tickets that are being printed, at most ticketTimeout. A ticket that
// takes longer is interrupted; it is then in doubt and prints with a banner after the next start.
// Run calls it first. The teardown calls it again for an App that was never run; after Run that call
// does nothing, so that a station that hangs is waited for only once.
func (a *App) stopPrinting(ctx context.Context) (err error) {
	a.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, ticketTimeout)
		defer cancel()
		err = a.dispatch.Stop(ctx)
	})
	return err
}

// Close closes everything that New opened. Call it only for an App that was never run: Run closes the
// App itself, and a deferred Close after it does nothing. It has its own time limit: the context of a
// caller has usually ended before.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return a.down.run(ctx)
}
