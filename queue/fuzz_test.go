package queue

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// FuzzRecords: whatever is in the file, reading a record neither panics nor returns both a value
// and an error. A value that is read without an error is written back the same.
func FuzzRecords(f *testing.F) {
	r := order("a", "grill")
	body := encodeBody(&r)
	payload, _ := ticket.Marshal(r.Drafts[0].Ticket)
	state, _ := sealJSON(jobState{Station: "grill", State: ticket.Pending, Pos: 7, Enqueued: int64(time.Hour)})
	for _, b := range [][]byte{
		body, seal(payload), state, encodeWaiting(7, "grill"),
		encodeDedup(dedupRecord{accepted: []content{{}},
			shares: []share{{station: "grill", order: "#1", jobs: []uint64{1}}}}),
		// A number that is longer than it needs to be.
		seal(fmt.Appendf(nil, "\x02\x01%032d\x00\x01\x01g\x01#%016d\xff\x00\x01\x01", 0, 0)),
	} {
		f.Add(b[crcSize:], true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = seal(b)
		}
		state, err := decodeState(b)
		wantTrue(t, err == nil || reflect.DeepEqual(state, jobState{}), state, err)
		d, err := decodePayload(b)
		wantTrue(t, err == nil || d.V == 0 && d.Lines == nil, d, err)
		raw, err := decodeBody(b)
		wantTrue(t, err == nil || raw == nil, raw, err)
		job, station, err := decodeWaiting(b)
		wantTrue(t, err != nil || bytes.Equal(encodeWaiting(job, station), b), job, station)
		s, err := decodeDedup(b)
		wantTrue(t, err != nil || bytes.Equal(encodeDedup(s), b), s)
	})
}
