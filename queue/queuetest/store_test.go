package queuetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFaultFailsTheWriteAsItsNameSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			fault Fault
			err   error
			value string
		}{
			{None, nil, "new"},
			{Failed, ErrStorage, "old"},
			{FailedPersisted, ErrStorage, "new"},
			{Hangs, context.DeadlineExceeded, "old"},
		} {
			s := NewStore()
			s.Set("k", "old")
			s.Inject(c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := s.Put(ctx, "k", []byte("new")); !errors.Is(err, c.err) || s.Value("k") != c.value {
				t.Errorf("fault %d: %v, stored %q", c.fault, err, s.Value("k"))
			}
			cancel()
		}
	})
}

func TestAReadFaultFailsGetAndAll(t *testing.T) {
	s := NewStore()
	s.Set("k", "v")
	s.InjectRead(true)
	_, _, err := s.Get("k")
	all := s.All(func(string, []byte) bool { return true })
	if !errors.Is(err, ErrStorage) || !errors.Is(all, ErrStorage) {
		t.Errorf("Get: %v, All: %v", err, all)
	}
}
