package posapi

import (
	"encoding/json"
	"math"
	"net/http"
	"sync"
	"time"

	"ticketrail/receiver/contract"
)

// clock remembers what the last envelope said about the time.
type clock struct {
	mu      sync.Mutex
	seconds float64 // guarded by mu
	known   bool    // guarded by mu
}

// Drift is by how many seconds the service's clock and ours differ, from the latest list
// or /me that came: the larger of what the service says itself (its sign is not shown in the
// contract) and of what its timestamps or else the answer's Date say, which is positive when its
// clock is ahead of ours. It is not known before, nor after an answer that said nothing.
func (v *Venue) Drift() (seconds float64, known bool) {
	v.clock.mu.Lock()
	defer v.clock.mu.Unlock()
	return v.clock.seconds, v.clock.known
}

func (c *clock) note(envelope map[string]json.RawMessage, a answer) {
	const most = 9e9 // seconds; more would not fit into a time.Duration
	said, known := jsonNumber(envelope[contract.FieldClientDrift])
	if measured, ok := drift(envelope, a); ok {
		if !known || math.Abs(measured) > math.Abs(said) {
			said = measured
		}
		known = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seconds, c.known = max(-most, min(said, most)), known
}

// drift compares the service's timestamps with ours as NTP does. What the way there and back
// could explain is no drift.
func drift(envelope map[string]json.RawMessage, a answer) (float64, bool) {
	in, hasIn := jsonTime(envelope[contract.FieldRequestStamp])
	out, hasOut := jsonTime(envelope[contract.FieldResponseStamp])
	switch {
	case !hasIn && !hasOut:
		date, err := http.ParseTime(a.header.Get("Date"))
		if err != nil {
			return 0, false
		}
		in, out = date.Add(time.Second), date // it has no fractions
	case !hasIn:
		in = out
	case !hasOut:
		out = in
	}
	// The wall clock is what is asked about, so the monotonic one is put aside.
	ahead, behind := in.Sub(a.sent.Round(0)), a.came.Round(0).Sub(out)
	if ahead >= 0 && behind >= 0 { // the request came after it was sent, the answer before it was here
		return 0, true
	}
	return (ahead/2 - behind/2).Seconds(), true // their difference may be more than a duration holds
}
