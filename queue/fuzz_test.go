package queue

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"ticketrail/queue/ticket"
)

// FuzzRecords: whatever is in the file, reading a record neither panics nor returns both a value
// and an error. What is read without an error is written back the same.
func FuzzRecords(f *testing.F) {
	r := order("a", "grill")
	body := encodeBody(&r)
	payload, _ := encodePayloads(r.Drafts)
	state, _ := sealJSON(jobState{Station: "grill", State: ticket.Pending, Pos: 7, Enqueued: int64(time.Hour)})
	for _, b := range [][]byte{
		body, payload[0], state, encodeWaiting(7, "grill"),
		encodeDedup(dedupRecord{accepted: []content{{}},
			shares: []share{{station: "grill", order: "#1", jobs: []uint64{1}}}}),
	} {
		f.Add(b[crcSize:], true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = seal(b)
		}
		if s, err := decodeState(b); err != nil && !reflect.DeepEqual(s, jobState{}) {
			t.Errorf("state %+v with %v", s, err)
		}
		if d, err := decodePayload(b); err != nil && (d.V != 0 || d.Lines != nil) {
			t.Errorf("ticket %+v with %v", d, err)
		}
		if _, raw, err := decodeBody(b); err != nil && raw != nil {
			t.Errorf("body %q with %v", raw, err)
		}
		if job, station, err := decodeWaiting(b); err == nil && !bytes.Equal(encodeWaiting(job, station), b) {
			t.Errorf("place %d %q", job, station)
		}
		if s, err := decodeDedup(b); err == nil && !bytes.Equal(encodeDedup(s), b) {
			t.Errorf("seen %+v", s)
		}
	})
}

// FuzzSalvage: whatever is in a file, reading it ends, without a panic, and what is made of it is a sound file.
func FuzzSalvage(f *testing.F) {
	q := start(f)
	q.orders(30, "grill", "bar")
	for range 20 {
		q.print("bar")
	}
	q.stop()
	whole := q.content()
	f.Add([]byte("\x00"), uint32(0), uint32(0))
	f.Add(make([]byte, 4096), uint32(4096), uint32(9))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\xff\xff\xff\xff\xff\xff"), uint32(8192), uint32(3))
	f.Fuzz(func(t *testing.T, patch []byte, at, root uint32) {
		b := bytes.Clone(whole)
		copy(b[at%uint32(len(b)):], patch)
		if root != 0 { // a valid meta page with any root
			for _, m := range [][]byte{b[pageHeader:], b[pageBytes+pageHeader:]} {
				binary.NativeEndian.PutUint32(m[offRoot:], root%uint32(len(b)/pageBytes+2))
				sealMeta(m)
			}
		}
		from := filepath.Join(t.TempDir(), "damaged.db")
		must(t, os.WriteFile(from, b, 0o600))
		if _, err := Salvage(from, from+".saved"); err == nil {
			must(t, Check(from+".saved"))
		}
	})
}
