package kds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/printer/kds/board"
)

// A screenView is one screen as it is served, and the pages that have it open. It is replaced when
// the screen or its setup changes in the configuration; the pages of the old one connect anew.
type screenView struct {
	screen      *Screen
	name, title string
	orders      *board.Orders // what its pages show
	setup       setup
	setupTag    string
	stopped     chan struct{} // closed when this screenView is no longer served
	stop        func()
	config      atomic.Pointer[Display] // replaced by a reload that leaves setup as it is
	noting      atomic.Bool             // a goroutine of noteSeen runs

	mu      sync.Mutex         // guards clients and their fields
	clients map[string]*client // by page id
}

// setup is what a page needs to know beside the board. A page that was rendered with another setup
// reloads itself.
type setup struct {
	Web         string              `json:"web"` // tag of the scripts and styles
	Name        string              `json:"name"`
	Title       string              `json:"title"`
	Pass        bool                `json:"pass"`
	Beat        int64               `json:"beat"` // milliseconds, as all of them but Repeat
	WarnAfter   int64               `json:"warn_after"`
	LateAfter   int64               `json:"late_after"`
	RecallFor   int64               `json:"recall_for"`
	UndoFor     int64               `json:"undo_for"`
	UnseenAfter int64               `json:"unseen_after"`
	Repeat      int64               `json:"repeat"` // seconds; 0: a sound comes once
	Keys        map[string][]string `json:"keys"`
	Print       bool                `json:"print"`
}

// newScreenView collects what the pages of a display need. web is the tag of the scripts.
func newScreenView(d Display, web string) *screenView {
	o := d.Screen.Options()
	v := &screenView{
		screen: d.Screen, name: o.Name, title: o.Title, orders: d.Screen.Orders(),
		stopped: make(chan struct{}), clients: map[string]*client{},
	}
	v.stop = sync.OnceFunc(func() { close(v.stopped) })
	v.config.Store(&d)
	v.setup = setup{
		Web: web, Name: o.Name, Title: o.Title, Pass: o.Pass != nil, Beat: beatInterval.Milliseconds(),
		WarnAfter: o.WarnAfter.Milliseconds(), LateAfter: o.LateAfter.Milliseconds(),
		RecallFor: v.orders.RecallFor().Milliseconds(), UndoFor: board.UndoFor.Milliseconds(),
		UnseenAfter: o.UnseenAfter.Milliseconds(), Repeat: int64(o.Repeat / time.Second),
		Keys: withCustomKeys(d.Keys), Print: d.Print != nil,
	}
	b, _ := json.Marshal(v.setup) // strings and numbers: it cannot fail
	sum := sha256.Sum256(b)
	v.setupTag = hex.EncodeToString(sum[:6])
	return v
}

// Name, Title and Path are for the template of the start page.
func (v *screenView) Name() string  { return v.name }
func (v *screenView) Title() string { return v.title }
func (v *screenView) Path() string  { return "/screen/" + url.PathEscape(v.name) }

// zoneOffset is how many minutes the kitchen's clock is ahead of UTC at time t.
func (v *screenView) zoneOffset(t time.Time) int {
	zone := v.config.Load().Zone
	if zone == nil {
		zone = time.Local
	}
	_, sec := t.In(zone).Zone()
	return sec / 60
}

// A client is one page, known by the id it made up for itself. It is live while it answers
// heartbeats; an open connection proves nothing, for a tablet that is switched off or out of range
// keeps one for a long time.
type client struct {
	id          string
	streams     int
	answered    time.Time   // last answer to a heartbeat
	leaveScreen func()      // from [Screen.Join]; nil: it is not live
	removeTimer *time.Timer // runs while it has no stream
}

const (
	// maxMissedBeats is how many heartbeats a live page may leave unanswered: two, and half a beat
	// for the answer's way through the network.
	maxMissedBeats = 2.5
	// reconnectGrace is how long a page whose stream broke stays live without one. A reload or a
	// short loss of the wireless network must not make the screen dark.
	reconnectGrace = 3 * time.Second
)

// streamOpened notes a stream of a page. The caller must call closed when the stream ends. A page
// has two streams for a moment when it connects anew; only the end of the last one counts.
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

// streamClosed notes the end of a stream. A live page that has no other stream gets reconnectGrace
// to come back.
func (v *screenView) streamClosed(c *client) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c.streams--; c.streams > 0 {
		return
	}
	// A page that never answered has shown nothing, so it needs no grace.
	if c.leaveScreen == nil {
		v.drop(c)
		return
	}
	c.removeTimer = time.AfterFunc(reconnectGrace, func() { v.removeClient(c.id, false) })
}

// removeClient forgets a page. Only one that said itself that it is closed goes while it still has
// a stream: that stream's end may not have been noticed yet.
func (v *screenView) removeClient(id string, closedByPage bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.clients[id]; c != nil && (closedByPage || c.streams == 0) {
		v.drop(c)
	}
}

// drop ends a page's liveness, and forgets the page once its last stream has ended. mu is held.
func (v *screenView) drop(c *client) {
	v.setNotLive(c)
	if c.streams <= 0 && v.clients[c.id] == c {
		delete(v.clients, c.id)
	}
}

// setNotLive tells the screen that this page no longer counts. mu is held.
func (v *screenView) setNotLive(c *client) {
	if c.leaveScreen != nil {
		c.leaveScreen()
		c.leaveScreen = nil
	}
}

// clientAnswered notes that a page has answered a heartbeat and holds these cards. joined says that
// the Screen did not know the page before, so the page must send all the cards it holds; ok is
// false for a page without a stream, which would not learn of changes and so must not count as
// live.
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
		v.screen.Confirm(id, jobs)
	}
	return joined, true
}

// noteSeen records which cards are on the visible page of a screen. It waits for the disk in its own
// goroutine: a page whose heartbeats are not answered would show that it is not live. While one
// waits, further reports are dropped; the page repeats them with each heartbeat.
func (v *screenView) noteSeen(jobs []uint64, log *slog.Logger) {
	if len(jobs) == 0 || !v.noting.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer v.noting.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), beatInterval)
		defer cancel()
		if err := v.screen.Board().Seen(ctx, jobs); err != nil {
			log.Debug("cannot store that tickets were seen", "station", v.name, "err", err)
		}
	}()
}

// expireClient ends the liveness of a page that has missed too many heartbeats. It returns how long
// the page has been silent, counted from since if it never answered.
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
	if silent > time.Duration(maxMissedBeats*float64(beatInterval)) {
		v.setNotLive(c)
	}
	return silent
}

// setAllNotLive ends the liveness of all pages because the server stops: from now on nobody learns
// of new tickets.
func (v *screenView) setAllNotLive() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range slices.Collect(maps.Values(v.clients)) {
		v.setNotLive(c)
	}
}
