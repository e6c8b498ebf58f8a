package doctor

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// startTimedated starts a bus with a timedated that gives an answer, and makes it the system bus.
func startTimedated(t *testing.T) (set func(bool)) {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
			t.Fatal("no dbus-daemon: apt-get install dbus-daemon")
		}
		t.Skip("no dbus-daemon: apt-get install dbus-daemon")
	}
	cmd := exec.Command(program, "--session", "--nofork", "--print-address=1",
		"--address=unix:path="+filepath.Join(t.TempDir(), "bus"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", strings.TrimSpace(address))
	bus, err := dbus.ConnectSystemBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	all, err := prop.Export(bus, "/org/freedesktop/timedate1", prop.Map{"org.freedesktop.timedate1": {
		"NTPSynchronized": {Value: false, Emit: prop.EmitFalse}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bus.RequestName("org.freedesktop.timedate1", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return func(v bool) { all.SetMust("org.freedesktop.timedate1", "NTPSynchronized", v) }
}

func TestTimedatedSaysWhetherTheClockIsSynchronizedWhateverTheFileOfTimesyncd(t *testing.T) {
	set := startTimedated(t)
	file := filepath.Join(t.TempDir(), "synchronized")
	for _, withFile := range []bool{false, true} {
		for _, want := range []bool{true, false} {
			set(want)
			s := timedateService{file: file}
			if got := s.synchronized(); got != want {
				t.Errorf("timedated says %v, file %v: got %v", want, withFile, got)
			}
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnAnswerOfTimedatedIsAskedForAgainAfterAMinute(t *testing.T) {
	set := startTimedated(t)
	s := timedateService{}
	if s.synchronized() {
		t.Fatal("synchronized")
	}
	set(true)
	if s.synchronized() {
		t.Error("asked again at once")
	}
	s.mu.Lock()
	s.asked = time.Now().Add(-askEvery)
	s.mu.Unlock()
	s.synchronized()
	for deadline := time.Now().Add(time.Minute); !s.synchronized(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never asked again")
		}
	}
}

func TestWithoutABusTheFileOfTimesyncdCounts(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "none"))
	file := filepath.Join(t.TempDir(), "synchronized")
	if s := (timedateService{file: file}); s.synchronized() {
		t.Error("synchronized without a file")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := (timedateService{file: file}); !s.synchronized() {
		t.Error("not synchronized")
	}
}
