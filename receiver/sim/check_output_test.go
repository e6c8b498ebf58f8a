package sim

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/receiver/contract"
)

func TestADuplicateThatComesLateIsFound(t *testing.T) {
	// A second ticket comes later than the first: possim must still be looking.
	synctest.Test(t, func(t *testing.T) {
		e := newTestEndpoint()
		e.opened = func(w writer, _ *http.Request, p contract.PrintRequest) bool {
			known := e.knows(p)
			if known {
				time.AfterFunc(time.Second, func() {
					e.mu.Lock()
					defer e.mu.Unlock()
					e.came = append(e.came, string(p.Raw))
				})
				e.answer(w, 200, true)
			}
			return known
		}
		for _, r := range outputs(t, e, e.output(), nil) {
			repeated := strings.Contains(r.Name, "the same request") || strings.Contains(r.Name, "retr")
			if r.Verdict != Unseen && repeated != (r.Verdict == Fail) {
				t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Got)
			}
		}
	})
}

func TestASlowPrinterIsWaitedForWhileItPrints(t *testing.T) {
	// A printer that needs 10 s for each ticket still has those of all other checks to print.
	synctest.Test(t, func(t *testing.T) {
		e := newTestEndpoint()
		o, began := e.output(), time.Now()
		o.Count = func(_ context.Context, text string) (n int, _ error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			printed := e.came[:min(len(e.came), int(time.Since(began)/(10*time.Second)))]
			for _, ticket := range printed {
				n += strings.Count(ticket, text)
			}
			if text == "" {
				n = len(printed)
			}
			return n, nil
		}
		for _, r := range outputs(t, e, o, nil) {
			if r.Verdict == Fail || r.Name == "what comes out: an order" && r.Verdict != Pass {
				t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Got)
			}
		}
	})
}

func TestWhatNothingSeesIsUnseen(t *testing.T) {
	// A row is named by a part of its name; the others must have the verdict of "".
	type verdicts map[string]Verdict
	type restarting = func(context.Context) error
	restart := func(context.Context) error { return nil }
	notSeen := verdicts{"": Pass, "printer or display": Unseen, "killed": Unseen, "a restart": Unseen}
	counted := verdicts{"": Pass, "printer or display": Unseen, "two records": Unseen, "a modifier": Unseen}
	with := func(v verdicts, part string, verdict Verdict) verdicts {
		v = maps.Clone(v)
		v[part] = verdict
		return v
	}
	// atFirst changes what came out when the endpoint is restarted for the first time.
	atFirst := func(e *testEndpoint, change func()) restarting {
		return func(context.Context) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.crashed++; e.crashed == 1 {
				change()
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		change  func(*testEndpoint) (*Output, restarting)
		want    verdicts
		because string // part of some row's text
	}{
		"no output": {func(*testEndpoint) (*Output, restarting) { return nil, restart },
			verdicts{"": Unseen}, "nothing sees what comes out"},
		"an output and no more": {func(e *testEndpoint) (*Output, restarting) {
			return e.output(), nil
		}, notSeen, "nothing can"},
		"everything": {func(e *testEndpoint) (*Output, restarting) {
			o := e.output()
			o.Off, o.Stall = nothingHappens, nothingHappens
			return o, restart
		}, verdicts{"": Pass}, "0 of them never came out"},
		// Two records may be one ticket, and a modifier is none.
		"a count": {func(e *testEndpoint) (*Output, restarting) { return e.counting(), restart },
			counted, "does not show it"},
		"nothing comes out": {func(*testEndpoint) (*Output, restarting) {
			return &Output{Count: func(context.Context, string) (int, error) { return 0, nil }}, restart
		}, verdicts{"": Unseen, ": an order\n": Fail}, "came out never"},
		"pictures come out": {func(e *testEndpoint) (*Output, restarting) {
			o := e.output()
			count := o.Count
			o.Count = func(ctx context.Context, text string) (int, error) {
				if text == "" {
					return count(ctx, text)
				}
				return 0, nil
			}
			return o, restart
		}, verdicts{"": Unseen}, "none has the name of the dish as text"},
		"the count fails": {func(*testEndpoint) (*Output, restarting) {
			return &Output{Count: func(context.Context, string) (int, error) {
				return 0, errors.New("no such table")
			}}, restart
		}, verdicts{"": Unseen}, "no such table"},
		"the restart fails": {func(e *testEndpoint) (*Output, restarting) {
			return e.output(), func(context.Context) error { return errors.New("no such unit") }
		}, notSeen, "no such unit"},
		// Once at the station and once at the pass: that is no duplicate.
		"two tickets for each order": {func(e *testEndpoint) (*Output, restarting) {
			o := e.output()
			count := o.Count
			o.Count = func(ctx context.Context, text string) (int, error) {
				n, err := count(ctx, text)
				return 2 * n, err
			}
			return o, restart
		}, verdicts{"": Pass, "printer or display": Unseen}, "came out 2 times; one order is 2"},
		// More tickets than orders: which one is missing is not seen.
		"a count after a crash that doubles": {func(e *testEndpoint) (*Output, restarting) {
			return e.counting(), atFirst(e, func() { e.came = append(e.came, "again") })
		}, with(counted, "killed", Unseen), "which of them are twice is not seen"},
		"a count after a crash that loses": {func(e *testEndpoint) (*Output, restarting) {
			return e.counting(), atFirst(e, func() { e.came = e.came[:len(e.came)-1] })
		}, with(counted, "killed", Fail), "accepted, "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEndpoint()
				o, restart := c.change(e)
				said := false
				for _, r := range outputs(t, e, o, restart) {
					want := c.want[""]
					for part, v := range c.want {
						if part != "" && strings.Contains(r.Name+"\n", part) {
							want = v
						}
					}
					if r.Verdict != want {
						t.Errorf("%s: %s, want %s: %s", r.Name, r.Verdict, want, r.Got)
					}
					said = said || strings.Contains(r.Got, c.because)
				}
				if !said {
					t.Errorf("no row says %q", c.because)
				}
			})
		})
	}
}

// output counts what the endpoint has accepted as new; each is one ticket.
func (e *testEndpoint) output() *Output {
	return &Output{Count: func(_ context.Context, text string) (n int, _ error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if text == "" {
			return len(e.came), nil
		}
		for _, ticket := range e.came {
			n += strings.Count(ticket, text)
		}
		return n, nil
	}}
}

// counting is the same output, seen by a command that counts tickets.
func (e *testEndpoint) counting() *Output {
	o := e.output()
	count := o.Count
	o.CountsTickets, o.Count = true, func(ctx context.Context, _ string) (int, error) { return count(ctx, "") }
	return o
}

func nothingHappens(bool) error { return nil }

// outputs are the verdicts of the rows that answers do not show, by a part of their names.
func outputs(t *testing.T, e *testEndpoint, o *Output, restart func(context.Context) error) (all []Result) {
	t.Helper()
	for _, r := range Check(t.Context(), CheckOptions{
		URL: "http://127.0.0.1/hook", Venues: []string{venueA}, Transport: inMemory(t, e), Load: 4, Output: o,
		Restart: restart,
	}) {
		if strings.HasPrefix(r.Name, "what comes out: ") {
			all = append(all, r)
		} else if r.Verdict != Pass {
			t.Errorf("%s: %s", r.Name, r.Got)
		}
	}
	if len(all) < 12 {
		t.Errorf("only %d rows are about what comes out", len(all))
	}
	return all
}
