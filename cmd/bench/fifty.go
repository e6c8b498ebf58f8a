package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"ticketrail/cmd/internal/app"
	"ticketrail/queue/ticket"
)

const (
	stations    = 50
	stationRate = 10 // tickets a second at each
)

// fiftyPrinters is row 12: the whole daemon with fifty printers that say when they have
// printed. One of them gets its tickets at its pace while the others have none, then all do.
// Each ticket is a request of its own and three durable changes: accepted, begun, confirmed.
func (b *bench) fiftyPrinters(ctx context.Context) (finding, error) {
	p, err := startPrinters(stations)
	if err != nil {
		return finding{}, err
	}
	e, err := b.openFifty(ctx, p)
	if err != nil {
		_, err2 := p.stop()
		return finding{}, errors.Join(err, err2)
	}
	err = e.warmUp(ctx, b)
	for round := 0; err == nil && round < pick(b, 4, 2); round++ {
		lasts := pick(b, 12*time.Second, 4*time.Second)
		if err = e.alone.round(ctx, b, e, e.letters[round:round+1], lasts); err == nil {
			err = e.all.round(ctx, b, e, e.letters, lasts)
		}
		if err != nil {
			break
		}
		b.say("  round %d: alone %s until confirmed; all %s", round+1, ms(e.alone.settled.p50()), ms(e.all.settled.p50()))
	}
	err = errors.Join(err, e.stop())
	out, err2 := p.stop()
	if err := errors.Join(err, err2, e.agrees(out)); err != nil {
		return finding{}, err
	}
	return e.finding(), nil
}

// A rush is the daemon with its printers, and what was measured of it.
type rush struct {
	app      *app.App
	registry *kitchen // only to count what waits
	tally    *tally
	letters  []letter
	printers *printers
	stop     func() error

	alone, all shift
}

func (b *bench) openFifty(ctx context.Context, p *printers) (*rush, error) {
	e := &rush{tally: &tally{}, printers: p}
	conf, letters, err := fiftyConfig(b.path("row12.db"), p.addrs)
	if err != nil {
		return nil, err
	}
	e.letters = letters
	e.app, e.stop, err = b.wholeDaemon(ctx, conf, app.Options{Log: e.tally})
	if err != nil {
		return nil, err
	}
	e.registry = &kitchen{queue: e.app.Queue()}
	return e, nil
}

// fiftyConfig is a station for each address, and an order for each.
func fiftyConfig(store string, addrs []string) (conf func(socket string) []byte, letters []letter, err error) {
	printers, routes := "", ""
	for i, addr := range addrs {
		n := fmt.Sprintf("s%02d", i)
		printers += fmt.Sprintf("  - { name: %s, address: \"tcp://%s\", profile: %s }\n", n, addr, model)
		routes += fmt.Sprintf("  - { when: 'item.courseName == %q', to: [%s] }\n", n, n)
		l, err := order(`"Entrees"`, strconv.Quote(n), `"Appetizers"`, strconv.Quote(n))
		if err != nil {
			return nil, nil, err
		}
		letters = append(letters, l)
	}
	return func(socket string) []byte {
		return fmt.Appendf(nil, `receiver: { listen: "127.0.0.1:0" }
metrics: { listen: "127.0.0.1:0" }
admin: { socket: %q }
storage: { path: %q }
venues:
  - { id: %s, name: Harbour Grill, timezone: Australia/Melbourne }
printers:
%sroutes:
%sfallback: s00
`, socket, store, venueID, printers, routes)
	}, letters, nil
}

// warmUp has each station print, so that every printer has been asked what it can.
func (e *rush) warmUp(ctx context.Context, b *bench) error {
	var w shift
	return w.round(ctx, b, e, e.letters, 2*time.Second)
}

// agrees says whether the paper is what the daemon claims: each ticket once.
func (e *rush) agrees(out []paper) error {
	var tickets int
	for i, p := range out {
		tickets += p.Tickets
		if len(p.Problems) > 0 {
			return fmt.Errorf("printer %d complains of %d things, first of %s", i, len(p.Problems), p.Problems[0])
		}
	}
	e.tally.mu.Lock()
	defer e.tally.mu.Unlock()
	if got := len(e.tally.confirmed); e.tally.others > 0 || got != tickets {
		return fmt.Errorf("the daemon confirmed %d tickets and claimed less of %d others; %d are on paper", got, e.tally.others, tickets)
	}
	return nil
}

// A shift is what was seen of some stations over several rounds.
type shift struct {
	ack, settled samples
	rates        map[int]float64 // tickets a second that were settled in time, by station, sum over rounds
	rounds       int
	took         time.Duration
	daemon       time.Duration // processor time, senders included
	printers     time.Duration // processor time
	commits      commits
}

// round posts to the stations of the letters at their pace, and waits until all is printed.
func (s *shift) round(ctx context.Context, b *bench, e *rush, letters []letter, lasts time.Duration) error {
	// Enough of them, and not so many that one is silent for long and loses its connection.
	cr, err := gather(ctx, e.app.WebhookAddr().String(), min(8*len(letters), 128))
	if err != nil {
		return err
	}
	before, printed := readProcessor(), e.printers.used()
	commits := func() (c commits, err error) {
		c, _, err = (&daemon{metrics: e.app.MetricsAddr().String()}).scrape()
		return
	}
	c, err := commits()
	if err != nil {
		return err
	}
	p, err := b.pace(ctx, cr, letters, stationRate*len(letters), lasts)
	if err := errors.Join(err, cr.close()); err != nil {
		return err
	}
	s.daemon += readProcessor().own - before.own
	s.printers += e.printers.used() - printed
	s.took += time.Since(p.began)
	c2, err := commits()
	if err != nil {
		return err
	}
	c = c2.since(c)
	s.commits = addCommits(s.commits, c)
	if err := e.drained(ctx); err != nil {
		return err
	}
	return s.count(e.tally, p, len(letters), lasts)
}

func addCommits(a, b commits) commits {
	return commits{a.n + b.n, a.seconds + b.seconds, a.changes + b.changes}
}

// drained waits until every ticket is out.
func (e *rush) drained(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("tickets still wait after a minute"))
	defer cancel()
	for e.registry.waiting() > 0 {
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return pause(ctx, 200*time.Millisecond) // what is out is logged a moment later
}

// count adds what became of the tickets of a round. Each station has as long as the round
// lasts from the moment of its first ticket.
func (s *shift) count(t *tally, p paced, n int, lasts time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.rates == nil {
		s.rates = map[int]float64{}
	}
	s.rounds++
	s.ack = append(s.ack, p.took...)
	for i := range p.took {
		at, ok := t.confirmed[p.first+uint64(i)]
		if !ok {
			return fmt.Errorf("ticket %d of %d was never confirmed", i, len(p.took))
		}
		s.settled = append(s.settled, at.Sub(p.due(i)))
		if at.Sub(p.due(i%n)) <= lasts {
			s.rates[i%n] += 1 / lasts.Seconds()
		}
	}
	return nil
}

// slowest and mean are the tickets a second of a station.
func (s *shift) slowest() float64 {
	least := 0.0
	for i := range len(s.rates) {
		if i == 0 || s.rates[i] < least {
			least = s.rates[i]
		}
	}
	return least / float64(s.rounds)
}

func (s *shift) mean() float64 {
	sum := 0.0
	for _, r := range s.rates {
		sum += r
	}
	return sum / float64(len(s.rates)*s.rounds)
}

func (s *shift) cores(d time.Duration) float64 { return d.Seconds() / s.took.Seconds() }

func (e *rush) finding() finding {
	one, all := &e.alone, &e.all
	kept := all.slowest() / one.slowest()
	return finding{
		Measured: fmt.Sprintf("the slowest of %d printed %.2f tickets/s (mean %.2f), one alone %.2f = %.3f; "+
			"order sent → confirmed on disk p50 %s, p99 %s (slowest %s of %d), alone p50 %s, p99 %s; "+
			"acks p50 %s, p99 %s, alone p50 %s, p99 %s; %v, alone %v; %.2f cores for the daemon and its senders, %.2f for the printers",
			stations, all.slowest(), all.mean(), one.slowest(), kept,
			ms(all.settled.p50()), ms(all.settled.p99()), ms(all.settled.quantile(1)), len(all.settled), ms(one.settled.p50()), ms(one.settled.p99()),
			ms(all.ack.p50()), ms(all.ack.p99()), ms(one.ack.p50()), ms(one.ack.p99()), all.commits, one.commits,
			all.cores(all.daemon), all.cores(all.printers)),
		Values: map[string]float64{"slowest_per_second": all.slowest(), "mean_per_second": all.mean(), "alone_per_second": one.slowest(), "ratio": kept,
			"confirmed_p50": millis(all.settled.p50()), "confirmed_p99": millis(all.settled.p99()),
			"alone_confirmed_p50": millis(one.settled.p50()), "alone_confirmed_p99": millis(one.settled.p99()),
			"ack_p50": millis(all.ack.p50()), "ack_p99": millis(all.ack.p99()), "alone_ack_p50": millis(one.ack.p50()), "alone_ack_p99": millis(one.ack.p99()),
			"daemon_cores": all.cores(all.daemon), "printers_cores": all.cores(all.printers)},
		Hit: kept >= 0.95,
	}
}

// A tally reads the daemon's log and notes when which request was out.
type tally struct {
	proof ticket.Proof // that counts; "" is confirmed

	mu        sync.Mutex // guards what follows
	confirmed map[uint64]time.Time
	others    int    // tickets that are out in another way
	rest      []byte // of a line
}

// Write takes log lines. The line of a ticket comes after its end is on disk.
func (t *tally) Write(b []byte) (int, error) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, b...)
	for {
		line, rest, ok := bytes.Cut(t.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		t.note(line, now)
		t.rest = append(t.rest[:0], rest...)
	}
}

// of is when a request was out in the way that counts.
func (t *tally) of(id uint64) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.confirmed[id]
	return at, ok
}

// otherwise is how many tickets are out in another way.
func (t *tally) otherwise() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.others
}

func (t *tally) note(line []byte, now time.Time) {
	if !bytes.Contains(line, []byte(`msg="ticket out"`)) {
		return
	}
	_, id, _ := bytes.Cut(line, []byte(" request="))
	id, _, _ = bytes.Cut(id, []byte(" "))
	n, err := strconv.ParseUint(string(id[max(0, len(id)-idDigits):]), 16, 64)
	proof := cmp.Or(t.proof, ticket.Confirmed)
	if err != nil || !bytes.Contains(line, []byte(" outcome="+proof+" ")) {
		t.others++
		return
	}
	if t.confirmed == nil {
		t.confirmed = map[uint64]time.Time{}
	}
	t.confirmed[n] = now
}
