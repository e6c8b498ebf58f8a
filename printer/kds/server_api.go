package kds

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"ticketrail/printer/kds/board"
)

// Limits of the posts of a page. They bound the bytes that a broken or hostile page can make the server
// decode.
const (
	maxCommandBytes = 4 << 10   // bytes of a command
	maxShownBytes   = 256 << 10 // bytes of a page's list of cards: tens of thousands of job numbers
)

// A post is the body that a page sends.
type post struct {
	Page          string   `json:"page"`
	Jobs          []uint64 `json:"jobs"`    // of shown
	Visible       []uint64 `json:"visible"` // of shown
	board.Command          // of do; of print only its job
}

// posted calls h with the body of a post, which has at most so many bytes.
func (s *Server) posted(most int64, h func(http.ResponseWriter, *http.Request, *screenView, *post)) screenHandler {
	return func(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
		if req := new(post); s.readJSON(w, r, most, req) {
			h(w, r, view, req)
		}
	}
}

// state is the whole board, for a page whose event stream does not work.
func (s *Server) state(w http.ResponseWriter, _ *http.Request, view *screenView, _ *grant) {
	s.writeJSON(w, map[string]any{"beat": view.newBeat(), "setup": view.Tag, "state": view.orders.Snapshot()})
}

// allDay answers with the all-day counts of this screen's orders.
func (s *Server) allDay(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
	s.writeJSON(w, board.AllDay(view.orders.Snapshot().Orders, r.URL.Query().Get("course"), time.Now()))
}

// timeline answers with the moments of an order. A page expects a list, also of an order that is gone.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
	s.writeJSON(w, append([]board.Moment{}, view.screen.Timeline(r.URL.Query().Get("order"))...))
}

// shown is a page's answer to a heartbeat, or to new cards: the jobs of the cards it holds, and of those
// that are on its visible sheet now.
func (s *Server) shown(w http.ResponseWriter, _ *http.Request, view *screenView, req *post) {
	fresh, ok := view.screen.pageAnswered(req.Page, req.Jobs)
	if !ok {
		http.Error(w, "this page has no event stream: open /events first", http.StatusConflict)
		return
	}
	if view.setup.Pass {
		req.Visible = nil // an order seen at the pass was not seen by a cook
	}

	view.noteSeen(req.Visible, s.log)
	s.writeJSON(w, map[string]bool{"fresh": fresh})
}

// bye is sent by a page that is being closed, so that its screen is dark at once and not only after
// reconnectGrace.
func (s *Server) bye(w http.ResponseWriter, _ *http.Request, view *screenView, req *post) {
	view.screen.removePage(req.Page, true)
	w.WriteHeader(http.StatusNoContent)
}

// command carries out the press of a cook. Its answer is a [board.Result]; a command that could not be stored is
// answered 503, and the page sends it again.
func (s *Server) command(w http.ResponseWriter, r *http.Request, view *screenView, req *post) {
	result, err := view.screen.Do(r.Context(), req.Page, req.Command)
	if err != nil {
		s.notStored(w, view, "store a page's command", err)
		return
	}

	s.writeJSON(w, result)
}

// print prints a ticket on paper because a cook asked for it.
func (s *Server) print(w http.ResponseWriter, r *http.Request, view *screenView, req *post) {
	printAgain := view.config.Load().Print
	if printAgain == nil {
		http.Error(w, "this screen has no printer", http.StatusNotFound)
		return
	}

	// Only a card of this screen: a paired tablet must not print every job there is.
	if _, ok := view.screen.Board().State(req.Job); !ok {
		http.Error(w, "this screen has no such ticket any more", http.StatusNotFound)
		return
	}

	switch err := printAgain(r.Context(), req.Job); {
	case errors.Is(err, ErrInProgress):
		http.Error(w, ErrInProgress.Error(), http.StatusConflict)
	case err != nil:
		s.notStored(w, view, "print a ticket for a page", err)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// notStored answers a request that failed. The page is told to try again; the cause is for the log,
// because an error may contain paths and names that are not for whoever holds a tablet.
func (s *Server) notStored(w http.ResponseWriter, view *screenView, what string, err error) {
	if errors.Is(err, board.ErrCommand) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.log.Warn("cannot "+what, "station", view.Name, "err", err)
	w.Header().Set("Retry-After", "1")
	http.Error(w, "not done: try again", http.StatusServiceUnavailable)
}

// writeJSON answers with v as JSON. It is encoded before anything is sent, so that a failure is a
// 500 and not half an answer.
func (s *Server) writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		s.log.Error("cannot encode an answer as JSON", "err", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// isJSON refuses a body of another content type, and has then answered the request: without a preflight
// request a foreign web site can only send text/plain.
func isJSON(w http.ResponseWriter, r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind != "application/json" {
		http.Error(w, fmt.Sprintf("content type %.60q: want application/json", kind), http.StatusUnsupportedMediaType)
	}
	return kind == "application/json"
}

// readJSON decodes the body of a request of at most most bytes. If it cannot, it has already
// answered the request and returns false.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, most int64, into any) bool {
	if !isJSON(w, r) {
		return false
	}

	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	if err := dec.Decode(into); err != nil {
		http.Error(w, "body: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}
