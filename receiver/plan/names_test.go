package plan

import (
	"strings"
	"testing"

	"ticketrail/deploy/assert"
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
		{`"checkOwnerEmployeeId":"e-1234"`, "Jonathan A."}, {`"checkOwnerEmployeeId":"e-9999"`, "9999"},
		{`"checkOwnerEmployeeId":"blank"`, "lank"},
		{`"checkOwner":"Sarah M","checkOwnerEmployeeId":"e-1234"`, "Sarah M"},
		{`"employee":{"id":"e-1234"}`, "Jonathan A."}, {`"a":1`, ""},
	} {
		r := compile(t, Config{}).Split(parse(t, `{"records":[{"id":"r","items":[],`+c.record+`}]}`), harbour, "T",
			noon,
			employees{"e-1234": " Jonathan A. ", "blank": " \t"})
		assert.Equal(t, r.Request.Drafts[0].Ticket.Server, c.want, c.record)
	}
}

func TestTicketsOfAVenueWithoutATimeZoneHaveTheDirectorysZone(t *testing.T) {
	for _, c := range []struct {
		zone, id string
		names    Names
		want     string
	}{
		{harbour.Zone, harbour.ID, employees{}, harbour.Zone},
		{"", strings.ToUpper(harbour.ID), employees{}, "Europe/Lisbon"},
		{"", harbour.ID, nil, ""}, {"", "00000000-0000-0000-0000-000000000001", employees{}, ""},
	} {
		r := compile(t, Config{}).Split(parse(t, `{"records":[{"id":"r","items":[]}]}`), Venue{ID: c.id, Zone: c.zone},
			"T", noon, c.names)
		assert.Equal(t, r.Request.Drafts[0].Ticket.Zone, c.want, c)
	}
}
