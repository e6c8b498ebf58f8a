package doctor

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/setup"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// Inspect writes to w the result of the print request in body: the use of each value, the routes that match, and each
// ticket as text. Nothing is sent to a station. An empty venue is the first one of the configuration. It takes the
// same steps as the webhook: the same limits, the same parser, the same routes and the same layout. It has no
// directory, so employees are shown without their names. With colour, unread values are red. It returns the use of
// each field.
func Inspect(
	path string, body io.Reader, venue, device string, colour bool, w io.Writer,
) (fields admin.Fields, err error) {
	conf, err := setup.Load(path)
	if err != nil {
		return fields, err
	}
	routes, err := plan.Compile(conf.Plan())
	if err != nil {
		return fields, err
	}
	sender, err := findVenue(conf, venue)
	if err != nil {
		return fields, err
	}

	// One byte more than the limit tells a body that is too large from one that just fits.
	raw, err := io.ReadAll(io.LimitReader(body, int64(conf.Receiver.MaxBody)+1))
	if err != nil {
		return fields, fmt.Errorf("read print request: %w", err)
	}
	if len(raw) > int(conf.Receiver.MaxBody) {
		return fields, fmt.Errorf("the body is larger than receiver.max_body (%d bytes): the daemon would answer 400",
			conf.Receiver.MaxBody)
	}

	req, err := contract.Open(raw, conf.Receiver.Mode())
	if err != nil {
		return fields, fmt.Errorf("the daemon would answer 400: %w", err)
	}

	made := routes.Traced().Split(req, sender.Plan(), device, time.Now(), nil)
	var out bytes.Buffer
	fmt.Fprintf(&out, "request %s for venue %s\n", layout.Clean(req.ID), sender.Name)
	for _, a := range req.Anomalies {
		fmt.Fprintf(&out, "anomaly: %s\n", layout.Clean(fmt.Sprint(a)))
	}

	leaves := routes.Leaves(req)
	fields = admin.Fields{Fields: conf.Ticket.Fields, Silence: conf.Ticket.Silence,
		Venues: []admin.VenueFields{{Name: sender.Name, Shape: receiver.ShapeOf(leaves)}}}
	if req.Envelope == nil || slices.Contains(req.Anomalies, contract.OverLimit) { // not all of it is in the tree
		fmt.Fprintf(&out, "\n%s\n\n", layout.Clean(string(raw)))
	} else {
		fmt.Fprintf(&out, "\n%s\n", markBody(raw, leaves, colour))
	}

	out.WriteString(made.Trace)
	drawer, _ := station.NewDrawer(conf)
	for _, d := range made.Request.Drafts {
		options, err := station.LayoutOptions(conf, drawer, d.Station)
		if err != nil {
			return fields, err
		}
		d.Ticket.NameMore(0)
		fmt.Fprintf(&out, "\nticket for %s (%d columns):\n\n", d.Station, options.Columns)
		lines := layout.ComposeWith(ticket.Delivery{Station: d.Station, Attempt: 1, Ticket: d.Ticket}, options)
		out.WriteString(layout.Plain(lines, options.Columns))
	}

	// Written at the end, so that an error leaves no half ticket that looks complete.
	_, err = w.Write(out.Bytes())
	return fields, err
}

// findVenue finds a venue by its exact name or by its id in any case. Empty is the first configured.
func findVenue(conf *config.Config, want string) (config.Venue, error) {
	if want == "" {
		return conf.Venues[0], nil
	}
	id, _ := contract.CanonicalID(want)
	for _, v := range conf.Venues {
		if v.Name == want || v.ID == id {
			return v, nil
		}
	}

	return config.Venue{}, noVenue(conf, want)
}

// noVenue refuses a name that is not configured, with those that are. An empty one was not given, and there are
// several.
func noVenue(conf *config.Config, want string) error {
	var names []string
	for _, v := range conf.Venues {
		names = append(names, v.Name)
	}

	there := `"` + strings.Join(names, `", "`) + `"`
	if want == "" {
		return admin.Refuse(admin.BadRequest, "no venue: name one with --venue; there is %s", there)
	}
	return admin.Refuse(admin.BadRequest, "no venue is called %q; there is %s%s", want, there,
		config.DidYouMean(want, names))
}
