package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"ticketrail/printer/kds"
	"ticketrail/printer/push"
)

// everyStation checks the keys that stations of all kinds have.
func (k *checker) everyStation() {
	all := k.c.stations()
	if len(k.c.Stations()) == 0 {
		k.add("printers", "there are no stations; configure at least one printer, screen, kds or log")
	}

	for _, s := range all {
		at := fmt.Sprintf("%s[%d]", s.list, s.index)
		k.stationName(at, s.name)
		for _, key := range []string{"backup", "hold_for", "expire_after"} {
			if s.pass && k.lines[at+"."+key] != 0 {
				k.warn(at+"."+key, "has no effect on a screen of mode pass, which shows the tickets of other screens")
			}
		}

		if s.backup == "" && !s.screen && s.holdFor != DefaultPrinter().HoldFor { // in all kinds but screens
			k.warn(at+".hold_for", "has no effect without a backup")
		}
		if !s.pass {
			k.backup(at, s.name, s.backup)
		}
	}
}

// stationName checks the name of a station of any kind.
func (k *checker) stationName(at, name string) {
	if nameProblem(name) == "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]*$`).MatchString(name) {
		k.add(at+".name", "%s is not a valid name; use letters A to Z, digits, spaces and . _ - and begin with a "+
			"letter or digit", quote(name))
	}
	k.name(at, name, k.stations)
}

func (k *checker) screens() {
	for i := range k.c.Screens {
		screen := &k.c.Screens[i]
		at := fmt.Sprintf("screens[%d]", i)
		k.judged(at+".keys", kds.CheckKeys(screen.Keys))
		if screen.Title != "" {
			k.addIf(at+".title", nameProblem(screen.Title))
		}
		if screen.LateAfter <= screen.WarnAfter && !k.hasProblem(at+".warn_after") && !k.hasProblem(at+".late_after") {
			k.add(at+".late_after", "%s is not more than warn_after (%s)", short(screen.LateAfter),
				short(screen.WarnAfter))
		}

		if screen.IsPass() {
			k.passScreen(at, screen)
		} else {
			k.prepScreen(at, screen)
		}
	}
}

// prepScreen checks the keys of a screen with tickets of its own.
func (k *checker) prepScreen(at string, s *Screen) {
	for _, key := range []struct {
		name string
		set  bool
	}{{"of", len(s.Of) > 0}, {"leave_out", len(s.LeaveOut) > 0}, {"pickup_names", s.PickupNames}} {
		if key.set {
			k.add(at+"."+key.name, "is only for screens of mode pass")
		}
	}
	if b, _ := k.c.BackupOf(s.Name); b == "" && !k.hasProblemBelow(at) && !k.hasProblem("fallback") {
		k.warn(at+".backup", "is not set, and the fallback cannot be used: while no browser shows this screen, "+
			"tickets for %s are neither shown nor printed", s.Name)
	}
}

// passScreen checks the keys of a pass.
func (k *checker) passScreen(at string, s *Screen) {
	if len(s.Of) == 0 {
		k.add(at+".of", "is missing; list the screens whose orders this screen shows")
	}
	for j, name := range s.LeaveOut {
		here := fmt.Sprintf("%s.leave_out[%d]", at, j)
		if k.station(here, name) && slices.Contains(s.Of, name) {
			k.add(here, "%s is in of, so this screen shows it", quote(name))
		}
	}

	var own []string // the screens that have tickets of their own
	for _, other := range k.c.Screens {
		if !other.IsPass() && other.Name != "" {
			own = append(own, other.Name)
		}
	}

	for j, name := range s.Of {
		here := fmt.Sprintf("%s.of[%d]", at, j)
		if slices.Index(s.Of, name) < j {
			k.add(here, "%s is listed twice", quote(name))
		} else if !slices.Contains(own, name) {
			k.add(here, "%s", notFound("screen of mode prep", name, own))
		}
	}
}

func (k *checker) kds() {
	for i := range k.c.KDS {
		display := &k.c.KDS[i]
		at := fmt.Sprintf("kds[%d]", i)
		// The URL may contain a secret, so messages do not repeat it.
		_, err := push.New(display.Options)
		k.judgedKey(at, err)
		if u, err := url.Parse(display.URL); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
			k.warn(at+".url", "is plain HTTP: orders and the token, if there is one, are sent unencrypted")
		}

		k.read(at+".token_file", display.TokenFile)
		k.read(at+".secret_file", display.SecretFile)
		k.read(at+".ca_file", display.CAFile)
	}
}

// display checks where the pages of the screens are served.
func (k *checker) display() {
	pages := &k.c.Display
	if pages.Listen != "" {
		k.addIf("display.listen", listenProblem(pages.Listen, pages.Insecure || pages.TLS.Enabled(),
			"set display.tls, or display.insecure: true"))
	} else if len(k.c.Screens) > 0 {
		k.add("display.listen", "is empty, and there are screens; for example 127.0.0.1:9322")
	}

	for _, r := range pages.Colours.Rules() {
		k.words("display.colours."+r.Colour, r.Words)
	}
	k.keyPair("display.tls", pages.TLS, false)
}
