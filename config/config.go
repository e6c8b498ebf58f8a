// Package config reads the configuration file: who may send orders, which stations there are, and
// which items go to which station.
//
// The structs are the reference manual: every key is documented here with its default, its unit and
// what it does. [Load] reads the file, applies the environment, and checks everything at once. It
// returns either a complete configuration or all problems, so a daemon never runs with half a
// configuration. A section that is the business of one package is declared there, with its defaults and
// limits, and that package judges its values: whether an address can be opened, an expression compiled.
// Here are the sections of the daemon itself, and the checks of several sections together. Nothing else
// in ticketrail reads settings.
//
// Every key outside the lists of venues, stations and routes, and outside ticket.fields, can also be
// set in the environment: receiver.listen as TICKETRAIL_RECEIVER_LISTEN, lists of words separated by
// commas. The environment takes precedence over the file, the file over the default. An empty
// variable counts as not set.
//
// Durations need a unit (4s, 2m, 72h), and so do sizes (512KiB, 1MiB). Relative file names are
// relative to the folder of the configuration file; the names of secrets and TLS files to
// $CREDENTIALS_DIRECTORY if systemd has set it.
package config

import (
	"cmp"
	"log/slog"
	"net/netip"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
	"ticketrail/receiver/pos"
)

// Config is the whole file. It is not changed after [Load], so it may be read from any goroutine; a
// reload makes a new one.
type Config struct {
	Receiver Receiver    `mapstructure:"receiver"`
	Source   Source      `mapstructure:"source"`
	Venues   []Venue     `mapstructure:"venues"`   // the allow-list: at least one
	Printers []Printer   `mapstructure:"printers"` // with screens, kds and logs the stations; at least one
	Screens  []Screen    `mapstructure:"screens"`
	KDS      []KDS       `mapstructure:"kds"`
	Logs     []TicketLog `mapstructure:"logs"`
	Display  Display     `mapstructure:"display"`
	// Routes are tried in order for every item; the first that matches takes it.
	Routes []plan.Route `mapstructure:"routes"`
	// Fallback is the station for items that no route matches; they print under the heading NO
	// ROUTE. Required, so that no order is lost. A venue may have its own.
	Fallback string `mapstructure:"fallback"`
	// Fonts are font files (TTF, OTF, TTC) for scripts that neither the printer nor
	// the built-in font has: Thai, Devanagari, rare Han characters. They are tried in this order,
	// after the built-in font. Default: Unifont and Noto, as far as they are installed. Letters
	// that no font has print in Latin ones, between tildes.
	// A font that cannot be read is no reason to refuse the configuration: tickets print without it.
	Fonts    []string   `mapstructure:"fonts" file:"local"`
	Ticket   TicketText `mapstructure:"ticket"`
	Storage  Storage    `mapstructure:"storage"`
	Admin    Admin      `mapstructure:"admin"`
	Metrics  Metrics    `mapstructure:"metrics"`
	Log      Log        `mapstructure:"log"`
	Service  Service    `mapstructure:"service"`
	Notify   Notify     `mapstructure:"notify"`
	Outcomes Outcomes   `mapstructure:"outcomes"`

	// Warnings are findings that Load accepted but that the operator should know: keys without effect,
	// secrets that all users can read. Set by Load; not a key.
	Warnings []string `mapstructure:"-"`
}

// Receiver is the webhook to which the service sends its print requests.
type Receiver struct {
	// Listen is the address and port of the webhook. Default 127.0.0.1:8443, for a reverse proxy or
	// tunnel on the same box. Any address that is not a loopback address requires TLS or Insecure.
	// Empty: there is no webhook, and all orders come from Source. Needs a restart.
	Listen string `mapstructure:"listen" reload:"restart" default:"127.0.0.1:8443"`
	// Path is where the service posts to. Default /webhooks/print. It is never logged, but everyone
	// who may read this file can see it: use SecretFile for a secret.
	Path string `mapstructure:"path" default:"/webhooks/print"`
	// SecretFile names a file with one or two lines. Each is a secret last segment of the path, at
	// least 22 of A–Z a–z 0–9 - _ (128 bits). The service is then given
	// https://HOST/webhooks/print/SECRET, and any other path is answered 404. Two lines are valid
	// at the same time. To change the secret: add the new one, reload, configure it in the service,
	// remove the old one, reload. Default none: anyone who can reach the port and knows a venue's
	// id can print. Generate one with:
	//
	//	head -c 24 /dev/urandom | base64 | tr +/ -_
	SecretFile string `mapstructure:"secret_file" file:"secret"`
	// ExternalURL is the address by which the service reaches the webhook, without Path:
	// https://kitchen.example.com. Only `doctor` asks it. Default: with TLS.ACME its name, else none.
	ExternalURL string `mapstructure:"external_url"`
	// Headers are the names of the headers that identify the venue and the terminal.
	Headers Headers `mapstructure:"headers"`
	// TLS makes the webhook serve HTTPS itself.
	TLS TLS `mapstructure:"tls"`
	// Insecure allows plain HTTP on an address that is not a loopback address: orders and the
	// secret path are then sent unencrypted. Default false.
	Insecure bool `mapstructure:"insecure"`
	// TrustedProxies are the networks (CIDR) of reverse proxies whose X-Forwarded-For header gives
	// the client's address. Default none: the client is the peer of the connection. Required for
	// AllowFrom behind a proxy or tunnel, even one on this box (127.0.0.0/8).
	TrustedProxies []netip.Prefix `mapstructure:"trusted_proxies"`
	// AllowFrom are the networks (CIDR) that may send requests; others are answered 403. Default
	// none: all may.
	AllowFrom []netip.Prefix `mapstructure:"allow_from"`
	// MaxBody is the largest request body, in bytes with a unit. Default 1MiB, 4KiB to 8MiB. A
	// larger one is answered 400, which the service does not retry: that order is lost.
	MaxBody Size `mapstructure:"max_body" default:"1MiB" range:"4KiB 8MiB"`
	// MaxConnections is how many connections may be open at the same time. A further one waits. An
	// address may have 128; the last quarter is for those that were answered 200. Default 1024, 1 to 10000.
	// Each takes a file descriptor and up to MaxBody of memory. Needs a restart.
	MaxConnections int `mapstructure:"max_connections" reload:"restart" default:"1024" range:"1 10000"`
	// Schema is how strictly bodies are read. Default lenient: all that can be printed is printed, and
	// deviations are counted. strict answers 400 if the id is not a UUID: those orders are lost.
	Schema string `mapstructure:"schema" default:"lenient" oneof:"lenient strict"`
	// Conflict says how other content under a known request id is handled. Default print: each station
	// whose ticket differs gets all of it again, headed CHANGED. report prints nothing; the request is
	// logged, counted and kept in the list of rejects.
	Conflict string `mapstructure:"conflict" default:"print" oneof:"print report"`
	// RespondWithin is how long a request may take, including reading it, until it is answered 503,
	// which the service retries. Default 4s, 500ms to 4800ms: the service itself gives up after 5s.
	RespondWithin time.Duration `mapstructure:"respond_within" default:"4s" range:"500ms 4800ms"`

	// Secrets are the one or two secrets in SecretFile, read by Load. Not a key.
	Secrets []Secret `mapstructure:"-"`
}

// Enabled reports whether there is a webhook.
func (r Receiver) Enabled() bool { return r.Listen != "" }

// Mode is how strictly bodies are read.
func (r Receiver) Mode() contract.Mode {
	if r.Schema == "strict" {
		return contract.Strict
	}
	return contract.Lenient
}

// Headers are header names, in any case. Other services use another prefix.
type Headers struct {
	Venue string `mapstructure:"venue" default:"x-svc-venueid" form:"header"` // the venue's UUID. Default x-svc-venueid
	// Device is the terminal that sent the order. Default x-svc-device-id.
	Device string `mapstructure:"device" default:"x-svc-device-id" form:"header"`
}

// Venue is a restaurant that may send orders.
type Venue struct {
	// ID is the venue's UUID, as the service sends it, in any case. Load makes it lower case.
	// Required, unique.
	ID string `mapstructure:"id"`
	// Name is the venue's name on tickets, in logs, in routes. Required, unique.
	Name string `mapstructure:"name"`
	// Timezone is the name in the tz database (Australia/Melbourne), for the times on tickets.
	// Default none: it is read from the venue's newest payroll period if Service is set. Until it
	// is known, or without Service, tickets show UTC. Load warns.
	Timezone string `mapstructure:"timezone"`
	// SecretFile names a file with one or two lines, as Receiver.SecretFile does. The venue's requests are
	// then taken only at https://HOST/webhooks/print/ and one of these, and no other venue's are. Default
	// none: this venue has the address that Receiver says, so who may post for one venue may post for all
	// that share it.
	SecretFile string `mapstructure:"secret_file" file:"secret"`
	// Devices are the ids of the terminals that may send for this venue. Default none: all may.
	Devices []string `mapstructure:"devices"`
	// Fallback is this venue's own fallback station. Default none: the global one.
	Fallback string `mapstructure:"fallback"`
	// Hours are the opening hours, by the clock of Timezone: "mon-fri 11:30-14:30" or "fri,sat
	// 18:00-02:00", which ends on the next day. Orders are accepted at any time. The hours are for
	// monitoring: silence is an alert only while the venue is open. Default none: not known.
	Hours []Hours `mapstructure:"hours"`

	// Secrets are the one or two secrets in SecretFile, read by Load. Not a key.
	Secrets []Secret `mapstructure:"-"`
}

// Plan is v as routes know it.
func (v Venue) Plan() plan.Venue {
	return plan.Venue{ID: v.ID, Name: v.Name, Zone: v.Timezone, Fallback: v.Fallback}
}

// Plan is the part of c that routes are compiled from.
func (c *Config) Plan() plan.Config {
	return plan.Config{Routes: c.Routes, Fallback: c.Fallback, Fields: c.Ticket.Fields, Silenced: c.Ticket.Silence,
		Logs: c.LogNames()}
}

// TicketText says which fields of a print request appear on a ticket, and which texts mark an allergy.
type TicketText struct {
	// Fields says where to look for a field of a ticket: the field's name and a list of dotted
	// paths, of which the first that exists is used. Default none: the built-in paths, which
	// deploy/ticketrail.yaml lists. A field named here has only these paths.
	Fields map[string][]string `mapstructure:"fields"`
	// Silence are the paths of fields that need not print, as ticketrail fields shows them, such as
	// records.items.kitchenCode. Each names one field: one that is sent for the first time prints. A
	// field that a path of Fields reads is not silent. Default none.
	Silence []string `mapstructure:"silence" form:"dotted"`
	// Alarms are words and phrases that mark an allergy. An item, a modifier or a note with one of
	// them prints white on black, at least twice as high; on a printer that cannot, in capitals
	// between exclamation marks. An entry is found where a word of the text begins with it, with *
	// in front also inside a word. One that begins with - is an exception, which is taken out of
	// the text first. Case, accents and punctuation at the ends do not count. Default: words of
	// more than twenty languages; empty: nothing is marked.
	Alarms []string `mapstructure:"alarms"`
}

func (t *TicketText) longDefaults() { t.Alarms = layout.UsualAlarms() }

// Storage is the database that holds every order from the moment it is acknowledged.
type Storage struct {
	// Path is the database file. Default /var/lib/ticketrail/ticketrail.db. It must be on a local
	// disk that honours fsync; on a network share or tmpfs, a power failure loses acknowledged
	// orders. Needs a restart.
	Path string `mapstructure:"path" reload:"restart" default:"/var/lib/ticketrail/ticketrail.db" file:"local"`
	// Copy is a folder with copies of the database: a base copy each hour, two of which are kept, and a log of the
	// orders since. A database that is damaged or missing is replaced by them. Default a folder beside it,
	// Path with .copy; best on another disk, such as a USB stick. It takes about as much space as two databases. A copy
	// that fails refuses no order. Needs a restart.
	Copy string `mapstructure:"copy" reload:"restart"`
	// DedupRetention is how long the id of a request is remembered, counted while the daemon runs,
	// so that a retry prints nothing. Default 168h, 1h to 8760h. Needs a restart.
	DedupRetention time.Duration `mapstructure:"dedup_retention" reload:"restart" default:"168h" range:"1h 8760h"`
	// HistoryRetention is how long a finished ticket can be shown and reprinted. Default 72h, 1h to
	// 8760h. Needs a restart.
	HistoryRetention time.Duration `mapstructure:"history_retention" reload:"restart" default:"72h" range:"1h 8760h"`
	// MaxBacklog is how many tickets may be queued in total; beyond it, requests are answered 503.
	// Default 100000, 1 to 10000000. Needs a restart.
	MaxBacklog int `mapstructure:"max_backlog" reload:"restart" default:"100000" range:"1 10000000"`
}

// CopyFolder is Copy, or its default.
func (s *Storage) CopyFolder() string { return cmp.Or(s.Copy, s.Path+".copy") }

// Admin is how the commands reach the daemon.
type Admin struct {
	// Socket is the unix socket on which the daemon answers the other commands of ticketrail, such as
	// jobs, printers, screens and rejects. Default /run/ticketrail/ticketrail.sock, mode 0660: every
	// user who may write to it may do everything. At most 107 bytes, a limit of the kernel. Needs a
	// restart.
	Socket string `mapstructure:"socket" reload:"restart" default:"/run/ticketrail/ticketrail.sock" file:"local"`
}

// Metrics is where a monitoring system connects.
type Metrics struct {
	// Listen is the address of /metrics, /healthz and /readyz, plain HTTP. Default 127.0.0.1:9321.
	// Empty: none of them. They expose neither orders nor secrets, but anyone who can reach them
	// can read them. Needs a restart.
	Listen string `mapstructure:"listen" reload:"restart" default:"127.0.0.1:9321"`
}

// Log is the log on standard error.
type Log struct {
	// Level is the lowest level logged: debug, info, warn or error. Default info.
	Level string `mapstructure:"level" default:"info" oneof:"debug info warn error"`
	// Format is text or json. Default text. Needs a restart.
	Format string `mapstructure:"format" reload:"restart" default:"text" oneof:"text json"`
}

// Slog returns Level as a slog level.
func (l Log) Slog() (level slog.Level) {
	_ = level.UnmarshalText([]byte(l.Level)) // Load has checked it
	return level
}

// Service is the point-of-sale API. It supplies names for employee ids on tickets and the time zone
// of a venue without one here, and ticketrail venues and labor query it. No order waits for it:
// while it does not answer, an employee whose name is unknown prints as the end of the id.
type Service struct {
	pos.Options `mapstructure:",squash"`
	// ClientSecretFile names a file that contains only the client secret. It is read again for
	// every token, so a new secret takes effect when the current token expires, or at once with a
	// reload. Default none.
	ClientSecretFile string `mapstructure:"client_secret_file" file:"secret"`
	// Insecure allows plain HTTP to another machine: the client secret and tokens are then sent
	// unencrypted. Default false.
	Insecure bool `mapstructure:"insecure"`
	// Refresh is how long names and time zones are used until they are requested again, plus or
	// minus a tenth. Default 6h, 10m to 168h. Needs a restart.
	Refresh time.Duration `mapstructure:"refresh" reload:"restart" default:"6h" range:"10m 168h"`
	// Now is the content of ClientSecretFile when Load read it, so that a reload notices a new one. Not a key.
	Now Secret `mapstructure:"-"`
}

// Enabled reports whether the point-of-sale API is used.
func (s Service) Enabled() bool { return s.BaseURL != "" }

// Default is the configuration of an empty file. It has no venues and no stations, so a daemon
// cannot start with it.
func Default() Config { return Defaults[Config]() }
