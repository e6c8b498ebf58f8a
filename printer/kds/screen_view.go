package kds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"ticketrail/printer/kds/board"
)

// A screenView is one screen as it is served. It is replaced when the screen or its setup changes in the
// configuration; the pages of the old one connect anew.
type screenView struct {
	setup
	Tag     string // of the setup; a page with another tag reloads itself
	screen  *Screen
	orders  *board.Orders                // on its pages
	stopped chan struct{}                // closed when this screenView is no longer served
	config  atomic.Pointer[ServedScreen] // replaced by a reload that leaves setup as it is
	noting  atomic.Bool                  // a goroutine of noteSeen runs
}

// setup is the configuration that a page needs beside the board. A page that was rendered with another setup
// reloads itself.
type setup struct {
	Web         string              `json:"web"` // tag of the scripts and styles
	Name        string              `json:"name"`
	Title       string              `json:"title"`
	Language    string              `json:"language,omitempty"`
	Pass        bool                `json:"pass"`
	Beat        int64               `json:"beat"` // milliseconds, as all of them but Repeat
	WarnAfter   int64               `json:"warn_after"`
	LateAfter   int64               `json:"late_after"`
	RecallFor   int64               `json:"recall_for"`
	UndoFor     int64               `json:"undo_for"`
	UnseenAfter int64               `json:"unseen_after"`
	Repeat      int64               `json:"repeat"` // seconds; 0: a sound comes once
	Fixed       bool                `json:"fixed,omitempty"`
	PickupNames bool                `json:"pickup_names,omitempty"`
	Keys        map[string][]string `json:"keys"`
	Print       bool                `json:"print"`
}

// newScreenView collects the data for the pages of a screen. web is the tag of the scripts.
func newScreenView(d ServedScreen, web string) *screenView {
	options := d.Screen.Options()
	view := &screenView{screen: d.Screen, orders: d.Screen.Orders(), stopped: make(chan struct{})}
	view.config.Store(&d)
	view.setup = setup{
		Web: web, Name: options.Name, Title: options.Title, Language: d.Language,
		Pass: options.Pass != nil, Beat: beatInterval.Milliseconds(),
		WarnAfter: options.WarnAfter.Milliseconds(), LateAfter: options.LateAfter.Milliseconds(),
		RecallFor: view.orders.RecallFor().Milliseconds(), UndoFor: board.UndoFor.Milliseconds(),
		UnseenAfter: options.UnseenAfter.Milliseconds(), Repeat: int64(options.Repeat / time.Second),
		Keys: withCustomKeys(d.Keys), Print: d.Print != nil, Fixed: d.Fixed && options.Pass == nil,
		PickupNames: d.PickupNames,
	}

	body, _ := json.Marshal(view.setup) // strings and numbers: it cannot fail
	sum := sha256.Sum256(body)
	view.Tag = hex.EncodeToString(sum[:6])
	return view
}

// Path is the address of its page.
func (v *screenView) Path() string { return "/screen/" + url.PathEscape(v.Name) }

// zoneOffset is how many minutes the kitchen's clock is ahead of UTC at time t.
func (v *screenView) zoneOffset(t time.Time) int {
	_, sec := t.In(v.config.Load().Zone()).Zone()
	return sec / 60
}

// noteSeen records which cards are on the visible sheet of a page. It waits for the disk in its own
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
			log.Debug("cannot store that tickets were seen", "station", v.Name, "err", err)
		}
	}()
}
