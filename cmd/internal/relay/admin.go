package relay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ticketrail/config"
	"ticketrail/receiver/contract"
	store "ticketrail/receiver/relay"
)

// An Admin changes the venues, for the command line. It connects as a relay does, and leaves the stream as it is.
type Admin struct {
	Conf   *config.Relay
	stream *store.Stream
	nc     *nats.Conn
	bucket []store.VenueEntry
}

// OpenAdmin connects to the servers of a relay's configuration. They may be starting, or electing a leader.
func OpenAdmin(ctx context.Context, conf *config.Relay) (*Admin, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	nc, err := connect(conf.NATS, "ticketrail relay command", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}

	admin := &Admin{Conf: conf, nc: nc}
	for err = admin.open(ctx); err != nil; err = admin.open(ctx) {
		select {
		case <-time.After(openAgain):
			continue
		case <-ctx.Done():
		}

		if !nc.IsConnected() {
			err = fmt.Errorf("%w: are the servers of nats.urls running, and is this machine allowed to connect to "+
				"them?", err)
		}
		nc.Close()
		return nil, err
	}
	return admin, nil
}

func (a *Admin) open(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin/2)
	defer cancel()
	if a.stream, err = store.Attach(ctx, a.nc); err == nil {
		a.bucket, err = a.stream.Venues(ctx)
	}
	return err
}

// Close ends the connection.
func (a *Admin) Close() { a.nc.Close() }

// Venues returns the venues as a relay uses them.
func (a *Admin) Venues() []config.Venue { return configured(a.bucket) }

// Find finds a venue by its id or its name, in any case; by its id also one that is in no list of venues any more.
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

// Add adds a venue and writes the token of its box to file. ownSecret gives it an address of its own.
func (a *Admin) Add(ctx context.Context, v store.VenueEntry, ownSecret bool, file string) (secret string, err error) {
	if err := a.check(&v); err != nil {
		return "", err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s exists already: move it away, or name another file", file)
	}

	if ownSecret {
		secret = newSecret()
		v.Secrets = []string{secret}
	}
	return secret, a.issue(ctx, v, file)
}

// issue writes a new token and makes it the only one. The file is first: after a crash between the two the token of
// before is valid, and the command is run again.
func (a *Admin) issue(ctx context.Context, v store.VenueEntry, file string) error {
	token := newSecret()
	if err := writeSecret(file, token); err != nil {
		return err
	}

	v.Token = store.HashToken(token)
	return a.stream.PutVenue(ctx, v)
}

// newSecret is a token, or a secret segment of a path, see config.Receiver.SecretFile.
func newSecret() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

// AddAll adds venues and writes the tokens of their boxes into folder, ID.token each. done is told of each venue:
// whether it was added, or was there already. After an error or a crash it is run again and goes on: a token in the
// folder of a venue that is not there yet is replaced, because no relay accepts it.
func (a *Admin) AddAll(ctx context.Context, venues []store.VenueEntry, folder string,
	done func(v store.VenueEntry, added bool) error,
) error {
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
		return errors.Join(problems...)
	}

	for _, v := range venues {
		if !known[v.ID] {
			if err := a.issue(ctx, v, filepath.Join(folder, v.ID+".token")); err != nil {
				return fmt.Errorf("%s: %w", v.Name, err)
			}
		}
		if err := done(v, !known[v.ID]); err != nil {
			return err
		}
	}
	return nil
}

func (a *Admin) check(v *store.VenueEntry) error {
	id, isUUID := contract.CanonicalID(v.ID)
	if !isUUID {
		return fmt.Errorf("%q is not the id of a venue; for example 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", v.ID)
	}

	v.ID = id
	for _, other := range a.Venues() {
		switch {
		case other.ID == v.ID:
			return fmt.Errorf("there is a venue %s already, %s: "+
				"for a new token, ticketrail relay venues renew %[1]s", v.ID, other.Name)
		case strings.EqualFold(other.Name, v.Name):
			return fmt.Errorf("venue %s has that name already: choose another one", other.ID)
		}
	}
	return nil
}

// Renew writes a new token for a venue's box to file. The one before ends within a second, also for a box
// that waits.
func (a *Admin) Renew(ctx context.Context, id, file string) error {
	at := slices.IndexFunc(a.bucket, func(v store.VenueEntry) bool { return v.ID == id })
	if at < 0 {
		return store.ErrNoVenue
	}
	return a.issue(ctx, a.bucket[at], file)
}

// StoredVenue is a venue of a file as the bucket has it.
func StoredVenue(v config.Venue) store.VenueEntry {
	one := store.VenueEntry{ID: v.ID, Name: v.Name, Timezone: v.Timezone, Devices: v.Devices}
	for _, h := range v.Hours {
		one.Hours = append(one.Hours, h.String())
	}
	return one
}

// Remove removes a venue that was added, and ends the access of its box.
func (a *Admin) Remove(ctx context.Context, id string) error { return a.stream.RemoveVenue(ctx, id) }
