package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

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

	order *atomic.Int64 // counts what goes by on any cable

	mu       sync.Mutex // guards what follows
	changed  chan struct{}
	printers []*virtual.Printer // the last one stands there now
	hang     bool               // dialling is never answered
	dead     bool               // nobody is at the printer's end, not even a kernel
	traps    []*trap
	twist    func(answer []byte) []byte // what becomes of what the printer says
	seen     []sight                    // tickets as they first went by
}

// A sight is a ticket that goes by on its way to a printer.
type sight struct {
	number string
	nth    int64 // of all in the kitchen
}

// A trap is sprung when the bytes of a ticket have come to a certain place.
type trap struct {
	at     string
	spring func()
}

func newCable(o virtual.Options, buffered, oneWay bool) *cable {
	c := &cable{buffered: buffered, oneWay: oneWay, changed: make(chan struct{})}
	answer := o.Clone.Answer
	o.Clone.Answer = func(b []byte) []byte {
		if answer != nil {
			b = answer(b)
		}
		c.mu.Lock()
		twist := c.twist
		c.mu.Unlock()
		if twist != nil {
			b = twist(b)
		}
		return b
	}
	c.printers = []*virtual.Printer{virtual.New(o)}
	return c
}

// says puts f between the printer and who hears it; nil is nothing.
func (c *cable) says(f func(answer []byte) []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.twist = f
}

// power pulls the plug or puts it back.
func (c *cable) power(on bool) {
	if on {
		c.now().PowerOn()
	} else {
		c.now().PowerOff()
	}
	c.setDead(!on)
}

func (c *cable) cycle() { c.power(false); c.power(true) }

// cut is the network cable: pulled, nobody is told.
func (c *cable) cut(on bool) {
	c.now().Vanish(on)
	c.setDead(on)
}

func (c *cable) setDead(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = on
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cable) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
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
	c.traps = append(c.traps, &trap{at, spring})
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
		return newSocket(t, c), nil
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

var numberOnWire = regexp.MustCompile(`#([A-Z]+[0-9]+)`)

// next says how many bytes of b go out before something happens, and what that is.
func (t *tapped) next(b []byte) (n int, next *trap) {
	c := t.cable
	c.mu.Lock()
	defer c.mu.Unlock()
	n = len(b)
	if t.slow {
		t.slow, n = false, 1
	}
	all := append(bytes.Clone(t.tail), b...)
	for _, trap := range c.traps {
		from := max(len(t.tail)-len(trap.at)+1, 0) // what has gone by springs nothing
		if k := bytes.Index(all[from:], []byte(trap.at)); k >= 0 && from+k+len(trap.at)-len(t.tail) <= n {
			n, next = from+k+len(trap.at)-len(t.tail), trap
		}
	}
	return n, next
}

// spring springs a trap, unless it was disarmed meanwhile.
func (t *tapped) spring(which *trap) {
	time.Sleep(time.Millisecond) // the bubble's clock: until the printer has seen to what it took
	c := t.cable
	c.mu.Lock()
	i := slices.Index(c.traps, which)
	if i >= 0 {
		c.traps = slices.Delete(c.traps, i, i+1)
	}
	c.mu.Unlock()
	if i >= 0 {
		t.tail, t.slow = nil, true
		which.spring()
	}
}

const tailLength = 40

// sees notes the tickets that go by.
func (c *cable) sees(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range numberOnWire.FindAllSubmatch(b, -1) {
		n := string(m[1])
		if !slices.ContainsFunc(c.seen, func(s sight) bool { return s.number == n }) {
			c.seen = append(c.seen, sight{n, c.order.Add(1)})
		}
	}
}

func (t *tapped) Write(b []byte) (int, error) {
	if !t.cable.buffered {
		t.cable.sees(b)
	}
	sent := 0
	for sent < len(b) {
		n, trap := t.next(b[sent:])
		m, err := t.Conn.Write(b[sent : sent+n])
		t.tail = append(t.tail, b[sent:sent+m]...)
		if len(t.tail) > tailLength {
			t.tail = t.tail[len(t.tail)-tailLength:]
		}
		sent += m
		if err != nil {
			return sent, err
		}
		if trap != nil {
			t.spring(trap)
		}
	}
	return sent, nil
}

// oneWay is a connection on which nothing comes back.
type oneWay struct{ *tapped }

func (oneWay) Read([]byte) (int, error) { return 0, io.EOF }

// A socket takes what is written at once and sees to it that it arrives, as a kernel does.
type socket struct {
	line           transport.Conn
	dead           func() bool  // nobody acknowledges anything
	sees           func([]byte) // what is written
	reads, answers net.Conn     // the daemon's end and ours

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	out     []byte
	done    bool  // nothing more will be written
	taken   bool  // the printer's end has all of it, though the printer may not have looked at it
	broken  bool  // nothing more can be
	hungUp  error // how the other side ended it
}

func newSocket(line transport.Conn, c *cable) *socket {
	s := &socket{line: line, dead: c.isDead, sees: c.sees, changed: make(chan struct{})}
	s.reads, s.answers = net.Pipe()
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

func (s *socket) deliver() {
	for {
		s.mu.Lock()
		b, changed, done := bytes.Clone(s.out), s.changed, s.done || s.broken
		s.mu.Unlock()
		if len(b) == 0 {
			if done {
				s.bid()
				return
			}
			<-changed
			continue
		}
		n, err := s.line.Write(b)
		s.update(func() {
			s.out = s.out[min(n, len(s.out)):] // Close throws it away
			if err != nil && s.hungUp == nil {
				s.hungUp = err
			}
			s.broken = s.broken || err != nil
		})
		if err != nil {
			s.bid()
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
			s.broken = s.broken || err != io.EOF // after an end one may go on writing
		})
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
	s.mu.Lock()
	done, broken := s.done, s.broken
	s.mu.Unlock()
	switch {
	case done:
		return 0, net.ErrClosed
	case broken:
		return 0, syscall.ECONNRESET
	}
	s.sees(b)
	s.update(func() { s.out = append(s.out, b...) })
	return len(b), nil
}

func (s *socket) SetReadDeadline(t time.Time) error { return s.reads.SetReadDeadline(t) }
func (s *socket) SetWriteDeadline(time.Time) error  { return nil } // it never waits

// Close is a reset, unless all was taken: what the printer's end has then comes out.
func (s *socket) Close() error {
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	if taken {
		s.update(func() { s.done = true })
		return s.reads.Close()
	}
	s.update(func() { s.out, s.done = nil, true })
	return errors.Join(s.line.Close(), s.reads.Close())
}

// bid takes leave when everything is delivered, or nothing will be.
func (s *socket) bid() {
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	if taken {
		_ = s.line.Finish(context.Background())
		_ = s.line.Close()
	}
}

const (
	window      = 16 << 10 // what the printer's end of a socket takes for a printer that is not looking
	finishGrace = 500 * time.Millisecond
)

// Finish waits until everything is at the printer's end.
func (s *socket) Finish(ctx context.Context) error {
	t := time.NewTimer(finishGrace)
	defer t.Stop()
	late := false
	for {
		s.mu.Lock()
		left, broken, changed := len(s.out), s.broken, s.changed
		s.mu.Unlock()
		switch {
		case broken:
			return syscall.ECONNRESET
		case left == 0, late && left <= window && !s.dead():
			s.update(func() { s.taken = true })
			return nil
		}
		select {
		case <-changed:
		case <-t.C:
			late = true
			t.Reset(finishGrace)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A galley is a kitchen whose printers stand at the end of cables.
type galley struct {
	*kitchen
	cables map[string]*cable
	log    *logbook

	held, waived int // see broken
}

// A logbook is the daemon's log, kept to be asked later.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// doubts is how often each job ended in doubt.
func (l *logbook) doubts() map[uint64]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[uint64]int{}
	for line := range bytes.Lines(l.b.Bytes()) {
		var r struct {
			Msg string
			Job uint64
		}
		if json.Unmarshal(line, &r) == nil && strings.Contains(r.Msg, "ticket in doubt") {
			out[r.Job]++
		}
	}
	return out
}

// inGalley runs f in a bubble, with a daemon whose stations are at the ends of those cables.
func inGalley(t *testing.T, stations []string, lay func() map[string]*cable, setup func(*config.Config), f func(*galley)) {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // there are thousands
	synctest.Test(t, func(t *testing.T) {
		conf := config.Default()
		conf.Storage.Path = filepath.Join(dir, "t.db")
		conf.Admin.Socket, conf.Metrics.Listen = "", ""
		conf.Log.Level, conf.Log.Format = "debug", "json"
		conf.Fonts = []string{filepath.Join(dir, "none.ttf")} // to read real ones takes longer than the test
		conf.Venues = []config.Venue{{ID: venueID, Name: "Harbour Grill", Timezone: "Australia/Melbourne"}}
		conf.Fallback = stations[0]
		for _, s := range stations {
			p := config.DefaultPrinter()
			p.Name, p.Address = s, "tcp://"+s
			conf.Printers = append(conf.Printers, p)
			conf.Routes = append(conf.Routes, config.Route{When: "item.station == " + strconv.Quote(s), To: []string{s}})
		}
		if setup != nil {
			setup(&conf)
		}
		g := &galley{kitchen: &kitchen{t: t, conf: &conf}, cables: lay(), log: &logbook{}}
		order := new(atomic.Int64)
		for _, c := range g.cables {
			c.order = order
		}
		g.open()
		defer g.halt()
		f(g)
	})
}

// open is kitchen.start with the cables in between. Storage is somebody else's test.
func (g *galley) open() {
	g.t.Helper()
	l := newMemory()
	a, err := New(g.t.Context(), Options{
		Config: g.conf, Webhook: l, Log: g.log, Clock: steady{}, NoSync: true,
		Dialer: func(p config.Printer) (transport.Dialer, error) { return g.cables[p.Name], nil },
	})
	if err != nil {
		g.t.Fatal(err)
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

// state is what is known of a station's printer.
func (g *galley) state(station string) string {
	return g.app.live.Load().devices["tcp://"+station+":9100"].Status().State
}

// A slip is a piece of paper.
type slip struct {
	number string // empty: torn off before it was printed
	whole  bool   // down to its foot
	cut    bool
	banner bool
	other  string // the station it stands in for
	at     time.Time
	of     *cable
}

// String is the number, then ! for POSSIBLE DUPLICATE, @GRILL for FOR GRILL (printer down), ~ for
// torn off before the foot, _ for whole and not cut.
func (s slip) String() string {
	w := cmp.Or(s.number, "?")
	if s.banner {
		w += "!"
	}
	if s.other != "" {
		w += "@" + s.other
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

// slips is what came out at the end of a cable, and what the printers there object to.
func (c *cable) slips() (out []slip, objections []string) {
	c.mu.Lock()
	printers := slices.Clone(c.printers)
	c.mu.Unlock()
	for _, p := range printers {
		objections = append(objections, p.Problems()...)
		for _, t := range p.Tickets() {
			if t.Text == "" {
				continue // a cut that came late and found nothing to cut
			}
			s := slip{whole: foot.MatchString(t.Text), cut: t.End == virtual.Cut, at: t.At, of: c}
			s.banner = strings.Contains(t.Text, "POSSIBLE DUPLICATE")
			if m := numberOnPaper.FindStringSubmatch(t.Text); m != nil {
				s.number = m[1]
			}
			if m := forStation.FindStringSubmatch(t.Text); m != nil {
				s.other = m[1]
			}
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b slip) int { return a.at.Compare(b.at) })
	return out, objections
}

// strip is the slips of a station, a word a slip.
func (g *galley) strip(station string) string {
	var words []string
	slips, _ := g.cables[station].slips()
	for _, s := range slips {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

// objections are what no printer should have got.
func (g *galley) objections() (out []string) {
	for name, c := range g.cables {
		_, bad := c.slips()
		for _, b := range bad {
			out = append(out, name+" got what no printer should: "+b)
		}
	}
	return out
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

// fates is the ledger, a letter a ticket: = for the best that the printer can prove, c confirmed,
// p processed, s sent, h held, w waiting; then + for a second attempt and ++ for more.
func (g *galley) fates(station string, best ticket.State) string {
	g.t.Helper()
	letters := map[ticket.State]string{
		ticket.Confirmed: "c", ticket.Processed: "p", ticket.Sent: "s", ticket.Held: "h", ticket.Pending: "w", ticket.Printing: "w",
	}
	letters[best] = "="
	var words []string
	for _, j := range g.ledger(station) {
		words = append(words, cmp.Or(letters[j.State], string(j.State))+strings.Repeat("+", min(max(j.Attempts-1, 0), 2)))
	}
	return strings.Join(words, " ")
}

// broken is what of the promises was not kept in the end, once all is mended and every
// line is empty. numbers are each line's tickets in the order in which they were accepted.
// Where lost says so, a printer forgot what it had taken, which only one that can be asked
// tells.
func (g *galley) broken(numbers map[string][]string, lost map[string]bool) (out []string) {
	complain := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	copies, seen := map[string][]slip{}, []sight{}
	for _, c := range g.cables {
		slips, _ := c.slips()
		for _, s := range slips {
			copies[s.number] = append(copies[s.number], s)
		}
		c.mu.Lock()
		seen = append(seen, c.seen...)
		c.mu.Unlock()
	}
	slices.SortStableFunc(seen, func(a, b sight) int { return cmp.Compare(a.nth, b.nth) })
	out = g.objections()
	doubts := g.log.doubts()
	for line, want := range numbers {
		jobs := g.ledger(line)
		if len(jobs) != len(want) {
			complain("%s has %d jobs, and %d orders were accepted", line, len(jobs), len(want))
			continue
		}
		last := -1 // of those that have gone out
		for _, s := range seen {
			i := slices.Index(want, s.number)
			switch {
			case i < 0:
			case i < last:
				complain("%s was begun after %s", want[i], want[last])
			default:
				last = i
			}
		}
		for i, j := range jobs {
			if j.State == ticket.Held {
				g.held++
			}
			if j.State == ticket.Sent && !slices.ContainsFunc(copies[want[i]], func(s slip) bool { return s.whole }) {
				g.waived++
			}
			for _, fault := range fateOf(j, copies[want[i]], doubts[j.ID], lost[line]) {
				complain("%s (job %d of %s, %s, %d attempts, %d in doubt, on paper %v): %s",
					want[i], j.ID, line, j.State, j.Attempts, doubts[j.ID], copies[want[i]], fault)
			}
		}
	}
	if n := g.app.queue.Unaccounted(); n != 0 {
		complain("the books do not balance by %d", n)
	}
	return out
}

// fateOf is broken for one ticket.
func fateOf(j queue.Job, copies []slip, doubts int, lost bool) (out []string) {
	slices.SortStableFunc(copies, func(a, b slip) int { return a.at.Compare(b.at) })
	whole := slices.ContainsFunc(copies, func(s slip) bool { return s.whole })
	switch {
	case j.State == ticket.Held && doubts != 2, j.State != ticket.Held && doubts >= 2:
		out = append(out, "held are those that were in doubt twice, and no others")
	case j.State.Open() && j.State != ticket.Held:
		out = append(out, "it is still in the line")
	case j.State == ticket.Sent && lost, j.State == ticket.Held:
	case !slices.Contains(ticket.Proofs(), j.State):
		out = append(out, "nobody asked for that")
	case !whole:
		out = append(out, "it is not on paper")
	}
	if len(copies) > 2 {
		out = append(out, "more than two copies")
	}
	unmarked, after := 0, map[*cable]bool{}
	for _, c := range copies {
		if !c.banner {
			unmarked++
		}
		if after[c.of] && !c.banner || unmarked > 1 {
			out = append(out, "a copy after the first says nothing")
		}
		after[c.of] = true
		if c.banner && doubts == 0 {
			out = append(out, "a banner, and nothing was in doubt")
		}
	}
	return out
}
