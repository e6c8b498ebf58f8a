package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/printer/kds"
	"ticketrail/printer/layout"
)

// onlineDisplays is what was found out about the screens and the displays of others.
type onlineDisplays struct {
	conf    *config.Config
	screens admin.Screens
	err     error   // why nothing is known about the screens
	pushes  []error // of each of conf.KDS
}

// askDisplays asks the running daemon about its screens, for only that has them, and each display
// of others whether it is there. Nothing is shown or sent.
func askDisplays(ctx context.Context, conf *config.Config) *onlineDisplays {
	o := &onlineDisplays{conf: conf, pushes: make([]error, len(conf.KDS))}
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	var wg sync.WaitGroup
	if len(conf.Screens) > 0 {
		wg.Go(func() { o.screens, o.err = admin.NewClient(conf.Admin.Socket).Screens(ctx) })
	}
	for i, c := range conf.KDS {
		wg.Go(func() {
			p, err := kds.NewPush(pushOptions(c))
			if err == nil {
				err = p.Check(ctx)
			}
			o.pushes[i] = err
		})
	}
	wg.Wait()
	return o
}

// show writes a line for each, and returns what is wrong.
func (o *onlineDisplays) show(w io.Writer) (wrong []error) {
	var dark, missing []string
	for _, c := range o.conf.Screens {
		switch s, known := o.screen(c.Name); {
		case o.err != nil:
			fmt.Fprintf(w, "WARN  screen %s  whether somebody looks at it is not known: %s\n", c.Name, layout.Clean(notAsked(o.err)))
		case !known:
			fmt.Fprintf(w, "WARN  screen %s  the running daemon does not have it yet: systemctl reload ticketrail\n", c.Name)
		case s.Live > 0:
			fmt.Fprintf(w, "OK    screen %s  %s: pages open: %d\n", c.Name, s.Address, s.Live)
		case s.State == admin.ScreenUnset:
			dark = append(dark, c.Name)
			fmt.Fprintf(w, "FAIL  screen %s  was never open nor paired: %s\n", c.Name, screenAdvice(s))
		default:
			dark = append(dark, c.Name)
			fmt.Fprintf(w, "FAIL  screen %s  nobody is looking since %s: %s\n", c.Name, s.Since.Local().Format(time.DateTime), screenAdvice(s))
		}
	}
	for i, c := range o.conf.KDS {
		if err := o.pushes[i]; err != nil {
			missing = append(missing, c.Name)
			fmt.Fprintf(w, "FAIL  kds %s  %s; do: see that it runs, that its url and ca_file are right, and that this box reaches it\n", c.Name, layout.Clean(err.Error()))
		} else {
			fmt.Fprintf(w, "OK    kds %s  %s is there; whether it takes tickets only a ticket can tell\n", c.Name, (&push{conf: c}).host())
		}
	}
	if len(dark) > 0 {
		wrong = append(wrong, fmt.Errorf("nobody is looking at %s", strings.Join(dark, ", ")))
	}
	if len(missing) > 0 {
		wrong = append(wrong, fmt.Errorf("no display answers for %s", strings.Join(missing, ", ")))
	}
	return wrong
}

func (o *onlineDisplays) screen(name string) (admin.Screen, bool) {
	for _, s := range o.screens.Screens {
		if s.Name == name {
			return s, true
		}
	}
	return admin.Screen{}, false
}

// notAsked is why the daemon was not asked, in few words.
func notAsked(err error) string {
	if _, ok := errors.AsType[*admin.NotRunning](err); ok {
		return "the daemon is not running"
	}
	return err.Error()
}
