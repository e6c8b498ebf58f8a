package contract

import (
	"encoding/json"
	"errors"
	"fmt"
)

// RawRecord returns the text of the record with an id from the body of a print request. If there is
// only one record, it is returned whatever its id is.
//
// A third-party kitchen display gets the record as the service sent it; the queue stores only whole
// requests. An error means that the display gets the ticket without it.
func RawRecord(body []byte, id string) (json.RawMessage, error) {
	envelope, _, err := parse(body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	records := envelope.Get(FieldRecords)
	want, _ := CanonicalID(id)
	for r := range records.All() {
		got, _ := CanonicalID(r.Get(FieldID).string())
		// The only record needs no id. One without an id has no name.
		if len(r) == len(records)-1 || got == want && want != "" {
			return json.RawMessage(r.Text()), nil
		}
	}
	return nil, errors.New("the request has several records, and none has the id of the ticket's record")
}
