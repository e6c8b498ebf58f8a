package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
)

const (
	venueID      = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	clientSecret = "s3cr3t-of-the-integrator"
)

// TestMain lets this program be the other programs that the doctor starts.
func TestMain(m *testing.M) {
	// A program built with -race sleeps for a second before it ends; the systemctl of these tests ends all the time.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if filepath.Base(os.Args[0]) == "systemctl" {
		fmt.Println(os.Getenv(systemctlSays))
		return
	}
	if does := os.Getenv(childDoes); does != "" {
		runChild(does)
	}
	os.Exit(m.Run())
}

const (
	systemctlSays = "TICKETRAIL_TEST_SYSTEMCTL"
	childDoes     = "TICKETRAIL_TEST_CHILD" // a child as JSON
)

// A child is the output of a process that checks the database, and how it ends.
type child struct {
	Out, Err string
	Exit     int
	Signal   syscall.Signal
}

// runChild ends this process as a child does. A signal has its default action, whatever the Go runtime, or nohup, has
// made of it.
func runChild(does string) {
	var c child
	if err := json.Unmarshal([]byte(does), &c); err != nil {
		panic(err)
	}
	fmt.Fprint(os.Stdout, c.Out)
	fmt.Fprint(os.Stderr, c.Err)
	if c.Signal != 0 {
		var byDefault [4]uintptr
		const size = 8 // of the kernel's set of signals
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(c.Signal),
			uintptr(unsafe.Pointer(&byDefault)), 0, size, 0, 0)
		_ = syscall.Kill(os.Getpid(), c.Signal)
		select {} // until it arrives
	}
	os.Exit(c.Exit)
}

// onSocket is the address of a virtual printer that listens until the test ends, and must print nothing.
func onSocket(t *testing.T, o virtual.Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	p := virtual.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { p.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		assert.Equal(t, p.TicketCount(), 0, "printed tickets", o.Name)
	})
	return l.Addr().String()
}

// answering listens until the test ends, and gives every client to serve.
func answering(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			clients.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); clients.Wait() })
	return l.Addr().String()
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	assert.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}
