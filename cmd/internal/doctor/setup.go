package doctor

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"ticketrail/cmd/internal/notify"
	"ticketrail/cmd/internal/setup"
	"ticketrail/cmd/internal/station"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/queue/ticket"
)

// systemFolder is where the service has its configuration. Elsewhere a first try keeps everything beside the file.
const systemFolder = "/etc/ticketrail"

// The files of secrets, relative to the folder of the configuration.
const (
	secretFile = "secrets/webhook"
	tellFile   = "secrets/tell"
	ignoreFile = "secrets/.gitignore" // keeps the folder out of a repository
)

// A Setup has the answers for the first configuration of a box.
type Setup struct {
	VenueID, VenueName, Timezone string
	Hours                        []string       // as venues[].hours; empty: silence is not told
	Tell                         string         // the URL of the person to tell; "": none
	Printers                     []SetupPrinter // the first gets everything until there are other routes
	Listen                       string         // of the webhook
	CertFile, KeyFile            string         // both empty: behind a proxy or a tunnel on this box
	ACME                         bool           // Let's Encrypt gives the certificate
	Host                         string         // in the webhook's address; "" if it is not known yet
}

// A SetupPrinter is a station that prints.
type SetupPrinter struct {
	Name string
	FoundPrinter
}

// NewSetup has a valid value everywhere, so that [Setup.Problems] only reports changed values.
func NewSetup() Setup {
	return Setup{
		VenueID: "00000000-0000-4000-8000-000000000000", VenueName: "venue", Timezone: "UTC",
		Printers: []SetupPrinter{{"printer", FoundPrinter{Address: "tcp://127.0.0.1"}}},
		Listen:   config.Default().Receiver.Listen,
	}
}

// Problems are the errors of the daemon's own checks, without the keys and lines of a file that does not exist yet.
func (s Setup) Problems(path string) error {
	_, err := config.Parse(path, []byte(s.text(path, false)), notify.Problems)
	ps, ok := errors.AsType[config.Problems](err)
	if !ok {
		return err
	}

	var out []error
	for _, p := range ps {
		out = append(out, errors.New(p.Msg))
	}
	return errors.Join(out...)
}

//go:embed setup.tmpl
var setupTemplate string

// setupFile is the configuration file. Every key outside it has its default.
var setupFile = template.Must(
	template.New("setup").Funcs(template.FuncMap{"quote": strconv.Quote}).Parse(setupTemplate))

// text is the configuration file at path. It names the files with the secrets once these are stored.
func (s Setup) text(path string, stored bool) string {
	var b strings.Builder
	err := setupFile.Execute(&b, struct {
		Setup
		Stored                            bool
		Beside                            bool // the database and the socket are beside the file
		SecretFile, TellFile, ExternalURL string
	}{s, stored, filepath.Dir(path) != systemFolder, secretFile, tellFile, "https://" + s.Host})
	if err != nil {
		panic(err) // a mistake in the template
	}
	return b.String()
}

// Write writes the configuration and its secret, and checks them as `check` does. It returns the secret. It never
// replaces a file; after an error none of its files is left.
func (s Setup) Write(ctx context.Context, path string) (secret string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}

	var made []string // in the order of their making
	defer func() {
		if err != nil {
			for i := len(made) - 1; i >= 0; i-- {
				_ = os.Remove(made[i]) // a folder that somebody else uses by now is not empty
			}
		}
	}()

	random := make([]byte, 24) // 192 bits
	rand.Read(random)
	secret = base64.RawURLEncoding.EncodeToString(random)
	beside := func(name string) string { return filepath.Join(filepath.Dir(path), name) }
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(beside(secretFile))} {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			made = append(made, dir)
		} else if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}

	for _, f := range []struct{ path, text string }{
		{beside(secretFile), secret + "\n"}, {beside(tellFile), s.Tell}, {beside(ignoreFile), "*\n"},
		{path, s.text(path, true)},
	} {
		if _, err := os.Lstat(f.path); f.text == "" || f.path == beside(ignoreFile) && err == nil {
			continue
		}
		err := setup.Create(f.path, []byte(f.text))
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s exists already; init replaces nothing: move it away, or name another file with "+
				"--config", f.path)
		}
		if err != nil {
			return "", err
		}
		made = append(made, f.path)
	}

	if filepath.Dir(path) == systemFolder { // the package says who may read them; the check tells if that fails
		_ = exec.CommandContext(ctx, "systemd-tmpfiles", "--create", "ticketrail.conf").Run()
	}
	_, err = Check(ctx, path, true)
	return secret, err
}

// TellTest sends a test message to who is told.
func (s Setup) TellTest(ctx context.Context, path string) error {
	conf, err := setup.Load(path)
	if err != nil {
		return err
	}

	var failed []error
	for _, to := range conf.Notify.To {
		failed = append(failed, notify.Test(ctx, s.VenueName, to))
	}
	return errors.Join(failed...)
}

// StartService starts the service, now and at each boot, if this is root and a unit uses the configuration at path.
func StartService(ctx context.Context, path string) (started bool, err error) {
	if os.Geteuid() != 0 || serviceUnit(ctx, boxUnit, path) == nil {
		return false, nil
	}
	out, err := exec.CommandContext(ctx, "systemctl", "enable", "--now", boxUnit).CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("start the service: %w: %s; journalctl -u ticketrail -n 20 says why", err,
			layout.Clean(string(out)))
	}

	return true, nil
}

// PrintTest prints a test ticket at a station without the daemon, which must not run: nothing is stored.
func PrintTest(ctx context.Context, path, name string) (ticket.Proof, error) {
	conf, err := setup.Load(path)
	if err != nil {
		return "", err
	}
	return station.PrintTest(ctx, conf, name)
}
