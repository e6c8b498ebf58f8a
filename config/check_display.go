package config

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// stationName checks the name of a station of whatever kind.
func (k *checker) stationName(at, name string) {
	if msg := badName(name); msg != "" {
		k.add(at+".name", "%s", msg)
		return
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]*$`).MatchString(name) {
		k.add(at+".name", "%s: only letters A to Z, digits, spaces and . _ - are possible, a letter or digit first", quote(name))
		return
	}
	if k.stations == nil {
		k.stations = map[string]string{}
	}
	folded := strings.ToLower(name)
	if first, ok := k.stations[folded]; ok {
		k.add(at+".name", "%s is taken by %s", quote(name), first)
		return
	}
	k.stations[folded] = at
}

func (k *checker) screens() {
	for i := range k.c.Screens {
		s := &k.c.Screens[i]
		at := fmt.Sprintf("screens[%d]", i)
		k.stationName(at, s.Name)
		if msg := badName(s.Title); s.Title != "" && msg != "" {
			k.add(at+".title", "%s", msg)
		}
		k.oneOf(at+".mode", s.Mode, modePrep, modeExpo)
		k.span(at+".warn_after", s.WarnAfter, 10*time.Second, 24*time.Hour, "")
		k.span(at+".late_after", s.LateAfter, 10*time.Second, 24*time.Hour, "")
		if s.LateAfter <= s.WarnAfter && !k.bad(at+".warn_after") && !k.bad(at+".late_after") {
			k.add(at+".late_after", "%s is not more than warn_after, %s", short(s.LateAfter), short(s.WarnAfter))
		}
		k.span(at+".hold_for", s.HoldFor, 5*time.Second, 24*time.Hour, "")
		k.span(at+".expire_after", s.ExpireAfter, time.Minute, 720*time.Hour, "")
		if s.Expo() {
			k.pass(at, s)
		} else {
			k.prep(at, s)
		}
	}
}

func (k *checker) prep(at string, s *Screen) {
	if len(s.Of) > 0 {
		k.add(at+".of", "is for a screen of mode expo")
	}
	k.backup(at, s.Name, s.Backup)
	if b, _ := k.c.BackupOf(s.Name); b == "" && !k.badBelow(at) && !k.bad("fallback") {
		k.warn(at+".backup", "is nobody: while no page of it is open, tickets for %s come out nowhere", s.Name)
	}
}

// pass checks what only a screen of the pass has, and warns of what means nothing there.
func (k *checker) pass(at string, s *Screen) {
	if len(s.Of) == 0 {
		k.add(at+".of", "is missing; name the screens whose orders the pass sees")
	}
	for j, name := range s.Of {
		here := fmt.Sprintf("%s.of[%d]", at, j)
		i := slices.IndexFunc(k.c.Screens, func(o Screen) bool { return o.Name == name })
		switch {
		case slices.Index(s.Of, name) < j:
			k.add(here, "%s stands twice", quote(name))
		case name == s.Name:
			k.add(here, "%s is this screen itself", quote(name))
		case i >= 0 && k.c.Screens[i].Expo():
			k.add(here, "%s is a screen of mode expo; name the screens that have tickets of their own", quote(name))
		case i < 0 && slices.Contains(k.c.Stations(), name):
			k.add(here, "%s is no screen; the pass sees screens only", quote(name))
		case i < 0:
			k.add(here, "there is no screen %s%s", quote(name), k.screenHint(name))
		}
	}
	usual := DefaultScreen()
	for _, x := range []struct {
		key     string
		changed bool
	}{{"backup", s.Backup != ""}, {"hold_for", s.HoldFor != usual.HoldFor}, {"expire_after", s.ExpireAfter != usual.ExpireAfter}} {
		if x.changed {
			k.warn(at+"."+x.key, "has no effect on a screen of mode expo: its tickets are those of other stations")
		}
	}
}

func (k *checker) screenHint(name string) string {
	var there []string
	for _, s := range k.c.Screens {
		if !s.Expo() && s.Name != "" {
			there = append(there, s.Name)
		}
	}
	switch s := suggest(name, there); {
	case s != "":
		return "; did you mean " + s + "?"
	case len(there) > 0:
		return "; there is " + enumerate(there)
	}
	return ""
}

func (k *checker) kds() {
	for i := range k.c.KDS {
		d := &k.c.KDS[i]
		at := fmt.Sprintf("kds[%d]", i)
		k.stationName(at, d.Name)
		// The address may hold a secret: it is not repeated.
		if d.URL == "" {
			k.add(at+".url", "is missing; write it as https://kds.example/api/tickets")
		} else if u, err := url.Parse(d.URL); err == nil && u.Scheme == "http" && !loopbackName(u.Hostname()) {
			k.warn(at+".url", "is plain HTTP: orders, and the token if there is one, can be read on the way")
		}
		for _, f := range []struct {
			key    string
			name   *string
			secret bool
		}{{"token_file", &d.TokenFile, true}, {"secret_file", &d.SecretFile, true}, {"ca_file", &d.CAFile, false}} {
			if *f.name = k.secretName(*f.name); *f.name == "" {
				continue
			}
			if _, err := readSmall(*f.name, maxFile); err != nil {
				k.add(at+"."+f.key, "%v", err)
			} else if f.secret {
				k.exposed(at+"."+f.key, *f.name)
			}
		}
		k.span(at+".timeout", d.Timeout, time.Second, time.Minute, "")
		k.span(at+".expire_after", d.ExpireAfter, time.Minute, 720*time.Hour, "")
		k.span(at+".hold_for", d.HoldFor, 10*time.Second, 24*time.Hour, "")
		if d.Backup == "" && d.HoldFor != DefaultKDS().HoldFor {
			k.warn(at+".hold_for", "has no effect without a backup")
		}
		k.backup(at, d.Name, d.Backup)
	}
}

func loopbackName(host string) bool {
	addr, msg := listenAddr(net.JoinHostPort(host, "1"))
	return msg == "" && addr.IsLoopback()
}

// display checks where the pages are served.
func (k *checker) display() {
	d := &k.c.Display
	d.TLS.CertFile, d.TLS.KeyFile = k.secretName(d.TLS.CertFile), k.secretName(d.TLS.KeyFile)
	if msg := d.refuses(d.Listen); msg != "" {
		k.add("display.listen", "%s", msg)
	} else if len(k.c.Screens) > 0 {
		for _, other := range []struct{ key, listen string }{{"receiver.listen", k.c.Receiver.Listen}, {"metrics.listen", k.c.Metrics.Listen}} {
			if samePort(d.Listen, other.listen) {
				k.add("display.listen", "%s is taken by %s; each has its own port", quote(d.Listen), other.key)
			}
		}
	}
	switch {
	case !d.TLS.Enabled():
		return
	case d.TLS.CertFile == "":
		k.add("display.tls.cert_file", "is missing; a key without its certificate is no use")
		return
	case d.TLS.KeyFile == "":
		k.add("display.tls.key_file", "is missing; a certificate without its key is no use")
		return
	}
	cert, certErr := readSmall(d.TLS.CertFile, maxFile)
	if certErr != nil {
		k.add("display.tls.cert_file", "%v", certErr)
	}
	pk, keyErr := readSmall(d.TLS.KeyFile, maxFile)
	if keyErr != nil {
		k.add("display.tls.key_file", "%v", keyErr)
	}
	if certErr == nil && keyErr == nil {
		if _, err := tls.X509KeyPair(cert, pk); err != nil {
			k.add("display.tls.cert_file", "%s and %s are no pair: %v", d.TLS.CertFile, d.TLS.KeyFile, err)
		}
		k.exposed("display.tls.key_file", d.TLS.KeyFile)
	}
}

// refuses says why the pages must not be served on hostport; empty when they may.
func (d *Display) refuses(hostport string) string {
	addr, msg := listenAddr(hostport)
	if msg != "" || addr.IsLoopback() || d.Insecure || d.TLS.Enabled() {
		return msg
	}
	return fmt.Sprintf("%s is not loopback, and orders would cross the network in plain text; set display.tls, or display.insecure: true", hostport)
}

// samePort says whether two addresses to listen on are in each other's way.
func samePort(a, b string) bool {
	aAddr, aMsg := listenAddr(a)
	bAddr, bMsg := listenAddr(b)
	if aMsg != "" || bMsg != "" {
		return false
	}
	_, aPort, _ := net.SplitHostPort(a)
	_, bPort, _ := net.SplitHostPort(b)
	return aPort == bPort && aPort != "0" && (aAddr == bAddr || aAddr.IsUnspecified() || bAddr.IsUnspecified())
}
