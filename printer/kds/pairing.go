package kds

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/queue/kv"
)

// Pairing keeps the orders, with guests' names and allergies, from everybody who is in the
// restaurant's wireless network. A browser shows a code; the operator types it at the box, where no
// guest can. After that the browser's cookie is the permission. The browsers that wait are in
// memory only: a stranger who asks for codes all day writes nothing to the disk.

// A Pairing is the permission of one browser to see one station, or to manage. It is bound to a secret in the
// browser's cookie, not to an address: a tablet may get another one from DHCP.
type Pairing struct {
	ID      string `json:"id"`
	Station string `json:"station"` // empty for a manager, who may see all of them
	// Manager says that the browser may pair others.
	Manager bool      `json:"manager,omitempty"`
	Address string    `json:"address"` // the address it had when it was paired
	Browser string    `json:"browser"` // its User-Agent, cleaned
	Paired  time.Time `json:"paired"`
	Seen    time.Time `json:"seen,omitzero"` // last visit since the start; zero: none
}

// pairingVersion is the version of the stored format; fields are only added.
const pairingVersion = 1

// A storedPairing is a Pairing on stable storage. It holds a hash of the browser's secret: whoever
// reads the database cannot pretend to be a paired browser.
type storedPairing struct {
	V    int    `json:"v"`
	Hash string `json:"hash"` // SHA-256 of the secret, hex
	Pairing
}

// Pairings hold all pairings, on stable storage, and the browsers that wait to be paired, in
// memory. They are safe for concurrent use.
type Pairings struct {
	kv  kv.Store
	log *slog.Logger

	write sync.Mutex // held during a whole change, storage included

	mu         sync.Mutex // guards the fields below
	active     map[[32]byte]*activePairing
	pending    map[[32]byte]*pendingPairing
	wrongCodes []time.Time // when wrong codes were entered, in the last minute
}

// An activePairing is a pairing with its open streams.
type activePairing struct {
	storedPairing
	revoked chan struct{} // closed when the pairing is revoked: its streams end
	streams atomic.Int64
}

const pairingPrefix = "screen/"

// Errors of pairing on which the operator can act.
var (
	ErrUnknownCode  = errors.New("no browser shows this code now: read it again, it changes every ten minutes")
	ErrNoPairing    = errors.New("no such pairing: see ticketrail screens list")
	ErrTooManyCodes = errors.New("too many wrong codes: wait a minute")
)

// OpenPairings reads the pairings from their storage. One that cannot be read is left out and
// logged; that browser must be paired again.
func OpenPairings(store kv.Store, log *slog.Logger) (*Pairings, error) {
	pairings := &Pairings{
		kv: store, log: cmp.Or(log, slog.New(slog.DiscardHandler)).With("component", "kds"),
		active: map[[32]byte]*activePairing{}, pending: map[[32]byte]*pendingPairing{},
	}

	err := store.All(func(key string, value []byte) bool {
		stored := storedPairing{}
		err := json.Unmarshal(value, &stored)
		hash, notHex := hex.DecodeString(stored.Hash)
		if err != nil || stored.V != pairingVersion || notHex != nil || len(hash) != sha256.Size {
			pairings.log.Error("cannot read a stored pairing; that browser must be paired again", "key", key)
			return true
		}
		pairings.active[[sha256.Size]byte(hash)] = &activePairing{storedPairing: stored, revoked: make(chan struct{})}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("open pairings: %w", err)
	}

	return pairings, nil
}

// Pair gives the browser that shows code the permission of to: its station, or Manager. When it
// returns nil, the pairing is on stable storage. Case, spaces and dashes in code do not matter.
//
// A crash before the storage's Put returned: if the pairing was stored all the same, it is active
// at the next start, and listed. A crash after it: the browser is paired. A second attempt for the
// same browser uses the same pairing id: with two pairings of one browser, revoking one of them
// would not keep it out.
func (p *Pairings) Pair(ctx context.Context, code string, to Pairing) (Pairing, error) {
	p.write.Lock()
	defer p.write.Unlock()

	hash, waiting, err := p.byCode(code)
	if err != nil {
		return Pairing{}, err
	}

	// Chosen once for each browser: a repeated attempt then overwrites its own entry.
	if waiting.id == "" {
		waiting.id = p.newID()
	}

	stored := storedPairing{V: pairingVersion, Hash: hex.EncodeToString(hash[:]), Pairing: Pairing{
		ID: waiting.id, Station: to.Station, Manager: to.Manager,
		Address: waiting.address, Browser: waiting.browser, Paired: time.Now().UTC(),
	}}
	body, err := json.Marshal(stored)
	if err == nil {
		err = p.kv.Put(ctx, pairingPrefix+stored.ID, body)
	}
	if err != nil {
		return Pairing{}, fmt.Errorf("pair: %w", err)
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	p.active[hash] = &activePairing{storedPairing: stored, revoked: make(chan struct{})}
	delete(p.pending, hash)
	return stored.Pairing, nil
}

// List returns all pairings, the oldest first.
func (p *Pairings) List() []Pairing {
	p.mu.Lock()
	defer p.mu.Unlock()

	list := make([]Pairing, 0, len(p.active))
	for _, a := range p.active {
		list = append(list, a.Pairing)
	}

	slices.SortFunc(list, func(a, b Pairing) int {
		return cmp.Or(a.Paired.Compare(b.Paired), strings.Compare(a.ID, b.ID))
	})
	return list
}

// Revoke ends a pairing and the streams of its pages.
//
// A crash before the storage's Delete returned: the pairing is active or gone at the next start. A
// crash after it: it is gone.
func (p *Pairings) Revoke(ctx context.Context, id string) (Pairing, error) {
	p.write.Lock()
	defer p.write.Unlock()

	var found *activePairing
	p.mu.Lock()
	for _, a := range p.active {
		if strings.EqualFold(a.ID, id) {
			found = a
		}
	}

	p.mu.Unlock()
	if found == nil {
		return Pairing{}, fmt.Errorf("%.40q: %w", id, ErrNoPairing)
	}
	if err := p.kv.Delete(ctx, pairingPrefix+found.ID); err != nil {
		return Pairing{}, fmt.Errorf("revoke pairing %s: %w", found.ID, err)
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	maps.DeleteFunc(p.active, func(_ [32]byte, a *activePairing) bool { return a == found })
	// After the Delete: a browser that is told to go must not come back at the next start.
	close(found.revoked)
	return found.Pairing, nil
}

// bySecret returns the pairing of a browser's secret; nil if there is none. The look-up is by hash,
// so its time tells nothing about the secrets.
func (p *Pairings) bySecret(secret string) *activePairing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active[sha256.Sum256([]byte(secret))]
}

// noteVisit keeps when a paired browser was here, for people who look at the list. It is not stored: after a restart
// the pages that are open come back by themselves.
func (p *Pairings) noteVisit(a *activePairing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.Seen = time.Now().UTC()
}

// codeAlphabet has only characters that are not mistaken for each other when read out or typed.
const codeAlphabet = "ACDEFGHJKMNPQRTVWXY34679"

// randomLetters returns n random letters of codeAlphabet, all equally likely.
func randomLetters(n int) string {
	out := make([]byte, n)
	for i := range out {
		at, _ := rand.Int(rand.Reader, big.NewInt(int64(len(codeAlphabet)))) // it cannot fail
		out[i] = codeAlphabet[at.Int64()]
	}
	return string(out)
}

// newID returns an unused id for a pairing, short enough to type.
func (p *Pairings) newID() string {
	for {
		id := strings.ToLower(randomLetters(5))
		if !slices.ContainsFunc(p.List(), func(k Pairing) bool { return k.ID == id }) {
			return id
		}
	}
}
