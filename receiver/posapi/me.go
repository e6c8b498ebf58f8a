package posapi

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"ticketrail/receiver/contract"
)

// Me is what a token is good for, as GET /me tells. The contract does not show its fields:
// what was not found is empty.
type Me struct {
	Venue  string          // the venue that the token resolved to, in canonical form; not always the one asked for; printable
	Scopes []string        // printable, the first 64; nil: not told
	Raw    json.RawMessage // the answer as received, without anything that looks like a token
}

// Me asks what the venue's token is good for. Whether [Me.Venue] is this venue is for the
// caller to check.
func (v *Venue) Me(ctx context.Context) (Me, error) {
	var me Me
	err := v.get(ctx, CallMe, contract.PathMe, nil, func(a answer) (e *Error) {
		me, e = v.openMe(a)
		return e
	})
	if err != nil {
		return Me{}, err
	}
	if me.Scopes != nil {
		v.scopes.Store(new(slices.Clone(me.Scopes))) // these are the caller's
	}
	return me, nil
}

// tokenMember is a member that is a secret by its name, whoever's it is.
var tokenMember = regexp.MustCompile(`(?i)"([a-z_-]*(?:token|secret|password|authorization|api_?key))"\s*:\s*"(?:[^"\\]|\\.)*"`)

func (v *Venue) openMe(a answer) (Me, *Error) {
	obj := jsonObject(a.body)
	if obj == nil {
		return Me{}, v.unreadable(CallMe, a)
	}
	v.clock.note(obj, a)
	// It may be an envelope; but a status in it can also be that of the venue.
	if s := jsonText(obj[contract.FieldStatus]); strings.EqualFold(s, contract.StatusError) || !jsonNull(obj[contract.FieldError]) {
		e := v.fault(CallMe, ErrRefused, "the answer is an error")
		e.Status, e.Says = a.status, v.says(CallMe, a)
		return Me{}, e
	}
	me := Me{Raw: tokenMember.ReplaceAll(a.body, []byte(`"$1":"`+hidden+`"`))}
	inside := []map[string]json.RawMessage{obj, jsonObject(obj["data"])}
	if records, _ := jsonArray(obj[contract.FieldRecords], 1); len(records) > 0 {
		inside = append(inside, jsonObject(records[0]))
	}
	for _, o := range inside {
		for _, at := range contract.MeVenuePlaces() {
			if me.Venue == "" {
				me.Venue, _ = contract.CanonicalID(printable(jsonText(jsonAt(o, at))))
			}
		}
		for _, at := range []string{contract.FieldScopes, contract.FieldScope} {
			if me.Scopes == nil {
				me.Scopes = v.secrets.jsonWords(o[at])
			}
		}
	}
	return me, nil
}
