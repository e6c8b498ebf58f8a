package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARequestHasTenThousandItemsAndNoMore(t *testing.T) {
	items := func(n int) string { return strings.TrimSuffix(strings.Repeat("{},", n), ",") }
	for _, c := range []struct{ records, want string }{
		{`{"id":"a","items":[` + items(1000) + `]}`, ""},
		{`{"id":"a","items":[` + items(10_000) + `]}`, ""},
		{`{"id":"a","items":[` + items(10_001) + `]}`, "records[0].items: more than 10000 items in the request"},
		{`{"id":"a","items":[` + items(5000) + `]},{"items":[` + items(5000) + `]}`, ""},
		{`{"id":"a","items":[` + items(5000) + `]},{"items":[` + items(5001) + `]}`, "records[1].items: more than 10000 items in the request"},
		{`{"id":"a","items":[{},{"childItems":[{"childItems":[` + items(9997) + `]}]}]}`, ""},
		{`{"id":"a","items":[{},{"childItems":[{"childItems":[` + items(9998) + `]}]}]}`, "records[0].items[1].childItems[0].childItems: more than 10000 items in the request"},
		{`{"id":"a","items":[{"childItems":[` + items(9000) + `]},{"childItems":[` + items(9000) + `]}]}`, "records[0].items[1].childItems: more than 10000 items in the request"},
		{`{"id":"a","items":[]}` + strings.Repeat(`,{"items":[]}`, 9999), ""},
		{`{"id":"a","items":[]}` + strings.Repeat(`,{"items":[]}`, 10_000), "records: more than 10000 records in the request"},
	} {
		got := ""
		if _, err := Open([]byte(`{"records":[`+c.records+`]}`), Lenient); err != nil {
			got = err.Error()
			if _, ok := errors.AsType[*Mismatch](err); !ok {
				t.Errorf("%.60s: %T", c.records, err)
			}
		}
		if got != c.want {
			t.Errorf("%.60s: %q, want %q", c.records, got, c.want)
		}
	}
}

func TestWhatWasOrderedUnderARepeatedKeyIsNotLost(t *testing.T) {
	for body, want := range map[string]string{
		`{"records":[{"id":"a","items":[{"n":1}],"items":[{"n":2}]}]}`:                                      `{"records":[{"id":"a","items":[{"n":1},{"n":2}]}]}`,
		`{"records":[{"id":"a","items":[{"n":1}],"items":[],"items":[{"n":2}]}]}`:                           `{"records":[{"id":"a","items":[{"n":1},{"n":2}]}]}`,
		`{"records":[{"id":"a","items":[{"n":1}],"\u0069tems":null}]}`:                                      `{"records":[{"id":"a","items":[{"n":1}]}]}`,
		`{"records":[{"id":"a","items":[{"n":1,"childItems":[{"n":2}],"childItems":[{"n":3}]}]}]}`:          `{"records":[{"id":"a","items":[{"n":1,"childItems":[{"n":2},{"n":3}]}]}]}`,
		`{"records":[{"id":"a","items":[{"n":1,"childItems":[{"n":2}],"childItems":null}]}]}`:               `{"records":[{"id":"a","items":[{"n":1,"childItems":[{"n":2}]}]}]}`,
		`{"records":[{"id":"a","items":[{"n":1}]}],"x":1,"records":[{"id":"b","items":[{"n":2}]}],"x":"é"}`: `{"records":[{"id":"a","items":[{"n":1}]},{"id":"b","items":[{"n":2}]}],"x":"é"}`,
		`{"records":[{"id":"a","items":[{"name":"Pie","name":"Ale","note":["x"],"note":["y"]}]}]}`:          `{"records":[{"id":"a","items":[{"name":"Ale","note":["y"]}]}]}`,
		`{"records":[{"id":"a","items":[{"isVoid":true,"isVoid":false,"void":false,"void":1}]}]}`:           `{"records":[{"id":"a","items":[{"isVoid":true,"void":1}]}]}`,
		`{"records":[{"id":"a","items":[{"voided":"yes","voided":" No ","void":1.0,"void":0.0}]}]}`:         `{"records":[{"id":"a","items":[{"voided":"yes","void":1.0}]}]}`,
		`{"records":[{"id":"a","items":[],"isVoid":{"v":1},"isVoid":null,"void":null,"void":"x"}]}`:         `{"records":[{"id":"a","items":[],"isVoid":{"v":1},"void":"x"}]}`,
		`{"records":[{"id":"a","items":[],"isVoid":{"v":1},"isVoid":true,"void":[],"void":"0"}]}`:           `{"records":[{"id":"a","items":[],"isVoid":true,"void":[]}]}`,
	} {
		got, err := Open([]byte(body), Lenient)
		if err != nil || len(got.Anomalies) == 0 || got.Anomalies[len(got.Anomalies)-1] != DuplicateKey {
			t.Errorf("%s: %v, %v", body, got.Anomalies, err)
			continue
		}
		plain, err := Open([]byte(want), Lenient)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(plain.Records, got.Records); d != "" {
			t.Errorf("%s:\n%s", body, d)
		}
	}
	_, err := Open([]byte(`{"records":[{"id":"a","items":[{}],"items":"x"}]}`), Lenient)
	if got := fmt.Sprint(err); got != "records[0].items: want an array, got a string" {
		t.Error(got)
	}
	half := strings.Repeat("{},", 5000) + "{}"
	_, err = Open([]byte(`{"records":[{"id":"a","items":[`+half+`],"items":[`+half+`]}]}`), Lenient)
	if got := fmt.Sprint(err); got != "records[0].items: more than 10000 items in the request" {
		t.Error(got)
	}
}
