package config

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// Relay is the configuration of `ticketrail relay`, by default /etc/ticketrail/relay.yaml: the webhook for many venues,
// which keeps their print requests in NATS JetStream until their boxes have them. The venues are in NATS too, for all
// relays: see `ticketrail relay venues`. The sections that a box has too mean the same, and so do the variables of the
// environment. How a ticket is handled is configured on the box: here, receiver.conflict has no effect.
type Relay struct {
	Receiver Receiver `mapstructure:"receiver"`
	NATS     NATS     `mapstructure:"nats"`
	// State is the folder for the certificates of an ACME server. Default /var/lib/ticketrail. Needs a restart.
	State   string  `mapstructure:"state" reload:"restart" default:"/var/lib/ticketrail" file:"local"`
	Metrics Metrics `mapstructure:"metrics"`
	Log     Log     `mapstructure:"log"`

	// Warnings are findings that LoadRelay accepted but that the operator should know. Not a key.
	Warnings []string `mapstructure:"-"`
}

// NATS are the servers that keep the requests, and how they keep them.
type NATS struct {
	// URLs are the addresses of the servers in their private network, as nats://10.0.0.21:4222, or tls://. Required.
	// Needs a restart.
	URLs []string `mapstructure:"urls" reload:"restart"`
	// PasswordFile names the file with the password of the servers' only user, relay. All relays have the same: a
	// request that one of them hands to a box can be acknowledged at another one. Required. Needs a restart.
	PasswordFile string `mapstructure:"password_file" file:"secret" reload:"restart"`
	// CAFile names the certificate of the authority that the servers' own are of, for tls://. Default: the system's.
	// Needs a restart.
	CAFile string `mapstructure:"ca_file" file:"public" reload:"restart"`
	// Replicas is how many servers have a copy of each request. Default 3: the requests survive the loss of one
	// server, and are accepted without it. 1 is for trials. Needs a restart.
	Replicas int `mapstructure:"replicas" reload:"restart" default:"3" range:"1 5"`
	// MaxBytes is how much all requests together may take, on each server. Beyond it requests are answered 503. Default
	// 4GiB, enough for 1000 venues for a day. Needs a restart.
	MaxBytes Size `mapstructure:"max_bytes" reload:"restart" default:"4GiB" range:"1MiB 1048576GiB"`
	// DedupRetention is how long a request is kept for its box and its retry is recognised. A box that is away for
	// longer loses orders. Default 72h, 1h to 8760h. Needs a restart.
	DedupRetention time.Duration `mapstructure:"dedup_retention" reload:"restart" default:"72h" range:"1h 8760h"`

	// Password is the content of PasswordFile. Not a key.
	Password Secret `mapstructure:"-"`
}

// LoadRelay is [Load] for a relay.
func LoadRelay(path string) (*Relay, error) {
	data, err := readConfig(path, "write one as relay/README.md says; or use another file with --config")
	if err != nil {
		return nil, err
	}
	relay := Defaults[Relay]()
	check, err := read(path, data, &relay)
	if err != nil {
		return nil, err
	}

	check.limits("", reflect.ValueOf(&relay).Elem())
	check.c = relay.With(nil)
	check.receiver()
	check.secrets()
	check.tls()
	check.metrics()
	check.ports()
	relay.Receiver = check.c.Receiver
	check.servers("nats.urls", relay.NATS.URLs)
	check.read("nats.ca_file", relay.NATS.CAFile)
	if relay.NATS.PasswordFile == "" {
		check.add("nats.password_file", "is missing; it names the file with the password of the servers' user relay")
	} else if all := check.secretsOf("nats.password_file", relay.NATS.PasswordFile, map[Secret]string{}); len(all) > 0 {
		relay.NATS.Password = all[0]
	}
	if relay.Warnings, err = check.result(); err != nil {
		return nil, err
	}

	return &relay, nil
}

// With is the configuration of the webhook for these venues.
func (r *Relay) With(venues []Venue) *Config {
	return &Config{Receiver: r.Receiver, Venues: venues, Metrics: r.Metrics, Log: r.Log}
}

// WebhookFiles is as [Config.WebhookFiles].
func (r *Relay) WebhookFiles() (cert, key string) { return r.Receiver.TLS.files(r.State) }

// NeedsRestart is as [Config.NeedsRestart].
func (r *Relay) NeedsRestart(old *Relay) []string {
	return needRestart(keys(reflect.TypeFor[Relay](), "", nil), r, old)
}

// servers checks the addresses of NATS servers.
func (k *checker) servers(at string, urls []string) {
	if len(urls) == 0 {
		k.add(at, "is missing; for example [nats://10.0.0.21:4222]")
	}
	for i, one := range urls {
		port := ""
		if u := hostURL(one, "nats", "tls"); u != nil {
			port = u.Port()
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil { // a user or a password in it is not repeated
			k.add(fmt.Sprintf("%s[%d]", at, i), "is not of the form nats://HOST:PORT or tls://HOST:PORT; for example "+
				"nats://10.0.0.21:4222")
		}
	}
}
