package app

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// What `ticketrail status` says of the daemon itself. Stations and their tickets are added by the control
// API, and problems that every listing shows are in health.go.

const (
	// certificateWarning: renewal programs renew 30 days before the end, so two weeks mean that one fails.
	certificateWarning = 14 * 24 * time.Hour
	// diskWarning is in bytes. At 8 MiB no order is accepted any more.
	diskWarning = 256 << 20
	recently    = time.Hour
)

// state is computed when asked for. It reads the history of three days, some thousand small records.
func (a *App) state(ctx context.Context) ([]admin.Finding, error) {
	now := time.Now()
	zone := a.zone()
	if zone == nil {
		zone = time.Local
	}
	orders, err := a.orderFindings(ctx, now, zone)
	if err != nil {
		return nil, err
	}
	out := append(orders, a.clockFinding(now, zone), diskFinding(filepath.Dir(a.startConfig.Storage.Path)))
	conf := a.active.Load()
	out = append(out, certificateFindings("webhook", conf.Receiver.TLS.CertFile, now)...)
	out = append(out, certificateFindings("screens", conf.Display.TLS.CertFile, now)...)
	return append(out, admin.Finding{Level: admin.OK, Subject: "version",
		Text: fmt.Sprintf("%s, started %s ago", admin.ThisBuild().Version, admin.Age(now.Sub(a.started)))}), nil
}

// orderFindings say what came, what was refused and what did not print. A refused order is lost if nobody
// looks, and so is a failed ticket.
func (a *App) orderFindings(ctx context.Context, now time.Time, zone *time.Location) (out []admin.Finding, err error) {
	jobs, err := a.queue.Jobs(ctx, queue.Filter{Since: now.Add(-recently)})
	if err != nil {
		return nil, err
	}
	requests := map[string]bool{}
	for _, j := range jobs {
		if j.Venue != "" && !j.Reprint { // else a test ticket, or a slip
			requests[j.Venue+" "+j.Request] = true
		}
	}
	out = append(out, admin.Finding{Level: admin.OK, Subject: "orders",
		Text: ticket.Plural(len(requests), "order") + " in the last hour" + a.lastOrder(ctx, now, zone)})
	refused := 0
	for _, r := range a.rejects.List() {
		if now.Sub(r.Time) < recently {
			refused++
		}
	}
	if refused > 0 {
		out = append(out, admin.Finding{Level: admin.Fail, Subject: "orders",
			Text: ticket.Plural(refused, "request") + " refused in the last hour: the kitchen does not know of them",
			Do:   "ticketrail rejects shows why"})
	}
	failed, err := a.queue.Jobs(ctx, queue.Filter{States: []ticket.State{ticket.Failed}})
	if err != nil {
		return nil, err
	}
	if len(failed) > 0 {
		out = append(out, admin.Finding{Level: admin.Fail, Subject: "tickets",
			Text: ticket.Plural(len(failed), "ticket") + " failed and did not print",
			Do:   "ticketrail jobs list --state failed, then jobs reprint or jobs cancel"})
	}
	return out, nil
}

// lastOrder is when the newest order came; the history has it, so it survives a restart.
func (a *App) lastOrder(ctx context.Context, now time.Time, zone *time.Location) string {
	const few = 20 // the newest may be tests and reprints
	newest, err := a.queue.Jobs(ctx, queue.Filter{Limit: few})
	if err != nil {
		return ""
	}
	for _, j := range newest {
		if j.Venue != "" && !j.Reprint {
			return fmt.Sprintf("; the last %s ago, at %s", admin.Age(now.Sub(j.ReceivedAt)),
				j.ReceivedAt.In(zone).Format("15:04 MST"))
		}
	}
	return "; none is stored"
}

func (a *App) clockFinding(now time.Time, zone *time.Location) admin.Finding {
	var clock queue.Clock = doctor.WallClock{}
	if a.o.Clock != nil {
		clock = a.o.Clock
	}
	f := admin.Finding{Level: admin.OK, Subject: "clock", Text: "synchronized, " + now.In(zone).Format("15:04 MST")}
	if !clock.Synchronized() {
		f.Level = admin.Warn
		f.Text = "it may be wrong, it is not synchronized: " + now.In(zone).Format("2006-01-02 15:04 MST")
		f.Do = "systemctl status systemd-timesyncd (or chrony)"
	}
	return f
}

// diskFinding is about the disk with the database. The queue itself refuses orders when it is full; this
// is the warning before.
func diskFinding(dir string) admin.Finding {
	f := admin.Finding{Level: admin.Warn, Subject: "disk", Do: "see dmesg: the disk may fail"}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		f.Text = fmt.Sprintf("free space of %s is not known: %v", dir, err)
		return f
	}
	free := st.Bavail * uint64(st.Bsize)
	f.Text = fmt.Sprintf("%d MB free at %s", free>>20, dir)
	if free < diskWarning {
		f.Do = "delete something on the disk that df " + dir + " shows; orders are refused when it is full"
		return f
	}
	f.Level, f.Do = admin.OK, ""
	return f
}

// certificateFindings is one line about the certificate in a file; none without a file.
func certificateFindings(of, path string, now time.Time) []admin.Finding {
	if path == "" {
		return nil
	}
	f := admin.Finding{Level: admin.Fail, Subject: "certificate", Do: "renew " + path + "; it is read again by itself"}
	ends, err := certificateEnd(path)
	switch left := ends.Sub(now); {
	case err != nil:
		f.Text = fmt.Sprintf("%s: it cannot be read: %v", of, err)
	case left <= 0:
		f.Text = fmt.Sprintf("%s: it expired %s ago", of, admin.Age(-left))
	case left < certificateWarning:
		f.Level, f.Text = admin.Warn, fmt.Sprintf("%s: it expires in %s", of, admin.Age(left))
	default:
		f.Level, f.Do, f.Text = admin.OK, "", fmt.Sprintf("%s: valid until %s", of, ends.Format(time.DateOnly))
	}
	return []admin.Finding{f}
}

// certificateEnd is the end of the validity of the first certificate in a PEM file.
func certificateEnd(path string) (time.Time, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return time.Time{}, errors.New("it has no certificate in PEM form")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, err
	}
	return c.NotAfter, nil
}

// zone is the kitchen's time zone, nil if it is not known.
func (a *App) zone() *time.Location { return a.service.zone(a.active.Load()) }
