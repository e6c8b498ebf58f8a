package relay

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ticketrail/receiver/source"
)

// boxesSubject is the subject on which relays report boxes to each other, and are asked for all of them. Nothing of it
// is stored: a thousand idle boxes must not cost the servers' disks a write.
const boxesSubject = "ticketrail.boxes"

// maxReport is many times the size of a source.Box.
const maxReport = 4 << 10

// A Box is the knowledge of a relay about the box of a venue. A time is zero if there was no such event since the
// relay was started.
type Box struct {
	LastSeen time.Time     `json:"last_seen,omitzero"` // when a relay last had a report of it
	Report   source.Report `json:"report"`
	TwoBoxes time.Time     `json:"two_boxes,omitzero"` // when two of them last asked in turn, with one token

	processes [2]string // the last two that reported
}

// noteReport notes the report of a box, which it sent to any relay. A process that is heard again after another one has
// not been started anew: they are two boxes.
func (d *Door) noteReport(m *nats.Msg) {
	var box source.Box
	if json.Unmarshal(m.Data, &box) != nil {
		return
	}
	venue := strings.TrimPrefix(m.Subject, boxesSubject+".")

	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.boxes[venue]
	known.Report, known.LastSeen = box.Report, time.Now()
	if latest := known.processes[0]; box.ID != latest {
		if box.ID == known.processes[1] {
			known.TwoBoxes = time.Now()
		}
		known.processes = [2]string{box.ID, latest}
	}
	d.boxes[venue] = known
}

// Boxes has the known boxes, by their venues.
func (d *Door) Boxes() map[string]Box {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.boxes)
}

// tell answers a question for the known boxes.
func (d *Door) tell(m *nats.Msg) {
	if data, err := json.Marshal(d.Boxes()); err == nil {
		_ = m.Respond(data)
	}
}

// Boxes asks all relays for the boxes that they know, until ctx ends, and says how many have answered.
func (s *Stream) Boxes(ctx context.Context) (all map[string]Box, relays int, err error) {
	inbox := s.nc.NewInbox()
	answers, err := s.nc.SubscribeSync(inbox)
	if err == nil {
		err = s.nc.PublishRequest(boxesSubject, inbox, nil)
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = answers.Unsubscribe() }()

	all = map[string]Box{}
	for {
		msg, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return all, relays, nil // there is no other end
		}

		var one map[string]Box
		if json.Unmarshal(msg.Data, &one) != nil {
			continue // no relay listens
		}

		relays++
		for venue, box := range one {
			if box.LastSeen.After(all[venue].LastSeen) {
				all[venue] = box
			}
		}
	}
}
