package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Notify says who is told when something needs a person.
type Notify struct {
	// To are the people or programs that are told. Default none.
	To []Recipient `mapstructure:"to"`
	// After is how long something must be wrong before anybody is told, so that no one is called for a
	// printer that gets new paper. Refused orders and failed tickets are told at once, because they do
	// not mend themselves. Default 3m, 0s to 24h.
	After time.Duration `mapstructure:"after" default:"3m" range:"0s 24h"`
	// Repeat is how long something that needs a person may last until it is told again. Default 4h, 15m to 168h;
	// 0: it is told once.
	Repeat time.Duration `mapstructure:"repeat" default:"4h" range:"15m 168h" zero:"allowed"`
	// Slip prints a notice when a station fails: at its backup, else at the fallback, if that one works.
	// Default false.
	Slip bool `mapstructure:"slip"`
}

// Recipient is somebody who is told: a phone, a mailbox, a group in a messenger, a program.
type Recipient struct {
	// Name is for logs and metrics, and for the record of messages sent to this recipient, which
	// survives a restart. Required, unique.
	Name string `mapstructure:"name"`
	// URL is where messages go: smtp, ntfy, telegram, slack, gotify and pushover in the forms of the library
	// shoutrrr; teams+https:// and the rest of the URL of a workflow of Microsoft Teams; https:// of a
	// webhook. URLs contain secrets: none is ever shown, but everyone who may read this file can see
	// it. Use URLFile for a secret. One of the two is required.
	URL string `mapstructure:"url"`
	// URLFile names a file with the URL on one line.
	URLFile string `mapstructure:"url_file" file:"secret"`
	// SecretFile names a file with secrets (whsec_…), one per line, with which messages to a webhook are
	// signed as in the Standard Webhooks specification. Required for a webhook, else not allowed.
	SecretFile string `mapstructure:"secret_file" file:"secret"`
	// About lists the topics of this recipient. All but the first are the subjects of ticketrail status: stations,
	// tickets, orders, relay, disk, certificate, clock, configuration, database. Default everything.
	About []string `mapstructure:"about"`

	// Address is the URL, wherever it came from; Keys is the content of SecretFile. Set by Load, which
	// empties URL. Not keys.
	Address Secret `mapstructure:"-"`
	Keys    Secret `mapstructure:"-"`
}

// Topics that are not treated as the others are.
const (
	TopicStations = "stations"
	TopicTickets  = "tickets" // tickets that failed
	TopicOrders   = "orders"  // orders that were refused, or do not come
	TopicRelay    = "relay"   // the connection to it
)

// PaperNoticeName is no name for a recipient: notices on paper have it in logs and metrics.
const PaperNoticeName = "slip"

func (k *checker) notify() {
	section := &k.c.Notify
	names := map[string]string{PaperNoticeName: "notify.slip"}
	for i := range section.To {
		recipient := &section.To[i]
		at := fmt.Sprintf("notify.to[%d]", i)
		k.name(at, recipient.Name, names)

		for j, topic := range recipient.About {
			k.oneOf(fmt.Sprintf("%s.about[%d]", at, j), topic, TopicStations, TopicTickets, TopicOrders, TopicRelay,
				"disk", "certificate", "clock", "configuration", "database")
		}
		k.recipientAddress(at, recipient)
	}

	if b, _ := k.c.BackupOf(k.c.Fallback); section.Slip && b == "" {
		k.warn("notify.slip", "has no effect for %s: it is the fallback and has no backup that could print the notice",
			k.c.Fallback)
	}
}

// recipientAddress reads the secrets of a recipient. No message repeats a URL.
func (k *checker) recipientAddress(at string, r *Recipient) {
	address := r.URL
	r.URL = ""
	switch {
	case address != "" && r.URLFile != "":
		k.add(at+".url", "and url_file are both set; keep one")
		return
	case r.URLFile != "":
		var err error
		if address, err = secretLine(r.URLFile); err != nil {
			k.add(at+".url_file", "%v", err)
			return
		}
	case address == "":
		k.add(at+".url", "is missing; for example ntfy://ntfy.sh/TOPIC, or put it into a file and set url_file")
		return
	}

	r.Address = Secret{address}
	parsed, err := url.Parse(address)
	webhook := err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http")
	switch {
	case webhook && r.SecretFile == "":
		k.add(at+".secret_file", "is missing: a webhook is signed, so that nobody else can send it messages; make one "+
			"with: (printf whsec_; head -c 24 /dev/urandom | base64) >FILE")
	case !webhook && r.SecretFile != "":
		k.add(at+".secret_file", "is only for a webhook, whose url begins with https://")
	case webhook:
		lines, err := secretLines(r.SecretFile)
		if err != nil {
			k.add(at+".secret_file", "%v", err)
			return
		}
		r.Keys = Secret{strings.Join(lines, "\n")}
		if parsed.Scheme == "http" && !loopback(parsed.Hostname()) {
			k.warn(at+".url", "is plain HTTP: others on the network can read the messages")
		}
	}
}
