package kds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"ticketrail/queue/ticket"
)

// A Printer is another station: what a screen's tickets come out of while nobody looks at
// it. It is the dispatcher's Station.
type BackupStation interface {
	Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error)
}

// ScreenOptions say what one screen station is. Name and Board are required.
type ScreenOptions struct {
	Name  string // the station's
	Title string // what its pages call it; "" is Name
	Board *Board
	// Expo makes this the pass: its pages show that instead of the board. Nil: they show the board.
	Expo *Expo

	// Backup is the station that gets what was shown and not bumped when every page has been dead for
	// HoldFor, through Rescuer: see [Screen.Watch]. "": none does. What was not shown stays in the
	// screen's own queue, which has the same station as a backup: as [Screen.StandIn] of it, after HoldFor.
	Backup  string
	Rescuer Rescuer       // nil: nothing is rescued
	HoldFor time.Duration // 0 is 20 s

	WarnAfter, LateAfter time.Duration // ages at which a card is marked; 0 is 5 and 8 min

	// ShowWithin is how long a page may take to say that it holds a card; 0 is 10 s.
	ShowWithin time.Duration
	// OnLive is called when the first page joins after there was none: to wake the line that waits
	// for one. It must not block.
	OnLive  func()
	Logger  *slog.Logger // nil: silent
	Metrics *Metrics     // nil: none
}

// A Screen is a station that shows its tickets on pages: in whatever browser has one open. It
// is safe for concurrent use.
//
// A page that is live has joined and not left. Who runs the pages decides what live is (a
// stream that is open, a heartbeat that was answered); the Screen only counts.
type Screen struct {
	o   ScreenOptions
	log *slog.Logger

	mu           sync.Mutex // guards what follows; held for moments
	pages        map[string]*page
	waiting      map[uint64]chan struct{} // closed when a live page holds that job
	darkSince    time.Time                // since when no page is live; zero: one is
	everOpen     bool                     // there was one since the start
	pagesChanged chan struct{}            // closed when pages come or go
	notAwaited   map[uint64]bool          // cards whose paper the screen's own queue does not wait for
}

// A page is one live page. It may have joined twice, while it connects anew.
type page struct {
	joined int
	holds  map[uint64]struct{}
}

// NewScreen fills in o's defaults. It panics when a required option is missing.
func NewScreen(o ScreenOptions) *Screen {
	if o.Name == "" || o.Board == nil {
		panic("kds.NewScreen: Options.Name or Options.Board is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Title == "" {
		o.Title = o.Name
	}
	orDefault(&o.HoldFor, 20*time.Second)
	orDefault(&o.ShowWithin, 10*time.Second)
	orDefault(&o.WarnAfter, 5*time.Minute)
	orDefault(&o.LateAfter, 8*time.Minute)
	return &Screen{
		o: o, log: o.Logger.With("component", "kds", "station", o.Name),
		pages: map[string]*page{}, waiting: map[uint64]chan struct{}{}, darkSince: time.Now(),
		pagesChanged: make(chan struct{}),
	}
}

// Options are what the screen was made of, defaults filled in.
func (s *Screen) Options() ScreenOptions { return s.o }

// Board is what the screen shows.
func (s *Screen) Board() *Board { return s.o.Board }

// Idempotent says that a ticket that is given again, after an attempt that broke, is recognised
// by its job and never shown twice: however often that happens, no mark and no person is
// needed. Somewhere else it would be a second copy.
func (*Screen) Idempotent() bool { return true }

var errNoPage = errors.New("no screen is open on this station")

// Print puts one ticket on the board and waits until a live page holds it: the proof is
// [ticket.Shown]. begin is called before the ticket is put there.
//
// With no live page it fails with [ticket.NotReady] before begin, and the board does not have the
// ticket. An error after begin means that no page said in time that it holds the card. It may
// hang on a wall all the same, so that is doubt; given again, the ticket keeps its card. If the
// ticket comes out elsewhere instead, through [Screen.StandIn], the card goes first.
func (s *Screen) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	if !s.live() {
		return "", ticket.NotReady(fmt.Errorf("%w: open its page, or see why the screen is dark", errNoPage))
	}
	// A crash before begin has committed: the board has nothing, the next attempt is the first. A
	// crash after it: the board may have the card, and knows it again by its job.
	if err := begin(ctx); err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	started := time.Now()
	held, done := s.awaitHeld(d.Job)
	defer done()
	if _, err := s.o.Board.Put(ctx, d); err != nil {
		return "", beforeAnyPage(err) // pages are told of nothing that is not stored
	}
	if err := s.waitHeld(ctx, d.Job, held); err != nil {
		return "", err
	}
	if err := s.o.Board.markShown(ctx, d.Job); err != nil {
		return "", err
	}
	s.o.Metrics.shown(time.Since(started))
	return ticket.Shown, nil
}

// unseen marks an error that came before any page could have been told.
func beforeAnyPage(err error) error {
	if ticket.IsPermanent(err) {
		return err
	}
	return ticket.Untouched(err)
}

// seen waits until a live page holds the card, or it was bumped, which is as good.
func (s *Screen) waitHeld(ctx context.Context, job uint64, held <-chan struct{}) error {
	if c, ok := s.o.Board.Card(job); ok && c.State == Bumped {
		return nil
	}
	timeout := time.NewTimer(s.o.ShowWithin)
	defer timeout.Stop()
	select {
	case <-held:
		return nil
	case <-timeout.C:
	case <-ctx.Done():
		return fmt.Errorf("wait for a page to show it: %w", context.Cause(ctx))
	}
	if !s.live() {
		return errors.New("the screen closed before it said that it shows the ticket")
	}
	return fmt.Errorf("a screen is open but did not say within %v that it shows the ticket: reload its page",
		s.o.ShowWithin)
}

// await returns a channel that is closed when a live page holds job.
func (s *Screen) awaitHeld(job uint64) (held <-chan struct{}, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{})
	if s.isHeld(job) {
		close(ch)
		return ch, func() {}
	}
	s.waiting[job] = ch
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting[job] == ch {
			delete(s.waiting, job)
		}
	}
}

// holder says whether a live page holds job. mu is held.
func (s *Screen) isHeld(job uint64) bool {
	for _, p := range s.pages {
		if _, ok := p.holds[job]; ok {
			return true
		}
	}
	return false
}

// Join notes a live page, named by an id of its own that it keeps when it connects anew. leave
// ends that; it may be called more than once.
func (s *Screen) Join(id string) (leave func()) {
	s.mu.Lock()
	p := s.pages[id]
	if p == nil {
		p = &page{holds: map[uint64]struct{}{}}
		s.pages[id] = p
	}
	p.joined++
	first := !s.darkSince.IsZero()
	if first {
		s.darkSince, s.everOpen = time.Time{}, true
		s.notifyPagesChanged()
	}
	s.mu.Unlock()
	if first {
		s.log.Info("a screen is open")
		if s.o.OnLive != nil {
			s.o.OnLive()
		}
	}
	return sync.OnceFunc(func() { s.leave(id, p) })
}

func (s *Screen) leave(id string, p *page) {
	s.mu.Lock()
	if p.joined--; p.joined == 0 {
		delete(s.pages, id)
	}
	last := len(s.pages) == 0
	if last {
		s.darkSince = time.Now()
		s.notifyPagesChanged()
	}
	s.mu.Unlock()
	if last {
		s.log.Warn("no screen is open any more")
	}
}

// stirred tells who waits for pages to come or go. mu is held.
func (s *Screen) notifyPagesChanged() {
	close(s.pagesChanged)
	s.pagesChanged = make(chan struct{})
}

// Shown notes that a live page says it holds these cards, on whichever page of cards. Of one
// that is not live it is no news; nor are jobs that the board does not have, or has given up.
func (s *Screen) Shown(id string, jobs []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pages[id]
	if p == nil {
		return
	}
	for _, job := range jobs {
		// Asked with mu held, so that a card that is given up meanwhile is forgotten after this.
		if c, ok := s.o.Board.Card(job); !ok || c.State == Elsewhere {
			continue
		}
		p.holds[job] = struct{}{}
		if ch := s.waiting[job]; ch != nil {
			close(ch)
			delete(s.waiting, job)
		}
	}
	if len(p.holds) > 2*maxKept {
		maps.DeleteFunc(p.holds, func(job uint64, _ struct{}) bool { _, ok := s.o.Board.Card(job); return !ok })
	}
}

// forget notes that no page holds a card, because it was taken off the board: should its ticket
// come back, that is another card.
func (s *Screen) forget(job uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pages {
		delete(p.holds, job)
	}
}

// Do does what a live page asks. A page that asks about a card holds it.
func (s *Screen) Do(ctx context.Context, id string, c Command) (Result, error) {
	if c.Order != "" {
		if s.o.Expo == nil {
			return Result{}, fmt.Errorf("%w: %s shows tickets, not orders", ErrCommand, s.o.Name)
		}
		return s.o.Expo.Do(ctx, c)
	}
	s.Shown(id, []uint64{c.Job})
	return s.o.Board.Do(ctx, c)
}

func (s *Screen) live() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.darkSince.IsZero()
}

// ScreenStatus is how a screen station is.
type ScreenStatus struct {
	Live   int       `json:"live"`            // pages
	Ever   bool      `json:"ever"`            // there was one since the start
	Dead   time.Time `json:"dead,omitzero"`   // since when there is none; zero: there is one
	Open   int       `json:"open"`            // tickets
	Oldest time.Time `json:"oldest,omitzero"` // when the oldest of them was received
}

// Status is how the screen is now.
func (s *Screen) Status() ScreenStatus {
	open, oldest := s.o.Board.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	return ScreenStatus{Live: len(s.pages), Ever: s.everOpen, Dead: s.darkSince, Open: open, Oldest: oldest}
}
