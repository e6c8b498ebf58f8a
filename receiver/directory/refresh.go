package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"ticketrail/receiver/posapi"
)

const (
	firstWithin   = 5 * time.Second  // of the start, so that many venues do not ask at one moment
	shortestPause = time.Minute      // after a failure
	longestPause  = time.Hour        // the same
	askPatience   = 15 * time.Minute // for a whole list: 10,000 people are 500 pages of 20
	storePatience = 30 * time.Second
)

var errTooLong = errors.New("the disk took too long")

// A task is one thing that is asked about one venue, again and again. Each has a goroutine of
// its own, so that nothing that hangs delays anything else; Run has it while none has.
type task struct {
	v          *venue
	step       step
	due        time.Time // zero: soon
	failed     int       // in a row
	incomplete bool      // so was the last
}

// Run asks until ctx ends: at once, a little scattered, then every few hours; after a failure
// sooner. When the venues or the source change, what is under way ends, and all begin again with
// what is due. It is to be called once and returns when everything under way has ended.
func (d *Directory) Run(ctx context.Context) {
	var last Source
	for ctx.Err() == nil {
		src, tasks, changed := d.wanted()
		if src != last {
			for _, t := range tasks {
				t.due, t.failed = time.Time{}, 0
			}
		}
		last = src
		d.sweep(ctx)
		round, stop := context.WithCancel(ctx)
		var asking sync.WaitGroup
		for _, t := range tasks {
			asking.Go(func() { d.repeat(round, src, t) })
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
		stop()
		asking.Wait() // or what the old source said would be put over what the new one says
	}
}

// wanted is what is to be done now, and what is closed when it is something else.
func (d *Directory) wanted() (src Source, tasks []*task, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.source != nil {
		for _, v := range *d.venues.Load() {
			tasks = append(tasks, v.tasks[0])
			if !v.zoned {
				tasks = append(tasks, v.tasks[1])
			}
		}
	}
	return d.source, tasks, d.changed
}

// repeat does a task until ctx ends.
func (d *Directory) repeat(ctx context.Context, src Source, t *task) {
	if t.due.IsZero() {
		t.due = time.Now().Add(rand.N(firstWithin))
	}
	for {
		select {
		case <-time.After(time.Until(t.due)):
		case <-ctx.Done():
			return
		}
		res, err := d.once(ctx, src, t)
		if ctx.Err() != nil {
			return // whatever it was, it says nothing about the service
		}
		d.report(t.v, t.step, res, err)
		t.due = time.Now().Add(t.pause(d.every, res, err))
	}
}

// once does a task. Nothing that an answer does to us may end the program that prints.
func (d *Directory) once(ctx context.Context, src Source, t *task) (res result, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("a panic while a venue was asked about; tickets are not affected", "venue", t.v.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res, err = failed, errors.New("a panic; see the log")
		}
	}()
	ask, cancel := context.WithTimeoutCause(ctx, askPatience, fmt.Errorf("not done after %v", askPatience))
	defer cancel()
	var next func(*record) *record
	if t.step == employees {
		res, next, err = d.people(ask, src, t.v)
	} else {
		res, next, err = d.zone(ask, src, t.v)
	}
	if ask.Err() != nil { // what came by then may be half of something
		return failed, context.Cause(ask)
	}
	if next != nil {
		d.learn(ctx, t.v, next)
	}
	return res, err
}

// people learns who works at a venue. A list that breaks off is of no use: who is missing in it
// may be on the next page, and what is new in it comes with the next try.
func (d *Directory) people(ctx context.Context, src Source, v *venue) (result, func(*record) *record, error) {
	l := list{people: map[string]person{}, whole: true}
	var odd error
	for e, err := range src.Employees(ctx, v.id) {
		if _, ok := errors.AsType[*posapi.CountError](err); ok {
			odd = err
			break
		}
		if err != nil {
			return failed, nil, err
		}
		if !l.add(e) {
			odd = fmt.Errorf("more than %d employees; the others print as the end of their id", maxPeople)
			break
		}
	}
	res := ok
	if odd != nil {
		res, l.whole = incomplete, false
	} else if l.skipped > 0 {
		d.log.Debug("employees without a usable id or name print as the end of their id", "venue", v.id, "employees", l.skipped)
	}
	return res, func(r *record) *record { return r.with(l, d.keep) }, odd
}

// zone learns a venue's time zone, from the period that began last: the service copies the
// venue's settings into each. A zone that was known stays until there is another.
func (d *Directory) zone(ctx context.Context, src Source, v *venue) (result, func(*record) *record, error) {
	periods, odd := src.PayrollPeriods(ctx, v.id)
	if _, ok := errors.AsType[*posapi.CountError](odd); odd != nil && !ok {
		return failed, nil, odd
	}
	name := newestZone(periods)
	if name == "" {
		return incomplete, nil, cmp.Or(odd, errors.New("no payroll period says which time zone it is; set the venue's timezone in the configuration"))
	}
	res := ok
	if odd != nil {
		res = incomplete
	}
	return res, func(r *record) *record {
		next := r.later()
		next.Zone = name
		return next
	}, odd
}

func newestZone(periods []posapi.PayrollPeriod) string {
	periods = slices.DeleteFunc(slices.Clone(periods), func(p posapi.PayrollPeriod) bool { return p.Meta.Timezone == "" })
	if len(periods) == 0 {
		return ""
	}
	return slices.MaxFunc(periods, func(a, b posapi.PayrollPeriod) int {
		return cmp.Or(strings.Compare(a.Start, b.Start), strings.Compare(a.End, b.End), a.UpdatedAt.Compare(b.UpdatedAt))
	}).Meta.Timezone
}

// learn uses something new at once and then keeps it. Of two at a time the later Put has both.
func (d *Directory) learn(ctx context.Context, v *venue, next func(*record) *record) {
	v.mu.Lock()
	v.known.Store(next(v.known.Load()))
	v.mu.Unlock()
	if d.shelf == nil {
		return
	}
	res, err := ok, d.store(ctx, v)
	if err != nil {
		res = failed
	}
	if ctx.Err() == nil {
		d.report(v, storing, res, err)
	}
}

func (d *Directory) store(ctx context.Context, v *venue) error {
	ctx, cancel := context.WithTimeoutCause(ctx, storePatience, errTooLong)
	defer cancel()
	select {
	case v.storing <- struct{}{}:
		defer func() { <-v.storing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	value, err := v.known.Load().encode()
	if err != nil {
		return err
	}
	return d.shelf.Put(ctx, v.id, value)
}

// report tells people, but the same thing only once.
func (d *Directory) report(v *venue, s step, res result, err error) {
	d.metrics.count(v.id, outcome{s, res})
	v.mu.Lock()
	old, known := v.troubles[s]
	v.troubles[s] = err
	v.mu.Unlock()
	text := outcomes[outcome{s, res}]
	switch r := v.known.Load(); {
	case err == nil && (old != nil || !known && s != storing):
		d.log.Info(text, "venue", v.id, "employees", len(r.People), "timezone", r.Zone)
	case err != nil && (old == nil || old.Error() != err.Error()):
		d.log.Warn(text, "venue", v.id, "err", err)
	}
}

// pause is how long to wait before the next time.
func (t *task) pause(every time.Duration, res result, err error) time.Duration {
	if res == failed {
		t.failed++
		whole := min(every, longestPause, shortestPause<<min(t.failed-1, 10))
		pause := whole/2 + rand.N(whole/2+1)
		if e, ok := errors.AsType[*posapi.Error](err); ok { // what the service asked for, within reason
			pause = max(pause, min(e.RetryAfter, every))
		}
		return pause
	}
	t.failed = 0
	// Somebody was hired while the list was read: a second look soon is worth it, a third is not.
	if again := res == incomplete && !t.incomplete; again {
		every = min(every, shortestPause)
	}
	t.incomplete = res == incomplete
	return every*9/10 + rand.N(every/5+1)
}
