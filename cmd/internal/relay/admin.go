package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/config"
	"ticketrail/receiver/contract"
	store "ticketrail/receiver/relay"
)

// An Admin changes the venues and looks at them, for the command line. It connects as a relay does.
type Admin struct {
	Conf   *config.Relay
	stream *store.Stream
	nc     *nats.Conn
	bucket []store.Venue
}

// OpenAdmin connects to the servers of a relay's configuration.
func OpenAdmin(ctx context.Context, conf *config.Relay) (*Admin, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	nc, err := natsaccess.Connect(ctx, natsaccess.Options{URLs: conf.NATS.URLs, CredentialsFile: conf.NATS.CredsFile,
		Name: "ticketrail relay command"})
	if err != nil {
		return nil, err
	}
	if !nc.IsConnected() {
		why := ""
		if err := nc.LastError(); err != nil {
			why = " (" + err.Error() + ")"
		}
		nc.Close()
		return nil, fmt.Errorf("none of nats.urls is reached%s: are the servers running, and is this machine "+
			"allowed to connect to them?", why)
	}
	a := &Admin{Conf: conf, nc: nc}
	// The same as the relay's, so that the first command on new servers works too.
	a.stream, err = store.Open(ctx, nc, store.Options{Replicas: conf.NATS.Replicas, MaxAge: conf.NATS.DedupRetention,
		MaxBytes: int64(conf.NATS.MaxBytes), MaxBody: int64(conf.Receiver.MaxBody)})
	if err == nil {
		a.bucket, err = a.stream.Venues(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return a, nil
}

// Close ends the connection.
func (a *Admin) Close() { a.nc.Close() }

// Venues are those of the file and of the bucket, as a relay uses them.
func (a *Admin) Venues() []config.Venue {
	var others []config.Venue
	for _, v := range a.bucket {
		others = append(others, Venue(v))
	}
	return a.Conf.With(others).Venues
}

// Overview asks how everything is.
func (a *Admin) Overview(ctx context.Context) (Overview, error) {
	return Look(ctx, a.stream, a.Venues())
}

// InFile says that a venue is in the relay's file.
func (a *Admin) InFile(id string) bool {
	return slices.ContainsFunc(a.Conf.Venues, func(v config.Venue) bool { return v.ID == id })
}

// Find finds a venue by its id or its name, in any case; by its id also one that was in the file.
func (a *Admin) Find(ctx context.Context, idOrName string) (config.Venue, error) {
	for _, v := range a.Venues() {
		if strings.EqualFold(v.ID, idOrName) || strings.EqualFold(v.Name, idOrName) {
			return v, nil
		}
	}
	if id, isUUID := contract.CanonicalID(idOrName); isUUID {
		if known, err := a.stream.Knows(ctx, id); known || err != nil {
			return config.Venue{ID: id, Name: id}, err
		}
	}
	return config.Venue{}, fmt.Errorf("there is no venue %q: see ticketrail relay venues list", idOrName)
}

// A Change is what became of the credentials of a venue, or of the relays.
type Change struct {
	Stored  []string // servers that know of it
	Missing []string // servers that are there and did not say so
}

// Add adds a venue and writes the credentials of its box to file. ownSecret gives it an address of its own.
//
// The venue is active last. After a crash before that, adding it again makes new credentials, and those of before are
// refused.
func (a *Admin) Add(ctx context.Context, o *natsaccess.Operator, v store.Venue, ownSecret bool, file string) (
	secret string, c Change, err error,
) {
	if err := a.check(&v); err != nil {
		return "", c, err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return "", c, fmt.Errorf("%s exists already: move it away, or name another file", file)
	}
	if ownSecret {
		if secret, err = newSecret(); err != nil {
			return "", c, err
		}
		v.Secrets = []string{secret}
	}
	if c, v.User, err = a.issue(ctx, o, v.ID, file); err != nil {
		return "", c, err
	}
	return secret, c, a.stream.PutVenue(ctx, v)
}

func (a *Admin) check(v *store.Venue) error {
	id, err := uuid.Parse(v.ID)
	if err != nil || len(v.ID) != 36 {
		return fmt.Errorf("%q is not the id of a venue; for example 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", v.ID)
	}
	v.ID = id.String()
	for _, other := range a.Venues() {
		switch {
		case other.ID == v.ID:
			return fmt.Errorf("there is a venue %s already, %s: "+
				"for new credentials, ticketrail relay venues renew %[1]s", v.ID, other.Name)
		case strings.EqualFold(other.Name, v.Name):
			return fmt.Errorf("venue %s has that name already: choose another one", other.ID)
		}
	}
	return nil
}

// Renew writes new credentials for a venue's box to file. Those of before end at once, also of an open connection.
func (a *Admin) Renew(ctx context.Context, o *natsaccess.Operator, id, file string) (c Change, err error) {
	c, user, err := a.issue(ctx, o, id, file)
	if err != nil {
		return c, err
	}
	for _, v := range a.bucket {
		if v.ID == id {
			v.User = user
			return c, a.stream.PutVenue(ctx, v)
		}
	}
	return c, a.stream.EnsureConsumer(ctx, id)
}

// issue writes new credentials and revokes those of before. The file is first: after a crash between the two both are
// good, and the command is run again.
func (a *Admin) issue(ctx context.Context, o *natsaccess.Operator, id, file string) (c Change, user string, err error) {
	// What is revoked is told by the second of its issue: nothing issued in this one may have been before.
	since := time.Now().Truncate(time.Second).Add(time.Second)
	select {
	case <-time.After(time.Until(since)):
	case <-ctx.Done():
		return c, "", ctx.Err()
	}
	creds, user, err := o.Box(id)
	if err != nil {
		return c, "", err
	}
	if err := natsaccess.WriteSecret(file, creds, true); err != nil {
		return c, "", err
	}
	c, err = a.push(ctx, o, id, since, true)
	return c, user, err
}

func (a *Admin) push(ctx context.Context, o *natsaccess.Operator, id string, since time.Time, open bool) (
	c Change, err error,
) {
	account, err := o.VenueAccount(id, since, open)
	if err != nil {
		return c, err
	}
	return pushTo(ctx, o, a.Conf.NATS.URLs, account)
}

func pushTo(ctx context.Context, o *natsaccess.Operator, urls []string, account string) (c Change, err error) {
	stored, there, err := o.Push(ctx, urls, account)
	if err != nil {
		return c, err
	}
	c.Stored = stored
	c.Missing = slices.DeleteFunc(there, func(s string) bool { return slices.Contains(stored, s) })
	return c, nil
}

// Remove removes a venue that was added, and ends the access of its box. That is first: asked again after a crash, the
// venue is still there.
func (a *Admin) Remove(ctx context.Context, o *natsaccess.Operator, id string) (c Change, err error) {
	if c, err = a.push(ctx, o, id, time.Now().Add(time.Second), false); err != nil {
		return c, err
	}
	return c, a.stream.RemoveVenue(ctx, id)
}
