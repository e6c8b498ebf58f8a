package config

import "strings"

// Source is a relay (`ticketrail relay`): it takes print requests for this box and keeps them while the box is off or
// cut off. The box fetches them, so nothing needs to reach it from outside. It may stand beside the webhook: a request
// that comes both ways prints once. Without the webhook, set receiver.listen to "".
type Source struct {
	// URL is the relay's address, as https://orders.example.com. A proxy is used as the environment says (HTTPS_PROXY).
	// Default none: there is no relay. Needs a restart.
	URL string `mapstructure:"url" reload:"restart"`
	// TokenFile names the file that `ticketrail relay venues add` made for the venue. It is read for each request.
	// Without it the daemon starts and says so: it takes the orders of the webhook, and fetches when the file is there.
	// Another name needs a restart.
	TokenFile string `mapstructure:"token_file" file:"secret" reload:"restart"`
	// Venue is the id or the name of the venue whose requests are fetched. Default: the only venue. Load makes it an
	// id. Needs a restart.
	Venue string `mapstructure:"venue" reload:"restart"`
}

// Enabled reports whether there is a relay.
func (s Source) Enabled() bool { return s.URL != "" }

// Token reads the token.
func (s Source) Token() (string, error) {
	lines, err := secretLines(s.TokenFile)
	if err != nil {
		return "", err
	}
	return lines[0], nil
}

func (k *checker) source() {
	relay := &k.c.Source
	if !relay.Enabled() {
		if relay.TokenFile != "" || relay.Venue != "" {
			k.add("source.url", "is missing; for example https://orders.example.com")
		}
		return
	}

	// A user or a password in it is not repeated.
	if u := hostURL(relay.URL, "https", "http"); u == nil || u.Scheme == "http" && !loopback(u.Hostname()) {
		k.add("source.url", "is not of the form https://HOST; for example https://orders.example.com; http:// is "+
			"for a relay on this machine")
	}
	if relay.TokenFile == "" {
		k.add("source.token_file", "is missing; ticketrail relay venues add makes the file on the relay")
	} else if _, err := relay.Token(); err != nil { // the orders of the webhook need none of it
		k.warn("source.token_file", "%s%v", CannotFetch, err)
	}
	k.sourceVenue()
}

// CannotFetch begins the warning that the token cannot be read.
const CannotFetch = "no order can be fetched from the relay: "

func (k *checker) sourceVenue() {
	source := &k.c.Source
	if source.Venue == "" && len(k.c.Venues) > 1 {
		k.add("source.venue", "is missing: there are %d venues; name the one whose orders are fetched", len(k.c.Venues))
		return
	}

	found := ""
	for _, v := range k.c.Venues {
		if source.Venue == "" || strings.EqualFold(source.Venue, v.ID) || source.Venue == v.Name {
			found = v.ID
		}
	}

	if found == "" && len(k.c.Venues) > 0 {
		k.add("source.venue", "%s is not the id or the name of a venue", quote(source.Venue))
		return
	}
	source.Venue = found
	if !k.c.Receiver.Enabled() && len(k.c.Venues) > 1 {
		k.warn("venues", "only the orders of the venue of source can come: the others need the webhook")
	}
}

// withoutWebhook checks a receiver that listens nowhere.
func (k *checker) withoutWebhook() {
	receiver := &k.c.Receiver
	if !k.c.Source.Enabled() {
		k.add("receiver.listen", "is empty, so no order can come; set an address, or source")
	}
	if receiver.TLS.Enabled() || receiver.TLS.ClientCAFile != "" {
		k.add("receiver.tls", "is set, but receiver.listen is empty; remove one of the two")
	}
	if receiver.ExternalURL != "" {
		k.add("receiver.external_url", "is set, but receiver.listen is empty; remove one of the two")
	}
}
