package contract

import (
	"strconv"
	"unicode/utf8"
)

// An Anomaly is a deviation from the contract in a request that can be printed nevertheless. It is
// counted, so that the operator sees that the service has changed before something breaks. Its
// values are label values in the metrics and may not be renamed.
type Anomaly string

const (
	IDNotUUID    Anomaly = "id_not_uuid"   // records[0].id is not a UUID
	InvalidUTF8  Anomaly = "invalid_utf8"  // bytes that are not UTF-8; each is read as U+FFFD
	StatusOdd    Anomaly = "status"        // a status other than SUCCESS
	CountOdd     Anomaly = "count"         // a count other than the number of records
	VenueOther   Anomaly = "venue_id"      // a record's venueId differs from the header: see [VenueDiffers]
	DuplicateKey Anomaly = "duplicate_key" // an object has the same key more than once: see [Open]
	OverLimit    Anomaly = "over_limit"    // a limit of ours is exceeded: it prints as text
)

// Anomalies lists all kinds. The metrics show each of them from the start, with 0.
func Anomalies() []Anomaly {
	return []Anomaly{IDNotUUID, InvalidUTF8, StatusOdd, CountOdd, VenueOther, DuplicateKey, OverLimit}
}

// VenueDiffers says whether a record names another venue than the header of the request, whose
// canonical UUID is venue. A record that names no venue does not differ. The header has been
// checked against the allow-list, so it decides; the caller counts the difference.
func VenueDiffers(p PrintRequest, venue string) bool {
	for _, r := range p.Records {
		v := r.Fields.Get(FieldVenueID)
		if id, _ := CanonicalID(v.string()); v != nil && v.Kind() != 'n' && id != venue {
			return true
		}
	}
	return false
}

// anomalies lists the deviations of a body that is accepted, each kind once.
func (p *PrintRequest) anomalies(repeats bool) (out []Anomaly) {
	note := func(odd bool, a Anomaly) {
		if odd {
			out = append(out, a)
		}
	}
	_, isUUID := CanonicalID(p.ID)
	note(!isUUID, IDNotUUID)
	// On the body, because the parser has already replaced the bytes.
	note(!utf8.Valid(p.Raw), InvalidUTF8)
	status := p.Envelope.Get(FieldStatus)
	note(status != nil && status.string() != ValueSuccess, StatusOdd)
	if v := p.Envelope.Get(FieldCount); v != nil {
		n, isNumber := v.number() // 1.0 is the same count as 1
		note(!isNumber || n != float64(len(p.Records)), CountOdd)
	}
	note(repeats, DuplicateKey)
	return out
}

// number is the value of a number.
func (v Value) number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(v.Text(), 64)
	return n, v.Kind() == '0' && err == nil
}
