package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Relay is the configuration of `ticketrail relay`, by default /etc/ticketrail/relay.yaml: the webhook for many venues,
// which keeps their print requests in NATS JetStream until their boxes have them. The sections that a box has too mean
// the same, and so do the variables of the environment. What is done with a ticket is configured on the box: here,
// receiver.conflict and a venue's fallback have no effect.
type Relay struct {
	Receiver Receiver `mapstructure:"receiver"`
	// Venues are the venues of this file. Those that `ticketrail relay venues add` has added are in NATS and are used
	// too, in every relay and at once; one of both places is as it is here. Default none.
	Venues []Venue `mapstructure:"venues"`
	NATS   NATS    `mapstructure:"nats"`
	// State is the folder for the certificates of an ACME server. Default /var/lib/ticketrail. Needs a restart.
	State   string  `mapstructure:"state" reload:"restart" default:"/var/lib/ticketrail"`
	Metrics Metrics `mapstructure:"metrics"` // and the page with all venues, at /
	Log     Log     `mapstructure:"log"`

	// Warnings are findings that LoadRelay accepted but that the operator should know. Not a key.
	Warnings []string `mapstructure:"-"`
}

// NATS are the servers that keep the requests, and how they keep them.
type NATS struct {
	// URLs are the addresses of the servers in their private network, as nats://10.0.0.21:4222, or tls://. Required.
	// Needs a restart.
	URLs []string `mapstructure:"urls" reload:"restart"`
	// PasswordFile names the file with the password of the servers' only user, relay. All relays have the same: what
	// one of them hands out to a box, another one can acknowledge. Required. Needs a restart.
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

// DefaultRelay is the configuration of an empty file, with which a relay cannot start.
func DefaultRelay() Relay { return Defaults[Relay]() }

// LoadRelay is [Load] for a relay.
func LoadRelay(path string) (*Relay, error) {
	r, k, err := readRelay(path, "write one as relay/README.md says; or use another file with --config")
	if err != nil {
		return nil, err
	}
	k.limits("", reflect.ValueOf(r).Elem())
	k.c = r.shared()
	k.receiver()
	k.secrets()
	k.tls()
	if len(r.Venues) > 0 {
		k.venues()
	}
	k.metrics()
	r.Receiver, r.Venues = k.c.Receiver, k.c.Venues
	for i, v := range r.Venues {
		if v.Fallback != "" {
			k.warn(fmt.Sprintf("venues[%d].fallback", i), "has no effect here; configure it on the venue's box")
		}
	}
	r.State = k.file("state", r.State)
	k.servers("nats.urls", r.NATS.URLs)
	k.read("nats.ca_file", r.NATS.CAFile)
	if r.NATS.PasswordFile == "" {
		k.add("nats.password_file", "is missing; it names the file with the password of the servers' user relay")
	} else if all := k.secretsOf("nats.password_file", r.NATS.PasswordFile, map[Secret]string{}); len(all) > 0 {
		r.NATS.Password = all[0]
	}
	if r.Warnings, err = k.result(); err != nil {
		return nil, err
	}
	return r, nil
}

// readRelay reads a file of a relay. ifMissing says what to do if it cannot be read. The sections that a box has too
// are checked by the returned checker, as there.
func readRelay(path, ifMissing string) (*Relay, *checker, error) {
	data, err := readConfig(path, ifMissing)
	if err != nil {
		return nil, nil, err
	}
	r := DefaultRelay()
	k, err := read(path, data, &r)
	if err != nil {
		return nil, nil, err
	}
	k.c = r.shared()
	return &r, k, nil
}

// LoadVenues reads the section venues of a file that may have nothing else, for `ticketrail relay venues add`. What
// only the file of a relay can have is a problem here.
func LoadVenues(path string) ([]Venue, error) {
	_, k, err := readRelay(path, "write one with venues: as in the file of a relay")
	if err != nil {
		return nil, err
	}
	k.venues()
	for i, v := range k.c.Venues {
		for key, value := range map[string]string{"secret_file": v.SecretFile, "fallback": v.Fallback} {
			if value != "" {
				k.add(fmt.Sprintf("venues[%d].%s", i, key), "is not for a venue that is added; leave it out")
			}
		}
	}
	_, err = k.result()
	return k.c.Venues, err
}

// shared are the sections that a box has too.
func (r *Relay) shared() *Config {
	return &Config{Receiver: r.Receiver, Venues: r.Venues, Metrics: r.Metrics, Log: r.Log}
}

// With is the configuration of the webhook for the venues of this file and others. Of two with one id, that of the file
// counts.
func (r *Relay) With(others []Venue) *Config {
	c := r.shared()
	c.Venues = slices.Clone(r.Venues)
	for _, v := range others {
		if !slices.ContainsFunc(r.Venues, func(mine Venue) bool { return mine.ID == v.ID }) {
			c.Venues = append(c.Venues, v)
		}
	}
	return c
}

// WebhookFiles is as that of a box.
func (r *Relay) WebhookFiles() (cert, key string) { return r.Receiver.TLS.files(r.State) }

// NeedsRestart is as that of a box.
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
