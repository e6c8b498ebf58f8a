package contract

import (
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestRecordsWithARepeatedKeyAreUnreadableAndShownAsReceived(t *testing.T) {
	long := strings.Repeat("x", 2*maxText)
	for _, c := range [][2]string{
		{`{"id":"a","items":[{"n":1}],"items":[{"n":2}]}`, "a"},
		{`{"id":"a","items":[{"childItems":[{"n":2}],"childItems":[{"n":3}]}]}`, "a"},
		{`{"id":"a","items":[],"x":{"y":[{"c":1,"c":1}]}}`, "a"},
		{`{"id":"a","items":"no array","items":7,"items":[]}`, "a"}, {`{"id":"x","id":"a","items":[]}`, "x"},
		{`{"id":" ","id":null,"items":[]}`, "text-"}, {`{"items":[],"items":[]}`, "text-"},
		{`{"id":"` + strings.ToUpper(aUUID) + `","items":[],"items":[],"x":"` + long + `"}`, aUUID},
		{`{"id":"a","items":[],"` + "\xff" + `":1,"` + "\xfe" + `":2,"name":"` + "\xff" + `"}`, "a"},
	} {
		record, id := c[0], c[1]
		spaced := strings.Replace(record, ",", " ,\n\t", 1)
		p, err := Open([]byte(`{"x":[1,2],"records": [`+spaced+` , {"id":"b"}]}`), Strict)
		if err != nil || !strings.HasPrefix(p.ID, id) || !slices.Equal(p.Anomalies, []Anomaly{DuplicateKey}) {
			t.Errorf("%s: id %q, %v, %v", record, p.ID, p.Anomalies, err)
			continue
		}
		want := `[` + strings.ToValidUTF8(record, "\uFFFD") + `,{"id":"b"}]`
		got := p.Records
		assert.True(t, len(got) == 1 && got[0].Unreadable == want && got[0].ID == p.ID && !p.Cut, record, got)
	}
}

func TestARepeatedKeyOfTheEnvelopeLeavesTheRecordsReadable(t *testing.T) {
	p, err := Open([]byte(`{"x":{"y":1,"y":2},"z":1,"records":[{"id":"a","items":[{}]}],"z":2}`), Lenient)
	assert.True(t, err == nil && p.ID == "a" && len(p.Records[0].Items) == 1 && p.Records[0].Unreadable == "" &&
		slices.Contains(p.Anomalies, DuplicateKey), p, err)
}

func TestRepeatedRecordsAreOneUnreadableRecord(t *testing.T) {
	for body, id := range map[string]string{
		`{"records":[{"id":"a","items":[]}],"records":[{"id":"b","items":[]}]}`: "a",
		`{"records":{},"records":[{"id":"b","items":[]}]}`:                      "text-",
	} {
		p, err := Open([]byte(body), Lenient)
		assert.True(t, err == nil && strings.HasPrefix(p.ID, id) && len(p.Records) == 1 &&
			p.Records[0].Unreadable == body, body, p, err)
	}
}

func TestTheRecordOfATicketIsFoundByItsID(t *testing.T) {
	const two = `{"records":[{"id":"a","n":1},"x",{"id":"6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11","n":2}]}`
	for _, c := range []struct{ body, id, want string }{
		{`{"records":[{"n":1}]}`, "", `{"n":1}`},
		{`{"records":[{"id":"b"}]}`, "a", `{"id":"b"}`}, // the only record, whatever its id
		{two, "a", `{"id":"a","n":1}`},
		{two, "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", `{"id":"6F1C8F5E-52AD-4A0B-9E9B-2F7B7B7F3A11","n":2}`},
		{two, "", ""},
		{"{\"records\":[{\"id\":\"\xff\",\"n\":1},{\"id\":\"\xfe\",\"n\":2}]}", `"\xfe"`, "{\"id\":\"\xfe\",\"n\":2}"},
		{two, "c", ""}, {`{}`, "a", ""}, {``, "a", ""}, {`{"records":[{}]}`, "a", `{}`},
	} {
		got, err := RawRecord([]byte(c.body), c.id)
		assert.True(t, string(got) == c.want && (err == nil) == (c.want != ""), c.id, c.body, string(got), err)
	}
}
