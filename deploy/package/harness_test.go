package deploypackage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
)

// A box is Debian 12, booted with its own systemd in a container whose changes are forgotten.
type box struct {
	t      *testing.T
	leader string // the process id of its systemd
}

// bootTimeout bounds every wait. Reaching it is a failure, on any machine.
const bootTimeout = 5 * time.Minute

// boot boots a box that sees the folder files as /mnt. The system is made once, with debootstrap, and kept in
// the cache.
func boot(t *testing.T, files string) *box {
	t.Helper()
	cache, err := os.UserCacheDir()
	assert.NoError(t, err)
	root := filepath.Join(cache, "ticketrail", "debian-12")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		assert.NoError(t, os.MkdirAll(filepath.Dir(root), 0o755))
		half, err := os.MkdirTemp(filepath.Dir(root), "debian-12.new-") // another run may do the same
		assert.NoError(t, err)
		defer os.RemoveAll(half)
		if err := os.Chmod(half, 0o755); err != nil { // it becomes the root folder
			t.Fatal(err)
		}
		out, err := exec.Command(
			"debootstrap",
			"--variant=minbase",
			"--include=systemd,systemd-sysv,dbus,libnss-systemd,iproute2,curl,procps",
			"bookworm",
			half,
		).CombinedOutput()
		if err != nil {
			t.Fatalf("no Debian can be installed here: %v\n%s", err, out)
		}
		assert.NoError(t, os.Rename(half, root))
	}
	console := new(bytes.Buffer)
	c := exec.Command("systemd-nspawn", "--directory="+root, "--volatile=overlay", "--bind-ro="+files+":/mnt", "--boot",
		"--private-network", "--register=no", "--keep-unit", "--console=pipe", "--quiet")
	c.Stdout, c.Stderr = console, console
	c.WaitDelay = time.Second
	assert.NoError(t, c.Start())
	b := &box{t: t}
	t.Cleanup(func() {
		// The container's systemd outlives nspawn that is killed, and nspawn ends after its systemd.
		if leader, err := strconv.Atoi(b.leader); err == nil {
			syscall.Kill(leader, syscall.SIGKILL)
		} else {
			c.Process.Kill()
		}
		c.Wait()
		if t.Failed() {
			t.Logf("the console:\n%s", console)
		}
	})
	b.until("the container has a systemd", func() bool {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.Process.Pid))
		b.leader = strings.TrimSpace(string(children))
		if err != nil || b.leader == "" {
			return false
		}
		name, err := os.ReadFile("/proc/" + b.leader + "/comm")
		return err == nil && string(name) == "systemd\n"
	})
	b.until("the box has started", func() bool {
		out, _ := b.try("systemctl is-system-running --wait")
		return strings.Contains(out, "running") || strings.Contains(out, "degraded")
	})
	return b
}

// debs are the packages that deb has built, by version.
var debs = map[string][]byte{}

// deb is the package of a version, which is built once for all tests.
func deb(t *testing.T, version string) []byte {
	t.Helper()
	if debs[version] == nil {
		debs[version] = []byte(readText(t, built(t, version)))
	}
	return debs[version]
}

// bootWith boots a box that sees in /mnt, which is the folder files, two versions of the package, old.deb and new.deb,
// and a configuration. The programs that a test builds afterwards run without the libraries of this machine.
func bootWith(t *testing.T, config string) (b *box, files string) {
	t.Helper()
	slow.Test(t, "root", "go", "debootstrap", "systemd-nspawn", "nsenter")
	files = t.TempDir()
	err := os.Chmod(files, 0o755)
	assert.NoError(t, err)
	b = boot(t, files)
	for name, text := range map[string][]byte{
		"old.deb": deb(t, "1.0"), "new.deb": deb(t, "1.1"), "ticketrail.yaml": []byte(config),
	} {
		assert.NoError(t, os.WriteFile(filepath.Join(files, name), text, 0o644))
	}
	t.Setenv("CGO_ENABLED", "0")
	return b, files
}

// until waits for a state that comes by itself.
func (b *box) until(what string, ask func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(bootTimeout); !ask(); time.Sleep(50 * time.Millisecond) { // between two questions
		if time.Now().After(deadline) {
			b.t.Fatalf("waited %v until %s\n%s", bootTimeout, what, b.journal())
		}
	}
}

// try runs a script in the box and returns its output.
func (b *box) try(script string) (string, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), bootTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "nsenter", "--target="+b.leader, "--all", "bash", "-euc", script)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"}
	c.WaitDelay = time.Second // the children of a script that hangs have the output open
	out, err := c.CombinedOutput()
	return string(out), err
}

// journal has the last lines of the units.
func (b *box) journal() string {
	out, _ := b.try("journalctl --no-pager --unit='ticketrail*' --unit=nats-server --lines=20")
	return out
}

// do runs a script that must succeed.
func (b *box) do(script string) string {
	b.t.Helper()
	out, err := b.try(script)
	if err != nil {
		b.t.Fatalf("%s\n%v\n%s\n%s", script, err, out, b.journal())
	}
	return strings.TrimSpace(out)
}

// says runs a script that must succeed and write want.
func (b *box) says(script, want string) {
	b.t.Helper()
	if out := b.do(script); !strings.Contains(out, want) {
		b.t.Fatalf("%s\nwrote %q, want %q in it", script, out, want)
	}
}

// logs waits until the journal has want: it gets lines later than the daemon writes them.
func (b *box) logs(flags, want string) {
	b.t.Helper()
	b.until("the journal has "+want, func() bool {
		return strings.Contains(b.do("journalctl --unit=ticketrail --output=cat "+flags), want)
	})
}

// fails runs a script that must fail and write want.
func (b *box) fails(script, want string) {
	b.t.Helper()
	if out, err := b.try(script); err == nil || !strings.Contains(out, want) {
		b.t.Fatalf("%s\n%v, wrote %q, want a failure with %q in it", script, err, out, want)
	}
}

// daemon is the daemon's process.
func (b *box) daemon() int {
	b.t.Helper()
	return b.process("ticketrail")
}

// process is the process of a unit; 0: it does not run.
func (b *box) process(unit string) int {
	b.t.Helper()
	n, err := strconv.Atoi(b.do("systemctl show --value --property=MainPID " + unit))
	assert.NoError(b.t, err)
	return n
}

// built builds the package of this machine in a new folder, by the command of README.md. The date is the same for each
// commit, so that a test in a checkout and one in a plain copy of the source do the same.
func built(t *testing.T, version string) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1770000000")
	t.Setenv("VERSION", version)
	t.Setenv("OUT", t.TempDir())
	return strings.TrimSpace(run(t, "bash", "build", "amd64"))
}

// run runs a program that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out.String(), errs.String())
	}
	return out.String()
}
