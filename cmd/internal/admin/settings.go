package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"

	"ticketrail/cmd/internal/setup"
	"ticketrail/config"
)

// The page for managers changes the settings that change in a restaurant's life: where a station prints, opening
// hours, and who is told. Nothing else of the configuration can be named in these requests.

// Settings changes the configuration file.
type Settings interface {
	// Change edits the file of the version that the person saw, checks and saves it, and loads it as a reload does. It
	// returns the warnings that the configuration before did not have.
	Change(seen string, edit setup.Edit) (warnings []string, err error)
	// Test sends a message to the recipient of that name.
	Test(ctx context.Context, recipient string) error
	// Discover looks for printers, and prints nothing.
	Discover(ctx context.Context) (printers any, err error)
}

// A settingsBody is the body of a change. Each has the fields that it needs.
type settingsBody struct {
	Version string   `json:"version"` // of the file that the person saw
	Name    string   `json:"name"`    // of the printer, the venue or the recipient
	Address string   `json:"address"`
	Profile string   `json:"profile"`
	MAC     string   `json:"mac"` // of the printer at Address, if it was found
	Hours   []string `json:"hours"`
	URL     string   `json:"url"` // of the recipient; it has secrets
}

func (b settingsBody) saysVersion() bool { return b.Version != "" }

const tell = "tell" // the change that adds a recipient

// edits are the changes of the file, by the end of their route.
var edits = map[string]func(data []byte, b settingsBody) ([]byte, error){
	"printer": func(data []byte, b settingsBody) ([]byte, error) {
		return config.SetPrinter(data, b.Name, b.Address, b.Profile, b.MAC)
	},
	"hours": func(data []byte, b settingsBody) ([]byte, error) { return config.SetHours(data, b.Name, b.Hours) },
	tell:    func(data []byte, b settingsBody) ([]byte, error) { return config.AddRecipient(data, b.Name, b.URL) },
	"untell": func(data []byte, b settingsBody) ([]byte, error) {
		return config.RemoveRecipient(data, b.Name)
	},
}

func (s *Server) settings(*http.Request) (any, error) {
	all, err := setup.ReadSettings(s.o.ConfigPath)
	if err != nil {
		return nil, settingsRefusal(err)
	}
	return all, nil
}

func (s *Server) discover(r *http.Request) (any, error) {
	found, err := s.o.Settings.Discover(r.Context())
	if r.Context().Err() != nil {
		return nil, Refuse(Timeout, "the network is too large to look for printers here: "+
			"ticketrail printers discover looks longer")
	}
	if err != nil {
		return nil, err
	}
	return cleaned(found)
}

// changeSettings makes one change. A new recipient also gets a message: a wrong address would be noticed only when
// it is needed.
func (s *Server) changeSettings(r *http.Request, b settingsBody) (any, error) {
	what := r.PathValue("what")
	edit := edits[what]
	if edit == nil {
		return nil, Refuse(NotFound, "there is no setting %q", what)
	}

	notes, err := s.o.Settings.Change(b.Version, func(data []byte) ([]byte, error) { return edit(data, b) })
	if err != nil {
		return nil, settingsRefusal(err)
	}
	s.logChange(r, "settings", what, b.Name, "address", b.Address, "profile", b.Profile,
		"hours", strings.Join(b.Hours, "; "))

	if what == tell {
		if err := s.o.Settings.Test(r.Context(), b.Name); err != nil {
			notes = append(notes, "the test message did not arrive: "+err.Error())
		}
	}
	return map[string][]string{"notes": append([]string{}, notes...)}, nil // warnings for the person
}

// settingsRefusal gives an error of the settings its code. Its text is for the person: the words of the check
// of the configuration, which name no secret. An error of the disk stays as it is, and is not for the page.
func settingsRefusal(err error) error {
	if errors.Is(err, setup.ErrChanged) {
		return Refuse(Conflict, "%v", setup.ErrChanged)
	}
	_, coded := errors.AsType[*Error](err)
	if _, ofDisk := errors.AsType[syscall.Errno](err); coded || ofDisk {
		return err
	}
	return Refuse(BadRequest, "%v", err)
}
