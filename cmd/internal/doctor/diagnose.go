package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/setup"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/store"
)

// A Box is the machine that ticketrail runs on.
type Box struct {
	Root string // of the files that belong to the system: /; tests have another
	// CheckStore checks the database in a child process: see [CheckInChild].
	CheckStore func(ctx context.Context, path string) error
}

// Diagnose looks at everything that keeps tickets from printing and can be seen without the daemon: the facts of
// [Box.Look], then those that take time: the disk's speed and the whole database, the printers, the point-of-sale API.
// Nothing is printed or changed. The findings are in no order.
func (b Box) Diagnose(ctx context.Context, path string) []finding.Finding {
	out, conf := b.Look(ctx, path)
	if conf == nil { // the other checks need one
		return out
	}
	return slices.Concat(out, b.slowStoreFindings(ctx, conf), WebhookFindings(ctx, conf), sourceFindings(ctx, conf),
		onlineFindings(ctx, conf))
}

// Look is the part of [Box.Diagnose] that takes a moment: why the daemon does not run. It also returns the
// configuration, nil if it cannot be used.
func (b Box) Look(ctx context.Context, path string) (out []finding.Finding, conf *config.Config) {
	file, err := os.Open(path)
	if !errors.Is(err, fs.ErrNotExist) { // the service waits for a configuration
		out = append(out, serviceFindings(ctx)...)
	}
	if errors.Is(err, fs.ErrPermission) { // which says nothing about the service
		return append(out, finding.New("configuration/not_seen", finding.Warn, "this user may not read it", path,
			"run it as root")), nil
	}
	_ = file.Close() // also without one

	conf, warnings, err := check(path)
	out = append(out, clockFinding(conf))
	out = append(out, finding.Configuration{File: path, Refused: setup.Problems(path, err)}.Findings()...)
	if err != nil {
		return out, nil
	}

	for i, w := range warnings {
		of := finding.New(fmt.Sprintf("config/warning/%d", i+1), finding.Warn, layout.Clean(w), "", "")
		of.Subject = "configuration"
		out = append(out, of)
	}

	return slices.Concat(out, Certificates(conf, ""), UnitFindings(ctx, path, conf), portFindings(ctx, conf),
		storeFindings(ctx, path, conf), b.driverFindings(conf)), conf
}

// Join adds to the daemon's findings those that were found without it. The daemon knows more of a station, and of each
// subject that both have looked at, for example how many tickets wait, and that a disk is not only low but full. The
// addresses that it asks now and then were asked just now.
func Join(said, found []finding.Finding) []finding.Finding {
	said = slices.DeleteFunc(slices.Clone(said), func(s finding.Finding) bool {
		return (s.Subject == "webhook" || strings.HasPrefix(s.Subject, "venue ")) &&
			slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Subject == s.Subject })
	})
	return slices.Concat(said, slices.DeleteFunc(found, func(f finding.Finding) bool {
		return slices.ContainsFunc(said, func(s finding.Finding) bool {
			same := f.ID == "" && f.Level == finding.OK || f.ID == s.ID
			return s.Subject == f.Subject && s.Station == f.Station && (same || s.Station) ||
				s.ID == finding.DiskFull && f.ID == finding.DiskLow
		})
	}))
}

// serviceFindings are how systemd sees the service. Without systemd there are none.
func serviceFindings(ctx context.Context) (out []finding.Finding) {
	service := unitSettings(ctx, "ticketrail.service", "ActiveState", "SubState", "Result", "NRestarts",
		"UnitFileState")
	if service == nil {
		return nil
	}

	switch {
	case service["SubState"] == "auto-restart":
		out = append(out, finding.New("service/restarts", finding.Fail, "it ends and is started again, time after time",
			service["NRestarts"]+" times so far: "+service["Result"], "journalctl -u ticketrail -n 50 says why"))
	case service["ActiveState"] == "active":
		out = append(out, finding.Fine("service", "running, restarted by itself "+service["NRestarts"]+" times"))
	default:
		out = append(out, finding.New("service/not_running", finding.Fail,
			"it is "+service["ActiveState"]+": orders are not taken", "",
			"systemctl start ticketrail; journalctl -u ticketrail -n 50 says why it ended"))
	}

	if service["UnitFileState"] != "enabled" {
		out = append(out, finding.New("service/not_enabled", finding.Warn,
			"it does not start at boot: it is "+service["UnitFileState"], "", "systemctl enable ticketrail"))
	}

	return out
}

// clockFinding shows the time in the kitchen's zone, as far as the configuration has it.
func clockFinding(conf *config.Config) finding.Finding {
	zone := time.Local
	if conf != nil && len(conf.Venues) > 0 && conf.Venues[0].Timezone != "" {
		zone, _ = time.LoadLocation(conf.Venues[0].Timezone) // the configuration was checked
	}
	return finding.Clock{Synchronized: WallClock{}.Synchronized()}.Finding(time.Now().In(zone))
}

// portFindings are the ports of the configuration that another program has. systemd keeps the port of the webhook
// while the service starts again.
func portFindings(ctx context.Context, conf *config.Config) (out []finding.Finding) {
	stored := unitSettings(ctx, boxUnit, "NFileDescriptorStore")["NFileDescriptorStore"]
	for key, address := range map[string]string{
		"receiver.listen": conf.Receiver.Listen, "metrics.listen": conf.Metrics.Listen,
		"display.listen": conf.Display.Listen,
	} {
		who := listener(ctx, address)
		kept := key == "receiver.listen" && strings.HasPrefix(who, "systemd ") && stored != "" && stored != "0"
		if who != "" && !strings.HasPrefix(who, "ticketrail ") && !kept {
			out = append(out, finding.Port(key, address, who, syscall.EADDRINUSE))
		}
	}

	return out
}

// listener is the program that listens at an address, with its process id, as far as this user may see it; "" if there
// is none, or it is not visible. Of several it is ticketrail, for which systemd keeps the webhook's socket.
func listener(ctx context.Context, address string) (who string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}

	sockets, _ := exec.CommandContext(ctx, "ss", "--no-header", "--listening", "--tcp", "--numeric", "--processes",
		"sport = :"+port).Output()
	for socket := range strings.Lines(string(sockets)) {
		fields := strings.Fields(socket) // LISTEN 0 4096 127.0.0.1:8443 0.0.0.0:* users:(("nginx",pid=12,fd=7))
		local, _, _ := net.SplitHostPort(fields[min(3, len(fields)-1)])
		if local != host && !isEverywhere(local) && !isEverywhere(host) {
			continue
		}

		for _, p := range socketUser.FindAllStringSubmatch(socket, -1) {
			if name := p[1]; who == "" || name == "ticketrail" {
				who = fmt.Sprintf("%s (process %s)", layout.Clean(name), p[2])
			}
		}
	}

	return who
}

var socketUser = regexp.MustCompile(`\("([^"]*)",pid=(\d+)`)

// isEverywhere is true of *, and of a name, which may be any address.
func isEverywhere(host string) bool {
	address, err := netip.ParseAddr(host)
	return err != nil || address.IsUnspecified()
}

// storeFindings are about the database and its disk.
func storeFindings(ctx context.Context, path string, conf *config.Config) (out []finding.Finding) {
	file := store.Target(conf.Storage.Path)
	folder := filepath.Dir(file)
	out = append(out, DiskOf(folder).Finding())
	unusable := func(who string, err error) {
		fault, _ := finding.Storage(file, who, err)
		out = append(out, fault)
	}

	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err == nil {
		kind := map[int64]string{
			unix.TMPFS_MAGIC: "in memory (tmpfs)", unix.RAMFS_MAGIC: "in memory (ramfs)",
			unix.NFS_SUPER_MAGIC: "on a network share (NFS)", unix.SMB2_SUPER_MAGIC: "on a network share (SMB)",
		}[int64(st.Type)]
		if kind != "" {
			out = append(out, finding.New("disk/volatile", finding.Fail, "a power failure loses accepted orders",
				folder+" is "+kind, "set storage.path to a file on a local disk"))
		}

		if st.Flags&unix.ST_RDONLY != 0 {
			unusable("", syscall.EROFS)
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		unusable("", err)
	}

	name := serviceUnit(ctx, boxUnit, path)["User"]
	who, unknown := user.Lookup(name)
	if info, err := os.Stat(file); err == nil && unknown == nil &&
		who.Uid != fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid) {
		unusable(name, syscall.EACCES)
	}
	return out
}

// slowStoreFindings time the disk, and read the whole database.
func (b Box) slowStoreFindings(ctx context.Context, conf *config.Config) []finding.Finding {
	out := syncFinding(store.Target(conf.Storage.Path))
	// A running daemon has it open, and has checked it.
	if _, err := os.Stat(conf.Storage.Path); err == nil && b.CheckStore != nil && !answersAt(conf.Admin.Socket) {
		if err := b.CheckStore(ctx, conf.Storage.Path); errors.Is(err, ErrDamaged) {
			out = append(out, finding.New("database/damaged", finding.Fail, "it is damaged", layout.Clean(err.Error()),
				"start the daemon: it puts the file aside and keeps what can be read; then ticketrail status"))
		}
	}

	return out
}

// answersAt reports whether a program listens on a unix socket.
func answersAt(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return errors.Is(err, os.ErrPermission)
	}
	_ = conn.Close()
	return true
}

// driverFindings are kernel drivers that are missing when the service starts: systemd allows it only the devices
// whose driver is loaded already (DeviceAllow= is looked up in /proc/devices).
func (b Box) driverFindings(conf *config.Config) (out []finding.Finding) {
	for prefix, driver := range map[string]string{
		"usb:": "usblp", "file:///dev/usb/lp": "usblp", "serial:///dev/ttyUSB": "usbserial",
		"serial:///dev/ttyACM": "cdc_acm",
	} {
		if _, err := os.Stat(filepath.Join(b.Root, "sys/module", driver)); err == nil {
			continue
		}
		for _, p := range conf.Printers {
			if strings.HasPrefix(p.Address, prefix) {
				out = append(out, finding.New("driver/"+p.Name, finding.Warn,
					fmt.Sprintf("the kernel driver %s of %s is not loaded", driver, p.Name), "",
					fmt.Sprintf("modprobe %s; systemctl restart ticketrail; for the next boot, add it to "+
						"/etc/modules-load.d/ticketrail.conf", driver)))
			}
		}
	}

	return out
}
