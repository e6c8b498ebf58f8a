package admin

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"ticketrail/printer/kds"
)

// A Screen is a kitchen screen: a page that browsers show.
type Screen struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	Mode    string    `json:"mode"`              // prep or pass
	Address string    `json:"address,omitempty"` // for a browser
	Live    int       `json:"live"`              // open pages that answer
	Since   time.Time `json:"since,omitzero"`    // since when no page is open; absent while one is
	Open    int       `json:"open"`              // tickets on its board
	// Unseen of the open ones are on a page of the board to which no cook has turned for a while.
	Unseen int `json:"unseen,omitempty"`
	// Oldest is when the oldest ticket on the board was received; absent if there is none.
	Oldest time.Time `json:"oldest,omitzero"`
	Paired int       `json:"paired"`           // paired browsers
	Backup string    `json:"backup,omitempty"` // station that prints its tickets while no page is open
}

// A Pairing allows a browser on another machine to show a screen. The browser keeps a secret
// cookie; only a hash of it is stored, so no listing can reveal it.
type Pairing = kds.Pairing

// Screens is every screen and every paired browser.
type Screens struct {
	Screens  []Screen  `json:"screens"`
	Pairings []Pairing `json:"pairings"`
}

// Displays are the screens of a daemon. The package station implements it. An error should be an
// [*Error], or the operator sees it as internal.
type Displays interface {
	Screens() Screens
	// Timeline is the history of the card of a job on every screen, in any order; nothing if no screen
	// knows it any more.
	Timeline(job uint64) ([]Moment, error)
	// Pair allows the browser that shows code to show a screen, or a manager's to pair others. An
	// empty station is the only one there is; a manager has none.
	Pair(ctx context.Context, code, station string, manager bool) (Pairing, error)
	// Revoke ends a pairing and closes its page.
	Revoke(ctx context.Context, id string) (Pairing, error)
}

type pairBody struct {
	Code    string `json:"code"`
	Station string `json:"station"`
	Manager bool   `json:"manager,omitempty"`
}

// pair and revoke are logged with the address of the browser: they decide who can see the orders.
func (s *Server) pair(r *http.Request, b pairBody) (any, error) {
	pairing, err := s.o.Displays.Pair(r.Context(), b.Code, b.Station, b.Manager)
	if err != nil {
		return nil, err
	}
	s.logChange(r, "pair", "station", pairing.Station, "manager", pairing.Manager, "pairing", pairing.ID,
		"address", pairing.Address)
	return pairing, nil
}

func (s *Server) revoke(r *http.Request) (any, error) {
	pairing, err := s.o.Displays.Revoke(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	s.logChange(r, "revoke", "station", pairing.Station, "pairing", pairing.ID)
	return pairing, nil
}

// Screens lists the screens and the paired browsers.
func (c *Client) Screens(ctx context.Context) (Screens, error) {
	return call[Screens](ctx, c, "GET", "/v1/screens", nil)
}

// Pair allows the browser that shows code to show a screen, or a manager's to pair others. An empty
// station is the only one there is; a manager has none.
func (c *Client) Pair(ctx context.Context, code, station string, manager bool) (Pairing, error) {
	return call[Pairing](ctx, c, "POST", "/v1/screens/pair", pairBody{code, station, manager})
}

// Revoke ends a pairing.
func (c *Client) Revoke(ctx context.Context, id string) (Pairing, error) {
	return call[Pairing](ctx, c, "POST", "/v1/pairings/"+url.PathEscape(id)+"/revoke", nil)
}
