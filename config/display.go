package config

import (
	"time"
)

// Screen is a station made of pixels: a page that the daemon serves itself, open in a browser in
// the kitchen. With mode expo it is the pass, which shows what other screens have.
type Screen struct {
	// Name is the station's name, by the rules of a printer's; no two stations of whatever kind
	// share one. Required. What is on the board of a name that is taken out of the file is kept.
	Name string `mapstructure:"name"`
	// Title is what the page calls it. Default: the name.
	Title string `mapstructure:"title"`
	// Mode is prep: it has tickets of its own, which routes send there; or expo: the orders of
	// the screens in Of, and which of these are done. No route leads to an expo screen, so Backup,
	// HoldFor and ExpireAfter mean nothing there. Default prep.
	Mode string `mapstructure:"mode"`
	// Of are the prep screens that an expo screen sees. Required there, nothing elsewhere.
	Of []string `mapstructure:"of"`
	// WarnAfter is the age at which a ticket is marked. Default 5m, 10s to 24h.
	WarnAfter time.Duration `mapstructure:"warn_after"`
	// LateAfter is the age at which it is marked as late; more than WarnAfter. Default 8m, up
	// to 24h.
	LateAfter time.Duration `mapstructure:"late_after"`
	// Backup is the station that its tickets come out of while no page of it is open, headed FOR
	// HOT LINE (screen down): those that nobody was shown, and those that were shown and are not
	// done. Default: the fallback, unless that is this station or is itself backed up by it.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long no page must have been open for that. Default 20s, 5s to 24h.
	HoldFor time.Duration `mapstructure:"hold_for"`
	// ExpireAfter is how old a ticket may be and still be shown; older ones expire, and a slip
	// lists them. What is on the board stays there. Default 4h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after"`
	// Keys says which keys of a keyboard or a bump bar do what: lists of keys by action, as
	// { bump: [F1], all_day: [F8, a] }. An action that is named has these keys only. The page's
	// help shows them all. Default none: the built-in ones.
	Keys KeyMap `mapstructure:"keys"`
}

// A KeyMap is lists of keys, as browsers call them, by what they do.
type KeyMap map[string][]string

// Expo says that it is a screen of the pass, and no station that a ticket is routed to.
func (s Screen) Expo() bool { return s.Mode == modeExpo }

const (
	modePrep = "prep"
	modeExpo = "expo"
)

// KDS is a station that posts its tickets to a kitchen display of somebody else's.
type KDS struct {
	// Name is the station's name, by the rules of a printer's. Required.
	Name string `mapstructure:"name"`
	// URL is where a ticket is posted to, one at a time, as JSON. Required. A path that is a
	// secret is not shown, but everybody who may read this file can.
	URL string `mapstructure:"url"`
	// TokenFile names a file with a bearer token. It is read anew for each ticket, as are the
	// other two. Default none.
	TokenFile string `mapstructure:"token_file"`
	// SecretFile names a file with secrets (whsec_…), one a line, by which each ticket is signed
	// as Standard Webhooks say. Default none.
	SecretFile string `mapstructure:"secret_file"`
	// CAFile names a file with the PEM certificates of who may vouch for the display. Default
	// none: whom this box trusts.
	CAFile string `mapstructure:"ca_file"`
	// Timeout is for connecting, and then for sending a ticket and its answer. Default 5s, 1s
	// to 60s.
	Timeout time.Duration `mapstructure:"timeout"`
	// IncludeRaw sends the record along as the service sent it. Default false.
	IncludeRaw bool `mapstructure:"include_raw"`
	// Backup is the station that stands in after HoldFor, as a printer's. It does not know what
	// the display has, so what may have arrived there says POSSIBLE DUPLICATE. Default none.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long the head of this line must have failed for that. Default 2m, 10s
	// to 24h.
	HoldFor time.Duration `mapstructure:"hold_for"`
	// ExpireAfter is how old a ticket may be and still be posted; older ones expire, and a slip
	// lists them. Default 4h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after"`
}

// Display is where the pages of the screens are served. Without screens nothing listens there.
type Display struct {
	// Listen is the address and port. Default 127.0.0.1:9322: only for a browser on this box,
	// which need not be paired. Any address that is not loopback needs TLS or Insecure, and each
	// browser must be paired: ticketrail screens pair. Restart.
	Listen string `mapstructure:"listen" reload:"restart"`
	// TLS makes it speak HTTPS.
	TLS DisplayTLS `mapstructure:"tls"`
	// Insecure allows plain HTTP on an address that is not loopback: who is in that network can
	// read orders, and take over a screen. Browsers keep the screen awake over HTTPS only.
	// Default false.
	Insecure bool `mapstructure:"insecure"`
}

// DisplayTLS names PEM files. Default none: plain HTTP. What is in them is read again when they
// change; other names need a restart.
type DisplayTLS struct {
	CertFile string `mapstructure:"cert_file" reload:"restart"` // the certificate and its chain
	KeyFile  string `mapstructure:"key_file" reload:"restart"`  // its private key; keep it unreadable to others
}

// Enabled says whether the pages are served over HTTPS.
func (t DisplayTLS) Enabled() bool { return t.CertFile != "" || t.KeyFile != "" }

// DefaultScreen is a screen of which only the name is said.
func DefaultScreen() Screen {
	return Screen{
		Mode: modePrep, WarnAfter: 5 * time.Minute, LateAfter: 8 * time.Minute,
		HoldFor: 20 * time.Second, ExpireAfter: 4 * time.Hour,
	}
}

// DefaultKDS is a display of which only the name and the address are said.
func DefaultKDS() KDS {
	return KDS{Timeout: 5 * time.Second, HoldFor: 2 * time.Minute, ExpireAfter: 4 * time.Hour}
}

// a station is what all kinds of them have.
type station struct {
	name, backup string
	holdFor      time.Duration
	screen       bool
}

// stations is all that a ticket can be sent to, in the order of the file.
func (c *Config) stations() (all []station) {
	for _, p := range c.Printers {
		all = append(all, station{p.Name, p.Backup, p.HoldFor, false})
	}
	for _, s := range c.Screens {
		if !s.Expo() {
			all = append(all, station{s.Name, s.Backup, s.HoldFor, true})
		}
	}
	for _, d := range c.KDS {
		all = append(all, station{d.Name, d.Backup, d.HoldFor, false})
	}
	return all
}

// Stations is the names of all stations a ticket can be sent to: the printers, the screens but
// those of the pass, the displays of others, each in the order of the file.
func (c *Config) Stations() []string {
	var names []string
	for _, s := range c.stations() {
		names = append(names, s.name)
	}
	return names
}

// BackupOf is who stands in for a station, and how long that must have got nothing out; "" is
// nobody. It knows the default of a screen.
func (c *Config) BackupOf(name string) (backup string, after time.Duration) {
	s := c.stationNamed(name)
	if s.backup != "" || !s.screen {
		return s.backup, s.holdFor
	}
	// Only what is named is followed: a screen whose default leads here is on that way itself.
	seen := map[string]bool{}
	for next := c.Fallback; next != "" && !seen[next]; next = c.stationNamed(next).backup {
		if next == name {
			return "", s.holdFor
		}
		seen[next] = true
	}
	return c.Fallback, s.holdFor
}

// named is the station of that name, with the backup that the file names.
func (c *Config) stationNamed(name string) station {
	for _, s := range c.stations() {
		if s.name == name {
			return s
		}
	}
	return station{}
}
