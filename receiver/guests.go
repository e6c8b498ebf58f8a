package receiver

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// partTime is how long a connection may still bring its next request after the stop began.
	// One that is in use does so within a round trip from its last answer.
	partTime = 500 * time.Millisecond
	lookTime = 5 * time.Millisecond // between two looks at who has left
)

// guests are the connections of one server. The zero value has none.
type guests struct {
	mu sync.Mutex
	// idle says since when each has waited for its next request; zero while one is under
	// way and before the first, which whoever was let in is given the time for.
	idle map[net.Conn]time.Time
}

// note is the server's ConnState. The server calls it for a connection that is new before it
// accepts another or ends.
func (g *guests) note(c net.Conn, s http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle == nil {
		g.idle = map[net.Conn]time.Time{}
	}
	switch s {
	case http.StateIdle:
		g.idle[c] = time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(g.idle, c)
	default:
		g.idle[c] = time.Time{}
	}
}

// leave sees out whoever becomes idle, until done says that enough have left or ctx ends.
func (g *guests) leave(ctx context.Context, stop time.Time, done func(all, idle int) bool) error {
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for !done(g.dismiss(stop)) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// dismiss makes those go that have been idle for partTime since stop, and counts who is there.
func (g *guests) dismiss(stop time.Time) (all, idle int) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for c, since := range g.idle {
		if since.IsZero() {
			continue
		}
		idle++
		if now.Sub(since) >= partTime && now.Sub(stop) >= partTime {
			// Not Close: a request that the server has read a moment ago is then still answered.
			_ = c.SetReadDeadline(now)
		}
	}
	return len(g.idle), idle
}
