package relay

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ticketrail/receiver/source"
)

// boxesSubject is the subject on which relays report boxes to each other, and are asked for all of them. Nothing of it
// is stored: a thousand idle boxes must not cost the servers' disks a write.
const boxesSubject = "ticketrail.boxes"

const (
	// maxReport is many times the size of a source.Box.
	maxReport = 4 << 10
	maxBoxID  = 100
	// twoBoxesFor is how long two boxes with one token are remembered.
	twoBoxesFor = 10 * time.Minute
)

// A BoxState is the knowledge of a relay about the box of a venue.
type BoxState struct {
	Ago      time.Duration `json:"ago"` // since it was last heard
	Report   source.Report `json:"report"`
	TwoBoxes bool          `json:"two_boxes,omitempty"`
}

type knownBox struct {
	source.Box
	at     time.Time
	before string    // the id of the process before
	two    time.Time // when that one was heard again; zero: never
}

// report tells all relays, this one included, of a box.
func (d *Door) report(venue string, box source.Box) {
	if data, err := json.Marshal(box); err == nil {
		_ = d.stream.nc.Publish(boxesSubject+"."+venue, data)
	}
}

// noteReport notes the report of a relay. A process that is heard again after another one has not been started anew:
// they are two boxes.
func (d *Door) noteReport(m *nats.Msg) {
	var box source.Box
	if json.Unmarshal(m.Data, &box) != nil {
		return
	}
	venue := strings.TrimPrefix(m.Subject, boxesSubject+".")

	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.boxes[venue]
	if box.ID != b.ID {
		if box.ID == b.before {
			b.two = time.Now()
		}
		b.before = b.ID
	}

	b.Box, b.at = box, time.Now()
	d.boxes[venue] = b
}

// Boxes has the known boxes, by their venues.
func (d *Door) Boxes() map[string]BoxState {
	d.mu.Lock()
	defer d.mu.Unlock()

	all := map[string]BoxState{}
	for venue, b := range d.boxes {
		all[venue] = BoxState{time.Since(b.at), b.Report, time.Since(b.two) < twoBoxesFor}
	}
	return all
}

// tell answers a question for the known boxes.
func (d *Door) tell(m *nats.Msg) {
	if data, err := json.Marshal(d.Boxes()); err == nil {
		_ = m.Respond(data)
	}
}

// Boxes asks all relays for the boxes that they know, until ctx ends, and says how many have answered.
func (s *Stream) Boxes(ctx context.Context) (all map[string]BoxState, relays int, err error) {
	inbox := s.nc.NewInbox()
	answers, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = answers.Unsubscribe() }()

	if err := s.nc.PublishRequest(boxesSubject, inbox, nil); err != nil {
		return nil, 0, err
	}

	all = map[string]BoxState{}
	for {
		msg, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return all, relays, nil // there is no other end
		}

		var one map[string]BoxState
		if json.Unmarshal(msg.Data, &one) != nil {
			continue // no relay listens
		}

		relays++
		for venue, h := range one {
			if known, ok := all[venue]; !ok || h.Ago < known.Ago {
				h.TwoBoxes = h.TwoBoxes || known.TwoBoxes
				all[venue] = h
			}
		}
	}
}
