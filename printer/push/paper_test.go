package push

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ticketrail/printer"
	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

func TestWhateverADisplayDoesNoOrderIsLostOrDoubledUnmarkedAndTheOrderIsKept(t *testing.T) {
	fewChecks(t)
	rapid.Check(t, func(rt *rapid.T) {
		var next []mishap
		var names []string
		for range rapid.IntRange(0, 8).Draw(rt, "mishaps") {
			m := rapid.SampledFrom(mishaps()).Draw(rt, "mishap")
			next = append(next, slices.Repeat([]mishap{m}, rapid.SampledFrom([]int{1, 1, 2, 5}).Draw(rt, "times"))...)
			names = append(names, m.name)
		}
		pauses := rapid.SliceOfN(rapid.IntRange(0, 90), 1, 6).Draw(rt, "seconds after each order")
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var wrong problems
		synctest.Test(t, func(t *testing.T) {
			e := newEvening(t, dir, next)
			defer e.close()
			for _, seconds := range pauses {
				e.order(1)
				time.Sleep(time.Duration(seconds) * time.Second)
			}
			time.Sleep(6 * time.Hour)
			for _, j := range e.jobs() {
				if j.State.Open() || j.State == ticket.Failed {
					wrong.Errorf("job %d is %s: %s", j.ID, j.State, j.Reason)
				}
			}
			e.check(&wrong)
		})
		if len(wrong) > 0 {
			rt.Fatalf("the display %q:\n%s", names, strings.Join(wrong, "\n"))
		}
	})
}

func TestEachMishapAloneDelaysAnOrderOrSendsItToPaper(t *testing.T) {
	for _, m := range mishaps() {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEvening(t, t.TempDir(), slices.Repeat([]mishap{m}, 1000))
				defer e.close()
				e.order(5)
				time.Sleep(time.Hour)
				e.check(t)
				switch want := len(e.prints()); {
				case m.shows && !m.unclear && want != 0, (!m.shows || m.unclear) && want != 5:
					t.Errorf("%d tickets are on paper", want)
				}
				e.display.mu.Lock()
				e.display.next = nil // it is repaired
				e.display.mu.Unlock()
				time.Sleep(time.Minute)
				papers := len(e.prints())
				e.order(1)
				time.Sleep(5 * time.Minute) // after Retry-After
				if m.name != "is busy" && len(e.prints()) > papers {
					t.Error("after the repair a ticket still goes to paper")
				}
				e.check(t)
			})
		})
	}
}

func TestAnAnswerSaysNothingAboutASendingThatBrokeOff(t *testing.T) {
	for _, code := range []int{302, 401, 422, 429} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			p := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				switch asked++; asked {
				case 1: // so that the next one comes on this connection, and is sent again when it breaks
					w.WriteHeader(http.StatusOK)
				case 2:
					raw("")(w, r)
				default:
					w.WriteHeader(code)
				}
			})
			for _, want := range []string{"taken", "in doubt"} {
				var b beginCounter
				_, err := p.Print(t.Context(), order(1, "Burger"), b.begin)
				if (want == "taken") != (err == nil) || ticket.IsUntouched(err) || b.times() != 1 {
					t.Errorf("%d: %v, want %s", code, err, want)
				}
			}
			if asked != 3 {
				t.Errorf("%d: asked %d times", code, asked)
			}
		})
	}
}

// A mishap is one way in which a display treats a request. It shows each ticket once, by its key.
type mishap struct {
	name  string
	shows bool // before it answers, or instead of it
	// unclear says that the sender cannot know from the answer whether the ticket is shown.
	unclear bool
	refuses bool // it will never show this ticket
	answer  http.HandlerFunc
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, "because\nof this")
	}
}

// raw answers with these bytes and closes the connection.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(c, answer)
		_ = c.Close()
	}
}

// late answers when nobody waits for it any more.
func late(w http.ResponseWriter, _ *http.Request) { time.Sleep(20 * time.Second); w.WriteHeader(200) }

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
}

func retryAfter3m(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "180")
	w.WriteHeader(http.StatusTooManyRequests)
}

func mishaps() []mishap {
	return []mishap{
		{name: "fine", shows: true, answer: status(200)},
		{name: "says much", shows: true, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 1<<20))
		}},
		{name: "shows and fails", shows: true, unclear: true, answer: status(500)},
		{name: "shows and hangs up", shows: true, unclear: true, answer: raw("")},
		{name: "shows and breaks off", shows: true, unclear: true, answer: raw("HTTP/1.1 200 OK\r\nContent-")},
		{name: "shows and is slow", shows: true, unclear: true, answer: late},
		{name: "fails", unclear: true, answer: status(503)},
		{name: "hangs up", unclear: true, answer: raw("")},
		{name: "is slow", unclear: true, answer: late},
		{name: "speaks another protocol", unclear: true, answer: raw("220 mail.example ESMTP\r\n")},
		{name: "is busy", answer: retryAfter3m},
		{name: "redirects elsewhere", answer: redirect("http://elsewhere.example/")},
		{name: "redirects in a circle", answer: redirect("/again")},
		{name: "takes nothing", answer: status(401)},
		{name: "refuses this ticket", refuses: true, answer: status(422)},
	}
}

// A wrongDisplay does everything wrong for a while, and then works.
type wrongDisplay struct {
	paper *virtual.Printer

	mu      sync.Mutex
	next    []mishap     // of the next requests; then it works
	shown   []appearance // what cooks see
	unclear map[int]bool // orders with an answer that was unclear
	refused map[int]bool // orders that it will never show
}

// An appearance is an order that came out, and how many tickets were on paper before it.
type appearance struct{ order, papers int }

var keyJob = regexp.MustCompile(`"number":"(\d+)"`)

func (d *wrongDisplay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	n, err := strconv.Atoi(keyJob.FindStringSubmatch(string(body))[1])
	if err != nil {
		panic(err)
	}
	d.mu.Lock()
	m := mishaps()[0]
	if r.URL.Path != "/again" && len(d.next) > 0 {
		m, d.next = d.next[0], d.next[1:]
	} else if r.URL.Path == "/again" {
		m = mishap{answer: redirect("/again")}
	}
	has := slices.ContainsFunc(d.shown, func(a appearance) bool { return a.order == n })
	switch {
	case has: // it keeps to the contract in this alone: a key is shown once, and not refused afterwards
		if m.refuses {
			m = mishap{answer: status(http.StatusConflict)}
		}
	case m.shows:
		d.shown = append(d.shown, appearance{n, d.paper.TicketCount()})
	}
	d.unclear[n] = d.unclear[n] || m.unclear
	d.refused[n] = m.refuses
	d.mu.Unlock()
	m.answer(w, r)
}

// An evening is a kitchen whose station fresh is such a display, with the printer grill as its backup.
type evening struct {
	*kitchen
	display *wrongDisplay
	close   func()
}

const holdFor = 2 * time.Minute

// newEvening stores its queue in the folder dir.
func newEvening(t testing.TB, dir string, next []mishap) *evening {
	paper := virtual.New(virtual.Options{Name: "grill", Columns: 48})
	e := &evening{kitchen: newKitchen(t, dir), display: &wrongDisplay{
		paper: paper, next: next, unclear: map[int]bool{}, refused: map[int]bool{},
	}}
	network := virtual.NewNetwork()
	srv := &http.Server{Handler: e.display, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(network) })
	fresh, err := New(Options{Name: "fresh", URL: "http://kds.example/", Dial: network.Dial})
	if err != nil {
		t.Fatal(err)
	}
	model, _ := profile.Lookup("generic-80mm")
	grill := printer.NewPaper(printer.Options{Name: "grill", Profile: model,
		Device: printer.NewDevice(printer.DeviceOptions{Name: "grill", Dialer: paper, Profile: model.Name})})
	e.close = func() {
		e.stop()
		fresh.Close()
		_ = srv.Close()
		_ = network.Close()
		serving.Wait()
	}
	e.d.Set([]dispatch.Lane{
		{Name: "fresh", Station: fresh, Backups: []dispatch.Backup{{Name: "grill", Station: grill, After: holdFor}},
			OnRefusal: []string{"grill"}},
		{Name: "grill", Station: grill},
	})
	return e
}

// A print is a ticket on the backup's paper.
type print struct {
	order            int
	forFresh, marked bool // FOR FRESH, POSSIBLE DUPLICATE
	refused          bool // REFUSED BY FRESH
}

var orderNumber = regexp.MustCompile(`#(\d+)`)

func (e *evening) prints() (out []print) {
	e.t.Helper()
	if bad := e.display.paper.Problems(); len(bad) > 0 {
		e.t.Errorf("the printer got invalid bytes: %v", bad)
	}
	for _, p := range e.display.paper.Tickets() {
		n, err := strconv.Atoi(orderNumber.FindStringSubmatch(p.Text)[1])
		if err != nil || !strings.Contains(p.Text, fmt.Sprintf("Burger %d", n)) {
			e.t.Errorf("paper %q", p.Text)
		}
		out = append(out, print{
			order: n, forFresh: strings.Contains(p.Text, "FOR FRESH (printer down)"),
			marked:  strings.Contains(p.Text, "POSSIBLE DUPLICATE"),
			refused: strings.Contains(p.Text, "REFUSED BY FRESH"),
		})
	}
	return out
}

// check compares what cooks have got with what was ordered.
func (e *evening) check(t interface {
	Errorf(format string, args ...any)
}) {
	e.display.mu.Lock()
	defer e.display.mu.Unlock()
	shown, prints := e.display.shown, e.prints()
	for n := 1; n <= e.orders; n++ {
		onDisplay := slices.ContainsFunc(shown, func(a appearance) bool { return a.order == n })
		var papers []print
		for _, p := range prints {
			if p.order == n {
				papers = append(papers, p)
			}
		}
		switch {
		case !onDisplay && len(papers) == 0:
			t.Errorf("order %d is lost", n)
		case len(papers) > 1:
			t.Errorf("order %d is on %d papers", n, len(papers))
		case len(papers) == 1 && onDisplay && !papers[0].marked:
			t.Errorf("order %d is on the display, and on paper without a mark", n)
		case len(papers) == 1 && papers[0].marked && !e.display.unclear[n]:
			t.Errorf("order %d is marked although every answer was clear", n)
		case len(papers) == 1 && (papers[0].refused != e.display.refused[n] || papers[0].refused == papers[0].forFresh):
			t.Errorf("order %d, refused %t, has the head of %+v", n, e.display.refused[n], papers[0])
		}
	}
	// What came out first of each order, on either. What was refused waits elsewhere, so it may come later.
	var first []int
	add := func(n int) {
		if !slices.Contains(first, n) && !e.display.refused[n] {
			first = append(first, n)
		}
	}
	for _, a := range append(slices.Clone(shown), appearance{papers: len(prints)}) {
		for len(prints) > 0 && len(e.display.paper.Tickets())-len(prints) < a.papers {
			add(prints[0].order)
			prints = prints[1:]
		}
		if a.order > 0 {
			add(a.order)
		}
	}
	if !slices.IsSorted(first) {
		t.Errorf("orders came out as %v", first)
	}
}

// A kitchen is a real queue with a dispatcher, and the orders that were sent to the station fresh.
type kitchen struct {
	t      testing.TB
	q      *queue.Queue
	d      *dispatch.Dispatcher
	orders int
}

// newKitchen stores its queue in the folder dir.
func newKitchen(t testing.TB, dir string) *kitchen {
	t.Helper()
	q, err := queue.Open(queue.Options{Path: filepath.Join(dir, "ticketrail.db"), Reserve: -1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	q.SetStations([]string{"fresh", "grill"})
	return &kitchen{t: t, q: q, d: dispatch.New(dispatch.Options{Queue: dispatch.From(q)})}
}

func (k *kitchen) stop() {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.d.Stop(ctx); err != nil {
		k.t.Error(err)
	}
	if n := k.q.Unaccounted(); n != 0 {
		k.t.Errorf("%d jobs are unaccounted for", n)
	}
	if err := k.q.Close(); err != nil {
		k.t.Error(err)
	}
}

// order sends n orders. Their numbers count from 1, and so do their jobs.
func (k *kitchen) order(n int) {
	k.t.Helper()
	for range n {
		k.orders++
		d := order(uint64(k.orders), fmt.Sprintf("Burger %d", k.orders))
		_, err := k.q.Accept(context.Background(), ticket.Request{
			Venue: d.Ticket.Venue, ID: d.Ticket.Request, Device: "d", Received: time.Now().UTC(), Body: []byte("{}"),
			Drafts: []ticket.Draft{{Station: "fresh", Ticket: d.Ticket}},
		})
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// problems collects what is wrong: a rapid test must not fail in the goroutine of a bubble.
type problems []string

func (p *problems) Errorf(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// jobs are all jobs.
func (k *kitchen) jobs() []queue.Job {
	k.t.Helper()
	all, err := k.q.Jobs(k.t.Context(), queue.Filter{})
	if err != nil {
		k.t.Fatal(err)
	}
	return all
}
