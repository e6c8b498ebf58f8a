package config

import (
	"slices"
	"strings"
)

// Source is a relay (`ticketrail relay`): it takes print requests for this box and keeps them while the box is off or
// cut off. The box fetches them, so nothing needs to reach it from outside. It may stand beside the webhook: a request
// that comes both ways prints once. Without the webhook, set receiver.listen to "".
type Source struct {
	// NATS are the addresses of the relay's servers: tls://relay-1.example.com:4222. Any of them will do; all are
	// named so that one may be away. Default none: there is no relay.
	NATS []string `mapstructure:"nats"`
	// CredsFile names the file that `ticketrail relay venues add` made for the venue. It is a secret. Without it
	// the daemon starts and says so: it takes what the webhook gets, and connects when the file is there.
	CredsFile string `mapstructure:"creds_file" file:"secret"`
	// Venue is the id or the name of the venue whose requests are fetched. Default: the only venue.
	Venue string `mapstructure:"venue"`

	// Credentials is the content of CredsFile, empty if it could not be read, so that a reload notices a new one. Set
	// by Load, which makes Venue an id. Not a key.
	Credentials Secret `mapstructure:"-"`
}

// Enabled reports whether there is a relay.
func (s Source) Enabled() bool { return len(s.NATS) > 0 }

// Same reports whether nothing has changed for the connection.
func (s Source) Same(o Source) bool {
	return slices.Equal(s.NATS, o.NATS) && s.CredsFile == o.CredsFile && s.Venue == o.Venue &&
		s.Credentials == o.Credentials
}

func (k *checker) source() {
	s := &k.c.Source
	if !s.Enabled() {
		if s.CredsFile != "" || s.Venue != "" {
			k.add("source.nats", "is missing; for example [tls://relay-1.example.com:4222]")
		}
		return
	}
	k.servers("source.nats", s.NATS)
	if s.CredsFile == "" {
		k.add("source.creds_file", "is missing; ticketrail relay venues add makes the file on the relay")
	} else {
		b, err := readSmall(s.CredsFile, maxFile)
		if err != nil { // the orders of the webhook need none of it
			k.warn("source.creds_file", "%s%v", CannotFetch, err)
		}
		s.Credentials = Secret{string(b)}
	}
	k.sourceVenue()
}

// CannotFetch begins the warning that the credentials cannot be read.
const CannotFetch = "no order can be fetched from the relay: "

func (k *checker) sourceVenue() {
	s := &k.c.Source
	if s.Venue == "" && len(k.c.Venues) > 1 {
		k.add("source.venue", "is missing: there are %d venues; name the one whose orders are fetched", len(k.c.Venues))
		return
	}
	found := ""
	for _, v := range k.c.Venues {
		if s.Venue == "" || strings.EqualFold(s.Venue, v.ID) || s.Venue == v.Name {
			found = v.ID
		}
	}
	if found == "" && len(k.c.Venues) > 0 {
		k.add("source.venue", "%s is not the id or the name of a venue", quote(s.Venue))
		return
	}
	s.Venue = found
	if !k.c.Receiver.Enabled() && len(k.c.Venues) > 1 {
		k.warn("venues", "only the orders of the venue of source can come: the others need the webhook")
	}
}

// withoutWebhook checks a receiver that listens nowhere.
func (k *checker) withoutWebhook() {
	r := &k.c.Receiver
	if !k.c.Source.Enabled() {
		k.add("receiver.listen", "is empty, so no order can come; set an address, or source")
	}
	if r.TLS.Enabled() || r.TLS.ClientCAFile != "" {
		k.add("receiver.tls", "is set, but receiver.listen is empty; remove one of the two")
	}
	if r.ExternalURL != "" {
		k.add("receiver.external_url", "is set, but receiver.listen is empty; remove one of the two")
	}
}
