package contract

import "github.com/google/uuid"

// CanonicalID is the form in which ids are compared and stored: a UUID (8-4-4-4-12, in any
// case) in lower case, anything else as it is. It is idempotent.
func CanonicalID(s string) (id string, isUUID bool) {
	if len(s) != 36 { // uuid.Parse takes other spellings too, which are other ids
		return s, false
	}
	u, err := uuid.Parse(s)
	if err != nil {
		return s, false
	}
	return u.String(), true
}
