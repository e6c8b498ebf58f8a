package plan

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ticketrail/receiver/contract"
)

func TestTheTimeThatABodyTakesGrowsNoFasterThanItsSize(t *testing.T) {
	const n = 80_000
	many := func(format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "%d", strconv.Itoa(i)) + ",")
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	nested := func(open, inside, end string, n int) string {
		return strings.Repeat(open, n) + inside + strings.Repeat(end, n)
	}
	p := compile(t, Config{Silenced: []string{"records.items.x.y"},
		Fields: map[string][]string{"removed": {"gone"}, "allergens": {"a"}, "children": {"parts"},
			"seat": {"x.seat"}}})
	for name, item := range map[string]string{
		"notes":          `"note":[` + many(`"n%d"`) + `]`,
		"texts":          `"tags":[` + many(`"n%d"`) + `]`,
		"fields":         many(`"k%d":"v%d"`),
		"flags":          many(`"no k%d":true`),
		"notes, fields":  `"note":[` + many(`"n%d"`) + `],` + many(`"k%d":"v%d"`),
		"objects":        `"tags":[` + many(`{"k":"n%d","l":1}`) + `]`,
		"children":       `"parts":[` + many(`{"a":"n%d"}`) + `]`,
		"allergens":      `"a":[` + many(`{"k":"n%d"}`) + `]`,
		"lists in lists": `"x":` + nested(`[`, many(`null`)+`,1`, `]`, 4000),
		"nested objects": `"x":` + nested(`{"x":`, `[`+many(`null`)+`,1]`, `}`, 4000),
		"nested lists":   `"x":` + nested(`[{"x":`, `[`+many(`null`)+`,1]`, `}]`, 2000),
		"a long key":     `"` + strings.Repeat("x", 300_000) + `":{` + many(`"k%d":1`) + `}`,
		"keys twice":     many(`"id":"n%d"`),
	} {
		body := []byte(`{"records":[{"id":"r","items":[{"name":"Pie",` + item + `}]}]}`)
		start := processorTime(t)
		req, err := contract.Open(body, contract.Lenient)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.Split(req, harbour, "T1", noon, nil)
		p.Leaves(req)
		if took := processorTime(t) - start; took > 3*time.Second {
			t.Errorf("%s: %v for %d bytes, %v", name, took, len(body), err)
		}
	}
}

// processorTime is what this process has used so far, whatever else the machine does.
func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano())
}
