package ticket

import (
	"encoding/json"
	"fmt"
)

// Unmarshal decodes what [Marshal] of this version or an older one wrote. With an error the Ticket
// is zero.
func Unmarshal(b []byte) (Ticket, error) {
	var t Ticket
	if err := json.Unmarshal(b, &t); err != nil {
		return Ticket{}, fmt.Errorf("decode ticket: %w", err)
	}
	if t.V < 1 || t.V > Version {
		return Ticket{}, fmt.Errorf("decode ticket: format %d, this program reads 1 to %d: a newer ticketrail wrote it",
			t.V, Version)
	}
	return t, nil
}
