package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The receiver waits for Accept itself: that it returns is the service's answer in time.
func TestAHungDiskKeepsNobodyLongerThanItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.SetStations([]string{"grill"})
		resume := k.disk.hang()
		began := time.Now()
		for i, id := range []string{"a", "b"} { // the one that is being written, and one that waits for it
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			wantErr(t, errOf(k.Accept(ctx, order(id, "grill"))), context.DeadlineExceeded)
			cancel()
			if took, want := time.Since(began), time.Duration(i+1)*4*time.Second; took != want {
				t.Errorf("%s: after %s, want %s", id, took, want)
			}
		}
		resume()
		synctest.Wait()
		if r, err := k.Accept(bg, order("a", "grill")); err != nil || !r.Duplicate {
			t.Errorf("the retry of what was being written: %+v, %v", r, err)
		}
		if r, err := k.Accept(bg, order("b", "grill")); err != nil || r.Duplicate {
			t.Errorf("the retry of what was given up before: %+v, %v", r, err)
		}
	})
}

func TestWhoMakesRoomSeesWithinSecondsThatItWasEnough(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kitchen) {
		k.SetStations([]string{"grill"})
		k.disk.then(noSpace)
		k.refused(order("a", "grill"), ErrStorageFull)
		if err := k.Ready(); !errors.Is(err, ErrStorageFull) {
			t.Fatalf("ready: %v", err)
		}
		time.Sleep(lookFull)
		synctest.Wait()
		if err := k.Ready(); err != nil {
			t.Errorf("%v later: %v", lookFull, err)
		}
	})
}
