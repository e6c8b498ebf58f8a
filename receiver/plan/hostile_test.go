package plan

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

// hostileItems are members of items with n values that cost the most to read.
func hostileItems(n int) map[string]string {
	many := func(format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "%d", strconv.Itoa(i)) + ",")
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	nested := func(open, inside, end string, depth int) string {
		return strings.Repeat(open, depth) + inside + strings.Repeat(end, depth)
	}
	return map[string]string{
		"notes":          `"note":[` + many(`"n%d"`) + `]`,
		"texts":          `"tags":[` + many(`"n%d"`) + `]`,
		"fields":         many(`"k%d":"v%d"`),
		"flags":          many(`"no k%d":true`),
		"notes, fields":  `"note":[` + many(`"n%d"`) + `],` + many(`"k%d":"v%d"`),
		"objects":        `"tags":[` + many(`{"k":"n%d","l":1}`) + `]`,
		"children":       `"parts":[` + many(`{"a":"n%d"}`) + `]`,
		"allergens":      `"a":[` + many(`{"k":"n%d"}`) + `]`,
		"lists in lists": `"x":` + nested(`[`, many(`null`)+`,1`, `]`, n/20),
		"nested objects": `"x":` + nested(`{"x":`, `[`+many(`null`)+`,1]`, `}`, n/20),
		"nested lists":   `"x":` + nested(`[{"x":`, `[`+many(`null`)+`,1]`, `}]`, n/40),
		"a long key":     `"` + strings.Repeat("x", 4*n) + `":{` + many(`"k%d":1`) + `}`,
		"keys twice":     many(`"id":"n%d"`),
	}
}

func TestTheMemoryThatABodyTakesGrowsNoFasterThanItsSize(t *testing.T) {
	p, large := hostilePlan(t), hostileItems(16_000)
	for name, small := range hostileItems(4000) {
		few, many := allocated(t, p, small), allocated(t, p, large[name])
		assert.True(t, many <= 8*few, name, few, 4000, many)
	}
}

func hostilePlan(t *testing.T) *Plan {
	return compile(t, Config{Silenced: []string{"records.items.x.y"},
		Fields: map[string][]string{"removed": {"gone"}, "allergens": {"a"}, "children": {"parts"},
			"seat": {"x.seat"}}})
}

func readHostile(t *testing.T, p *Plan, item string) {
	req := parse(t, `{"records":[{"id":"r","items":[{"name":"Pie",`+item+`}]}]}`)
	p.Split(req, harbour, "T1", noon, nil)
	p.Leaves(req)
}

// allocated is how many bytes are allocated to read an item.
func allocated(t *testing.T, p *Plan, item string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readHostile(t, p, item)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
