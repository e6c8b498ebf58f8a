package kds

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

const (
	maxCommandBytes = 4 << 10   // bytes of a command
	maxShownBytes   = 256 << 10 // bytes of what a page says that it shows
)

// state is the whole board, for a page whose stream does not work.
func (s *Server) state(w http.ResponseWriter, _ *http.Request, view *screenView, _ *grant) {
	s.writeJSON(w, struct {
		Beat  beat   `json:"beat"`
		Setup string `json:"setup"`
		State any    `json:"state"`
	}{view.newBeat(), view.setupTag, view.source.snapshot()})
}

func (s *Server) allDay(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
	counts := AllDay(view.source.open(), r.URL.Query().Get("course"))
	if counts == nil {
		counts = []Count{}
	}
	s.writeJSON(w, counts)
}

// shown is a page's answer to a heartbeat, or to new cards. What it shows is known by job.
func (s *Server) shown(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
	var req struct {
		Page string   `json:"page"`
		Jobs []uint64 `json:"jobs"`
	}
	if !s.readJSON(w, r, maxShownBytes, &req) {
		return
	}
	joined, ok := view.clientAnswered(req.Page, req.Jobs)
	if !ok {
		http.Error(w, "this page has no stream: open one first", http.StatusConflict)
		return
	}
	s.writeJSON(w, map[string]bool{"fresh": joined})
}

// bye is the last word of a page that is being closed.
func (s *Server) bye(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
	var req struct {
		Page string `json:"page"`
	}
	if !s.readJSON(w, r, maxCommandBytes, &req) {
		return
	}
	view.removeClient(req.Page, true)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) command(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
	var req struct {
		Page string `json:"page"`
		Command
	}
	if !s.readJSON(w, r, maxCommandBytes, &req) {
		return
	}
	result, err := view.screen.Do(r.Context(), req.Page, req.Command)
	if err != nil {
		s.notStored(w, view, "do what a page asked", err)
		return
	}
	s.writeJSON(w, result)
}

func (s *Server) print(w http.ResponseWriter, r *http.Request, view *screenView, _ *grant) {
	var req struct {
		Job uint64 `json:"job"`
	}
	if !s.readJSON(w, r, maxCommandBytes, &req) {
		return
	}
	printAgain := view.config.Load().Print
	if printAgain == nil {
		http.Error(w, "this screen has no printer", http.StatusNotFound)
		return
	}
	// Not any job there is: only what this screen could show.
	if _, ok := view.screen.Board().Card(req.Job); !ok {
		http.Error(w, "this screen has no such ticket any more", http.StatusNotFound)
		return
	}
	switch err := printAgain(r.Context(), req.Job); {
	case errors.Is(err, ErrInProgress):
		http.Error(w, ErrInProgress.Error(), http.StatusConflict)
	case err != nil:
		s.notStored(w, view, "print a ticket", err)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// fail tells a page that what it asked was not done. What went wrong is for the log.
func (s *Server) notStored(w http.ResponseWriter, view *screenView, what string, err error) {
	if errors.Is(err, ErrCommand) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.log.Warn("could not "+what, "station", view.name, "err", err)
	w.Header().Set("Retry-After", "1")
	http.Error(w, "it could not be stored; try again", http.StatusServiceUnavailable)
}

func (s *Server) writeJSON(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		s.log.Error("an answer cannot be written as JSON", "err", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

// read decodes what a page posts. It says itself what is wrong with it.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, most int64, into any) bool {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
		http.Error(w, fmt.Sprintf("content type %.60q: want application/json", kind), http.StatusUnsupportedMediaType)
		return false
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	if err := dec.Decode(into); err != nil {
		http.Error(w, "not the JSON that is wanted here: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}
