package kds

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The page of a manager, for who has no shell: what is wrong, what to do, and pairing. What it shows and changes
// beside the pairings is answered by the control API, see ServerOptions.Manage. To pair, a manager types the
// code that a tablet shows. No page lists the codes that wait: whoever could read such a list would not need to
// stand at the tablet.

// managePath begins the paths that ServerOptions.Manage answers.
const managePath = "/manage/api"

// manages reports whether the browser may pair others: one on this computer, or a manager's.
func (g *grant) manages() bool { return g.pairing == nil || g.pairing.Manager }

// byManager calls h if the browser may manage. Any other is sent to the start page, or refused.
//
// A proxy on this computer that does not show that it is one makes all its browsers local. They may
// look, but not manage: a change needs the Origin header, which every browser sets and a proxy
// leaves as it is, and which names the proxy's address then.
func (s *Server) byManager(h func(http.ResponseWriter, *http.Request, *grant)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		granted := s.grantFor(r)
		switch {
		case granted == nil && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, managePath):
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case granted == nil:
			http.Error(w, "this browser is not paired", http.StatusUnauthorized)
		case !granted.manages():
			http.Error(w, "this browser is paired with a screen; a manager's browser is paired with "+
				"ticketrail screens pair --manager CODE", http.StatusForbidden)
		case granted.pairing == nil && r.Method != http.MethodGet && !hasLocalOrigin(r):
			http.Error(w, "open http://localhost on this computer: this page came through a proxy",
				http.StatusForbidden)
		default:
			h(w, r, granted)
		}
	}
}

// hasLocalOrigin reports whether the page that sent r was loaded from this computer by its own name.
func hasLocalOrigin(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && isLocalHost(origin.Host)
}

// A manageView is the data of the page for managers.
type manageView struct {
	Displays []*screenView
	Pairings []pairingRow
}

// A pairingRow is a paired browser as the page lists it.
type pairingRow struct {
	Pairing
	Title string // the title of its screen
	Since string // in the kitchen's time
}

// manage is the page for managers.
func (s *Server) manage(w http.ResponseWriter, r *http.Request, g *grant) {
	g.renew(w, r)
	zone, _ := s.kitchen()
	v := manageView{Displays: s.screenViews()}
	for _, p := range s.pairings.List() {
		row := pairingRow{Pairing: p, Title: p.Station, Since: p.Paired.In(zone).Format("2006-01-02 15:04")}
		if view := s.screenView(p.Station); view != nil {
			row.Title = view.Title
		}
		v.Pairings = append(v.Pairings, row)
	}

	s.serveTemplate(w, r, "manage.html", v)
}

// kitchen is the time zone and the language of the kitchen, which all screens share.
func (s *Server) kitchen() (zone *time.Location, language string) {
	if views := s.screenViews(); len(views) > 0 {
		return views[0].config.Load().Zone(), views[0].Language
	}
	return time.Local, ""
}

// manageAPI passes a request on to the control API.
func (s *Server) manageAPI(w http.ResponseWriter, r *http.Request, g *grant) {
	switch {
	case s.o.Manage == nil:
		http.NotFound(w, r)
	case r.Method == http.MethodGet || isJSON(w, r):
		http.StripPrefix(managePath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.o.Manage(w, r, g.name())
		})).ServeHTTP(w, r)
	}
}

// managePair pairs the browser that shows the code which the manager has typed. A page makes no
// managers: a cook at the box could give that to the own phone.
func (s *Server) managePair(w http.ResponseWriter, r *http.Request, g *grant) {
	var req struct{ Code, Station string }
	if !s.readJSON(w, r, maxCommandBytes, &req) {
		return
	}
	pairing, err := s.Pair(r.Context(), req.Code, Pairing{Station: req.Station}, g.name())
	s.answerManager(w, pairing, err)
}

// manageRevoke ends a pairing.
func (s *Server) manageRevoke(w http.ResponseWriter, r *http.Request, g *grant) {
	var req struct{ ID string }
	if !s.readJSON(w, r, maxCommandBytes, &req) {
		return
	}

	pairing, err := s.pairings.Revoke(r.Context(), req.ID)
	if err == nil {
		s.log.Info("pairing ended", "station", pairing.Station, "pairing", pairing.ID,
			"address", pairing.Address, "by", g.name())
	}

	s.answerManager(w, pairing, err)
}

// answerManager answers with the pairing, or with advice for the manager. The cause of any other
// error is for the log.
func (s *Server) answerManager(w http.ResponseWriter, p Pairing, err error) {
	switch {
	case err == nil:
		s.writeJSON(w, p)
	case errors.Is(err, ErrTooManyCodes):
		http.Error(w, err.Error(), http.StatusTooManyRequests)
	case errors.Is(err, ErrUnknownCode), errors.Is(err, ErrNoScreen), errors.Is(err, ErrNoPairing):
		http.Error(w, err.Error(), http.StatusNotFound)
	default:
		s.log.Warn("cannot change a pairing for a manager", "err", err)
		http.Error(w, "not done: try again", http.StatusServiceUnavailable)
	}
}

// name says in the log who did something.
func (g *grant) name() string {
	if g.pairing == nil {
		return "a browser on this computer"
	}
	return "pairing " + g.pairing.ID
}
