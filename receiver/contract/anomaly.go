package contract

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// An Anomaly is a deviation from the contract in a request that can be printed nevertheless. It is
// counted, so that the operator sees that the service has changed before something breaks. Its
// values are label values in the metrics and may not be renamed.
type Anomaly string

const (
	IDNotUUID    Anomaly = "id_not_uuid"   // records[0].id is not a UUID
	RetryCount   Anomaly = "retry_count"   // a retryCount that is not an integer
	InvalidUTF8  Anomaly = "invalid_utf8"  // bytes that are not UTF-8; each is read as U+FFFD
	StatusOdd    Anomaly = "status"        // a status other than SUCCESS
	CountOdd     Anomaly = "count"         // a count other than the number of records
	VenueOther   Anomaly = "venue_id"      // a record's venueId differs from the header: see [VenueDiffers]
	DuplicateKey Anomaly = "duplicate_key" // an object has the same key more than once: see [Open]
	OverLimit    Anomaly = "over_limit"    // a limit of ours is exceeded, see [Mismatch.Limit]: it prints as text
)

// Anomalies lists all kinds. The metrics show each of them from the start, with 0.
func Anomalies() []Anomaly {
	return []Anomaly{IDNotUUID, RetryCount, InvalidUTF8, StatusOdd, CountOdd, VenueOther, DuplicateKey, OverLimit}
}

// VenueDiffers says whether a record names another venue than the header of the request, whose
// canonical UUID is venue. A record that names no venue does not differ. The header has been
// checked against the allow-list, so it decides; the caller counts the difference.
func VenueDiffers(p PrintRequest, venue string) bool {
	for _, r := range p.Records {
		v := r.Fields[FieldVenueID]
		if v == nil {
			continue
		}
		s, ok := v.(string)
		if !ok {
			return true
		}
		if id, _ := CanonicalID(s); id != venue {
			return true
		}
	}
	return false
}

// strict finds what [Strict] refuses and [Lenient] accepts. Only the first record's id must be a
// UUID: the ids of the others are not used to recognise a request.
func strict(records []Record) *Mismatch {
	if _, ok := CanonicalID(records[0].ID); !ok {
		return mismatch(index(FieldRecords, 0)+"."+FieldID, "want a UUID")
	}
	for i, r := range records {
		if v, odd := r.oddRetryCount(); odd {
			return mismatch(index(FieldRecords, i)+"."+FieldRetryCount,
				"want an integer, got "+numberTypeName(v))
		}
	}
	return nil
}

// oddRetryCount returns a retryCount that is not an integer. In an unreadable record it may be
// there twice; such a record is counted as [DuplicateKey] only. Nothing depends on the value: a
// retry is recognised by its id.
func (r *Record) oddRetryCount() (v any, odd bool) {
	v, there := r.Fields[FieldRetryCount]
	return v, there && r.Unreadable == "" && !integer(v)
}

// anomalies lists the deviations of a body that is accepted, each kind once.
func anomalies(envelope map[string]any, records []Record, body []byte) []Anomaly {
	var out []Anomaly
	note := func(odd bool, a Anomaly) {
		if odd {
			out = append(out, a)
		}
	}
	_, isUUID := CanonicalID(records[0].ID)
	note(!isUUID, IDNotUUID)
	for _, r := range records {
		if _, odd := r.oddRetryCount(); odd {
			note(true, RetryCount)
			break
		}
	}
	// On the body, because the parser has already replaced the bytes.
	note(!utf8.Valid(body), InvalidUTF8)
	if v, there := envelope[FieldStatus]; there {
		note(v != ValueSuccess, StatusOdd)
	}
	if v, there := envelope[FieldCount]; there {
		n, _ := v.(json.Number)
		// Compared as a float: 1.0 is the same count as 1.
		f, err := n.Float64()
		note(err != nil || f != float64(len(records)), CountOdd)
	}
	note(repeats(envelope), DuplicateKey)
	return out
}

// integer accepts 2 and 2.0: to JSON they are the same number.
func integer(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	if _, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return true
	}
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f)
}

// numberTypeName is typeName, but says of a number why it is not an integer.
func numberTypeName(v any) string {
	if _, ok := v.(json.Number); ok {
		return "a number with a fraction or out of range"
	}
	return typeName(v)
}
