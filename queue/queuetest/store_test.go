package queuetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
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
			err := s.Put(ctx, "k", []byte("new"))
			assert.True(t, errors.Is(err, c.err) && s.Value("k") == c.value, c.fault, err, s.Value("k"))
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
	assert.True(t, errors.Is(err, ErrStorage) && errors.Is(all, ErrStorage), err, all)
}
