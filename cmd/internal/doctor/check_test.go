package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/queue"
)

// Quarantining a good database loses its orders, so only proof of damage may count as damage.
func TestOnlyProofOfDamageCountsAsDamage(t *testing.T) {
	for _, c := range []struct {
		child   string
		damaged bool
	}{
		{"echo the file is sound", false},
		{"kill -TERM $$", false},
		{"kill -KILL $$", false},
		{"kill -HUP $$", false},
		{"echo 'fatal error: runtime: out of memory' >&2; exit 2", false},
		{"echo 'ticketrail: db has no such flag' >&2; exit 2", false},
		{"echo 'unchecked: another ticketrail process has it open'; exit 1", false},
		{"kill -BUS $$", true},
		{"kill -SEGV $$", true},
		{"echo damaged; echo 'ticketrail: page 7 is unreachable' >&2; exit 1", true},
		{"echo 'panic: page 5: invalid freelist' >&2; exit 2", true},
		{"printf 'unexpected fault address 0x7f\\nfatal error: fault\\n' >&2; exit 2", true},
	} {
		exe := filepath.Join(t.TempDir(), "child")
		if err := os.WriteFile(exe, []byte("#!/bin/sh\n"+c.child+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		err := CheckInChild(exe)(t.Context(), "t.db")
		if got := errors.Is(err, queue.ErrDamaged); got != c.damaged {
			t.Errorf("%s: damaged=%v (%v), want %v", c.child, got, err, c.damaged)
		}
		if strings.Contains(c.child, "sound") != (err == nil) {
			t.Errorf("%s: %v", c.child, err)
		}
	}
}

func TestAStoppedCheckReturnsTheCause(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "child")
	if err := os.WriteFile(exe, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if err := CheckInChild(exe)(ctx, "t.db"); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}
