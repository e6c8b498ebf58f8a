package posapi

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// Me is what a token is good for, as GET /me answers. The contract does not state its fields: what
// was not found is empty.
type Me struct {
	Venue  string          // that the token is for, canonical and printable; it may be another one than requested
	Scopes []string        // printable, the first 64; nil: not named
	Raw    json.RawMessage // the answer as received, without anything that looks like a token
}

// Me requests what the venue's token is good for. The caller checks whether [Me.Venue] is this
// venue: with a token for another one, names and wages would be those of other people.
func (v *Venue) Me(ctx context.Context) (me Me, err error) {
	err = v.get(ctx, CallMe, v.c.o.MePath, nil, func(a *answer) (e *Error) {
		me, e = v.readMe(a)
		return e
	})
	return me, err
}

// secretMember is a member that is a secret by its name, even one that this client never had.
// The JSON of venues check contains Me.Raw.
var secretMember = regexp.MustCompile(
	`(?i)"([a-z_-]*(?:token|secret|password|authorization|api_?key))"\s*:\s*"(?:[^"\\]|\\.)*"`)

// readMe looks for the fields at every place where services of this kind have them.
func (v *Venue) readMe(a *answer) (Me, *Error) {
	obj := jsonObject(a.body)
	if obj == nil {
		return Me{}, v.unreadable(CallMe, a)
	}
	v.noteDrift(obj, a)
	// It may be an envelope; but another status than ERROR can also be that of the venue.
	status := jsonText(obj[contract.FieldStatus])
	if strings.EqualFold(status, contract.ValueError) || !jsonNull(obj[contract.FieldError]) {
		return Me{}, v.quote(v.fault(CallMe, ErrRefused, "the answer is an error"), a)
	}
	me := Me{Raw: secretMember.ReplaceAll(a.body, []byte(`"$1":"`+hidden+`"`))}
	// The fields may be at the top, or in an envelope with one record as for other calls.
	objects := []map[string]json.RawMessage{obj, jsonObject(obj["data"])}
	if records, _ := jsonArray(obj[contract.FieldRecords], 1); len(records) > 0 {
		objects = append(objects, jsonObject(records[0]))
	}
	for _, o := range objects {
		for _, at := range contract.MeVenuePlaces() {
			if me.Venue == "" {
				me.Venue, _ = contract.CanonicalID(printable(jsonText(jsonAt(o, at))))
			}
		}
		for _, at := range []string{contract.FieldScopes, contract.FieldScope} {
			if me.Scopes == nil {
				me.Scopes = readScopes(o[at])
			}
		}
	}
	return me, nil
}

// readScopes reads a list of strings, or one string of words; nil when raw is neither.
func readScopes(raw json.RawMessage) []string {
	const most = 64 // so that showing them does not fill a screen
	words := strings.Fields(jsonText(raw))
	if list, ok := jsonArray(raw, most); ok {
		for _, v := range list {
			words = append(words, jsonText(v))
		}
	} else if jsonKind(raw) != "a string" {
		return nil
	}
	scopes := []string{}
	for _, w := range words[:min(len(words), most)] {
		if w = printable(w); w != "" {
			scopes = append(scopes, w)
		}
	}
	return scopes
}

// Drift is by how many seconds the service's clock and ours differ, from the latest list
// or /me answer. It is the larger of two values: what the service reports, whose sign the
// contract does not state; and what its timestamps, or else the answer's Date, show, which is
// positive when its clock is ahead of ours. It is not known before the first answer, nor after
// one that had neither.
func (v *Venue) Drift() (seconds float64, known bool) {
	if s := v.drift.Load(); s != nil {
		return *s, true
	}
	return 0, false
}

// noteDrift stores the larger of the two values: a false alarm is better than a wrong clock that is
// not noticed.
func (v *Venue) noteDrift(envelope map[string]json.RawMessage, a *answer) {
	const most = 9e9 // seconds; callers make a time.Duration of it, which holds no more
	reported, known := jsonNumber(envelope[contract.FieldClientDrift])
	if measured, ok := measureDrift(envelope, a); ok {
		if !known || math.Abs(measured) > math.Abs(reported) {
			reported = measured
		}
		known = true
	}
	if !known {
		v.drift.Store(nil)
		return
	}
	v.drift.Store(new(max(-most, min(reported, most))))
}

// measureDrift compares the service's timestamps with ours as NTP does. A difference that the time
// on the network could explain counts as none. A wrong clock on the box makes wrong times on
// tickets, and breaks TLS.
func measureDrift(envelope map[string]json.RawMessage, a *answer) (float64, bool) {
	in, out := jsonTime(envelope[contract.FieldRequestStamp]), jsonTime(envelope[contract.FieldResponseStamp])
	if in, out = cmp.Or(in, out), cmp.Or(out, in); in.IsZero() {
		date, err := http.ParseTime(a.Header.Get("Date"))
		if err != nil {
			return 0, false
		}
		in, out = date.Add(time.Second), date // a Date has whole seconds
	}
	// Round(0) drops the monotonic reading: the wall clocks are compared.
	ahead, behind := in.Sub(a.sent.Round(0)), a.came.Round(0).Sub(out)
	if ahead >= 0 && behind >= 0 { // the request came after it was sent, the answer before it was here
		return 0, true
	}
	return (ahead/2 - behind/2).Seconds(), true // halved first: the difference could overflow
}
