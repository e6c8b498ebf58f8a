package plan

import (
	"strings"
	"testing"
)

type employees map[string]string

func (s employees) Name(venue, id string) (string, bool) {
	if venue != strings.ToLower(harbour.ID) {
		return "", false
	}
	name, ok := s[id]
	return name, ok
}

func (employees) Zone(venue string) (string, bool) {
	return "Europe/Lisbon", venue == strings.ToLower(harbour.ID)
}

func TestTheDirectoryNamesTheServerOfWhomTheRecordHasOnlyAnID(t *testing.T) {
	for _, c := range []struct{ record, want string }{
		{`"checkOwnerEmployeeId":"e-1234"`, "Jonathan A."},
		{`"checkOwnerEmployeeId":"e-9999"`, "9999"},
		{`"checkOwnerEmployeeId":"blank"`, "lank"},
		{`"checkOwner":"Sarah M","checkOwnerEmployeeId":"e-1234"`, "Sarah M"},
		{`"employee":{"id":"e-1234"}`, "Jonathan A."},
		{`"a":1`, ""},
	} {
		r := compile(t, Config{}).Split(parse(t, `{"records":[{"id":"r","items":[],`+c.record+`}]}`), harbour, "T",
			noon,
			employees{"e-1234": " Jonathan A. ", "blank": " \t"})
		if got := r.Request.Drafts[0].Ticket.Server; got != c.want {
			t.Errorf("%s: %q, want %q", c.record, got, c.want)
		}
	}
}

func TestTicketsOfAVenueWithoutATimeZoneHaveTheDirectorysZone(t *testing.T) {
	in := parse(t, `{"records":[{"id":"r","items":[]}]}`)
	unzoned, elsewhere := harbour, harbour
	unzoned.Zone, unzoned.ID = "", strings.ToUpper(harbour.ID)
	elsewhere.Zone, elsewhere.ID = "", "00000000-0000-0000-0000-000000000001"
	for _, c := range []struct {
		venue Venue
		names Names
		want  string
	}{
		{harbour, employees{}, harbour.Zone},
		{unzoned, employees{}, "Europe/Lisbon"},
		{unzoned, nil, ""},
		{elsewhere, employees{}, ""},
	} {
		r := compile(t, Config{}).Split(in, c.venue, "T", noon, c.names)
		if got := r.Request.Drafts[0].Ticket.Zone; got != c.want {
			t.Errorf("%v, %T: %q, want %q", c.venue, c.names, got, c.want)
		}
	}
}
