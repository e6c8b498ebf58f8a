package queue

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"ticketrail/queue/ticket"
)

// Every stored value begins with the CRC32C of the rest, because bbolt has no checksums on its data
// pages, and an SD card returns flipped bits: 1 burger must not become 9. Keys have
// none: bbolt sorts by them, so a checksum would have to be at their end, and the value of a key
// shows damage. Code that trusts a key alone says so (readClock in load.go, forget in clock.go).

// castagnoli is the CRC that processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const crcSize = 4

// seal returns the stored form of the concatenated parts.
func seal(parts ...[]byte) []byte {
	sealed := slices.Concat(slices.Insert(parts, 0, make([]byte, crcSize))...)
	binary.BigEndian.PutUint32(sealed, crc32.Checksum(sealed[crcSize:], castagnoli))
	return sealed
}

var errChecksum = errors.New("the checksum does not match")

// unseal returns the parts given to seal; the result points into b.
func unseal(b []byte) ([]byte, error) {
	if len(b) < crcSize || binary.BigEndian.Uint32(b) != crc32.Checksum(b[crcSize:], castagnoli) {
		return nil, errChecksum
	}
	return b[crcSize:], nil
}

// sealJSON is for the small records; tickets and bodies are sealed as bytes.
func sealJSON(v any) ([]byte, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return seal(encoded), nil
}

func unsealJSON(b []byte, v any) error {
	opened, err := unseal(b)
	if err != nil {
		return err
	}
	return json.Unmarshal(opened, v)
}

// key64 is a number as a key. Big-endian, so that bbolt sorts keys as numbers.
func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// key128 is a pair of numbers as a key, sorted by the first and then by the second.
func key128(a, b uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, a), b)
}

// un64 reads a key written by key64; any other key is 0.
func un64(k []byte) uint64 {
	if len(k) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(k)
}

// A jobState has the fields of a job that change; its ticket, which does not, is in another bucket.
// The JSON names are short because a busy box writes each several times.
//
// That a job is printing is not stored: after a crash it waits again, and the number of doubts,
// which is stored, says whether it may have come out.
type jobState struct {
	Station     string       `json:"s"`
	State       ticket.State `json:"st"`
	Pos         uint64       `json:"p,omitempty"`   // position, while open
	Req         uint64       `json:"q,omitempty"`   // sequence of its request; 0 for a slip
	Enqueued    int64        `json:"t"`             // running time when it was enqueued first, ns; see ageOf
	Attempts    int          `json:"a,omitempty"`   // without interrupted ones
	Doubts      int          `json:"d,omitempty"`   // attempts that may have come out
	Reprint     bool         `json:"rp,omitempty"`  // a person asked for it
	FromDaemon  bool         `json:"sl,omitempty"`  // the daemon made it, see enqueueSlip
	MadeFrom    uint64       `json:"of,omitempty"`  // the job it was made from
	Copies      int          `json:"cp,omitempty"`  // reprints made of it since it ended
	PrintedBy   string       `json:"pb,omitempty"`  // the backup that it came out of
	ReprintedAs uint64       `json:"ra,omitempty"`  // the copy of it, if it was held or failed
	ReplacedBy  uint64       `json:"rs,omitempty"`  // the job whose changed ticket took its place
	DarkScreen  string       `json:"fr,omitempty"`  // whose orders it lists, see PrintShown
	RefusedBy   []string     `json:"rb,omitempty"`  // the stations that refused it, in order
	Received    int64        `json:"r,omitempty"`   // wall clock, ms
	Finished    int64        `json:"f,omitempty"`   // wall clock, ms
	Late        bool         `json:"la,omitempty"`  // see MarkLate
	Why         string       `json:"why,omitempty"` // of its state or last failure, for people
}

// valid rejects states that this program does not write: with a good checksum they come from a
// newer one or from a bug.
func (s *jobState) valid() error {
	switch {
	case s.Station == "":
		return errors.New("no station")
	case !slices.Contains(ticket.States(), s.State) || s.State == ticket.Printing:
		return fmt.Errorf("unknown state %q", s.State)
	case s.Attempts < 0 || s.Doubts < 0 || s.Copies < 0:
		return errors.New("a negative count")
	}
	return nil
}

// version changes with everything a person decides by: where the ticket is, whether it may have come out, and whether
// it was printed again or replaced. An attempt that failed without doubt changes none of that.
func (s *jobState) version() string {
	return fmt.Sprintf("%s.%d.%d.%d", s.State, s.Doubts, s.Copies, s.ReplacedBy)
}

// checkSeen returns an error if a person has seen another version of the job than it has. Without a version, or with
// "", nothing is checked.
func (s *jobState) checkSeen(version ...string) error {
	if len(version) > 0 && version[0] != "" && version[0] != s.version() {
		return fmt.Errorf("%w: it has changed meanwhile: look at it again", ErrConflict)
	}
	return nil
}

// decodeState refuses a state in full rather than guess a part of it: the job then fails for a
// person to see.
func decodeState(b []byte) (jobState, error) {
	var s jobState
	if err := cmp.Or(unsealJSON(b, &s), s.valid()); err != nil {
		return jobState{}, err
	}
	return s, nil
}

// decodePayload reads a stored ticket, of this or any earlier version: see [ticket.Unmarshal].
func decodePayload(b []byte) (ticket.Ticket, error) {
	opened, err := unseal(b)
	if err != nil {
		return ticket.Ticket{}, err
	}
	return ticket.Unmarshal(opened)
}

// encodeWaiting is the value of a position in the waiting bucket. The station is there for earlier versions, which
// refuse a value without one.
func encodeWaiting(job uint64, station string) []byte {
	return seal(key64(job), []byte(station))
}

func decodeWaiting(b []byte) (job uint64, err error) {
	opened, err := unseal(b)
	if err == nil && len(opened) < 9 {
		err = errors.New("too short")
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(opened), nil
}

// stationRecord is stored of a station besides its jobs.
type stationRecord struct {
	Books Books        `json:"books"`
	Hold  *StationHold `json:"hold,omitempty"`
}

// bodyMeta is stored with a body, for a person who has nothing but the file.
type bodyMeta struct {
	Venue  string `json:"venue"`
	ID     string `json:"id"`
	Device string `json:"device"`
}

// encodeBody stores the length of the bodyMeta, the bodyMeta as JSON, and the body as received. The
// bodyMeta is separate from the body, because the body may not even be JSON that can be read.
func encodeBody(r *ticket.Request) []byte {
	meta, _ := json.Marshal(bodyMeta{r.Venue, r.ID, r.Device}) // strings: it cannot fail
	return seal(binary.BigEndian.AppendUint32(nil, uint32(len(meta))), meta, r.Body)
}

// decodeBody returns the body as received. It points into b.
func decodeBody(b []byte) ([]byte, error) {
	opened, err := unseal(b)
	if err != nil {
		return nil, err
	}

	if len(opened) < 4 || uint64(binary.BigEndian.Uint32(opened)) > uint64(len(opened)-4) {
		return nil, errors.New("too short")
	}
	return opened[4+binary.BigEndian.Uint32(opened):], nil
}

// A clockRecord is the running time, and the wall clock at that moment.
type clockRecord struct {
	Running      time.Duration `json:"running"`
	Wall         time.Time     `json:"wall"`
	Synchronized bool          `json:"synchronized"`
}

// stateIn reads the state of a job.
func stateIn(tx *bolt.Tx, job uint64) (jobState, error) {
	return decodeState(tx.Bucket(bucketNames[bucketState]).Get(key64(job)))
}

// ticketIn reads the ticket of a job.
func ticketIn(tx *bolt.Tx, job uint64) (ticket.Ticket, error) {
	return decodePayload(tx.Bucket(bucketNames[bucketJobs]).Get(key64(job)))
}
