package admin

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// What is at the end of a line, where that is no printer.
const (
	KindScreen = "screen"
	KindKDS    = "kds"
)

// States of a screen, as [Device] has them.
const (
	ScreenOpen  = "open"
	ScreenDark  = "nobody_looking"
	ScreenUnset = "never_opened" // nor paired
)

// A Screen is a page in the kitchen, as far as its station goes.
type Screen struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Mode    string     `json:"mode"`              // prep, or expo: the pass
	Address string     `json:"address,omitempty"` // what a browser opens
	State   string     `json:"state"`             // as [ScreenOpen]
	Live    int        `json:"live"`              // pages that are open and answer
	Since   *time.Time `json:"since,omitempty"`   // nobody has looked; null while somebody does
	Ever    bool       `json:"ever"`              // a page was open or a browser was paired, some time
	Open    int        `json:"open"`              // tickets on its board
	// Oldest is when the oldest of them was received; null without one.
	Oldest *time.Time `json:"oldest,omitempty"`
	Paired int        `json:"paired"`           // browsers
	Backup string     `json:"backup,omitempty"` // where its tickets come out while nobody looks
}

// A Pairing is a browser that may see a screen from elsewhere than this machine.
type Pairing struct {
	ID      string     `json:"id"`
	Station string     `json:"station"`
	Address string     `json:"address"` // it came from when it was paired
	Browser string     `json:"browser"` // it called itself
	Paired  time.Time  `json:"paired"`
	Seen    *time.Time `json:"seen"` // last, within an hour; null: never since it was paired
}

// Screens is every screen, and who may look at them from elsewhere.
type Screens struct {
	Screens  []Screen  `json:"screens"`
	Pairings []Pairing `json:"pairings"`
}

// Displays are the screens of a daemon.
type Displays interface {
	Screens() Screens
	// Pair lets the browser that shows code see a station, which may be left out where there is
	// only one.
	Pair(ctx context.Context, code, station string) (Pairing, error)
	// Revoke ends a pairing, and its page.
	Revoke(ctx context.Context, id string) (Pairing, error)
}

type pairBody struct {
	Code    string `json:"code"`
	Station string `json:"station"`
}

func (s *Server) screens(*http.Request) (any, error) {
	return s.o.Displays.Screens(), nil
}

func (s *Server) pair(r *http.Request, b pairBody) (any, error) {
	p, err := s.o.Displays.Pair(r.Context(), b.Code, b.Station)
	if err != nil {
		return nil, err
	}
	s.changed(r, "pair", "station", p.Station, "pairing", p.ID, "address", p.Address)
	return p, nil
}

func (s *Server) revoke(r *http.Request) (any, error) {
	p, err := s.o.Displays.Revoke(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	s.changed(r, "revoke", "station", p.Station, "pairing", p.ID)
	return p, nil
}

// Screens lists the screens and who may look at them.
func (c *Client) Screens(ctx context.Context) (Screens, error) {
	return call[Screens](ctx, c, "GET", "/v1/screens", nil)
}

// Pair lets the browser that shows code see a station; "" is the only one there is.
func (c *Client) Pair(ctx context.Context, code, station string) (Pairing, error) {
	return call[Pairing](ctx, c, "POST", "/v1/screens/pair", pairBody{code, station})
}

// Revoke ends a pairing.
func (c *Client) Revoke(ctx context.Context, id string) (Pairing, error) {
	return call[Pairing](ctx, c, "POST", "/v1/pairings/"+url.PathEscape(id)+"/revoke", nil)
}
