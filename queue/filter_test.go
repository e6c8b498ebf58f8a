package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFilterNeverDeniesAKeyItWasGiven(t *testing.T) {
	for _, n := range []int{0, 1, 7, 6000} {
		f := newFilter(n)
		for i := range n {
			f.add(keyOf("venue", fmt.Sprint(i)))
		}
		for i := range n {
			if !f.has(keyOf("venue", fmt.Sprint(i))) {
				t.Fatalf("key %d of %d is denied", i, n)
			}
		}
		vain := 0
		for i := range 10_000 {
			if f.has(keyOf("another", fmt.Sprint(i))) {
				vain++
			}
		}
		if vain > 100 { // one in two thousand is what the size is made for
			t.Errorf("with %d keys %d of 10000 strangers are looked for in vain", n, vain)
		}
	}
}

// A filter that misses a key prints an order twice, so this walks through many hours with
// keys of every age, restarts and conflicts among them.
func TestAKeyIsKnownAsLongAsItsGenerationIsOpenClosedOrReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := start(t, func(o *Options) { o.DedupRetention = 30 * time.Hour })
		defer k.stop()
		for hour := range 29 {
			for n := range 3 {
				k.accept(order(fmt.Sprint(hour, "-", n), "grill"))
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			for old := range hour + 1 {
				if got := k.accept(order(fmt.Sprint(old, "-", old%3), "grill")); !got.Duplicate {
					t.Fatalf("in hour %d the key of hour %d is forgotten", hour+1, old)
				}
			}
			if hour%7 == 3 {
				if got := k.accept(cancelled(order(fmt.Sprint(hour, "-1"), "grill"))); !got.Conflict {
					t.Fatalf("in hour %d a conflict with hour %d is not seen", hour+1, hour)
				}
				k.again()
			}
		}
		closed := 0
		for n := range *k.filters.Load() {
			if n >= k.openGeneration.Load() {
				t.Errorf("generation %d has a filter and may still be filed under", n)
			}
			closed++
		}
		if closed < 20 {
			t.Errorf("only %d generations have filters: the test proved less than it says", closed)
		}
	})
}
