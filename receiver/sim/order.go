package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"ticketrail/receiver/contract"
)

// An Order is one print request, with the venue and device that send it.
//
// It never changes, so several goroutines may send the same order.
type Order struct {
	ID            string // records[0].id; empty when the body has none
	Venue, Device string
	Kind          string // order, void, refire, check or file

	request map[string]any // nil: raw is not JSON
	raw     []byte         // the text of a file, sent unchanged in the first attempt
}

// Body is the request of an attempt, counted from 0: the same id, a retryCount that is higher by
// the attempt, the current time in the envelope.
//
// The request is encoded anew for each attempt, as the service does it: a receiver that compares
// bytes takes every retry for another order, and this shows it.
func (o Order) Body(attempt int) []byte {
	if o.request == nil || attempt == 0 && o.raw != nil {
		return o.raw
	}

	request := maps.Clone(o.request)
	request[contract.FieldRequestStamp] = stamp(time.Now())
	old, _ := request[contract.FieldRecords].([]any)
	records := slices.Clone(old)

	for i, r := range records {
		if record, ok := r.(map[string]any); ok {
			// A file may start with any retryCount; without one it counts from 0.
			before, _ := strconv.Atoi(fmt.Sprint(record[contract.FieldRetryCount]))
			record = maps.Clone(record)
			record[contract.FieldRetryCount] = before + attempt
			records[i] = record
		}
	}

	if old != nil {
		request[contract.FieldRecords] = records
	}
	return encode(request)
}

// decode reads exactly one JSON object. Numbers keep their text, so that 1.50 stays 1.50.
func decode(b []byte) (request map[string]any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()

	if decoder.Decode(&request) != nil {
		return nil, false
	}

	_, err := decoder.Token()
	return request, err == io.EOF
}

// encode writes JSON without HTML escapes, as the service does: & and < stay readable in a log.
func encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(v); err != nil {
		panic(err) // a bug: the value was made here or decoded from JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// FileOrder is an order whose request was written by hand. The first attempt sends it unchanged,
// even if it is not JSON. So an endpoint can be tested with bodies that are wrong on purpose.
func FileOrder(body []byte, venueID, device string) Order {

	order := Order{Venue: venueID, Device: device, Kind: "file", raw: body}
	if request, ok := decode(body); ok { // else each retry, too, sends the text unchanged
		order.request = request
	}

	if first, ok := order.first(); ok {
		order.ID, _ = first[contract.FieldID].(string)
	}
	return order
}

// first is records[0], if the request has one.
func (o Order) first() (map[string]any, bool) {
	records, _ := o.request[contract.FieldRecords].([]any)
	if len(records) == 0 {
		return nil, false
	}
	first, ok := records[0].(map[string]any)
	return first, ok
}
