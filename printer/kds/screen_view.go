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
	clients map[string]*client
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
	v := &screenView{
		screen: d.Screen, name: o.Name, title: o.Title, expo: o.Expo != nil, beat: beat,
		stopped: make(chan struct{}), clients: map[string]*client{},
	}
	v.stop = sync.OnceFunc(func() { close(v.stopped) })
	recallFor := o.Board.o.RecallFor
	if v.expo {
		v.source, recallFor = expoSource{o.Expo}, o.Expo.o.RecallFor
	} else {
		v.source = boardSource{o.Board}
	}
	v.config.Store(&d)
	v.setup = setup{
		Web: web, Name: o.Name, Title: o.Title, Expo: v.expo, Beat: beat.Milliseconds(),
		WarnAfter: o.WarnAfter.Milliseconds(), LateAfter: o.LateAfter.Milliseconds(),
		RecallFor: recallFor.Milliseconds(),
		Keys:      withCustomKeys(d.Keys), Print: d.Print != nil, Alarm: allergyWords(),
	}
	b, _ := json.Marshal(v.setup) // strings and numbers
	sum := sha256.Sum256(b)
	v.setupTag = hex.EncodeToString(sum[:6])
	return v
}

// Name, Title and Path are for the page on which a screen is chosen.
func (v *screenView) Name() string  { return v.name }
func (v *screenView) Title() string { return v.title }
func (v *screenView) Path() string  { return "/screen/" + url.PathEscape(v.name) }

// offset is how many minutes the kitchen's clock is ahead of UTC.
func (v *screenView) zoneOffset(t time.Time) int {
	zone := v.config.Load().Zone
	if zone == nil {
		zone = time.Local
	}
	_, sec := t.In(zone).Zone()
	return sec / 60
}

// A viewer is one page. It is live while it answers heartbeats: a tablet that was carried out
// of range, or switched off, has an open connection for a long time.
type client struct {
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
func (v *screenView) streamOpened(id string) (closed func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.clients[id]
	if c == nil {
		c = &client{id: id}
		v.clients[id] = c
	}
	c.streams++
	if c.removeTimer != nil {
		c.removeTimer.Stop()
		c.removeTimer = nil
	}
	return sync.OnceFunc(func() { v.streamClosed(c) })
}

func (v *screenView) streamClosed(c *client) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c.streams--; c.streams > 0 {
		return
	}
	if c.leaveScreen == nil {
		v.drop(c)
		return
	}
	c.removeTimer = time.AfterFunc(reconnectGrace, func() { v.removeClient(c.id, false) })
}

// dismiss forgets a page. Only one that says so itself goes while it has a stream.
func (v *screenView) removeClient(id string, closedByPage bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.clients[id]; c != nil && (closedByPage || c.streams == 0) {
		v.drop(c)
	}
}

// drop needs mu.
func (v *screenView) drop(c *client) {
	v.setNotLive(c)
	if c.streams <= 0 && v.clients[c.id] == c {
		delete(v.clients, c.id)
	}
}

// sleep needs mu.
func (v *screenView) setNotLive(c *client) {
	if c.leaveScreen != nil {
		c.leaveScreen()
		c.leaveScreen = nil
	}
}

// answer notes that a page is there and shows these cards. fresh says that the Screen did not
// know the page, so it has to name all the cards that it shows; ok is false for a page
// without a stream: nobody would tell it of changes.
func (v *screenView) clientAnswered(id string, jobs []uint64) (joined, ok bool) {
	v.mu.Lock()
	c := v.clients[id]
	if c == nil || c.streams == 0 {
		v.mu.Unlock()
		return false, false
	}
	c.answered = time.Now()
	if c.leaveScreen == nil {
		joined, c.leaveScreen = true, v.screen.Join(id)
	}
	v.mu.Unlock()
	if len(jobs) > 0 {
		v.screen.Shown(id, jobs)
	}
	return joined, true
}

// doze ends the liveness of a page that has not answered for too long. It returns for how
// long it has not, counted from the given time if it never did.
func (v *screenView) expireClient(id string, since time.Time) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.clients[id]
	if c == nil {
		return 0
	}
	if c.answered.After(since) {
		since = c.answered
	}
	silent := time.Since(since)
	if silent > time.Duration(maxMissedBeats*float64(v.beat)) {
		v.setNotLive(c)
	}
	return silent
}

// abandon makes all pages not live, because the server stops or the display is gone.
func (v *screenView) setAllNotLive() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range slices.Collect(maps.Values(v.clients)) {
		v.setNotLive(c)
	}
}
