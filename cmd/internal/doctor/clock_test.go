package doctor

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"

	"ticketrail/deploy/slow"
)

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

func TestAnAnswerIsAskedForAgainAfterAMinute(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "none"))
	file := filepath.Join(t.TempDir(), "synchronized")
	synctest.Test(t, func(t *testing.T) {
		s := timedateService{file: file}
		if s.synchronized() {
			t.Fatal("synchronized")
		}
		writeFile(t, file, "")
		time.Sleep(59 * time.Second)
		if s.synchronized() {
			t.Error("asked again within a minute")
		}
		time.Sleep(time.Second)
		if s.synchronized() {
			t.Error("it waits for the answer")
		}
		synctest.Wait()
		if !s.synchronized() {
			t.Error("never asked again")
		}
		if first := (timedateService{file: file}); !first.synchronized() {
			t.Error("it does not wait for the first answer")
		}
	})
}

// startTimedated starts a bus with a timedated that gives an answer, and makes it the system bus.
func startTimedated(t *testing.T) (set func(bool)) {
	t.Helper()
	slow.Test(t, "dbus-daemon")
	cmd := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address=1",
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
