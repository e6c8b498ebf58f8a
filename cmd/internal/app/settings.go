package app

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/notify"
	"ticketrail/cmd/internal/setup"
	"ticketrail/config"
)

// settings lets the page for managers change the configuration file.
type settings struct {
	a         *App
	searching sync.Mutex // locked while printers are looked for
}

// Change saves only what can be loaded: everything that may fail but the writing itself is done before. A crash after
// the file was written leaves one with which the daemon starts.
func (s *settings) Change(seen string, edit setup.Edit) ([]string, error) {
	s.a.reloading.Lock()
	defer s.a.reloading.Unlock()
	var next *snapshot
	err := setup.Change(s.a.o.ConfigPath, seen, edit, func(conf *config.Config) (err error) {
		next, err = s.a.build(conf)
		return err
	})
	if err != nil {
		return nil, err
	}

	known := s.a.active.Load().Warnings
	done, err := s.a.loaded(s.a.activate(next), nil)
	return slices.DeleteFunc(done.Warnings, func(w string) bool { return slices.Contains(known, w) }), err
}

func (s *settings) Test(ctx context.Context, recipient string) error {
	for _, to := range s.a.active.Load().Notify.To {
		if to.Name == recipient {
			return notify.Test(ctx, s.a.place(), to)
		}
	}
	return fmt.Errorf("nobody is told as %q any more", recipient)
}

// Discover looks for printers in one search at a time: it asks many addresses at once.
func (s *settings) Discover(ctx context.Context) (any, error) {
	if !s.searching.TryLock() {
		return nil, admin.Refuse(admin.Busy, "somebody else is looking for printers: try again")
	}
	defer s.searching.Unlock()
	d, err := doctor.NewDiscovery(nil)
	if err != nil {
		return nil, err
	}

	return d.Run(ctx)
}
