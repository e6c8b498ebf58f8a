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

// Settings reads and changes the configuration file.
type Settings interface {
	Read() (setup.Settings, error)
	// Change edits the file of the version that the person saw, checks and saves it, and loads it as a reload does. It
	// returns the warnings that the configuration before did not have.
	Change(seen string, edit setup.Edit) (warnings []string, err error)
	// Test sends a message to the recipient of that name.
	Test(ctx context.Context, recipient string) error
	// Discover looks for printers, and prints nothing.
	Discover(ctx context.Context) (printers any, err error)
}

// Bodies of the changes. Version is the version of the file that the person saw.
type (
	printerBody struct {
		Version string `json:"version"`
		Name    string `json:"name"`
		Address string `json:"address"`
		Profile string `json:"profile"`
		MAC     string `json:"mac,omitempty"` // of the printer at Address, if it was found
	}
	hoursBody struct {
		Version string   `json:"version"`
		Name    string   `json:"name"` // of the venue
		Hours   []string `json:"hours"`
	}
	recipientBody struct {
		Version string `json:"version"`
		Name    string `json:"name"`
		URL     string `json:"url,omitempty"`
	}
	changedBody struct {
		Notes []string `json:"notes"` // warnings for the person
	}
)

func (b printerBody) saysVersion() bool   { return b.Version != "" }
func (b hoursBody) saysVersion() bool     { return b.Version != "" }
func (b recipientBody) saysVersion() bool { return b.Version != "" }

func (s *Server) settings(*http.Request) (any, error) {
	all, err := s.o.Settings.Read()
	if err != nil {
		return nil, settingsRefusal(err)
	}
	return all, nil
}

func (s *Server) discover(r *http.Request) (any, error) {
	found, err := s.o.Settings.Discover(r.Context())
	if r.Context().Err() != nil {
		return nil, refuse(Timeout, "the network is too large to look for printers here: "+
			"ticketrail printers discover looks longer")
	}
	if err != nil {
		return nil, err
	}
	return cleaned(found)
}

func (s *Server) setPrinter(r *http.Request, b printerBody) (any, error) {
	return s.change(r, b.Version, func(data []byte) ([]byte, error) {
		return config.SetPrinter(data, b.Name, b.Address, b.Profile, b.MAC)
	}, "printer", b.Name, "address", b.Address, "profile", b.Profile)
}

func (s *Server) setHours(r *http.Request, b hoursBody) (any, error) {
	return s.change(r, b.Version, func(data []byte) ([]byte, error) {
		return config.SetHours(data, b.Name, b.Hours)
	}, "venue", b.Name, "hours", strings.Join(b.Hours, "; "))
}

// addRecipient also sends a message: a wrong address would be noticed only when it is needed.
func (s *Server) addRecipient(r *http.Request, b recipientBody) (any, error) {
	done, err := s.change(r, b.Version, func(data []byte) ([]byte, error) {
		return config.AddRecipient(data, b.Name, b.URL)
	}, "told", b.Name)
	if err != nil {
		return nil, err
	}
	if err := s.o.Settings.Test(r.Context(), b.Name); err != nil {
		done.Notes = append(done.Notes, "the test message did not arrive: "+err.Error())
	}
	return done, nil
}

func (s *Server) removeRecipient(r *http.Request, b recipientBody) (any, error) {
	return s.change(r, b.Version, func(data []byte) ([]byte, error) {
		return config.RemoveRecipient(data, b.Name)
	}, "told_no_more", b.Name)
}

// change makes a change, and logs it with args, which have no secret.
func (s *Server) change(r *http.Request, seen string, edit setup.Edit, args ...any) (changedBody, error) {
	notes, err := s.o.Settings.Change(seen, edit)
	if err != nil {
		return changedBody{}, settingsRefusal(err)
	}
	s.logChange(r, "settings", args...)
	return changedBody{append([]string{}, notes...)}, nil
}

// settingsRefusal gives an error of the settings its code. Its text is for the person: the words of the check
// of the configuration, which name no secret. An error of the disk stays as it is, and is not for the page.
func settingsRefusal(err error) error {
	if errors.Is(err, setup.ErrChanged) {
		return refuse(Conflict, "%v", setup.ErrChanged)
	}
	_, coded := errors.AsType[*Error](err)
	if _, ofDisk := errors.AsType[syscall.Errno](err); coded || ofDisk {
		return err
	}
	return refuse(BadRequest, "%v", err)
}
