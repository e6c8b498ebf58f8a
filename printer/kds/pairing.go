package kds

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ticketrail/queue/kv"
)

// A Pairing is a browser that may see one station, from wherever it comes.
type Pairing struct {
	ID      string    `json:"id"`
	Station string    `json:"station"`
	Address string    `json:"address"` // it came from when it was paired
	Browser string    `json:"browser"` // it called itself, cleaned
	Paired  time.Time `json:"paired"`
	Seen    time.Time `json:"seen,omitzero"` // last, within an hour; zero: never since it was paired
}

// stored is a Pairing on the shelf. The browser's secret is not: who reads the database cannot
// be a screen.
type storedPairing struct {
	V    int    `json:"v"`
	Hash string `json:"hash"` // SHA-256 of the secret, hex
	Pairing
}

// Pairings are all of them, on a shelf, and the browsers that wait to be paired, in memory. They
// are safe for concurrent use.
type Pairings struct {
	shelf kv.Store
	log   *slog.Logger

	write sync.Mutex // held over a change, storage included

	mu         sync.Mutex // guards what follows
	active     map[[32]byte]*activePairing
	pending    map[[32]byte]*pendingPairing
	codesMade  map[string][]time.Time // when codes were made for an address, in the last minute
	wrongCodes []time.Time            // when wrong codes were given, in the last minute
}

type activePairing struct {
	storedPairing
	revoked chan struct{} // closed when it is
	streams atomic.Int64
}

const pairingPrefix = "screen/"

// Errors of pairing a person must do something about.
var (
	ErrUnknownCode  = errors.New("no screen shows this code now: look again, it changes every ten minutes")
	ErrNoPairing    = errors.New("no such pairing: see ticketrail screens list")
	ErrTooManyCodes = errors.New("too many wrong codes: wait a minute")
)

// OpenPairings reads them from their shelf. One that cannot be read is left out and logged:
// that screen has to be paired again.
func OpenPairings(shelf kv.Store, log *slog.Logger) (*Pairings, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Pairings{
		shelf: shelf, log: log.With("component", "kds"),
		active: map[[32]byte]*activePairing{}, pending: map[[32]byte]*pendingPairing{},
		codesMade: map[string][]time.Time{},
	}
	err := shelf.All(func(key string, value []byte) bool {
		if !strings.HasPrefix(key, pairingPrefix) {
			return true
		}
		stored := storedPairing{}
		err := json.Unmarshal(value, &stored)
		hash, ok := parseHash(stored.Hash)
		if err != nil || stored.V != recordVersion || !ok {
			p.log.Error("a pairing cannot be read, that screen has to be paired again", "key", key)
			return true
		}
		p.active[hash] = &activePairing{storedPairing: stored, revoked: make(chan struct{})}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("open pairings: %w", err)
	}
	return p, nil
}

func parseHash(s string) (h [32]byte, ok bool) {
	b, err := hex.DecodeString(s)
	return h, copy(h[:], b) == len(h) && err == nil && len(b) == len(h)
}

// Pair lets the browser that shows code see a station. Nil means that it would still after
// a power cut. Letters of either case, spaces and dashes are fine.
//
// A crash before the shelf's Put returned: a pairing that was stored all the same is in force at
// the next start, and listed. A crash after it: the browser is in. Asked again, it is the same
// pairing: were there two of one browser, revoking one would not keep it out.
func (p *Pairings) Pair(ctx context.Context, code, station string) (Pairing, error) {
	p.write.Lock()
	defer p.write.Unlock()
	hash, a, err := p.byCode(code)
	if err != nil {
		return Pairing{}, err
	}
	if a.id == "" {
		a.id = p.newID()
	}
	s := storedPairing{V: recordVersion, Hash: hex.EncodeToString(hash[:]), Pairing: Pairing{
		ID: a.id, Station: station, Address: a.address, Browser: a.browser, Paired: time.Now().UTC(),
	}}
	if err := p.store(ctx, s); err != nil {
		return Pairing{}, fmt.Errorf("pair: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active[hash] = &activePairing{storedPairing: s, revoked: make(chan struct{})}
	delete(p.pending, hash)
	return s.Pairing, nil
}

func (p *Pairings) store(ctx context.Context, s storedPairing) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return p.shelf.Put(ctx, pairingPrefix+s.ID, b)
}

// List is all pairings, the oldest first.
func (p *Pairings) List() []Pairing {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Pairing, 0, len(p.active))
	for _, a := range p.active {
		list = append(list, a.Pairing)
	}
	slices.SortFunc(list, func(a, b Pairing) int {
		if c := a.Paired.Compare(b.Paired); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Revoke ends a pairing, and the streams of its pages.
//
// A crash before the shelf's Delete returned: it is as it was, or gone at the next start.
func (p *Pairings) Revoke(ctx context.Context, id string) (Pairing, error) {
	p.write.Lock()
	defer p.write.Unlock()
	p.mu.Lock()
	var hash [32]byte
	var found *activePairing
	for h, a := range p.active {
		if strings.EqualFold(a.ID, id) {
			hash, found = h, a
		}
	}
	p.mu.Unlock()
	if found == nil {
		return Pairing{}, fmt.Errorf("%.40q: %w", id, ErrNoPairing)
	}
	if err := p.shelf.Delete(ctx, pairingPrefix+found.ID); err != nil {
		return Pairing{}, fmt.Errorf("revoke pairing %s: %w", found.ID, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.active, hash)
	close(found.revoked)
	return found.Pairing, nil
}

const (
	seenInterval = time.Hour   // it is stored that a screen was seen
	seenTimeout  = time.Second // the page waits for that no longer
)

// holder returns the pairing of a secret, nil without one.
func (p *Pairings) bySecret(secret string) *activePairing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active[sha256.Sum256([]byte(secret))]
}

// seen notes that a paired browser was here. It is for people; a page has its board without it.
func (p *Pairings) noteSeen(ctx context.Context, a *activePairing) {
	now := time.Now().UTC()
	p.mu.Lock()
	last := a.Seen
	p.mu.Unlock()
	if now.Sub(last).Abs() < seenInterval {
		return
	}
	if !p.write.TryLock() {
		return // next time
	}
	defer p.write.Unlock()
	ctx, cancel := context.WithTimeout(ctx, seenTimeout)
	defer cancel()
	select {
	case <-a.revoked:
		return // it must not come back
	default:
	}
	p.mu.Lock()
	a.Seen = now
	s := a.storedPairing
	p.mu.Unlock()
	if err := p.store(ctx, s); err != nil {
		p.log.Debug("when a screen was seen could not be stored", "pairing", s.ID, "err", err)
	}
}

// letters are those that nobody mistakes for another, read out across a kitchen or typed.
const codeAlphabet = "ACDEFGHJKMNPQRTVWXY34679"

func randomLetters(n int) string {
	out := make([]byte, 0, n)
	var b [1]byte
	for len(out) < n {
		_, _ = rand.Read(b[:]) // does not fail
		if int(b[0]) < 256/len(codeAlphabet)*len(codeAlphabet) {
			out = append(out, codeAlphabet[int(b[0])%len(codeAlphabet)])
		}
	}
	return string(out)
}

// newID names a pairing for people.
func (p *Pairings) newID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		id := strings.ToLower(randomLetters(5))
		taken := false
		for _, k := range p.active {
			taken = taken || k.ID == id
		}
		if !taken {
			return id
		}
	}
}
