package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
)

// TestOnlyProofOfDamageCountsAsDamage, because quarantining a good database loses its orders.
func TestOnlyProofOfDamageCountsAsDamage(t *testing.T) {
	for _, c := range []struct {
		child   child
		damaged bool
	}{
		{child{Out: "the file is sound\n"}, false},
		{child{Signal: syscall.SIGTERM}, false},
		{child{Signal: syscall.SIGKILL}, false},
		{child{Signal: syscall.SIGHUP}, false},
		{child{Err: "fatal error: runtime: out of memory\n", Exit: 2}, false},
		{child{Err: "ticketrail: db has no such flag\n", Exit: 2}, false},
		{child{Out: UncheckedPrefix + "another ticketrail process has it open\n", Exit: 1}, false},
		{child{Signal: syscall.SIGBUS}, true},
		{child{Signal: syscall.SIGSEGV}, true},
		{child{Out: DamagedLine + "\n", Err: "ticketrail: page 7 is unreachable\n", Exit: 1}, true},
		{child{Err: "panic: page 5: invalid freelist\n", Exit: 2}, true},
		{child{Err: "unexpected fault address 0x7f\nfatal error: fault\n", Exit: 2}, true},
	} {
		does, err := json.Marshal(c.child)
		assert.NoError(t, err)
		t.Setenv(childDoes, string(does))
		err = CheckInChild(os.Args[0])(t.Context(), "t.db")
		assert.Equal(t, errors.Is(err, queue.ErrDamaged), c.damaged, c.child, err)
		assert.True(t, (c.child.Exit == 0 && c.child.Signal == 0) == (err == nil), c.child, err)
	}
}

func TestAStoppedCheckReturnsTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	err := CheckInChild(filepath.Join(t.TempDir(), "none"))(ctx, "t.db")
	assert.True(t, errors.Is(err, stopped), err)
}
