package natsaccess

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// An Operator is what everything else is signed with: whoever has it can read and change every venue's orders. It is
// a file of its own that no server, no relay and no box needs.
//
// The keys of the accounts are computed from the operator's. So nothing has to be stored for a venue, and every
// command that has the file can make the venue's account again.
type Operator struct {
	key     nkeys.KeyPair
	nodes   *authority // of the servers
	clients *authority // of boxes and relays

	// RelaysSince says which credentials of relays are valid: those that were issued then or later. Zero: all. It is
	// not in the operator's file but in the account, see [Operator.ReadRelaysSince].
	RelaysSince time.Time
}

// NewOperator makes an operator with new keys.
func NewOperator() (*Operator, error) {
	key, err := nkeys.CreateOperator()
	if err != nil {
		return nil, fmt.Errorf("make the operator's key: %w", err)
	}
	o := &Operator{key: key}
	if o.nodes, err = newAuthority("ticketrail relay nodes"); err != nil {
		return nil, fmt.Errorf("make the authority of the nodes: %w", err)
	}
	if o.clients, err = newAuthority("ticketrail relay clients"); err != nil {
		return nil, fmt.Errorf("make the authority of the clients: %w", err)
	}
	return o, nil
}

// maxFile is larger than any file of ours here: a wrong name must not fill the memory.
const maxFile = 64 << 10

// ReadOperator reads the file that [Operator.Encode] has made. Its errors contain nothing of it.
func ReadOperator(path string) (*Operator, error) {
	data, err := readSecret(path)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o004 != 0 {
		return nil, fmt.Errorf("%s opens every venue, and all users here can read it: run chmod o= on it", path)
	}
	o := &Operator{}
	if o.key, err = nkeys.ParseDecoratedNKey(data); err != nil {
		return nil, fmt.Errorf("%s: there is no operator's key in it; name operator.secret of relay init", path)
	}
	var rest []byte
	if o.nodes, rest, err = decodeAuthority(data); err == nil {
		o.clients, _, err = decodeAuthority(rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// Encode is the operator as a file, for nobody else to read.
func (o *Operator) Encode() ([]byte, error) {
	seed, err := o.key.Seed()
	if err != nil {
		return nil, err
	}
	out, err := jwt.DecorateSeed(seed)
	if err != nil {
		return nil, err
	}
	out = append(out, '\n')
	for _, a := range []*authority{o.nodes, o.clients} {
		key, err := encodeKey(a.key)
		if err != nil {
			return nil, err
		}
		out = append(append(out, encodeCert(a.cert)...), key...)
	}
	return out, nil
}

// The accounts. Those of the venues have the venue's id.
const (
	system = "system" // its users change accounts
	relays = "relays" // of the relays; it has the stream
)

// account is the key pair of an account.
func (o *Operator) account(name string) (nkeys.KeyPair, error) {
	seed, err := o.key.Seed()
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, seed)
	mac.Write([]byte("account " + name))
	return nkeys.FromRawSeed(nkeys.PrefixByteAccount, mac.Sum(nil))
}

// publicKey is the name that the servers know an account by.
func (o *Operator) publicKey(account string) (string, error) {
	k, err := o.account(account)
	if err != nil {
		return "", err
	}
	return k.PublicKey()
}

// boxSubjects are the subjects of a venue's box, see package receiver/relay. venue may be a wildcard.
//
// Each venue has an account of its own, without JetStream, that imports these and nothing else. In one account for
// all, the permissions of a user would not be enough: they say what it may publish, and not where an answer may go. A
// pull request whose reply subject is $JS.API.STREAM.DELETE.REQUESTS would make the server itself delete the stream.
// From an account of its own no answer leads out.
//
// The last one no box may ask. Without it the server would import all of $JS.API for the account itself, and each
// question would have two answers.
func boxSubjects(venue string) (once []string, next string) {
	return []string{
		"$JS.API.CONSUMER.INFO.REQUESTS." + venue,
		"$JS.ACK.REQUESTS." + venue + ".>",
		"$JS.ACK.*.*.REQUESTS." + venue + ".>",
		"$KV.BOXES." + venue,
		"$JS.API.INFO",
	}, "$JS.API.CONSUMER.MSG.NEXT.REQUESTS." + venue
}

// operatorJWT and the others are what the servers read. Each is signed anew; only its time of issue differs.
func (o *Operator) operatorJWT() (string, error) {
	id, err := o.key.PublicKey()
	if err != nil {
		return "", err
	}
	c := jwt.NewOperatorClaims(id)
	c.Name = "ticketrail"
	if c.SystemAccount, err = o.publicKey(system); err != nil {
		return "", err
	}
	return c.Encode(o.key)
}

func (o *Operator) accountJWT(name string, change func(*jwt.AccountClaims)) (string, error) {
	id, err := o.publicKey(name)
	if err != nil {
		return "", err
	}
	c := jwt.NewAccountClaims(id)
	c.Name = name
	change(c)
	return c.Encode(o.key)
}

func (o *Operator) systemJWT() (string, error) {
	return o.accountJWT(system, func(*jwt.AccountClaims) {})
}

// RelaysAccount is the account of the relays. It exports what the venues import. Who may import is decided by who
// signs the importing account: this operator alone.
func (o *Operator) RelaysAccount() (string, error) {
	return o.accountJWT(relays, func(c *jwt.AccountClaims) {
		if !o.RelaysSince.IsZero() {
			c.RevokeAt(jwt.All, o.RelaysSince.Add(-time.Second))
		}
		c.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit,
			Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		once, next := boxSubjects("*")
		for _, s := range once {
			c.Exports.Add(&jwt.Export{Name: s, Subject: jwt.Subject(s), Type: jwt.Service})
		}
		// One request has several answers: messages, heartbeats and its end.
		c.Exports.Add(&jwt.Export{Name: next, Subject: jwt.Subject(next), Type: jwt.Service,
			ResponseType: jwt.ResponseTypeStream})
	})
}

// VenueAccount is the account of a venue. Credentials that were issued before the second of since are revoked; an
// open connection with them ends when a server gets it. open false closes the account altogether: it is not
// deleted, because a server that was off when it was would give it back to the others.
func (o *Operator) VenueAccount(venue string, since time.Time, open bool) (string, error) {
	from, err := o.publicKey(relays)
	if err != nil {
		return "", err
	}
	return o.accountJWT(venue, func(c *jwt.AccountClaims) {
		c.RevokeAt(jwt.All, since.Add(-time.Second))
		// A box has one connection, and commands that look at it have theirs.
		c.Limits.Conn, c.Limits.LeafNodeConn, c.Limits.Subs, c.Limits.Exports = 8, 0, 100, 0
		if !open {
			c.Limits.Conn = 0
			return
		}
		once, next := boxSubjects(venue)
		for _, s := range append(once, next) {
			c.Imports.Add(&jwt.Import{Name: s, Subject: jwt.Subject(s), Account: from, Type: jwt.Service})
		}
		c.Limits.Imports = int64(len(c.Imports))
	})
}

// Box makes credentials for a venue's box, and the public key that identifies them.
func (o *Operator) Box(venue string) (credentials []byte, user string, err error) {
	return o.credentials(venue, venue, func(c *jwt.UserClaims) {
		once, next := boxSubjects(venue)
		c.Pub.Allow.Add(append(once[:len(once)-1], next)...)
		c.Sub.Allow.Add("_INBOX.>") // within the venue's account
	})
}

// Relay makes credentials for a relay: it may do everything in the account of the relays.
func (o *Operator) Relay(name string) ([]byte, error) {
	all, _, err := o.credentials(relays, name, func(*jwt.UserClaims) {})
	return all, err
}

func (o *Operator) credentials(account, name string, change func(*jwt.UserClaims)) (
	all []byte, user string, err error,
) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	if user, err = key.PublicKey(); err != nil {
		return nil, "", err
	}
	signer, err := o.account(account)
	if err != nil {
		return nil, "", err
	}
	c := jwt.NewUserClaims(user)
	c.Name = name
	change(c)
	token, err := c.Encode(signer)
	if err != nil {
		return nil, "", err
	}
	seed, err := key.Seed()
	if err != nil {
		return nil, "", err
	}
	if all, err = jwt.FormatUserConfig(token, seed); err != nil {
		return nil, "", err
	}
	cert, certKey, err := o.clients.client(name)
	if err != nil {
		return nil, "", err
	}
	trusted := bytes.ReplaceAll(encodeCert(o.nodes.cert), []byte(pemCert), []byte(pemTrusted))
	return bytes.Join([][]byte{all, cert, certKey, trusted}, []byte("\n")), user, nil
}

// WriteSecret writes a file that nobody else may read, and replaces none unless replace. A crash leaves the old file
// or the new one, never a part of it.
func WriteSecret(path string, data []byte, replace bool) error {
	if !replace {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists already; move it away first", path)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
