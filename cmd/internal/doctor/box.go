package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue"
)

// The findings about the box that the daemon and the command doctor share.

const (
	// certificateWarning: renewal programs renew 30 days before the end, so two weeks mean that one fails.
	certificateWarning = 14 * 24 * time.Hour
	// diskWarning is in bytes. At 8 MiB no order is accepted any more.
	diskWarning = 256 << 20
)

func fail(subject, text, do string) admin.Finding {
	return admin.Finding{Level: admin.Fail, Subject: subject, Text: text, Do: do}
}

func warn(subject, text, do string) admin.Finding {
	return admin.Finding{Level: admin.Warn, Subject: subject, Text: text, Do: do}
}

func fine(subject, text string) admin.Finding {
	return admin.Finding{Level: admin.OK, Subject: subject, Text: text}
}

// ClockFinding says whether the clock is right; an order never waits for it.
func ClockFinding(clock queue.Clock, now time.Time, zone *time.Location) admin.Finding {
	f := admin.Finding{Level: admin.OK, Subject: "clock", Text: "synchronized, " + now.In(zone).Format("15:04 MST")}
	if !clock.Synchronized() {
		f.Level = admin.Warn
		f.Text = "it may be wrong, it is not synchronized: " + now.In(zone).Format("2006-01-02 15:04 MST")
		f.Do = "systemctl status systemd-timesyncd (or chrony)"
	}
	return f
}

// DiskFinding is about the disk with the database. The queue itself refuses orders when it is full; this
// is the warning before.
func DiskFinding(dir string) admin.Finding {
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

// CertificateFindings are about the certificates of the webhook and of the screens, as far as they are configured.
// why is what the ACME server said when it gave none, if that is known; it may be hostile.
func CertificateFindings(conf *config.Config, now time.Time, why string) []admin.Finding {
	file, _ := conf.WebhookFiles()
	webhook := certificateFindings("webhook", file, now)
	if name := conf.Receiver.TLS.ACME.Name; name != "" {
		webhook[0] = acmeFinding(webhook[0], name, file, why)
	}
	return append(webhook, certificateFindings("screens", conf.Display.TLS.CertFile, now)...)
}

// acmeFinding is f for a certificate that the daemon itself gets and renews.
func acmeFinding(f admin.Finding, name, file, why string) admin.Finding {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		f.Text = "webhook: there is none yet for " + name
		f.Do = "the daemon gets it within a minute; if not, ticketrail status says why"
	} else if f.Level != admin.OK {
		f.Do = "ticketrail status says why it was not renewed"
	}
	if why != "" {
		if f.Level == admin.OK {
			f.Level = admin.Warn
		}
		f.Text += "; the last attempt to get one failed: " + layout.Clean(why)
		f.Do = "the ACME server must be reachable, and port 443 of " + name +
			" must lead to this box, from everywhere; systemctl restart ticketrail tries again at once"
	}
	return f
}

// certificateFindings is one line about the certificate in a file; none without a file.
func certificateFindings(of, path string, now time.Time) []admin.Finding {
	if path == "" {
		return nil
	}
	f := admin.Finding{Level: admin.Fail, Subject: "certificate", Do: "renew " + path + "; it is read again by itself"}
	ends, err := CertificateEnd(path)
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

// CertificateEnd is the end of the validity of the first certificate in a PEM file, which may hold its key too.
func CertificateEnd(path string) (time.Time, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, err
	}
	block, rest := pem.Decode(b)
	for block != nil && block.Type != "CERTIFICATE" {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return time.Time{}, errors.New("it has no certificate in PEM form")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, err
	}
	return c.NotAfter, nil
}
