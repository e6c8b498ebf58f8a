package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ticketrail/cmd/internal/notify"
	"ticketrail/config"
	"ticketrail/printer/profile"
)

// Settings are the part of a configuration file that the page for managers may change, as it is on the disk now.
type Settings struct {
	Version    string         `json:"version"` // of the whole file, to be sent with a change
	Printers   []Printer      `json:"printers"`
	Profiles   []string       `json:"profiles"` // that a printer may have
	Venues     []OpeningHours `json:"venues"`
	Recipients []Recipient    `json:"recipients"`
}

// A Printer is where a station prints.
type Printer struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Profile string `json:"profile"`
}

// OpeningHours say when the orders of a venue come.
type OpeningHours struct {
	Name  string   `json:"name"`
	Hours []string `json:"hours"`
}

// A Recipient is who is told. Its URL contains secrets and is never shown.
type Recipient struct {
	Name  string   `json:"name"`
	By    string   `json:"by"`    // the beginning of the URL: smtp, ntfy
	About []string `json:"about"` // empty: everything
}

// ReadSettings reads the settings. The error is [config.Problems] if the file has any.
func ReadSettings(path string) (Settings, error) {
	data, err := readFile(path)
	if err != nil {
		return Settings{}, err
	}

	conf, err := config.Parse(path, data, notify.Problems)
	if err != nil {
		return Settings{}, err
	}

	settings := Settings{Version: version(data), Profiles: profile.Names(), Printers: []Printer{},
		Venues:     []OpeningHours{},
		Recipients: []Recipient{}}
	for _, p := range conf.Printers {
		settings.Printers = append(settings.Printers, Printer{p.Name, p.Address, p.Profile})
	}

	for _, v := range conf.Venues {
		one := OpeningHours{v.Name, []string{}}
		for _, h := range v.Hours {
			one.Hours = append(one.Hours, h.String())
		}
		settings.Venues = append(settings.Venues, one)
	}

	for _, to := range conf.Notify.To {
		by, _, _ := strings.Cut(to.Address.Reveal(), "://")
		settings.Recipients = append(settings.Recipients, Recipient{to.Name, by, append([]string{}, to.About...)})
	}
	return settings, nil
}

// readFile reads the configuration file at path. A daemon without one has no path.
func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("this daemon was started without a configuration file")
	}
	return os.ReadFile(path)
}

func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

// ErrChanged says that the file is not the one that a person has seen.
var ErrChanged = errors.New("the configuration was changed in the meantime, and nothing was saved: look again")

// An Edit makes the text of a new configuration file of the present one.
type Edit func(data []byte) ([]byte, error)

// Change applies an edit to the file whose version a person has seen, and checks the result as [Load] does. If use
// accepts it too, it replaces the file, and the one before is kept as NAME.previous. The error is [ErrChanged],
// [config.Problems], or an error of the edit or of use. A crash leaves the old file or the new one, both of which were
// checked; before the last step .previous may already have the old one too.
func Change(path, seen string, edit Edit, use func(*config.Config) error) error {
	was, err := readFile(path)
	if err != nil {
		return err
	}
	if version(was) != seen {
		return ErrChanged
	}

	now, err := edit(was)
	if err != nil {
		return err
	}
	conf, err := config.Parse(path, now, notify.Problems)
	if err != nil {
		return err
	}
	if err := use(conf); err != nil {
		return err
	}

	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if is, err := os.ReadFile(file); err != nil || !bytes.Equal(is, was) {
		return errors.Join(ErrChanged, err) // somebody has saved it in an editor just now
	}
	err = replace(file+".previous", was, file)
	if err == nil {
		err = replace(file, now, file)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("the daemon may not write in %s, and nothing was saved: change the file by hand as root, "+
			"then systemctl reload ticketrail", filepath.Dir(file))
	}

	return err
}

// replace puts data on the disk at path, whole or not at all, with the rights of the file like. Only root can keep
// another owner: the file then belongs to the daemon, and keeps the group by which both read it. A crash can leave the
// file .NAME.new, which the next change replaces; NAME.new may be a person's.
func replace(path string, data []byte, like string) error {
	info, err := os.Stat(like)
	if err != nil {
		return err
	}

	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	_ = os.Remove(next) // an error comes from making it
	if err := Create(next, data); err != nil {
		return err
	}

	owner := info.Sys().(*syscall.Stat_t)
	if os.Chown(next, int(owner.Uid), int(owner.Gid)) != nil {
		_ = os.Chown(next, -1, int(owner.Gid)) // not a member: only the daemon and root read it
	}
	err = os.Chmod(next, info.Mode().Perm())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}

	// It is in place, whatever this says: only a power cut could bring the old one back.
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		_ = errors.Join(folder.Sync(), folder.Close())
	}
	return nil
}

// Create writes a new file that only its owner may read to the disk, so that a power cut leaves no empty one. Of a file
// that it cannot write, nothing is left.
func Create(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}
