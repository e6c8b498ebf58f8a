package kds

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// streamWithin is how long a page may take to read what it is sent; then it is dropped, and
	// comes back for a snapshot. Until then the kernel's buffer is all it holds.
	streamWriteTimeout = 10 * time.Second
	streamChunk        = 32 << 10 // bytes that it has that long for
	// silentFor is how long a page may leave every heartbeat unanswered and keep its stream: the
	// connection of a tablet that is switched off does not end by itself. One whose
	// tab is in the background just comes back.
	maxSilence  = 2 * time.Minute
	streamRetry = "retry: 2000\n" // milliseconds
)

// hello is the first thing a page is told on a stream.
type hello struct {
	Setup string `json:"setup"` // another one than the page's own: load again
	Beat  int64  `json:"beat"`
}

// A beat tells a page that it is live, how late it is, and what it should have.
type beat struct {
	ID     string `json:"id"`
	Now    int64  `json:"now"`
	Offset int    `json:"offset"` // of the kitchen's clock, minutes ahead of UTC
}

func (v *screenView) newBeat() beat {
	now := time.Now()
	return beat{ID: v.source.At(), Now: now.UnixMilli(), Offset: v.zoneOffset(now)}
}

// events streams what changes, as long as the page reads and answers.
func (s *Server) events(w http.ResponseWriter, r *http.Request, view *screenView, g *grant) {
	id := r.URL.Query().Get("page")
	if !validPageID(id) {
		http.Error(w, "page: want 8 to 64 letters and digits", http.StatusBadRequest)
		return
	}
	release, ok := s.countStream(g)
	if !ok {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many screens are open", http.StatusServiceUnavailable)
		return
	}
	defer release()
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.URL.Query().Get("after")
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy that gathers answers would make the page late
	g.renew(w, r)
	closed := view.streamOpened(id)
	defer closed()
	st := &stream{view: view, page: id, last: after, out: w, rc: http.NewResponseController(w), started: time.Now()}
	// The time-outs of the server are for answers that end.
	if st.rc.SetReadDeadline(time.Time{}) != nil || st.sendHello() != nil {
		return
	}
	st.run(r, s.stopping, g.revoked())
}

// enter counts a stream of a guest, unless there are too many.
func (s *Server) countStream(g *grant) (release func(), ok bool) {
	own := new(atomic.Int64)
	if g.pairing != nil {
		own = &g.pairing.streams
	}
	release = func() { s.streams.Add(-1); own.Add(-1) }
	if all, own := s.streams.Add(1), own.Add(1); all > maxStreams || own > maxStreamsPerPairing {
		release()
		return nil, false
	}
	return release, true
}

type stream struct {
	view    *screenView
	page    string
	last    string    // id of the state that the page has been told of
	out     io.Writer // buffered by the server
	rc      *http.ResponseController
	started time.Time
}

func (st *stream) run(r *http.Request, stopping, revoked <-chan struct{}) {
	tick := time.NewTicker(st.view.beat)
	defer tick.Stop()
	for {
		changed := st.view.source.Changed() // before looking, so that no change falls between
		if err := st.sendChanges(); err != nil {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
			if st.view.expireClient(st.page, st.started) > maxSilence || st.sendBeat() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-revoked:
			st.view.removeClient(st.page, true)
			return
		case <-st.view.stopped:
			st.view.removeClient(st.page, true)
			return
		case <-stopping:
			st.view.setAllNotLive()
			return
		}
	}
}

func (st *stream) sendHello() error {
	b, _ := json.Marshal(hello{Setup: st.view.setupTag, Beat: st.view.beat.Milliseconds()})
	_, _ = io.WriteString(st.out, streamRetry)
	st.writeEvent("hello", "", b)
	return st.sendBeat()
}

// tell sends what the page has not been told: what happened since, or everything.
func (st *stream) sendChanges() error {
	events, ok := st.view.source.Since(st.last)
	if !ok {
		snap := st.view.source.snapshot()
		b, err := json.Marshal(snap)
		if err != nil {
			return err
		}
		switch s := snap.(type) {
		case Snapshot:
			st.last = s.ID
		case ExpoSnapshot:
			st.last = s.ID
		}
		st.writeEvent("state", st.last, b)
		return st.flush()
	}
	if len(events) == 0 {
		return nil
	}
	for _, e := range events {
		st.writeEvent("change", e.ID, e.JSON())
		st.last = e.ID
	}
	return st.flush()
}

func (st *stream) sendBeat() error {
	b, _ := json.Marshal(st.view.newBeat())
	st.writeEvent("beat", "", b)
	return st.flush()
}

// message writes one event. Data is JSON, which has no line breaks of its own. An error of the
// connection stays and is seen by flush.
func (st *stream) writeEvent(kind, id string, data []byte) {
	var head string
	if id != "" {
		head = "id: " + id + "\n"
	}
	st.write([]byte(head + "event: " + kind + "\ndata: "))
	// A whole board may take a slow radio longer than one piece of it.
	for piece := range slices.Chunk(data, streamChunk) {
		st.write(piece)
	}
	st.write([]byte("\n\n"))
}

func (st *stream) write(b []byte) {
	_ = st.rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	_, _ = st.out.Write(b)
}

func (st *stream) flush() error {
	if err := st.rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout)); err != nil {
		return err
	}
	return st.rc.Flush()
}

// pageID says whether a page may call itself that.
func validPageID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		b := id[i]
		if (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') {
			return false
		}
	}
	return true
}
