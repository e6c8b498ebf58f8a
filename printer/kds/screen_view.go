package kds

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A source is what the pages of one screen show: a board, or the pass.
type source interface {
	At() string
	Since(id string) ([]Event, bool)
	Changed() <-chan struct{}
	snapshot() any
	open() []*Card
}

type boardSource struct{ *Board }

func (b boardSource) snapshot() any { return b.Board.Snapshot() }
func (b boardSource) open() []*Card { return b.Board.Snapshot().Open }

type expoSource struct{ *Expo }

func (x expoSource) snapshot() any { return x.Expo.Snapshot() }
func (x expoSource) open() (cards []*Card) {
	for _, o := range x.Expo.Snapshot().Orders {
		for _, s := range o.Stations {
			cards = append(cards, s.Cards...)
		}
	}
	return cards
}

// A face is one screen as it is served, and who is looking at it. It is replaced when the
// configuration changes.
type screenView struct {
	screen      *Screen
	name, title string
	expo        bool
	source      source
	setup       setup
	setupTag    string
	beat        time.Duration
	stopped     chan struct{} // closed when the display is served no more
	stop        func()
	config      atomic.Pointer[Display] // the configuration; what of it is not in setup may change

	mu      sync.Mutex // guards pages and what is in them
	clients map[string]*testPage
}

// setup is what a page has to know beside the board. A page that was made of another one
// loads itself again.
type setup struct {
	Web       string              `json:"web"` // changes with the scripts
	Name      string              `json:"name"`
	Title     string              `json:"title"`
	Expo      bool                `json:"expo"`
	Beat      int64               `json:"beat"` // milliseconds, as all of them
	WarnAfter int64               `json:"warn_after"`
	LateAfter int64               `json:"late_after"`
	RecallFor int64               `json:"recall_for"`
	Keys      map[string][]string `json:"keys"`
	Print     bool                `json:"print"`
	Alarm     []string            `json:"alarm"` // what in a note is an allergy
}

func newScreenView(d Display, beat time.Duration, web string) *screenView {
	o := d.Screen.Options()
	n := &screenView{
		screen: d.Screen, name: o.Name, title: o.Title, expo: o.Expo != nil, beat: beat,
		stopped: make(chan struct{}), clients: map[string]*testPage{},
	}
	n.stop = sync.OnceFunc(func() { close(n.stopped) })
	recallFor := o.Board.o.RecallFor
	if n.expo {
		n.source, recallFor = expoSource{o.Expo}, o.Expo.o.RecallFor
	} else {
		n.source = boardSource{o.Board}
	}
	n.config.Store(&d)
	n.setup = setup{
		Web: web, Name: o.Name, Title: o.Title, Expo: n.expo, Beat: beat.Milliseconds(),
		WarnAfter: o.WarnAfter.Milliseconds(), LateAfter: o.LateAfter.Milliseconds(),
		RecallFor: recallFor.Milliseconds(),
		Keys:      withCustomKeys(d.Keys), Print: d.Print != nil, Alarm: allergyWords(),
	}
	b, _ := json.Marshal(n.setup) // strings and numbers
	sum := sha256.Sum256(b)
	n.setupTag = hex.EncodeToString(sum[:6])
	return n
}

// Name, Title and Path are for the page on which a screen is chosen.
func (d *screenView) Name() string  { return d.name }
func (d *screenView) Title() string { return d.title }
func (d *screenView) Path() string  { return "/screen/" + url.PathEscape(d.name) }

// offset is how many minutes the kitchen's clock is ahead of UTC.
func (d *screenView) zoneOffset(t time.Time) int {
	zone := d.config.Load().Zone
	if zone == nil {
		zone = time.Local
	}
	_, sec := t.In(zone).Zone()
	return sec / 60
}

// A viewer is one page. It is live while it answers heartbeats: a tablet that was carried out
// of range, or switched off, has an open connection for a long time.
type testPage struct {
	id          string
	streams     int
	answered    time.Time // when it last said that it is there
	leaveScreen func()    // of the Screen; nil: it is not live
	removeTimer *time.Timer
}

const (
	// missedBeats is how many heartbeats a live page may leave unanswered, and half of one for
	// the way.
	maxMissedBeats = 2.5
	// comesBack is how long a page whose stream broke is live without one. A reload or a
	// hiccup of the radio is not the end of a screen.
	reconnectGrace = 3 * time.Second
)

// opened notes a stream of a page; closed must be called when it ends.
func (d *screenView) streamOpened(id string) (closed func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.clients[id]
	if v == nil {
		v = &testPage{id: id}
		d.clients[id] = v
	}
	v.streams++
	if v.removeTimer != nil {
		v.removeTimer.Stop()
		v.removeTimer = nil
	}
	return sync.OnceFunc(func() { d.streamClosed(v) })
}

func (d *screenView) streamClosed(v *testPage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.streams--; v.streams > 0 {
		return
	}
	if v.leaveScreen == nil {
		d.drop(v)
		return
	}
	v.removeTimer = time.AfterFunc(reconnectGrace, func() { d.removeClient(v.id, false) })
}

// dismiss forgets a page. Only one that says so itself goes while it has a stream.
func (d *screenView) removeClient(id string, itself bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v := d.clients[id]; v != nil && (itself || v.streams == 0) {
		d.drop(v)
	}
}

// drop needs mu.
func (d *screenView) drop(v *testPage) {
	d.setNotLive(v)
	if v.streams <= 0 && d.clients[v.id] == v {
		delete(d.clients, v.id)
	}
}

// sleep needs mu.
func (d *screenView) setNotLive(v *testPage) {
	if v.leaveScreen != nil {
		v.leaveScreen()
		v.leaveScreen = nil
	}
}

// answer notes that a page is there and shows these cards. fresh says that the Screen did not
// know the page, so it has to name all the cards that it shows; ok is false for a page
// without a stream: nobody would tell it of changes.
func (d *screenView) clientAnswered(id string, jobs []uint64) (fresh, ok bool) {
	d.mu.Lock()
	v := d.clients[id]
	if v == nil || v.streams == 0 {
		d.mu.Unlock()
		return false, false
	}
	v.answered = time.Now()
	if v.leaveScreen == nil {
		fresh, v.leaveScreen = true, d.screen.Join(id)
	}
	d.mu.Unlock()
	if len(jobs) > 0 {
		d.screen.Shown(id, jobs)
	}
	return fresh, true
}

// doze ends the liveness of a page that has not answered for too long. It returns for how
// long it has not, counted from the given time if it never did.
func (d *screenView) expireClient(id string, since time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.clients[id]
	if v == nil {
		return 0
	}
	if v.answered.After(since) {
		since = v.answered
	}
	silent := time.Since(since)
	if silent > time.Duration(maxMissedBeats*float64(d.beat)) {
		d.setNotLive(v)
	}
	return silent
}

// abandon makes all pages not live, because the server stops or the display is gone.
func (d *screenView) setAllNotLive() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range slices.Collect(maps.Values(d.clients)) {
		d.setNotLive(v)
	}
}
