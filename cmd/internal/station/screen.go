package station

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/queue"
	"ticketrail/queue/dispatch"
	"ticketrail/queue/ticket"
)

// screens builds the stations that are pages in a browser, and the screens of the pass, which show
// the tickets of several screens. It owns their shared parts for as long as the daemon runs: the
// boards, the web server of the pages, and the pairings. Tickets on a board are on disk, under the
// station's name. So a board outlives its screen: a restart, a reload or a removed section loses
// none.
type screens struct {
	s        *Set
	log      *slog.Logger
	pairings *kds.Pairings // which browsers may show which screen
	metrics  *kds.Metrics
	checks   checkIndex // the jobs of each guest's check, for the passes

	mu     sync.Mutex              // guards the fields below
	conf   *config.Config          // the latest: a swap replaces it before the Set's
	boards map[string]*board.Board // of every screen that was ever configured

	opened chan struct{} // closed when there is a server
	// The four below are written once, before opened is closed, and only read after it.
	server   *kds.Server
	listener net.Listener
	cert     *httpserver.CertReloader // nil: plain HTTP
	display  config.Display           // that the server was opened with
}

// openScreens opens the boards and pairings that the queue's file has. Nothing listens yet. It
// returns an error if a board cannot be read: a daemon that starts without it would not show the
// cooks the orders that they still have to make.
func openScreens(s *Set) (*screens, error) {
	shared := &screens{
		s: s, log: s.o.Logger, metrics: kds.NewMetrics(s.o.Registry),
		boards: map[string]*board.Board{}, opened: make(chan struct{}),
	}

	var err error
	if shared.pairings, err = kds.OpenPairings(s.o.Queue.KV("pairings"), shared.log); err != nil {
		return nil, err
	}

	// Also the boards of removed screens: the operator must be told of tickets left on them.
	var unread error
	err = s.o.Queue.KV(screenNames).All(func(name string, _ []byte) bool {
		_, unread = shared.board(name)
		return unread == nil
	})
	return shared, errors.Join(err, unread)
}

// screenNames is the KV store with the name of every screen that was ever configured.
const screenNames = "screens"

// board is the board of a screen. It is one value for as long as the daemon runs, because two would
// overwrite each other's cards on disk. The KV store is named after the station, so a screen that
// is added again finds its tickets.
func (d *screens) board(name string) (*board.Board, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.boards[name]; b != nil {
		return b, nil
	}

	opened, err := board.OpenBoard(board.BoardOptions{Station: name, KV: d.cards(name), Logger: d.log})
	if err != nil {
		return nil, err
	}
	d.boards[name] = opened
	return opened, nil
}

// cards is where the cards of a board are stored.
func (d *screens) cards(name string) *queue.KV { return d.s.o.Queue.KV("board " + name) }

// A screen is a configured screen with the name of its backup. A reload that changes neither keeps
// it, so that its pages stay connected.
type screen struct {
	common
	*kds.Screen
	owner  *screens
	conf   config.Screen
	backup string
	pass   *board.Pass // nil for a screen with tickets of its own
}

// Lane has the kds.Screen as its station, and not s. A reload that changes nothing keeps that Screen; by a new one the
// dispatcher notices the change.
func (s *screen) Lane() dispatch.Lane {
	return dispatch.Lane{Name: s.conf.Name, Station: s.Screen, ExpireAfter: s.conf.ExpireAfter}
}

func (s *screen) WrapBackup(backup dispatch.Station) dispatch.Station {
	return s.Screen.WrapBackup(backup)
}

// build builds the screens that have tickets of their own and, once there is a screen, the listener
// of the pages. New screens of the pass are opened in swap, after the old ones were closed.
func (d *screens) build(next, prev *Built) error {
	for _, c := range next.conf.Screens {
		if d.boards[c.Name] == nil {
			d.remember(c.Name)
		}
		if _, err := d.board(c.Name); err != nil {
			return fmt.Errorf("screen %s: %w", c.Name, err)
		}
		d.add(next, prev, c)
	}

	return d.listen(next.conf)
}

// remember stores that there is such a screen. After a crash before that, or an error, the next start stores it. Until
// then the tickets left on its board are not found if its section is removed.
func (d *screens) remember(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), storageTimeout)
	defer cancel()
	if err := d.s.o.Queue.KV(screenNames).Put(ctx, name, []byte("{}")); err != nil {
		d.log.Warn("cannot store that there is a screen", "station", name, "err", err)
	}
}

// add builds a screen with tickets of its own, or keeps the screen or pass of prev. A changed backup also makes a
// new one, because the screen itself sends its open tickets to its backup when it goes dark.
func (d *screens) add(next, prev *Built, c config.Screen) {
	made := &screen{owner: d, conf: c}
	made.backup, _ = next.conf.BackupOf(c.Name)
	old, ok := prev.stations[c.Name].(*screen)
	if ok && reflect.DeepEqual(old.conf, c) && old.backup == made.backup {
		next.stations[c.Name] = old
		return
	}
	if c.IsPass() {
		return
	}

	options := d.options(c)
	if options.Backup = made.backup; made.backup != "" {
		options.StorePaper = func(ctx context.Context, t ticket.Ticket, cards map[string][]byte) error {
			return d.s.o.Queue.PrintShown(ctx, c.Name, made.backup, t, d.cards(c.Name), cards)
		}
	}

	made.Screen = kds.NewScreen(options)
	next.stations[c.Name] = made
}

// options are those that every screen has, a pass included.
func (d *screens) options(c config.Screen) kds.ScreenOptions {
	cards, err := d.board(c.Name)
	if err != nil {
		panic(err) // cannot happen: build has opened it
	}
	return kds.ScreenOptions{
		Name: c.Name, Title: c.Title, Board: cards,
		HoldFor: c.HoldFor, WarnAfter: c.WarnAfter, LateAfter: c.LateAfter,
		UnseenAfter: c.UnseenAfter, Repeat: c.Repeat,
		// A cook has just opened the page: the tickets that wait must not wait for the backoff too.
		OnLive: func() { d.s.o.Dispatcher.Kick(c.Name) },
		Logger: d.log, Metrics: d.metrics,
	}
}

// Run sends the open tickets of a dark screen to paper, and closes a pass in the end. A Set ends the old one before it
// begins the next, because two on one board could print its tickets twice, and would both store which orders were sent
// out.
func (s *screen) Run(ctx context.Context) {
	s.RunDark(ctx)
	if s.pass != nil {
		s.pass.Close()
	}
}

func (s *screen) Runner() Runner { return s }

// swap opens the screens of the pass that are new or changed, once the Run of the old ones has ended. A pass whose
// stored state cannot be read is left out and reported: the kitchen works without it.
func (d *screens) swap(next *Built) {
	d.mu.Lock()
	d.conf = next.conf
	d.mu.Unlock()
	for _, c := range next.conf.Screens {
		if !c.IsPass() || next.stations[c.Name] != nil {
			continue
		}
		opened, err := d.openPass(c)
		if err != nil {
			next.failedPasses[c.Name] = err
			d.log.Error("cannot open the pass", "station", c.Name, "err", err)
			continue
		}
		next.stations[c.Name] = opened
	}
}

// show makes the web server show the screens of next.
func (d *screens) show(next *Built) {
	var served []kds.ServedScreen
	var all []*kds.Screen
	zone := func() *time.Location { return d.s.o.Zone(next.conf) }
	for _, c := range next.conf.Screens {
		screen, opened := next.stations[c.Name].(*screen)
		if !opened {
			continue // a pass that could not be opened; Findings says why
		}

		all = append(all, screen.Screen)
		screen.setLook(next.conf)
		served = append(served, kds.ServedScreen{
			Screen: screen.Screen, Keys: c.Keys, Zone: zone, Print: d.paperFor(next, c),
			Language: next.conf.Display.Language, Fixed: next.conf.Display.Places == "fixed",
			PickupNames: c.PickupNames,
		})
	}

	// Without a screen there is no server.
	if d.server != nil {
		d.server.Set(served)
	}
	d.metrics.Set(all)
}

// Orders returns the orders of each pass, and of each screen that no pass shows, by its name. These say when an order
// is ready.
func (s *Set) Orders() map[string]*board.Orders {
	active, out := s.active.Load(), map[string]*board.Orders{}
	for _, c := range active.conf.Screens {
		shows := func(pass config.Screen) bool { return slices.Contains(pass.Of, c.Name) }
		if on, ok := active.stations[c.Name].(*screen); ok && !slices.ContainsFunc(active.conf.Screens, shows) {
			out[c.Name] = on.Orders()
		}
	}
	return out
}

// paperFor returns the function of the page's print button: it prints a card on the first printer
// among the screen's backups. Nil if none of them is a printer. It queues a reprint, so the copy is
// marked REPRINT and is in the history like every other ticket.
func (d *screens) paperFor(next *Built, c config.Screen) func(context.Context, uint64) error {
	if c.IsPass() {
		return nil // its cards belong to other stations
	}
	for _, backup := range next.backups(c.Name) {
		if slices.ContainsFunc(next.conf.Printers, func(p config.Printer) bool { return p.Name == backup.Name }) {
			return func(ctx context.Context, job uint64) error {
				_, err := d.s.o.Queue.Reprint(ctx, job, queue.ReprintOptions{
					Station: backup.Name, Reason: "requested by a cook at " + c.Name,
				})
				if errors.Is(err, queue.ErrConflict) {
					err = fmt.Errorf("%w: %w", kds.ErrInProgress, err)
				}
				return err
			}
		}
	}

	return nil
}

// storageTimeout is for reading and writing the stored state of a pass or of a screen. Far longer
// than a commit takes. On a disk that hangs it ends the reload, which would otherwise block all
// later ones.
const storageTimeout = 10 * time.Second

func (d *screens) openPass(c config.Screen) (*screen, error) {
	passOptions := board.PassOptions{
		Station: c.Name, KV: d.s.o.Queue.KV("pass " + c.Name), Logger: d.log,
		Title:    d.stationTitle,
		Siblings: func(jobs []uint64) ([]board.Sibling, error) { return d.siblings(jobs, c.LeaveOut) },
	}

	for _, name := range c.Of {
		shown, err := d.board(name)
		if err != nil {
			return nil, err
		}
		passOptions.Boards = append(passOptions.Boards, shown)
	}

	pass, err := board.OpenPass(passOptions)
	if err != nil {
		return nil, err
	}
	options := d.options(c)
	options.Pass = pass
	return &screen{owner: d, conf: c, pass: pass, Screen: kds.NewScreen(options)}, nil
}

// close closes the listener, also if no server ever ran on it.
func (d *screens) close() {
	if d.listener != nil { // the error may be that its server has closed it already
		_ = d.listener.Close()
	}
}

// Findings are about no active station: tickets on boards that no screen shows any more, and passes that could not be
// opened. Such tickets were accepted and shown, and no cook can see them now: nothing else would tell the
// operator.
func (s *Set) Findings() (out []finding.Finding) {
	d, active := s.screens, s.active.Load()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.boards)) {
		// A pass shows no board of its own; it has one if it was a screen.
		on, ok := active.stations[name].(*screen)
		if open, _ := d.boards[name].Count(); open > 0 && (!ok || on.pass != nil) {
			out = append(out, finding.New("station/"+name+"/board_left", finding.Fail,
				fmt.Sprintf("%s is no screen any more, and shows %s", name, ticket.Plural(open, "ticket")), "",
				fmt.Sprintf("add the screen again, or see ticketrail jobs list --station %q", name)))
		}
	}

	for _, c := range active.conf.Screens {
		if err := active.failedPasses[c.Name]; err != nil {
			out = append(out, finding.New("station/"+c.Name+"/not_opened", finding.Fail,
				"the pass "+c.Name+" cannot be opened", err.Error(), "systemctl restart ticketrail"))
		}
	}
	for i := range out {
		out[i].Subject = "stations"
	}
	return out
}
