package station

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer"
	"ticketrail/printer/transport"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

// TestAPrinterThatDHCPMovedGetsItsTickets runs in a process with a network of its own, because the neighbour table
// belongs to a process.
func TestAPrinterThatDHCPMovedGetsItsTickets(t *testing.T) {
	const inside = "TICKETRAIL_TEST_NETWORK"
	if os.Getenv(inside) != "" {
		moveAPrinter(t)
		return
	}
	slow.Test(t, "root", "unshare", "ip")
	unshare := []string{"--net", "--mount", "sh", "-c"}
	cmd := exec.Command("unshare", append(unshare, // sysfs, as mounted, names the interfaces
		`mount -t sysfs sysfs /sys && exec "$0" "$@"`, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")...)
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	assert.True(t, err == nil && bytes.Contains(out, []byte("--- PASS: "+t.Name())), err)
}

func moveAPrinter(t *testing.T) {
	const home, away = "192.168.77.50", "192.168.77.177"
	for _, line := range []string{
		"ip link set lo up", "ip link add br0 type bridge", "ip link set br0 up", "ip addr add 192.168.77.1/24 dev br0",
		"ip link add br1 type bridge", "ip link set br1 up", "ip addr add 10.9.0.1/16 dev br1", // too large
		// A tunnel to another site.
		"ip tuntap add tun0 mode tun", "ip link set tun0 up", "ip route add 192.168.78.0/24 dev tun0",
		"ip route add 192.168.79.0/24 via 192.168.77.9",
	} {
		command(t, line)
	}
	own, err := transport.OwnNetworks(nil)
	got := fmt.Sprint(own.Asked, own.Large)
	assert.True(t, err == nil && got == "[192.168.77.0/24] [10.9.0.0/16]", "the box has the networks", got, err)
	grill, till := newHost(t, "grill", grillMAC), newHost(t, "till", otherMAC)
	grill.moveTo(home)

	conf := configOfEveryKind()
	p := &conf.Printers[0]
	p.Address, p.MAC, p.ConnectTimeout = "tcp://"+home, grillMAC, time.Second
	p.Linger = 0 // a printer that serves one client and has a new address would not notice that the old one is gone
	s, _ := openSet(t, conf)
	// Print is repeated as the dispatcher repeats it.
	printOne := func() {
		t.Helper()
		d := ticket.Delivery{Station: "grill", Attempt: 1, Ticket: ticket.Ticket{Kind: ticket.Test, Number: "TEST"}}
		begin := func(context.Context) error { return nil }
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		for {
			proof, err := s.active.Load().stations["grill"].Lane().Station.Print(ctx, d, begin)
			if err == nil {
				assert.Equal(t, proof, ticket.Confirmed)
				return
			}
			t.Log(err)
			select {
			case <-time.After(500 * time.Millisecond):
			case <-ctx.Done():
				t.Fatal("the ticket did not print")
			}
		}
	}
	state := func() finding.Station {
		for _, l := range s.List() {
			if l.Name == "grill" {
				return l
			}
		}
		return finding.Station{}
	}
	printOne()
	d := state()
	assert.True(t, d.Device.Moved == "" && d.MovedAdvice == "", d)
	grill.moveTo(away)
	till.moveTo(home)
	command(t, "ip neigh flush dev br0") // by itself the kernel sees after ten seconds that the entry is old
	check := askPrinter(t.Context(), conf.Printers[0])
	want := "tcp://" + home + ":9100 has the MAC address " + otherMAC + " and not " + grillMAC + ": another device " +
		"has this address; is the printer on? if it was replaced, correct its mac"
	assert.True(t, check.State == printer.Unreachable && check.Err == want, check, want)
	printOne()
	printOne() // at once, now that it is known
	d = state()
	moved := "was found at tcp://" + away + ":9100, not at tcp://" + home + ":9100"
	assert.True(t, d.Device.Moved == moved && strings.Contains(d.MovedAdvice, "router"), d)
	a, b := grill.printer.TicketCount(), till.printer.TicketCount()
	assert.True(t, a == 3 && b == 0, a, b)
	conf.Printers[0].MAC = "" // without it, the till prints the ticket
	built, err := s.Build(&config.Config{Printers: conf.Printers, Fallback: "grill"})
	assert.NoError(t, err)
	s.Swap(built)
	printOne()
	assert.Equal(t, till.printer.TicketCount(), 1, "without mac")
}

// command runs a command in the network namespace of the calling thread.
func command(t *testing.T, line string) {
	t.Helper()
	args := strings.Fields(line)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	assert.True(t, err == nil, line, err, string(out))
}

// A lanHost is a network namespace with one interface, at the bridge of the box, and a printer on port 9100.
type lanHost struct {
	t       *testing.T
	do      chan func() // runs in the namespace
	left    chan bool   // closed when its thread has left the network of the box
	printer *virtual.Printer
}

func newHost(t *testing.T, name, mac string) *lanHost {
	h := &lanHost{t: t, do: make(chan func()), left: make(chan bool)}
	h.printer = virtual.New(virtual.Options{Name: name, Can: virtual.Everything})
	thread := make(chan int)
	var ended sync.WaitGroup
	var start func()
	start = func() {
		runtime.LockOSThread()            // not unlocked later: the thread and its namespace end with the goroutine
		if unix.Gettid() == os.Getpid() { // /proc/net belongs to this thread, so it stays in the box
			ended.Go(start)
			<-h.left
			runtime.UnlockOSThread()
			return
		}
		err := unix.Unshare(unix.CLONE_NEWNET)
		assert.True(t, err == nil, err)
		thread <- unix.Gettid()
		close(h.left)
		for f := range h.do {
			f()
		}
	}
	ended.Go(start)
	command(t, fmt.Sprintf("ip link add %s type veth peer name eth0 netns /proc/%d/task/%d/ns/net address %s",
		name, os.Getpid(), <-thread, mac))
	command(t, "ip link set "+name+" master br0 up")
	ctx, cancel := context.WithCancel(context.Background())
	h.run(func() {
		command(t, "ip link set eth0 up")
		l, err := net.Listen("tcp4", ":9100")
		if err != nil {
			t.Error(err)
			return
		}
		ended.Go(func() { h.printer.Serve(ctx, l) })
	})
	t.Cleanup(func() { cancel(); close(h.do); ended.Wait() })
	return h
}

// run runs f in the host's namespace and waits for it.
func (h *lanHost) run(f func()) {
	done := make(chan bool)
	h.do <- func() { f(); close(done) }
	<-done
}

func (h *lanHost) moveTo(address string) {
	h.t.Helper()
	h.run(func() {
		command(h.t, "ip -4 addr flush dev eth0")
		if address != "" {
			command(h.t, "ip addr add "+address+"/24 dev eth0")
		}
	})
}
