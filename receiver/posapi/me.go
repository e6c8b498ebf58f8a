package posapi

import (
	"context"
	"encoding/json"
)

// Me is what a token is good for, as GET /me tells. The contract does not show its fields:
// what was not found is empty.
type Me struct {
	Venue  string          // the venue that the token resolved to, in canonical form; not always the one asked for
	Scopes []string        // nil: not told
	Raw    json.RawMessage // the answer as received, without anything that looks like a token
}

// Me asks what the venue's token is good for. Whether [Me.Venue] is this venue is for the
// caller to check.
func (v *Venue) Me(ctx context.Context) (Me, error) { return Me{}, v.todo(CallMe) }

func (v *Venue) todo(c Call) error {
	return &Error{Call: c, Venue: v.id, Problem: "not there yet", kind: ErrUnavailable}
}
