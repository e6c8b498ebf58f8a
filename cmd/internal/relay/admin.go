package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// OpenAdmin connects to the servers of a relay's configuration. They may be starting, or electing a leader.
func OpenAdmin(ctx context.Context, conf *config.Relay) (*Admin, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	nc, err := natsaccess.Connect(ctx, natsaccess.Options{URLs: conf.NATS.URLs, CredentialsFile: conf.NATS.CredsFile,
		Name: "ticketrail relay command"})
	if err != nil {
		return nil, err
	}
	a := &Admin{Conf: conf, nc: nc}
	err = a.open(ctx, openFirst)
	for within := 2 * openFirst; err != nil && ctx.Err() == nil; within *= 2 {
		select {
		case <-time.After(openAgain):
			err = a.open(ctx, within)
		case <-ctx.Done():
		}
	}
	if err == nil {
		return a, nil
	}
	if !nc.IsConnected() {
		err = fmt.Errorf("%w: are the servers of nats.urls running, and is this machine allowed to connect to them?",
			err)
	}
	nc.Close()
	return nil, err
}

// open opens the stream as a relay does, so that the first command on new servers works too.
func (a *Admin) open(ctx context.Context, within time.Duration) (err error) {
	if a.stream, err = openStream(ctx, a.nc, storeOptions(a.Conf), within); err == nil {
		a.bucket, err = a.stream.Venues(ctx)
	}
	return err
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
	i, err := a.newIssuer(ctx, o)
	if err != nil {
		return "", c, err
	}
	defer i.Close()
	if c, v.User, err = i.issue(ctx, v.ID, file); err != nil {
		return "", c, err
	}
	return secret, c, a.stream.PutVenue(ctx, v)
}

// AddAll adds venues and writes the credentials of their boxes into folder, ID.creds each. done is told of each venue:
// whether it was added, or was there already. After an error or a crash it is run again and goes on: credentials in the
// folder of a venue that is not there yet are replaced, because they are refused.
func (a *Admin) AddAll(ctx context.Context, o *natsaccess.Operator, venues []store.Venue, folder string,
	done func(v store.Venue, added bool) error,
) (c Change, err error) {
	known := map[string]bool{}
	for _, v := range a.Venues() {
		known[v.ID] = true
	}
	var problems []error
	for _, v := range venues {
		if err := a.check(&v); err != nil && !known[v.ID] {
			problems = append(problems, fmt.Errorf("%s: %w", v.Name, err))
		}
	}
	if len(problems) > 0 {
		return c, errors.Join(problems...)
	}
	i, err := a.newIssuer(ctx, o)
	if err != nil {
		return c, err
	}
	defer i.Close()
	for _, v := range venues {
		if !known[v.ID] {
			one, user, err := i.issue(ctx, v.ID, filepath.Join(folder, v.ID+".creds"))
			if err != nil {
				return c, fmt.Errorf("%s: %w", v.Name, err)
			}
			c.Missing = slices.Compact(slices.Sorted(slices.Values(append(c.Missing, one.Missing...))))
			v.User = user
			if err := a.stream.PutVenue(ctx, v); err != nil {
				return c, err
			}
		}
		if err := done(v, !known[v.ID]); err != nil {
			return c, err
		}
	}
	return c, nil
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
	i, err := a.newIssuer(ctx, o)
	if err != nil {
		return c, err
	}
	defer i.Close()
	c, user, err := i.issue(ctx, id, file)
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

// An issuer makes credentials of boxes, any number of them.
type issuer struct {
	*natsaccess.Pusher
	operator *natsaccess.Operator
	since    time.Time // what was issued before is revoked
}

func (a *Admin) newIssuer(ctx context.Context, o *natsaccess.Operator) (*issuer, error) {
	p, err := o.NewPusher(ctx, a.Conf.NATS.URLs)
	if err != nil {
		return nil, err
	}
	// What is revoked is told by the second of its issue: nothing issued in this one may have been before.
	since := time.Now().Truncate(time.Second).Add(time.Second)
	select {
	case <-time.After(time.Until(since)):
		return &issuer{p, o, since}, nil
	case <-ctx.Done():
		p.Close()
		return nil, ctx.Err()
	}
}

// issue writes new credentials and revokes those of before. The file is first: after a crash between the two both are
// good, and the command is run again.
func (i *issuer) issue(ctx context.Context, id, file string) (c Change, user string, err error) {
	creds, user, err := i.operator.Box(id)
	if err != nil {
		return c, "", err
	}
	if err := natsaccess.WriteSecret(file, creds, true); err != nil {
		return c, "", err
	}
	account, err := i.operator.VenueAccount(id, i.since, true)
	if err != nil {
		return c, "", err
	}
	stored, err := i.Push(ctx, account)
	return newChange(stored, i.There), user, err
}

func newChange(stored, there []string) (c Change) {
	c.Stored = stored
	for _, server := range there {
		if !slices.Contains(stored, server) {
			c.Missing = append(c.Missing, server)
		}
	}
	return c
}

// Remove removes a venue that was added, and ends the access of its box. That is first: asked again after a crash, the
// venue is still there.
func (a *Admin) Remove(ctx context.Context, o *natsaccess.Operator, id string) (c Change, err error) {
	account, err := o.VenueAccount(id, time.Now().Add(time.Second), false)
	if err != nil {
		return c, err
	}
	stored, there, err := o.Push(ctx, a.Conf.NATS.URLs, account)
	if err != nil {
		return c, err
	}
	return newChange(stored, there), a.stream.RemoveVenue(ctx, id)
}
