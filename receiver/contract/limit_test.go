package contract

import (
	"errors"
	"strings"
	"testing"
)

func TestARequestHasAtMostTenThousandItems(t *testing.T) {
	items := func(n int) string { return strings.TrimSuffix(strings.Repeat("{},", n), ",") }
	for _, c := range []struct{ records, want string }{
		{`{"id":"a","items":[` + items(1000) + `]}`, ""},
		{`{"id":"a","items":[` + items(10_000) + `]}`, ""},
		{`{"id":"a","items":[` + items(10_001) + `]}`, "records[0].items: more than 10000 items in the request"},
		{`{"id":"a","items":[` + items(5000) + `]},{"items":[` + items(5000) + `]}`, ""},
		{
			`{"id":"a","items":[` + items(5000) + `]},{"items":[` + items(5001) + `]}`,
			"records[1].items: more than 10000 items in the request",
		},
		{`{"id":"a","items":[{},{"childItems":[{"childItems":[` + items(9997) + `]}]}]}`, ""},
		{
			`{"id":"a","items":[{},{"childItems":[{"childItems":[` + items(9998) + `]}]}]}`,
			"records[0].items[1].childItems[0].childItems: more than 10000 items in the request",
		},
		{
			`{"id":"a","items":[{"childItems":[` + items(9000) + `]},{"childItems":[` + items(9000) + `]}]}`,
			"records[0].items[1].childItems: more than 10000 items in the request",
		},
		{`{"id":"a","items":[]}` + strings.Repeat(`,{"items":[]}`, 9999), ""},
		{
			`{"id":"a","items":[]}` + strings.Repeat(`,{"items":[]}`, 10_000),
			"records: more than 10000 records in the request",
		},
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
