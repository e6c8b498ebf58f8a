package config

import (
	"time"

	"ticketrail/printer/push"
)

// Screen is a station on a display: a page that the daemon serves, open in a browser in the
// kitchen. With mode pass it is the screen at the pass, which shows the orders of other screens.
type Screen struct {
	// Name is the station's name, with the same rules as a printer's; names are unique over all
	// kinds of stations. Required. Tickets on the board of a name that is removed from the file are
	// kept.
	Name string `mapstructure:"name"`
	// Title is the heading of the page. Default: the name.
	Title string `mapstructure:"title"`
	// Mode is prep or pass. A prep screen has tickets of its own, which routes send there. A pass
	// screen shows the orders of the screens in Of and which of these are done; no route leads to
	// it, so Backup, HoldFor and ExpireAfter have no effect. Default prep.
	Mode string `mapstructure:"mode" default:"prep" oneof:"prep pass"`
	// Of are the prep screens that a pass shows. Required there, not allowed elsewhere.
	Of []string `mapstructure:"of"`
	// LeaveOut are other stations that a pass neither shows nor waits for: [bar]. Default none.
	LeaveOut []string `mapstructure:"leave_out"`
	// PickupNames has the pickup board of a pass, at /screen/NAME/pickup, show the guests' names beside their numbers.
	// Default false.
	PickupNames bool `mapstructure:"pickup_names"`
	// WarnAfter is the age at which a ticket is highlighted. Default 5m, 10s to 24h.
	WarnAfter time.Duration `mapstructure:"warn_after" default:"5m" range:"10s 24h"`
	// LateAfter is the age at which it is highlighted as late; more than WarnAfter. Default 8m, up
	// to 24h.
	LateAfter time.Duration `mapstructure:"late_after" default:"8m" range:"10s 24h"`
	// Backup is the station where its tickets come out while no browser shows this screen, headed
	// FOR HOT LINE (screen down): tickets that no cook has seen, and tickets that were shown but are not
	// done. Default: the fallback, unless that is this station or is itself backed up by it.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long no browser may show the screen until the backup takes over. Default 20s,
	// 5s to 24h.
	HoldFor time.Duration `mapstructure:"hold_for" default:"20s" range:"5s 24h"`
	// ExpireAfter is how old a ticket may be and still be shown; older ones expire, and a slip
	// lists them. A ticket that is already on the board stays there. Default 4h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after" default:"4h" range:"1m 720h"`
	// UnseenAfter is how long a ticket may be on a page of the board to which no cook has turned, until
	// the screen says so. Default 45s, 10s to 1h.
	UnseenAfter time.Duration `mapstructure:"unseen_after" default:"45s" range:"10s 1h"`
	// AckAlarms means that a ticket with an allergy must be acknowledged before it can be bumped, as a
	// cancellation must be. Ticket.Alarms has the words. Default false.
	AckAlarms bool `mapstructure:"ack_alarms"`
	// Repeat is how often the sound for a cancellation, a late ticket or a ready order comes again
	// until a cook has acknowledged it. Default 0s: once. 5s to 10m.
	Repeat time.Duration `mapstructure:"repeat" range:"5s 10m" zero:"allowed"`
	// Keys assigns keys of a keyboard or bump bar to actions: { bump: [F1], all_day: [F8, a] }. An
	// action named here has only these keys. The page's help lists all actions. Default none: the
	// built-in keys.
	Keys KeyMap `mapstructure:"keys"`
}

// A KeyMap is lists of keys, with the names that browsers give them, by action.
type KeyMap map[string][]string

// IsPass reports whether it is a pass, to which no ticket is routed.
func (s Screen) IsPass() bool { return s.Mode == "pass" }

// KDS is a station that posts its tickets to a third-party kitchen display.
type KDS struct {
	push.Options `mapstructure:",squash"`
	// Backup is the station that takes over after HoldFor, as for a printer. It does not know which
	// tickets reached the display, so tickets that may have arrived there print POSSIBLE DUPLICATE. A ticket
	// that the display refuses for good goes there at once, without a backup to the fallback. Default none.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long the first ticket of the queue must have failed until the backup takes
	// over. Default 2m, 10s to 24h.
	HoldFor time.Duration `mapstructure:"hold_for" default:"2m" range:"10s 24h"`
	// ExpireAfter is how old a ticket may be and still be posted; older ones expire, and a slip
	// lists them. Default 4h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after" default:"4h" range:"1m 720h"`
}

// Display is where the pages of the screens, and the page for managers, are served.
type Display struct {
	// Listen is the address and port. Default 127.0.0.1:9322: only for a browser on this box, which
	// need not be paired. Any address that is not a loopback address requires TLS or Insecure, and
	// each browser must be paired with ticketrail screens pair. Empty: no pages; then there can be no screens.
	// Needs a restart.
	Listen string `mapstructure:"listen" reload:"restart" default:"127.0.0.1:9322"`
	// TLS makes it serve HTTPS.
	TLS KeyPair `mapstructure:"tls"`
	// Insecure allows plain HTTP on an address that is not a loopback address: everyone in that
	// network can read orders and take over a screen. Browsers keep a screen awake only over HTTPS.
	// Default false.
	Insecure bool `mapstructure:"insecure"`
	// Language is the language of the texts and buttons on the screens and on the page for managers: en, es, fr,
	// de, it, pt or zh. The text of an order is never translated. Default en.
	Language string `mapstructure:"language" default:"en" oneof:"en es fr de it pt zh"`
	// Places is flow or fixed: whether the cards on a screen move up when one is bumped, or each keeps its
	// place until it is bumped, and new ones come where there is room. Letters of fixed cards have the size M, unless a
	// tablet has another one. Default flow.
	Places string `mapstructure:"places" default:"flow" oneof:"flow fixed"`
	// Colours are the words that colour a modifier on all screens. Default none.
	Colours Colours `mapstructure:"colours"`
}

// Colours are lists of words, with the rules of Ticket.Alarms. A modifier in which words of several
// lists are found has the first of these colours.
type Colours struct {
	Red    []string `mapstructure:"red"`
	Amber  []string `mapstructure:"amber"`
	Green  []string `mapstructure:"green"`
	Blue   []string `mapstructure:"blue"`
	Violet []string `mapstructure:"violet"`
}

// A ColourRule is a colour and its words.
type ColourRule struct {
	Colour string // its key in the file
	Words  []string
}

// Rules returns all colours, the ones that come first first.
func (c Colours) Rules() []ColourRule {
	return []ColourRule{{"red", c.Red}, {"amber", c.Amber}, {"green", c.Green}, {"blue", c.Blue}, {"violet", c.Violet}}
}

// A KeyPair names PEM files. Default none: plain HTTP. Their contents are read again when they
// change; other names need a restart.
type KeyPair struct {
	CertFile string `mapstructure:"cert_file" file:"public" reload:"restart"` // the certificate and its chain
	// KeyFile is its private key; readable for the daemon only.
	KeyFile string `mapstructure:"key_file" file:"secret" reload:"restart"`
}

// Enabled reports whether there are such files.
func (p KeyPair) Enabled() bool { return p.CertFile != "" || p.KeyFile != "" }

// A station has the values that stations of all kinds have.
type station struct {
	list         string // its key in the file
	index        int
	name, backup string
	holdFor      time.Duration
	screen, pass bool
}

// stations returns the stations of all kinds, in the order of the file.
func (c *Config) stations() (all []station) {
	for i, p := range c.Printers {
		all = append(all, station{"printers", i, p.Name, p.Backup, p.HoldFor, false, false})
	}
	for i, s := range c.Screens {
		all = append(all, station{"screens", i, s.Name, s.Backup, s.HoldFor, true, s.IsPass()})
	}
	for i, d := range c.KDS {
		all = append(all, station{"kds", i, d.Name, d.Backup, d.HoldFor, false, false})
	}
	for i, l := range c.Logs {
		all = append(all, station{"logs", i, l.Name, l.Backup, l.HoldFor, false, false})
	}
	return all
}

// Stations returns the names of all stations that a ticket can be sent to: the printers, the
// screens except passes, the third-party displays, the logs, each in the order of the file.
func (c *Config) Stations() []string {
	var names []string
	for _, s := range c.stations() {
		if !s.pass {
			names = append(names, s.name)
		}
	}
	return names
}

// BackupOf returns the backup of a station and how long the station must have failed until the
// backup takes over; "" if there is none. It applies the default of a screen.
func (c *Config) BackupOf(name string) (backup string, after time.Duration) {
	own := c.stationNamed(name)
	if own.backup != "" || !own.screen {
		return own.backup, own.holdFor
	}

	// Only backups named in the file are followed: a screen that has this default too ends at the same fallback.
	seen := map[string]bool{}
	for next := c.Fallback; next != "" && !seen[next]; next = c.stationNamed(next).backup {
		if next == name {
			return "", own.holdFor
		}
		seen[next] = true
	}

	return c.Fallback, own.holdFor
}

// stationNamed returns the station of that name, with the backup named in the file.
func (c *Config) stationNamed(name string) station {
	for _, s := range c.stations() {
		if s.name == name && !s.pass {
			return s
		}
	}
	return station{}
}
