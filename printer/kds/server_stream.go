package kds

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	beatInterval = 5 * time.Second // between two heartbeats
	// streamWriteTimeout is how long a page may take to read one chunk. A page that is slower loses
	// its stream and comes back for a snapshot. Until then the kernel's socket buffer is all the
	// memory it costs.
	streamWriteTimeout = 10 * time.Second
	streamChunk        = 32 << 10 // bytes of a chunk
	// maxSilence is how long a page may leave every heartbeat unanswered and keep its stream. The
	// connection of a tablet that is switched off does not end by itself; a tab that was only in
	// the background connects again.
	maxSilence = 2 * time.Minute
	// streamRetry has the browser reconnect this many milliseconds after a stream broke.
	streamRetry = "retry: 2000\n"
)

// A beat is a heartbeat: the current state's id, by which a page notices that it missed a change,
// and the time.
type beat struct {
	ID     string `json:"id"`
	Now    int64  `json:"now"`
	Offset int    `json:"offset"` // minutes by which the kitchen's clock is ahead of UTC
}

// newBeat is the heartbeat of this moment.
func (v *screenView) newBeat() beat {
	now := time.Now()
	return beat{ID: v.orders.At(), Now: now.UnixMilli(), Offset: v.zoneOffset(now)}
}

// events is the event stream of a page. It runs as long as the page reads and answers heartbeats.
func (s *Server) events(w http.ResponseWriter, r *http.Request, view *screenView, g *grant) {
	id := r.URL.Query().Get("page")
	if !validPageID(id) {
		http.Error(w, "page: want 8 to 64 letters and digits", http.StatusBadRequest)
		return
	}

	// A browser that reconnects by itself sends the header; the script, which opens a new stream,
	// cannot set it and uses the address.
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.URL.Query().Get("after")
	}

	s.stream(w, r, g, &stream{view: view, page: id, last: after})
}

// stream sends a stream until it ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, g *grant, st *stream) {
	release, ok := s.countStream(g)
	if !ok {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}

	defer release()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // or nginx would buffer events and the page would be late
	// Before the first byte: the cookie is a header. A page can stay open longer than browsers keep
	// one.
	g.renew(w, r)
	if st.page != "" {
		defer st.view.screen.streamOpened(st.page)()
	}

	st.out, st.rc = w, http.NewResponseController(w)
	// The server's time-outs are for answers that end; writeEvent sets a new one for each chunk.
	if st.rc.SetReadDeadline(time.Time{}) != nil || st.sendHello() != nil {
		return
	}

	st.run(r, s.stopping, g.revoked())
}

// countStream counts a stream against the limits, of all pages and of this pairing. ok is false if
// there are too many; otherwise the caller must call release when the stream ends.
func (s *Server) countStream(g *grant) (release func(), ok bool) {
	own := new(atomic.Int64)
	if g.pairing != nil {
		own = &g.pairing.streams
	}

	release = func() { s.streams.Add(-1); own.Add(-1) }
	if all, ofPairing := s.streams.Add(1), own.Add(1); all > maxStreams || ofPairing > maxStreamsPerPairing {
		release()
		return nil, false
	}
	return release, true
}

// A stream is one connected event stream.
type stream struct {
	view *screenView
	page string    // empty for a pickup board
	last string    // id of the state that the page has been told of; of a pickup board, the whole state
	out  io.Writer // buffered by the server
	rc   *http.ResponseController
}

// run sends changes and heartbeats until the page, the pairing, the screen or the server ends. A page that has gone by
// itself stays live for reconnectGrace, because it may connect again. In the other cases it gets no new ticket, so it
// stops being live at once.
func (st *stream) run(r *http.Request, stopping, revoked <-chan struct{}) {
	tick := time.NewTicker(beatInterval)
	defer tick.Stop()
	for {
		changed := st.view.orders.Changed() // before reading: no change is missed
		if err := st.sendChanges(); err != nil {
			return
		}

		select {
		case <-changed:
			continue
		case <-tick.C:
			if st.view.screen.expirePage(st.page) > maxSilence || st.sendBeat() != nil {
				return
			}
			continue
		case <-r.Context().Done():
			return
		case <-revoked:
		case <-st.view.stopped:
		case <-stopping:
		}

		st.view.screen.removePage(st.page, true)
		return
	}
}

// sendHello tells the page the tag of the setup, which makes a page of another one reload itself, and gives it a first
// heartbeat, which makes it confirm its cards at once.
func (st *stream) sendHello() error {
	body, _ := json.Marshal(map[string]string{"setup": st.view.Tag})
	_, _ = io.WriteString(st.out, streamRetry)
	st.writeEvent("hello", "", body)
	return st.sendBeat()
}

// sendChanges sends the events since the last one that was sent, or a snapshot where that is not
// possible: after a restart, or when the page was away for too long.
func (st *stream) sendChanges() error {
	if st.page == "" {
		return st.sendPickup()
	}

	events, ok := st.view.orders.Since(st.last)
	if !ok {
		snap := st.view.orders.Snapshot()
		body, err := json.Marshal(snap)
		if err != nil {
			return err
		}
		st.last = snap.ID
		st.writeEvent("state", st.last, body)
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

// sendBeat sends a heartbeat.
func (st *stream) sendBeat() error {
	body, _ := json.Marshal(st.view.newBeat())
	st.writeEvent("beat", "", body)
	return st.flush()
}

// writeEvent writes one event in the format of server-sent events. data is JSON and has no line
// breaks. An error of the connection is sticky and is reported by flush.
func (st *stream) writeEvent(kind, id string, data []byte) {
	var head string
	if id != "" {
		head = "id: " + id + "\n"
	}

	st.write([]byte(head + "event: " + kind + "\ndata: "))
	// A slow wireless network may need longer for a whole board than streamWriteTimeout.
	for piece := range slices.Chunk(data, streamChunk) {
		st.write(piece)
	}

	st.write([]byte("\n\n"))
}

// write writes a chunk with a time-out of its own. Its error is kept by the writer and returned by
// flush.
func (st *stream) write(b []byte) {
	_ = st.rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	_, _ = st.out.Write(b)
}

// flush sends the buffered events. Without it the server would keep small events in its buffer.
func (st *stream) flush() error {
	if err := st.rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout)); err != nil {
		return err
	}
	return st.rc.Flush()
}

// validPageID accepts the ids that the pages' script makes: letters and digits. The id is a map key here,
// so its length is bounded.
func validPageID(id string) bool {
	const allowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return len(id) >= 8 && len(id) <= 64 && strings.Trim(id, allowed) == ""
}
