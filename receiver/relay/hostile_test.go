package relay

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestABoxReportsForItselfAlone: a box may write any message as its report.
func TestABoxReportsForItselfAlone(t *testing.T) {
	c, s := oneNode(t)
	// One that is a bucket like others is corrected.
	if _, err := s.js.UpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: BoxesBucket}); err != nil {
		t.Fatal(err)
	}
	s = openStream(t, c, s.nc)
	mine, theirs := addVenue(t, s), addVenue(t, s)
	nc := connect(t, c.URLs()...)
	report := func(venue, value string, header nats.Header) {
		t.Helper()
		m := &nats.Msg{Subject: "$KV." + BoxesBucket + "." + venue, Data: []byte(value), Header: header}
		if _, err := nc.RequestMsg(m, testTime); err != nil {
			t.Fatal(err)
		}
	}
	site := func(venue string) Site {
		t.Helper()
		var sites []Site
		patiently(t, func() (err error) {
			sites, err = s.Sites(t.Context())
			return err
		})
		for _, one := range sites {
			if one.Venue == venue {
				return one
			}
		}
		t.Fatalf("%s is in no list", venue)
		return Site{}
	}
	report(theirs, `{"version":"1.2.3"}`, nil)
	for _, h := range []nats.Header{{"Nats-Rollup": {"all"}}, {"KV-Operation": {"PURGE"}, "Nats-Rollup": {"all"}}} {
		report(mine, `{"version":"9"}`, h)
		if got := site(theirs); got.Heard.IsZero() || got.Report.Version != "1.2.3" {
			t.Errorf("after %v nothing is known of the other box: %+v", h, got)
		}
	}
	report(mine, `{"version":"1"}`, nil)
	before := site(mine).Heard
	report(mine, strings.Repeat(" ", 1<<20), nil)
	if got := site(mine); got.Heard != before || got.Report.Version != "1" {
		t.Errorf("a report of 1 MiB was stored: every relay reads it, again and again")
	}
	report(mine, `{"waiting":"many","problems":[[[{}]]]`, nil)
	if got := site(mine); got.Heard == before {
		t.Error("a box whose report cannot be read was not heard")
	}
}
