package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestARecordWithARepeatedKeyIsUnreadableAndShownAsReceived(t *testing.T) {
	const fine = `{"id":"b","items":[{"name":"Soup"}]}`
	for record, id := range map[string]string{
		`{"id":"a","items":[{"n":1}],"items":[{"n":2}]}`:                                      "a",
		`{"id":"a","items":[{"n":1}],"items":null}`:                                           "a",
		`{"id":"a","items":[{"childItems":[{"n":2}],"childItems":[{"n":3}]}]}`:                "a",
		`{"id":"a","items":[{"isVoid":true,"isVoid":false}]}`:                                 "a",
		`{"id":"a","items":[],"x":{"y":[{"c":1,"c":1}]}}`:                                     "a",
		`{"id":"a","items":"no array","items":7,"items":[]}`:                                  "a",
		`{"id":"a","id":"a","items":[]}`:                                                      "a",
		`{"id":"z","id":"y","id":"x","items":[]}`:                                             "z y x",
		`{"id":"x","id":"a","items":[]}`:                                                      "x a",
		`{"id":"a","id":7,"id":" ","items":[]}`:                                               "a",
		`{"id":"` + strings.ToUpper(aUUID) + `","id":"` + aUUID + `","items":[]}`:             aUUID,
		`{"id":"a","items":[],"` + "\xff" + `":1,"` + "\xfe" + `":2,"name":"` + "\xff" + `"}`: "a",
	} {
		spaced := strings.Replace(record, ",", " ,\n\t", 1)
		got, err := Open([]byte(`{"x":[1,2],"records": [`+spaced+" , "+fine+`]}`), Lenient)
		if err != nil || got.ID != id || !slices.Contains(got.Anomalies, DuplicateKey) ||
			slices.Contains(got.Anomalies, RetryCount) {
			t.Errorf("%s: id %q, %v, %v", record, got.ID, got.Anomalies, err)
			continue
		}
		if first := got.Records[0]; first.Unreadable != strings.ToValidUTF8(record, "\uFFFD") || first.Items != nil ||
			first.ID != id {
			t.Errorf("%s: %+v", record, first)
		}
		if second := got.Records[1]; second.Unreadable != "" || len(second.Items) != 1 {
			t.Errorf("%s spoils the record after it: %+v", record, second)
		}
	}
}

func TestARepeatedKeyOfTheEnvelopeLeavesTheRecordsReadable(t *testing.T) {
	p, err := Open([]byte(`{"x":{"y":1,"y":2},"z":1,"records":[{"id":"a","items":[{}]}],"z":2}`), Lenient)
	if err != nil || p.ID != "a" || len(p.Records[0].Items) != 1 || p.Records[0].Unreadable != "" ||
		!slices.Contains(p.Anomalies, DuplicateKey) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestRepeatedRecordsAreOneUnreadableRecord(t *testing.T) {
	for body, id := range map[string]string{
		`{"records":[{"id":"a","items":[]}],"records":[{"id":"b","items":[]}]}`:                            "a b",
		`{"records":[{"id":"a","items":[]},{"id":"c"}],"status":"SUCCESS","records":null,"records":["x"]}`: "a",
		`{"records":{},"records":[{"id":"b","id":"c","items":[]}]}`:                                        "b c",
	} {
		p, err := Open([]byte(body), Lenient)
		if err != nil || p.ID != id || len(p.Records) != 1 || p.Records[0].Unreadable != body || p.Records[0].ID != id {
			t.Errorf("%s: %+v, %v", body, p, err)
		}
	}
}

func TestARepeatedKeyThatLeavesNoIDIsAMismatch(t *testing.T) {
	half := strings.Repeat("i", 120)
	for body, want := range map[string]string{
		`{"records":[{"id":" ","id":null,"items":[]}]}`: "records[0].id: " +
			"want a string, got several values",
		`{"records":[{"id":"` + half + `","id":"x` + half + `"}]}`: "records[0].id: " +
			"242 bytes long, want at most 200",
		`{"records":[{"items":[],"items":[]}]}`: "records[0].id: missing",
		`{"records":[],"records":[{"items":[]}]}`: "records: " +
			"given more than once, and none has a records[0].id",
		`{"records":[{"id":"a","items":[]},"x"],"records":"x","a":1}`:  "",
		`{"records":[{"id":"a","items":[],"items":[]},{"items":"x"}]}`: "records[1].items: want an array, got a string",
	} {
		_, err := Open([]byte(body), Lenient)
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	_, err := Open([]byte(`{"records":[{"id":"`+aUUID+`","id":"b","items":[]}]}`), Strict)
	if got := fmt.Sprint(err); got != "records[0].id: want a UUID" {
		t.Errorf("strict: %s", got)
	}
}
