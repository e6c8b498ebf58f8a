package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/layout"
)

// DiskOf is the room on the disk of a folder.
func DiskOf(folder string) finding.Disk {
	var st unix.Statfs_t
	err := unix.Statfs(folder, &st)
	return finding.Disk{Folder: folder, Free: st.Bavail * uint64(st.Bsize), Err: err}
}

// Certificates are the certificates of the webhook and of the screens, as far as they are configured. why is the last
// refusal of the ACME server, if it is known; it may be hostile.
func Certificates(conf *config.Config, why string) (out []finding.Certificate) {
	webhook, _ := conf.WebhookFiles()
	for _, c := range []finding.Certificate{
		{Of: "webhook", Path: webhook, Name: conf.Receiver.TLS.ACME.Name, Why: layout.Clean(why)},
		{Of: "screens", Path: conf.Display.TLS.CertFile},
	} {
		if c.Path != "" {
			c.Ends, c.Err = certificateEnd(c.Path)
			c.None = errors.Is(c.Err, fs.ErrNotExist)
			out = append(out, c)
		}
	}

	return out
}

// certificateEnd is the end of the validity of the first certificate in a PEM file, which may hold its key too.
func certificateEnd(path string) (time.Time, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, err
	}

	block, rest := pem.Decode(text)
	for block != nil && block.Type != "CERTIFICATE" {
		block, rest = pem.Decode(rest)
	}

	if block == nil {
		return time.Time{}, errors.New("it has no certificate in PEM form")
	}

	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, err
	}
	return cert.NotAfter, nil
}
