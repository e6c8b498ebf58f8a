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

func TestAReasonIsShortHoweverDeepItsPlace(t *testing.T) {
	body := `{"records":[{"id":"a","items":` + strings.Repeat(`[{},{"childItems":`, MaxDepth) + `7` +
		strings.Repeat(`}]`, MaxDepth) + `}]}`
	_, err := Open([]byte(body), Lenient)
	if err == nil || len(err.Error()) > 250 || !strings.HasPrefix(err.Error(), "records[0].items[1].childItems[1].") ||
		!strings.HasSuffix(err.Error(), ".childItems[1].childItems: want an array, got a number") {
		t.Error(err)
	}
}

func TestABodyThatWouldTakeTooMuchMemoryIsRefusedUnread(t *testing.T) {
	const head, end = `{"records":[{"id":"a","items":[],"x":[`, `]}]}`
	for one, most := range map[string]int{`{}`: 57_000, `0`: 500_000, `[]`: 250_000, `"{[,\"{,"`: 400_000} {
		values := func(n int) []byte { return []byte(head + strings.Repeat(one+",", n-1) + one + end) }
		if _, err := Open(values(most), Lenient); err != nil {
			t.Errorf("%d of %s: %v", most, one, err)
		}
		m, ok := errors.AsType[*Mismatch](func() error { _, err := Open(values(2*most), Lenient); return err }())
		if !ok || !strings.HasPrefix(m.Error(), "records: so many values that reading them takes about ") {
			t.Errorf("%d of %s: %v", 2*most, one, m)
		}
	}
	// Not even its syntax is looked at.
	_, err := Open([]byte(strings.Repeat("{", 100_000)), Lenient)
	if _, ok := errors.AsType[*Mismatch](err); !ok {
		t.Error(err)
	}
}
