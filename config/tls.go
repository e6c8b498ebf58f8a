package config

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"path/filepath"
	"regexp"
)

// TLS names PEM files, or an ACME server. Default none: plain HTTP. The contents of the files are read
// again when they change; other names need a restart.
type TLS struct {
	KeyPair `mapstructure:",squash"`
	// ClientCAFile, if set, requires every client to present a certificate signed by one of the
	// certificates in it.
	ClientCAFile string `mapstructure:"client_ca_file" file:"public" reload:"restart"`
	// ACME obtains the certificate and renews it, instead of CertFile and KeyFile.
	ACME ACME `mapstructure:"acme"`
}

// ACME is a server that gives a certificate to whoever answers at a public name on port 443 (RFC 8737):
// that port must lead to Receiver.Listen, from everywhere. Certificates are kept beside Storage.Path, in
// the folder acme. Who sets Name accepts the terms of service of the ACME server.
type ACME struct {
	// Name is the host name in the address that the service posts to. Default none: no ACME. Needs a
	// restart.
	Name string `mapstructure:"name" reload:"restart"`
	// Directory is the address of the ACME server. Default
	// https://acme-v02.api.letsencrypt.org/directory. Needs a restart.
	Directory string `mapstructure:"directory" reload:"restart"`
	// CAFile names a file with the PEM certificates of the authorities that may sign the ACME server's own
	// certificate, for a private one. Default none: those that this box trusts. Needs a restart.
	CAFile string `mapstructure:"ca_file" file:"public" reload:"restart"`
}

// letsEncrypt gives certificates to everybody, for nothing.
const letsEncrypt = "https://acme-v02.api.letsencrypt.org/directory"

func (a *ACME) longDefaults() { a.Directory = letsEncrypt }

// Enabled reports whether the webhook serves HTTPS itself.
func (t TLS) Enabled() bool { return t.KeyPair.Enabled() || t.ACME.Name != "" }

// WebhookFiles returns the files with the webhook's certificate and its key, empty without TLS.
func (c *Config) WebhookFiles() (cert, key string) {
	return c.Receiver.TLS.files(filepath.Dir(c.Storage.Path))
}

// files are the files of the certificate and its key. With ACME they are one file in dir, which does not exist before
// the first certificate. Its folder is named after the ACME server: a certificate of a server for trials does not stay
// when Directory is changed.
func (t TLS) files(dir string) (cert, key string) {
	if t.ACME.Name == "" {
		return t.CertFile, t.KeyFile
	}
	server := "" // never after Load
	if u, err := url.Parse(t.ACME.Directory); err == nil {
		server = u.Host
	}

	both := filepath.Join(dir, "acme", server, t.ACME.Name)
	return both, both
}

func (k *checker) tls() {
	conf := &k.c.Receiver.TLS
	k.authorities("receiver.tls.acme.ca_file", conf.ACME.CAFile)
	if conf.ACME.Name != "" {
		k.acme(conf)
	} else if !k.keyPair("receiver.tls", conf.KeyPair, conf.ClientCAFile != "") {
		return
	}
	k.authorities("receiver.tls.client_ca_file", conf.ClientCAFile)
}

func (k *checker) acme(t *TLS) {
	const at = "receiver.tls.acme"
	if t.KeyPair.Enabled() {
		k.add(at+".name", "%s: the certificate comes either from acme or from cert_file and key_file; remove one",
			quote(t.ACME.Name))
	}

	// It is also the name of a file. Names with other letters are written as in DNS: xn--…
	const label = `([a-z0-9-]{0,61}[a-z0-9])?`
	name := regexp.MustCompile(`^([a-z0-9]` + label + `\.)+[a-z]` + label + `$`)
	if !name.MatchString(t.ACME.Name) || len(t.ACME.Name) > 253 {
		k.add(at+".name", "%s is not a host name in small letters; for example kitchen.example.com", quote(t.ACME.Name))
	}
	directory, err := url.Parse(t.ACME.Directory)
	if err != nil || directory.Scheme != "https" || directory.Host == "" || directory.User != nil {
		k.add(at+".directory", "%s is not an https address; for example %s", quote(t.ACME.Directory), letsEncrypt)
	}

	if addr, msg := listenAddr(k.c.Receiver.Listen); msg == "" && addr.IsLoopback() {
		k.warn(at+".name", "receiver.listen is %s, which the ACME server does not reach from outside",
			quote(k.c.Receiver.Listen))
	}
}

// authorities checks a file with the certificates of authorities, if it is set.
func (k *checker) authorities(at, name string) {
	ca := k.read(at, name)
	if ca != nil && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		k.add(at, "%s contains no PEM certificate", name)
	}
}

// keyPair checks that the two files belong together. The server reads them again when it uses them.
// It reports whether both are set.
func (k *checker) keyPair(at string, pair KeyPair, needed bool) bool {
	switch {
	case !pair.Enabled() && !needed:
		return false
	case pair.CertFile == "":
		k.add(at+".cert_file", "is missing; cert_file and key_file are required together")
		return false
	case pair.KeyFile == "":
		k.add(at+".key_file", "is missing; cert_file and key_file are required together")
		return false
	}

	cert, private := k.read(at+".cert_file", pair.CertFile), k.read(at+".key_file", pair.KeyFile)
	if cert != nil && private != nil {
		if _, err := tls.X509KeyPair(cert, private); err != nil {
			k.add(at+".cert_file", "%s and %s do not match: %v", pair.CertFile, pair.KeyFile, err)
		}
	}
	return true
}
