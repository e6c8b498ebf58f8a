package printer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/printer"
	"ticketrail/printer/escpos"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/queuetest"
	"ticketrail/queue/ticket"
)

// A guarded value is changed by a test while the printer runs.
type guarded[T any] struct {
	mu sync.Mutex
	v  T
}

func (g *guarded[T]) set(v T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.v = v
}

func (g *guarded[T]) get() T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.v
}

// A harness is a simulated printer, the Device for it, and a station.
type harness struct {
	t   *testing.T
	v   *virtual.Printer
	dev printer.DeviceOptions
	d   *printer.Device
	p   *printer.Paper
	log *queuetest.Log
	mem *queuetest.Store
}

// logged counts s in the log.
func (r *harness) logged(s string) int { return strings.Count(r.log.String(), s) }

// A replaceableDialer leads to a printer that a test can replace.
type replaceableDialer struct{ guarded[transport.Dialer] }

func leadsTo(d transport.Dialer) *replaceableDialer {
	return &replaceableDialer{guarded[transport.Dialer]{v: d}}
}

func (s *replaceableDialer) Dial(ctx context.Context) (transport.Conn, error) {
	return s.get().Dial(ctx)
}

// connection has the defaults of the configuration, but for the polls.
var connection = printer.Connection{
	ConnectTimeout: 10 * time.Second, Linger: time.Second, WaitForPerson: 10 * time.Minute,
}

// newHarness makes a Device for dialer, which leads to v. It is retired when the test ends.
func newHarness(
	t *testing.T, v *virtual.Printer, dialer transport.Dialer, change func(*printer.DeviceOptions, *printer.Options),
) *harness {
	t.Helper()
	r := &harness{t: t, v: v, log: &queuetest.Log{}, mem: queuetest.NewStore()}
	logger := slog.New(slog.NewTextHandler(r.log, nil))
	r.dev = printer.DeviceOptions{Name: "grill", Dialer: dialer, KV: r.mem, Connection: connection, Logger: logger}
	po := printer.Options{Name: "grill", Profile: eightyMillimetres, Logger: logger}
	if change != nil {
		change(&r.dev, &po)
	}
	r.d = printer.NewDevice(r.dev)
	t.Cleanup(r.d.Retire)
	po.Device = r.d
	r.p = printer.NewPaper(po)
	return r
}

// withHarness runs f in a bubble with a simulated printer made from o.
func withHarness(
	t *testing.T, o virtual.Options, change func(*printer.DeviceOptions, *printer.Options), f func(r *harness),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := virtual.New(o)
		r := newHarness(t, v, v, change)
		f(r)
		r.d.Retire()
		assert.Equal(t, strings.Join(v.Problems(), "\n"), "", "the printer recorded problems")
	})
}

// An outcome is the result of one Print, as the queue sees it.
type outcome struct {
	proof   ticket.Proof
	err     error
	began   int
	took    time.Duration
	inDoubt bool
}

// kind is the outcome in one word.
func (o outcome) kind() string {
	switch {
	case o.err == nil:
		return string(o.proof)
	case o.inDoubt:
		return "doubt"
	case ticket.IsNotReady(o.err):
		return "not ready"
	case ticket.IsPermanent(o.err):
		return "permanent"
	default:
		return "clean"
	}
}

// orderOf is an order of one item.
func orderOf(name string) ticket.Delivery {
	d := order(1)
	d.Ticket.Lines[0].Name = name
	return d
}

func (r *harness) printWith(ctx context.Context, p *printer.Paper, d ticket.Delivery, beginErr error) (o outcome) {
	start := time.Now()
	o.proof, o.err = p.Print(ctx, d, func(context.Context) error {
		o.began++
		return beginErr
	})
	o.took = time.Since(start)
	o.inDoubt = o.err != nil && o.began > 0 && beginErr == nil && !ticket.IsUntouched(o.err)
	assert.True(r.t, o.began <= 1, "begun twice")
	assert.True(r.t, (o.proof == "") == (o.err != nil) && (o.err != nil || o.began != 0), o.proof, o.err, o.began)
	assert.True(r.t, o.err == nil || !strings.Contains(o.err.Error(), "%!"), o.err)
	return o
}

func (r *harness) print(name string) outcome {
	return r.printWith(r.t.Context(), r.p, orderOf(name), nil)
}

// want prints an order of one item and checks its outcome.
func (r *harness) want(name, kind string) outcome {
	r.t.Helper()
	return r.wantFrom(r.p, orderOf(name), kind)
}

// wantAlone is want with a ticket behind which the connection is closed.
func (r *harness) wantAlone(name, kind string) {
	r.t.Helper()
	r.want(name, kind)
	hangUp(r.d)
}

// wantFrom prints a ticket and checks its outcome. A ticket is confirmed before it is cut: wantFrom returns when the
// printer has taken the cut too, so that a fault that a test makes next is one of the next ticket.
func (r *harness) wantFrom(p *printer.Paper, d ticket.Delivery, kind string) outcome {
	r.t.Helper()
	o := r.printWith(r.t.Context(), p, d, nil)
	if r.v != nil {
		synctest.Wait()
	}
	assert.Equal(r.t, o.kind(), kind, d.Ticket.Lines[0].Name, o.err)
	return o
}

// paper lists the items of each printed ticket, with "!" after one with a banner and "~" after one that was
// not cut.
func (r *harness) paper() string {
	r.t.Helper()
	synctest.Wait()
	var all []string
	for _, x := range r.v.Tickets() {
		if x.Text == "" {
			continue // a cut without text before it
		}
		s := ""
		for line := range strings.SplitSeq(x.Text, "\n") {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "2x" {
				s += f[1]
			}
		}
		if strings.Contains(x.Text, "POSSIBLE DUPLICATE") {
			s += "!"
		}
		if x.End != virtual.Cut {
			s += "~"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// within checks how long an attempt took.
func (o outcome) within(r *harness, least, most time.Duration) {
	r.t.Helper()
	assert.True(r.t, o.took >= least && o.took <= most, o.took, least, most, o.err)
}

func (r *harness) wantPaper(want string) {
	r.t.Helper()
	assert.Equal(r.t, r.paper(), want)
}

// wantState checks the state of the device and that it has advice if it needs some.
func (r *harness) wantState(state string) printer.Status {
	r.t.Helper()
	s := r.d.Status()
	assert.Equal(r.t, s.State, state)
	assert.Equal(r.t, s.Advice == "", s.Fine && !slices.Contains(s.Conditions, "paper_low"), s)
	return s
}

// leaveBehind sends the text of another program, which breaks off there.
func (r *harness) leaveBehind(text string) {
	r.t.Helper()
	c, err := r.v.Dial(r.t.Context())
	if err == nil {
		_, err = c.Write([]byte(text))
	}
	assert.NoError(r.t, err)
	synctest.Wait()
	_ = c.Close()
}

// hangUp waits until the connection of the last ticket is closed.
func hangUp(d *printer.Device) {
	for d.Connected() {
		time.Sleep(10 * time.Millisecond)
	}
}

// later calls f after d, in the bubble.
func later(d time.Duration, f func()) { time.AfterFunc(d, f) }

var errDisk = errors.New("disk full")

func orderOfLines(lines int) ticket.Delivery {
	d := order(0)
	for i := range lines {
		d.Ticket.Lines = append(d.Ticket.Lines, ticket.Line{Quantity: "2", Name: fmt.Sprintf("D%d", i)})
	}
	return d
}

// serve lets v serve l until the test ends.
func serve(t *testing.T, v *virtual.Printer, l net.Listener) *virtual.Printer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- v.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		assert.Equal(t, <-served, nil)
	})
	return v
}

// neverAsked is a printer of which the configuration says that it is sent no questions.
func neverAsked(d *printer.DeviceOptions, _ *printer.Options) { d.Confirm = profile.NoConfirm }

// order is an order of so many items.
func order(lines int) ticket.Delivery {
	t := ticket.Ticket{
		Request: "0b6f5c1e-1111-4222-8333-444455556666", Number: "42", Table: "7", Server: "Zoë",
		Received: time.Date(2025, 3, 7, 18, 30, 0, 0, time.UTC),
	}
	for i := range lines {
		t.Lines = append(t.Lines, ticket.Line{Quantity: "2", Name: fmt.Sprintf("Crème brûlée %d", i)})
	}
	return ticket.Delivery{Job: 1, Station: "grill", Attempt: 1, Ticket: t}
}

// eightyMillimetres is the profile of the printers, unless a test wants another one.
var eightyMillimetres, _ = profile.Lookup("generic-80mm")

// padding is the number of bytes before the first ticket after a start.
func padding() int { return len(escpos.Resync(eightyMillimetres)) }

func answersAll() virtual.Options { return virtual.Options{Can: virtual.Everything, Kanji: true} }

// polled makes a Device that is polled each minute, keeps connections for an hour, and starts Watch.
func polled(t *testing.T, dialer transport.Dialer, f func(r *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newHarness(t, nil, dialer, func(d *printer.DeviceOptions, _ *printer.Options) {
			d.PollEvery, d.Linger = time.Minute, time.Hour
		})
		go r.d.Watch(r.t.Context())
		f(r)
	})
}
