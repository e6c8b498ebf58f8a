package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"net/http"

	"ticketrail/config"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// A cable leads from the daemon to whatever printer stands at its end. It sees every byte
// go by, so that a fault can strike at an exact place in a ticket.
type cable struct {
	buffered bool // what is written is out of the daemon's hands at once, as with a socket
	oneWay   bool // nothing comes back, as on a parallel port

	mu       sync.Mutex // guards what follows
	changed  chan struct{}
	printers []*virtual.Printer // the last one stands there now
	hang     bool               // dialling is never answered
	traps    []trap
	seen     []string // numbers of tickets in the order in which they first went by
	dials    int
}

// A trap is sprung when the bytes of a ticket have come to a certain place.
type trap struct {
	at     string
	spring func()
}

func newCable(o virtual.Options, buffered, oneWay bool) *cable {
	return &cable{printers: []*virtual.Printer{virtual.New(o)}, buffered: buffered, oneWay: oneWay, changed: make(chan struct{})}
}

func (c *cable) now() *virtual.Printer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.printers[len(c.printers)-1]
}

// swap puts another printer there; clients of the one before see its plug pulled.
func (c *cable) swap(p *virtual.Printer) {
	c.now().PowerCycle()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.printers = append(c.printers, p)
}

func (c *cable) setHang(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hang = on
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cable) arm(at string, spring func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.traps = append(c.traps, trap{at, spring})
}

func (c *cable) disarm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.traps = nil
}

func (c *cable) Dial(ctx context.Context) (transport.Conn, error) {
	for {
		c.mu.Lock()
		hang, changed := c.hang, c.changed
		c.dials++
		c.mu.Unlock()
		if !hang {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	conn, err := c.now().Dial(ctx)
	if err != nil {
		return nil, err
	}
	t := &tapped{Conn: conn, cable: c}
	switch {
	case c.oneWay:
		return oneWay{t}, nil
	case c.buffered:
		return newSocket(t), nil
	}
	return t, nil
}

// tapped is a connection whose bytes the cable sees.
type tapped struct {
	transport.Conn
	cable *cable
	tail  []byte
	slow  bool // a trap was sprung: the next byte goes alone
}

var numberOnWire = regexp.MustCompile(`#([A-Z][0-9]+)\b`)

// next says how many bytes of b go out before something happens, and what that is.
func (t *tapped) next(b []byte) (n int, spring func()) {
	c := t.cable
	c.mu.Lock()
	defer c.mu.Unlock()
	n = len(b)
	if t.slow {
		t.slow, n = false, 1
	}
	all := append(bytes.Clone(t.tail), b...)
	for _, m := range numberOnWire.FindAllSubmatch(all, -1) {
		if s := string(m[1]); !slices.Contains(c.seen, s) {
			c.seen = append(c.seen, s)
		}
	}
	at := -1
	for i, trap := range c.traps {
		if k := bytes.Index(all, []byte(trap.at)); k >= 0 && k+len(trap.at)-len(t.tail) <= n {
			n, spring, at = k+len(trap.at)-len(t.tail), trap.spring, i
		}
	}
	if at >= 0 {
		c.traps = slices.Delete(c.traps, at, at+1)
		t.slow = true
	}
	return n, spring
}

const tailLength = 40

func (t *tapped) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, spring := t.next(b[sent:])
		m, err := t.Conn.Write(b[sent : sent+n])
		t.tail = append(t.tail, b[sent:sent+m]...)
		if len(t.tail) > tailLength {
			t.tail = t.tail[len(t.tail)-tailLength:]
		}
		sent += m
		if err != nil {
			if spring != nil {
				spring()
			}
			return sent, err
		}
		if spring != nil {
			t.tail = nil
			spring()
		}
	}
	return sent, nil
}

// oneWay is a connection on which nothing comes back.
type oneWay struct{ *tapped }

func (oneWay) Read([]byte) (int, error) { return 0, io.EOF }

// A socket takes what is written at once and sees to it that it arrives, as a kernel does.
type socket struct {
	line             transport.Conn
	writes, reads    net.Conn // the daemon's ends
	written, answers net.Conn // ours

	mu      sync.Mutex // guards what follows
	out     []byte
	changed chan struct{}
	done    bool  // all has been written
	hungUp  error // how the other side ended it
}

func newSocket(line transport.Conn) *socket {
	s := &socket{line: line, changed: make(chan struct{})}
	s.writes, s.written = net.Pipe()
	s.reads, s.answers = net.Pipe()
	go s.take()
	go s.deliver()
	go s.answer()
	return s
}

func (s *socket) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *socket) take() {
	buf := make([]byte, 4096)
	for {
		n, err := s.written.Read(buf)
		s.update(func() {
			s.out = append(s.out, buf[:n]...)
			s.done = s.done || err != nil
		})
		if err != nil {
			return
		}
	}
}

func (s *socket) deliver() {
	for {
		s.mu.Lock()
		b, changed, done := bytes.Clone(s.out), s.changed, s.done || s.hungUp != nil
		s.mu.Unlock()
		if len(b) == 0 {
			if done {
				return
			}
			<-changed
			continue
		}
		n, err := s.line.Write(b)
		s.update(func() {
			s.out = s.out[n:]
			if err != nil && s.hungUp == nil {
				s.hungUp = err
			}
		})
		if err != nil {
			_ = s.written.Close()
			return
		}
	}
}

func (s *socket) answer() {
	buf := make([]byte, 512)
	for {
		n, err := s.line.Read(buf)
		if n > 0 {
			if _, err := s.answers.Write(buf[:n]); err != nil {
				return
			}
		}
		if err == nil {
			continue
		}
		s.update(func() {
			if s.hungUp == nil {
				s.hungUp = err
			}
		})
		if err != io.EOF { // a reset; after an end one may go on writing
			_ = s.written.Close()
		}
		_ = s.answers.Close()
		return
	}
}

// HungUp is what the printer's end has been seen to do.
func (s *socket) HungUp() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hungUp
}

func (s *socket) Read(b []byte) (int, error) {
	n, err := s.reads.Read(b)
	if err == io.EOF && s.HungUp() != nil {
		err = s.HungUp()
	}
	return n, err
}

func (s *socket) Write(b []byte) (int, error) {
	n, err := s.writes.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = syscall.ECONNRESET
	}
	return n, err
}

func (s *socket) SetReadDeadline(t time.Time) error  { return s.reads.SetReadDeadline(t) }
func (s *socket) SetWriteDeadline(t time.Time) error { return s.writes.SetWriteDeadline(t) }

func (s *socket) Close() error {
	s.update(func() { s.out, s.done = nil, true })
	return errors.Join(s.line.Close(), s.writes.Close(), s.reads.Close())
}

// Finish waits until everything has arrived.
func (s *socket) Finish(ctx context.Context) error {
	for {
		s.mu.Lock()
		left, err, changed := len(s.out), s.hungUp, s.changed
		s.mu.Unlock()
		switch {
		case left > 0 && err != nil && err != io.EOF:
			return err
		case left == 0:
			return s.line.Finish(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A galley is a kitchen whose printers stand at the end of cables.
type galley struct {
	*kitchen
	cables map[string]*cable
}

// inGalley runs f with a daemon whose stations are at those cables, in a bubble. make is
// called in it.
func inGalley(t *testing.T, stations []string, lay func() map[string]*cable, setup func(*config.Config), f func(*galley)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		conf := config.Default()
		conf.Storage.Path = filepath.Join(dir, "t.db")
		conf.Admin.Socket, conf.Metrics.Listen = "", ""
		conf.Log.Level = "debug"
		conf.Venues = []config.Venue{{ID: venueID, Name: "Harbour Grill", Timezone: "Australia/Melbourne"}}
		conf.Fallback = stations[0]
		for _, s := range stations {
			p := config.DefaultPrinter()
			p.Name, p.Address = s, "tcp://"+s
			conf.Printers = append(conf.Printers, p)
			conf.Routes = append(conf.Routes, config.Route{When: "item.station == " + strconv.Quote(s), To: []string{s}})
		}
		g := &galley{kitchen: &kitchen{t: t, conf: &conf}, cables: lay()}
		if setup != nil {
			setup(&conf)
		}
		g.open()
		defer g.halt()
		f(g)
		g.balance()
	})
}

func (g *galley) open() {
	g.t.Helper()
	l := newMemory()
	a, err := New(g.t.Context(), Options{
		Config: g.conf, Webhook: l, Log: io.Discard, Clock: steady{}, NoSync: true,
		Dialer: func(p config.Printer) (transport.Dialer, error) { return g.cables[p.Name], nil },
	})
	if err != nil {
		g.t.Fatal(err)
	}
	if os.Getenv("FAULTS_LOG") != "" {
		a.log = newLogger(g.t.Output(), "text", a.level)
	}
	ctx, stop := context.WithCancel(context.Background())
	g.app, g.stop, g.ended = a, stop, make(chan error, 1)
	go func() { g.ended <- a.Run(ctx) }()
	g.client = &http.Client{Transport: &http.Transport{DialContext: l.dial}, Timeout: 5 * time.Second}
}

// order posts a ticket that has a middle and an end.
func (g *galley) order(station, number string) {
	g.t.Helper()
	g.put(number, at(station, "Alpha"), at(station, "Middle"), at(station, "Omega"))
}

// A slip is a piece of paper.
type slip struct {
	number string // empty: torn off before it was printed
	whole  bool   // down to its foot
	cut    bool
	banner bool
	for_   string // the station it stands in for
	at     time.Time
	text   string
}

func (s slip) String() string {
	w := cmp.Or(s.number, "?")
	if s.banner {
		w += "!"
	}
	if s.for_ != "" {
		w += "@" + s.for_
	}
	switch {
	case !s.whole:
		w += "~"
	case !s.cut:
		w += "_"
	}
	return w
}

var foot = regexp.MustCompile(`job [0-9]+ \|`)

// slips is what came out at the end of a cable.
func (g *galley) slips(station string) (out []slip) {
	g.t.Helper()
	c := g.cables[station]
	c.mu.Lock()
	printers := slices.Clone(c.printers)
	c.mu.Unlock()
	for _, p := range printers {
		if bad := p.Problems(); len(bad) > 0 {
			g.t.Errorf("%s got what no printer should: %v", station, bad)
		}
		for _, t := range p.Tickets() {
			if t.Text == "" {
				continue // a cut that came late and found nothing to cut
			}
			s := slip{whole: foot.MatchString(t.Text), cut: t.End == virtual.Cut, at: t.At, text: t.Text}
			s.banner = strings.Contains(t.Text, "POSSIBLE DUPLICATE")
			if m := numberOnPaper.FindStringSubmatch(t.Text); m != nil {
				s.number = m[1]
			}
			if m := forStation.FindStringSubmatch(t.Text); m != nil {
				s.for_ = m[1]
			}
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b slip) int { return a.at.Compare(b.at) })
	return out
}

func (g *galley) strip(station string) string {
	g.t.Helper()
	var words []string
	for _, s := range g.slips(station) {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

// ledger is what the books say of a station's tickets, in the order in which they came.
func (g *galley) ledger(station string) []queue.Job {
	g.t.Helper()
	jobs, err := g.app.queue.Jobs(g.t.Context(), queue.Filter{Station: station})
	if err != nil {
		g.t.Fatal(err)
	}
	slices.SortFunc(jobs, func(a, b queue.Job) int { return cmp.Compare(a.ID, b.ID) })
	return jobs
}

// fates is the ledger in a letter a ticket, and + for more than one attempt, ++ for more than two:
// "=" is the best that the printer can prove, s sent, h held, w waits.
func (g *galley) fates(station string, best ticket.State) string {
	g.t.Helper()
	var words []string
	for _, j := range g.ledger(station) {
		w := map[ticket.State]string{
			ticket.Confirmed: "c", ticket.Processed: "p", ticket.Sent: "s", ticket.Held: "h", ticket.Pending: "w", ticket.Printing: "w",
		}[j.State]
		if j.State == best {
			w = "="
		}
		words = append(words, cmp.Or(w, string(j.State))+strings.Repeat("+", min(max(j.Attempts-1, 0), 2)))
	}
	return strings.Join(words, " ")
}
