package contract

import (
	"strings"

	"github.com/google/uuid"
)

// CanonicalID returns the form in which ids are compared and stored: a UUID (8-4-4-4-12, in upper or
// lower case) in lower case, any other id unchanged. It is idempotent. A retry that spells its id in
// another case must be recognised, or the order is cooked twice.
func CanonicalID(s string) (id string, isUUID bool) {
	if len(s) != 36 || uuid.Validate(s) != nil { // which also accepts other spellings, such as {...} and urn:uuid:
		return s, false
	}
	return strings.ToLower(s), true
}
