package config

import (
	"net/url"
	"time"
)

// Outcomes says to which program the outcome of each ticket is posted.
type Outcomes struct {
	// URL is an address, https or http, to which outcomes are posted, one at a time, in order, until each was
	// answered 2xx. It may be secret: it is never shown. Default none.
	URL string `mapstructure:"url"`
	// URLFile names a file with the URL on one line.
	URLFile string `mapstructure:"url_file" file:"secret"`
	// SecretFile names a file with secrets (whsec_…), one per line, with which they are signed as in the
	// Standard Webhooks specification. Required with URL or URLFile.
	SecretFile string `mapstructure:"secret_file" file:"secret"`
	// LateAfter is how long a ticket may wait until it is told that it is late. Default 3m, 10s to 24h.
	LateAfter time.Duration `mapstructure:"late_after" default:"3m" range:"10s 24h"`

	// Address is the URL, wherever it came from; Keys is the content of SecretFile. Set by Load, which
	// empties URL. Not keys.
	Address Secret `mapstructure:"-"`
	Keys    Secret `mapstructure:"-"`
}

// Enabled reports whether outcomes are told.
func (o Outcomes) Enabled() bool { return o.Address.Reveal() != "" }

func (k *checker) outcomes() {
	section := &k.c.Outcomes
	if section.URL == "" && section.URLFile == "" {
		if section.SecretFile != "" {
			k.warn("outcomes.secret_file", "has no effect without a url")
		}
		return
	}

	recipient := Recipient{URL: section.URL, URLFile: section.URLFile, SecretFile: section.SecretFile}
	k.recipientAddress("outcomes", &recipient)
	section.URL, section.Address, section.Keys = recipient.URL, recipient.Address, recipient.Keys
	if u, err := url.Parse(recipient.Address.Reveal()); recipient.Address.Reveal() != "" &&
		(err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		k.add("outcomes.url", "is not of the form https://HOST/PATH")
	}
}
