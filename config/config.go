// Package config is the one file that says how a kitchen's printers are fed: who may
// send orders, which printers there are and which items go to which of them.
//
// The structs here are the manual: every key stands below with its default, its unit
// and what it does. [Load] reads the file, lays the environment over it, and checks
// everything at once; what it returns is never half right. The package knows words,
// numbers and files; whether a profile exists or an expression compiles is for the
// packages that know them. Nothing else in ticketrail knows where settings come from.
//
// Every key that is not inside a list of venues, printers or routes can also be set in
// the environment: receiver.listen as TICKETRAIL_RECEIVER_LISTEN, lists of words with
// commas. The environment wins over the file, the file over the default; an empty
// variable counts as not set.
//
// Durations need a unit (4s, 2m, 72h), sizes too (512KiB, 1MiB). Relative file names
// are relative to the folder of the configuration file; those of secrets and of TLS
// files to $CREDENTIALS_DIRECTORY when systemd has set it.
package config

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config is the whole file. It is not changed after [Load], so it may be read from any
// goroutine; a reload makes a new one.
type Config struct {
	Receiver Receiver  `mapstructure:"receiver"`
	Venues   []Venue   `mapstructure:"venues"`   // the allow-list: at least one
	Printers []Printer `mapstructure:"printers"` // these three are the stations: at least one of any kind
	Screens  []Screen  `mapstructure:"screens"`
	KDS      []KDS     `mapstructure:"kds"`
	Display  Display   `mapstructure:"display"`
	// Routes are tried in order for every item; the first that matches takes it.
	Routes []Route `mapstructure:"routes"`
	// Fallback is the station that gets what no route takes, headed NO ROUTE. Required,
	// so that no order can vanish; a venue may have its own.
	Fallback string `mapstructure:"fallback"`
	// Fonts are files or folders of fonts (TTF, OTF, TTC) for writing that neither the
	// printer nor the built-in font has: Thai, Devanagari, rare Han. They are tried in order,
	// after the built-in one. Default none named: Unifont and Noto, as far as they are
	// installed on this box. Letters that no font has print as their names in brackets.
	Fonts   []string `mapstructure:"fonts"`
	Ticket  Ticket   `mapstructure:"ticket"`
	Storage Storage  `mapstructure:"storage"`
	Admin   Admin    `mapstructure:"admin"`
	Metrics Metrics  `mapstructure:"metrics"`
	Log     Log      `mapstructure:"log"`
	Service Service  `mapstructure:"service"`

	// Warnings are what Load accepted and somebody should know all the same: keys that
	// have no effect yet, secrets that everybody can read. Set by Load; not a key.
	Warnings []string `mapstructure:"-"`
}

// Receiver is the webhook: where the service sends its print requests.
type Receiver struct {
	// Listen is the address and port the webhook listens on. Default 127.0.0.1:8443,
	// for a reverse proxy or tunnel on the same box. Any address that is not loopback
	// needs TLS or Insecure. With ticketrail.socket systemd listens instead, on the
	// address in that file, which should be the same. Restart.
	Listen string `mapstructure:"listen" reload:"restart"`
	// Path is where the service posts to. Default /webhooks/print. It is never logged,
	// but stands in this file for all to read: a secret belongs in SecretFile.
	Path string `mapstructure:"path"`
	// SecretFile names a file with one or two lines; each is a secret last segment of the
	// path, at least 22 of A–Z a–z 0–9 - _ (128 bits). The service is then given
	// https://HOST/webhooks/print/SECRET, and any other path is 404. Two lines are both
	// valid at once: to change the secret add the new one, reload, tell the service,
	// take the old one out, reload. Default none: anybody who reaches the port and knows
	// a venue id can print. Make one with:
	//	head -c 24 /dev/urandom | base64 | tr +/ -_
	SecretFile string `mapstructure:"secret_file"`
	// Headers are the names of the headers the service identifies itself with.
	Headers Headers `mapstructure:"headers"`
	// TLS makes the webhook speak HTTPS itself.
	TLS TLS `mapstructure:"tls"`
	// Insecure allows plain HTTP on an address that is not loopback: orders and their
	// secret path then cross the network readable. Default false.
	Insecure bool `mapstructure:"insecure"`
	// TrustedProxies are the networks (CIDR) of reverse proxies whose X-Forwarded-For
	// tells the caller's address. Default none: the caller is whoever connected. Needed
	// for AllowFrom behind a proxy or tunnel, even one on this box (127.0.0.0/8).
	TrustedProxies []netip.Prefix `mapstructure:"trusted_proxies"`
	// AllowFrom are the networks (CIDR) that may call; others get 403. Default none: any.
	AllowFrom []netip.Prefix `mapstructure:"allow_from"`
	// MaxBody is the largest body of a request that is read, in bytes with a unit.
	// Default 1MiB, 4KiB to 64MiB. A larger one is answered 400: that order is lost.
	MaxBody Size `mapstructure:"max_body"`
	// MaxConnections is how many connections may be open at once; further ones wait in
	// the kernel. Default 1024, 1 to 10000. Each costs a file descriptor and up to
	// MaxBody of memory. Restart.
	MaxConnections int `mapstructure:"max_connections" reload:"restart"`
	// Schema is how strictly bodies are read. Default lenient: what can be printed is
	// printed, oddities are counted. strict answers 400 to ids that are no UUID and to a
	// retryCount that is no integer: those orders are lost.
	Schema string `mapstructure:"schema"`
	// RespondWithin is how long a request may take, reading included, until it is
	// answered 503, which the service retries. Default 4s, 500ms to 4800ms: the service
	// itself gives up after 5s.
	RespondWithin time.Duration `mapstructure:"respond_within"`

	// Secrets is what SecretFile holds, read by Load, one or two. Not a key.
	Secrets []Secret `mapstructure:"-"`
}

// Headers are header names, in any case; other services use another prefix.
type Headers struct {
	Venue  string `mapstructure:"venue"`  // the venue's UUID. Default x-svc-venueid
	Device string `mapstructure:"device"` // the terminal that sent the order. Default x-svc-device-id
}

// TLS names PEM files. Default none: plain HTTP. What is in them is read again when they
// change; other names need a restart.
type TLS struct {
	CertFile string `mapstructure:"cert_file" reload:"restart"` // the certificate and its chain
	KeyFile  string `mapstructure:"key_file" reload:"restart"`  // its private key; keep it unreadable to others
	// ClientCAFile, when set, makes every caller show a certificate signed by one in it.
	ClientCAFile string `mapstructure:"client_ca_file" reload:"restart"`
}

// Enabled says whether the webhook speaks HTTPS itself.
func (t TLS) Enabled() bool { return t.CertFile != "" || t.KeyFile != "" }

// Venue is a restaurant that may send orders.
type Venue struct {
	// ID is the venue's UUID, as the service sends it. Any case in the file; lower case
	// after Load. Required, unique.
	ID string `mapstructure:"id"`
	// Name is what people call it: on tickets, in logs, in routes. Required, unique.
	Name string `mapstructure:"name"`
	// Timezone is its tz database name (Australia/Melbourne), for the times on tickets.
	// Default none: it is taken from the venue's newest payroll period when Service is set;
	// until that is known, or without a service, tickets show UTC. Load warns.
	Timezone string `mapstructure:"timezone"`
	// Devices are the ids of the terminals that may send for it. Default none: any.
	Devices []string `mapstructure:"devices"`
	// Fallback is this venue's own fallback station. Default none: the global one.
	Fallback string `mapstructure:"fallback"`
}

// Route sends items to stations. Children follow their item.
type Route struct {
	// Venue is the name or the id of the venue it is for. Default none: all.
	Venue string `mapstructure:"venue"`
	// When is an expression over venue, device, record and item that must be true.
	// Default none: every item.
	When string `mapstructure:"when"`
	// To are the stations that print the item. Required.
	To []string `mapstructure:"to"`
	// Continue lets later routes have the item too. Default false.
	Continue bool `mapstructure:"continue"`
}

// Ticket is what is read out of a print request.
type Ticket struct {
	// Fields says where to look for a field of a ticket: the field's name and a list of
	// dotted paths, the first that is there wins. Default none: the built-in paths, which
	// ticketrail inspect shows. A field that is named here has these paths only.
	Fields map[string][]string `mapstructure:"fields"`
}

// Storage is the file that holds every order from the 200 until it is forgotten.
type Storage struct {
	// Path is that file. Default /var/lib/ticketrail/ticketrail.db. On a local disk that
	// keeps what it is told to sync; not on a network share, not on tmpfs. Restart.
	Path string `mapstructure:"path" reload:"restart"`
	// DedupRetention is how long the id of a request is remembered, in running time, so
	// that a retry prints nothing. Default 168h, 1h to 8760h. Restart.
	DedupRetention time.Duration `mapstructure:"dedup_retention" reload:"restart"`
	// HistoryRetention is how long a finished ticket can be shown and reprinted. Default
	// 72h, 1h to 8760h. Restart.
	HistoryRetention time.Duration `mapstructure:"history_retention" reload:"restart"`
	// MaxBacklog is how many tickets may wait in all; at that, requests are answered 503.
	// Default 100000, 1 to 10000000. Restart.
	MaxBacklog int `mapstructure:"max_backlog" reload:"restart"`
}

// Admin is how the commands talk to the daemon.
type Admin struct {
	// Socket is the unix socket of ticketrail jobs, printers, rejects. Default
	// /run/ticketrail/ticketrail.sock, mode 0660: who may write it may do everything.
	// At most 107 bytes. Restart.
	Socket string `mapstructure:"socket" reload:"restart"`
}

// Metrics is what a monitoring system looks at.
type Metrics struct {
	// Listen is the address of /metrics, /healthz and /readyz, plain HTTP. Default
	// 127.0.0.1:9321. Empty: none of them. They tell no orders and no secrets, but
	// anybody who reaches them can read them. Restart.
	Listen string `mapstructure:"listen" reload:"restart"`
}

// Log is what the daemon writes to standard error.
type Log struct {
	Level string `mapstructure:"level"` // debug, info, warn or error and up. Default info
	// Format is text or json. Default text. Restart.
	Format string `mapstructure:"format" reload:"restart"`
}

// Slog is Level in slog's terms.
func (l Log) Slog() slog.Level {
	var v slog.Level
	if err := v.UnmarshalText([]byte(l.Level)); err != nil {
		return slog.LevelInfo
	}
	return v
}

// Service is the point-of-sale API: it tells names for employee ids on tickets and the time
// zone of a venue that has none here, and ticketrail venues and labor ask it. No order waits
// for it: while it does not answer, who is not known yet prints as the end of the id.
type Service struct {
	// BaseURL is its address, with /api at the end if its paths have that:
	// https://api.example.com/api. It, ClientID and ClientSecretFile go together. Default
	// none: the API is not used.
	BaseURL string `mapstructure:"base_url"`
	// ClientID is the integrator's client id. Default none.
	ClientID string `mapstructure:"client_id"`
	// ClientSecretFile names a file with the client secret and nothing else. It is read again
	// for every token, so a new secret takes effect within the life of one, and with a reload
	// at once. Default none.
	ClientSecretFile string `mapstructure:"client_secret_file"`
	// Insecure allows plain HTTP to another machine: the client secret and tokens then cross
	// the network readable. Default false.
	Insecure bool `mapstructure:"insecure"`
	// Timeout is for one exchange with the service. Default 10s, 1s to 60s.
	Timeout time.Duration `mapstructure:"timeout"`
	// Refresh is how long names and time zones are used until they are asked for again, give
	// or take a tenth. Default 6h, 10m to 168h. Restart.
	Refresh time.Duration `mapstructure:"refresh" reload:"restart"`
	// Token is how a token is asked for, one for each venue.
	Token Token `mapstructure:"token"`
	// Employees is how the employees of a venue are asked for.
	Employees Employees `mapstructure:"employees"`
	// Payroll is how the payroll periods of a venue are asked for.
	Payroll Payroll `mapstructure:"payroll"`

	// Secret is what ClientSecretFile held when Load read it, so that a reload sees a new one;
	// [Service.ReadSecret] reads it again. Not a key.
	Secret Secret `mapstructure:"-"`
}

// Enabled says whether the point-of-sale API is used.
func (s Service) Enabled() bool { return s.BaseURL != "" }

// Token is the request for a token: OAuth 2.0 client credentials and the venue. What the
// service's contract does not show is a key.
type Token struct {
	Path string `mapstructure:"path"` // below the base address. Default /oauth/token
	// VenueParam is the field that names the venue. Default venue_id.
	VenueParam string `mapstructure:"venue_param"`
	// AuthStyle is where the client id and secret go. Default params: fields of the form.
	// header: HTTP Basic.
	AuthStyle string `mapstructure:"auth_style"`
	// RenewBefore is how long before its end a token is renewed. Default 60s, 1s to 10m.
	RenewBefore time.Duration `mapstructure:"renew_before"`
	// Scopes are asked for. Default none: the service decides.
	Scopes []string `mapstructure:"scopes"`
}

// Employees is the request for employees, a page at a time.
type Employees struct {
	// Limit is how many are asked for at a time, up to 10000. Default 0: none is said, and
	// the service sends 20.
	Limit int `mapstructure:"limit"`
	// Cursor is where an answer names its next page: a dotted path such as meta.nextCursor, or
	// header: and the name of a header. Default none: the usual places are tried.
	Cursor string `mapstructure:"cursor"`
}

// Payroll is the request for payroll periods.
type Payroll struct {
	VenueParam string `mapstructure:"venue_param"` // names the venue. Default venueId
}

// Default is the configuration of a file that says nothing. It has no venues and no
// printers, so it is not one a daemon can start with.
func Default() Config {
	return Config{
		Receiver: Receiver{
			Listen:         "127.0.0.1:8443",
			Path:           "/webhooks/print",
			Headers:        Headers{Venue: "x-svc-venueid", Device: "x-svc-device-id"},
			MaxBody:        1 << 20,
			MaxConnections: 1024,
			Schema:         "lenient",
			RespondWithin:  4 * time.Second,
		},
		Display: Display{Listen: "127.0.0.1:9322"},
		Storage: Storage{
			Path:             "/var/lib/ticketrail/ticketrail.db",
			DedupRetention:   168 * time.Hour,
			HistoryRetention: 72 * time.Hour,
			MaxBacklog:       100_000,
		},
		Admin:   Admin{Socket: "/run/ticketrail/ticketrail.sock"},
		Metrics: Metrics{Listen: "127.0.0.1:9321"},
		Log:     Log{Level: "info", Format: "text"},
		Service: Service{
			Timeout: 10 * time.Second,
			Refresh: 6 * time.Hour,
			Token: Token{
				Path: "/oauth/token", VenueParam: "venue_id", AuthStyle: "params", RenewBefore: time.Minute,
			},
			Payroll: Payroll{VenueParam: "venueId"},
		},
	}
}
