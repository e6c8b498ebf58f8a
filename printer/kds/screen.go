package kds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

// A BackupStation is a station that prints a screen's tickets while the screen is dark. It is the
// dispatcher's Station.
type BackupStation interface {
	Print(ctx context.Context, d ticket.Delivery, begin func(context.Context) error) (ticket.Proof, error)
}

// ScreenOptions configure one screen station. Name and Board are required.
type ScreenOptions struct {
	Name  string // of the station
	Title string // shown on its pages; "" is Name
	Board *board.Board
	// Pass is shown by the pages instead of the board. Nil: they show the board.
	Pass *board.Pass

	// Backup is the name of the station that prints while the screen is dark. After HoldFor it gets the tickets that
	// were shown and not bumped, through StorePaper: see [Screen.RunDark]. Tickets of the screen's own queue stay
	// there; for those the dispatcher has the same station as a backup after HoldFor, wrapped by [Screen.WrapBackup].
	Backup  string
	HoldFor time.Duration // 0 is 20 s
	// StorePaper stores a ticket for the backup and the values of the board's cards, by key, in one transaction. Nil:
	// the shown tickets stay on the board only.
	StorePaper func(ctx context.Context, t ticket.Ticket, cards map[string][]byte) error

	WarnAfter, LateAfter time.Duration // ages at which a card is marked DUE and LATE; 0 is 5 and 8 min
	// UnseenAfter is how long a ticket may be among cards that are off the screen and were not turned to, until
	// that is said; 0 is 45 s.
	UnseenAfter time.Duration
	// Repeat is how often a sound comes again until it is acknowledged; 0: it comes once.
	Repeat time.Duration

	// OnLive is called when the screen stops being dark, to wake its queue. It must not block.
	OnLive  func()
	Logger  *slog.Logger // nil: silent
	Metrics *Metrics     // nil: none
}

// A Screen is a station that shows its tickets on pages in any browser. It is safe for concurrent
// use.
type Screen struct {
	o   ScreenOptions
	log *slog.Logger

	mu           sync.Mutex // guards the fields below; held briefly
	pages        map[string]*page
	darkSince    time.Time                // since when no page is live; zero: there is one
	waiting      map[uint64]chan struct{} // per job: closed when a live page holds its card
	pagesChanged chan struct{}            // closed when the first page joins or the last leaves
}

// NewScreen fills in o's defaults.
func NewScreen(o ScreenOptions) *Screen {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	// 20 s is longer than a reload or a change of the wireless access point takes, and short enough
	// that no order is late because of it.
	o.HoldFor, o.Title = cmp.Or(o.HoldFor, 20*time.Second), cmp.Or(o.Title, o.Name)
	o.WarnAfter, o.LateAfter = cmp.Or(o.WarnAfter, 5*time.Minute), cmp.Or(o.LateAfter, 8*time.Minute)
	o.UnseenAfter = cmp.Or(o.UnseenAfter, 45*time.Second)
	return &Screen{
		o: o, log: o.Logger.With("component", "kds", "station", o.Name),
		pages: map[string]*page{}, waiting: map[uint64]chan struct{}{}, darkSince: time.Now(),
		pagesChanged: make(chan struct{}),
	}
}

// Options returns the options of the screen, with defaults filled in.
func (s *Screen) Options() ScreenOptions { return s.o }

func (s *Screen) Board() *board.Board { return s.o.Board }

// Orders are the orders on the pages of the screen.
func (s *Screen) Orders() *board.Orders {
	if s.o.Pass != nil {
		return s.o.Pass.Orders
	}
	return s.o.Board.Orders
}

// Timeline lists the moments of an order that the pages show.
func (s *Screen) Timeline(order string) []board.Moment {
	if s.o.Pass != nil {
		return s.o.Pass.Timeline(order)
	}
	return s.o.Board.Timeline(order)
}

// Idempotent reports that a ticket may be given again after an attempt that broke: the board
// recognises its job and never shows it twice. So however often that happens, the ticket needs no
// mark and no decision of a person. At another station it would be a second copy, and is marked.
func (*Screen) Idempotent() bool { return true }

// Print adds one ticket to the board and waits until a live page holds its card: the proof is
// [ticket.Shown]. begin is called before the ticket is added.
//
// Without a live page it fails with [ticket.NotReady] before begin, and the board does not get the
// ticket. An error after begin means that no page confirmed the card in time. The card may be
// visible all the same, so that is doubt; if the ticket is given again, it keeps its card. If it
// comes out at the backup instead, through [Screen.WrapBackup], the card is taken off first.
func (s *Screen) Print(ctx context.Context, d ticket.Delivery,
	begin func(context.Context) error) (ticket.Proof, error) {
	// Before begin: a dark screen must cost neither an attempt nor doubt.
	if !s.live() {
		return "", ticket.NotReady(errors.New("no page of this screen is open: open it in the screen's browser"))
	}
	// A crash before begin has committed: the board does not have the ticket, and the next attempt
	// is the first. A crash after it: the board may have the card, and recognises the job.
	if err := begin(ctx); err != nil {
		return "", fmt.Errorf("begin: %w", err)
	}
	started := time.Now()
	// Before Add: a page may confirm the card as soon as it is stored.
	confirmed, done := s.awaitConfirmation(d.Job)
	defer done()
	// A crash before Add has stored the card: the ticket is in doubt without a card, and the next
	// attempt adds it. A crash after it, or after a page has confirmed it: the next attempt finds
	// the card and waits for a page again.
	if err := s.o.Board.Add(ctx, d); err != nil {
		if _, stored := s.o.Board.State(d.Job); stored {
			return "", err // a page may be told of the card later
		}
		return "", ticket.Untouched(err)
	}
	if err := s.waitConfirmed(ctx, d.Job, confirmed); err != nil {
		return "", err
	}
	if err := s.o.Board.MarkShown(ctx, d.Job); err != nil {
		return "", err
	}
	s.o.Metrics.shown(time.Since(started))
	return ticket.Shown, nil
}

// showWithin is how long a page may take to confirm a card: two heartbeats.
const showWithin = 2 * beatInterval

// waitConfirmed waits until a live page has confirmed the card. A bumped card counts too: a cook has seen it.
// The last two errors differ because their remedies do: open the page, or reload one that hangs.
func (s *Screen) waitConfirmed(ctx context.Context, job uint64, confirmed <-chan struct{}) error {
	if state, _ := s.o.Board.State(job); state == board.Bumped {
		return nil
	}

	select {
	case <-confirmed:
		return nil
	case <-time.After(showWithin):
	case <-ctx.Done():
		return fmt.Errorf("wait for a page to confirm it: %w", context.Cause(ctx))
	}

	if !s.live() {
		return errors.New("the page closed before it confirmed the ticket")
	}

	return fmt.Errorf("a page is open but did not confirm the ticket within %v: reload the page", showWithin)
}

// Do carries out the command of a page. A command for an order also confirms that the page holds its
// cards. Otherwise a cook who is faster than the page's own confirmation would bump a ticket that counts
// as never shown.
func (s *Screen) Do(ctx context.Context, page string, c board.Command) (board.Result, error) {
	if s.o.Pass != nil {
		return s.o.Pass.Do(ctx, c)
	}
	if order := s.o.Board.Order(c.Order); order != nil {
		s.Confirm(page, order.Jobs())
	} else if c.Job != 0 {
		s.Confirm(page, []uint64{c.Job})
	}
	return s.o.Board.Do(ctx, c)
}

// ScreenStatus is the state of a screen station.
type ScreenStatus struct {
	Live      int       `json:"live"`                // live pages
	DarkSince time.Time `json:"dark_since,omitzero"` // since when the screen is dark; zero: it is not
	Open      int       `json:"open"`                // open tickets
	Oldest    time.Time `json:"oldest,omitzero"`     // when the oldest of them was received
	Unseen    int       `json:"unseen"`              // open tickets on a sheet that was not turned to for UnseenAfter
}

func (s *Screen) Status() ScreenStatus {
	open, oldest := s.o.Board.Count()
	s.mu.Lock()
	defer s.mu.Unlock()
	return ScreenStatus{Live: s.livePages(), DarkSince: s.darkSince, Open: open, Oldest: oldest,
		Unseen: s.o.Board.Unseen(s.o.UnseenAfter)}
}
