package relay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"ticketrail/config"
	"ticketrail/receiver/contract"
	store "ticketrail/receiver/relay"
)

// An Admin changes the venues, for the command line. It connects as a relay does, and leaves the stream as it is.
type Admin struct {
	Conf   *config.Relay
	Venues []store.VenueEntry // by their names
	stream *store.Stream
	nc     *nats.Conn
}

// OpenAdmin connects to the servers of a relay's configuration.
func OpenAdmin(ctx context.Context, conf *config.Relay) (*Admin, error) {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	admin, err := attach(ctx, conf, openWithin/5)
	if err != nil {
		return nil, err
	}

	sites, _, err := admin.stream.Sites(ctx, nil)
	if err != nil {
		admin.Close()
		return nil, err
	}
	for _, s := range sites {
		s.Token = "" // its hash is for the relays
		admin.Venues = append(admin.Venues, s.VenueEntry)
	}
	slices.SortFunc(admin.Venues, func(a, b store.VenueEntry) int { return strings.Compare(a.Name, b.Name) })
	return admin, nil
}

// Close ends the connection.
func (a *Admin) Close() { a.nc.Close() }

// Find finds a venue by its id or its name, in any case.
func (a *Admin) Find(idOrName string) (store.VenueEntry, error) {
	for _, v := range a.Venues {
		if strings.EqualFold(v.ID, idOrName) || strings.EqualFold(v.Name, idOrName) {
			return v, nil
		}
	}
	return store.VenueEntry{}, fmt.Errorf("there is no venue %q: see ticketrail relay venues list", idOrName)
}

// Add adds a venue and writes the token of its box to file.
func (a *Admin) Add(ctx context.Context, v store.VenueEntry, file string) error {
	id, isUUID := contract.CanonicalID(v.ID)
	if !isUUID {
		return fmt.Errorf("%q is not the id of a venue; for example 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", v.ID)
	}

	v.ID = id
	for _, other := range a.Venues {
		switch {
		case other.ID == v.ID:
			return fmt.Errorf("there is a venue %s already, %s: "+
				"for a new token, ticketrail relay venues renew %[1]s", v.ID, other.Name)
		case strings.EqualFold(other.Name, v.Name):
			return fmt.Errorf("venue %s has that name already: choose another one", other.ID)
		}
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: move it away, or name another file", file)
	}
	return a.Renew(ctx, v, file)
}

// Renew writes a new token for a venue's box to file, and makes it the only one: the one before ends within a second,
// also for a box that waits. The file is first: after a crash between the two the token of before is valid, and the
// command is run again.
func (a *Admin) Renew(ctx context.Context, v store.VenueEntry, file string) error {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	token := base64.RawURLEncoding.EncodeToString(random)
	if err := writeSecret(file, token); err != nil {
		return err
	}

	v.Token = store.Hash(token)
	return a.stream.PutVenue(ctx, v)
}

// Remove removes a venue that was added, and ends the access of its box.
func (a *Admin) Remove(ctx context.Context, id string) error { return a.stream.RemoveVenue(ctx, id) }
