package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// A Site is what the relay knows of a venue and its box.
type Site struct {
	Venue string
	Heard time.Time // when its box last reported; zero: not since the servers were started
	// Report is what it said then.
	Report      Report
	Waiting     uint64    // requests that its box has not taken
	Oldest      time.Time // when the first of them was stored; zero: none waits
	LastRequest time.Time // when the newest request was stored; zero: there is none within the retention
}

// siteReads is how many messages are asked for at once.
const siteReads = 32

// Sites lists the venues that have a consumer, those of a configuration file included. The times are those of the
// servers' clocks.
func (s *Stream) Sites(ctx context.Context) ([]Site, error) {
	boxes, err := entries(ctx, s.boxes)
	if err != nil {
		return nil, err
	}
	sites, floors := []Site{}, []uint64{}
	list := s.stream.ListConsumers(ctx)
	for info := range list.Info() {
		if isRemoved(info) {
			continue
		}
		site := Site{Venue: info.Name, Waiting: info.NumPending + uint64(info.NumAckPending)}
		if e := boxes[info.Name]; e != nil {
			site.Heard = e.Created()
			_ = json.Unmarshal(e.Value(), &site.Report) // a box of another version: it was heard all the same
		}
		sites, floors = append(sites, site), append(floors, info.AckFloor.Stream)
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list the venues' consumers: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(siteReads)
	for i := range sites {
		g.Go(func() (err error) {
			site := &sites[i]
			if site.LastRequest, err = timeOf(s.stream.GetLastMsgForSubject(ctx, ofVenue(site.Venue))); err != nil {
				return fmt.Errorf("read the last request of venue %s: %w", site.Venue, err)
			}
			if site.Waiting == 0 {
				return nil
			}
			next := jetstream.WithGetMsgSubject(ofVenue(site.Venue))
			if site.Oldest, err = timeOf(s.stream.GetMsg(ctx, floors[i]+1, next)); err != nil {
				return fmt.Errorf("read the oldest request of venue %s: %w", site.Venue, err)
			}
			return nil
		})
	}
	return sites, g.Wait()
}

// timeOf is when a message was stored; zero: there is none.
func timeOf(m *jetstream.RawStreamMsg, err error) (time.Time, error) {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return m.Time, nil
}

// A State is how full the stream is and how its servers are.
type State struct {
	Messages, Bytes uint64
	MaxBytes        int64 // -1: as much as the servers have
	MaxAge          time.Duration
	Leader          string // empty: the server is alone
	Replicas        []Replica
}

// A Replica is a server that has a copy of the stream, besides the leader.
type Replica struct {
	Name    string
	Current bool // it has all, or nearly all
	Offline bool
	Lag     uint64        // of the operations that it must still apply
	Active  time.Duration // since it was last heard
}

// errNoLeader: a server that is left answers for the stream, too.
var errNoLeader = errors.New("it has no leader, and nothing is stored: " + whatServersNeed)

// State asks the stream's leader. Without one it fails.
func (s *Stream) State(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err == nil && info.Cluster != nil && info.Cluster.Leader == "" {
		err = errNoLeader
	}
	if err != nil {
		return State{}, fmt.Errorf("ask for the state of the stream %s: %w", StreamName, explain(err))
	}
	state := State{Messages: info.State.Msgs, Bytes: info.State.Bytes, MaxBytes: info.Config.MaxBytes,
		MaxAge: info.Config.MaxAge}
	if c := info.Cluster; c != nil {
		state.Leader = c.Leader
		for _, r := range c.Replicas {
			state.Replicas = append(state.Replicas, Replica{Name: r.Name, Current: r.Current, Offline: r.Offline,
				Lag: r.Lag, Active: r.Active})
		}
	}
	return state, nil
}
