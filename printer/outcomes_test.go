package printer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer"
	"ticketrail/printer/raster"
	"ticketrail/printer/session"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// TestOutcomesAreWhatThePaperSays lets each kind of printer have five tickets, with each set of answers, and
// compares the claims with the paper. The fast tests have it in memory and simulated time, the full suite over real
// sockets.
func TestOutcomesAreWhatThePaperSays(t *testing.T) {
	if slow.All() {
		outcomesOverTCP(t)
		return
	}
	var drawn drawing
	synctest.Test(t, func(t *testing.T) { drawn = draw(t, inMemory) })
	for _, f := range kinds {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, a := range f.of() {
				synctest.Test(t, func(t *testing.T) {
					assert.Equal(t, errors.Join(judge(play(t, inMemory, f, a, drawn), f, a)), nil)
				})
			}
		})
	}
}

// outcomesOverTCP is the table with the buffers of a kernel and real resets. Rows mostly wait, so many run at once,
// more than t.Parallel would allow. A printer that gets no time on a loaded machine looks slow, and its tickets end
// with less than it can say. Such rows are judged again, fewer at once, at last alone: one that is closed after 0.8 s
// without a byte is printed by a process that other tests keep waiting. No load excuses a false claim.
func outcomesOverTCP(t *testing.T) {
	t.Helper()
	type row struct {
		f kind
		a capability
	}
	var left []row
	for _, f := range kinds {
		for _, a := range f.of() {
			left = append(left, row{f, a})
		}
	}
	drawn := draw(t, overTCP)

	var weak error
	for _, atOnce := range []int{100, 10, 2, 1, 1, 1} {
		var mu sync.Mutex
		var again []row
		weak = nil
		var rows errgroup.Group
		rows.SetLimit(atOnce)
		for _, r := range left {
			rows.Go(func() error {
				wrong, less := judge(play(t, overTCP, r.f, r.a, drawn), r.f, r.a)
				mu.Lock()
				defer mu.Unlock()
				assert.True(t, wrong == nil, wrong)
				if less != nil {
					again, weak = append(again, r), errors.Join(weak, less)
				}
				return nil
			})
		}
		_ = rows.Wait()
		left = again
		t.Logf("%d rows at once: %d say less than the printer can", atOnce, len(left))
	}
	assert.True(t, weak == nil, weak)
}

// tickets is how many a printer gets, enough to see how it goes on. The mishap is at the second one.
const tickets = 5

// play prints the tickets, which have the numbers from 1 on. Result 0 has the time when the mishap ended.
func play(t *testing.T, w wire, f kind, a capability, drawn drawing) []result {
	r := make([]result, tickets+1)
	o := virtual.Options{Can: a.can, Remembers: true, ReceiveBuffer: 4096}
	if f.change != nil {
		f.change(&o)
	}
	k, dev, p := setUp(t, w, o)
	k.picture, k.mend, k.mended = drawn.size, f.mend, make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if f.always != nil {
		f.always(k)
	}
	r[1] = deliver(ctx, p, 1, f.items)
	hangUp(dev)
	k.idle()
	if f.cause != nil {
		f.cause(k)
	}
	if !k.later {
		k.begin()
	}
	for n := 2; n < len(r); n++ {
		r[n] = deliver(ctx, p, n, f.items)
	}
	dev.Retire()
	k.begin() // in case the mishap found no place
	r[0].ended = <-k.mended
	k.idle()
	paper := texts(k.Tickets())
	for n := 1; n < len(r); n++ {
		r[n].copies = find(paper, n, drawn.dots[n])
	}
	return r
}

// judge compares outcomes with the paper. wrong is a claim that the paper disproves, or a copy that is not
// marked; weak is an outcome that says less than the printer could, or a wait for one that works.
func judge(all []result, f kind, a capability) (wrong, weak error) {
	mended := all[0].ended
	if f.early {
		a = capabilities[len(capabilities)-1] // its answers say nothing
	}
	for i, r := range all[1:] {
		n := i + 1
		note := func(to *error, what string) {
			*to = errors.Join(*to, fmt.Errorf("%s, %s: ticket %d: %v: %s", f.name, a.name, n, r, what))
		}
		goesOn := f.stays || f.mend != nil && r.ended.Before(mended)
		blind := a.tells < f.needs && (n == 2 || n > 2 && goesOn)
		c := r.copies
		if since := max(r.began.Sub(mended), 0); r.ended.Sub(mended)-since > 30*time.Second {
			note(&weak, "waits for a printer that works")
		}
		switch proof := ticket.Proof(r.outcome); proof {
		case ticket.Confirmed, ticket.Processed, ticket.Sent:
			claim := &wrong
			if proof == ticket.Sent { // it claims only that the bytes were taken
				claim = &weak
			}
			if proof != a.best && proof != f.weaker {
				note(&weak, "this printer says something else")
			}
			printed := c.whole+c.marked > 0 && (r.attempts > 1 || c == copies{whole: 1})
			if !printed && !(blind && (proof == ticket.Sent || f.needs == nothing)) {
				note(claim, "is not once and whole on paper")
				continue
			}
		case "held":
			if n == 1 || n > f.held {
				note(&weak, "needs no person")
			}
		default:
			note(&weak, "has no end")
		}
		switch papers := c.whole + c.marked + c.torn + c.tornMarked; {
		case blind && c.whole <= 1: // one copy may be several pieces
		case c.whole+c.torn > 1:
			note(&wrong, "a copy is not marked")
		case papers > r.attempts:
			note(&wrong, "more papers than attempts")
		}
	}
	return wrong, weak
}

// A wire is how the printers of the matrix are connected.
type wire bool

const (
	inMemory wire = false
	overTCP  wire = true
)

// aDrawer has the built-in font only.
var aDrawer = sync.OnceValues(func() (*raster.Drawer, error) { return raster.New() })

// setUp connects a Paper to a printer.
func setUp(t *testing.T, w wire, o virtual.Options) (*kitchen, *printer.Device, *printer.Paper) {
	k := &kitchen{t: t}
	o.Clone.Answer = k.answer
	var dialer transport.Dialer
	if w == overTCP {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		assert.NoError(t, err)
		dialer, err = transport.Open("tcp://" + l.Addr().String())
		assert.NoError(t, err)
		k.door = &door{Listener: l}
	} else {
		network := virtual.NewNetwork()
		dialer, k.door = line{network: network}, &door{Listener: network}
	}
	k.Printer, k.dialer = serve(t, virtual.New(o), k.door), dialer
	prof := eightyMillimetres
	if w == overTCP && o.LinesPerSecond == 0 {
		prof.LinesPerSecond = 100 // it prints at once, and a silent one is waited for as long as its lines take
	}
	drawer, err := aDrawer()
	assert.NoError(t, err)
	d := printer.NewDevice(printer.DeviceOptions{
		Name: "grill", Dialer: dialer, Connection: printer.Connection{ConnectTimeout: time.Second,
			Linger: 200 * time.Millisecond, WaitForPerson: 10 * time.Second},
	})
	return k, d, printer.NewPaper(printer.Options{
		Name: "grill", Profile: prof, Device: d, Drawer: drawer,
		Pace: session.Pace{Timeout: 6 * time.Second, PerKiB: 100 * time.Millisecond},
	})
}

// numbered is the n-th ticket; every line of it names it. The third line is drawn. more is how many items follow.
func numbered(n, more int) ticket.Ticket {
	name := func(s string) ticket.Line { return ticket.Line{Quantity: "1", Name: fmt.Sprintf("%s %02d", s, n)} }
	return ticket.Ticket{
		Number: fmt.Sprint(100 + n), Table: fmt.Sprint(20 + n), Request: fmt.Sprintf("request-%d", n),
		Received: time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC),
		Lines: append([]ticket.Line{name("Soup"), name("Fish"),
			{Quantity: "2", Name: strings.Repeat("宫保鸡丁", 3) + fmt.Sprint(n)}, name("Cake"), name("Wine")},
			slices.Repeat([]ticket.Line{{Quantity: "1", Name: "Pea"}}, more)...),
	}
}

// A result is the end of a ticket, and how it came.
type result struct {
	outcome      string
	attempts     int // that were begun
	began, ended time.Time
	copies       copies
}

func (r result) String() string { return r.outcome + " " + r.copies.String() }

// deliver prints a ticket as the dispatcher does: again after a clean failure, once more under the banner
// after a doubtful one, then it is held.
func deliver(ctx context.Context, p *printer.Paper, n, more int) (r result) {
	r.began = time.Now()
	defer func() { r.ended = time.Now() }()
	d := ticket.Delivery{Job: uint64(n), Attempt: 1, Station: "grill", Ticket: numbered(n, more)}
	for {
		begun := false
		proof, err := p.Print(ctx, d, func(context.Context) error { begun = true; return nil })
		if begun {
			r.attempts++
		}
		switch {
		case err == nil:
			r.outcome = string(proof)
			return r
		case ctx.Err() != nil:
			r.outcome = "stuck"
			return r
		case ticket.IsPermanent(err):
			r.outcome = "failed: " + err.Error()
			return r
		case !begun || ticket.IsUntouched(err):
			time.Sleep(100 * time.Millisecond) // the dispatcher's pause between attempts
		case d.Doubt:
			r.outcome = "held"
			return r
		default:
			d.Doubt = true
		}
	}
}
