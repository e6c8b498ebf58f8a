package doctor

import (
	"crypto/tls"
	"errors"
	"io/fs"
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
func Certificates(conf *config.Config, why string) (out []finding.Finding) {
	webhook, key := conf.WebhookFiles()
	screens := conf.Display.TLS
	for _, c := range []struct {
		finding.Certificate
		key string
	}{
		{finding.Certificate{Of: "webhook", Path: webhook, Name: conf.Receiver.TLS.ACME.Name,
			Why: layout.Clean(why)}, key},
		{finding.Certificate{Of: "screens", Path: screens.CertFile}, screens.KeyFile},
	} {
		if c.Path == "" {
			continue
		}
		pair, err := tls.LoadX509KeyPair(c.Path, c.key)
		if c.None, c.Err = errors.Is(err, fs.ErrNotExist), err; err == nil {
			c.Ends = pair.Leaf.NotAfter
		}
		out = append(out, c.Finding(time.Now()))
	}

	return out
}
