package directory

import (
	"cmp"
	"context"
	"encoding/json"
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

// A job is one thing that is asked about one venue, again and again. Each has a goroutine of
// its own, so that nothing that hangs delays anything else.
type job struct {
	v    *venue
	step step
}

// Run asks until ctx ends: at once, a little scattered, then every few hours; after a failure
// sooner. It is to be called once and returns when everything under way has ended.
func (d *Directory) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	type run struct {
		stop  context.CancelFunc
		ended chan struct{}
	}
	running := map[job]run{}
	latest := map[string]chan struct{}{} // of a venue's step: closed when its latest job has ended
	for generation := 0; ; {
		src, jobs, changed, g := d.wanted()
		var leaving []run
		for j, r := range running {
			if g != generation || !slices.Contains(jobs, j) {
				r.stop()
				leaving = append(leaving, r)
				delete(running, j)
			}
		}
		generation = g
		all.Go(func() {
			for _, r := range leaving {
				<-r.ended // or it would put back what is swept away
			}
			d.sweep(ctx)
		})
		for _, j := range jobs {
			if _, ok := running[j]; ok {
				continue
			}
			one, stop := context.WithCancel(ctx)
			r := run{stop, make(chan struct{})}
			running[j] = r
			name := key(j.v.id, string(j.step))
			before := latest[name]
			latest[name] = r.ended
			all.Go(func() {
				defer close(r.ended)
				defer stop()
				if before != nil {
					<-before // or it would put what the old source said over what the new one says
				}
				d.repeat(one, src, j)
			})
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// wanted is what is to be done now, and what is closed when it is something else.
func (d *Directory) wanted() (src Source, jobs []job, changed <-chan struct{}, generation int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.source == nil {
		return nil, nil, d.changed, d.generation
	}
	for _, v := range *d.venues.Load() {
		jobs = append(jobs, job{v, employees})
		if !v.zoned {
			jobs = append(jobs, job{v, payroll})
		}
	}
	return d.source, jobs, d.changed, d.generation
}

// repeat does a job until ctx ends.
func (d *Directory) repeat(ctx context.Context, src Source, j job) {
	p := pacer{every: d.every}
	for pause := rand.N(firstWithin); ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		res, err := d.once(ctx, src, j)
		if ctx.Err() != nil {
			return // whatever it was, it says nothing about the service
		}
		d.report(j, res, err)
		pause = p.next(res, err)
	}
}

// once does a job. Nothing that an answer does to us may end the program that prints.
func (d *Directory) once(ctx context.Context, src Source, j job) (res result, err error) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Error("a panic while a venue was asked about; tickets are not affected", "venue", j.v.id, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			res, err = failed, errors.New("a panic; see the log")
		}
	}()
	ask, cancel := context.WithTimeoutCause(ctx, askPatience, fmt.Errorf("not done after %v", askPatience))
	defer cancel()
	if j.step == employees {
		return d.people(ctx, ask, src, j.v)
	}
	return d.zone(ctx, ask, src, j.v)
}

// people learns who works at a venue. A list that breaks off is of no use: who is missing in it
// may be on the next page, and what is new in it comes with the next try.
func (d *Directory) people(ctx, ask context.Context, src Source, v *venue) (result, error) {
	l := list{people: map[id]string{}, whole: true}
	var odd error
	for e, err := range src.Employees(ask, v.id) {
		if _, ok := errors.AsType[*posapi.CountError](err); ok {
			l.whole, odd = false, err
			break
		}
		if err != nil {
			return failed, cmp.Or(gaveUp(ask), err)
		}
		if !l.add(e) {
			l.whole, odd = false, fmt.Errorf("more than %d employees; the others print as the end of their id", maxPeople)
			break
		}
	}
	if err := gaveUp(ask); err != nil {
		return failed, err
	}
	next := v.roll.Load().after(l, d.keep)
	v.roll.Store(next)
	if l.skipped > 0 && odd == nil {
		d.log.Debug("employees without a usable id or name print as the end of their id", "venue", v.id, "employees", l.skipped)
	}
	d.store(ctx, v, aboutPeople, next.encode())
	if odd != nil {
		return incomplete, odd
	}
	return ok, nil
}

// zone learns a venue's time zone, from the period that began last: the service copies the
// venue's settings into each. A zone that was known stays until there is another.
func (d *Directory) zone(ctx, ask context.Context, src Source, v *venue) (result, error) {
	periods, odd := src.PayrollPeriods(ask, v.id)
	if _, ok := errors.AsType[*posapi.CountError](odd); odd != nil && !ok {
		return failed, cmp.Or(gaveUp(ask), odd)
	}
	if err := gaveUp(ask); err != nil {
		return failed, err
	}
	name := newestZone(periods)
	if name == "" {
		return incomplete, cmp.Or(odd, errors.New("no payroll period says which time zone it is; set the venue's timezone in the configuration"))
	}
	if err := checkZone(name); err != nil {
		return failed, err
	}
	if *v.zone.Load() != name || v.zoneUnkept.Load() {
		v.zone.Store(&name)
		b, err := json.Marshal(zoneRecord{version, name})
		v.zoneUnkept.Store(err != nil || !d.store(ctx, v, aboutZone, b))
	}
	if odd != nil {
		return incomplete, odd
	}
	return ok, nil
}

// gaveUp is why ask is over, nil while it is not. What came by then may be half of something.
func gaveUp(ask context.Context) error {
	if ask.Err() == nil {
		return nil
	}
	return context.Cause(ask)
}

func newestZone(periods []posapi.PayrollPeriod) string {
	var newest posapi.PayrollPeriod
	for _, p := range periods {
		p.Meta.Timezone = strings.TrimSpace(p.Meta.Timezone)
		if p.Meta.Timezone != "" && (newest.Meta.Timezone == "" || cmp.Or(p.Start.Compare(newest.Start), p.End.Compare(newest.End), p.UpdatedAt.Compare(newest.UpdatedAt)) > 0) {
			newest = p
		}
	}
	return strings.Clone(newest.Meta.Timezone)
}

// store keeps what is in use already. It says whether that was done.
func (d *Directory) store(ctx context.Context, v *venue, about string, value []byte) bool {
	err := d.put(ctx, key(v.id, about), value)
	if ctx.Err() != nil {
		return false
	}
	res := ok
	if err != nil {
		res = failed
	}
	d.report(job{v, storing}, res, err)
	return err == nil
}

// report tells people, but the same thing only once.
func (d *Directory) report(j job, res result, err error) {
	d.metrics.count(j, res)
	j.v.mu.Lock()
	old, known := j.v.troubles[j.step]
	j.v.troubles[j.step] = err
	j.v.mu.Unlock()
	switch {
	case err == nil && (old != nil || !known && j.step != storing):
		d.log.Info(j.step.done(), "venue", j.v.id, "employees", len(j.v.roll.Load().people), "timezone", *j.v.zone.Load())
	case err != nil && (old == nil || old.Error() != err.Error()):
		d.log.Warn(j.step.undone(res), "venue", j.v.id, "err", err)
	}
}

// forgive forgets what was wrong with a step that is not done any more.
func (v *venue) forgive(s step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.troubles, s)
}

// A pacer says how long to wait.
type pacer struct {
	every      time.Duration
	failed     int // in a row
	incomplete bool
}

func (p *pacer) next(res result, err error) time.Duration {
	if res == failed {
		p.failed++
		longest := min(p.every, longestPause)
		whole := min(longest, shortestPause<<min(p.failed-1, 10))
		pause := whole/2 + rand.N(whole/2+1)
		if e, ok := errors.AsType[*posapi.Error](err); ok { // what the service asked for, within reason
			pause = max(pause, min(e.RetryAfter, p.every))
		}
		return pause
	}
	p.failed = 0
	// Somebody was hired while the list was read: a second look soon is worth it, a third is not.
	again := res == incomplete && !p.incomplete
	p.incomplete = res == incomplete
	whole := p.every
	if again {
		whole = min(whole, shortestPause)
	}
	return whole*9/10 + rand.N(whole/5+1)
}
