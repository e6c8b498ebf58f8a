package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// samples are durations of the same thing.
type samples []time.Duration

// quantile returns the smallest sample that a share p of all does not exceed, 0 < p <= 1.
// It never makes up a value between two samples. Without samples it is 0.
func (s samples) quantile(p float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[rank(len(sorted), p)]
}

func (s samples) p50() time.Duration { return s.quantile(0.50) }
func (s samples) p99() time.Duration { return s.quantile(0.99) }

// rank is the place of a quantile among n sorted values.
func rank(n int, p float64) int {
	// The product is a little more than whole sometimes: 0.07 · 100.
	i := int(math.Ceil(p*float64(n)-1e-9)) - 1
	return min(max(i, 0), n-1)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(v))
	return sorted[rank(len(sorted), 0.5)]
}

// ms writes a duration as milliseconds with three digits that count.
func ms(d time.Duration) string {
	v := millis(d)
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f ms", v)
	case v >= 10:
		return fmt.Sprintf("%.1f ms", v)
	}
	return fmt.Sprintf("%.2f ms", v)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func over(a, b time.Duration) float64 { return float64(a) / float64(b) }
