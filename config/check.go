package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/layout"
)

// checker checks values that already have the right type.
type checker struct {
	*findings
	c           *Config
	dir         string            // folder for relative file names
	credentials string            // folder for relative names of secrets and certificates
	stations    map[string]string // key of each station, by its name in lower case
}

// checkAll checks every section. Later checks skip values with a problem, so that one
// mistake gives one message.
func (k *checker) checkAll() {
	k.limits("", reflect.ValueOf(k.c).Elem())
	k.receiver()
	k.secrets()
	k.tls()
	k.venues()
	k.source()
	k.storage()
	k.everyStation()
	k.printers()
	k.screens()
	k.kds()
	k.logs()
	k.outcomes()
	k.display()
	k.stationNames()
	k.routes()
	k.plan()
	k.words("ticket.alarms", k.c.Ticket.Alarms)
	k.service()
	k.metrics()
	k.ports()
	k.notify()
}

func (k *checker) receiver() {
	hook := &k.c.Receiver
	if hook.Enabled() {
		k.addIf("receiver.listen", listenProblem(hook.Listen, hook.Insecure || hook.TLS.Enabled(),
			"set receiver.tls, listen on 127.0.0.1 behind a proxy or tunnel, or set receiver.insecure: true"))
	} else {
		k.withoutWebhook()
	}

	// The path may contain a secret, so messages do not repeat it.
	if !regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`).MatchString(hook.Path) || path.Clean(hook.Path) != hook.Path {
		k.add("receiver.path", "is not a plain path of letters, digits and . _ ~ - between single slashes; "+
			"for example /webhooks/print")
	}

	if u := hostURL(hook.ExternalURL, "https", "http"); hook.ExternalURL != "" &&
		(u == nil || u.Scheme == "http" && !hook.Insecure) {
		k.add("receiver.external_url", "%s is not an https address without a path; for example "+
			"https://kitchen.example.com", quote(hook.ExternalURL))
	}

	if strings.EqualFold(hook.Headers.Venue, hook.Headers.Device) {
		k.add("receiver.headers.device", "is also the header of the venue; use a different one")
	}

	for _, p := range hook.TrustedProxies {
		if p.Bits() == 0 {
			k.add("receiver.trusted_proxies", "%v would trust every client; use the network of the proxy", p)
		}
	}
}

// hostURL is a URL of one of the schemes that has a host and perhaps a port, and nothing else; nil if text is none.
func hostURL(text string, schemes ...string) *url.URL {
	address, err := url.Parse(text)
	if err != nil || address.Hostname() == "" || address.User != nil || !slices.Contains(schemes, address.Scheme) ||
		strings.Trim(address.Path, "/")+address.RawQuery+address.Fragment != "" {
		return nil
	}
	return address
}

func (k *checker) secrets() {
	receiver := &k.c.Receiver
	last := receiver.Path[strings.LastIndexByte(receiver.Path, '/')+1:]
	if receiver.SecretFile == "" && secretProblem(last) == "" && strings.ContainsAny(last, "0123456789") {
		k.warn("receiver.path", "seems to contain a secret, which everyone who can read this file can see; "+
			"move it to receiver.secret_file")
	}

	seen := map[Secret]string{}
	receiver.Secrets = k.secretsOf("receiver.secret_file", receiver.SecretFile, seen)
	for i := range k.c.Venues {
		venue := &k.c.Venues[i]
		venue.Secrets = k.secretsOf(fmt.Sprintf("venues[%d].secret_file", i), venue.SecretFile, seen)
	}
}

// secretsOf reads the secrets that the key at names, if it does. seen has the secrets of other keys.
func (k *checker) secretsOf(at, name string, seen map[Secret]string) []Secret {
	if name == "" {
		return nil
	}
	all, err := readSecrets(name)
	if err != nil {
		k.add(at, "%v", err)
		return nil
	}

	for _, s := range all {
		if other := seen[s]; other != "" {
			k.add(at, "has a secret that %s has too; make another one, or each could post for the other", other)
			return nil
		}
		seen[s] = at
	}
	return all
}

// read returns the content of a file that is named, or nil if it cannot be read, which is a problem.
func (k *checker) read(at, name string) []byte {
	if name == "" {
		return nil
	}
	data, err := readSmall(name, maxFile)
	if err != nil {
		k.add(at, "%v", err)
		return nil
	}
	return data
}

// words checks that each entry of a list can be found in a text at all.
func (k *checker) words(key string, list []string) {
	if len(list) > layout.MaxAlarms {
		k.add(key, "has %d entries; at most %d are allowed", len(list), layout.MaxAlarms)
		return
	}

	for i, e := range list {
		k.addIf(fmt.Sprintf("%s[%d]", key, i), layout.CheckAlarm(e))
	}
}

func (k *checker) storage() {
	k.c.Storage.Copy = absolute(k.dir, k.c.Storage.Copy)
	if socket := k.c.Admin.Socket; len(socket) > 107 {
		k.add("admin.socket", "%s has %d bytes; the path of a socket has at most 107", quote(socket), len(socket))
	}
}

// absolute is the path of a file; an empty name stays empty.
func absolute(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// judged adds the verdict of another package on the value at path, if all of it could be read.
func (f *findings) judged(path string, err error) {
	if err != nil && !f.hasProblemBelow(path) {
		f.add(path, "%v", err)
	}
}

// judgedKey is judged with an error whose text begins with a key below at.
func (f *findings) judgedKey(at string, err error) {
	if err == nil {
		return
	}
	if key, msg, ok := strings.Cut(err.Error(), ": "); ok {
		at, err = at+"."+key, errors.New(msg)
	}
	f.judged(at, err)
}

// addIf adds a problem with the value at path if why is not empty.
func (k *checker) addIf(path, why string) {
	if why != "" {
		k.add(path, "%s", why)
	}
}

func (k *checker) oneOf(path, got string, want ...string) {
	if !slices.Contains(want, got) {
		last := len(want) - 1
		k.add(path, "%s is not one of %s and %s%s", quote(got), strings.Join(want[:last], ", "), want[last],
			cmp.Or(DidYouMean(got, want), reasons[index.ReplaceAllString(path, "[]")+": "+got]))
	}
}

// short formats a duration without trailing zeros: 4h instead of 4h0m0s.
func short(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}
