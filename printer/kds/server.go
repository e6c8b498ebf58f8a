package kds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Display is a screen station as its pages see it.
type Display struct {
	Screen *Screen // required
	// Keys says which keys do what, on top of [DefaultKeys]; see [CheckKeys].
	Keys map[string][]string
	// Zone is where the kitchen is, for the clock on the page. Nil: where this program runs.
	Zone *time.Location
	// Print prints a card on paper because a cook asked for it. Nil: its button is not there. An
	// error that wraps [ErrNotYet] is told as that; of any other the cook hears that it failed.
	Print func(ctx context.Context, job uint64) error
}

// ErrNotYet says that a ticket cannot be printed again because it is still coming out: a screen
// or a printer has it and has not confirmed it.
var ErrInProgress = errors.New("this ticket is still coming out, here or on paper; look, and press again in a moment")

// ServerOptions are what [NewServer] needs. Pairings is required.
type ServerOptions struct {
	Displays []Display
	Pairings *Pairings
	Logger   *slog.Logger  // nil: silent
	Beat     time.Duration // between two heartbeats; 0 is 5 s
}

// A Server is what the browsers in the kitchen talk to: pages, the stream of changes of each,
// and commands. It is safe for concurrent use.
type Server struct {
	o        ServerOptions
	log      *slog.Logger
	pairings *Pairings
	web      *webFiles
	handler  http.Handler

	streams     atomic.Int64
	renderSlots chan struct{} // a place for each page that is drawn just now
	stopping    chan struct{} // closed when the server shuts down
	stop        func()

	mu       sync.RWMutex // guards displays
	views map[string]*screenView
	names    []string // in the order of the configuration
}

// NewServer makes one that serves the displays given. It panics without pairings, a mistake in
// the wiring.
func NewServer(o ServerOptions) *Server {
	if o.Pairings == nil {
		panic("kds.NewServer: Options.Pairings is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	orDefault(&o.Beat, 5*time.Second)
	s := &Server{
		o: o, log: o.Logger.With("component", "kds"), pairings: o.Pairings, web: newWebFiles(),
		stopping: make(chan struct{}), views: map[string]*screenView{},
		renderSlots: make(chan struct{}, maxRendering),
	}
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	s.handler = s.routes()
	s.Set(o.Displays)
	return s
}

// Set makes these the displays that are served. Pages of those that stay connect anew, and
// load themselves again if what they were made of has changed.
func (s *Server) Set(list []Display) {
	now, names := make(map[string]*screenView, len(list)), make([]string, 0, len(list))
	s.mu.Lock()
	was := s.views
	for _, d := range list {
		v := newScreenView(d, s.o.Beat, s.web.tag)
		if old := was[v.name]; old != nil && old.screen == v.screen && old.setupTag == v.setupTag {
			old.config.Store(&d)
			v = old // its pages are not disturbed
		}
		now[v.name] = v
		names = append(names, v.name)
	}
	s.views, s.names = now, names
	s.mu.Unlock()
	for _, d := range was {
		if now[d.name] != d {
			d.stop()
		}
	}
}

func (s *Server) screenView(name string) *screenView {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.views[name]
}

func (s *Server) screenViews() []*screenView {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*screenView, 0, len(s.names))
	for _, n := range s.names {
		out = append(out, s.views[n])
	}
	return out
}

// Pair lets the browser that shows code see one station, until that is revoked.
func (s *Server) Pair(ctx context.Context, code, station string) (Pairing, error) {
	if s.screenView(station) == nil {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return Pairing{}, fmt.Errorf("%w: %q; there are %q", ErrNoScreen, station, s.names)
	}
	p, err := s.pairings.Pair(ctx, code, station)
	if err == nil {
		s.log.Info("a screen was paired", "station", station, "pairing", p.ID, "address", p.Address)
	}
	return p, err
}

// ErrNoScreen says that there is no screen station of that name.
var ErrNoScreen = errors.New("no such screen")

// Handler answers pages. What it needs of a server is in [Server.HTTPServer].
func (s *Server) Handler() http.Handler { return s.handler }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /pairing", s.pairingState)
	mux.HandleFunc("GET /web/{tag}/{file}", s.web.serve)
	for path, h := range map[string]func(http.ResponseWriter, *http.Request, *screenView, *grant){
		pagePattern:                 s.page,
		"GET /screen/{name}/events": s.events,
		"GET /screen/{name}/state":  s.state,
		"GET /screen/{name}/allday": s.allDay,
		"POST /screen/{name}/shown": s.shown,
		"POST /screen/{name}/bye":   s.bye,
		"POST /screen/{name}/do":    s.command,
		"POST /screen/{name}/print": s.print,
	} {
		mux.HandleFunc(path, s.authorized(h))
	}
	cross := http.NewCrossOriginProtection()
	return withSecurityHeaders(cross.Handler(mux))
}

// headed sets what every answer carries. Scripts and styles come from here and nowhere else,
// and none is inline: text that would be one is shown as text.
func withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// guarded lets h answer for a display that is there to somebody who may see it.
func (s *Server) authorized(h func(http.ResponseWriter, *http.Request, *screenView, *grant)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		g := s.grantFor(r)
		name := r.PathValue("name")
		// Who may see nothing does not learn which stations there are.
		if g == nil || !g.allows(name) {
			s.refuse(w, r, g)
			return
		}
		view := s.screenView(name)
		if view == nil {
			if r.Pattern == pagePattern {
				retryInAMinute(w)
			}
			http.Error(w, "there is no screen of that name; it may have been removed from the configuration",
				http.StatusNotFound)
			return
		}
		h(w, r, view, g)
	}
}

// refuse sends a browser to the door, and tells a script.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, g *grant) {
	switch {
	case r.Pattern == pagePattern:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case g == nil:
		http.Error(w, "this screen is not paired", http.StatusUnauthorized)
	default:
		http.Error(w, "this screen is paired with another station", http.StatusForbidden)
	}
}

// door is where a browser comes in: it goes on to its screen, chooses one, or is shown a code.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	g := s.grantFor(r)
	if g == nil {
		s.showCode(w, r)
		return
	}
	list := slices.DeleteFunc(s.screenViews(), func(d *screenView) bool { return !g.allows(d.name) })
	if len(list) == 1 {
		http.Redirect(w, r, list[0].Path(), http.StatusSeeOther)
		return
	}
	if len(list) == 0 {
		retryInAMinute(w)
	}
	s.serveTemplate(w, "index.html", indexView{Web: s.web.base, Displays: list})
}

const pagePattern = "GET /screen/{name}"

// again has a browser that shows this answer ask again in a minute: a tablet on a wall has nobody
// who would.
func retryInAMinute(w http.ResponseWriter) { w.Header().Set("Refresh", "60") }
