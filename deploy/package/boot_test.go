package main

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
	nspawn, debootstrap := debianProgram(t, "systemd-nspawn"), debianProgram(t, "debootstrap")
	if os.Geteuid() != 0 {
		t.Skip("only root can boot a container")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(cache, "ticketrail", "debian-12")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		half := root + ".new"
		os.RemoveAll(half)
		if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(
			debootstrap,
			"--variant=minbase",
			"--include=systemd,systemd-sysv,dbus,libnss-systemd,iproute2,curl,procps",
			"bookworm",
			half,
		).CombinedOutput()
		if err != nil {
			t.Skipf("no Debian can be installed here: %v\n%s", err, out)
		}
		if err := os.Rename(half, root); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(nspawn, "--directory="+root, "--volatile=overlay", "--private-network", "--register=no",
		"--keep-unit", "--console=pipe", "--quiet", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("no container can be started here: %v\n%s", err, out)
	}
	console := new(bytes.Buffer)
	c := exec.Command(nspawn, "--directory="+root, "--volatile=overlay", "--bind-ro="+files+":/mnt", "--boot",
		"--private-network", "--register=no", "--keep-unit", "--console=pipe", "--quiet")
	c.Stdout, c.Stderr = console, console
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
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

// debs are the packages that bootWith has built, by version. The race detector makes a build last a minute.
var debs = map[string][]byte{}

// bootWith boots a box that sees in /mnt, which is the folder files, two versions of the package, old.deb and new.deb,
// and a configuration. The programs that a test builds afterwards run without the libraries of this machine.
func bootWith(t *testing.T, config string) (b *box, files string) {
	t.Helper()
	files = t.TempDir()
	err := os.Chmod(files, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	b = boot(t, files)
	for _, version := range []string{"1.0", "1.1"} {
		if debs[version] == nil {
			if debs[version], err = os.ReadFile(built(t, version)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range map[string][]byte{
		"old.deb": debs["1.0"], "new.deb": debs["1.1"], "ticketrail.yaml": []byte(config),
	} {
		if err := os.WriteFile(filepath.Join(files, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
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

// try runs a script in the box and returns what it wrote.
func (b *box) try(script string) (string, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), bootTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "nsenter", "--target="+b.leader, "--all", "bash", "-euc", script)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"}
	c.WaitDelay = time.Second // what a script that hangs has started has the output open
	out, err := c.CombinedOutput()
	return string(out), err
}

// journal is what the units wrote last.
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
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

const bootConfig = `venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9100" } ]
fallback: grill
receiver: { allow_from: [], secret_file: "" }
`

// send sends orders as the service does; its summary counts what was accepted.
const send = "/mnt/possim send http://127.0.0.1:8443/webhooks/print --concurrency 4 "

// TestABoxLivesThroughItsPackages is the life of a box, in this order: each step needs those before it.
func TestABoxLivesThroughItsPackages(t *testing.T) {
	b, files := bootWith(t, bootConfig)
	run(t, "go", "build", "-o", filepath.Join(files, "possim"), "ticketrail/cmd/possim")
	b.do("systemd-run --quiet --unit=printer /mnt/possim printer --listen 127.0.0.1:9100")

	// Nothing starts before there is a configuration.
	b.do("dpkg --install /mnt/old.deb")
	b.says("systemctl is-enabled ticketrail", "enabled")
	b.fails("systemctl is-active ticketrail", "inactive")
	b.fails("systemctl --failed --quiet | grep ticketrail", "")
	b.do("install -m640 -g ticketrail /mnt/ticketrail.yaml /etc/ticketrail/ && ticketrail check")
	b.do("systemctl start ticketrail")
	b.says(send+"--count 1", "1 SENT")
	b.until("the first ticket is printed", func() bool {
		return strings.Contains(b.do("ticketrail jobs list"), "confirmed")
	})

	// The control socket is for ticketrail-admin; the secrets are not.
	b.do(`useradd alice --groups ticketrail-admin && useradd bob
		install -m640 -g ticketrail /dev/null /etc/ticketrail/secrets/webhook`)
	b.says("runuser -u alice -- ticketrail printers hold grill --reason 'a test'", "grill")
	b.do("runuser -u alice -- ticketrail printers resume grill")
	b.logs("", "alice")
	b.fails("runuser -u bob -- ticketrail jobs list", "only group ticketrail-admin has access")
	for _, file := range []string{"secrets/webhook", "ticketrail.yaml"} {
		b.fails("runuser -u alice -- cat /etc/ticketrail/"+file, "Permission denied")
		b.do("runuser -u ticketrail -- cat /etc/ticketrail/" + file)
	}

	// A file with a mistake is refused where it is seen, and changes nothing.
	first := b.daemon()
	b.do("echo 'printer: []' >>/etc/ticketrail/ticketrail.yaml")
	b.fails("systemctl reload ticketrail", "Job for ticketrail.service failed")
	b.logs("", "printer: unknown key")
	b.says("dpkg --install /mnt/new.deb", "NOT restarted")
	if now := b.daemon(); now != first {
		t.Fatalf("process %d became %d, with a file that the daemon refuses", first, now)
	}
	b.do("cp /mnt/ticketrail.yaml /etc/ticketrail/ && systemctl reload ticketrail")

	// Warnings have their priority in the journal, and whoever helps gets them in one file.
	b.logs("--priority=warning", "level=WARN")
	b.fails("journalctl --unit=ticketrail --priority=warning --output=cat | grep level=INFO", "")
	b.says("cd /tmp && ticketrail support >&2 && tar --extract --gzip --to-stdout <ticketrail-support-*.tar.gz",
		"printer: unknown key")

	// The unit forbids the daemon to look at the kernel's clock: it asks timedated. The file would say the
	// opposite, if the bus did not answer.
	b.do(`file=/run/systemd/timesync/synchronized; mkdir -p $(dirname $file); touch $file; want=0
		if [ $(timedatectl show --value --property=NTPSynchronized) = yes ]; then rm $file; want=1; fi
		systemctl restart ticketrail
		# If timedated was too slow, the daemon asks it again after a minute.
		until curl --silent http://127.0.0.1:9321/metrics | grep --line-regexp "ticketrail_clock_synchronized $want"
		do sleep 0.1; done
		rm --force $file`)

	// Restarts and package changes lose nothing, and the port is always open.
	b.says(`(`+send+`--count 500 --rate 100; echo orders=$?) >/tmp/orders 2>&1 & orders=$!
		(while sleep 0.01; do exec 3<>/dev/tcp/127.0.0.1/8443 && exec 3<&-; done) 2>/tmp/refused & probe=$!
		for i in 1 2 3 4 5; do systemctl restart ticketrail; sleep 0.3; done
		dpkg --install /mnt/old.deb && dpkg --install /mnt/new.deb
		wait $orders; kill $probe; cat /tmp/refused; tail -n 4 /tmp/orders; test ! -s /tmp/refused`, "500 SENT")
	b.says("ticketrail version && dpkg-query --show ticketrail", "1.1")
	b.until("everything is printed", func() bool {
		return b.do("ticketrail jobs list --state pending,printing --json") == "[]"
	})

	// A relay is restarted by an upgrade as the daemon is. Its servers are away here, for which no upgrade waits.
	b.do(`ticketrail relay init /root/relay --node 127.0.0.1
		echo 'metrics: { listen: "127.0.0.1:9421" }' >>/root/relay/relay/relay.yaml
		install -m640 -g ticketrail /root/relay/relay/* /etc/ticketrail/
		systemctl enable ticketrail-relay && systemctl --no-block start ticketrail-relay`)
	b.until("the relay runs", func() bool { return b.process("ticketrail-relay") != 0 })
	relay := b.process("ticketrail-relay")
	b.do("dpkg --install /mnt/old.deb")
	b.until("the upgrade has restarted the relay", func() bool {
		now := b.process("ticketrail-relay")
		return now != 0 && now != relay
	})
	relay = b.process("ticketrail-relay")
	b.do("echo 'printers: []' >>/etc/ticketrail/relay.yaml")
	b.says("dpkg --install /mnt/new.deb", "ticketrail-relay.service: NOT restarted")
	if now := b.process("ticketrail-relay"); now != relay {
		t.Fatalf("process %d became %d, with a file that the relay refuses", relay, now)
	}
	b.do("sed -i '/^printers/d' /etc/ticketrail/relay.yaml && systemctl disable --now ticketrail-relay")
	b.do("dpkg --install /mnt/new.deb")
	b.fails("systemctl is-active ticketrail-relay", "inactive")

	// The nightly backup is off, and works.
	b.fails("systemctl is-enabled ticketrail-backup.timer", "disabled")
	b.do("systemctl enable --now ticketrail-backup.timer && systemctl start ticketrail-backup.service")
	b.do(`systemctl stop ticketrail
		ticketrail db restore /var/lib/ticketrail-backups/*.db
		systemctl start ticketrail`)
	b.says("ticketrail jobs list", "confirmed")

	// A daemon that hangs is replaced. Three seconds, so that the test need not wait for thirty.
	b.do(`mkdir -p /run/systemd/system/ticketrail.service.d
		printf '[Service]\nWatchdogSec=3s\n' >/run/systemd/system/ticketrail.service.d/quick.conf
		systemctl daemon-reload && systemctl restart ticketrail`)
	hung := b.daemon()
	b.do("kill -STOP " + strconv.Itoa(hung))
	b.until("the watchdog replaces the daemon", func() bool {
		now := b.daemon()
		return now != 0 && now != hung
	})
	b.says(send+"--count 1 --seed 2", "1 SENT")
	b.do("rm /run/systemd/system/ticketrail.service.d/quick.conf && systemctl daemon-reload")

	// A port below 1024 needs the drop-in. The old port is closed.
	b.do("sed -i 's/allow_from/listen: \"127.0.0.1:443\", allow_from/' /etc/ticketrail/ticketrail.yaml")
	b.fails("systemctl restart ticketrail", "Job for ticketrail.service failed")
	b.logs("", "low-port.conf")
	b.do(`install -Dm644 -t /etc/systemd/system/ticketrail.service.d /usr/share/doc/ticketrail/examples/low-port.conf
		systemctl daemon-reload; systemctl restart ticketrail; curl --silent http://127.0.0.1:443/`)
	b.fails("curl --silent --show-error http://127.0.0.1:8443/", "Failed to connect")

	// A stop lasts.
	b.do("systemctl stop ticketrail")
	b.fails("curl --silent --show-error http://127.0.0.1:443/", "Failed to connect")
	b.fails("systemctl is-active ticketrail", "inactive")

	// A removal leaves the orders, a purge only the backups.
	b.do("systemctl start ticketrail && dpkg --remove ticketrail")
	b.fails("pgrep ticketrail", "")
	b.do("test -s /var/lib/ticketrail/ticketrail.db && test -e /etc/ticketrail/ticketrail.yaml")
	b.do("dpkg --purge ticketrail")
	b.fails("ls -d /var/lib/ticketrail", "No such file")
	b.fails("ls -d /etc/ticketrail", "No such file")
	b.says("ls /var/lib/ticketrail-backups", ".db")
	b.says("find /etc/systemd /run/systemd/system /usr/share/doc /var/lib/systemd/deb-systemd-helper-enabled "+
		"-name '*ticketrail*' -not -path '*.service.d*' | wc -l", "0")
}
