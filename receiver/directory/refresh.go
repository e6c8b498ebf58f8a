package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"ticketrail/receiver/posapi"
)

// The pauses after failures double from the shortest to the longest: names should come back soon
// after a short outage, and a service that is down for a day should not be asked every minute.
//
// Run has one goroutine for each venue, which does its two tasks in turn. A round lasts until the
// venues or the source change; then all goroutines end and the next round starts with what is new.
// Between rounds nothing runs, so tasks need no lock.
const (
	firstWithin   = 5 * time.Second  // of the start, so that many venues are not refreshed at one moment
	shortestPause = time.Minute      // after a failure
	longestPause  = time.Hour        // the same
	askTimeout    = 15 * time.Minute // for a whole list: 10,000 employees are 500 pages of 20
	storeTimeout  = 30 * time.Second
)

var (
	errStoreTimeout = fmt.Errorf("not stored within %v", storeTimeout)
	errNoZone       = errors.New("no payroll period has a time zone; set the venue's timezone in the configuration")
)

// A task is one of the two requests about a venue, again and again. Only Run uses it. It keeps its
// due time over rounds, so a reload does not cause requests that are not due.
type task struct {
	step       step
	due        time.Time
	failed     int  // in a row
	incomplete bool // the last one was
}

// Run refreshes the venues until ctx ends: within seconds, then every few hours, after a failure
// sooner. When the venues or the source change, the requests under way are canceled, and the
// tasks that are due begin again. It must be called once, and returns when all requests have
// ended.
func (d *Directory) Run(ctx context.Context) {
	var last Source
	for ctx.Err() == nil {
		d.mu.Lock()
		src, venues, changed := d.source, *d.venues.Load(), d.changed
		d.mu.Unlock()
		d.deleteOthers(ctx, venues) // before requests begin, so that none can store a removed venue again
		round, stop := context.WithCancel(ctx)
		var refreshing sync.WaitGroup
		for _, v := range venues {
			soon := time.Now().Add(rand.N(firstWithin))
			for _, t := range v.tasks { // due together: then the employees are first
				// A new source means new credentials or another address: what failed before may
				// work now.
				if t.due.IsZero() || src != last {
					t.due, t.failed = soon, 0
				}
			}
			if src != nil {
				refreshing.Go(func() { d.refresh(round, src, v) })
			}
		}
		last = src
		select {
		case <-changed:
		case <-ctx.Done():
		}
		stop()
		refreshing.Wait() // or an answer of the old source could replace one of the new
	}
}

// refresh does the tasks of a venue, one at a time, until ctx ends. A venue has a goroutine of
// its own, so that one that hangs does not delay the others.
func (d *Directory) refresh(ctx context.Context, src Source, v *venue) {
	for {
		// The task that is due first. With a configured zone, payroll periods are not requested at
		// all.
		t := v.tasks[0]
		if other := v.tasks[1]; other.due.Before(t.due) && !v.zoned.Load() {
			t = other
		}
		select {
		case <-time.After(time.Until(t.due)):
		case <-ctx.Done():
			return
		}
		res, err := d.do(ctx, src, v, t.step)
		if ctx.Err() != nil {
			return // the error says nothing about the service
		}
		d.report(v, t.step, res, err)
		t.due = time.Now().Add(t.pause(d.every, res, err))
	}
}

// do does a step once. A panic over an answer must not end the program that prints.
func (d *Directory) do(ctx context.Context, src Source, v *venue, s step) (res result, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("panic while a venue was refreshed; tickets are not affected",
				"venue", v.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res, err = failed, errors.New("panic, see the log")
		}
	}()
	timed, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no complete answer within %v", askTimeout))
	defer cancel()
	ask := d.askEmployees
	if s == payroll {
		ask = d.askZone
	}
	next, err := (*record)(nil), verify(timed, src, v)
	if err == nil {
		next, err = ask(timed, src, v)
	}
	switch {
	case timed.Err() != nil: // what was received by then may be incomplete
		return failed, context.Cause(timed)
	case next == nil:
		return failed, err
	case next != v.known.Load(): // in use at once, then stored: a slow disk must not delay names
		v.known.Store(next)
		d.store(ctx, v)
	}
	if err != nil {
		return incomplete, err
	}
	return ok, nil
}

// verify asks which venue the token is for. The names of another venue's people on a ticket, or its
// time zone, would be wrong without anybody noticing. A service that names no venue cannot be checked.
func verify(ctx context.Context, src Source, v *venue) error {
	me, err := src.Me(ctx, v.id)
	if err != nil {
		return err
	}
	if me.Venue != "" && me.Venue != v.id {
		return fmt.Errorf("the token is for venue %s, so its answers are not used: check the venue's id in the "+
			"configuration, and service.token.venue_param", me.Venue)
	}
	return nil
}

// askEmployees returns what is known with the venue's employees, and why some may be missing. When
// the list breaks off it returns nil: an employee who is missing in it may be on the next page. A
// list whose count is wrong is used for its names, but no employee counts as gone.
func (d *Directory) askEmployees(ctx context.Context, src Source, v *venue) (*record, error) {
	l := list{people: map[string]person{}, complete: true}
	var problem error
	for e, err := range src.Employees(ctx, v.id) {
		if _, ok := errors.AsType[*posapi.CountError](err); ok {
			problem = err
			break
		}
		if err != nil {
			return nil, err
		}
		if !l.add(e) {
			problem = fmt.Errorf("more than %d employees; the others print as the end of their id", maxPeople)
			break
		}
	}
	l.complete = problem == nil
	return v.known.Load().with(l), problem
}

// askZone returns what is known with the time zone of the newest payroll period: that is the one
// active now or soon. A zone that was known stays until there is another.
func (d *Directory) askZone(ctx context.Context, src Source, v *venue) (*record, error) {
	periods, err := src.PayrollPeriods(ctx, v.id)
	if _, ok := errors.AsType[*posapi.CountError](err); err != nil && !ok {
		return nil, err
	}
	zone := newestZone(periods)
	if zone == "" {
		return v.known.Load(), cmp.Or(err, errNoZone)
	}
	next := v.known.Load().later()
	next.Zone = zone
	return next, err
}

// newestZone is the time zone of the period that starts last; of several, the one that ends last,
// then the one that was changed last. Periods without a zone do not count.
func newestZone(periods []posapi.PayrollPeriod) string {
	var newest posapi.PayrollPeriod
	for _, p := range periods {
		newer := cmp.Or(cmp.Compare(p.Start, newest.Start), cmp.Compare(p.End, newest.End),
			p.UpdatedAt.Compare(newest.UpdatedAt))
		if p.Meta.Timezone != "" && newer > 0 {
			newest = p
		}
	}
	return newest.Meta.Timezone
}

// report counts an outcome. It logs the same error only once. A service that is down for a day
// makes one line, not hundreds; the metrics count each time.
func (d *Directory) report(v *venue, s step, res result, err error) {
	d.metrics.WithLabelValues(v.id, string(s), string(res)).Inc()
	last, done := v.errs.Swap(s, err)
	old, _ := last.(error)
	switch r := v.known.Load(); {
	case err == nil && (old != nil || !done && s != storing):
		d.log.Info("venue refreshed", "step", s, "venue", v.id, "employees", len(r.People), "timezone", r.Zone)
	case err != nil && (old == nil || old.Error() != err.Error()):
		d.log.Warn(problems[s], "venue", v.id, "err", err)
	}
}

// pause is how long to wait before the next time.
func (t *task) pause(every time.Duration, res result, err error) time.Duration {
	if res == failed {
		t.failed++
		// The shift is limited, or a long outage would overflow it.
		most := min(every, longestPause, shortestPause<<min(t.failed-1, 10))
		pause := most/2 + rand.N(most/2+1)
		// A service that asks for a longer pause gets it, but a nonsensical one must not end refreshes.
		if e, ok := errors.AsType[*posapi.Error](err); ok {
			pause = max(pause, min(e.RetryAfter, every))
		}
		return pause
	}
	t.failed = 0
	// An employee was hired while the list was read: it is worth reading again soon, but once only.
	if res == incomplete && !t.incomplete {
		every = min(every, shortestPause)
	}
	t.incomplete = res == incomplete
	return every*9/10 + rand.N(every/5+1) // give or take a tenth, so that venues drift apart
}
