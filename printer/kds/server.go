package kds

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// A ServedScreen is one screen station with the options of its pages.
type ServedScreen struct {
	Screen *Screen // required
	// Keys are the keys of each action, on top of [DefaultKeys]; see [CheckKeys].
	Keys map[string][]string
	// Language is the language of the page's own texts, a column of web/words.json; empty: English.
	Language string
	// Fixed has a card stay in its place until it is bumped, instead of moving up.
	Fixed bool
	// PickupNames has the pickup board of a pass show the guests' names beside their numbers.
	PickupNames bool
	// Zone is required. It returns the kitchen's time zone, for the clock on the page. It is asked
	// each time: the service may tell it later than a screen is opened.
	Zone func() *time.Location
	// Print prints a card on paper because a cook asked for it. Nil: the page has no such button.
	// An error that wraps [ErrInProgress] is shown to the cook as it is; of any other error the
	// cook only learns that it failed, and the log has the cause.
	Print func(ctx context.Context, job uint64) error
}

// ErrInProgress says that a ticket cannot be printed again yet: a screen or a printer is working on
// it and has not confirmed it. A copy now could be the second of two.
var ErrInProgress = errors.New("this ticket is still being shown or printed: try again in a moment")

// ServerOptions configure a [Server]. Pairings is required.
type ServerOptions struct {
	Pairings *Pairings
	// Manage answers the questions and changes of the page for managers, at paths such as /state, as JSON. The
	// browser that asks may manage, and no other site makes it ask. who names it, for the log. Nil: the page
	// only pairs.
	Manage func(w http.ResponseWriter, r *http.Request, who string)
	Logger *slog.Logger // nil: silent
}

// A Server serves the browsers in the kitchen: the pages, an event stream for each page, and the
// commands of the cooks. It is safe for concurrent use.
type Server struct {
	o        ServerOptions
	log      *slog.Logger
	pairings *Pairings
	web      *webFiles

	streams     atomic.Int64
	renderSlots chan struct{} // one element for each page that is being rendered
	stopping    chan struct{} // closed when the server shuts down: streams end
	stop        func()

	mu    sync.RWMutex  // guards views
	views []*screenView // in the order of the configuration; replaced, never changed
}

// NewServer returns a server without screens, see [Server.Set]. It does not listen: see [Server.HTTPServer].
func NewServer(o ServerOptions) *Server {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	server := &Server{
		o: o, log: o.Logger.With("component", "kds"), pairings: o.Pairings, web: newWebFiles(),
		stopping: make(chan struct{}), renderSlots: make(chan struct{}, maxRendering),
	}
	server.stop = sync.OnceFunc(func() { close(server.stopping) })
	return server
}

// Set replaces the screens that are served, after a reload of the configuration. The pages of a
// screen whose setup has not changed keep their streams. The streams of all others end; their pages
// connect anew and reload themselves.
func (s *Server) Set(list []ServedScreen) {
	var now []*screenView
	s.mu.Lock()
	was := s.views
	for _, d := range list {
		view := newScreenView(d, s.web.tag)
		if i := slices.IndexFunc(was, func(old *screenView) bool {
			return old.screen == view.screen && old.Tag == view.Tag
		}); i >= 0 {
			// Same screen, same setup: its pages and their liveness must survive, or a reload would
			// make the screen dark for a moment and send its tickets to the backup.
			view = was[i]
			view.config.Store(&d)
		}
		now = append(now, view)
	}

	s.views = now
	s.mu.Unlock()
	// After the new ones are in place: a page whose stream ends connects anew at once.
	for _, v := range was {
		if !slices.Contains(now, v) {
			close(v.stopped)
		}
	}
}

// screenView returns the screen of that name; nil if there is none.
func (s *Server) screenView(name string) *screenView {
	views := s.screenViews()
	i := slices.IndexFunc(views, func(v *screenView) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return views[i]
}

// screenViews returns all screens in the order of the configuration.
func (s *Server) screenViews() []*screenView {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.views
}

// Pair lets the browser that shows code see one station, or as a manager's all of them and pair other browsers, until
// the pairing is revoked. Only to.Station and to.Manager count; by is for the log. The error
// wraps [ErrNoScreen], [ErrUnknownCode] or [ErrTooManyCodes], which the operator can act on, or an error of the
// storage.
func (s *Server) Pair(ctx context.Context, code string, to Pairing, by string) (Pairing, error) {
	if name, pickup := strings.CutSuffix(to.Station, pickupSuffix); !to.Manager && s.paired(name, pickup) == nil {
		var names []string
		for _, v := range s.screenViews() {
			names = append(names, v.Name)
		}
		return Pairing{}, fmt.Errorf("%w: %.40q; there are %q", ErrNoScreen, to.Station, names)
	}

	pairing, err := s.pairings.Pair(ctx, code, to)
	if err == nil {
		s.log.Info("browser paired", "station", pairing.Station, "manager", pairing.Manager, "pairing", pairing.ID,
			"address", pairing.Address, "by", by)
	}

	return pairing, err
}

// paired returns the screen that a pairing is for; nil if there is none, or if it has no pickup board.
func (s *Server) paired(name string, pickup bool) *screenView {
	view := s.screenView(name)
	if view != nil && pickup && !view.Pass {
		return nil
	}
	return view
}

// ErrNoScreen says that there is no screen station of that name.
var ErrNoScreen = errors.New("no such screen")

// routes returns the handler of all paths. Another web site open in the same browser cannot send
// commands: CrossOriginProtection refuses requests that its pages start.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /pairing", s.pairingState)
	mux.HandleFunc("GET /manage", s.byManager(s.manage))
	mux.HandleFunc("GET /times", s.byManager(s.times))
	mux.HandleFunc("POST /manage/pair", s.byManager(s.managePair))
	mux.HandleFunc("POST /manage/revoke", s.byManager(s.manageRevoke))
	mux.HandleFunc(managePath+"/", s.byManager(s.manageAPI))
	mux.HandleFunc("GET /web/{tag}/{file}", s.web.serve)
	for path, h := range map[string]screenHandler{
		pagePattern:                   s.servePage,
		pickupPattern:                 s.pickupPage,
		pickupPattern + "/events":     s.pickupEvents,
		"GET /screen/{name}/events":   s.events,
		"GET /screen/{name}/state":    s.state,
		"GET /screen/{name}/allday":   s.allDay,
		"GET /screen/{name}/timeline": s.timeline,
		"POST /screen/{name}/shown":   s.posted(maxShownBytes, s.shown),
		"POST /screen/{name}/bye":     s.posted(maxCommandBytes, s.bye),
		"POST /screen/{name}/do":      s.posted(maxCommandBytes, s.command),
		"POST /screen/{name}/print":   s.posted(maxCommandBytes, s.print),
	} {
		mux.HandleFunc(path, s.authorized(h))
	}

	cross := http.NewCrossOriginProtection()
	return withSecurityHeaders(compressed(cross.Handler(mux)))
}

// compressed compresses answers, except event streams, whose events must not wait in a buffer: a board of 250 orders
// has some hundred kilobytes, and a tablet may be at the edge of a wireless network. It does so at the fastest level,
// because the box has little processor time.
func compressed(next http.Handler) http.Handler {
	router := echo.New()
	zip := middleware.GzipWithConfig(middleware.GzipConfig{
		Level: gzip.BestSpeed, MinLength: 1 << 10,
		Skipper: func(c echo.Context) bool { return strings.HasSuffix(c.Request().URL.Path, "/events") },
	})(echo.WrapHandler(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = zip(router.NewContext(r, w)) })
}

// withSecurityHeaders sets the headers that every answer carries. Scripts and styles are loaded
// from this server and nowhere else, and none is inline: even if text of an order were taken for a
// script, the browser would not run it. No answer may be cached unless its handler says so: an old
// board is worse than none.
func withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
			"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// A screenHandler answers a request for a screen that the browser may see.
type screenHandler func(http.ResponseWriter, *http.Request, *screenView, *grant)

// authorized calls h with the screen the path names, if the browser may see it.
func (s *Server) authorized(h screenHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		granted := s.grantFor(r)
		name := r.PathValue("name")
		// Checked before the name: a browser without a pairing must not learn which stations exist.
		isPickup := strings.HasPrefix(r.Pattern, pickupPattern)
		if granted == nil || !granted.allows(name) && !(isPickup && granted.allows(name+pickupSuffix)) {
			s.refuse(w, r, granted)
			return
		}

		view := s.screenView(name)
		if view == nil {
			if isPage(r) {
				retryInAMinute(w)
			}
			http.Error(w, "there is no screen of this name; it may have been removed from the configuration",
				http.StatusNotFound)
			return
		}

		h(w, r, view, granted)
	}
}

// refuse sends a browser to the start page, where it is shown a code; a script gets a status, and
// its page goes to the start page itself.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, g *grant) {
	switch {
	case isPage(r):
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case g == nil:
		http.Error(w, "this browser is not paired", http.StatusUnauthorized)
	default:
		http.Error(w, "this browser is paired with another station", http.StatusForbidden)
	}
}

// index is the start page. A manager sees the page for managers, a tablet is sent to its screen, and a browser
// that may see nothing is shown a pairing code.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	granted := s.grantFor(r)
	switch {
	case granted == nil:
		s.showCode(w, r)
	case granted.manages():
		s.manage(w, r, granted)
	default:
		// After a power cut a tablet on its start page finds its screen alone.
		name, pickup := strings.CutSuffix(granted.pairing.Station, pickupSuffix)
		if view := s.paired(name, pickup); view != nil {
			http.Redirect(w, r, view.Path()+granted.pairing.Station[len(name):], http.StatusSeeOther)
			return
		}
		retryInAMinute(w)
		s.serveTemplate(w, r, "index.html", nil)
	}
}

// pagePattern is the route of the page itself, which a browser must be answered with a page or a
// redirect; all other routes are called by scripts.
const pagePattern = "GET /screen/{name}"

// isPage says whether the request is for a page, and no script has sent it.
func isPage(r *http.Request) bool { return r.Pattern == pagePattern || r.Pattern == pickupPattern }

// retryInAMinute makes the browser load this answer again in a minute: at a tablet on a wall there
// may be no person who would press reload.
func retryInAMinute(w http.ResponseWriter) { w.Header().Set("Refresh", "60") }
