package admin

import (
	"context"

	"ticketrail/receiver"
)

// Fields says how each field of orders is used, and has the keys of the active configuration that decide it.
type Fields struct {
	Venues  []VenueFields       `json:"venues"`
	Fields  map[string][]string `json:"fields"`  // ticket.fields
	Silence []string            `json:"silence"` // ticket.silence
}

// A Field is an alias, as [Reject] is.
type Field = receiver.Field

// VenueFields are the fields of a venue's orders.
type VenueFields struct {
	Name string `json:"name"`
	receiver.Shape
}

// Fields asks which fields the orders have. The examples are of real orders.
func (c *Client) Fields(ctx context.Context) (Fields, error) {
	return call[Fields](ctx, c, "GET", "/v1/fields", nil)
}
