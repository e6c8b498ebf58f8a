package plan

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
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

// TestTheMemoryThatABodyTakesGrowsNoFasterThanItsSize: the time is measured by BenchmarkHostileBodies, because no test
// depends on what else the machine does.
func TestTheMemoryThatABodyTakesGrowsNoFasterThanItsSize(t *testing.T) {
	p, large := hostilePlan(t), hostileItems(16_000)
	for name, small := range hostileItems(4000) {
		few, many := allocated(t, p, small), allocated(t, p, large[name])
		if many > 8*few {
			t.Errorf("%s: %d bytes for %d values, and %d for four times as many", name, few, 4000, many)
		}
	}
}

// BenchmarkHostileBodies reports how much longer a body takes than one of a quarter of its values: 4 is right, 16 is
// the square.
func BenchmarkHostileBodies(b *testing.B) {
	p, large := hostilePlan(b), hostileItems(80_000)
	for name, small := range hostileItems(20_000) {
		b.Run(name, func(b *testing.B) {
			var few, many time.Duration
			for b.Loop() {
				start := time.Now()
				readHostile(b, p, small)
				few += time.Since(start)
				readHostile(b, p, large[name])
				many += time.Since(start)
			}
			b.ReportMetric(float64(many-few)/float64(few), "times")
		})
	}
}

func hostilePlan(t testing.TB) *Plan {
	return compile(t, Config{Silenced: []string{"records.items.x.y"},
		Fields: map[string][]string{"removed": {"gone"}, "allergens": {"a"}, "children": {"parts"},
			"seat": {"x.seat"}}})
}

func readHostile(t testing.TB, p *Plan, item string) {
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
