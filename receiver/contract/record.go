package contract

import (
	"bytes"
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
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	var records []json.RawMessage
	if err := json.Unmarshal(envelope[FieldRecords], &records); err != nil {
		return nil, fmt.Errorf("read the records of the request: %w", err)
	}
	// A record without an id has no other name.
	if len(records) == 1 {
		return records[0], nil
	}
	want, _ := CanonicalID(id)
	for _, r := range records {
		v, err := decode(json.NewDecoder(bytes.NewReader(r)), r)
		if err != nil {
			continue
		}
		fields, _ := v.(map[string]any)
		if s, ok := fields[FieldID].(string); ok {
			if got, _ := CanonicalID(s); got == want && want != "" {
				return r, nil
			}
		}
	}
	return nil, errors.New("the request has several records, and none has the id of the ticket's record")
}
